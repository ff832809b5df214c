//! The Editor: the difference of one tree from another, as a sequence of calls.
//!
//! A *driver* calls the methods, a *consumer* implements them: an update report drives an editor that writes to the
//! wire, a commit drives one that changes a transaction, replay drives one that prints a dump stream. Drivers and
//! consumers meet only here.
//!
//! Order of calls: `open_root` first; an entry is added, opened, deleted or marked absent while its parent is open; a
//! directory is closed after its entries. Files are freer: a file may stay open after its parent and even the root
//! were closed, several files may be open at once, and their texts may be interleaved. `close_edit` or `abort_edit`
//! ends the edit.
//!
//! Text is passed as windows, in one of two forms (see [`TextChunk`]). A consumer that can use svndiff as it is
//! stored returns the versions from [`Editor::accepts_encoded`], and a driver that holds such windows passes them on
//! unchanged.

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

/// A part of a text delta.
#[derive(Clone, Copy, Debug)]
pub enum TextChunk<'a> {
    /// A window whose instructions are decoded.
    Decoded(&'a Window),
    /// A window as it is stored: it is neither inflated nor encoded again.
    Encoded(&'a EncodedWindow<'a>),
}

/// The stored svndiff versions that a consumer takes without decoding: bit `v` set for version `v`.
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

/// The form in which a consumer writes windows: other threads prefetch windows in this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowForm {
    version: u8,
    level: u8,
}

impl WindowForm {
    /// svndiff `version` 0, 1 or 2; zlib's `level`, of which version 2 uses only whether it is 0: no compression.
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

    /// Returns the same form without compression: stored compressed windows still pass unchanged.
    pub fn unpacked(self) -> Self {
        WindowForm { level: 0, ..self }
    }

    /// The svndiff version of encoded windows; stored windows of this or an earlier version pass unchanged.
    pub fn version(self) -> u8 {
        self.version
    }

    /// zlib's level, or 1 for a version that has none; 0 leaves sections as they are.
    pub fn level(self) -> u8 {
        self.level
    }
}

/// What a driver knows about a node in its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFacts<'a> {
    /// Its path.
    pub path: &'a FsPath,
    /// The oldest revision in which this very node is at this path.
    pub rev: Revnum,
    /// Digest of its text, if it is known.
    pub sha1: Option<Sha1>,
}

/// The consumer of a tree edit. Paths are relative to the root of the edit.
///
/// Every consumer handles additions, deletions and openings. The default methods ignore texts, properties, ends and
/// absent nodes.
pub trait Editor {
    /// Names the revision that the edit leads to.
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()>;

    /// Returns whether [`Editor::facts`] should be called: the facts cost a little.
    fn wants_facts(&self) -> bool {
        false
    }

    /// Describes the node that the next call opens or adds, if the driver has one and the consumer wants it.
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

    /// Marks a directory that exists but that the receiver may not see.
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

    /// True if the texts of files may come after calls for other nodes: the file stays open until then, its directory may be closed before.
    /// A driver that fetches each text by a request of its own need not wait for them.
    fn takes_late_texts(&self) -> bool {
        false
    }

    /// Returns the stored versions that [`Editor::text_chunk`] takes undecoded. Called once per text.
    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::NONE
    }

    /// Returns the form in which [`Editor::text_chunk`] would write decoded windows. A driver may then encode them so
    /// itself, in other threads or once for several consumers, and the consumer sends the same bytes. `None` if it
    /// does not write them.
    fn window_form(&self) -> Option<WindowForm> {
        None
    }

    /// Passes the next window of the text.
    fn text_chunk(&mut self, _file: FileToken, _chunk: TextChunk<'_>) -> Result<()> {
        Ok(())
    }

    /// Ends the text. Without any window before it the new text is empty (or, where only the fact of a change is
    /// sent, not sent).
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

    /// Returns how many of the closed files, from the first one on, the receiver has accepted. An error of a later call may be about the
    /// next one. A receiver that does not know more than the results of calls returns the largest number.
    fn accepted_files(&self) -> usize {
        usize::MAX
    }

    /// Marks a file that exists but that the receiver may not see.
    fn absent_file(&mut self, _path: &RelPath, _parent: DirToken) -> Result<()> {
        Ok(())
    }

    /// Ends a complete edit.
    fn close_edit(&mut self) -> Result<()>;

    /// Aborts the edit.
    fn abort_edit(&mut self) -> Result<()> {
        Ok(())
    }
}
