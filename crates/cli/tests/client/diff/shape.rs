//! Outputs of `svn diff` without what may differ.

use std::io::Read as _;

use flate2::read::ZlibDecoder;

/// A program that compares two texts, for `--diff-cmd`: it prints its arguments, but not the names of the files.
pub const PROGRAM: &str = "#!/bin/sh\nfor last; do :; done\nwhile [ $# -gt 2 ]; do echo \"[$1]\"; shift; done\ncat \"$1\"; echo =; cat \"$2\"\n";

/// The order of the changed nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order counts.
    Exact,
    /// It does not.
    Any,
}

/// Compares two outputs.
pub fn same(theirs: &str, ours: &str, order: Order) -> bool {
    if theirs == ours {
        return true;
    }
    let (theirs, ours) = (normal(theirs), normal(ours));
    if theirs == ours {
        return true;
    }
    order == Order::Any && sorted(&theirs) == sorted(&ours)
}

/// Returns the difference of two outputs, for messages.
pub fn difference(theirs: &str, ours: &str, order: Order) -> String {
    let labels = ::diff::Labels {
        old: b"theirs",
        new: b"ours",
    };
    let (theirs, ours) = match order {
        Order::Exact => (normal(theirs), normal(ours)),
        Order::Any => (
            sorted(&normal(theirs)).join("\n"),
            sorted(&normal(ours)).join("\n"),
        ),
    };
    let options = ::diff::DiffOptions::default();
    let text = ::diff::unified(theirs.as_bytes(), ours.as_bytes(), labels, &options);
    String::from_utf8_lossy(&text).into_owned()
}

/// Sorts the attributes of XML and unpacks binary texts.
fn normal(text: &str) -> String {
    let mut out = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "<path" {
            let mut attributes: Vec<&str> = Vec::new();
            while let Some(attribute) = lines.next_if(|line| line.starts_with("   ")) {
                let (attribute, url) = attribute.split_once('>').unwrap_or((attribute, ""));
                attributes.push(attribute);
                if !url.is_empty() {
                    out.push(url.to_owned());
                }
            }
            attributes.sort_unstable();
            out.extend(attributes.into_iter().map(str::to_owned));
        } else if line.starts_with("literal ") {
            out.push(line.to_owned());
            let mut packed = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.is_empty() && !line.starts_with("Index: ")) {
                unpack_line(line.as_bytes(), &mut packed);
            }
            let mut unpacked = Vec::new();
            let outcome = ZlibDecoder::new(&packed[..]).read_to_end(&mut unpacked);
            out.push(format!("{outcome:?} {unpacked:?}"));
        } else {
            out.push(line.to_owned());
        }
    }
    out.join("\n")
}

fn unpack_line(line: &[u8], packed: &mut Vec<u8>) {
    const DIGITS: &[u8; 85] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let length = match line.first() {
        Some(letter @ b'A'..=b'Z') => letter - b'A' + 1,
        Some(letter) => letter.wrapping_sub(b'a') + 27,
        None => 0,
    };
    let start = packed.len();
    for digits in line[1..].chunks(5) {
        let value = digits.iter().fold(0u32, |value, digit| {
            let place = DIGITS.iter().position(|known| known == digit).unwrap_or(0);
            value
                .wrapping_mul(85)
                .wrapping_add(u32::try_from(place).unwrap_or(0))
        });
        packed.extend(value.to_be_bytes());
    }
    packed.truncate(start + usize::from(length));
}

/// Sorts the sections of a difference, or the lines of a summary.
fn sorted(text: &str) -> Vec<String> {
    let mut sections: Vec<String> = Vec::new();
    let is_patch = text.contains("Index: ");
    // A text without line feed at its end precedes the next section on the same line.
    let text = text.replace('\r', "\r\n");
    for line in text.lines() {
        match sections.last_mut() {
            Some(section) if is_patch && !line.starts_with("Index: ") && !line.starts_with("--- stderr") => {
                section.push('\n');
                section.push_str(line);
            }
            _ => sections.push(line.to_owned()),
        }
    }
    // The last section is followed by the end of standard output.
    for section in &mut sections {
        let end = section.trim_end_matches('\n').len();
        section.truncate(end);
    }
    sections.sort_unstable();
    sections
}
