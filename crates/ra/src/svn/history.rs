//! Requests about history: the log, locations, revisions of a file.

use base::{Code, Error, FsPath, NodeKind, RelPath, Result, Revnum, props};
use delta::editor::TextChunk;
use delta::svndiff::{Codec, Decoder};
use wire::svn::command::{self, Command, Log};
use wire::svn::handshake::Capabilities;
use wire::svn::response_read::{self, parse_location};
use wire::svn::{Item, Malformed, Tuple, response};

use super::{SvnSession, failure};
use crate::answers::{ChangeAction, FileRev, FileRevSink, LocationSegment, LogChange, LogEntry};
use crate::log_limit::LogLimit;
use crate::requests::{FileRevsRequest, LogRequest, LogRevprops};

impl SvnSession {
    pub(super) fn read_log(
        &mut self,
        request: &LogRequest,
        sink: &mut dyn FnMut(&LogEntry) -> Result<()>,
    ) -> Result<()> {
        let paths = match request.paths.is_empty() {
            true => vec![self.path(&RelPath::empty())],
            false => request.paths.iter().map(|path| self.path(path)).collect(),
        };
        let revprops = match &request.revprops {
            LogRevprops::All => command::LogRevprops::All,
            LogRevprops::Names(names) => command::LogRevprops::Some(names.clone()),
        };
        let command = Command::Log(Log {
            paths,
            start: request.start,
            end: request.end,
            changed_paths: request.changed_paths,
            strict: request.strict,
            limit: request.limit,
            include_merged: request.include_merged,
            revprops,
        });
        self.start(&command)?;
        let mut limit = LogLimit::new(request.limit);
        self.stream(
            |tuple| log_entry(tuple, &request.revprops),
            |entry| match limit.admits(&entry) {
                true => sink(&entry),
                false => Ok(()),
            },
        )
    }

    pub(super) fn read_locations(
        &mut self,
        path: &RelPath,
        peg: Revnum,
        revs: &[Revnum],
    ) -> Result<Vec<(Revnum, FsPath)>> {
        let command = Command::GetLocations {
            path: self.path(path),
            peg,
            revs: revs.to_vec(),
        };
        self.start(&command)?;
        let mut found = Vec::new();
        self.stream(
            |tuple| Ok(parse_location(*tuple)?),
            |location| {
                // A server sends one location for each revision: more would only fill the memory.
                if found.len() == revs.len() {
                    return Err(Malformed::Order.into());
                }
                found.push(location);
                Ok(())
            },
        )?;
        found.sort_unstable_by_key(|(rev, _)| std::cmp::Reverse(*rev));
        Ok(found)
    }

    pub(super) fn read_location_segments(
        &mut self,
        command: &Command,
        sink: &mut dyn FnMut(&LocationSegment) -> Result<()>,
    ) -> Result<()> {
        self.start(command)?;
        self.stream(
            |tuple| {
                let segment = response_read::LocationSegment::parse(*tuple)?;
                Ok(LocationSegment {
                    start: segment.start,
                    end: segment.end,
                    path: segment.path.map(FsPath::canonicalize).transpose()?,
                })
            },
            |segment| sink(&segment),
        )
    }

    pub(super) fn read_file_revs(
        &mut self,
        request: &FileRevsRequest<'_>,
        sink: &mut dyn FileRevSink,
    ) -> Result<()> {
        let (start, end) = (request.start, request.end);
        let is_reverse = end.is_some_and(|end| start.is_none_or(|start| start > end));
        if is_reverse && !self.capabilities.has(Capabilities::FILE_REVS_REVERSE) {
            let message = "Getting file revisions in reverse order is not supported by the server";
            return Err(Error::new(Code::RA_NOT_IMPLEMENTED, message));
        }
        let command = Command::GetFileRevs {
            path: self.path(request.path),
            start,
            end,
            include_merged: request.include_merged,
        };
        self.start(&command)?;
        let mut stream = FileRevStream {
            sink,
            codec: &mut self.codec,
            text: TextState::None,
            count: 0,
        };
        loop {
            let read = match self.conn.receive()? {
                Item::Word("done") if matches!(stream.text, TextState::None) => break,
                Item::List(tuple) => match failure(tuple) {
                    Some(Ok(error)) => return Err(error),
                    Some(Err(what)) => Err(what.into()),
                    None => stream.revision(tuple),
                },
                Item::String(bytes) => stream.bytes(bytes),
                _ => Err(Malformed::Kind.into()),
            };
            if let Err(error) = read {
                return Err(self.conn.lose(error));
            }
        }
        let count = stream.count;
        self.response(|_| Ok(()))?;
        match count {
            0 => Err(Error::new(
                Code::RA_SVN_MALFORMED_DATA,
                "The get-file-revs command didn't return any revisions",
            )),
            _ => Ok(()),
        }
    }
}

/// The revisions of a file, as they arrive: a tuple, then the strings of an svndiff document, then an empty string.
struct FileRevStream<'a> {
    sink: &'a mut dyn FileRevSink,
    codec: &'a mut Codec,
    text: TextState,
    count: u64,
}

enum TextState {
    /// The next item is a revision, or the end.
    None,
    /// The next item is a string: the first of the document, or the empty one if there is none.
    Expected,
    Begun(Decoder),
}

impl FileRevStream<'_> {
    fn revision(&mut self, tuple: Tuple<'_>) -> Result<()> {
        if !matches!(self.text, TextState::None) {
            return Err(Malformed::Order.into());
        }
        let rev = response_read::FileRev::parse(tuple)?;
        self.text = TextState::Expected;
        self.count += 1;
        self.sink.revision(&FileRev {
            path: FsPath::canonicalize(rev.path)?,
            rev: rev.rev,
            revprops: rev.revprops,
            prop_changes: rev.prop_changes,
            merged: rev.merged,
        })
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let mut decoder = match std::mem::replace(&mut self.text, TextState::None) {
            TextState::None => return Err(Malformed::Order.into()),
            TextState::Expected if bytes.is_empty() => return Ok(()),
            TextState::Expected => Decoder::new(),
            TextState::Begun(decoder) => decoder,
        };
        if bytes.is_empty() {
            decoder.finish()?;
            return self.sink.text_end();
        }
        let accepts = self.sink.accepts_encoded();
        let (sink, codec) = (&mut *self.sink, &mut *self.codec);
        decoder.push(bytes, |window| match accepts.contains(window.version) {
            true => sink.text_chunk(TextChunk::Encoded(window)),
            false => sink.text_chunk(TextChunk::Decoded(&window.decode(codec)?)),
        })?;
        self.text = TextState::Begun(decoder);
        Ok(())
    }
}

/// Reads an entry of a log.
fn log_entry(tuple: &mut Tuple<'_>, wanted: &LogRevprops) -> Result<LogEntry> {
    let mut changes = Vec::new();
    let (head, has_revprops) = response::LogEntry::parse(tuple, &mut changes)?;
    let mut entry = LogEntry {
        rev: head.rev,
        has_children: head.has_children,
        subtractive_merge: head.subtractive,
        ..LogEntry::default()
    };
    let standard = [
        (props::AUTHOR, head.author),
        (props::DATE, head.date),
        (props::LOG, head.message),
    ];
    if let LogRevprops::Names(names) = wanted
        && !has_revprops
        && !names
            .iter()
            .all(|name| standard.iter().any(|(known, _)| known == name))
    {
        let message = "Server does not support custom revprops via log";
        return Err(Error::new(Code::RA_NOT_IMPLEMENTED, message));
    }
    for (name, value) in standard {
        if let Some(value) = value.filter(|_| wanted.includes(name)) {
            entry.revprops.insert(name.to_owned(), value.to_vec());
        }
    }
    for (name, value) in head.revprops {
        entry.revprops.insert(name.to_owned(), value.to_vec());
    }
    entry.changes = changes.iter().map(log_change).collect::<Result<_>>()?;
    Ok(entry)
}

fn log_change(change: &response::LogChange<'_>) -> Result<LogChange> {
    let source = |(path, rev): (&str, Revnum)| Ok::<_, Error>((FsPath::canonicalize(path)?, rev));
    Ok(LogChange {
        path: FsPath::canonicalize(change.path)?,
        action: match change.action {
            'A' => ChangeAction::Add,
            'D' => ChangeAction::Delete,
            'R' => ChangeAction::Replace,
            _ => ChangeAction::Modify,
        },
        copyfrom: change.copyfrom.map(source).transpose()?,
        kind: match change.kind {
            NodeKind::None => NodeKind::Unknown,
            kind => kind,
        },
        text_mods: change.text_mods,
        prop_mods: change.prop_mods,
    })
}
