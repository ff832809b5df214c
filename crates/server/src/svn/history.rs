//! History: log, locations, file revisions.

use base::{Code, Error, FsPath, Result, Revnum, props};
use delta::editor::{EncodedVersions, TextChunk};
use delta::svndiff::{self, Codec};
use repos::file_revs::{self, FileRev};
use repos::{ChangeKind, history, log};
use wire::svn::command::{Log, LogRevprops};
use wire::svn::response::{LogChange, LogEntry};
use wire::svn::{MessageSink as _, Writer};

use crate::log::operation_text::{self, STANDARD};
use crate::svn::connection::SvnConnection;
use crate::svn::repo_session::RepoSession;

impl RepoSession {
    pub(crate) fn log(&mut self, request: Log) -> Result<()> {
        let paths: Vec<FsPath> = request
            .paths
            .iter()
            .map(|path| self.access.path(path))
            .collect::<Result<_>>()?;
        self.conn.write_empty_auth_request();
        self.access
            .log_operation(|| operation_text::log(&paths, &request));
        let revprops = match request.revprops {
            LogRevprops::All => log::Revprops::All,
            LogRevprops::Some(names) => log::Revprops::Names(names),
            LogRevprops::Standard => log::Revprops::Names(STANDARD.map(str::to_owned).into()),
        };
        let options = log::LogOptions {
            paths,
            start: request.start,
            end: request.end,
            limit: request.limit,
            changed_paths: request.changed_paths,
            strict: request.strict,
            include_merged: request.include_merged,
            revprops,
        };
        let repository = self.access.repo.repository.clone();
        let readable = self.access.readable();
        self.entries(|session| {
            let mut sink = |entry: &log::LogEntry<'_>| {
                write_log_entry(&mut Writer(session.conn.out()), entry);
                session.conn.spill()
            };
            log::run(&repository, &options, &*readable, &mut sink, &Default::default())
        })
    }

    pub(crate) fn get_locations(&mut self, path: &str, peg: Revnum, revs: &[Revnum]) -> Result<()> {
        let path = self.access.path(path)?;
        self.conn.write_empty_auth_request();
        self.access
            .log_operation(|| operation_text::locations(&path, peg, revs));
        let repository = self.access.repo.repository.clone();
        let readable = self.access.readable();
        self.entries(|session| {
            let found = history::locations(&repository, &path, peg, revs, &*readable)?;
            let w = &mut Writer(session.conn.out());
            for (rev, path) in found {
                w.open().number(rev.0).string(path.as_str()).close();
            }
            Ok(())
        })
    }

    pub(crate) fn get_location_segments(
        &mut self,
        path: &str,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
    ) -> Result<()> {
        let path = self.access.path(path)?;
        self.conn.write_empty_auth_request();
        self.access
            .log_operation(|| operation_text::segments(&path, peg, start, end));
        let repository = self.access.repo.repository.clone();
        let readable = self.access.readable();
        self.entries(|session| {
            let mut sink = |segment: history::LocationSegment| {
                let w = &mut Writer(session.conn.out());
                w.open().number(segment.start.0).number(segment.end.0);
                w.maybe_string(segment.path.as_ref().map(FsPath::rel_str)).close();
                session.conn.spill()
            };
            history::location_segments(&repository, &path, peg, start, end, &*readable, &mut sink)
        })
    }

    pub(crate) fn get_deleted_rev(&mut self, path: &str, peg: Revnum, end: Revnum) -> Result<()> {
        let path = self.access.path(path)?;
        self.conn.write_empty_auth_request();
        self.access.log_operation(|| "get-deleted-rev".to_owned());
        match history::deleted_rev(&self.access.repo.repository, &path, peg, end)? {
            Some(rev) => {
                self.conn.success(|w| _ = w.number(rev.0));
                Ok(())
            }
            None => Err(Error::new(
                Code::ENTRY_MISSING_REVISION,
                format!(
                    "svn protocol command 'get-deleted-rev': path '{path}' was not deleted in r{peg}-{end}; \
                     NOTE: newer clients handle this case and do not report it as an error"
                ),
            )),
        }
    }

    pub(crate) fn get_file_revs(
        &mut self,
        path: &str,
        start: Option<Revnum>,
        end: Option<Revnum>,
        include_merged: bool,
    ) -> Result<()> {
        let path = self.access.path(path)?;
        self.conn.write_empty_auth_request();
        self.access
            .log_operation(|| operation_text::file_revs(&path, start, end, include_merged));
        let repository = self.access.repo.repository.clone();
        let readable = self.access.readable();
        let level = self.access.service.context.options().compression;
        self.entries(|session| {
            let mut sink = FileRevs {
                conn: &mut session.conn,
                codec: &mut session.codec,
                version: if level == 0 {
                    0
                } else {
                    session.capabilities.svndiff_version()
                },
                level,
                document: None,
                window: Vec::new(),
            };
            let cancel = Default::default();
            file_revs::run(
                &repository,
                &path,
                start,
                end,
                include_merged,
                &*readable,
                &mut sink,
                &cancel,
            )
        })
    }
}

fn write_log_entry(w: &mut Writer<'_>, entry: &log::LogEntry<'_>) {
    let mut head = LogEntry {
        rev: entry.rev,
        author: None,
        date: None,
        message: None,
        has_children: entry.has_children,
        revprops: Vec::new(),
        subtractive: entry.subtractive_merge,
    };
    for (name, value) in entry.props() {
        match name {
            props::AUTHOR => head.author = Some(value),
            props::DATE => head.date = Some(value),
            props::LOG => head.message = Some(value),
            _ => head.revprops.push((name, value)),
        }
    }
    head.write(w, |w| {
        for change in entry.changes.iter() {
            let action = match change.change {
                ChangeKind::Add => 'A',
                ChangeKind::Delete => 'D',
                ChangeKind::Replace => 'R',
                ChangeKind::Modify => 'M',
            };
            LogChange {
                path: change.path,
                action,
                copyfrom: change.copyfrom.map(|(rev, path)| (path, rev)),
                kind: change.node_kind,
                text_mods: change.text_mod,
                prop_mods: change.prop_mod,
            }
            .write(w);
        }
    });
}

/// Sends the revisions of a file. Each has a header item, then the bytes of an svndiff document as bare strings, then an
/// empty string.
struct FileRevs<'a> {
    conn: &'a mut SvnConnection,
    codec: &'a mut Codec,
    version: u8,
    level: u8,
    /// The version of the current svndiff document, once it has begun.
    document: Option<u8>,
    window: Vec<u8>,
}

impl FileRevs<'_> {
    /// Returns the compression level: 0 while the peer reads fast.
    fn level(&self) -> u8 {
        if self.conn.is_slow() { self.level } else { 0 }
    }

    /// Begins the document unless it has begun; returns its version.
    fn begin(&mut self, version: u8) -> u8 {
        *self.document.get_or_insert_with(|| {
            Writer(self.conn.out()).string([b'S', b'V', b'N', version]);
            version
        })
    }
}

impl file_revs::FileRevSink for FileRevs<'_> {
    fn revision(&mut self, rev: &FileRev<'_>) -> Result<()> {
        let w = &mut Writer(self.conn.out());
        w.open()
            .string(rev.path.as_str())
            .number(rev.rev.0)
            .proplist(rev.revprops.iter())
            .open();
        for (name, value) in rev.prop_changes {
            w.open().string(name).maybe_string(value.as_ref()).close();
        }
        w.close().boolean(rev.merged).close();
        self.document = None;
        if !rev.has_delta {
            w.string("");
        }
        self.conn.spill()
    }

    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        let wanted = match chunk {
            TextChunk::Encoded(window) if window.version <= self.version => window.version,
            _ => self.version,
        };
        let version = self.begin(wanted);
        match chunk {
            TextChunk::Encoded(window) if window.version == version => {
                Writer(self.conn.out()).string(window.raw);
            }
            TextChunk::Encoded(window) => {
                self.window.clear();
                let level = self.level();
                window.write_as(version, level, self.codec, &mut self.window)?;
                Writer(self.conn.out()).string(&self.window);
            }
            TextChunk::Decoded(window) => {
                self.window.clear();
                let level = self.level();
                svndiff::write_window(window, version, level, self.codec, &mut self.window);
                Writer(self.conn.out()).string(&self.window);
            }
        }
        self.conn.spill()
    }

    fn text_end(&mut self) -> Result<()> {
        self.begin(self.version);
        Writer(self.conn.out()).string("");
        self.conn.spill()
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(self.version)
    }
}
