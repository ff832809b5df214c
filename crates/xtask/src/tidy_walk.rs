//! Checks of names that documents and tables repeat: the functions of the walk in docs/ARCHITECTURE.md, and the statics
//! of the product.

use std::fs;
use std::path::Path;

use crate::tidy::SourceFile;

/// Returns a violation for each function of the walk that does not exist in the file that is named.
pub fn missing_functions(root: &Path) -> Vec<String> {
    let path = root.join("docs/ARCHITECTURE.md");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let steps: Vec<(&str, &str)> = text.lines().filter_map(step).collect();
    let mut out = Vec::new();
    if steps.len() < 40 {
        out.push(format!(
            "docs/ARCHITECTURE.md: the walk has {} steps",
            steps.len()
        ));
    }
    for (file, function) in steps {
        let (name, rest) = file.split_once('/').unwrap_or((file, ""));
        let source = fs::read_to_string(root.join("crates").join(name).join("src").join(rest));
        let declaration = format!("fn {function}");
        let is_it = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let exists = source.is_ok_and(|source| source.split(&declaration).skip(1).any(is_it));
        if !exists {
            out.push(format!("docs/ARCHITECTURE.md: no function {function} in {file}"));
        }
    }
    out
}

/// Returns the file and the function of a step: ``1. `file` `function` text``.
fn step(line: &str) -> Option<(&str, &str)> {
    let (number, rest) = line.split_once(". `")?;
    number.parse::<u32>().ok()?;
    let (file, rest) = rest.split_once("` `")?;
    let (function, _) = rest.split_once('`')?;
    file.ends_with(".rs").then_some((file, function))
}

/// Product code keeps its state in values that a caller holds, so that two servers can live in one process.
pub fn hidden_state(files: &[SourceFile]) -> Vec<String> {
    let mut out = Vec::new();
    for file in files.iter().filter(|file| file.is_product()) {
        let is_allowed = CHANGEABLE_STATICS
            .iter()
            .any(|(path, _)| file.path.to_string_lossy().starts_with(path));
        for (at, line) in file.product_lines() {
            if let Some(name) = changeable_static(line).filter(|_| !is_allowed) {
                out.push(format!(
                    "{}:{}: the static {name} can change",
                    file.shown(),
                    at + 1
                ));
            }
        }
    }
    out
}

/// Returns the name of a static that can change, if `line` declares one.
fn changeable_static(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
    let (name, kind) = line.strip_prefix("static ")?.split_once(':')?;
    let can_change = ["Atomic", "Mutex", "RwLock", "Once", "Lazy", "Cell"];
    can_change.iter().any(|word| kind.contains(word)).then_some(name)
}

/// The statics that can change, each with the reason why it belongs to the process and to no server or filesystem.
const CHANGEABLE_STATICS: &[(&str, &str)] = &[
    (
        "crates/base/src/checksum/block_functions.rs",
        "the fastest functions of the processor; no result depends on them",
    ),
    (
        "crates/base/src/charset.rs",
        "the locale belongs to the process, which reads it once",
    ),
    (
        "crates/cli/src/time_zone.rs",
        "the time zone belongs to the process, which reads it once",
    ),
    (
        "crates/cli/src/interrupt.rs",
        "the handlers of signals belong to the process",
    ),
    (
        "crates/cluster/src/cluster.rs",
        "directories with the same settings share the connections of the process",
    ),
    (
        "crates/cluster/src/node_dir.rs",
        "the locks of directories belong to the process that serves from them",
    ),
    (
        "crates/cluster/src/database.rs",
        "the threads of asynchronous clients belong to the process",
    ),
    (
        "crates/fsfs/src/store/guard.rs",
        "file locks of the system belong to the process",
    ),
    (
        "crates/fsfs/src/store/rep_cache.rs",
        "file locks of the system belong to the process",
    ),
    (
        "crates/fsfs/src/store/disk/replace.rs",
        "names of temporary files are unique in the process",
    ),
    (
        "crates/fsfs/src/store/counters.rs",
        "a number for each thread of the process",
    ),
    (
        "crates/server/src/web/",
        "constants that are made when they are first needed",
    ),
    (
        "crates/server/src/http/date_line.rs",
        "the formatted time of a thread",
    ),
    (
        "crates/fsfs/src/tree/",
        "buffers of a thread, empty between calls",
    ),
    (
        "crates/fsfs/src/format/changes.rs",
        "a buffer of a thread, empty between calls",
    ),
    (
        "crates/server/src/dav/get/media.rs",
        "the system's table of types, which is read once",
    ),
    (
        "crates/server/src/dav/get/delta.rs",
        "a buffer of a thread, empty between calls",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_statics_are_recognised() {
        let line = "12. `fsfs/tree/rep/chain.rs` `chunk` walks.";
        assert_eq!(step(line), Some(("fsfs/tree/rep/chain.rs", "chunk")));
        assert_eq!(step("1. `cargo` `test` runs."), None);
        assert_eq!(
            changeable_static("    static COUNTER: AtomicU64 = x;"),
            Some("COUNTER")
        );
        assert_eq!(changeable_static("static TABLE: &[u8] = x;"), None);
    }
}
