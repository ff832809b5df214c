//! The guide for administrators (`docs/guide`): its commands are run, its files are written where it says, its outputs are compared.
//!
//! Each chapter has a sandbox of its own ([`sandbox`]) in which its blocks run in order. The first words of a fenced block say what
//! it is ([`chapter`]); a block without such a mark fails. `GUIDE_CHAPTER=NAME` runs one chapter alone.

mod chapter;
mod checks;
mod not_run;
mod sandbox;

use std::fs;
use std::path::{Path, PathBuf};

use chapter::{Block, Kind};
use sandbox::Sandbox;

/// The chapters, as `docs/SUMMARY.md` has them.
const CHAPTERS: [&str; 10] = [
    "install",
    "move",
    "access",
    "hooks",
    "backup",
    "cluster",
    "monitoring",
    "tuning",
    "troubleshooting",
    "upgrading",
];

#[test]
fn every_command_of_the_guide_works() {
    let chosen = std::env::var("GUIDE_CHAPTER").ok();
    let chapters = CHAPTERS
        .iter()
        .filter(|name| chosen.as_deref().is_none_or(|c| c == **name));
    let complaints: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = chapters.map(|name| scope.spawn(|| run(name))).collect();
        let ended = threads
            .into_iter()
            .map(|t| t.join().expect("because a chapter does not panic"));
        ended.flatten().collect()
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_guide_is_complete_and_names_what_there_is() {
    let mut complaints = checks::summary(&docs(), &CHAPTERS);
    let blocks_of = |name: &str| chapter::blocks(&read(name)).unwrap_or_default();
    let all_blocks: Vec<Block> = CHAPTERS.iter().flat_map(|name| blocks_of(name)).collect();
    complaints.extend(checks::links(&docs().join("guide"), &read("README")));
    for name in CHAPTERS {
        let text = read(name);
        let mut found = checks::links(&docs().join("guide"), &text);
        found.extend(checks::options(&text));
        match name {
            "monitoring" => found.extend(checks::metrics(&text, &blocks_of(name))),
            "troubleshooting" => found.extend(checks::errors(&text, &all_blocks)),
            _ => {}
        }
        complaints.extend(found.into_iter().map(|what| format!("{name}.md: {what}")));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Runs the blocks of a chapter and returns what is wrong with it. A command that ends otherwise than it should is the last one.
fn run(name: &str) -> Vec<String> {
    let blocks = match chapter::blocks(&read(name)) {
        Ok(blocks) => blocks,
        Err(error) => return vec![format!("{name}.md:{error}")],
    };
    let mut sandbox = Sandbox::new();
    let mut complaints = Vec::new();
    let mut printed = String::new();
    for Block { line, kind, text } in blocks {
        let at = format!("{name}.md:{line}");
        match kind {
            Kind::Run { status } => {
                let (code, output) = sandbox.run(&text);
                if code != status {
                    complaints.push(format!("{at}: exit status {code}, not {status}:\n{output}"));
                    return complaints;
                }
                printed = output;
            }
            Kind::Serve => {
                if let Err(error) = sandbox.serve(&text) {
                    complaints.push(format!("{at}: {error}"));
                    return complaints;
                }
            }
            Kind::Output if !chapter::matches(&text, &printed) => {
                complaints.push(format!("{at}: the output is another:\n{printed}"));
            }
            Kind::Output => {}
            Kind::File(path) => sandbox.write(&path, &text),
            Kind::NotRun => complaints.extend(
                not_run::complaints(&text)
                    .into_iter()
                    .map(|c| format!("{at}: {c}")),
            ),
        }
    }
    complaints
}

fn read(chapter: &str) -> String {
    let path = docs().join("guide").join(format!("{chapter}.md"));
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn docs() -> PathBuf {
    project().join("docs")
}

/// The root of the project.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
