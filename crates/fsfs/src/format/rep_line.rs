//! The rep line: the value of `text:` and `props:` in a node-revision. It says where a content is stored, and its
//! digests.
//!
//! `<rev> <item> <length> <expanded> <md5> [<sha1> <uniquifier>]`, or `-1` alone.
//!
//! | field | encoding | since format |
//! |---|---|---|
//! | `<rev>` | decimal; `-1` for the proto-revision file of the transaction | 1 |
//! | `<item>` | decimal; offset from the start of the revision (physical addressing) or item number (logical) | 1 |
//! | `<length>` | decimal; bytes of the body, without header and `ENDREP` | 1 |
//! | `<expanded>` | decimal; bytes of the content; 0 may mean `<length>`, see [`Rep::size`] | 1 |
//! | `<md5>` | 32 hexadecimal digits; zeros if unknown | 1 |
//! | `<sha1>` | 40 hexadecimal digits; since format 8 `-` if missing | 4 |
//! | `<uniquifier>` | `<txn>/_<number>`, number in base 36; since format 8 `-` if missing | 4 |
//!
//! Before format 8, a line has both of the last two fields or none. The line `-1` means that the content is in a file
//! of its own in the transaction.

use base::Revnum;
use base::checksum::{Md5, Sha1};

use super::decode_error;
use super::id::TxnId;
use base::number::{BadRev, parse_base36, parse_decimal, parse_rev, push_base36};

decode_error! {
    /// Why a rep line is not usable.
    RepLineError {
        Malformed => FS_CORRUPT, "Malformed text representation offset line in node-rev";
        Revision => REVNUM_PARSE_FAILURE, "Invalid revision number found parsing a representation's offset";
        Number => INCORRECT_PARAMS, "Could not convert a representation's offset or length into a number";
        Checksum => BAD_CHECKSUM_PARSE, "Invalid character in hex checksum";
        Txn => FS_MALFORMED_TXN_ID, "Malformed transaction ID in the uniquifier of a representation";
        Uniquifier => FS_CORRUPT, "Malformed uniquifier in node-rev";
    }
}

/// Where a content is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RepLocation {
    /// An item of a revision.
    Rev(Revnum, u64),
    /// The offset (physical addressing) or item number (logical) in the proto-revision file of the transaction.
    Txn(u64),
    /// In a `children` or `props` file of the transaction; the other fields of the line are unknown.
    Mutable,
}

/// The operation that set a content: two nodes may share one stored content and still have got it by different
/// operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Uniquifier {
    /// The transaction.
    pub(crate) txn: TxnId,
    /// The value of the node counter of the transaction.
    pub(crate) number: u64,
}

/// A rep line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rep {
    pub(crate) location: RepLocation,
    /// Bytes of the body, without header and `ENDREP`.
    pub(crate) length: u64,
    /// Bytes of the content as the line has it; 0 may mean `length`, see [`Rep::size`].
    pub(crate) expanded: u64,
    pub(crate) md5: Md5,
    pub(crate) sha1: Option<Sha1>,
    pub(crate) uniquifier: Option<Uniquifier>,
}

/// The length of a content according to its rep line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepSize {
    /// This many bytes.
    Known(u64),
    /// The length of the body if the representation is PLAIN, else 0: only its header says which.
    DependsOnHeader,
}

impl Rep {
    /// Reads a line (without its newline).
    pub(crate) fn parse(line: &[u8]) -> Result<Self, RepLineError> {
        if line == b"-1" {
            return Ok(Rep::MUTABLE);
        }
        let bad = RepLineError::Malformed;
        let mut fields = line.split(|&b| b == b' ');
        let rev = match fields.next().ok_or(bad)? {
            b"-1" => None,
            field => Some(parse_rev(field).map_err(|e| match e {
                BadRev::NoDigit => RepLineError::Revision,
                BadRev::Trailing => bad,
            })?),
        };
        let mut number = || {
            let number = parse_decimal(fields.next().ok_or(bad)?);
            number
                .filter(|&n| n <= i64::MAX as u64)
                .ok_or(RepLineError::Number)
        };
        let (item, length, expanded) = (number()?, number()?, number()?);
        let location = match rev {
            None => RepLocation::Txn(item),
            Some(rev) => RepLocation::Rev(rev, item),
        };
        // A digest of a wrong length makes the line malformed.
        let digest = |field: &[u8], length| match field.len() == length {
            true => RepLineError::Checksum,
            false => bad,
        };
        let field = fields.next().ok_or(bad)?;
        let md5 = Md5::parse_hex(field).ok_or_else(|| digest(field, 32))?;
        let (mut sha1, mut uniquifier) = (None, None);
        if let Some(field) = fields.next() {
            if field != b"-" {
                sha1 = Some(Sha1::parse_hex(field).ok_or_else(|| digest(field, 40))?);
            }
            let field = fields.next().ok_or(bad)?;
            if field != b"-" {
                uniquifier = Some(Uniquifier::parse(field)?);
            }
        }
        match fields.next() {
            None => Ok(Rep {
                location,
                length,
                expanded,
                md5,
                sha1,
                uniquifier,
            }),
            Some(_) => Err(bad),
        }
    }

    /// The line `-1`.
    pub(crate) const MUTABLE: Rep = Rep {
        location: RepLocation::Mutable,
        length: 0,
        expanded: 0,
        md5: Md5([0; 16]),
        sha1: None,
        uniquifier: None,
    };

    /// Appends the line, without newline. `placeholders` writes `-` for a missing SHA-1 or uniquifier (format 8);
    /// without it both are written or none.
    pub(crate) fn encode(&self, out: &mut String, placeholders: bool) {
        let (rev, item) = match self.location {
            RepLocation::Mutable => return out.push_str("-1"),
            RepLocation::Rev(rev, item) => (rev.to_string(), item),
            RepLocation::Txn(item) => ("-1".to_owned(), item),
        };
        out.push_str(&format!(
            "{rev} {item} {} {} {}",
            self.length, self.expanded, self.md5
        ));
        if !placeholders && (self.sha1.is_none() || self.uniquifier.is_none()) {
            return;
        }
        match self.sha1 {
            Some(sha1) => out.push_str(&format!(" {sha1}")),
            None => out.push_str(" -"),
        }
        match self.uniquifier {
            Some(uniquifier) => {
                out.push_str(&format!(" {}/_", uniquifier.txn));
                push_base36(out, uniquifier.number);
            }
            None => out.push_str(" -"),
        }
    }

    /// The length of the content. In old revisions, an expanded size of 0 may mean "the length of the body". The
    /// digests, where known, tell that from an empty content.
    pub(crate) fn size(&self) -> RepSize {
        if self.expanded != 0 || self.length == 0 {
            return RepSize::Known(self.expanded);
        }
        if !self.md5.is_unknown() {
            return RepSize::Known(if self.md5 == Md5::EMPTY { 0 } else { self.length });
        }
        match self.sha1 {
            Some(sha1) if sha1 == Sha1::of(b"") => RepSize::Known(0),
            Some(_) => RepSize::Known(self.length),
            // The body is a svndiff header without any window.
            None if self.length == 4 => RepSize::Known(0),
            None => RepSize::DependsOnHeader,
        }
    }
}

impl Uniquifier {
    fn parse(text: &[u8]) -> Result<Self, RepLineError> {
        let bad = RepLineError::Uniquifier;
        let slash = text.iter().position(|&b| b == b'/').ok_or(bad)?;
        let number = text[slash + 1..].strip_prefix(b"_").ok_or(bad)?;
        Ok(Uniquifier {
            txn: TxnId::parse(&text[..slash]).map_err(|_| RepLineError::Txn)?,
            number: parse_base36(number).ok_or(bad)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: &str = "0 0 4 4 2d2977d1c96f487abe4a1e202dd03b4e";
    const SEVEN: &str =
        "1 3 26 14 746308829575e17c3331bbcb00c0898b 09fac8dbfd27bd9b4d23a00eb648aa751789536d 0-0/_4";
    const DASHES: &str = "1 8 70 67 10bf5653e01c7c0ccddc295e7ddda3c6 - -";
    const PROPS: &str = "2 8 41 29 cc0b088b5c9e1af40a6ddbe64f0264e3 - 1-1/_7";
    const IN_TXN: &str =
        "-1 3 53 6244 8d2b33a89f0bc051f7e7439940a6d8bf f3da7daeb50a3040e118d2540f9d71440e770fc5 8-8/_3";

    #[test]
    fn every_form_prints_as_it_was_read() {
        for (line, placeholders) in [
            (FIVE, false),
            (SEVEN, false),
            (SEVEN, true),
            (DASHES, true),
            (PROPS, true),
            (IN_TXN, true),
            ("-1", true),
        ] {
            let rep = Rep::parse(line.as_bytes()).expect(line);
            let mut out = String::new();
            rep.encode(&mut out, placeholders);
            assert_eq!(out, line);
        }
    }

    #[test]
    fn before_format_8_sha1_and_uniquifier_come_together_or_not_at_all() {
        let rep = Rep::parse(PROPS.as_bytes()).expect("a real line");
        let mut out = String::new();
        rep.encode(&mut out, false);
        assert_eq!(out, "2 8 41 29 cc0b088b5c9e1af40a6ddbe64f0264e3");
    }

    #[test]
    fn malformed_lines_are_refused() {
        for bad in [
            "".to_owned(),
            "-2 0 4 4 2d2977d1c96f487abe4a1e202dd03b4e".to_owned(),
            "0 0 4 4".to_owned(),
            "0 0 4 4 2d29".to_owned(),
            "0 -1 4 4 2d2977d1c96f487abe4a1e202dd03b4e".to_owned(),
            format!("{FIVE} -"),
            format!("{DASHES} x"),
            format!("{FIVE} - 1-1/7"),
            "0 0 99999999999999999999 4 2d2977d1c96f487abe4a1e202dd03b4e".to_owned(),
        ] {
            assert!(Rep::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn errors_have_the_codes_of_the_incumbent() {
        let rest = "647 639 7b85bb2d0dafab18492fec6c55a84a04";
        for (start, error) in [
            ("x 0", RepLineError::Revision),
            ("2x 0", RepLineError::Malformed),
            // Damage to the space behind the revision.
            ("2x0", RepLineError::Malformed),
            ("2 x", RepLineError::Number),
        ] {
            assert_eq!(
                Rep::parse(format!("{start} {rest}").as_bytes()),
                Err(error),
                "{start}"
            );
        }
    }

    #[test]
    fn an_expanded_size_of_zero_may_mean_the_stored_length() {
        let size = |text: &str| Rep::parse(text.as_bytes()).expect("a line").size();
        let unknown = "0".repeat(32);
        assert_eq!(
            size("1 0 77 0 2d2977d1c96f487abe4a1e202dd03b4e"),
            RepSize::Known(77)
        );
        assert_eq!(
            size("1 0 4 0 d41d8cd98f00b204e9800998ecf8427e"),
            RepSize::Known(0)
        );
        assert_eq!(size(&format!("1 0 4 0 {unknown}")), RepSize::Known(0));
        assert_eq!(size(&format!("1 0 9 0 {unknown}")), RepSize::DependsOnHeader);
        assert_eq!(size(FIVE), RepSize::Known(4));
    }
}
