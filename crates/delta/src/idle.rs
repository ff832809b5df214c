//! An editor that does nothing: for measuring drivers, and for edits that only have to be driven.

use base::{RelPath, Result, Revnum};

use crate::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken};

/// Takes every call and does nothing: what is left is the driver's own work.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdleEditor {
    accepted: EncodedVersions,
}

impl IdleEditor {
    /// Takes stored windows of `accepted` undecoded.
    pub fn new(accepted: EncodedVersions) -> Self {
        IdleEditor { accepted }
    }
}

impl Editor for IdleEditor {
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
