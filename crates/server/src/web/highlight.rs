//! Syntax highlighting, within limits.
//!
//! The grammars are loaded when the first file is shown. A text that is long, has very long lines, or takes too much time is shown
//! without colours.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use syntect::html::{ClassStyle, line_tokens_to_classed_spans};
use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};
use syntect::util::LinesWithEndings;

/// How long highlighting may take.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// The longest line that is highlighted, bytes.
const MAX_LINE: usize = 4096;
const STYLE: ClassStyle = ClassStyle::SpacedPrefixed { prefix: "h-" };

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Returns the text as HTML: highlighted if it has at most `max` bytes and that is quick, otherwise escaped.
pub(super) fn html(name: &str, text: &str, max: u64) -> String {
    let highlighted = match text.len() as u64 <= max {
        true => grammar(name, text).and_then(|grammar| highlighted(grammar, text)),
        false => None,
    };
    highlighted.unwrap_or_else(|| escaped(text))
}

fn grammar(name: &str, text: &str) -> Option<&'static SyntaxReference> {
    let extension = name.rsplit_once('.').map_or(name, |(_, extension)| extension);
    let first = text.lines().next().unwrap_or_default();
    let found = GRAMMARS
        .find_syntax_by_extension(name)
        .or_else(|| GRAMMARS.find_syntax_by_extension(extension))
        .or_else(|| match first.len() < MAX_LINE {
            true => GRAMMARS.find_syntax_by_first_line(first),
            false => None,
        })?;
    (found.name != "Plain Text").then_some(found)
}

fn highlighted(grammar: &SyntaxReference, text: &str) -> Option<String> {
    let mut state = ParseState::new(grammar);
    // The first use of a grammar compiles its expressions. That time does not count.
    _ = state.parse_line("\n", &GRAMMARS);
    let mut state = ParseState::new(grammar);
    let end = Instant::now() + TIME_LIMIT;
    let mut stack = ScopeStack::new();
    let mut out = String::with_capacity(text.len() * 3);
    let mut open = 0;
    for line in LinesWithEndings::from(text) {
        if line.len() > MAX_LINE || Instant::now() > end {
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

/// Returns the text as HTML without colours.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Invisible characters that change the direction of text are made visible.
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
    fn no_text_becomes_markup() {
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
    fn code_is_highlighted_unless_it_is_too_long() {
        assert!(
            html("a.rs", "fn main() {}\n", 1 << 20).contains("h-keyword")
                || html("a.rs", "fn main() {}\n", 1 << 20).contains("h-storage")
        );
        assert_eq!(html("a.rs", "fn main() {}\n", 3), "fn main() {}\n");
    }
}
