//! What measurements need to know of a converted history. It is stored beside the dump.

use serde_json::{Value, json};

/// The facts of a converted history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The number of revisions.
    pub revisions: u32,
    /// The path of the last tag.
    pub tag: Option<String>,
    /// The path of the file that the most commits changed.
    pub busy_file: Option<String>,
    /// The path of the directory below `trunk` that the most commits changed.
    pub busy_directory: Option<String>,
}

impl Summary {
    /// Returns the stored form.
    pub fn to_json(&self) -> String {
        let value = json!({
            "revisions": self.revisions, "tag": self.tag,
            "busy_file": self.busy_file, "busy_directory": self.busy_directory,
        });
        format!("{value:#}\n")
    }

    /// Parses the stored form.
    pub fn from_json(text: &[u8]) -> Option<Summary> {
        let value: Value = serde_json::from_slice(text).ok()?;
        let path = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        Some(Summary {
            revisions: value.get("revisions")?.as_u64()?.try_into().ok()?,
            tag: path("tag"),
            busy_file: path("busy_file"),
            busy_directory: path("busy_directory"),
        })
    }
}
