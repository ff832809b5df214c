//! The check that a text has line ends of one kind only: with the property `svn:eol-style` other texts would not come back as they
//! were.

use base::{Code, Error};

use crate::translate::LineEnd;

/// Finds out whether all line ends of a text are of one kind. The text comes in pieces.
#[derive(Debug, Default)]
pub(super) struct LineEndCheck {
    first: Option<LineEnd>,
    is_mixed: bool,
    /// The last byte was a carriage return: the next one decides what it is.
    after_cr: bool,
}

impl LineEndCheck {
    /// Takes the next part of the text.
    pub(super) fn push(&mut self, piece: &[u8]) {
        for byte in piece {
            match (self.after_cr, byte) {
                (true, b'\n') => {
                    self.found(LineEnd::CrLf);
                    self.after_cr = false;
                }
                (true, b'\r') => self.found(LineEnd::Cr),
                (true, _) => {
                    self.found(LineEnd::Cr);
                    self.after_cr = false;
                }
                (false, b'\r') => self.after_cr = true,
                (false, b'\n') => self.found(LineEnd::Lf),
                (false, _) => {}
            }
        }
    }

    fn found(&mut self, end: LineEnd) {
        let first = *self.first.get_or_insert(end);
        self.is_mixed |= first != end;
    }

    /// Ends the text. `shown` is the file in the message.
    ///
    /// # Errors
    /// `ILLEGAL_TARGET` for a text with line ends of several kinds.
    pub(super) fn finish(mut self, shown: &str) -> Result<(), Error> {
        if self.after_cr {
            self.found(LineEnd::Cr);
        }
        match self.is_mixed {
            false => Ok(()),
            true => Err(Error::bare(Code::COMPOSED_ERROR)
                .wrap_bare(Code::IO_INCONSISTENT_EOL)
                .wrap(
                    Code::ILLEGAL_TARGET,
                    format!("File '{shown}' has inconsistent newlines"),
                )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_line_ends_are_found_in_pieces_of_any_size() {
        let is_fine = |text: &str, size: usize| {
            let mut check = LineEndCheck::default();
            text.as_bytes().chunks(size).for_each(|piece| check.push(piece));
            check.finish("f").is_ok()
        };
        for size in 1..5 {
            for text in [
                "",
                "a",
                "a\nb\n",
                "a\r\nb\r\n\r\n",
                "a\rb\r\r",
                "\r",
                "\r\n",
                "\n",
            ] {
                assert!(is_fine(text, size), "{text:?} {size}");
            }
            for text in [
                "a\r\nb\n", "a\nb\r\n", "a\rb\n", "a\n\r\nb", "a\r\nb\r", "\r\r\n", "\n\r",
            ] {
                assert!(!is_fine(text, size), "{text:?} {size}");
            }
        }
    }
}
