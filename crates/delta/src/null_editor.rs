//! An editor that ignores every call: for measuring drivers, and for edits that only have to be driven.

use base::{RelPath, Result, Revnum};

use crate::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken};

/// Ignores every call: the cost that remains is the driver's.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullEditor {
    accepted: EncodedVersions,
}

impl NullEditor {
    /// Takes stored windows of `accepted` undecoded.
    pub fn new(accepted: EncodedVersions) -> Self {
        NullEditor { accepted }
    }
}

impl Editor for NullEditor {
    fn set_target_revision(&mut self, _: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, _: Option<Revnum>) -> Result<DirToken> {
        Ok(DirToken(0))
    }

    fn delete_entry(&mut self, _: &RelPath, _: Option<Revnum>, _: DirToken) -> Result<()> {
        Ok(())
    }

    fn add_directory(&mut self, _: &RelPath, _: DirToken, _: Option<CopyFrom<'_>>) -> Result<DirToken> {
        Ok(DirToken(0))
    }

    fn open_directory(&mut self, _: &RelPath, _: DirToken, _: Option<Revnum>) -> Result<DirToken> {
        Ok(DirToken(0))
    }

    fn add_file(&mut self, _: &RelPath, _: DirToken, _: Option<CopyFrom<'_>>) -> Result<FileToken> {
        Ok(FileToken(0))
    }

    fn open_file(&mut self, _: &RelPath, _: DirToken, _: Option<Revnum>) -> Result<FileToken> {
        Ok(FileToken(0))
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        self.accepted
    }

    fn close_edit(&mut self) -> Result<()> {
        Ok(())
    }
}
