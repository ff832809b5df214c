//! The items of `svn info --show-item`.

use base::{Code, Error, NodeKind, Result, Url};
use client::info::NodeInfo;

use crate::svn::human_size;

/// An item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Kind,
    Url,
    RelativeUrl,
    ReposRootUrl,
    ReposUuid,
    ReposSize,
    Revision,
    LastChangedRevision,
    LastChangedDate,
    LastChangedAuthor,
    /// One that only nodes of a working copy have.
    OfWorkingCopy,
}

/// The words of the items.
const WORDS: &[(&str, Item)] = &[
    ("kind", Item::Kind),
    ("url", Item::Url),
    ("relative-url", Item::RelativeUrl),
    ("repos-root-url", Item::ReposRootUrl),
    ("repos-uuid", Item::ReposUuid),
    ("repos-size", Item::ReposSize),
    ("revision", Item::Revision),
    ("last-changed-revision", Item::LastChangedRevision),
    ("last-changed-date", Item::LastChangedDate),
    ("last-changed-author", Item::LastChangedAuthor),
    ("wc-root", Item::OfWorkingCopy),
    ("schedule", Item::OfWorkingCopy),
    ("depth", Item::OfWorkingCopy),
    ("changelist", Item::OfWorkingCopy),
];

impl Item {
    /// Parses the word of an item.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR`, with similar words.
    pub fn parse(word: &str) -> Result<Item> {
        if let Some((_, item)) = WORDS.iter().find(|(known, _)| *known == word) {
            return Ok(*item);
        }
        let mut message = format!("'{word}' is not a valid value for --show-item");
        let mut similar = similar(word).into_iter();
        if let Some(first) = similar.next() {
            message.push_str(&format!("; did you mean '{first}'"));
            let rest: Vec<&str> = similar.collect();
            for (at, other) in rest.iter().enumerate() {
                let comma = if at + 1 == rest.len() { " or" } else { "," };
                message.push_str(&format!("{comma} '{other}'"));
            }
            message.push('?');
        }
        Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
    }

    /// Returns the value of a node; `None` if nothing is printed, not even an empty line.
    pub fn value(self, node: &NodeInfo<'_>, human_readable: bool) -> Option<String> {
        let dirent = node.dirent;
        Some(match self {
            Item::Kind => dirent.kind.word().to_owned(),
            Item::Url => node.url.to_string(),
            Item::RelativeUrl => relative_url(node),
            Item::ReposRootUrl => node.root_url.to_string(),
            Item::ReposUuid => node.uuid.to_owned(),
            Item::ReposSize => {
                let size = dirent.size.filter(|_| dirent.kind == NodeKind::File)?;
                match human_readable {
                    true => human_size::with_long_unit(size),
                    false => size.to_string(),
                }
            }
            Item::Revision => node.rev.to_string(),
            Item::LastChangedRevision => dirent.created_rev.to_string(),
            Item::LastChangedDate => dirent.date.map(|date| date.to_string()).unwrap_or_default(),
            Item::LastChangedAuthor => dirent.author.clone().unwrap_or_default(),
            Item::OfWorkingCopy => String::new(),
        })
    }
}

/// Returns a node's URL relative to the repository's root, as `^/trunk`.
pub fn relative_url(node: &NodeInfo<'_>) -> String {
    let root: &Url = node.root_url;
    let path = node.url.as_str().strip_prefix(root.as_str()).unwrap_or_default();
    format!("^/{}", path.trim_start_matches('/'))
}

/// Returns the words that resemble `word`, the most similar ones first: the longest common subsequence has at least two thirds of
/// the average length.
fn similar(word: &str) -> Vec<&'static str> {
    let mut found: Vec<(&str, usize)> = WORDS
        .iter()
        .map(|(known, _)| {
            let total = known.len() + word.len();
            (
                *known,
                2000 * common_subsequence(known.as_bytes(), word.as_bytes()) / total,
            )
        })
        .filter(|(_, score)| *score >= 666)
        .collect();
    found.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
    found.into_iter().map(|(known, _)| known).collect()
}

/// Returns the length of the longest common subsequence.
fn common_subsequence(a: &[u8], b: &[u8]) -> usize {
    // Words are short: what is longer cannot be similar.
    let b = &b[..b.len().min(64)];
    let mut row = vec![0usize; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (at, y) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if x == y { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the messages of `svn info` 1.14.2.
    #[test]
    fn similar_words_are_suggested() {
        for (word, end) in [
            ("revi", "; did you mean 'revision'?"),
            ("rev", "--show-item"),
            ("dnik", "--show-item"),
            ("", "--show-item"),
            ("repos", "; did you mean 'repos-uuid' or 'repos-size'?"),
            (
                "repos-u",
                "; did you mean 'repos-uuid', 'repos-size' or 'repos-root-url'?",
            ),
            ("repos-url", "; did you mean 'repos-root-url' or 'repos-uuid'?"),
            (
                "last-changed-r",
                "; did you mean 'last-changed-author', 'last-changed-date' or 'last-changed-revision'?",
            ),
        ] {
            let message = Item::parse(word).expect_err(word).message();
            assert!(message.ends_with(end), "{message}");
        }
    }
}
