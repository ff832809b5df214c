//! Items and how they are read.
//!
//! An item is a number, a string, a word or a list of items; each is followed by whitespace. Reading has two steps.
//! A [`Scanner`] is fed the growing receive buffer and says when a whole item is there; it resumes where it stopped,
//! so an item that arrives byte by byte costs the same as one that arrives at once. Then [`Item::parse`] and [`Tuple`]
//! walk over the finished bytes without copying: nothing a peer sends makes more memory than its own bytes.
//! A list that has arrived whole, as in a long response, is read in one step: [`Item::read_list`].
//!
//! Whatever is announced (a string of 2^60 bytes) costs nothing until it arrives; who owns the buffer bounds it.

use base::{Code, Error};

use super::scanner::Scanner;

/// How deep lists may nest.
pub const MAX_DEPTH: u32 = 64;

/// Longest word that is read, in characters.
pub const MAX_WORD: usize = 24;

/// Bytes that are no message of this protocol. Fatal for the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// A byte that cannot start or continue an item.
    Byte(u8),
    /// A number above 2^64-1.
    Overflow,
    /// A word of more than [`MAX_WORD`] characters.
    LongWord,
    /// Lists nested deeper than [`MAX_DEPTH`].
    Depth,
    /// A tuple ends before an element that must be there.
    Missing,
    /// An element of another kind than the tuple has at that place.
    Kind,
    /// A word that is none of those possible at that place.
    Word,
    /// Text that must be UTF-8 and is not.
    Text,
    /// A token that names nothing open, or something of the other kind.
    Token,
    /// A part of a text where no text was begun, or a second beginning.
    Order,
    /// A malformed checksum: the edit is refused, the connection continues.
    Checksum,
}

impl Malformed {
    /// The number under which it is logged.
    pub fn code(self) -> Code {
        Code::RA_SVN_MALFORMED_DATA
    }
}

impl From<Malformed> for Error {
    fn from(what: Malformed) -> Error {
        let detail = match what {
            Malformed::Byte(byte) => format!("Malformed network data: unexpected byte 0x{byte:02x}"),
            Malformed::Overflow => "Malformed network data: number is larger than maximum".to_owned(),
            Malformed::LongWord => "Malformed network data: word is too long".to_owned(),
            Malformed::Depth => "Malformed network data: items are nested too deeply".to_owned(),
            Malformed::Missing => "Malformed network data: an element is missing".to_owned(),
            Malformed::Kind => "Malformed network data: an element is of the wrong kind".to_owned(),
            Malformed::Word => "Malformed network data: unknown word".to_owned(),
            Malformed::Checksum => "Invalid character in hex checksum".to_owned(),
            Malformed::Text => "Malformed network data: text is not UTF-8".to_owned(),
            Malformed::Token => "Invalid file or dir token during edit".to_owned(),
            Malformed::Order => "Apply-textdelta already active, or not active".to_owned(),
        };
        Error::new(what.code(), detail)
    }
}

/// Bytes of whitespace before the first item.
pub(super) fn leading(buf: &[u8]) -> usize {
    buf.iter().take_while(|b| is_space(**b)).count()
}

pub(super) fn is_space(byte: u8) -> bool {
    byte == b' ' || byte == b'\n'
}

pub(super) fn push_digit(value: u64, digit: u8) -> Option<u64> {
    value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
}

/// One item, borrowed from the bytes of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A number.
    Number(u64),
    /// A string: any bytes.
    String(&'a [u8]),
    /// A word.
    Word(&'a str),
    /// A list; its elements are read on demand.
    List(Tuple<'a>),
}

impl<'a> Item<'a> {
    /// Reads the item that `bytes` (as measured by [`Scanner::scan`]) holds.
    ///
    /// # Errors
    /// If `bytes` are not a whole item.
    pub fn parse(bytes: &'a [u8]) -> Result<Item<'a>, Malformed> {
        Tuple { rest: bytes }.next_item()?.ok_or(Malformed::Missing)
    }

    /// As [`Item::parse`], for bytes that [`Scanner::scan`] has measured: the inside of a list is not checked a second time.
    ///
    /// # Errors
    /// If `bytes` are not a whole item.
    pub fn of_message(bytes: &'a [u8]) -> Result<Item<'a>, Malformed> {
        match &bytes[leading(bytes)..] {
            [b'(', rest @ .., b')', b' ' | b'\n'] => Ok(Item::List(Tuple { rest })),
            _ => Item::parse(bytes),
        }
    }

    /// Reads the list that `received` begins with, and returns what `read` made of its elements and the length of the list with its
    /// whitespace. It passes over the bytes once, where [`Scanner::scan`] finds the end before anything is read. Bytes behind the list
    /// are ignored; elements that `read` leaves too.
    ///
    /// Returns `None` if the list is not whole, if this is no list, and if `read` fails: then the scanner tells which it is.
    pub fn read_list<T, E>(
        received: &'a [u8],
        read: impl FnOnce(&mut Tuple<'a>) -> Result<T, E>,
    ) -> Option<(T, usize)> {
        let mut outer = Tuple { rest: received };
        let value = outer
            .within(|list| read(list).map_err(|_| Malformed::Kind))
            .ok()?;
        Some((value, received.len() - outer.rest.len()))
    }

    /// The list's elements.
    ///
    /// # Errors
    /// If this is no list.
    pub fn list(self) -> Result<Tuple<'a>, Malformed> {
        match self {
            Item::List(tuple) => Ok(tuple),
            _ => Err(Malformed::Kind),
        }
    }

    /// The string's bytes.
    ///
    /// # Errors
    /// If this is no string.
    pub fn string(self) -> Result<&'a [u8], Malformed> {
        match self {
            Item::String(bytes) => Ok(bytes),
            _ => Err(Malformed::Kind),
        }
    }
}

/// The elements of a list, taken one after the other as the shape of a message demands. Elements left over are
/// ignored: later versions of the protocol append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple<'a> {
    rest: &'a [u8],
}

impl<'a> Tuple<'a> {
    /// Reads the next element of any kind; `None` at the end.
    ///
    /// # Errors
    /// Only for bytes that no [`Scanner`] has passed.
    pub fn next_item(&mut self) -> Result<Option<Item<'a>>, Malformed> {
        let start = leading(self.rest);
        let bytes = &self.rest[start..];
        let first = match bytes.first() {
            // The end of a list that `within` reads.
            None | Some(b')') => {
                self.rest = bytes;
                return Ok(None);
            }
            Some(&first) => first,
        };
        let (item, rest) = match first {
            b'0'..=b'9' => number_or_string(bytes)?,
            b'(' => {
                let end = Scanner::default().scan(bytes)?.ok_or(Malformed::Missing)?;
                // The scanner has seen `(`, the elements, `)` and whitespace.
                let inner = bytes.get(1..end - 2).ok_or(Malformed::Missing)?;
                (Item::List(Tuple { rest: inner }), &bytes[end..])
            }
            _ => {
                let end = bytes
                    .iter()
                    .position(|b| is_space(*b))
                    .ok_or(Malformed::Missing)?;
                let word = std::str::from_utf8(&bytes[..end]).map_err(|_| Malformed::Byte(first))?;
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
                if !first.is_ascii_alphabetic() || word.len() > MAX_WORD || !bytes[..end].iter().all(is_word)
                {
                    return Err(Malformed::Byte(first));
                }
                (Item::Word(word), &bytes[end + 1..])
            }
        };
        self.rest = rest;
        Ok(Some(item))
    }

    /// True if no element is left: an optional tail is absent.
    pub fn is_empty(&self) -> bool {
        matches!(self.rest.get(leading(self.rest)), None | Some(b')'))
    }

    /// Reads a list with `read`, and passes the elements that it leaves. Unlike [`Tuple::list`], it does not look for the end of
    /// the list first.
    ///
    /// # Errors
    /// Those of `read`; if the next element is missing or of another kind.
    pub fn within<T>(
        &mut self,
        read: impl FnOnce(&mut Tuple<'a>) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        let [b'(', rest @ ..] = &self.rest[leading(self.rest)..] else {
            return Err(self.list().err().unwrap_or(Malformed::Kind));
        };
        let mut inner = Tuple { rest };
        let value = read(&mut inner)?;
        while inner.next_item()?.is_some() {}
        match inner.rest {
            [b')', b' ' | b'\n', after @ ..] => self.rest = after,
            _ => return Err(Malformed::Missing),
        }
        Ok(value)
    }

    fn need(&mut self) -> Result<Item<'a>, Malformed> {
        self.next_item()?.ok_or(Malformed::Missing)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// If the next element is missing or of another kind; so for all methods below.
    pub fn number(&mut self) -> Result<u64, Malformed> {
        match self.need()? {
            Item::Number(number) => Ok(number),
            _ => Err(Malformed::Kind),
        }
    }

    /// Reads a string.
    pub fn string(&mut self) -> Result<&'a [u8], Malformed> {
        self.need()?.string()
    }

    /// Reads a string that is UTF-8.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.string()?).map_err(|_| Malformed::Text)
    }

    /// Reads a word.
    pub fn word(&mut self) -> Result<&'a str, Malformed> {
        match self.need()? {
            Item::Word(word) => Ok(word),
            _ => Err(Malformed::Kind),
        }
    }

    /// Reads `true` or `false`.
    pub fn boolean(&mut self) -> Result<bool, Malformed> {
        match self.word()? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Malformed::Word),
        }
    }

    /// Reads a list.
    pub fn list(&mut self) -> Result<Tuple<'a>, Malformed> {
        self.need()?.list()
    }

    /// Reads a list that is empty or contains a number.
    pub fn maybe_number(&mut self) -> Result<Option<u64>, Malformed> {
        self.within(|bracket| match bracket.is_empty() {
            true => Ok(None),
            false => bracket.number().map(Some),
        })
    }

    /// Reads a list that is empty or contains a string.
    pub fn maybe_string(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        self.within(|bracket| match bracket.is_empty() {
            true => Ok(None),
            false => bracket.string().map(Some),
        })
    }

    /// Reads a list that is empty or contains UTF-8 text.
    pub fn maybe_text(&mut self) -> Result<Option<&'a str>, Malformed> {
        self.within(|bracket| match bracket.is_empty() {
            true => Ok(None),
            false => bracket.text().map(Some),
        })
    }
}

fn number_or_string(bytes: &[u8]) -> Result<(Item<'_>, &[u8]), Malformed> {
    let mut value = 0u64;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => value = push_digit(value, byte).ok_or(Malformed::Overflow)?,
            b':' => {
                let rest = &bytes[at + 1..];
                let len = usize::try_from(value).map_err(|_| Malformed::Missing)?;
                let (body, rest) = rest.split_at_checked(len).ok_or(Malformed::Missing)?;
                let rest = match rest.first() {
                    Some(b) if is_space(*b) => &rest[1..],
                    Some(b) => return Err(Malformed::Byte(*b)),
                    None => return Err(Malformed::Missing),
                };
                return Ok((Item::String(body), rest));
            }
            b' ' | b'\n' => return Ok((Item::Number(value), &bytes[at + 1..])),
            _ => return Err(Malformed::Byte(byte)),
        }
    }
    Err(Malformed::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuple_ignores_what_it_does_not_know() {
        let bytes = b"( 7 ( ) ( 2:hi ) true ( 9 more ) extra ( ) 1:x ) ";
        let mut tuple = Item::parse(bytes).and_then(Item::list).expect("a list");
        assert_eq!(tuple.number(), Ok(7));
        assert_eq!(tuple.maybe_number(), Ok(None));
        assert_eq!(tuple.maybe_string(), Ok(Some(&b"hi"[..])));
        assert_eq!(tuple.boolean(), Ok(true));
        assert_eq!(tuple.maybe_number(), Ok(Some(9)));
        assert!(!tuple.is_empty());
        assert_eq!(tuple.number(), Err(Malformed::Kind));
    }

    #[test]
    fn a_missing_element_is_not_a_wrong_one() {
        let mut tuple = Item::parse(b"( 1 ) ").and_then(Item::list).expect("a list");
        assert_eq!(tuple.word(), Err(Malformed::Kind));
        assert_eq!(tuple.word(), Err(Malformed::Missing));
        assert!(tuple.is_empty());
        assert_eq!(Item::parse(b"5:abc ").map(|_| ()), Err(Malformed::Missing));
    }
}
