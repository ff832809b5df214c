//! Changes of properties: the section below a node's text difference.

use base::{PropChange, Props};

use crate::options::DiffOptions;
use crate::unified::{Style, hunks};

/// Prints the `changes` of the property list `old`: one paragraph per property, in the order of `changes`.
pub fn section(old: &Props, changes: &[PropChange]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, new) in changes {
        let old = old.get(name);
        let what = match (old, new) {
            (None, _) => "Added",
            (Some(_), None) => "Deleted",
            (Some(_), Some(_)) => "Modified",
        };
        out.extend_from_slice(format!("{what}: {name}\n").as_bytes());
        let old = old.map_or(&b""[..], Vec::as_slice);
        let new = new.as_deref().unwrap_or_default();
        // A user's options apply to texts: a property's white space always counts.
        out.extend(hunks(old, new, &DiffOptions::default(), &PROPERTY));
    }
    out
}

const PROPERTY: Style = Style {
    mark: "##",
    no_end: "\n\\ No newline at end of property\n",
};

#[cfg(test)]
mod tests {
    use super::*;

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
