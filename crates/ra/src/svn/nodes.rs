//! Requests about nodes: files, directories, listings, mergeinfo.

use base::checksum::{Md5, Md5Stream};
use base::{Code, Date, Error, Mergeinfo, RelPath, Result, is_component};
use wire::svn::command::{Command, Fields, GetDir, GetFile, GetMergeinfo, List};
use wire::svn::response::{self, parse_proplist};
use wire::svn::response_read::revision;
use wire::svn::{Item, Malformed};

use super::{SvnSession, failure};
use crate::answers::{Directory, Dirent, FileInfo};
use crate::requests::{
    DirectoryRequest, DirentFields, FileRequest, ListRequest, MergeinfoOf, MergeinfoRequest,
};

impl SvnSession {
    pub(super) fn read_file(
        &mut self,
        request: &FileRequest<'_>,
        text: &mut dyn FnMut(&FileInfo, &[u8]) -> Result<()>,
    ) -> Result<FileInfo> {
        let command = Command::GetFile(GetFile {
            at: self.at(request.path, request.rev),
            want_props: request.props,
            want_contents: request.text,
            want_iprops: false,
        });
        let info = self.call(&command, |mut params| {
            let md5 = params.maybe_string()?;
            Ok(FileInfo {
                md5: md5
                    .map(|hex| Md5::parse_hex(hex).ok_or(Malformed::Checksum))
                    .transpose()?,
                rev: revision(&mut params)?,
                props: parse_proplist(params.list()?)?,
            })
        })?;
        if request.text {
            self.read_text(request.path, &info, text)?;
        }
        Ok(info)
    }

    /// Reads the strings of a text, the empty one at its end, and the second response.
    fn read_text(
        &mut self,
        path: &RelPath,
        info: &FileInfo,
        text: &mut dyn FnMut(&FileInfo, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut digest = Md5Stream::new();
        loop {
            let read = match self.conn.receive()? {
                Item::String(b"") => break,
                Item::String(piece) => {
                    digest.update(piece);
                    text(info, piece)
                }
                Item::List(tuple) => match failure(tuple) {
                    Some(Ok(error)) => return Err(error),
                    _ => Err(Malformed::Kind.into()),
                },
                _ => Err(Malformed::Kind.into()),
            };
            if let Err(error) = read {
                return Err(self.conn.lose(error));
            }
        }
        self.response(|_| Ok(()))?;
        let actual = digest.finish();
        match &info.md5 {
            Some(expected) if !expected.matches(&actual) => Err(Error::new(
                Code::CHECKSUM_MISMATCH,
                format!(
                    "Checksum mismatch for '{path}':\n   expected:  {expected}\n     actual:  {actual}\n"
                ),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn read_directory(&mut self, request: &DirectoryRequest<'_>) -> Result<Directory> {
        let command = Command::GetDir(GetDir {
            at: self.at(request.path, request.rev),
            want_props: request.props,
            want_contents: request.entries.is_some(),
            fields: wire_fields(request.entries.unwrap_or(DirentFields::KIND)),
            want_iprops: false,
        });
        self.call(&command, |mut params| {
            let rev = revision(&mut params)?;
            let props = parse_proplist(params.list()?)?;
            let mut list = params.list()?;
            let mut entries = Vec::new();
            while !list.is_empty() {
                let mut entry = list.list()?;
                let name = entry.text()?;
                if !is_component(name) {
                    return Err(Malformed::Text);
                }
                entries.push((name.to_owned(), dirent(response::Dirent::parse(&mut entry)?)));
            }
            entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            Ok(Directory { rev, props, entries })
        })
    }

    pub(super) fn read_list(
        &mut self,
        request: &ListRequest<'_>,
        entry: &mut dyn FnMut(&RelPath, &Dirent) -> Result<()>,
    ) -> Result<()> {
        let patterns = request.patterns.map(|patterns| {
            let folded = patterns.iter().map(|pattern| crate::local::fold(pattern));
            folded.collect()
        });
        let command = Command::List(List {
            at: self.at(request.path, request.rev),
            depth: request.depth,
            fields: wire_fields(request.fields),
            patterns,
        });
        self.start(&command)?;
        let top = self.fs_path(request.path);
        self.stream(
            |tuple| {
                let (path, found) = response::Dirent::parse_listed(*tuple)?;
                let path = base::FsPath::parse(path).map_err(|_| Malformed::Text)?;
                let below = path.relative_to(&top).ok_or(Malformed::Text)?;
                Ok((below, dirent(found)))
            },
            |(below, found)| entry(&below, &found),
        )
    }

    pub(super) fn read_mergeinfo(
        &mut self,
        request: &MergeinfoRequest<'_>,
    ) -> Result<Vec<(RelPath, Mergeinfo)>> {
        self.move_server_here()?;
        let inherit = match request.of {
            MergeinfoOf::Explicit => "explicit",
            MergeinfoOf::Inherited => "inherited",
            MergeinfoOf::NearestAncestor => "nearest-ancestor",
        };
        let command = Command::GetMergeinfo(GetMergeinfo {
            paths: request.paths.iter().map(|path| self.path(path)).collect(),
            rev: request.rev,
            inherit: inherit.to_owned(),
            descendants: request.descendants,
        });
        let found = self.call(&command, |mut params| {
            let mut list = params.list()?;
            let mut found = Vec::new();
            while !list.is_empty() {
                let mut pair = list.list()?;
                // Old servers send a leading slash.
                let path = RelPath::canonicalize(pair.text()?).map_err(|_| Malformed::Text)?;
                found.push((path, pair.string()?.to_vec()));
            }
            Ok(found)
        })?;
        let mut parsed = Vec::with_capacity(found.len());
        for (path, text) in found {
            parsed.push((path, Mergeinfo::parse(&text)?));
        }
        parsed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(parsed)
    }
}

/// Returns a description as sessions return it. The epoch stands for a date that is not set.
pub(super) fn dirent(found: response::Dirent<'_>) -> Dirent {
    let date = found.date.and_then(|text| Date::parse(text).ok());
    Dirent {
        kind: found.kind,
        // get-dir sends 0 for a directory.
        size: found.size.filter(|_| found.kind != base::NodeKind::Dir),
        has_props: found.has_props,
        created_rev: found.created_rev,
        date: date.filter(|date| *date != Date(0)),
        author: found
            .author
            .map(|author| String::from_utf8_lossy(author).into_owned()),
    }
}

fn wire_fields(wanted: DirentFields) -> Fields {
    let fields = [
        (wanted.kind, Fields::KIND),
        (wanted.size, Fields::SIZE),
        (wanted.has_props, Fields::HAS_PROPS),
        (wanted.created_rev, Fields::CREATED_REV),
        (wanted.date, Fields::TIME),
        (wanted.author, Fields::LAST_AUTHOR),
    ];
    let wanted = fields.into_iter().filter(|(is_wanted, _)| *is_wanted);
    wanted.fold(Fields::NONE, |all, (_, field)| all.with(field))
}
