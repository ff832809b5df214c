//! The Editor: how one tree's difference from another is told.
//!
//! A *driver* calls the methods, a *consumer* implements them: an update report drives an editor that writes to
//! the wire, a commit drives one that changes a transaction, replay drives one that prints a dump stream. It is
//! the hinge of the house: drivers and consumers meet only here.
//!
//! Order of calls: `open_root` first; an entry is added, opened, deleted or marked absent while its parent is open;
//! a directory is closed after its entries. Files are looser: a file may stay open after its parent and even the
//! root were closed, several files may be open at once, and their texts may be interleaved. `close_edit` or
//! `abort_edit` ends the edit.
//!
//! Text travels as windows, in either of two forms (see [`TextChunk`]): a consumer that can use svndiff as it is
//! stored says so by [`Editor::accepts_encoded`], and a driver that holds such windows passes them on untouched.

use base::checksum::{Md5, Sha1};
use base::{FsPath, RelPath, Result, Revnum};

use crate::svndiff::EncodedWindow;
use crate::window::Window;

/// An open directory of an edit; the consumer chooses the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirToken(pub u32);

/// An open file of an edit; the consumer chooses the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileToken(pub u32);

/// Where an added node was copied from. In a commit `path` is a URL, elsewhere an absolute repository path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyFrom<'a> {
    /// URL or repository path.
    pub path: &'a str,
    /// Revision of the source.
    pub rev: Revnum,
}

/// One piece of a text delta.
#[derive(Clone, Copy, Debug)]
pub enum TextChunk<'a> {
    /// A window whose instructions are decoded.
    Decoded(&'a Window),
    /// A window as it is stored: no inflate, no matching, no re-encoding on its way.
    Encoded(&'a EncodedWindow<'a>),
}

/// Which stored svndiff versions a consumer takes without decoding: bit `v` set for version `v`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodedVersions(pub u8);

impl EncodedVersions {
    /// No stored window may be passed: decode everything.
    pub const NONE: EncodedVersions = EncodedVersions(0);

    /// All versions up to `max` (0, 1 or 2).
    pub fn up_to(max: u8) -> Self {
        EncodedVersions((1u8 << (max.min(2) + 1)) - 1)
    }

    /// True if windows of this version may be passed.
    pub fn contains(self, version: u8) -> bool {
        version < 8 && self.0 >> version & 1 == 1
    }
}

/// The form in which a consumer writes windows: who makes windows for it ahead of time makes them so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowForm {
    version: u8,
    level: u8,
}

impl WindowForm {
    /// svndiff `version` 0, 1 or 2; zlib's `level`, of which version 2 knows no more than that 0 is none.
    pub fn new(version: u8, level: u8) -> Self {
        WindowForm {
            version,
            level: match version {
                0 => 0,
                1 => level,
                _ => level.min(1),
            },
        }
    }

    /// The same without compressing: what is stored compressed still passes as it is.
    pub fn unpacked(self) -> Self {
        WindowForm { level: 0, ..self }
    }

    /// svndiff version of what is made; what is stored in this or an earlier version passes as it is.
    pub fn version(self) -> u8 {
        self.version
    }

    /// zlib's level, or 1 for a version that has none; 0 leaves sections as they are.
    pub fn level(self) -> u8 {
        self.level
    }
}

/// What a driver knows of a node in its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFacts<'a> {
    /// Where it is.
    pub path: &'a FsPath,
    /// A revision in which this very node is there: the oldest such.
    pub rev: Revnum,
    /// Digest of its text, if it is known.
    pub sha1: Option<Sha1>,
}

/// Consumer of a tree edit. Paths are relative to the root of the edit.
///
/// What happens to nodes everybody is told; texts, properties, ends and what may not be seen are passed over by consumers that
/// do not look at them.
pub trait Editor {
    /// Names the revision that the edit leads to.
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()>;

    /// Whether [`Editor::facts`] should be called: they cost a little.
    fn wants_facts(&self) -> bool {
        false
    }

    /// Tells about the node that the next call opens or adds, if the driver has one and the consumer wants to know.
    fn facts(&mut self, _facts: &NodeFacts<'_>) {}

    /// Opens the root; `base` is the revision that the receiver has.
    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken>;

    /// Deletes an entry; `rev` is the revision of the deletion (update) or of the deleted node (commit).
    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()>;

    /// Adds a directory, empty or as a copy.
    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken>;

    /// Opens an existing directory.
    fn open_directory(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<DirToken>;

    /// Sets or (with `None`) deletes a property.
    fn change_dir_prop(&mut self, _dir: DirToken, _name: &str, _value: Option<&[u8]>) -> Result<()> {
        Ok(())
    }

    /// Ends a directory.
    fn close_directory(&mut self, _dir: DirToken) -> Result<()> {
        Ok(())
    }

    /// Tells that a directory exists but may not be seen.
    fn absent_directory(&mut self, _path: &RelPath, _parent: DirToken) -> Result<()> {
        Ok(())
    }

    /// Adds a file, empty or as a copy.
    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken>;

    /// Opens an existing file.
    fn open_file(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<FileToken>;

    /// Starts the new text of a file, as a delta against the text the receiver has (or, for an added file
    /// without source, against the empty text); `base_md5` is that text's digest.
    fn apply_textdelta(&mut self, _file: FileToken, _base_md5: Option<&Md5>) -> Result<()> {
        Ok(())
    }

    /// Which stored windows [`Editor::text_chunk`] takes undecoded. Asked once per text.
    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::NONE
    }

    /// How [`Editor::text_chunk`] would write decoded windows. A driver may then encode them so itself, in other threads or
    /// once for several consumers, and the consumer sends the same bytes. `None` if it does not write them.
    fn window_form(&self) -> Option<WindowForm> {
        None
    }

    /// The next window of the text.
    fn text_chunk(&mut self, _file: FileToken, _chunk: TextChunk<'_>) -> Result<()> {
        Ok(())
    }

    /// Ends the text. Without any chunk before it the new text is empty (or, where only the fact of a change is
    /// told, not sent).
    fn text_end(&mut self, _file: FileToken) -> Result<()> {
        Ok(())
    }

    /// Sets or (with `None`) deletes a property.
    fn change_file_prop(&mut self, _file: FileToken, _name: &str, _value: Option<&[u8]>) -> Result<()> {
        Ok(())
    }

    /// Ends a file; `text_md5` is the digest of its text after the edit.
    fn close_file(&mut self, _file: FileToken, _text_md5: Option<&Md5>) -> Result<()> {
        Ok(())
    }

    /// Tells that a file exists but may not be seen.
    fn absent_file(&mut self, _path: &RelPath, _parent: DirToken) -> Result<()> {
        Ok(())
    }

    /// Ends the edit: everything was told.
    fn close_edit(&mut self) -> Result<()>;

    /// Gives the edit up.
    fn abort_edit(&mut self) -> Result<()> {
        Ok(())
    }
}
