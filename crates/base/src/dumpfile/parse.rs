//! Parses header lines to values.

use crate::checksum::{Md5, Sha1};
use crate::dumpfile::block::HeaderBlock;
use crate::dumpfile::headers::{NodeAction, NodeHeaders, name};
use crate::{Code, Error, NodeKind, Result, Revnum, shown_bytes as shown};

/// The header lines of a record. Of lines with the same name only the last one counts, as in the incumbent.
#[derive(Default)]
pub(super) struct Headers(Vec<(&'static str, Vec<u8>)>);

impl Headers {
    /// Parses one header; unknown ones are ignored.
    pub fn set(&mut self, header: &[u8], value: &[u8]) {
        let Some(name) = name::ALL.iter().find(|name| name.as_bytes() == header) else {
            return;
        };
        // The incumbent's headers are C strings.
        let value = value.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// The values of the headers.
    ///
    /// # Errors
    /// As [`DumpReader::next_record`](super::DumpReader::next_record).
    pub fn parse(self) -> Result<RawHeaders> {
        let mut raw = RawHeaders::default();
        for (name, value) in &self.0 {
            raw.set(name, value)?;
        }
        Ok(raw)
    }
}

/// Headers of a record whose kind is not known yet.
#[derive(Default)]
pub(super) struct RawHeaders {
    /// As it is written.
    pub version: Option<Vec<u8>>,
    pub uuid: Option<String>,
    pub revision: Option<Vec<u8>>,
    pub has_path: bool,
    copyfrom_rev: Option<i64>,
    copyfrom_path: Option<String>,
    pub node: NodeHeaders<'static>,
}

impl RawHeaders {
    fn set(&mut self, header: &str, value: &[u8]) -> Result<()> {
        let node = &mut self.node;
        match header {
            name::VERSION => self.version = Some(value.to_vec()),
            name::UUID => self.uuid = Some(shown(value)),
            name::REVISION => self.revision = Some(value.to_vec()),
            name::PATH => {
                self.has_path = true;
                node.path = shown(value).into();
                node.is_path_bad = std::str::from_utf8(value).is_err();
            }
            name::KIND => {
                let kind = NodeKind::from_word(value);
                node.kind = kind.filter(|kind| matches!(kind, NodeKind::File | NodeKind::Dir));
            }
            name::ACTION => node.action = NodeAction::from_word(value),
            name::COPYFROM_REV => self.copyfrom_rev = Some(leading_number(value).unwrap_or(0)),
            name::COPYFROM_PATH => {
                self.copyfrom_path = Some(shown(value));
                node.is_source_bad = std::str::from_utf8(value).is_err();
            }
            name::COPY_SOURCE_MD5 => node.copy_source_md5 = md5(value, &mut node.has_bad_md5),
            name::COPY_SOURCE_SHA1 => node.copy_source_sha1 = Sha1::parse_hex(value),
            name::PROP_DELTA => node.prop_delta = value == b"true",
            name::TEXT_DELTA => node.text_delta = value == b"true",
            name::DELTA_BASE_MD5 => node.delta_base_md5 = md5(value, &mut node.has_bad_md5),
            name::DELTA_BASE_SHA1 => node.delta_base_sha1 = Sha1::parse_hex(value),
            name::CONTENT_MD5 => node.content_md5 = md5(value, &mut node.has_bad_md5),
            name::CONTENT_SHA1 => node.content_sha1 = Sha1::parse_hex(value),
            name::PROP_LENGTH => node.prop_length = Some(length(value)),
            name::TEXT_LENGTH => node.text_length = Some(length(value)),
            name::CONTENT_LENGTH => node.content_length = Some(length(value)),
            _ => {}
        }
        if let Some(path) = &self.copyfrom_path {
            node.copyfrom = Some((self.copyfrom_rev.unwrap_or(NO_REVISION), path.clone().into()));
        }
        Ok(())
    }
}

/// The headers that decide how the content of a record is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContentLengths {
    pub props: Option<u64>,
    pub text: Option<u64>,
    pub total: Option<u64>,
    /// The node is a file.
    pub is_file: bool,
}

impl ContentLengths {
    pub fn of_node(node: &NodeHeaders<'_>) -> Self {
        ContentLengths {
            props: node.prop_length,
            text: node.text_length,
            total: node.content_length,
            is_file: node.kind == Some(NodeKind::File),
        }
    }

    pub fn of_block(block: &HeaderBlock) -> Self {
        let number = |name| block.get(name).map(length);
        ContentLengths {
            props: number(name::PROP_LENGTH),
            text: number(name::TEXT_LENGTH),
            total: number(name::CONTENT_LENGTH),
            is_file: block.get(name::KIND) == Some(b"file"),
        }
    }
}

/// Parses the version of the format. White space before it is skipped.
pub(super) fn supported_version(value: &[u8]) -> Result<i32> {
    let version = i32::try_from(strict_number(value, i32::MIN.into(), i32::MAX.into())?);
    match version {
        Ok(version) if version <= NEWEST => Ok(version),
        Ok(version) => Err(Error::new(
            Code::STREAM_MALFORMED_DATA,
            format!("Unsupported dumpfile version: {version}"),
        )),
        Err(_) => Err(not_a_number(value)),
    }
}

/// Parses the length of a property's name or value: the whole line, strictly.
pub(super) fn strict_length(value: &[u8]) -> Result<u64> {
    let number = strict_number(value, 0, u64::MAX.into())?;
    u64::try_from(number).map_err(|_| not_a_number(value))
}

/// Parses a number of which nothing may be left over.
fn strict_number(value: &[u8], least: i128, most: i128) -> Result<i128> {
    let text = value.trim_ascii_start();
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let unsigned = digits.strip_prefix(b"-").unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.iter().all(u8::is_ascii_digit) {
        return Err(not_a_number(value));
    }
    let parsed = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok());
    parsed
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| {
            let shown = shown(value);
            let message = format!("Number '{shown}' is out of range '[{least}, {most}]'");
            Error::new(Code::INCORRECT_PARAMS, message)
        })
}

/// Parses the length in a header, as C does: the text after the digits is ignored, no digits are 0, and a negative
/// number is a huge one.
fn length(value: &[u8]) -> u64 {
    leading_number(value).unwrap_or(0) as u64
}

/// Parses the number with which a text begins; limited to 64 bits. `None` if there are no digits.
pub fn leading_number(value: &[u8]) -> Option<i64> {
    let text = value.trim_ascii_start();
    let (sign, digits) = match text.first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = digits[..count].iter().fold(0i64, |number, digit| {
        let digit = i64::from(digit - b'0');
        number.saturating_mul(10).saturating_add(digit)
    });
    (count > 0).then_some(sign * number)
}

/// Parses the number of a revision. The incumbent reads any other text as 0; here that is an error.
pub(super) fn revision(value: &[u8]) -> Result<Revnum> {
    let number = leading_number(value).and_then(|number| u64::try_from(number).ok());
    number.map(Revnum).ok_or_else(|| not_a_number(value))
}

fn not_a_number(value: &[u8]) -> Error {
    let shown = shown(value);
    Error::new(
        Code::INCORRECT_PARAMS,
        format!("Could not convert '{shown}' into a number"),
    )
}

/// Cuts a line at its first NUL, as the incumbent shows it.
pub(super) fn no_colon(line: &[u8]) -> Error {
    let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let shown = start_of(line);
    Error::new(
        Code::STREAM_MALFORMED_DATA,
        format!("Dump stream contains a malformed header (with no ':') at '{shown}'"),
    )
}

/// A header may end directly after its colon.
pub(super) fn no_value(name: &[u8]) -> Error {
    let shown = start_of(name);
    Error::new(
        Code::STREAM_MALFORMED_DATA,
        format!("Dump stream contains a malformed header (with no value) at '{shown}'"),
    )
}

/// Returns the beginning of a value, for messages.
fn start_of(value: &[u8]) -> String {
    shown(&value[..value.len().min(SHOWN)])
}

/// Parses the digest with which a text begins. Zeros stand for none.
fn md5(value: &[u8], is_bad: &mut bool) -> Option<Md5> {
    let md5 = value.get(..MD5_DIGITS).and_then(Md5::parse_hex);
    *is_bad |= md5.is_none();
    md5.filter(|md5| md5.0 != [0; 16])
}

/// The revision of a copy whose record does not name one.
const NO_REVISION: i64 = -1;
/// The newest version of the format.
const NEWEST: i32 = 3;
/// Hexadecimal digits of an MD5 digest.
const MD5_DIGITS: usize = 32;
/// How much of a bad line an error shows, in bytes.
const SHOWN: usize = 20;
