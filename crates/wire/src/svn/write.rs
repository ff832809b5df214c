//! Appending items to a buffer.
//!
//! Every item is followed by exactly one space, also the outermost: that is how the incumbent writes, and some of its
//! readers depend on it.

/// Appends items to a buffer. Methods return the writer, so a message reads like its grammar.
#[derive(Debug)]
pub struct Writer<'a>(pub &'a mut Vec<u8>);

impl Writer<'_> {
    /// Starts a list.
    #[inline]
    pub fn open(&mut self) -> &mut Self {
        self.0.extend_from_slice(b"( ");
        self
    }

    /// Ends a list.
    #[inline]
    pub fn close(&mut self) -> &mut Self {
        self.0.extend_from_slice(b") ");
        self
    }

    /// An empty list.
    #[inline]
    pub fn none(&mut self) -> &mut Self {
        self.0.extend_from_slice(b"( ) ");
        self
    }

    /// A number.
    #[inline]
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.digits(number);
        self.0.push(b' ');
        self
    }

    /// A word. The caller gives words of the protocol only.
    #[inline]
    pub fn word(&mut self, word: &str) -> &mut Self {
        self.0.extend_from_slice(word.as_bytes());
        self.0.push(b' ');
        self
    }

    /// `true` or `false`.
    #[inline]
    pub fn boolean(&mut self, value: bool) -> &mut Self {
        self.word(if value { "true" } else { "false" })
    }

    /// A string of any bytes.
    pub fn string(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        self.string_head(bytes.len());
        self.0.extend_from_slice(bytes);
        self.0.push(b' ');
        self
    }

    /// The start of a string whose `len` bytes (and the space behind them) the caller appends.
    #[inline]
    pub fn string_head(&mut self, len: usize) -> &mut Self {
        self.digits(len as u64);
        self.0.push(b':');
        self
    }

    /// A bracket that is empty or holds a number.
    pub fn maybe_number(&mut self, number: Option<u64>) -> &mut Self {
        match number {
            Some(number) => self.open().number(number).close(),
            None => self.none(),
        }
    }

    /// A bracket that is empty or holds a string.
    pub fn maybe_string(&mut self, bytes: Option<impl AsRef<[u8]>>) -> &mut Self {
        match bytes {
            Some(bytes) => self.open().string(bytes).close(),
            None => self.none(),
        }
    }

    /// A property list: `( ( name value ) … )`.
    pub fn proplist<N: AsRef<str>, V: AsRef<[u8]>>(
        &mut self,
        props: impl IntoIterator<Item = (N, V)>,
    ) -> &mut Self {
        self.open();
        for (name, value) in props {
            self.prop(name.as_ref(), value);
        }
        self.close()
    }

    /// One element of a property list.
    pub fn prop(&mut self, name: &str, value: impl AsRef<[u8]>) -> &mut Self {
        self.open().string(name).string(value).close()
    }

    fn digits(&mut self, mut number: u64) {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.0.extend_from_slice(&digits[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_followed_by_one_space() {
        let mut out = Vec::new();
        Writer(&mut out)
            .open()
            .number(u64::MAX)
            .number(0)
            .word("done")
            .string(b"a b")
            .maybe_number(Some(10))
            .maybe_string(None::<&str>)
            .boolean(false)
            .close();
        assert_eq!(out, b"( 18446744073709551615 0 done 3:a b ( 10 ) ( ) false ) ");
    }
}
