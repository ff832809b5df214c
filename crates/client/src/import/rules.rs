//! Which names are left out of an import, and which properties files get.

use std::collections::BTreeMap;

use base::{Props, glob};

use super::ImportOptions;
use crate::translate::{EOL_STYLE, EXECUTABLE};

/// Properties by patterns of file names.
#[derive(Clone, Debug, Default)]
pub struct AutoProps(Vec<(String, Vec<(String, String)>)>);

impl AutoProps {
    /// Adds a pattern with its properties, as they are written in the configuration: `name=value;name`. A semicolon in a value is doubled.
    /// Properties of the same pattern replace earlier ones of the same name.
    pub fn add(&mut self, pattern: &str, text: &str) {
        let mut props = Vec::new();
        for part in split_semicolons(text) {
            let (name, value) = part.split_once('=').unwrap_or((&part, ""));
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() {
                continue;
            }
            let value = if is_boolean(name) { "*" } else { unquoted(value) };
            props.push((name.to_owned(), value.to_owned()));
        }
        match self.0.iter_mut().find(|(known, _)| known == pattern) {
            Some((_, known)) => {
                known.retain(|(name, _)| props.iter().all(|(new, _)| new != name));
                known.extend(props);
            }
            None => self.0.push((pattern.to_owned(), props)),
        }
    }

    /// Adds the lines of a property `svn:auto-props`.
    fn add_lines(&mut self, value: &[u8]) {
        for line in String::from_utf8_lossy(value).split(['\n', '\r']) {
            if let Some((pattern, text)) = line.split_once('=') {
                self.add(pattern.trim(), text.trim());
            }
        }
    }

    /// Returns the properties of a file name. Case does not matter.
    fn of(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let name = name.to_ascii_lowercase();
        let mut found = BTreeMap::new();
        for (pattern, props) in &self.0 {
            if glob::matches(pattern.to_ascii_lowercase().as_bytes(), name.as_bytes()) {
                found.extend(
                    props
                        .iter()
                        .map(|(name, value)| (name.clone(), value.clone().into_bytes())),
                );
            }
        }
        found
    }
}

/// MIME types by extension.
#[derive(Clone, Debug, Default)]
pub struct MimeTypes(BTreeMap<String, String>);

impl MimeTypes {
    /// Reads a file in the format of Apache's `mime.types`: a type and its extensions a line.
    pub fn parse(text: &str) -> MimeTypes {
        let mut types = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_ascii_whitespace();
            if let Some(kind) = words.next() {
                types.extend(words.map(|extension| (extension.to_ascii_lowercase(), kind.to_owned())));
            }
        }
        MimeTypes(types)
    }

    /// Returns the type of a file name.
    fn of(&self, name: &str) -> Option<&str> {
        let (_, extension) = name.rsplit_once('.')?;
        self.0.get(&extension.to_ascii_lowercase()).map(String::as_str)
    }
}

/// The rules of one import.
#[derive(Debug)]
pub(super) struct Rules {
    /// Patterns that count in all directories.
    ignores: Vec<String>,
    /// Patterns that count in the top directory only.
    top_ignores: Vec<String>,
    auto_props: AutoProps,
    mime_types: MimeTypes,
}

impl Rules {
    pub(super) fn new(options: &ImportOptions<'_>) -> Rules {
        Rules {
            ignores: options.ignores.unwrap_or_default().to_vec(),
            top_ignores: Vec::new(),
            auto_props: options.auto_props.clone(),
            mime_types: options.mime_types.clone(),
        }
    }

    /// Adds what the properties of a directory at or above the target say about all that is below.
    pub(super) fn add_inherited(&mut self, props: &Props, options: &ImportOptions<'_>) {
        if let Some(value) = props
            .get("svn:global-ignores")
            .filter(|_| options.ignores.is_some())
        {
            self.ignores.extend(words(value));
        }
        if let Some(value) = props
            .get("svn:auto-props")
            .filter(|_| options.repository_auto_props)
        {
            self.auto_props.add_lines(value);
        }
    }

    /// Adds what the properties of the target itself say about its entries.
    pub(super) fn add_own(&mut self, props: &Props, options: &ImportOptions<'_>) {
        if let Some(value) = props.get("svn:ignore").filter(|_| options.ignores.is_some()) {
            self.top_ignores.extend(words(value));
        }
    }

    /// True if a name is left out.
    pub(super) fn ignores(&self, name: &str, is_top: bool) -> bool {
        let is_match = |pattern: &String| glob::matches(pattern.as_bytes(), name.as_bytes());
        self.ignores.iter().any(is_match) || is_top && self.top_ignores.iter().any(is_match)
    }

    /// True if a file that is imported alone is left out: by the configuration, not by properties of the target.
    pub(super) fn ignores_alone(&self, name: &str, options: &ImportOptions<'_>) -> bool {
        let mut patterns = options.ignores.unwrap_or_default().iter();
        patterns.any(|pattern| glob::matches(pattern.as_bytes(), name.as_bytes()))
    }

    /// Returns the properties of a file. `head` is the beginning of its text.
    pub(super) fn props(&self, name: &str, head: &[u8], is_executable: bool) -> Props {
        let mut props = self.auto_props.of(name);
        if !props.contains_key(MIME_TYPE) {
            let known = self.mime_types.of(name);
            let found = known.or_else(|| is_binary(head).then_some(BINARY_TYPE));
            if let Some(found) = found {
                props.insert(MIME_TYPE.to_owned(), found.into());
            }
        }
        if is_executable && !props.contains_key(EXECUTABLE) {
            props.insert(EXECUTABLE.to_owned(), Vec::new());
        }
        props.into_iter().collect()
    }
}

/// True if these properties say that a text is not for humans.
pub(super) fn has_binary_type(props: &Props) -> bool {
    let Some(kind) = props.get(MIME_TYPE) else {
        return false;
    };
    let len = kind
        .iter()
        .position(|byte| b"; ".contains(byte))
        .unwrap_or(kind.len());
    let kind = &kind[..len];
    !kind.starts_with(b"text/") && !matches!(kind, b"image/x-xbitmap" | b"image/x-xpixmap")
}

/// True if the beginning of a text is not that of a text for humans.
pub(crate) fn is_binary(head: &[u8]) -> bool {
    let head = &head[..head.len().min(BINARY_HEAD)];
    if head.is_empty() || head == b"\xef\xbb\xbf" {
        return false;
    }
    let odd = |byte: &&u8| !matches!(byte, 0x07..=0x0d | 0x20..=0x7e);
    head.contains(&0) || head.iter().filter(odd).count() * 1000 / head.len() > 850
}

/// Bytes that are looked at.
pub(crate) const BINARY_HEAD: usize = 1024;

/// The type of texts that are not for humans.
pub(crate) const BINARY_TYPE: &str = "application/octet-stream";

/// The property with the MIME type.
const MIME_TYPE: &str = "svn:mime-type";

/// True for properties whose value does not matter.
fn is_boolean(name: &str) -> bool {
    matches!(name, EXECUTABLE | "svn:special" | "svn:needs-lock") && name != EOL_STYLE
}

/// Removes quotes around a value.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if value.len() > 1
            && let Some(inner) = value
                .strip_prefix(quote)
                .and_then(|rest| rest.strip_suffix(quote))
        {
            return inner;
        }
    }
    value
}

/// Splits at single semicolons; a doubled one is a semicolon.
fn split_semicolons(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_end = letter == ';' && letters.next_if_eq(&';').is_none();
        match parts.last_mut() {
            Some(part) if !is_end => part.push(letter),
            _ => parts.push(String::new()),
        }
    }
    parts
}

fn words(value: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(value);
    let words = text.split(['\n', '\r', '\t', '\u{b}', ' ']);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_parsed_as_the_incumbent_parses_them() {
        let mut auto = AutoProps::default();
        auto.add_lines(
            b"*.l = svn:eol-style=LF;a=b;;c;  sp  =  v v  \n*.E = svn:executable;foo;bar=;svn:needs-lock=x\n",
        );
        let of = |name: &str| -> Vec<(String, String)> {
            let text = |value: Vec<u8>| String::from_utf8(value).expect("text");
            auto.of(name)
                .into_iter()
                .map(|(name, value)| (name, text(value)))
                .collect()
        };
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        assert_eq!(
            of("x.L"),
            pairs(&[("a", "b;c"), ("sp", "v v"), ("svn:eol-style", "LF")])
        );
        let expected = [
            ("bar", ""),
            ("foo", ""),
            ("svn:executable", "*"),
            ("svn:needs-lock", "*"),
        ];
        assert_eq!(of("y.e"), pairs(&expected));
        assert_eq!(of("y.x"), []);
    }

    #[test]
    fn texts_and_other_data() {
        for (text, expected) in [
            (&b""[..], false),
            (b"text\n", false),
            (b"a\0b", true),
            (b"\xef\xbb\xbf", false),
            (b"\x01\x02\x03\x04", true),
            (b"\xc3\xbc\xc3\xbcxx", false),
        ] {
            assert_eq!(is_binary(text), expected, "{text:?}");
        }
    }
}
