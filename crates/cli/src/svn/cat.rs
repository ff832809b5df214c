//! `svn cat`: prints the texts of files.

use std::ffi::OsString;

use base::keywords::FileFacts;
use base::{Code, Date, Error, NodeKind, RelPath, Result, Revnum, props};
use client::translate::{LineEnd, Translation};
use ra::{FileInfo, FileRequest, Session};

use super::options::{RevisionOption, TargetsOption};
use super::target_list;
use crate::client_context::target::{self, Target};
use crate::client_context::{AccessOptions, ClientContext, OpenNode};
use crate::date_text;
use crate::out::Out;

/// Prints the texts of files in a repository.
#[derive(clap::Args)]
#[command(override_usage = "cat TARGET[@REV]...")]
pub struct CatArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// leave keywords without values
    #[arg(long)]
    ignore_keywords: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl CatArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.access);
        ClientContext::run(access, out, |context, out| self.cat(context, out))
    }

    fn cat(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let targets = target::read_targets(context, out, &self.operands, &TargetsOption::default())?;
        if targets.is_empty() {
            return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
        }
        // The kinds of failures, in the order in which they first occurred.
        let mut failures: Vec<&str> = Vec::new();
        for target in &targets {
            match self.print(context, &target.parse()?, out) {
                Ok(()) => {}
                Err(error) if error.code() == Code::CLIENT_IS_DIRECTORY => {
                    out.warning(&error)?;
                    failures.push("Could not cat all targets because some targets are directories");
                }
                Err(error) if is_missing(&error) => {
                    out.warning(&error)?;
                    failures.push("Could not cat all targets because some targets don't exist");
                }
                Err(error) => return Err(error),
            }
        }
        let Some(first) = failures.first() else {
            return Ok(());
        };
        let failed = Error::bare(Code::ILLEGAL_TARGET).context(*first);
        Err(match failures.iter().find(|other| *other != first) {
            Some(other) => failed.context(*other),
            None => failed,
        })
    }

    fn print(&self, context: &ClientContext, target: &Target, out: &mut Out) -> Result<()> {
        let url = target.url()?;
        let (peg, operative) = target_list::revisions(target, self.revision.range())?;
        let OpenNode { mut session, rev } = context.open_node(url, peg, operative)?;
        if session.check_path(&RelPath::empty(), Some(rev))? == NodeKind::Dir {
            let message = format!("URL '{}' refers to a directory", session.url());
            return Err(Error::new(Code::CLIENT_IS_DIRECTORY, message));
        }
        let request = FileRequest {
            path: &RelPath::empty(),
            rev: Some(rev),
            props: true,
            text: true,
        };
        let names = Names::new(&*session);
        let mut translation = None;
        let mut is_first = true;
        let mut converted = Vec::new();
        session.file(&request, &mut |file, piece| {
            if std::mem::take(&mut is_first) {
                translation = names.translation(file, self.ignore_keywords)?;
            }
            let Some(translation) = &mut translation else {
                return out.raw(piece);
            };
            converted.clear();
            translation.convert(piece, &mut converted);
            out.raw(&converted)
        })?;
        if let Some(translation) = translation {
            converted.clear();
            translation.finish(&mut converted);
            out.raw(&converted)?;
        }
        Ok(())
    }
}

/// True for the errors that concern a missing target, and not the run.
fn is_missing(error: &Error) -> bool {
    [
        Code::FS_NOT_FOUND,
        Code::ENTRY_NOT_FOUND,
        Code::UNVERSIONED_RESOURCE,
        Code::WC_PATH_NOT_FOUND,
    ]
    .contains(&error.code())
}

/// The names of a file that keywords show.
struct Names {
    url: String,
    root_url: String,
    path: RelPath,
}

impl Names {
    fn new(session: &dyn Session) -> Names {
        let path = session.url().relative_to(session.root_url());
        Names {
            url: session.url().to_string(),
            root_url: session.root_url().to_string(),
            path: path.unwrap_or_else(RelPath::empty),
        }
    }

    /// Returns the conversion of the file's text; `None` if it is printed as it is.
    fn translation(&self, file: &FileInfo, ignore_keywords: bool) -> Result<Option<Translation>> {
        let text = |name| file.props.get(name).map(|value| String::from_utf8_lossy(value));
        let date = text(props::ENTRY_COMMITTED_DATE).and_then(|date| Date::parse(date.as_bytes()).ok());
        let rev = text(props::ENTRY_COMMITTED_REV).and_then(|rev| rev.parse().ok());
        let facts = FileFacts {
            rev: Revnum(rev.unwrap_or(0)),
            author: &text(props::ENTRY_LAST_AUTHOR).unwrap_or_default(),
            date,
            long_date: &date.map_or(String::new(), date_text::human),
            url: &self.url,
            root_url: &self.root_url,
            path: self.path.as_str(),
        };
        let facts = Some(&facts).filter(|_| !ignore_keywords);
        Ok(Translation::new(&file.props, LineEnd::Lf, facts))
    }
}
