//! [`Scanner`]: where an item ends in a buffer that grows.

use super::item::{MAX_DEPTH, MAX_WORD, Malformed, is_space, push_digit};

/// Finds the end of an item in a buffer that grows.
#[derive(Clone, Debug, Default)]
pub struct Scanner {
    at: usize,
    depth: u32,
    /// Something other than leading whitespace was seen.
    begun: bool,
    state: ScannerState,
}

#[derive(Clone, Copy, Debug, Default)]
enum ScannerState {
    #[default]
    Between,
    Number(u64),
    Word(usize),
    Body(u64),
    /// An item has ended, its whitespace is missing.
    Ended,
}

impl Scanner {
    /// Looks for the end of the item that starts at `buf[0]`. `buf` must start with the bytes of the previous call
    /// (if that answered `None`) and may have more behind them.
    ///
    /// Answers the length of the item with its whitespace, or `None` if more bytes are needed. After an answer or
    /// an error the scanner is ready for another item.
    ///
    /// # Errors
    /// If no continuation of `buf` can be an item.
    pub fn scan(&mut self, buf: &[u8]) -> Result<Option<usize>, Malformed> {
        match self.resume(buf) {
            Ok(None) => Ok(None),
            done => {
                *self = Scanner::default();
                done
            }
        }
    }

    /// How many more bytes the string that is being skipped still needs: a hint for the next read.
    pub fn wanted(&self) -> u64 {
        match self.state {
            ScannerState::Body(left) => left,
            _ => 0,
        }
    }

    fn resume(&mut self, buf: &[u8]) -> Result<Option<usize>, Malformed> {
        if matches!(self.state, ScannerState::Between) && self.pass_tokens(buf) {
            return Ok(Some(self.at));
        }
        while let Some(&byte) = buf.get(self.at) {
            self.state = match self.state {
                ScannerState::Body(left) => {
                    let here = (buf.len() - self.at) as u64;
                    let step = left.min(here);
                    self.at += step as usize;
                    if step == left {
                        self.state = ScannerState::Ended;
                    } else {
                        self.state = ScannerState::Body(left - step);
                    }
                    continue;
                }
                ScannerState::Between => self.start(byte)?,
                ScannerState::Number(value) => match byte {
                    b'0'..=b'9' => ScannerState::Number(push_digit(value, byte).ok_or(Malformed::Overflow)?),
                    b':' if value == 0 => ScannerState::Ended,
                    b':' => ScannerState::Body(value),
                    _ => ended(byte)?,
                },
                ScannerState::Word(len) => match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' if len < MAX_WORD => {
                        ScannerState::Word(len + 1)
                    }
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => return Err(Malformed::LongWord),
                    _ => ended(byte)?,
                },
                ScannerState::Ended => ended(byte)?,
            };
            self.at += 1;
            self.begun |= !is_space(byte);
            if self.begun && self.depth == 0 && matches!(self.state, ScannerState::Between) {
                return Ok(Some(self.at));
            }
        }
        Ok(None)
    }

    /// Passes the tokens that are whole. Returns true behind the end of the item. What is left is incomplete or malformed, or deeper
    /// than lists may nest: the byte-wise scan decides.
    fn pass_tokens(&mut self, buf: &[u8]) -> bool {
        loop {
            let rest = &buf[self.at..];
            let (len, depth) = match rest {
                [b'(', b' ', ..] if self.depth < MAX_DEPTH => (2, self.depth + 1),
                [b')', b' ', ..] if self.depth > 0 => (2, self.depth - 1),
                [b'0'..=b'9', ..] => (number_or_string_len(rest), self.depth),
                [b'a'..=b'z', ..] => (word_len(rest), self.depth),
                _ => return false,
            };
            if len == 0 {
                return false;
            }
            self.begun = true;
            self.at += len;
            self.depth = depth;
            if depth == 0 {
                return true;
            }
        }
    }

    fn start(&mut self, byte: u8) -> Result<ScannerState, Malformed> {
        Ok(match byte {
            b' ' | b'\n' => ScannerState::Between,
            b'0'..=b'9' => ScannerState::Number(u64::from(byte - b'0')),
            b'a'..=b'z' | b'A'..=b'Z' => ScannerState::Word(1),
            b'(' => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(Malformed::Depth);
                }
                // As the incumbent: whitespace may follow, but need not.
                ScannerState::Between
            }
            b')' if self.depth > 0 => {
                self.depth -= 1;
                ScannerState::Ended
            }
            _ => return Err(Malformed::Byte(byte)),
        })
    }
}

/// Returns the length of a number or a string with its space; 0 if it is not whole, or not well-formed.
fn number_or_string_len(bytes: &[u8]) -> usize {
    let mut value = 0u64;
    // More digits could be more than a `u64` holds.
    for (at, &byte) in bytes.iter().take(19).enumerate() {
        match byte {
            b'0'..=b'9' => value = value * 10 + u64::from(byte - b'0'),
            b' ' => return at + 1,
            b':' => {
                let body = usize::try_from(value).unwrap_or(usize::MAX);
                let end = body.saturating_add(at + 1);
                return if bytes.get(end) == Some(&b' ') { end + 1 } else { 0 };
            }
            _ => return 0,
        }
    }
    0
}

/// Returns the length of a word with its space; 0 if it is not whole, or not well-formed.
fn word_len(bytes: &[u8]) -> usize {
    for (at, byte) in bytes.iter().take(MAX_WORD + 1).enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => {}
            b' ' => return at + 1,
            _ => return 0,
        }
    }
    0
}

fn ended(byte: u8) -> Result<ScannerState, Malformed> {
    if is_space(byte) {
        Ok(ScannerState::Between)
    } else {
        Err(Malformed::Byte(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svn::item::{Item, leading};

    fn scan_slowly(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let mut scanner = Scanner::default();
        for end in 0..bytes.len() {
            if let Some(len) = scanner.scan(&bytes[..end])? {
                return Ok(Some(len));
            }
        }
        scanner.scan(bytes)
    }

    #[test]
    fn an_item_ends_at_its_whitespace_however_it_arrives() {
        for text in [
            &b"( get-latest-rev ( ) ) "[..],
            b"12 ",
            b"3:( ( ",
            b"0: ",
            b"done\n",
            b" \n( a ( 1 2:xy ) ) ",
            b"( ) ",
            b"() ",
            b"(a (b ) (1:x 2 )\n() ( (3 ) ) ) ",
        ] {
            assert_eq!(Scanner::default().scan(text), Ok(Some(text.len())), "{text:?}");
            assert_eq!(scan_slowly(text), Ok(Some(text.len())), "{text:?}");
            let more = [text, b"( x"].concat();
            assert_eq!(Scanner::default().scan(&more), Ok(Some(text.len())));
            for end in 0..text.len() {
                assert_eq!(Scanner::default().scan(&text[..end]), Ok(None));
            }
        }
    }

    #[test]
    fn what_is_no_item_is_refused() {
        let deep = "( ".repeat(65);
        let cases: [(&[u8], Malformed); 10] = [
            (b") ", Malformed::Byte(b')')),
            (b"\t", Malformed::Byte(b'\t')),
            (b"12x", Malformed::Byte(b'x')),
            (b"2:abc", Malformed::Byte(b'c')),
            (b"wo_rd ", Malformed::Byte(b'_')),
            (b"18446744073709551616 ", Malformed::Overflow),
            (b"abcdefghijklmnopqrstuvwxy ", Malformed::LongWord),
            (deep.as_bytes(), Malformed::Depth),
            (b"( ))", Malformed::Byte(b')')),
            (b"(a)", Malformed::Byte(b')')),
        ];
        for (text, why) in cases {
            assert_eq!(Scanner::default().scan(text), Err(why), "{text:?}");
            assert_eq!(scan_slowly(text), Err(why), "{text:?}");
        }
        assert_eq!(
            Scanner::default().scan(b"abcdefghijklmnopqrstuvwx "),
            Ok(Some(25))
        );
        let deepest = "( ".repeat(64) + &") ".repeat(64);
        assert_eq!(Scanner::default().scan(deepest.as_bytes()), Ok(Some(256)));
    }

    proptest::proptest! {
        #[test]
        fn items_are_the_same_however_they_arrive(tokens in proptest::collection::vec(0..15usize, 0..40)) {
            const TOKENS: [&[u8]; 15] = [
                b"( ", b"( ", b"( ", b") ", b") ", b"7 ", b"12:a ( b ) c 1 ", b"word ", b"3:a", b" ", b"(\n", b"0: ", b"x\n", b"%", b"(",
            ];
            let bytes: Vec<u8> = tokens.iter().flat_map(|token| TOKENS[*token]).copied().collect();
            let scanned = Scanner::default().scan(&bytes);
            proptest::prop_assert_eq!(scanned, scan_slowly(&bytes));
            let is_list = bytes.get(leading(&bytes)) == Some(&b'(');
            let read = Item::read_list(&bytes, |list| -> Result<usize, Malformed> {
                let mut count = 0;
                while list.next_item()?.is_some() {
                    count += 1;
                }
                Ok(count)
            });
            match scanned {
                Ok(Some(len)) if is_list => {
                    let mut list = Item::of_message(&bytes[..len]).and_then(Item::list).expect("because it was scanned");
                    let mut count = 0;
                    while list.next_item().expect("because it was scanned").is_some() {
                        count += 1;
                    }
                    proptest::prop_assert_eq!(read, Some((count, len)));
                }
                _ => proptest::prop_assert_eq!(read, None),
            }
        }
    }

    #[test]
    fn an_announced_length_costs_nothing() {
        let mut scanner = Scanner::default();
        assert_eq!(scanner.scan(b"18446744073709551615:ab"), Ok(None));
        assert_eq!(scanner.wanted(), u64::MAX - 2);
    }
}
