//! What a chapter says outside of its blocks: links, options, metrics, numbers of errors.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use testkit::Tool;

use super::chapter::{Block, Kind};

/// Chapters that `SUMMARY.md` lacks, and files that are no chapters.
pub fn summary(docs: &Path, chapters: &[&str]) -> Vec<String> {
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap_or_default();
    let mut complaints: Vec<String> = chapters
        .iter()
        .filter(|name| !summary.contains(&format!("(guide/{name}.md)")))
        .map(|name| format!("SUMMARY.md: there is no {name}"))
        .collect();
    complaints.extend(links(docs, &summary));
    for entry in std::fs::read_dir(docs.join("guide"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_chapter = chapters.iter().any(|chapter| format!("{chapter}.md") == name);
        if !is_chapter && name != "README.md" {
            complaints.push(format!("guide/{name} is no chapter that is tested"));
        }
    }
    complaints
}

/// Links of a file in `folder` to files or headings that are not there.
pub fn links(folder: &Path, text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut complaints = Vec::new();
    for target in targets.filter(|target| !target.contains("://")) {
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        let linked = if file.is_empty() {
            Ok(text.to_owned())
        } else {
            std::fs::read_to_string(folder.join(file))
        };
        let found = linked.is_ok_and(|linked| {
            let mut headings = linked.lines().filter(|line| line.starts_with('#')).map(anchor);
            heading.is_empty() || headings.any(|anchor| anchor == heading)
        });
        if !found {
            complaints.push(format!("the link to {target} leads nowhere"));
        }
    }
    complaints
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    let words: String = heading
        .trim_start_matches('#')
        .trim()
        .chars()
        .filter(kept)
        .collect();
    words.to_lowercase().replace(' ', "-")
}

/// Commands and options of our programs, in code within sentences and tables, that the programs do not know.
pub fn options(text: &str) -> Vec<String> {
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut complaints = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        in_block ^= line.starts_with("```");
        let spans = line.split('`').skip(1).step_by(2);
        for span in spans.filter(|_| !in_block && !line.starts_with("```")) {
            let words: Vec<String> = span.split(' ').map(str::to_owned).collect();
            let Some(command) = help_command(&words) else {
                continue;
            };
            let help = helps.entry(command.clone()).or_insert_with(|| {
                let said = Tool::new(testkit::tool::sven_binary()).args(&command).run();
                if said.code == 0 { said.out() } else { String::new() }
            });
            if help.is_empty() {
                complaints.push(format!("'{span}': no such command"));
            }
            for option in words
                .iter()
                .filter(|word| word.starts_with('-') && word.len() > 1)
            {
                let option = option.split('=').next().unwrap_or_default();
                if *option != *"--"
                    && !help.contains(&format!(" {option} "))
                    && !help.contains(&format!("[{option}]"))
                {
                    complaints.push(format!("'{span}': no option '{option}'"));
                }
            }
        }
    }
    complaints
}

/// The arguments of `sven` that explain the command in `words`, if it is one of our programs.
fn help_command(words: &[String]) -> Option<Vec<String>> {
    let (program, rest) = words.split_first()?;
    let mut operands = rest.iter().filter(|word| !word.starts_with('-'));
    let (subcommand, below) = (operands.next(), operands.next());
    let words = match (program.as_str(), subcommand) {
        ("sven", Some(word)) if word == "help" => vec!["help"],
        ("sven", Some(word)) if word == "cluster" => vec!["cluster", "help", below?],
        ("sven", Some(word)) => vec![word.as_str(), "--help"],
        ("svnserve", _) if !rest.is_empty() => vec!["svnserve", "--help"],
        ("svnadmin" | "svnlook" | "svnfsfs" | "svnauthz", Some(word)) => vec![program, "help", word],
        _ => return None,
    };
    Some(words.into_iter().map(str::to_owned).collect())
}

/// Metrics that the chapter names and the server does not have.
pub fn metrics(text: &str, blocks: &[Block]) -> Vec<String> {
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .filter(|word| word.starts_with("sven_") && word.len() > "sven_".len())
            .map(str::to_owned)
            .collect()
    };
    let printed: String = outputs(blocks).collect();
    let unknown = words(text)
        .difference(&words(&printed))
        .cloned()
        .collect::<Vec<_>>();
    unknown
        .iter()
        .map(|name| format!("{name} is not in the output"))
        .collect()
}

/// Numbers of errors in the first column of the table that no block of the guide has produced, as an error or a warning.
pub fn errors(text: &str, all_blocks: &[Block]) -> Vec<String> {
    let printed: String = outputs(all_blocks).collect();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| E"));
    let first_columns = rows.filter_map(|row| row.split(" | ").next());
    let numbers = first_columns.flat_map(|numbers| numbers.split(", E"));
    let missing = numbers.filter(|number| {
        ["E", "W"]
            .iter()
            .all(|mark| !printed.contains(&format!("{mark}{number}:")))
    });
    missing
        .map(|number| format!("no block produces E{number}"))
        .collect()
}

fn outputs(blocks: &[Block]) -> impl Iterator<Item = &str> {
    let outputs = blocks.iter().filter(|block| matches!(block.kind, Kind::Output));
    outputs.map(|block| block.text.as_str())
}
