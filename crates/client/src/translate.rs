//! Texts as users see them: line ends of their system, and keywords with values.
//!
//! A repository stores the text of a file with `svn:eol-style` `native` with line feeds, and keywords as the user
//! committed them. [`Translation`] converts a text on its way to the user, in parts, so that it is never whole in memory.

use base::Props;
use base::keywords::{FileFacts, KEYWORDS, Keywords};
use memchr::{memchr, memchr2};

/// The property that names a file's line ends.
pub const EOL_STYLE: &str = "svn:eol-style";

/// The property of files whose text describes another kind of node.
pub const SPECIAL: &str = "svn:special";

/// The property of files that are programs.
pub const EXECUTABLE: &str = "svn:executable";

/// A kind of line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// Line feed.
    Lf,
    /// Carriage return and line feed.
    CrLf,
    /// Carriage return.
    Cr,
}

impl LineEnd {
    /// Returns the line end of a name: `LF`, `CRLF` or `CR`.
    pub fn parse(name: &[u8]) -> Option<LineEnd> {
        match name {
            b"LF" => Some(LineEnd::Lf),
            b"CRLF" => Some(LineEnd::CrLf),
            b"CR" => Some(LineEnd::Cr),
            _ => None,
        }
    }

    /// The bytes.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
            LineEnd::Cr => b"\r",
        }
    }
}

/// Returns the line end of a file with these properties; `None` if its text is not converted, as for an unknown style.
pub fn line_end(props: &Props, native: LineEnd) -> Option<LineEnd> {
    match props.get(EOL_STYLE)?.as_slice() {
        b"native" => Some(native),
        name => LineEnd::parse(name),
    }
}

/// The conversion of one text.
#[derive(Debug)]
pub struct Translation {
    line_end: Option<LineEnd>,
    keywords: Option<Keywords>,
    /// The last byte was a carriage return, whose line end is written already.
    after_cr: bool,
    lines: Vec<u8>,
}

impl Translation {
    /// Returns the conversion of a file's text; `None` if nothing changes. `facts` are the values of keywords; without them keywords
    /// stay as they are.
    pub fn new(props: &Props, native: LineEnd, facts: Option<&FileFacts<'_>>) -> Option<Translation> {
        let line_end = line_end(props, native);
        let names = props.get(KEYWORDS).zip(facts);
        let keywords = names
            .map(|(names, facts)| Keywords::new(names, facts))
            .filter(|keywords| !keywords.is_empty());
        (line_end.is_some() || keywords.is_some()).then_some(Translation {
            line_end,
            keywords,
            after_cr: false,
            lines: Vec::new(),
        })
    }

    /// Appends the next part of the text to `out`, converted as far as it is certain.
    pub fn convert(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let Some(keywords) = &mut self.keywords else {
            if let Some(end) = self.line_end {
                convert_line_ends(end, &mut self.after_cr, piece, out);
            }
            return;
        };
        match self.line_end {
            None => keywords.expand(piece, out),
            Some(end) => {
                self.lines.clear();
                convert_line_ends(end, &mut self.after_cr, piece, &mut self.lines);
                keywords.expand(&self.lines, out);
            }
        }
    }

    /// Appends the rest of the text.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        if let Some(keywords) = &mut self.keywords {
            keywords.finish(out);
        }
    }
}

/// Appends `piece` with every line end replaced, of whatever kind it is. A line end in two pieces is one.
pub(crate) fn convert_line_ends(end: LineEnd, after_cr: &mut bool, piece: &[u8], out: &mut Vec<u8>) {
    let mut rest = piece;
    if *after_cr && rest.first() == Some(&b'\n') {
        rest = &rest[1..];
    }
    if !piece.is_empty() {
        *after_cr = false;
    }
    // Line feeds stay, if they are what is wanted.
    let find = |rest: &[u8]| match end {
        LineEnd::Lf => memchr(b'\r', rest),
        _ => memchr2(b'\r', b'\n', rest),
    };
    while let Some(at) = find(rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(end.bytes());
        let length = match &rest[at..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r'] => {
                *after_cr = true;
                1
            }
            _ => 1,
        };
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use base::Revnum;

    use super::*;

    fn converted(props: &[(&str, &str)], native: LineEnd, text: &str, piece: usize) -> String {
        let props = props
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
            .collect();
        let facts = FileFacts {
            rev: Revnum(7),
            author: "al",
            date: None,
            long_date: "",
            url: "file:///r/f",
            root_url: "file:///r",
            path: "f",
        };
        let Some(mut translation) = Translation::new(&props, native, Some(&facts)) else {
            return text.to_owned();
        };
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            translation.convert(piece, &mut out);
        }
        translation.finish(&mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn line_ends_and_keywords_are_converted_in_pieces_of_any_size() {
        let text = "a\r\nb\nc\rd $Rev$\r\r\n\n$Rev\n$";
        for piece in 1..text.len() {
            for (style, native, end) in [
                ("native", LineEnd::CrLf, "\r\n"),
                ("native", LineEnd::Lf, "\n"),
                ("CR", LineEnd::Lf, "\r"),
                ("CRLF", LineEnd::Lf, "\r\n"),
                ("LF", LineEnd::CrLf, "\n"),
            ] {
                let lines = ["a", "b", "c", "d $Rev$", "", "", "$Rev", "$"].join(end);
                let got = converted(&[(EOL_STYLE, style)], native, text, piece);
                assert_eq!(got, lines, "{style} {piece}");
                let got = converted(&[(EOL_STYLE, style), (KEYWORDS, "Rev")], native, text, piece);
                assert_eq!(got, lines.replace("$Rev$", "$Rev: 7 $"), "{style} {piece}");
            }
            assert_eq!(converted(&[(KEYWORDS, "Id")], LineEnd::Lf, text, piece), text);
        }
    }

    #[test]
    fn unknown_styles_convert_nothing() {
        for style in ["unix", "", "Native", "native ", "lf"] {
            let props = Props::from([(EOL_STYLE.to_owned(), style.into())]);
            assert!(Translation::new(&props, LineEnd::Lf, None).is_none(), "{style}");
        }
    }
}
