//! Changes of properties: the section below a node's text difference.

use std::io::Write as _;

use base::mergeinfo::Inheritance;
use base::{Mergeinfo, PropChange, Props, props};

use crate::options::DiffOptions;
use crate::unified::{Style, styled_hunks_while};

/// Prints the `changes` of the property list `old`: one paragraph per property, in the order of `changes`.
pub fn section(old: &Props, changes: &[PropChange]) -> Vec<u8> {
    let mut out = Vec::new();
    for change in changes {
        // Nothing stops it.
        let _ = paragraph(old, change, &|| true, &mut out);
    }
    out
}

/// As [`section`], with changes of mergeinfo as merges; `None` as soon as `go_on`, which is called at intervals, returns false.
pub fn section_with_merges(old: &Props, changes: &[PropChange], go_on: &dyn Fn() -> bool) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for change in changes {
        let (name, new) = change;
        let merges = (name == props::MERGEINFO)
            .then(|| merges(old.get(name).map(Vec::as_slice), new.as_deref()))
            .flatten();
        match merges {
            Some(merges) => {
                heading(old, change, &mut out);
                out.extend_from_slice(&merges);
            }
            None => paragraph(old, change, go_on, &mut out)?,
        }
    }
    Some(out)
}

fn heading(old: &Props, (name, new): &PropChange, out: &mut Vec<u8>) {
    let what = match (old.get(name), new) {
        (None, _) => "Added",
        (Some(_), None) => "Deleted",
        (Some(_), Some(_)) => "Modified",
    };
    out.extend_from_slice(format!("{what}: {name}\n").as_bytes());
}

fn paragraph(old: &Props, change: &PropChange, go_on: &dyn Fn() -> bool, out: &mut Vec<u8>) -> Option<()> {
    heading(old, change, out);
    let (name, new) = change;
    let old = old.get(name).map_or(&b""[..], Vec::as_slice);
    let new = new.as_deref().unwrap_or_default();
    // A user's options apply to texts: a property's white space always counts.
    out.extend(styled_hunks_while(
        old,
        new,
        &DiffOptions::default(),
        &PROPERTY,
        go_on,
    )?);
    Some(())
}

/// Returns the merges that a change of mergeinfo records; `None` if one of the values is not mergeinfo.
fn merges(old: Option<&[u8]>, new: Option<&[u8]>) -> Option<Vec<u8>> {
    let parse = |value: Option<&[u8]>| match value {
        Some(value) => Mergeinfo::parse(value).ok(),
        None => Some(Mergeinfo::new()),
    };
    let (old, new) = (parse(old)?, parse(new)?);
    let (deleted, added) = old.diff(&new, Inheritance::Consider);
    let mut out = Vec::new();
    // Writing to a vector cannot fail.
    let _ = writeln!(out, "## -0,{} +0,{} ##", deleted.iter().len(), added.iter().len());
    for (what, all) in [("Reverse-merged", &deleted), ("Merged", &added)] {
        for (source, ranges) in all.iter_hash_order() {
            let _ = writeln!(out, "   {what} {source}:r{ranges}");
        }
    }
    Some(out)
}

const PROPERTY: Style = Style {
    mark: "##",
    no_end: "\n\\ No newline at end of property\n",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_shown_as_merges() {
        let old = Props::from([("svn:mergeinfo".into(), b"/a:1-3,5*\n/b:1".to_vec())]);
        let change = |value: &[u8]| vec![("svn:mergeinfo".to_owned(), Some(value.to_vec()))];
        let shown = |value| {
            let text = section_with_merges(&old, &change(value), &|| true).expect("nothing stops it");
            String::from_utf8(text).expect("text")
        };
        assert_eq!(
            shown(b"/a:1-5"),
            "Modified: svn:mergeinfo\n## -0,2 +0,1 ##\n   Reverse-merged /a:r5*\n   Reverse-merged /b:r1\n   Merged /a:r4-5\n"
        );
        assert_eq!(
            shown(b"none"),
            "Modified: svn:mergeinfo\n## -1,2 +1 ##\n-/a:1-3,5*\n-/b:1\n\\ No newline at end of property\n+none\n\\ No newline at end of property\n"
        );
    }

    #[test]
    fn each_kind_of_change_has_its_word() {
        let old = Props::from([
            ("color".into(), b"red".to_vec()),
            ("gone".into(), b"x\n".to_vec()),
        ]);
        let changes = vec![
            ("color".to_owned(), Some(b"blue".to_vec())),
            ("empty".to_owned(), Some(Vec::new())),
            ("gone".to_owned(), None),
        ];
        let text = String::from_utf8(section(&old, &changes)).expect("text");
        assert_eq!(
            text,
            "Modified: color\n## -1 +1 ##\n-red\n\\ No newline at end of property\n+blue\n\
             \\ No newline at end of property\nAdded: empty\nDeleted: gone\n## -1 +0,0 ##\n-x\n"
        );
    }
}
