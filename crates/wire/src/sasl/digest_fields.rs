//! The tokens of DIGEST-MD5 (RFC 2831, section 7.1): fields `name=value` with commas between them, values in quotes or not.

/// The fields of a token, in their order. Of two with one name the later one counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    /// Reads a token. A field without `=`, or with an open quote, ends it.
    pub(super) fn parse(token: &[u8]) -> Fields {
        let mut fields = Vec::new();
        let mut rest = token;
        loop {
            rest = rest.trim_ascii_start();
            while let Some(more) = rest.strip_prefix(b",") {
                rest = more.trim_ascii_start();
            }
            let Some(equals) = rest.iter().position(|letter| *letter == b'=') else {
                break;
            };
            let name = String::from_utf8_lossy(rest[..equals].trim_ascii()).to_ascii_lowercase();
            let Some((value, behind)) = value(rest[equals + 1..].trim_ascii_start()) else {
                break;
            };
            fields.push((name, value));
            rest = behind;
        }
        Fields(fields)
    }

    /// Returns the value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().rev().find(|field| field.0 == name);
        found.map(|(_, value)| value.as_slice())
    }

    /// Returns all values of a field that may be repeated.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let fields = self.0.iter().filter(move |field| field.0 == name);
        fields.map(|(_, value)| value.as_slice())
    }
}

/// Reads a value; returns it and what is behind it.
fn value(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let Some(mut quoted) = text.strip_prefix(b"\"") else {
        let end = text.iter().position(|letter| *letter == b',');
        let (value, rest) = text.split_at(end.unwrap_or(text.len()));
        return Some((value.trim_ascii_end().to_vec(), rest));
    };
    let mut value = Vec::new();
    loop {
        match quoted {
            [b'"', rest @ ..] => return Some((value, rest)),
            [b'\\', letter, rest @ ..] | [letter, rest @ ..] => {
                value.push(*letter);
                quoted = rest;
            }
            [] => return None,
        }
    }
}

/// Returns a value in quotes.
pub(super) fn quoted(value: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for letter in value {
        if matches!(letter, b'"' | b'\\') {
            text.push(b'\\');
        }
        text.push(*letter);
    }
    text.push(b'"');
    text
}

/// Returns the words of a list in a value, such as `auth,auth-int`.
pub(super) fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|letter| matches!(letter, b',' | b' ' | b'\t'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_token_of_the_incumbent() {
        let token = br#"nonce="UNV4l=",realm="he\"re",qop="auth,auth-int",maxbuf=16384,charset=utf-8 , algorithm=md5-sess"#;
        let fields = Fields::parse(token);
        let get = |name| fields.get(name).map(String::from_utf8_lossy);
        assert_eq!(get("nonce").as_deref(), Some("UNV4l="));
        assert_eq!(get("realm").as_deref(), Some("he\"re"));
        assert_eq!(get("charset").as_deref(), Some("utf-8"));
        assert_eq!(get("algorithm").as_deref(), Some("md5-sess"));
        assert_eq!(get("cipher"), None);
        let qop = fields.get("qop").expect("it is there");
        assert_eq!(words(qop).collect::<Vec<_>>(), [&b"auth"[..], b"auth-int"]);
    }

    proptest! {
        #[test]
        fn quoted_values_are_read(value: Vec<u8>) {
            let token = [b"a=1,x=", &quoted(&value)[..], b",b=2"].concat();
            let fields = Fields::parse(&token);
            prop_assert_eq!(fields.get("x"), Some(&value[..]));
            prop_assert_eq!(fields.get("b"), Some(&b"2"[..]));
        }

        #[test]
        fn any_bytes_are_taken(token: Vec<u8>) {
            prop_assert!(Fields::parse(&token).0.len() <= token.len());
        }
    }
}
