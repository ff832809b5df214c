//! What the incumbent does wrong in a comparison of two URLs of which one is missing: it looks for the name of the missing node beside
//! the other one. If something is there, in the revision of one of the ends, it shows less than what is missing, or does not find it.

use testkit::Side;

use crate::twins::TwinClients;

/// True if the commands after `svn diff` compare a node with a missing one whose name is in the directory of the first one.
pub fn is_missing_beside(twins: &TwinClients, words: &[&str]) -> bool {
    let (ends, paths) = parse(words);
    let [Some(old), Some(new)] = ends else {
        return false;
    };
    let paths = match paths.is_empty() {
        true => vec![""],
        false => paths,
    };
    paths.iter().any(|path| {
        let [old, new] = [&old, &new].map(|(url, rev)| (join(url, path), rev.as_str()));
        if old.0 == new.0 {
            return false;
        }
        let [has_old, has_new] = [&old, &new].map(|(url, rev)| exists(twins, url, rev));
        match (has_old, has_new) {
            (true, false) => {
                let beside = beside(&old.0, &new.0);
                exists(twins, &beside, old.1) || exists(twins, &beside, new.1)
            }
            (false, true) => exists(twins, &beside(&new.0, &old.0), new.1),
            _ => false,
        }
    })
}

/// A URL and its revision.
type End = (String, String);

/// Returns the ends that a command names, and the paths below them.
fn parse<'a>(words: &[&'a str]) -> ([Option<End>; 2], Vec<&'a str>) {
    let range = words.iter().find_map(|word| word.strip_prefix("-r"));
    let (start, end) = range.map_or((None, None), |range| match range.split_once(':') {
        Some((start, end)) => (Some(start), Some(end)),
        None => (Some(range), None),
    });
    let split = |text: &str, rev: Option<&str>| {
        let (url, peg) = text.rsplit_once('@').unwrap_or((text, ""));
        let peg = Some(peg).filter(|peg| !peg.is_empty());
        (url.to_owned(), peg.or(rev).unwrap_or("HEAD").to_owned())
    };
    let option = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    if let Some(old) = option("--old=") {
        let new = option("--new=").unwrap_or(old);
        let paths = words[2..].iter().filter(|word| !word.starts_with('-'));
        return (
            [Some(split(old, start)), Some(split(new, end))],
            paths.copied().collect(),
        );
    }
    let mut urls = words.iter().filter(|word| word.starts_with("{URL}"));
    let mut next = || urls.next().map(|url| split(url, None));
    ([next(), next()], Vec::new())
}

fn join(url: &str, path: &str) -> String {
    match path {
        "" => url.to_owned(),
        path => format!("{url}/{}", super::questions::escaped(path)),
    }
}

/// Returns the URL of the name of `other` in the directory of `url`.
fn beside(url: &str, other: &str) -> String {
    let parent = url.rsplit_once('/').map_or(url, |(parent, _)| parent);
    let name = other.rsplit_once('/').map_or(other, |(_, name)| name);
    format!("{parent}/{name}")
}

fn exists(twins: &TwinClients, url: &str, rev: &str) -> bool {
    let target = format!("{url}@{rev}");
    let tool = twins.tool(Side::Theirs, &["svn", "info", &target]);
    tool.env("LC_ALL", "C.UTF-8").run().code == 0
}
