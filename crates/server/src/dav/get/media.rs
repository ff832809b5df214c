//! Content types, and the header lines that keep browsers from running what they get.
//!
//! A repository contains whatever its writers have put there, and everything on this server has the same origin. So nothing may run:
//! browsers must not guess types, and content that could contain a script is shown in a sandbox.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use crate::config::Location;
use crate::http::ResponseWriter;

/// Returns the type of a file: its `svn:mime-type`; without one, for clients other than Subversion's, the type that its name suggests.
pub(in crate::dav) fn of_file(mime_type: Option<&[u8]>, name: &str, svn_client: bool) -> Cow<'static, str> {
    match mime_type {
        Some(stored) => match std::str::from_utf8(stored).ok().map(str::trim).filter(is_valid) {
            Some(stored) => Cow::Owned(stored.to_owned()),
            None => PLAIN.into(),
        },
        None if svn_client => PLAIN.into(),
        None => by_name(name).unwrap_or(PLAIN).into(),
    }
}

/// Returns the type of a listing.
pub(in crate::dav) fn of_index(location: &Location) -> &'static str {
    match location.index_xslt {
        Some(_) => "text/xml",
        None => "text/html; charset=UTF-8",
    }
}

/// Forbids browsers to guess the type, and to run scripts.
pub(super) fn keep_harmless(media: &str, reply: &mut ResponseWriter) {
    reply.head.header("x-content-type-options", "nosniff");
    if !is_harmless(media) {
        reply
            .head
            .header("content-security-policy", "sandbox; default-src 'none'");
    }
}

const PLAIN: &str = "text/plain";

/// Returns whether text is `type/subtype`, perhaps with parameters, of characters that a header may have.
fn is_valid(mime: &&str) -> bool {
    let bare = mime.split([';', ' ']).next().unwrap_or_default();
    let token = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&b))
    };
    bare.split_once('/')
        .is_some_and(|(kind, sub)| token(kind) && token(sub))
        && mime.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
}

/// Returns whether browsers find no scripts in content of this type.
fn is_harmless(media: &str) -> bool {
    let bare = media
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match bare.split_once('/') {
        Some(("image", sub)) => !sub.contains("xml"),
        Some(("audio" | "video" | "font", _)) => true,
        _ => matches!(
            bare.as_str(),
            "text/plain"
                | "text/css"
                | "text/csv"
                | "application/octet-stream"
                | "application/pdf"
                | "application/json"
                | "application/zip"
                | "application/gzip"
        ),
    }
}

/// The types of extensions in the system's table, which Apache reads too. It is read once.
static SYSTEM: LazyLock<HashMap<String, String>> = LazyLock::new(|| read_table(Path::new("/etc/mime.types")));

/// Reads a table of types. One that cannot be read is empty.
fn read_table(path: &Path) -> HashMap<String, String> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_TABLE).read_to_end(&mut text));
    match read {
        Ok(_) => parse_table(&String::from_utf8_lossy(&text)),
        Err(_) => HashMap::new(),
    }
}

/// Parses lines of a type and its extensions. Of two types of an extension the later one counts.
fn parse_table(text: &str) -> HashMap<String, String> {
    let mut types = HashMap::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let Some(media) = words.next().filter(is_valid) else {
            continue;
        };
        types.extend(words.map(|extension| (extension.to_ascii_lowercase(), media.to_owned())));
    }
    types
}

/// More of the system's table is not read, bytes.
const LONGEST_TABLE: u64 = 1 << 20;

/// Returns the type that a file name suggests, by its last known extension. The dot at the beginning of a name begins no extension.
pub(in crate::dav) fn by_name(name: &str) -> Option<&'static str> {
    let mut extensions = name.trim_start_matches('.').rsplit('.');
    // The first component of the name is no extension.
    let count = extensions.clone().count().saturating_sub(1);
    extensions.by_ref().take(count).find_map(|extension| {
        let extension = extension.to_ascii_lowercase();
        if let Some(media) = SYSTEM.get(&extension) {
            return Some(media.as_str());
        }
        let at = EXTENSIONS.binary_search_by(|(known, _)| (*known).cmp(extension.as_str()));
        at.ok().map(|at| EXTENSIONS[at].1)
    })
}

/// Extensions that are common in repositories, sorted: for systems without a table.
const EXTENSIONS: &[(&str, &str)] = &[
    ("7z", "application/x-7z-compressed"),
    ("aac", "audio/aac"),
    ("avi", "video/x-msvideo"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("c", "text/x-csrc"),
    ("cpp", "text/x-c++src"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("deb", "application/vnd.debian.binary-package"),
    ("doc", "application/msword"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("eps", "application/postscript"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("h", "text/x-chdr"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("ics", "text/calendar"),
    ("iso", "application/x-iso9660-image"),
    ("jar", "application/java-archive"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("m4a", "audio/mp4"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ogg", "audio/ogg"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("pl", "text/x-perl"),
    ("png", "image/png"),
    ("ppt", "application/vnd.ms-powerpoint"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("ps", "application/postscript"),
    ("py", "text/x-python"),
    ("rtf", "application/rtf"),
    ("sh", "text/x-sh"),
    ("svg", "image/svg+xml"),
    ("svgz", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tex", "text/x-tex"),
    ("tgz", "application/x-gtar-compressed"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("tsv", "text/tab-separated-values"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("wav", "audio/x-wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xhtml", "application/xhtml+xml"),
    ("xls", "application/vnd.ms-excel"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("xml", "application/xml"),
    ("xsl", "application/xslt+xml"),
    ("xz", "application/x-xz"),
    ("zip", "application/zip"),
    ("zst", "application/zstd"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_sorted() {
        assert!(EXTENSIONS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn a_stored_type_comes_before_a_guessed_one() {
        assert_eq!(of_file(Some(b"image/png"), "a.txt", false), "image/png");
        assert_eq!(of_file(Some(b"foo"), "a.png", false), "text/plain");
        assert_eq!(of_file(Some(b"text/html\r\nx: y"), "a.png", false), "text/plain");
        assert_eq!(
            of_file(Some(b"text/x; charset=utf-8"), "a", true),
            "text/x; charset=utf-8"
        );
        assert_eq!(of_file(None, "a.JSON", false), "application/json");
        assert_eq!(of_file(None, "a.json", true), "text/plain");
        assert_eq!(of_file(None, "Makefile", false), "text/plain");
        assert_eq!(by_name("a.png.orig"), Some("image/png"));
        assert_eq!(by_name("a.tar.gz"), Some("application/gzip"));
        assert_eq!((by_name(".png"), by_name("png"), by_name("")), (None, None, None));
    }

    #[test]
    fn a_table_of_the_system_is_read() {
        let types = parse_table(
            "# a comment\ntext/x-a\tA b # c\napplication/none\n\nbad d\nte\u{fc}xt/x e\nimage/x-b  b",
        );
        let mut types: Vec<(&str, &str)> = types.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        types.sort_unstable();
        assert_eq!(types, [("a", "text/x-a"), ("b", "image/x-b")]);
        assert!(read_table(Path::new("/nonexistent")).is_empty());
    }

    #[test]
    fn content_with_possible_scripts_is_sandboxed() {
        for media in [
            "text/html",
            "Text/HTML; charset=x",
            "image/svg+xml",
            "application/xml",
            "text/xsl",
            "multipart/related",
            "application/x-unknown",
            "text/javascript",
        ] {
            assert!(!is_harmless(media), "{media}");
        }
        for media in ["text/plain", "image/png", "application/pdf"] {
            assert!(is_harmless(media), "{media}");
        }
    }
}
