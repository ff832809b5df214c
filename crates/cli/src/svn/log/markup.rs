//! Entries of a log as XML.

use base::{Result, Revnum, props};
use ra::{LogChange, LogEntry};

use super::search::SearchOptions;
use super::value;
use crate::out::Out;
use crate::xml;

/// Prints entries as elements.
pub struct XmlLog<'a> {
    search: &'a SearchOptions,
    /// How many lists of merged entries are open.
    depth: u64,
}

impl<'a> XmlLog<'a> {
    /// Returns the printer for one log.
    pub fn new(search: &'a SearchOptions) -> XmlLog<'a> {
        XmlLog { search, depth: 0 }
    }

    /// Prints an entry.
    pub fn entry(&mut self, entry: &LogEntry, out: &mut Out) -> Result<()> {
        let Some(rev) = entry.rev else {
            // Also for an entry that is not shown.
            self.depth = self.depth.saturating_sub(1);
            out.raw(b"</logentry>\n")?;
            return out.flush_soon();
        };
        let [author, date, message] =
            [props::AUTHOR, props::DATE, props::LOG].map(|name| value(&entry.revprops, name));
        if rev == Revnum::ZERO && message.is_none() {
            return Ok(());
        }
        if self
            .search
            .shows(&super::searched(entry, [author, date, message]))
        {
            out.raw(&self.element(rev, entry))?;
            out.flush_soon()?;
        }
        self.depth += u64::from(entry.has_children);
        Ok(())
    }

    /// Returns the element of an entry, without its end if the element of merged entries follow.
    fn element(&self, rev: Revnum, entry: &LogEntry) -> Vec<u8> {
        let number = rev.to_string();
        let mut attributes = vec![("revision", number.as_str())];
        if self.depth > 0 {
            attributes.push((
                "reverse-merge",
                if entry.subtractive_merge { "true" } else { "false" },
            ));
        }
        let mut text = xml::tag("logentry", &attributes, ">\n").into_bytes();
        push_leaf("author", value(&entry.revprops, props::AUTHOR), &mut text);
        let date = value(&entry.revprops, props::DATE).filter(|date| !date.is_empty());
        push_leaf("date", date, &mut text);
        push_changes(&super::sorted_changes(entry), &mut text);
        push_leaf("msg", value(&entry.revprops, props::LOG), &mut text);
        push_revprops(entry, &mut text);
        if !entry.has_children {
            text.extend_from_slice(b"</logentry>\n");
        }
        text
    }
}

fn push_leaf(name: &str, value: Option<&[u8]>, text: &mut Vec<u8>) {
    if let Some(value) = value {
        text.extend_from_slice(format!("<{name}>").as_bytes());
        text.extend(xml::value(value));
        text.extend_from_slice(format!("</{name}>\n").as_bytes());
    }
}

fn push_changes(changes: &[&LogChange], text: &mut Vec<u8>) {
    if changes.is_empty() {
        return;
    }
    text.extend_from_slice(b"<paths>\n");
    for change in changes {
        let action = change.action.letter().to_string();
        let copyfrom = change.copyfrom.as_ref();
        let copyfrom = copyfrom.map(|(path, rev)| (path.as_str(), rev.to_string()));
        let mut attributes = vec![("action", action.as_str())];
        if let Some((path, rev)) = &copyfrom {
            attributes.extend([("copyfrom-path", *path), ("copyfrom-rev", rev.as_str())]);
        }
        let flag = |is_set: bool| if is_set { "true" } else { "false" };
        attributes.extend([
            ("kind", kind_word(change)),
            ("prop-mods", flag(change.prop_mods)),
            ("text-mods", flag(change.text_mods)),
        ]);
        text.extend_from_slice(xml::tag("path", &attributes, ">").as_bytes());
        text.extend(xml::value(change.path.as_str().as_bytes()));
        text.extend_from_slice(b"</path>\n");
    }
    text.extend_from_slice(b"</paths>\n");
}

fn kind_word(change: &LogChange) -> &'static str {
    match change.kind {
        base::NodeKind::File => "file",
        base::NodeKind::Dir => "dir",
        _ => "",
    }
}

/// Appends the properties that have no element of their own.
fn push_revprops(entry: &LogEntry, text: &mut Vec<u8>) {
    let own = [props::AUTHOR, props::DATE, props::LOG];
    let mut others = entry
        .revprops
        .iter()
        .filter(|(name, _)| !own.contains(&name.as_str()))
        .peekable();
    if others.peek().is_none() {
        return;
    }
    text.extend_from_slice(b"<revprops>\n");
    for (name, value) in others {
        let readable = std::str::from_utf8(value).ok().filter(|_| xml::is_safe(value));
        let (encoding, content) = match readable {
            Some(value) => (None, xml::text(value)),
            None => (Some(("encoding", "base64")), xml::base64(value)),
        };
        let attributes: Vec<(&str, &str)> = [("name", name.as_str())].into_iter().chain(encoding).collect();
        text.extend_from_slice(xml::tag("property", &attributes, ">").as_bytes());
        text.extend_from_slice(content.as_bytes());
        text.extend_from_slice(b"</property>\n");
    }
    text.extend_from_slice(b"</revprops>\n");
}
