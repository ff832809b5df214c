//! `svnbench null-export`: receives a tree.

use std::ffi::OsString;

use base::{Code, Depth, Error, NodeKind, RelPath, Result, Revnum};
use client::locate;
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk};
use ra::{FileRequest, PathState, ReportKind, ReportRequest};

use super::measure;
use super::report::{StatisticsOption, count};
use crate::args::revision::Revision;
use crate::client_context::target::{self, TargetPath};
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;
use crate::svn::options::{NonRecursiveOption, RevisionOption, TargetsOption};

/// Receives the tree at URL, as an export does, and counts what is in it.
#[derive(clap::Args)]
#[command(override_usage = "null-export [-r REV] URL[@PEGREV]")]
pub struct NullExportArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    depth: NonRecursiveOption,
    #[command(flatten)]
    statistics: StatisticsOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl NullExportArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let (quiet, statistics) = (self.quiet, self.statistics);
        measure(&self.access, quiet, statistics, out, |context, out| {
            let targets = target::read_targets(context, out, &self.operands, &TargetsOption::default())?;
            // The incumbent checks the operands of an export to a path.
            let target = match &targets[..] {
                [] => return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS)),
                [first] | [first, _] => first.parse()?,
                _ => return Err(Error::bare(Code::CL_ARG_PARSING_ERROR)),
            };
            let mut counts = Counts::default();
            let outcome = match &target.path {
                TargetPath::Url(url) => self.export(context, url, target.peg, &mut counts),
                TargetPath::Local(path) => self.check_path(path, target.peg),
            };
            if !quiet {
                counts.print(out)?;
            }
            outcome
        })
    }

    /// The incumbent counts nothing of a path, but with a revision of a repository it must be in a working copy.
    fn check_path(&self, path: &str, peg: Option<Revision>) -> Result<()> {
        match self.revision.start().or(peg) {
            Some(rev) if rev.of_url().is_ok() => Err(target::not_a_working_copy(path)),
            _ => Ok(()),
        }
    }

    fn export(
        &self,
        context: &ClientContext,
        url: &base::Url,
        peg: Option<Revision>,
        counts: &mut Counts,
    ) -> Result<()> {
        let mut session = context.open(url)?;
        let peg = peg.unwrap_or(Revision::Head).of_url()?;
        let operative = match self.revision.start() {
            Some(start) => start.of_url()?,
            None => peg,
        };
        let rev = locate::move_to_node(&mut *session, peg, operative)?;
        match session.check_path(&RelPath::empty(), Some(rev))? {
            NodeKind::File => {
                counts.files += 1;
                let request = FileRequest {
                    path: &RelPath::empty(),
                    rev: Some(rev),
                    props: true,
                    text: true,
                };
                let mut add = |_: &ra::FileInfo, piece: &[u8]| {
                    counts.bytes += piece.len() as u64;
                    Ok(())
                };
                session.file(&request, &mut add).map(drop)
            }
            NodeKind::Dir => {
                let request = ReportRequest {
                    kind: ReportKind::Update {
                        send_copyfrom: false,
                        ignore_ancestry: false,
                    },
                    rev: Some(rev),
                    target: "",
                    depth: self.depth.depth().unwrap_or(Depth::Infinity),
                };
                let state = PathState::empty(rev);
                session.report(
                    &request,
                    &mut |reporter| reporter.set_path(&RelPath::empty(), &state),
                    counts,
                )
            }
            _ => {
                let message = format!("URL '{}' doesn't exist", session.url());
                Err(Error::new(Code::RA_ILLEGAL_URL, message))
            }
        }
    }
}

/// Counts the nodes of an edit.
#[derive(Default)]
struct Counts {
    directories: u64,
    files: u64,
    bytes: u64,
    properties: u64,
    /// Of files only.
    property_bytes: u64,
}

impl Counts {
    fn print(&self, out: &mut Out) -> Result<()> {
        count(out, self.directories, "directories")?;
        count(out, self.files, "files")?;
        count(out, self.bytes, "bytes in files")?;
        count(out, self.properties, "properties")?;
        count(out, self.property_bytes, "bytes in properties")
    }
}

impl Editor for Counts {
    fn set_target_revision(&mut self, _: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, _: Option<Revnum>) -> Result<DirToken> {
        self.directories += 1;
        Ok(DirToken(0))
    }

    fn delete_entry(&mut self, _: &RelPath, _: Option<Revnum>, _: DirToken) -> Result<()> {
        Ok(())
    }

    fn add_directory(&mut self, _: &RelPath, _: DirToken, _: Option<CopyFrom<'_>>) -> Result<DirToken> {
        self.directories += 1;
        Ok(DirToken(0))
    }

    fn open_directory(&mut self, _: &RelPath, _: DirToken, _: Option<Revnum>) -> Result<DirToken> {
        Ok(DirToken(0))
    }

    fn change_dir_prop(&mut self, _: DirToken, _: &str, value: Option<&[u8]>) -> Result<()> {
        self.properties += u64::from(value.is_some());
        Ok(())
    }

    fn add_file(&mut self, _: &RelPath, _: DirToken, _: Option<CopyFrom<'_>>) -> Result<FileToken> {
        self.files += 1;
        Ok(FileToken(0))
    }

    fn open_file(&mut self, _: &RelPath, _: DirToken, _: Option<Revnum>) -> Result<FileToken> {
        Ok(FileToken(0))
    }

    fn takes_late_texts(&self) -> bool {
        true
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }

    fn text_chunk(&mut self, _: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.bytes += target_len(chunk);
        Ok(())
    }

    fn change_file_prop(&mut self, _: FileToken, _: &str, value: Option<&[u8]>) -> Result<()> {
        if let Some(value) = value {
            self.properties += 1;
            self.property_bytes += value.len() as u64;
        }
        Ok(())
    }

    fn close_edit(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Returns the bytes that a window makes.
pub fn target_len(chunk: TextChunk<'_>) -> u64 {
    match chunk {
        TextChunk::Decoded(window) => u64::from(window.target_len),
        TextChunk::Encoded(window) => u64::from(window.target_len),
    }
}
