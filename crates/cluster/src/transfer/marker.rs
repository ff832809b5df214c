//! The file that says of which repository a directory is an export, and how far it is.

use std::fs;
use std::path::Path;

use base::Result;

use super::files::replace;

/// The file `db/sven-export`.
pub(super) struct Marker {
    pub(super) instance: uuid::Uuid,
    /// The change of revision properties up to which the export is complete; `None` for a first export that has not ended.
    pub(super) revprops_version: Option<u64>,
}

impl Marker {
    pub(super) fn read(db: &Path) -> Option<Marker> {
        let text = fs::read_to_string(db.join(MARKER)).ok()?;
        let mut lines = text.lines();
        Some(Marker {
            instance: lines.next()?.parse().ok()?,
            revprops_version: lines.next().and_then(|line| line.parse().ok()),
        })
    }

    pub(super) fn write(&self, db: &Path) -> Result<()> {
        let mut text = format!("{}\n", self.instance);
        if let Some(version) = self.revprops_version {
            text.push_str(&format!("{version}\n"));
        }
        replace(&db.join(MARKER), text.as_bytes())
    }
}

const MARKER: &str = "sven-export";
