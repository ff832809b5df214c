//! The description of a working copy that a client sends before the server drives an edit. Paths, URLs and tokens are
//! the bytes that the client sent, whether or not they are UTF-8.

use base::{Depth, Revnum};

use super::command::Named;
use super::item::{Malformed, Tuple};
use super::write::Writer;

/// One message of a report, borrowed: a working copy may send a hundred thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportCommand<'a> {
    /// A path is at a revision.
    SetPath {
        /// Relative to the report's target.
        path: &'a [u8],
        /// Where it is.
        at: ReportedAt<'a>,
    },
    /// A path is missing.
    DeletePath {
        /// Relative to the report's target.
        path: &'a [u8],
    },
    /// A path is at another URL.
    LinkPath {
        /// Relative to the report's target.
        path: &'a [u8],
        /// The URL.
        url: &'a [u8],
        /// Where it is.
        at: ReportedAt<'a>,
    },
    /// The report is complete: drive the edit.
    Finish,
    /// Forget it.
    Abort,
}

/// In which state a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedAt<'a> {
    /// Its revision.
    pub rev: Revnum,
    /// The client has nothing of it yet but its name.
    pub start_empty: bool,
    /// Token of the lock that the client thinks it holds.
    pub lock_token: Option<&'a [u8]>,
    /// How much of it the client has.
    pub depth: Depth,
}

impl<'a> ReportCommand<'a> {
    /// Reads a message; `None` for a name that is no report command.
    ///
    /// # Errors
    /// If the parameters have another shape.
    pub fn parse(named: Named<'a>) -> Result<Option<Self>, Malformed> {
        let mut p = named.params;
        Ok(Some(match named.name {
            "set-path" => ReportCommand::SetPath {
                path: p.string()?,
                at: reported_at(&mut p)?,
            },
            "delete-path" => ReportCommand::DeletePath { path: p.string()? },
            "link-path" => ReportCommand::LinkPath {
                path: p.string()?,
                url: p.string()?,
                at: reported_at(&mut p)?,
            },
            "finish-report" => ReportCommand::Finish,
            "abort-report" => ReportCommand::Abort,
            _ => return Ok(None),
        }))
    }

    /// Writes the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut w = Writer(out);
        w.open();
        match self {
            ReportCommand::SetPath { path, at } => {
                w.word("set-path").open().string(path);
                write_at(&mut w, at);
            }
            ReportCommand::DeletePath { path } => _ = w.word("delete-path").open().string(path),
            ReportCommand::LinkPath { path, url, at } => {
                w.word("link-path").open().string(path).string(url);
                write_at(&mut w, at);
            }
            ReportCommand::Finish => _ = w.word("finish-report").open(),
            ReportCommand::Abort => _ = w.word("abort-report").open(),
        }
        w.close().close();
    }
}

fn reported_at<'a>(p: &mut Tuple<'a>) -> Result<ReportedAt<'a>, Malformed> {
    let rev = Revnum(p.number()?);
    let start_empty = p.boolean()?;
    let lock_token = match p.is_empty() {
        true => None,
        false => p.maybe_string()?,
    };
    let depth = match p.is_empty() {
        true => Depth::Infinity,
        false => Depth::from_word(p.word()?.as_bytes()),
    };
    Ok(ReportedAt {
        rev,
        start_empty,
        lock_token,
        depth,
    })
}

fn write_at(w: &mut Writer<'_>, at: &ReportedAt<'_>) {
    w.number(at.rev.0).boolean(at.start_empty);
    w.maybe_string(at.lock_token).word(at.depth.word());
}
