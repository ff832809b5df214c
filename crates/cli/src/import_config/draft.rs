//! The configuration that is being written: tables with keys, and remarks for its reader.

use std::fmt::Write as _;

/// One table of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// `[listen]`, `[[location]]`; empty for remarks at the top.
    pub head: String,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// A key with its value as it stands in the file.
    Key(&'static str, String),
    /// A key that is there to be uncommented, and why it is not.
    Idle(&'static str, String, String),
    /// A sentence.
    Remark(String),
}

impl Table {
    /// An empty one.
    pub fn new(head: impl Into<String>) -> Table {
        Table {
            head: head.into(),
            lines: Vec::new(),
        }
    }

    /// Sets `key` to a text.
    pub fn text(&mut self, key: &'static str, value: impl Into<String>) {
        self.set(key, quoted(&value.into()));
    }

    /// Sets `key` to texts; one of them stands alone.
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

    /// Sets `key` to yes or no.
    pub fn flag(&mut self, key: &'static str, value: bool) {
        self.set(key, value.to_string());
    }

    /// Sets `key` to a number.
    pub fn number(&mut self, key: &'static str, value: u64) {
        self.set(key, value.to_string());
    }

    /// Sets `key` to a value as it stands in the file.
    pub fn set(&mut self, key: &'static str, value: String) {
        self.lines
            .retain(|line| !matches!(line, Line::Key(old, _) if *old == key));
        self.lines.push(Line::Key(key, value));
    }

    /// Takes `key` away.
    pub fn remove(&mut self, key: &str) {
        self.lines
            .retain(|line| !matches!(line, Line::Key(old, _) if *old == key));
    }

    /// Sets `key`, but not in force.
    pub fn idle(&mut self, key: &'static str, value: String, why: impl Into<String>) {
        self.lines.push(Line::Idle(key, value, why.into()));
    }

    /// Says something.
    pub fn remark(&mut self, text: impl Into<String>) {
        let line = Line::Remark(text.into());
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Takes what `other` says as well; where both set a key, this one stays.
    pub fn join(&mut self, other: Table) {
        for line in other.lines {
            let known = matches!(&line, Line::Key(key, _) if self.value(key).is_some());
            if !known && !self.lines.contains(&line) {
                self.lines.push(line);
            }
        }
    }

    /// True if nothing is set and nothing is said.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// True if some key is set.
    pub fn has_keys(&self) -> bool {
        self.lines.iter().any(|line| matches!(line, Line::Key(..)))
    }

    /// The value of `key` as it stands in the file.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| match line {
            Line::Key(name, value) if *name == key => Some(value.as_str()),
            _ => None,
        })
    }

    /// The same keys with the same values, whatever is said beside them.
    pub fn same_keys(&self, other: &Table) -> bool {
        let keys = |table: &Table| -> Vec<Line> {
            let mut keys: Vec<Line> = table.lines.clone();
            keys.retain(|line| matches!(line, Line::Key(..)));
            keys
        };
        keys(self) == keys(other)
    }

    /// The table as text: remarks first. All of it is commented out unless `in_force`.
    pub fn shown(&self, in_force: bool) -> String {
        let off = if in_force { "" } else { "# " };
        let mut text = String::new();
        for line in &self.lines {
            if let Line::Remark(remark) = line {
                for line in wrapped(remark) {
                    _ = writeln!(text, "# {line}");
                }
            }
        }
        if !self.head.is_empty()
            && (self.has_keys() || self.lines.iter().any(|l| matches!(l, Line::Idle(..))))
        {
            _ = writeln!(text, "{off}{}", self.head);
        }
        for line in &self.lines {
            match line {
                Line::Key(key, value) => _ = writeln!(text, "{off}{key} = {value}"),
                Line::Idle(key, value, why) => _ = writeln!(text, "# {key} = {value}  # {why}"),
                Line::Remark(_) => {}
            }
        }
        text
    }
}

/// A text as TOML writes it.
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

/// A remark in lines of a readable length; nothing in it may end the comment.
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
    fn whatever_is_quoted_reads_back() {
        for text in ["", "a b", "a\"b\\c", "tab\tline\nend\r\u{1}\u{7f}", "é☃", "'"] {
            let read: toml::Table =
                toml::from_str(&format!("k = {}", quoted(text))).expect("because it is TOML");
            assert_eq!(read["k"].as_str(), Some(text));
        }
    }

    #[test]
    fn remarks_stay_comments() {
        let mut table = Table::new("[a]");
        table.remark("one\ntwo = 3\u{b}\rfour");
        table.flag("b", true);
        table.flag("b", false);
        assert_eq!(table.shown(true), "# one two = 3  four\n[a]\nb = false\n");
        assert_eq!(table.shown(false), "# one two = 3  four\n# [a]\n# b = false\n");
    }
}
