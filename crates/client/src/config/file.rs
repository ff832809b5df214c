//! One file of the configuration area, with the values of all areas: later ones replace earlier ones.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use base::ini::{Case, Ini};
use base::{Code, Error, Result, disk_path};

/// The largest file that is read, in bytes.
const MOST: u64 = 16 << 20;

/// The values of a file. Case does not matter in the names of sections and options.
#[derive(Clone, Debug)]
pub struct ConfigFile(Ini);

impl Default for ConfigFile {
    fn default() -> Self {
        ConfigFile(Ini::empty(Case::Ignored))
    }
}

impl ConfigFile {
    /// Adds the values of a file, if it exists. The inner error is that of a file that the user has no permission to open, or that would
    /// be below a file.
    ///
    /// # Errors
    /// `MALFORMED_FILE`; the system's number for other failures to open or read the file.
    pub(super) fn read(&mut self, path: &Path) -> Result<std::result::Result<(), Error>> {
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) => {
                let not_opened = || Error::io("Can't open file", path, &error);
                return match error.kind() {
                    io::ErrorKind::NotFound => Ok(Ok(())),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory => Ok(Err(not_opened())),
                    _ => Err(not_opened()),
                };
            }
        };
        let in_file = || format!("Error while parsing config file: {}:", disk_path::shown(path));
        let mut text = Vec::new();
        let read = file.take(MOST).read_to_end(&mut text);
        read.map_err(|error| Error::io("Can't read file", path, &error).context(in_file()))?;
        let added = self.0.read(&text);
        added
            .map(Ok)
            .map_err(|error| error.wrap(Code::MALFORMED_FILE, in_file()))
    }

    pub(super) fn set(&mut self, section: &str, option: &str, value: &str) {
        self.0
            .set(section.as_bytes(), option.as_bytes(), value.as_bytes());
    }

    /// Returns the value of an option.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for references that expand too far.
    pub fn text(&self, section: &str, option: &str) -> Result<Option<String>> {
        let value = self.0.get(section.as_bytes(), option.as_bytes())?;
        Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }

    /// Returns the value of an option that is true or false.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for any other value.
    pub fn flag(&self, section: &str, option: &str, default: bool) -> Result<bool> {
        self.0.flag(section, option, default)
    }

    /// Returns the value of an option that is a number.
    ///
    /// # Errors
    /// `INCORRECT_PARAMS` for any other value.
    pub fn number(&self, section: &str, option: &str) -> Result<Option<i64>> {
        match self.text(section, option)? {
            Some(text) => parse_number(&text, i64::MIN, i64::MAX).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the names for which [`ConfigFile::text`] finds a value.
    pub fn names(&self, section: &str) -> impl Iterator<Item = String> {
        let names = self.0.names(section.as_bytes());
        names.map(|name| String::from_utf8_lossy(name).into_owned())
    }

    /// Returns the names and values of a section, in the order in which the names first occurred.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for references that expand too far.
    pub fn section(&self, section: &str) -> Result<Vec<(String, String)>> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let options = self.0.options(section.as_bytes());
        options
            .map(|(name, value)| value.map(|value: Cow<'_, [u8]>| (text(name), text(&value))))
            .collect()
    }
}

/// Parses a number within bounds.
///
/// # Errors
/// `INCORRECT_PARAMS`.
pub fn parse_number(text: &str, least: i64, most: i64) -> Result<i64> {
    parse_within(text, least, most, most)
}

/// As [`parse_number`]; the error says that the bound is `shown`.
pub(super) fn parse_within(text: &str, least: i64, most: i64, shown: impl Display) -> Result<i64> {
    let wrong = |message: String| Error::new(Code::INCORRECT_PARAMS, message);
    let trimmed = text.trim_ascii_start();
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong(format!("Could not convert '{text}' into a number")));
    }
    match trimmed.parse::<i64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(wrong(format!(
            "Number '{text}' is out of range '[{least}, {shown}]'"
        ))),
    }
}
