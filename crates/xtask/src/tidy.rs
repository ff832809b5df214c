//! The rules of the project that the compiler does not check.
//!
//! Each rule is a function from the source files to a list of violations, so that `cargo xtask tidy` prints all of
//! them and `cargo test` fails on any. The tables at the end have what the rules forbid.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::root;
use crate::tidy_cycles::module_cycles;
use crate::tidy_walk::{hidden_state, missing_functions};

/// Prints all violations; fails if there is one.
pub fn main() -> Result<(), String> {
    let violations = all();
    for violation in &violations {
        eprintln!("tidy: {violation}");
    }
    if violations.is_empty() {
        Ok(())
    } else {
        Err(format!("{} tidy violations", violations.len()))
    }
}

fn all() -> Vec<String> {
    let files = sources();
    let mut out = Vec::new();
    out.extend(missing_module_docs(&files));
    out.extend(too_large(&files));
    out.extend(unfinished_code(&files));
    out.extend(io_in_modules_without_io(&files));
    out.extend(allow_attributes(&files));
    out.extend(vague_names(&files));
    out.extend(banned_words(&files));
    out.extend(forbidden_dependencies());
    out.extend(upward_uses(&files));
    out.extend(undocumented_dependencies());
    out.extend(hidden_state(&files));
    out.extend(module_cycles(&files));
    out.extend(missing_functions(&root()));
    out
}

/// A source file: its path from the workspace's root, and its text.
pub struct SourceFile {
    pub path: PathBuf,
    text: String,
}

impl SourceFile {
    pub fn shown(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// Returns the lines before the unit tests.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .take_while(|(_, line)| *line != "#[cfg(test)]")
    }

    /// Returns whether the file belongs to a crate that is part of the product.
    pub fn is_product(&self) -> bool {
        const DEVELOPMENT: [&str; 3] = ["crates/testkit", "crates/bench", "crates/xtask"];
        let path = &self.path;
        !DEVELOPMENT.iter().any(|folder| path.starts_with(folder))
            && path.starts_with("crates")
            && !self.is_test()
    }

    pub fn is_test(&self) -> bool {
        self.path.components().any(|c| c.as_os_str() == "tests") || self.path.ends_with("tests.rs")
    }
}

fn missing_module_docs(files: &[SourceFile]) -> Vec<String> {
    let lacking = files
        .iter()
        .filter(|f| !f.text.starts_with("//!") && !f.text.starts_with("#!["));
    lacking
        .map(|f| format!("{}: does not begin with module documentation (//!)", f.shown()))
        .collect()
}

fn too_large(files: &[SourceFile]) -> Vec<String> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| !f.is_test()) {
        let lines = file.product_lines().count();
        if lines > MAX_LINES
            && !LARGE_ON_PURPOSE
                .iter()
                .any(|(path, _)| Path::new(path) == file.path)
        {
            out.push(format!(
                "{}: {lines} lines without tests, at most {MAX_LINES}",
                file.shown()
            ));
        }
    }
    out
}

fn unfinished_code(files: &[SourceFile]) -> Vec<String> {
    let marks = [
        "todo!(",
        "unimplemented!(",
        "#[ignore",
        concat!("FIX", "ME"),
        concat!("XX", "X"),
    ];
    let mut out = Vec::new();
    for file in files.iter().filter(|f| !f.path.starts_with("crates/xtask")) {
        for (number, line) in file.text.lines().enumerate() {
            for mark in marks.iter().filter(|mark| line.contains(**mark)) {
                out.push(format!("{}:{}: {mark}", file.shown(), number + 1));
            }
        }
    }
    out
}

fn io_in_modules_without_io(files: &[SourceFile]) -> Vec<String> {
    let mut out = Vec::new();
    for file in files
        .iter()
        .filter(|f| !f.is_test() && WITHOUT_IO.iter().any(|p| f.path.starts_with(p)))
    {
        for (number, line) in file.product_lines() {
            let code = line.split("//").next().unwrap_or_default();
            for name in IO_NAMES.iter().filter(|name| code.contains(**name)) {
                out.push(format!(
                    "{}:{}: {name} in a module without I/O",
                    file.shown(),
                    number + 1
                ));
            }
        }
    }
    out
}

fn allow_attributes(files: &[SourceFile]) -> Vec<String> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| !f.path.starts_with("crates/xtask")) {
        for (number, line) in file.text.lines().enumerate() {
            if line.trim_start().starts_with("#[allow(") || line.trim_start().starts_with("#![allow(") {
                let at = number + 1;
                out.push(format!(
                    "{}:{at}: use #[expect(lint, reason = …)], not allow",
                    file.shown()
                ));
            }
        }
    }
    out
}

fn vague_names(files: &[SourceFile]) -> Vec<String> {
    let vague = ["util", "utils", "common", "misc", "manager", "helper", "helpers"];
    let stem = |f: &&SourceFile| f.path.file_stem().is_some_and(|s| vague.iter().any(|v| s == *v));
    files
        .iter()
        .filter(stem)
        .map(|f| format!("{}: has a vague name", f.shown()))
        .collect()
}

/// Reports names and words for which `docs/GLOSSARY.md` has better terms.
fn banned_words(files: &[SourceFile]) -> Vec<String> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| !f.path.starts_with("crates/xtask")) {
        for (number, line) in file.text.lines().enumerate() {
            let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
            let is_help = comment.starts_with("///") && file.path.starts_with("crates/cli");
            let words = |text: &str, banned: &[&str]| -> Vec<String> {
                text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '`'))
                    .filter(|word| banned.contains(word))
                    .map(str::to_owned)
                    .collect()
            };
            let mut found = words(code, BANNED_NAMES);
            if !is_help {
                found.extend(words(&comment.to_lowercase(), BANNED_IN_COMMENTS));
            }
            let at = number + 1;
            out.extend(
                found
                    .iter()
                    .map(|word| format!("{}:{at}: the word '{word}'", file.shown())),
            );
        }
    }
    out
}

fn forbidden_dependencies() -> Vec<String> {
    let mut out = Vec::new();
    let graph = match workspace_graph() {
        Ok(graph) => graph,
        Err(error) => return vec![error],
    };
    for (name, dependencies) in &graph {
        let Some((_, allowed)) = ALLOWED_DEPENDENCIES.iter().find(|(from, _)| from == name) else {
            out.push(format!(
                "crate {name} is not in the table of allowed dependencies"
            ));
            continue;
        };
        for dependency in dependencies {
            if !allowed.contains(&dependency.as_str()) && !allowed.contains(&"*") {
                out.push(format!("crate {name} may not name {dependency}"));
            }
        }
    }
    out
}

/// Reports uses of a module in the same layer or in a higher one.
fn upward_uses(files: &[SourceFile]) -> Vec<String> {
    let mut out = Vec::new();
    for (folder, layers) in LAYERS {
        let layer = |name: &str| layers.iter().position(|layer| layer.contains(&name));
        for file in files.iter().filter(|f| !f.is_test()) {
            let Ok(below) = file.path.strip_prefix(folder) else {
                continue;
            };
            let first = below.iter().next().unwrap_or_default().to_string_lossy();
            let module = first.trim_end_matches(".rs");
            if module == "lib" {
                continue;
            }
            let Some(own) = layer(module) else {
                out.push(format!("{}: not in the table of layers", file.shown()));
                continue;
            };
            for (number, line) in file.product_lines() {
                let code = line.split("//").next().unwrap_or_default();
                for path in code.split("crate::").skip(1) {
                    let used = path.split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
                    let used = used.unwrap_or_default();
                    if used != module && layer(used).is_none_or(|used| used >= own) {
                        let at = number + 1;
                        out.push(format!("{}:{at}: {module} may not use {used}", file.shown()));
                    }
                }
            }
        }
    }
    out
}

/// Returns each crate of the workspace and the crates of the workspace that it depends on, without development dependencies.
fn workspace_graph() -> Result<BTreeMap<String, Vec<String>>, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot run cargo metadata: {e}"))?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let mut graph = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let product = dependencies.filter(|d| d["kind"].as_str() != Some("dev"));
        let folders = product.filter_map(|d| d["path"].as_str().map(|path| folder_name(Path::new(path))));
        graph.insert(
            folder_name(manifest.parent().unwrap_or(manifest)),
            folders.collect(),
        );
    }
    Ok(graph)
}

/// The name of a crate in the tables here: that of its folder.
fn folder_name(folder: &Path) -> String {
    folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn undocumented_dependencies() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap_or_default();
    let decisions = fs::read_to_string(root().join("docs/decisions/dependencies.md")).unwrap_or_default();
    let table = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .unwrap_or_default();
    let table = table.split("\n[").next().unwrap_or_default();
    let names = table
        .lines()
        .filter(|l| !l.starts_with('#') && !l.contains("path = "));
    let names = names.filter_map(|l| l.split_once(" =").map(|(name, _)| name));
    let lacking = names.filter(|name| !decisions.contains(&format!("`{name}`")));
    lacking
        .map(|name| format!("docs/decisions/dependencies.md has no line about `{name}`"))
        .collect()
}

fn sources() -> Vec<SourceFile> {
    let mut out = Vec::new();
    collect(&root().join("crates"), &mut out);
    collect(&root().join("fuzz/fuzz_targets"), &mut out);
    out.sort_by(|a, b| a.path.cmp(&b.path));
    out
}

fn collect(folder: &Path, out: &mut Vec<SourceFile>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let path = path.strip_prefix(root()).unwrap_or(&path).to_path_buf();
            out.push(SourceFile { path, text });
        }
    }
}

/// The largest number of lines of a file, without unit tests.
const MAX_LINES: usize = 500;

/// Files that may be larger, each with the reason.
const LARGE_ON_PURPOSE: &[(&str, &str)] = &[];

/// Modules without I/O in crates that do I/O. For whole crates, clippy checks it: see `crates/base/clippy.toml`.
const WITHOUT_IO: &[&str] = &["crates/fsfs/src/format"];

const IO_NAMES: &[&str] = &[
    "std::fs",
    "std::net",
    "SystemTime",
    "Instant::now",
    "std::env",
    "std::process",
];

/// The modules of layered crates, the lowest layer first. A module may use modules of lower layers only.
const LAYERS: &[(&str, &[&[&str]])] = &[
    (
        "crates/fsfs/src",
        &[
            &["format"],
            &["store"],
            &["tree"],
            &["txn"],
            &["admin"],
            &["fuzz_api"],
        ],
    ),
    (
        "crates/server/src",
        &[
            &["clock", "percent_encoding"],
            &["log", "config"],
            &["metrics", "signals"],
            &["net"],
            &["response_cache"],
            &["context"],
            &["http"],
            &["auth"],
            &["service"],
            &["svn", "site"],
            &["web"],
            &["dav"],
            &["server"],
        ],
    ),
];

/// Names that say nothing outside of their module, or in it.
const BANNED_NAMES: &[&str] = &[
    "Standing",
    "Told",
    "Kept",
    "Place",
    "Door",
    "Doors",
    "doors",
    "Room",
    "Keeper",
    "Talk",
    "Visit",
    "Aside",
    "Look",
    "Looked",
    "Met",
    "Said",
    "Means",
    "Settled",
    "Asker",
    "Hearer",
    "Heard",
    "Away",
    "BREATH",
    "HURRY",
    "crew",
    "pulse",
    "intake",
    "tally",
    "lay_down",
    "laid_down",
    "takes_time",
    "Asked",
    "Maker",
    "Dice",
    "dice",
    "Teller",
    "Deaf",
    "Silent",
    "Noting",
    "Imagination",
    "Party",
    "Manner",
    "Way",
    "WAYS",
    "Slow",
    "Story",
    "Tale",
    "Guest",
    "Sick",
    "Judge",
    "hear",
    "hears",
    "heard",
    "meddle",
    "torment",
    "interrogate",
    "personality",
    "believing",
    "lay_out",
];

/// Words that leave open who or what does something.
const BANNED_IN_COMMENTS: &[&str] = &[
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "someone",
    "whoever",
    "whomever",
    "hear",
    "hears",
    "heard",
    "told",
    "said",
    "anew",
];

/// Which crates a crate may depend on.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("delta", &["base"]),
    ("diff", &["base"]),
    ("wire", &["base", "delta"]),
    ("fsfs", &["base", "delta"]),
    ("cluster", &["base", "fsfs"]),
    ("repos", &["base", "delta", "fsfs", "cluster"]),
    ("server", &["base", "delta", "diff", "repos", "wire"]),
    ("ra", &["base", "delta", "repos", "wire"]),
    ("wc", &["base", "delta", "diff"]),
    ("client", &["base", "delta", "diff", "ra", "wc"]),
    ("cli", &["*"]),
    (
        "testkit",
        &["base", "delta", "diff", "fsfs", "repos", "wire", "server"],
    ),
    (
        "bench",
        &[
            "base", "delta", "diff", "fsfs", "repos", "wire", "server", "ra", "testkit",
        ],
    ),
    ("xtask", &["base"]),
    ("fuzz", &["base", "delta", "fsfs", "repos", "wire"]),
];

#[cfg(test)]
mod tests {
    #[test]
    fn all_rules_hold() {
        let violations = super::all();
        assert!(violations.is_empty(), "{}", violations.join("\n"));
    }
}
