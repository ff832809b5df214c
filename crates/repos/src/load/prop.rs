//! Properties of the stream: which are refused, and mergeinfo, whose revisions and paths are mapped.

use std::borrow::Cow;

use base::mergeinfo::Source;
use base::{Code, Mergeinfo, RelPath, Result, props, with_line_feeds};

use crate::dumpfile::Renumbering;
use crate::load::commits::EventQueue;
use crate::load::{LoadEvent, LoadOptions};
use crate::props_rules;

/// Refuses properties that clients may not set; the error has advice.
fn validate(name: &str, value: &[u8]) -> Result<()> {
    props_rules::validate(name, Some(value)).map_err(|error| {
        if error.has(Code::IO_INCONSISTENT_EOL) || error.has(Code::BAD_PROPERTY_VALUE_EOL) {
            let advice = "A property with invalid line ending found in dumpstream; consider using --normalize-props while loading.";
            return error.wrap(Code::BAD_PROPERTY_VALUE, advice);
        }
        match error.code() {
            Code::BAD_PROPERTY_VALUE => {
                let advice = "Invalid property value found in dumpstream; consider repairing the source or using --bypass-prop-validation while loading.";
                error.wrap(Code::BAD_PROPERTY_VALUE, advice)
            }
            _ => error,
        }
    })
}

/// Returns the value of a node's property as it is stored in this repository.
///
/// # Errors
/// `MERGEINFO_PARSE_ERROR` for mergeinfo that cannot be read, unless properties are not validated; those of
/// [`validate`].
pub(super) fn translate(
    name: &str,
    value: Vec<u8>,
    options: &LoadOptions,
    numbers: &Renumbering,
    events: &mut EventQueue<'_>,
) -> Result<Vec<u8>> {
    let value = match name == props::MERGEINFO {
        true => mergeinfo(value, options, numbers, events)?,
        false => value,
    };
    as_stored(name, value, options)
}

/// Returns the value of a property, normalised and checked as the options say.
///
/// # Errors
/// Those of [`validate`].
pub(super) fn as_stored(name: &str, value: Vec<u8>, options: &LoadOptions) -> Result<Vec<u8>> {
    let value = match options.normalize_props {
        true => props_rules::normalize(name, &value).into_owned(),
        false => value,
    };
    if options.validate_props {
        validate(name, &value)?;
    }
    Ok(value)
}

fn mergeinfo(
    value: Vec<u8>,
    options: &LoadOptions,
    numbers: &Renumbering,
    events: &mut EventQueue<'_>,
) -> Result<Vec<u8>> {
    // The incumbent reads it as a C string.
    let end = memchr::memchr(0, &value).unwrap_or(value.len());
    let cleaned = with_line_feeds(&value[..end]);
    if matches!(cleaned, Ok(Cow::Owned(_))) {
        events.tell(LoadEvent::NormalizedMergeinfo)?;
    }
    let parsed = cleaned.and_then(|cleaned| Mergeinfo::parse(to_text(&cleaned).as_bytes()));
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) if options.validate_props => {
            return Err(error.context("Invalid svn:mergeinfo value"));
        }
        Err(_) => {
            events.tell(LoadEvent::Warning(
                BAD_MERGEINFO,
                "Invalid svn:mergeinfo value; leaving unchanged",
            ))?;
            return Ok(value);
        }
    };
    let mut translated = Mergeinfo::new();
    for (source, ranges) in parsed.iter() {
        let ranges = numbers.ranges(ranges);
        if !ranges.is_empty() {
            translated.add(below(source, &options.parent_dir), &ranges);
        }
    }
    Ok(match std::str::from_utf8(&value) {
        Ok(_) => translated.to_string().into_bytes(),
        Err(_) => from_text(&translated.to_string()),
    })
}

/// Returns a text for the bytes in which each byte that is not UTF-8 is a character of its own: mergeinfo is parsed
/// as text, and the incumbent renumbers it whatever bytes its paths have.
fn to_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(2 * bytes.len());
    let escaped = |byte: &u8| char::from_u32(ESCAPED + u32::from(*byte));
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match u32::from(c) < ESCAPED {
                true => text.push(c),
                // It would be decoded as an escaped byte.
                false => text.extend(c.encode_utf8(&mut [0; 4]).as_bytes().iter().filter_map(escaped)),
            }
        }
        text.extend(chunk.invalid().iter().filter_map(escaped));
    }
    Cow::Owned(text)
}

/// Returns the bytes for a text of [`to_text`].
fn from_text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(u32::from(c).wrapping_sub(ESCAPED)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

fn below(source: &Source, parent: &RelPath) -> Source {
    match parent.is_empty() {
        true => source.clone(),
        false => Source::new(&format!("{parent}/{source}")),
    }
}

/// The number of the warning about mergeinfo that does not parse.
const BAD_MERGEINFO: u16 = 5;

/// The character for byte 0: private use, in the last plane.
const ESCAPED: u32 = 0x10_ff00;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_as_text() {
        let both = "\u{10ff41}\u{10ffff}".as_bytes();
        for bytes in [
            &b"/a:1"[..],
            b"/\xff\xc3\xa4\x80:1",
            b"\xf4\x8f\xbf",
            b"",
            &[both, b"\xff"].concat(),
        ] {
            assert_eq!(from_text(&to_text(bytes)), bytes);
        }
        assert!(matches!(to_text("/ä:1".as_bytes()), Cow::Borrowed(_)));
    }
}
