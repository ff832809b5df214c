//! The file that says of which repository a directory is an export, and how far it is.

use std::fs;
use std::path::Path;

use base::{Result, Revnum};

use super::files::replace;

/// The file `db/sven-export`.
pub(super) struct Marker {
    pub(super) instance: uuid::Uuid,
    /// The change of revision properties up to which the export is complete; `None` for a first export that has not ended.
    pub(super) revprops_version: Option<u64>,
    /// The last revision whose contents are in the rep-cache; `None` for none, and in the marker of an earlier program.
    pub(super) shared_up_to: Option<Revnum>,
}

impl Marker {
    pub(super) fn read(db: &Path) -> Option<Marker> {
        let text = fs::read_to_string(db.join(MARKER)).ok()?;
        let mut lines = text.lines();
        let instance = lines.next()?.parse().ok()?;
        let mut number = || lines.next().and_then(|line| line.parse().ok());
        Some(Marker {
            instance,
            revprops_version: number(),
            shared_up_to: number().map(Revnum),
        })
    }

    pub(super) fn write(&self, db: &Path) -> Result<()> {
        let mut text = format!("{}\n", self.instance);
        if let Some(version) = self.revprops_version {
            text.push_str(&format!("{version}\n"));
            if let Some(rev) = self.shared_up_to {
                text.push_str(&format!("{rev}\n"));
            }
        }
        replace(&db.join(MARKER), text.as_bytes())
    }
}

const MARKER: &str = "sven-export";
