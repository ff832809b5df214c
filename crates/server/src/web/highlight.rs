//! Source code in colours, as far as that is quick.
//!
//! The grammars are loaded when the first file is shown. A text that is long, has very long lines, or takes too much time
//! is shown without colours: a page must not cost the server more than the file is worth.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use syntect::html::{ClassStyle, line_tokens_to_classed_spans};
use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};
use syntect::util::LinesWithEndings;

/// How long colouring may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest line, in bytes, that is coloured.
const LONG_LINE: usize = 4096;
const STYLE: ClassStyle = ClassStyle::SpacedPrefixed { prefix: "h-" };

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// The text as HTML: in colours if it is no longer than `most` bytes and that is quick, else escaped.
pub(super) fn html(name: &str, text: &str, most: u64) -> String {
    let coloured = match text.len() as u64 <= most {
        true => grammar(name, text).and_then(|grammar| coloured(grammar, text)),
        false => None,
    };
    coloured.unwrap_or_else(|| escaped(text))
}

fn grammar(name: &str, text: &str) -> Option<&'static SyntaxReference> {
    let extension = name.rsplit_once('.').map_or(name, |(_, extension)| extension);
    let first = text.lines().next().unwrap_or_default();
    let found = GRAMMARS
        .find_syntax_by_extension(name)
        .or_else(|| GRAMMARS.find_syntax_by_extension(extension))
        .or_else(|| match first.len() < LONG_LINE {
            true => GRAMMARS.find_syntax_by_first_line(first),
            false => None,
        })?;
    (found.name != "Plain Text").then_some(found)
}

fn coloured(grammar: &SyntaxReference, text: &str) -> Option<String> {
    let mut state = ParseState::new(grammar);
    // The first use of a grammar, which is not this text's fault, compiles its expressions.
    _ = state.parse_line("\n", &GRAMMARS);
    let mut state = ParseState::new(grammar);
    let end = Instant::now() + PATIENCE;
    let mut stack = ScopeStack::new();
    let mut out = String::with_capacity(text.len() * 3);
    let mut open = 0;
    for line in LinesWithEndings::from(text) {
        if line.len() > LONG_LINE || Instant::now() > end {
            return None;
        }
        let tokens = state.parse_line(line, &GRAMMARS).ok()?;
        let (html, change) = line_tokens_to_classed_spans(line, &tokens, STYLE, &mut stack).ok()?;
        out.push_str(&html);
        open += change;
    }
    for _ in 0..open {
        out.push_str("</span>");
    }
    Some(out)
}

/// The text as HTML without colours.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Invisible characters that change the order of what is read are made visible.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => _ = write!(out, "[U+{:04X}]", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        let evil = "<script>alert('x')</script>\n\"&\n";
        for name in ["a.txt", "a.html", "a.rs", "Makefile", "a.unknown"] {
            let html = html(name, evil, 1 << 20);
            assert!(!html.contains("<script"), "{name}: {html}");
            let plain: String = html.replace("<span", "\n<span");
            assert!(
                plain
                    .split('<')
                    .skip(1)
                    .all(|tag| tag.starts_with("span class=\"h-") || tag.starts_with("/span>")),
                "{name}: {html}"
            );
        }
    }

    #[test]
    fn code_has_colours_unless_it_is_too_long() {
        assert!(
            html("a.rs", "fn main() {}\n", 1 << 20).contains("h-keyword")
                || html("a.rs", "fn main() {}\n", 1 << 20).contains("h-storage")
        );
        assert_eq!(html("a.rs", "fn main() {}\n", 3), "fn main() {}\n");
    }
}
