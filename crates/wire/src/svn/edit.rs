//! The messages of an edit, in either direction: typed, borrowed from the receive buffer.
//!
//! A driver sends them without waiting for answers (see [`super::EditDriver`]), a consumer turns them into calls of
//! an [`delta::editor::Editor`] (see [`super::EditDecoder`]). Tokens are strings that the driver makes up. Paths and names are
//! the bytes that the peer sent: what is not UTF-8 is refused where it is used, and does not end the connection.

use base::Revnum;
use base::checksum::Md5;

use super::command::Named;
use super::item::{Malformed, Tuple};
use super::write::Writer;

/// Where an added node was copied from: a URL in a commit, an absolute path elsewhere.
pub type CopySource<'a> = (&'a [u8], Revnum);

/// One message of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are those of the Editor's calls, explained there"
)]
pub enum EditCommand<'a> {
    /// Names the revision that the edit leads to.
    TargetRev { rev: Revnum },
    /// Opens the root.
    OpenRoot { rev: Option<Revnum>, token: &'a [u8] },
    /// Deletes an entry.
    DeleteEntry {
        path: &'a [u8],
        rev: Option<Revnum>,
        dir: &'a [u8],
    },
    /// Adds a directory.
    AddDir {
        path: &'a [u8],
        parent: &'a [u8],
        token: &'a [u8],
        copyfrom: Option<CopySource<'a>>,
    },
    /// Opens a directory.
    OpenDir {
        path: &'a [u8],
        parent: &'a [u8],
        token: &'a [u8],
        rev: Option<Revnum>,
    },
    /// Changes a property of a directory.
    ChangeDirProp {
        token: &'a [u8],
        name: &'a [u8],
        value: Option<&'a [u8]>,
    },
    /// Ends a directory.
    CloseDir { token: &'a [u8] },
    /// Tells of a directory that may not be seen.
    AbsentDir { path: &'a [u8], parent: &'a [u8] },
    /// Adds a file.
    AddFile {
        path: &'a [u8],
        parent: &'a [u8],
        token: &'a [u8],
        copyfrom: Option<CopySource<'a>>,
    },
    /// Opens a file.
    OpenFile {
        path: &'a [u8],
        parent: &'a [u8],
        token: &'a [u8],
        rev: Option<Revnum>,
    },
    /// Starts a text.
    ApplyTextdelta { token: &'a [u8], base_md5: Option<Md5> },
    /// Some bytes of a text's svndiff document.
    TextdeltaChunk { token: &'a [u8], chunk: &'a [u8] },
    /// Ends a text.
    TextdeltaEnd { token: &'a [u8] },
    /// Changes a property of a file.
    ChangeFileProp {
        token: &'a [u8],
        name: &'a [u8],
        value: Option<&'a [u8]>,
    },
    /// Ends a file.
    CloseFile { token: &'a [u8], text_md5: Option<Md5> },
    /// Tells of a file that may not be seen.
    AbsentFile { path: &'a [u8], parent: &'a [u8] },
    /// Ends the edit.
    CloseEdit,
    /// Gives the edit up.
    AbortEdit,
    /// Ends a replayed revision.
    FinishReplay,
}

impl<'a> EditCommand<'a> {
    /// Reads a message; `None` for a name that is none of an edit.
    ///
    /// # Errors
    /// If the parameters have another shape.
    #[expect(
        clippy::too_many_lines,
        reason = "a table of the messages and their parameters"
    )]
    pub fn parse(named: Named<'a>) -> Result<Option<Self>, Malformed> {
        use EditCommand as E;
        let mut p = named.params;
        let p = &mut p;
        Ok(Some(match named.name {
            "target-rev" => E::TargetRev {
                rev: Revnum(p.number()?),
            },
            "open-root" => E::OpenRoot {
                rev: rev(p)?,
                token: p.string()?,
            },
            "delete-entry" => E::DeleteEntry {
                path: p.string()?,
                rev: rev(p)?,
                dir: p.string()?,
            },
            "add-dir" => E::AddDir {
                path: p.string()?,
                parent: p.string()?,
                token: p.string()?,
                copyfrom: copyfrom(p)?,
            },
            "open-dir" => E::OpenDir {
                path: p.string()?,
                parent: p.string()?,
                token: p.string()?,
                rev: rev(p)?,
            },
            "change-dir-prop" => E::ChangeDirProp {
                token: p.string()?,
                name: p.string()?,
                value: p.maybe_string()?,
            },
            "close-dir" => E::CloseDir { token: p.string()? },
            "absent-dir" => E::AbsentDir {
                path: p.string()?,
                parent: p.string()?,
            },
            "add-file" => E::AddFile {
                path: p.string()?,
                parent: p.string()?,
                token: p.string()?,
                copyfrom: copyfrom(p)?,
            },
            "open-file" => E::OpenFile {
                path: p.string()?,
                parent: p.string()?,
                token: p.string()?,
                rev: rev(p)?,
            },
            "apply-textdelta" => E::ApplyTextdelta {
                token: p.string()?,
                base_md5: md5(p)?,
            },
            "textdelta-chunk" => E::TextdeltaChunk {
                token: p.string()?,
                chunk: p.string()?,
            },
            "textdelta-end" => E::TextdeltaEnd { token: p.string()? },
            "change-file-prop" => E::ChangeFileProp {
                token: p.string()?,
                name: p.string()?,
                value: p.maybe_string()?,
            },
            "close-file" => E::CloseFile {
                token: p.string()?,
                text_md5: md5(p)?,
            },
            "absent-file" => E::AbsentFile {
                path: p.string()?,
                parent: p.string()?,
            },
            "close-edit" => E::CloseEdit,
            "abort-edit" => E::AbortEdit,
            "finish-replay" => E::FinishReplay,
            _ => return Ok(None),
        }))
    }

    /// Writes the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        use EditCommand as E;
        let w = &mut Writer(out);
        w.open();
        match *self {
            E::TargetRev { rev } => _ = w.word("target-rev").open().number(rev.0),
            E::OpenRoot { rev, token } => _ = w.word("open-root").open().maybe_number(num(rev)).string(token),
            E::DeleteEntry { path, rev, dir } => {
                w.word("delete-entry").open().string(path);
                w.maybe_number(num(rev)).string(dir);
            }
            E::AddDir {
                path,
                parent,
                token,
                copyfrom,
            } => write_add(w, "add-dir", path, parent, token, copyfrom),
            E::OpenDir {
                path,
                parent,
                token,
                rev,
            } => write_open(w, "open-dir", path, parent, token, rev),
            E::ChangeDirProp { token, name, value } => write_prop(w, "change-dir-prop", token, name, value),
            E::CloseDir { token } => _ = w.word("close-dir").open().string(token),
            E::AbsentDir { path, parent } => _ = w.word("absent-dir").open().string(path).string(parent),
            E::AddFile {
                path,
                parent,
                token,
                copyfrom,
            } => write_add(w, "add-file", path, parent, token, copyfrom),
            E::OpenFile {
                path,
                parent,
                token,
                rev,
            } => write_open(w, "open-file", path, parent, token, rev),
            E::ApplyTextdelta { token, base_md5 } => {
                w.word("apply-textdelta").open().string(token);
                write_md5(w, base_md5);
            }
            E::TextdeltaChunk { token, chunk } => {
                w.word("textdelta-chunk").open().string(token).string(chunk);
            }
            E::TextdeltaEnd { token } => _ = w.word("textdelta-end").open().string(token),
            E::ChangeFileProp { token, name, value } => write_prop(w, "change-file-prop", token, name, value),
            E::CloseFile { token, text_md5 } => {
                w.word("close-file").open().string(token);
                write_md5(w, text_md5);
            }
            E::AbsentFile { path, parent } => _ = w.word("absent-file").open().string(path).string(parent),
            E::CloseEdit => _ = w.word("close-edit").open(),
            E::AbortEdit => _ = w.word("abort-edit").open(),
            E::FinishReplay => _ = w.word("finish-replay").open(),
        }
        w.close().close();
    }
}

/// Writes the name and the parameters of a message that adds a node. As the two below, always inlined: a name of constant length is
/// written faster.
#[inline(always)]
fn write_add(
    w: &mut Writer<'_>,
    name: &str,
    path: &[u8],
    parent: &[u8],
    token: &[u8],
    copyfrom: Option<CopySource<'_>>,
) {
    w.word(name).open().string(path).string(parent).string(token);
    write_copyfrom(w, copyfrom);
}

/// Writes the name and the parameters of a message that opens a node.
#[inline(always)]
fn write_open(w: &mut Writer<'_>, name: &str, path: &[u8], parent: &[u8], token: &[u8], rev: Option<Revnum>) {
    w.word(name).open().string(path).string(parent).string(token);
    w.maybe_number(num(rev));
}

/// Writes the name and the parameters of a message that changes a property.
#[inline(always)]
fn write_prop(w: &mut Writer<'_>, name: &str, token: &[u8], prop: &[u8], value: Option<&[u8]>) {
    w.word(name).open().string(token).string(prop).maybe_string(value);
}

fn num(rev: Option<Revnum>) -> Option<u64> {
    rev.map(|rev| rev.0)
}

fn rev(p: &mut Tuple<'_>) -> Result<Option<Revnum>, Malformed> {
    Ok(p.maybe_number()?.map(Revnum).filter(|rev| *rev <= Revnum::MAX))
}

fn copyfrom<'a>(p: &mut Tuple<'a>) -> Result<Option<CopySource<'a>>, Malformed> {
    let mut bracket = p.list()?;
    if bracket.is_empty() {
        return Ok(None);
    }
    Ok(Some((bracket.string()?, Revnum(bracket.number()?))))
}

fn write_copyfrom(w: &mut Writer<'_>, copyfrom: Option<CopySource<'_>>) {
    w.open();
    if let Some((path, rev)) = copyfrom {
        w.string(path).number(rev.0);
    }
    w.close();
}

fn md5(p: &mut Tuple<'_>) -> Result<Option<Md5>, Malformed> {
    match p.maybe_string()? {
        None => Ok(None),
        // The incumbent looks no further than a checksum reaches.
        Some(text) => match text.get(..32).and_then(Md5::parse_hex) {
            Some(md5) => Ok(Some(md5)),
            None => Err(Malformed::Checksum),
        },
    }
}

fn write_md5(w: &mut Writer<'_>, md5: Option<Md5>) {
    w.open();
    if let Some(md5) = md5 {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(md5.0) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        w.string(digits);
    }
    w.close();
}

const HEX: &[u8; 16] = b"0123456789abcdef";
