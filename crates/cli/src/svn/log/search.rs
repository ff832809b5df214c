//! `--search` and `--search-and`: which entries are shown.
//!
//! `--search` begins a group of patterns, `--search-and` adds one to the group before. An entry is shown if all patterns of a group
//! match, each in any of its texts. Case and accents do not matter. Bytes that are not UTF-8 match nothing.

use base::glob;
use clap::{Arg, ArgAction, ArgMatches, Command};
use repos::list::fold;

/// The patterns of the command line, folded, in groups.
#[derive(Clone, Debug, Default)]
pub struct SearchOptions {
    groups: Vec<Vec<String>>,
}

impl SearchOptions {
    /// True for an entry with these texts.
    pub fn shows(&self, texts: &[&[u8]]) -> bool {
        if self.groups.is_empty() {
            return true;
        }
        let texts: Vec<String> = texts
            .iter()
            .filter_map(|text| std::str::from_utf8(text).ok())
            .map(fold)
            .collect();
        let is_found = |pattern: &String| {
            texts
                .iter()
                .any(|text| glob::matches(pattern.as_bytes(), text.as_bytes()))
        };
        self.groups.iter().any(|group| group.iter().all(is_found))
    }
}

impl clap::Args for SearchOptions {
    fn augment_args(command: Command) -> Command {
        let option = |id: &'static str, long: &'static str| Arg::new(id).long(long).action(ArgAction::Append);
        command
            .arg(option(SEARCH, "search").help(
                "show only the entries in which the pattern ARG occurs: in the author, the date, the \
                 message (without '-q'), or a path (with '-v'); '*', '?' and '[a-z]' have their usual meaning, \
                 case and accents none",
            ))
            .arg(option(AND, "search-and").help("show only those of them in which ARG occurs, too"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for SearchOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let values = |id: &str| {
            let places = matches.indices_of(id).into_iter().flatten();
            let words = matches.get_many::<String>(id).into_iter().flatten();
            places.zip(words).map(|(place, word)| (place, word.clone()))
        };
        let mut patterns: Vec<(usize, String, bool)> =
            values(SEARCH).map(|(place, word)| (place, word, false)).collect();
        patterns.extend(values(AND).map(|(place, word)| (place, word, true)));
        patterns.sort_unstable();
        let mut groups: Vec<Vec<String>> = Vec::new();
        for (_, word, is_and) in patterns {
            let pattern = format!("*{}*", fold(&word));
            match groups.last_mut() {
                Some(group) if is_and => group.push(pattern),
                _ => groups.push(vec![pattern]),
            }
        }
        Ok(SearchOptions { groups })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

const SEARCH: &str = "search";
const AND: &str = "search_and";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_of_a_group_match() {
        let read = |words: &[&str]| {
            let command =
                <SearchOptions as clap::Args>::augment_args(Command::new("log").no_binary_name(true));
            let matches = command.get_matches_from(words);
            <SearchOptions as clap::FromArgMatches>::from_arg_matches(&matches).expect("good options")
        };
        let options = read(&[
            "--search",
            "ALICE",
            "--search-and",
            "fi?",
            "--search",
            "c\u{e9}cile",
        ]);
        for (texts, is_shown) in [
            ([&b"alice"[..], b"Fix it"], true),
            ([b"alice", b"it"], false),
            ([b"bob", b"fix"], false),
            ([b"Cecile", b""], true),
            ([b"cecile\xff", b""], false),
        ] {
            assert_eq!(options.shows(&texts), is_shown, "{texts:?}");
        }
        assert!(read(&[]).shows(&[]));
        assert!(!read(&["--search", ""]).shows(&[]));
    }
}
