//! Bodies of `POST`: a skel that requests a new transaction.
//!
//! A skel is a list in parentheses whose items are lists or atoms. An atom is a word that starts with a letter, or bytes of
//! any kind with their count before them. There is nothing else to it, so a parser of the two requests that exist needs no tree.

use base::Props;

/// Content type of such bodies.
pub const SKEL_TYPE: &str = "application/vnd.svn-skel";

/// The request of a `POST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostRequest {
    /// A transaction on the youngest revision.
    CreateTxn,
    /// The same, with these properties.
    CreateTxnWithProps(Props),
}

impl PostRequest {
    /// Parses a body; `None` if it is unknown. What follows in the list, and behind it, is ignored.
    pub fn parse(body: &[u8]) -> Option<PostRequest> {
        if !is_skel(body) {
            return None;
        }
        let mut skel = SkelParser(body);
        skel.open()?;
        Some(match skel.atom()? {
            b"create-txn" => PostRequest::CreateTxn,
            b"create-txn-with-props" => {
                skel.open()?;
                let mut list = Props::new();
                while !skel.close() {
                    // No client could read a property whose name is not UTF-8 or has a NUL.
                    let name = std::str::from_utf8(skel.atom()?).ok()?;
                    if name.contains('\0') {
                        return None;
                    }
                    list.insert(name.to_owned(), skel.atom()?.to_vec());
                }
                PostRequest::CreateTxnWithProps(list)
            }
            _ => return None,
        })
    }
}

/// True if a body begins with a list, whatever it contains.
pub fn is_skel(body: &[u8]) -> bool {
    let mut skel = SkelParser(body);
    let mut depth = 0_usize;
    loop {
        let is_item = match (skel.open(), depth) {
            (Some(()), _) => {
                depth += 1;
                true
            }
            (None, 0) => return false,
            (None, _) if skel.close() => {
                depth -= 1;
                true
            }
            (None, _) => skel.atom().is_some(),
        };
        if !is_item {
            return false;
        }
        if depth == 0 {
            return true;
        }
    }
}

/// The rest of the text.
struct SkelParser<'a>(&'a [u8]);

impl<'a> SkelParser<'a> {
    fn skip_space(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    fn token(&mut self, token: u8) -> bool {
        self.skip_space();
        match self.0.split_first() {
            Some((first, rest)) if *first == token => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn open(&mut self) -> Option<()> {
        self.token(b'(').then_some(())
    }

    fn close(&mut self) -> bool {
        self.token(b')')
    }

    fn atom(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        match self.0.first()? {
            b'0'..=b'9' => self.counted(),
            b'a'..=b'z' | b'A'..=b'Z' => {
                let ends = |b: &u8| b.is_ascii_whitespace() || b"()[]".contains(b);
                let len = self.0.iter().position(ends).unwrap_or(self.0.len());
                self.take(len)
            }
            _ => None,
        }
    }

    /// Decimal count, one white space, as many bytes.
    fn counted(&mut self) -> Option<&'a [u8]> {
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let count: usize = std::str::from_utf8(self.take(digits)?).ok()?.parse().ok()?;
        let space = self.take(1)?;
        if !space[0].is_ascii_whitespace() {
            return None;
        }
        self.take(count)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As svn 1.14.2 sends it.
    #[test]
    fn a_transaction_with_properties() {
        let body = b"(create-txn-with-props (svn:txn-client-compat-version 6 1.14.2 svn:txn-user-agent 43 SVN/1.14.2 \
                     (x86_64-pc-linux-gnu) serf/1.3.9 svn:log 12 mixed commit))";
        let Some(PostRequest::CreateTxnWithProps(list)) = PostRequest::parse(body) else {
            panic!("not understood");
        };
        assert_eq!(list.len(), 3);
        assert_eq!(list["svn:log"], b"mixed commit");
        assert_eq!(
            list["svn:txn-user-agent"],
            b"SVN/1.14.2 (x86_64-pc-linux-gnu) serf/1.3.9"
        );
        assert_eq!(
            PostRequest::parse(b"( create-txn )"),
            Some(PostRequest::CreateTxn)
        );
        assert_eq!(
            PostRequest::parse(b"(create-txn-with-props ())"),
            Some(PostRequest::CreateTxnWithProps(Props::new()))
        );
    }

    #[test]
    fn what_follows_is_ignored() {
        for body in [
            &b"(create-txn) x"[..],
            b"( create-txn extra )",
            b"(create-txn (a b))(",
            b"(create-txn)\0",
        ] {
            let parsed = PostRequest::parse(body);
            assert_eq!(parsed, Some(PostRequest::CreateTxn), "{}", body.escape_ascii());
        }
        for body in [
            &b"(create-txn-with-props () ())"[..],
            b"(create-txn-with-props () x) x",
        ] {
            let parsed = PostRequest::parse(body);
            assert_eq!(parsed, Some(PostRequest::CreateTxnWithProps(Props::new())));
        }
    }

    #[test]
    fn what_is_not_understood() {
        for bad in [
            &b""[..],
            b"(",
            b"()",
            b"create-txn",
            b"(create-txn",
            b"(create-txn-with-props)",
            b"(create-txn-with-props (a))",
            b"(create-txn-with-props (a 9 x))",
            b"(create-txn-with-props (a 1x))",
            b"(create-txn-with-props (a 99999999999999999999 x))",
            b"(create-txn-with-props (a (b)))",
            b"(create-txn-with-props (3 a\0b 1 v))",
            b"(create-txn-with-props (1 \xff 1 v))",
            b"(drop-txn)",
        ] {
            assert_eq!(PostRequest::parse(bad), None, "{}", bad.escape_ascii());
        }
        assert!(is_skel(b"(create-txn-with-props (a (b 1 ))) )"));
        for bad in [&b""[..], b"a", b"(a", b"(1a)", b"(\xff)"] {
            assert!(!is_skel(bad), "{}", bad.escape_ascii());
        }
    }
}
