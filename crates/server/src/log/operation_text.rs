//! The texts of the operational log, as in Subversion 1.14. Paths are URI-encoded.

use std::fmt::Write as _;

use base::{Depth, FsPath, Result, Revnum, props};
use wire::svn::command::{Log, LogRevprops};

use crate::percent_encoding::encoded;

/// The revision properties of a log entry for clients that do not name any.
pub(crate) const STANDARD: [&str; 3] = [props::AUTHOR, props::DATE, props::LOG];

/// Returns a revision as text; -1 if none was given.
pub(crate) fn rev(rev: Option<Revnum>) -> String {
    rev.map_or("-1".to_owned(), |rev| rev.to_string())
}

fn paths<'a>(all: impl IntoIterator<Item = &'a FsPath>) -> String {
    let all: Vec<String> = all.into_iter().map(|path| encoded(path)).collect();
    all.join(" ")
}

fn depth(depth: Depth) -> String {
    match depth {
        Depth::Unknown => String::new(),
        depth => format!(" depth={}", depth.word()),
    }
}

/// Returns the valid paths of a request.
pub(crate) fn valid(all: &[Result<FsPath>]) -> Vec<&FsPath> {
    all.iter().filter_map(|path| path.as_ref().ok()).collect()
}

pub(crate) fn lock(all: &[&FsPath], steal: bool) -> String {
    let tail = if steal { " steal" } else { "" };
    format!("lock ({}){tail}", paths(all.iter().copied()))
}

pub(crate) fn unlock(all: &[&FsPath], force: bool) -> String {
    let tail = if force { " break" } else { "" };
    format!("unlock ({}){tail}", paths(all.iter().copied()))
}

/// Returns the text of `check-path` and `stat`. A path that cannot exist is shown as it was sent.
pub(crate) fn at(what: &str, sent: &str, path: &Result<FsPath>, rev: Revnum) -> String {
    match path {
        Ok(path) => format!("{what} {}@{rev}", encoded(path)),
        Err(_) => format!("{what} /{}@{rev}", encoded(sent)),
    }
}

pub(crate) fn get(what: &str, path: &FsPath, rev: Revnum, text: bool, props: bool) -> String {
    let text = if text { " text" } else { "" };
    let props = if props { " props" } else { "" };
    format!("{what} {} r{rev}{text}{props}", encoded(path))
}

pub(crate) fn iprops(path: &FsPath, at: Option<Revnum>) -> String {
    format!("get-inherited-props {} r{}", encoded(path), rev(at))
}

pub(crate) fn list(path: &FsPath, at: Option<Revnum>, to: Depth, patterns: Option<&[String]>) -> String {
    let mut text = format!("list {} r{}{}", encoded(path), rev(at), depth(to));
    match patterns {
        None => text.push_str(" <ANY>"),
        Some(patterns) => {
            for pattern in patterns {
                // Unchanged, except for control characters.
                text.push(' ');
                for c in pattern.chars() {
                    match c.is_ascii_control() {
                        true => _ = write!(text, "%{:02X}", u32::from(c)),
                        false => text.push(c),
                    }
                }
            }
        }
    }
    text
}

pub(crate) fn mergeinfo(all: &[FsPath], inherit: &str, descendants: bool) -> String {
    let tail = if descendants { " include-descendants" } else { "" };
    format!("get-mergeinfo ({}) {inherit}{tail}", paths(all))
}

pub(crate) fn log(all: &[FsPath], log: &Log) -> String {
    let mut text = format!("log ({}) r{}:{}", paths(all), rev(log.start), rev(log.end));
    if log.limit > 0 {
        _ = write!(text, " limit={}", log.limit);
    }
    for (on, word) in [
        (log.changed_paths, " discover-changed-paths"),
        (log.strict, " strict"),
        (log.include_merged, " include-merged-revisions"),
    ] {
        if on {
            text.push_str(word);
        }
    }
    let names = match &log.revprops {
        LogRevprops::All => return text + " revprops=all",
        LogRevprops::Standard => "svn:author svn:date svn:log".to_owned(),
        LogRevprops::Some(names) if names.is_empty() => return text,
        LogRevprops::Some(names) => {
            let names: Vec<String> = names.iter().map(|name| encoded(name)).collect();
            names.join(" ")
        }
    };
    text + " revprops=(" + &names + ")"
}

pub(crate) fn locations(path: &FsPath, peg: Revnum, revs: &[Revnum]) -> String {
    let revs: Vec<String> = revs.iter().map(Revnum::to_string).collect();
    format!("get-locations {}@{peg} ({})", encoded(path), revs.join(" "))
}

pub(crate) fn segments(
    path: &FsPath,
    peg: Option<Revnum>,
    start: Option<Revnum>,
    end: Option<Revnum>,
) -> String {
    format!(
        "get-location-segments {}@{} r{}:{}",
        encoded(path),
        rev(peg),
        rev(start),
        rev(end)
    )
}

pub(crate) fn file_revs(path: &FsPath, start: Option<Revnum>, end: Option<Revnum>, merged: bool) -> String {
    let tail = if merged { " include-merged-revisions" } else { "" };
    format!(
        "get-file-revs {} r{}:{}{tail}",
        encoded(path),
        rev(start),
        rev(end)
    )
}

/// Returns the text of update, checkout and export.
pub(crate) fn update(path: &FsPath, rev: Revnum, to: Depth, copyfrom: bool, is_checkout: bool) -> String {
    let what = if is_checkout {
        "checkout-or-export"
    } else {
        "update"
    };
    let tail = if copyfrom && !is_checkout {
        " send-copyfrom-args"
    } else {
        ""
    };
    format!("{what} {} r{rev}{}{tail}", encoded(path), depth(to))
}

pub(crate) fn switch(path: &FsPath, to: &FsPath, rev: Revnum, how_far: Depth) -> String {
    format!("switch {} {}@{rev}{}", encoded(path), encoded(to), depth(how_far))
}

pub(crate) fn status(path: &FsPath, rev: Revnum, to: Depth) -> String {
    format!("status {} r{rev}{}", encoded(path), depth(to))
}

pub(crate) fn diff(
    (from, from_rev): (&FsPath, Option<Revnum>),
    (to, to_rev): (&FsPath, Revnum),
    how_far: Depth,
    ignore_ancestry: bool,
) -> String {
    let mut text = match from == to {
        true => format!("diff {} r{}:{to_rev}", encoded(from), rev(from_rev)),
        false => format!(
            "diff {}@{} {}@{to_rev}",
            encoded(from),
            rev(from_rev),
            encoded(to)
        ),
    };
    text.push_str(&depth(how_far));
    if ignore_ancestry {
        text.push_str(" ignore-ancestry");
    }
    text
}
