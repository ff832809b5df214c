//! Keywords: `$Rev$` in a text becomes `$Rev: 12 $`.
//!
//! The property `svn:keywords` names the keywords to expand. A keyword reaches from one `$` to another on the same
//! line, in 255 bytes at most. [`Keywords::expand`] takes a text in parts, so that it is never whole in memory.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use crate::{Date, Revnum};

/// The property that names the keywords to expand.
pub const KEYWORDS: &str = "svn:keywords";

/// The data that keywords show about a file.
#[derive(Clone, Debug)]
pub struct FileFacts<'a> {
    /// Revision of the last change.
    pub rev: Revnum,
    /// Author of that revision; empty if there is none.
    pub author: &'a str,
    /// Date of that revision.
    pub date: Option<Date>,
    /// The date as `$Date$` shows it: a server's form is [`long_date`], a client's is in its time zone.
    pub long_date: &'a str,
    /// The file's URL.
    pub url: &'a str,
    /// The repository's URL.
    pub root_url: &'a str,
    /// Path in the repository, without slash before it.
    pub path: &'a str,
}

/// The keywords of one file with their values.
#[derive(Debug, Default)]
pub struct Keywords {
    values: BTreeMap<String, String>,
    /// Values are removed, not filled in.
    contracts: bool,
    /// The beginning of a possible keyword, held back.
    kept: Vec<u8>,
}

/// Longest keyword, from `$` to `$`.
const LONGEST: usize = 255;

impl Keywords {
    /// Returns the keywords that `property` names, with their values for a file.
    pub fn new(property: &[u8], facts: &FileFacts<'_>) -> Keywords {
        let property = String::from_utf8_lossy(property);
        let mut values = BTreeMap::new();
        for word in property.split([' ', '\t', '\n', '\r', '\u{b}', '\u{c}', '\u{8}']) {
            if let Some((name, format)) = word.split_once('=') {
                values.insert(name.to_owned(), formatted(format, facts));
                continue;
            }
            // Names in the property match in any case, for compatibility; those in the text do not.
            let known = STANDARD
                .iter()
                .find(|(names, _)| names.iter().any(|name| name.eq_ignore_ascii_case(word)));
            if let Some((names, format)) = known {
                for name in *names {
                    values.insert((*name).to_owned(), formatted(format, facts));
                }
            }
        }
        values.remove("");
        Keywords {
            values,
            contracts: false,
            kept: Vec::new(),
        }
    }

    /// Returns the same keywords, whose values are removed from texts: for texts on their way into a repository.
    pub fn contracting(self) -> Keywords {
        Keywords {
            contracts: true,
            ..self
        }
    }

    /// True if nothing would be expanded.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Appends the next part of a text, expanded, as far as it is certain.
    pub fn expand(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let mut kept = std::mem::take(&mut self.kept);
        kept.extend_from_slice(piece);
        let done = self.pass(&kept, false, out);
        kept.drain(..done);
        self.kept = kept;
    }

    /// Appends what was held back, at the end of the text.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let kept = std::mem::take(&mut self.kept);
        self.pass(&kept, true, out);
    }

    /// Appends the part of `text` that is certain, and returns its length.
    fn pass(&self, text: &[u8], is_end: bool, out: &mut Vec<u8>) -> usize {
        let mut at = 0;
        while let Some(next) = text[at..].iter().position(|b| *b == b'$') {
            let start = at + next;
            out.extend_from_slice(&text[at..start]);
            at = start;
            let line = &text[start..text.len().min(start + LONGEST)];
            let line_ends = line.iter().position(|b| b"\r\n".contains(b));
            let line = &line[..line_ends.unwrap_or(line.len())];
            let ends = (1..line.len()).filter(|end| line[*end] == b'$');
            let found = ends
                .into_iter()
                .find_map(|end| Some((end, self.expanded(&line[1..end])?)));
            match found {
                Some((end, expanded)) => {
                    out.extend_from_slice(&expanded);
                    at += end + 1;
                }
                None if !is_end && line_ends.is_none() && line.len() < LONGEST => return at,
                // As in the incumbent, other keywords behind the first `$` are found at the end of a line, or if the text between is too long. At
                // the end of the text, and if the longest text ends with a `$`, they are passed over.
                None if line_ends.is_none()
                    && (line.len() < LONGEST || line.ends_with(b"$"))
                    && self.begins_keyword(line) =>
                {
                    out.extend_from_slice(line);
                    at += line.len();
                }
                None => {
                    out.push(b'$');
                    at += 1;
                }
            }
        }
        out.extend_from_slice(&text[at..]);
        text.len()
    }

    /// True if what is between the first two `$` begins with the name of a keyword.
    fn begins_keyword(&self, line: &[u8]) -> bool {
        let mut parts = line.split(|b| *b == b'$').skip(1);
        let (Some(first), Some(_)) = (parts.next(), parts.next()) else {
            return false;
        };
        let name = first.split(|b| *b == b':').next().unwrap_or_default();
        std::str::from_utf8(name).is_ok_and(|name| self.values.contains_key(name))
    }

    /// Returns the expansion of `inner`, which is between two `$`, if it is a keyword.
    fn expanded(&self, inner: &[u8]) -> Option<Vec<u8>> {
        let end = inner.iter().position(|b| *b == b':').unwrap_or(inner.len());
        let (name, rest) = inner.split_at(end);
        let value = self.values.get(std::str::from_utf8(name).ok()?)?.as_bytes();
        let value = if self.contracts { &[] } else { value };
        let mut out = vec![b'$'];
        out.extend_from_slice(name);
        match rest {
            [b':', b':', b' ', .., b' ' | b'#'] if rest.len() >= FIXED_LEAST => {
                let field = &rest[3..];
                let room = field.len() - 1;
                out.extend_from_slice(b":: ");
                out.extend_from_slice(&value[..value.len().min(room)]);
                if value.len() > room {
                    out.push(b'#');
                } else {
                    // The old value is replaced by blanks up to a `$` in it.
                    let old = &field[value.len()..];
                    let blanks = old.iter().position(|b| *b == b'$').unwrap_or(old.len());
                    out.resize(out.len() + blanks, b' ');
                    out.extend_from_slice(&old[blanks..]);
                }
            }
            [] | [b':'] | [b':', b' '] | [b':', b' ', .., b' '] if self.contracts => {}
            [] | [b':'] | [b':', b' '] | [b':', b' ', .., b' '] => {
                let room = (LONGEST - 5).saturating_sub(name.len());
                out.extend_from_slice(b": ");
                if !value.is_empty() {
                    out.extend_from_slice(&value[..value.len().min(room)]);
                    out.push(b' ');
                }
            }
            _ => return None,
        }
        out.push(b'$');
        Some(out)
    }
}

/// `:: `, one byte of value, and what ends it.
const FIXED_LEAST: usize = 5;

/// All names of each standard keyword, and its format.
const STANDARD: &[(&[&str], &str)] = &[
    (&["Rev", "Revision", "LastChangedRevision"], "%r"),
    (&["Date", "LastChangedDate"], "%D"),
    (&["Author", "LastChangedBy"], "%a"),
    (&["URL", "HeadURL"], "%u"),
    (&["Id"], "%b %r %d %a"),
    (&["Header"], "%u %r %d %a"),
];

fn formatted(format: &str, facts: &FileFacts<'_>) -> String {
    let author = facts.author;
    let short = facts.date.map_or(String::new(), short_date);
    let basename = facts.path.rsplit('/').next().unwrap_or_default();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('a') => out.push_str(author),
            Some('b') => out.push_str(basename),
            Some('d') => out.push_str(&short),
            Some('D') => out.push_str(facts.long_date),
            Some('P') => out.push_str(facts.path),
            Some('R') => out.push_str(facts.root_url),
            Some('r') => out.push_str(&facts.rev.to_string()),
            Some('u') => out.push_str(facts.url),
            Some('_') => out.push(' '),
            Some('%') => out.push('%'),
            Some('H') => out += &format!("{} {} {short} {author}", facts.path, facts.rev),
            Some('I') => out += &format!("{basename} {} {short} {author}", facts.rev),
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
    }
    out
}

/// `2026-11-22 04:40:40Z`.
fn short_date(date: Date) -> String {
    let (year, time) = date.in_zone(TimeZone::UTC);
    format!("{year:04}-{}", time.strftime("%m-%d %H:%M:%SZ"))
}

/// Returns `2026-11-22 04:40:40 +0000 (Sun, 22 Nov 2026)`: a date in UTC.
pub fn long_date(date: Date) -> String {
    let (year, time) = date.in_zone(TimeZone::UTC);
    let rest = time.strftime("%m-%d %H:%M:%S +0000 (%a, %d %b");
    format!("{year:04}-{rest} {year:04})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(property: &str, text: &str, piece: usize, author: &str) -> String {
        let date = Date::parse(b"2026-11-22T04:40:40.123456Z").expect("a date");
        let facts = FileFacts {
            rev: Revnum(11),
            author,
            date: Some(date),
            long_date: &long_date(date),
            url: "http://host/svn/r/trunk/kws.txt",
            root_url: "http://host/svn/r",
            path: "trunk/kws.txt",
        };
        let mut keywords = Keywords::new(property.as_bytes(), &facts);
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            keywords.expand(piece, &mut out);
        }
        keywords.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Texts and answers recorded from Apache (`?kw=1`).
    #[test]
    fn keywords_are_expanded_as_by_the_real_server() {
        for (text, answer) in [
            ("$Id$", "$Id: kws.txt 11 2026-11-22 04:40:40Z kw user $"),
            (
                "$LastChangedDate$",
                "$LastChangedDate: 2026-11-22 04:40:40 +0000 (Sun, 22 Nov 2026) $",
            ),
            (
                "$Rev:: $ $Rev::      $ $Rev::            $ $Author::  $ $Rev: 5 $ $Rev$ $Rev$ $Revx$",
                "$Rev:: 1#$Rev::      $ $Rev:: 11         $ $Author:: kw#$Rev: 5 $ $Rev: 11 $ $Rev: 11 $ $Revx$",
            ),
            ("$ Rev$ $rev$ $Rev\n$", "$ Rev$ $rev$ $Rev\n$"),
            (
                "$Date:: $ $Date::           $ $Date::                                                   $$Rev$$Rev$ no",
                "$Date:: 2#$Date::           $ $Date:: 2026-11-22 04:40:40 +0000 (Sun, 22 Nov 2026)      $$Rev: 11 $$Rev: 11 $ no",
            ),
            ("$Rev::     $ end $Rev", "$Rev:: 11  $ end $Rev"),
            ("$Other$Other:: x    $", "$Other: akw userb $Other:: x    $"),
            ("$Rev::   $\n$Rev::  $\n", "$Rev:: 1#$\n$Rev::  $\n"),
            (
                "$Rev: a\n $Rev$\n$Rev::xx$\n$Rev:: x$\n$Rev:x $\n$Rev: x$$\n$Rev::    $\n$Rev$Rev$Rev$\n$x$Rev$\n",
                "$Rev: a\n $Rev: 11 $\n$Rev::xx$\n$Rev:: x$\n$Rev:x $\n$Rev: x$$\n$Rev:: 11 $\n$Rev: 11 $Rev$Rev: 11 $\n$x$Rev: 11 $\n",
            ),
            (
                "$Header$",
                "$Header: http://host/svn/r/trunk/kws.txt 11 2026-11-22 04:40:40Z kw user $",
            ),
            ("$Custom$", "$Custom: 11-% trunk/kws.txt-%x $"),
        ] {
            for piece in [1, 7, 1000] {
                let property = "Id Header author Date\nRev  URL Custom=%r-%%%_%P-%x Other=a%ab";
                assert_eq!(expanded(property, text, piece, "kw user"), answer, "{text}");
            }
        }
    }

    /// Texts and answers of Subversion's client.
    #[test]
    fn a_keyword_that_cannot_be_expanded_may_hide_those_behind_it() {
        let long = |length: usize, rest: &str| format!("$Rev:x{}{rest}", "y".repeat(length - 7));
        for (text, answer) in [
            // At the end of the text, unlike the end of a line.
            (
                "$Id:1.2$ by $Author$".to_owned(),
                "$Id:1.2$ by $Author$".to_owned(),
            ),
            (
                "$Id:1.2$ by $Author$\n".to_owned(),
                "$Id:1.2$ by $Author: x $\n".to_owned(),
            ),
            (
                "use $Rev::$ or $Rev$".to_owned(),
                "use $Rev::$ or $Rev$".to_owned(),
            ),
            ("$Foo:x$ $Rev$".to_owned(), "$Foo:x$ $Rev: 11 $".to_owned()),
            // A `$` in a field of fixed width.
            ("$Rev::  $$$ $".to_owned(), "$Rev:: 11$$ $".to_owned()),
            ("$Rev::  x$ $\n".to_owned(), "$Rev:: 11$ $\n".to_owned()),
            // The longest text ends with a `$`, or does not.
            (long(245, " $Author$ $Rev$\n"), long(245, " $Author$ $Rev$\n")),
            (
                long(242, " $Author$ $Rev$\n"),
                long(242, " $Author: x $ $Rev: 11 $\n"),
            ),
            (
                long(248, " $Author$ $Rev$\n"),
                long(248, " $Author: x $ $Rev: 11 $\n"),
            ),
            (long(255, "$ $Rev$\n"), long(255, "$ $Rev: 11 $\n")),
        ] {
            for piece in [1, 7, 1000] {
                assert_eq!(expanded("Rev Author Id", &text, piece, "x"), answer, "{text}");
            }
        }
    }

    #[test]
    fn what_is_not_named_stays_as_it_is() {
        assert_eq!(expanded("Rev,URL", "$Rev$ $URL$", 3, "x"), "$Rev$ $URL$");
        assert_eq!(
            expanded("Author", "$Author$|$Author::   $|", 3, ""),
            "$Author: $|$Author::   $|"
        );
    }

    #[test]
    fn values_are_removed() {
        let facts = FileFacts {
            rev: Revnum(0),
            author: "",
            date: None,
            long_date: "",
            url: "",
            root_url: "",
            path: "",
        };
        let mut keywords = Keywords::new(b"Id Rev Own=%r", &facts).contracting();
        let mut out = Vec::new();
        keywords.expand(
            b"$Id: foo $ $Rev:: 12 $ $Own: x $ $Id$ $Rev: $ $Date: x $",
            &mut out,
        );
        keywords.finish(&mut out);
        let expected = "$Id$ $Rev::    $ $Own$ $Id$ $Rev$ $Date: x $";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn a_long_value_is_cut() {
        let long = expanded("X=%u%u%u%u%u%u%u%u%u%u", "$X$ $X$", 2, "x");
        assert_eq!(long.split(" $ ").next().map(str::len), Some(LONGEST - 2));
        let nothing = format!("${}$", "x".repeat(400));
        assert_eq!(expanded("Rev", &nothing, 5, "x"), nothing);
    }
}
