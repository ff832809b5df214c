//! The encoding of XML documents. Everything else reads UTF-8.
//!
//! Taken are the encodings that Apache's parser takes: UTF-8, UTF-16 with or without a byte order mark, ISO-8859-1 and US-ASCII. A document
//! that declares another one, or not the one that it has, is malformed.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::xml::MalformedXml;

/// The encoding of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum XmlEncoding {
    /// US-ASCII is a part of it.
    Utf8,
    Latin1,
    Utf16Le,
    Utf16Be,
}

/// How many bytes of a document are searched for its declaration.
pub(crate) const HEAD: usize = 256;

/// Returns the document in UTF-8.
///
/// # Errors
/// If it has another encoding than the five, or not the one that it declares.
pub fn to_utf8(document: Vec<u8>) -> Result<Vec<u8>, MalformedXml> {
    match encoding_of(&document)? {
        XmlEncoding::Utf8 => Ok(document),
        XmlEncoding::Latin1 => Ok(document
            .iter()
            .map(|byte| char::from(*byte))
            .collect::<String>()
            .into()),
        XmlEncoding::Utf16Le => Ok(decode16(&document, u16::from_le_bytes)?.into()),
        XmlEncoding::Utf16Be => Ok(decode16(&document, u16::from_be_bytes)?.into()),
    }
}

/// True if a document that begins with these bytes (its declaration, or its first tag) is in UTF-8.
///
/// # Errors
/// As [`to_utf8`].
pub(crate) fn is_utf8(head: &[u8]) -> Result<bool, MalformedXml> {
    Ok(encoding_of(head)? == XmlEncoding::Utf8)
}

/// Finds the encoding by the first characters and the declaration.
fn encoding_of(document: &[u8]) -> Result<XmlEncoding, MalformedXml> {
    let found = match document {
        [0xfe, 0xff, ..] | [0, b'<', ..] => XmlEncoding::Utf16Be,
        [0xff, 0xfe, ..] | [b'<', 0, ..] => XmlEncoding::Utf16Le,
        _ => XmlEncoding::Utf8,
    };
    let head = &document[..document.len().min(HEAD)];
    let head = match found {
        XmlEncoding::Utf16Be => lossy16(head, u16::from_be_bytes),
        XmlEncoding::Utf16Le => lossy16(head, u16::from_le_bytes),
        XmlEncoding::Utf8 | XmlEncoding::Latin1 => String::from_utf8_lossy(head).into_owned(),
    };
    let Some(declared) = declared(&head) else {
        return Ok(found);
    };
    let declared = declared.to_ascii_lowercase();
    match (found, declared.as_str()) {
        (XmlEncoding::Utf8, "utf-8" | "us-ascii")
        | (XmlEncoding::Utf16Be, "utf-16" | "utf-16be")
        | (XmlEncoding::Utf16Le, "utf-16" | "utf-16le") => Ok(found),
        (XmlEncoding::Utf8, "iso-8859-1") => Ok(XmlEncoding::Latin1),
        _ => Err(MalformedXml::new(format!("the encoding '{declared}'"))),
    }
}

/// Returns the encoding that an XML declaration names.
fn declared(head: &str) -> Option<String> {
    let head = head.trim_start_matches('\u{feff}');
    let end = head.starts_with("<?xml").then(|| head.find("?>"))??;
    match Reader::from_str(&head[..end + 2]).read_event() {
        Ok(Event::Decl(declaration)) => Some(declaration.encoding()?.ok()?.into_owned()),
        _ => None,
    }
}

fn decode16(document: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, MalformedXml> {
    let (pairs, odd) = document.as_chunks::<2>();
    let text = String::from_utf16(&pairs.iter().map(|pair| unit(*pair)).collect::<Vec<_>>());
    match text {
        Ok(text) if odd.is_empty() => Ok(text),
        _ => Err(MalformedXml::new("not UTF-16")),
    }
}

fn lossy16(head: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let pairs = head.as_chunks::<2>().0;
    String::from_utf16_lossy(&pairs.iter().map(|pair| unit(*pair)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn the_encodings_of_apaches_parser_are_taken() {
        let plain = "<a>J\u{e9}\u{20ac}\u{1f600}</a>";
        let with = |name: &str| format!("<?xml version=\"1.0\" encoding='{name}'?>{plain}");
        for name in ["utf-16", "UTF-16LE"] {
            let text = with(name);
            assert_eq!(
                to_utf8(utf16(&text, u16::to_le_bytes)),
                Ok(text.clone().into()),
                "{name}"
            );
            let marked = format!("\u{feff}{text}");
            assert_eq!(
                to_utf8(utf16(&marked, u16::to_le_bytes)),
                Ok(marked.into()),
                "{name}"
            );
        }
        for text in [
            with("UTF-16"),
            with("utf-16be"),
            plain.to_owned(),
            format!("\u{feff}{plain}"),
        ] {
            assert_eq!(to_utf8(utf16(&text, u16::to_be_bytes)), Ok(text.into()));
        }
        for text in [with("UTF-8"), with("us-ascii"), plain.to_owned(), String::new()] {
            assert_eq!(to_utf8(text.clone().into()), Ok(text.into()));
        }
        let latin1 = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>J\xe9</a>".to_vec();
        let expected = "<?xml version='1.0' encoding='ISO-8859-1'?><a>J\u{e9}</a>";
        assert_eq!(to_utf8(latin1), Ok(expected.into()));
    }

    #[test]
    fn others_are_malformed() {
        let ascii = |name: &str| format!("<?xml version='1.0' encoding='{name}'?><a/>");
        for name in ["utf-16", "utf8", "latin1", "windows-1252", "x"] {
            assert!(to_utf8(ascii(name).into()).is_err(), "{name}");
        }
        for name in ["utf-8", "utf-16be", "iso-8859-1"] {
            assert!(to_utf8(utf16(&ascii(name), u16::to_le_bytes)).is_err(), "{name}");
        }
        let mut odd = utf16("<a/>", u16::to_le_bytes);
        odd.push(0);
        assert!(to_utf8(odd).is_err());
        assert!(to_utf8(vec![0xff, 0xfe, 0, 0xd8]).is_err(), "half of a pair");
    }
}
