//! Texts of files on their way into the repository: line ends and keywords as a repository stores them.

use base::keywords::{FileFacts, KEYWORDS, Keywords};
use base::{Code, Error, Props, Result, Revnum};

use crate::translate::{EOL_STYLE, LineEnd, convert_line_ends};

/// The conversion of one text.
#[derive(Debug)]
pub(super) struct Normalization {
    line_end: Option<LineEnd>,
    after_cr: bool,
    keywords: Option<Keywords>,
    lines: Vec<u8>,
}

impl Normalization {
    /// Returns the conversion of a file's text; `None` if nothing changes. `shown` is the path in messages.
    ///
    /// # Errors
    /// `IO_UNKNOWN_EOL`.
    pub(super) fn new(props: &Props, shown: &str) -> Result<Option<Normalization>> {
        let line_end = match props.get(EOL_STYLE).map(Vec::as_slice) {
            None => None,
            Some(b"native") => Some(LineEnd::Lf),
            Some(style) => Some(LineEnd::parse(style).ok_or_else(|| {
                let style = String::from_utf8_lossy(style);
                let message =
                    format!("{EOL_STYLE} property on '{shown}' contains unrecognized EOL-style '{style}'");
                Error::new(Code::IO_UNKNOWN_EOL, message)
            })?),
        };
        let facts = FileFacts {
            rev: Revnum(0),
            author: "",
            date: None,
            long_date: "",
            url: "",
            root_url: "",
            path: "",
        };
        let keywords = props
            .get(KEYWORDS)
            .map(|names| Keywords::new(names, &facts).contracting());
        let keywords = keywords.filter(|keywords| !keywords.is_empty());
        Ok(
            (line_end.is_some() || keywords.is_some()).then_some(Normalization {
                line_end,
                after_cr: false,
                keywords,
                lines: Vec::new(),
            }),
        )
    }

    /// Appends the next part of the text to `out`, as far as it is certain.
    pub(super) fn convert(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let lines = match self.line_end {
            None => piece,
            Some(end) => {
                self.lines.clear();
                convert_line_ends(end, &mut self.after_cr, piece, &mut self.lines);
                &self.lines
            }
        };
        match &mut self.keywords {
            Some(keywords) => keywords.expand(lines, out),
            None => out.extend_from_slice(lines),
        }
    }

    /// Appends the rest.
    pub(super) fn finish(mut self, out: &mut Vec<u8>) {
        if let Some(keywords) = &mut self.keywords {
            keywords.finish(out);
        }
    }
}
