//! The configuration that is being written: tables with keys, and remarks for the administrator.

use std::fmt::Write as _;

/// Tables in the order of the file; false for a table that is commented out.
pub type TranslatedTables = Vec<(TableDraft, bool)>;

/// One table of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableDraft {
    /// The header, such as `[listen]` or `[[location]]`; empty for remarks at the top of the file.
    pub head: String,
    lines: Vec<DraftLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum DraftLine {
    /// A key with its value in TOML.
    Key(&'static str, String),
    /// A key that is commented out, its value, and the reason.
    Idle(&'static str, String, String),
    /// A comment.
    Remark(String),
}

impl TableDraft {
    /// Returns an empty table.
    pub fn new(head: impl Into<String>) -> TableDraft {
        TableDraft {
            head: head.into(),
            lines: Vec::new(),
        }
    }

    /// Sets `key` to a string.
    pub fn text(&mut self, key: &'static str, value: impl Into<String>) {
        self.set(key, quoted(&value.into()));
    }

    /// Sets `key` to a list of strings; a single one is written without brackets.
    pub fn texts(&mut self, key: &'static str, values: &[String]) {
        let value = match values {
            [one] => quoted(one),
            many => {
                let all: Vec<String> = many.iter().map(|text| quoted(text)).collect();
                format!("[{}]", all.join(", "))
            }
        };
        self.set(key, value);
    }

    /// Sets `key` to a boolean.
    pub fn flag(&mut self, key: &'static str, value: bool) {
        self.set(key, value.to_string());
    }

    /// Sets `key` to a number.
    pub fn number(&mut self, key: &'static str, value: u64) {
        self.set(key, value.to_string());
    }

    /// Sets `key` to a value in TOML.
    pub fn set(&mut self, key: &'static str, value: String) {
        self.lines
            .retain(|line| !matches!(line, DraftLine::Key(old, _) if *old == key));
        self.lines.push(DraftLine::Key(key, value));
    }

    /// Removes `key`.
    pub fn remove(&mut self, key: &str) {
        self.lines
            .retain(|line| !matches!(line, DraftLine::Key(old, _) if *old == key));
    }

    /// Adds `key` commented out, with the reason.
    pub fn idle(&mut self, key: &'static str, value: String, why: impl Into<String>) {
        self.lines.push(DraftLine::Idle(key, value, why.into()));
    }

    /// Adds a remark, once.
    pub fn remark(&mut self, text: impl Into<String>) {
        let line = DraftLine::Remark(text.into());
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Adds the lines of `other`. If both set a key, the value of this table stays.
    pub fn join(&mut self, other: TableDraft) {
        for line in other.lines {
            let known = matches!(&line, DraftLine::Key(key, _) if self.value(key).is_some());
            if !known && !self.lines.contains(&line) {
                self.lines.push(line);
            }
        }
    }

    /// True if the table has neither keys nor remarks.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// True if a key is set.
    pub fn has_keys(&self) -> bool {
        self.lines.iter().any(|line| matches!(line, DraftLine::Key(..)))
    }

    /// Returns the value of `key` in TOML.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| match line {
            DraftLine::Key(name, value) if *name == key => Some(value.as_str()),
            _ => None,
        })
    }

    /// True if both tables have the same keys with the same values. Remarks do not count.
    pub fn same_keys(&self, other: &TableDraft) -> bool {
        let keys = |table: &TableDraft| -> Vec<DraftLine> {
            let mut keys: Vec<DraftLine> = table.lines.clone();
            keys.retain(|line| matches!(line, DraftLine::Key(..)));
            keys
        };
        keys(self) == keys(other)
    }

    /// Formats the table, remarks first. All lines are commented out unless `in_force`.
    pub fn shown(&self, in_force: bool) -> String {
        let off = if in_force { "" } else { "# " };
        let mut text = String::new();
        for line in &self.lines {
            if let DraftLine::Remark(remark) = line {
                for line in wrapped(remark) {
                    _ = writeln!(text, "# {line}");
                }
            }
        }
        if !self.head.is_empty()
            && (self.has_keys() || self.lines.iter().any(|l| matches!(l, DraftLine::Idle(..))))
        {
            _ = writeln!(text, "{off}{}", self.head);
        }
        for line in &self.lines {
            match line {
                DraftLine::Key(key, value) => _ = writeln!(text, "{off}{key} = {value}"),
                DraftLine::Idle(key, value, why) => _ = writeln!(text, "# {key} = {value}  # {why}"),
                DraftLine::Remark(_) => {}
            }
        }
        text
    }
}

/// Returns a TOML string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => _ = write!(out, "\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Wraps a remark. Line feeds and control characters become spaces, so that the text stays inside the comment.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        let line = lines.last_mut().expect("because there is always one");
        if !line.is_empty() && line.len() + word.len() >= WIDTH {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

const WIDTH: usize = 118;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_strings_parse_as_toml() {
        for text in ["", "a b", "a\"b\\c", "tab\tline\nend\r\u{1}\u{7f}", "é☃", "'"] {
            let read: toml::Table =
                toml::from_str(&format!("k = {}", quoted(text))).expect("because it is TOML");
            assert_eq!(read["k"].as_str(), Some(text));
        }
    }

    #[test]
    fn remarks_stay_comments() {
        let mut table = TableDraft::new("[a]");
        table.remark("one\ntwo = 3\u{b}\rfour");
        table.flag("b", true);
        table.flag("b", false);
        assert_eq!(table.shown(true), "# one two = 3  four\n[a]\nb = false\n");
        assert_eq!(table.shown(false), "# one two = 3  four\n# [a]\n# b = false\n");
    }
}
