//! The configuration file of `sven serve`: TOML, one file for everything.
//!
//! [`mod@file`] is the file as written, [`keys`] lists the keys and their lines, [`checks`] checks which keys exclude or
//! require each other, [`files`] checks the files that it names. All mistakes of a file are reported at once, each
//! with its line: an administrator who corrects one does not find the next after a restart. Relative file names are
//! relative to the directory of the configuration file.
//!
//! This module opens no sockets.

pub mod address;
mod checks;
mod cluster;
pub mod file;
pub mod files;
pub mod keys;
pub mod resolve;
pub mod value;

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base::{Code, Error};
use toml::de::DeTable;

use keys::{KeyLines, Mistake};

/// A configuration file that was parsed and has no mistakes.
#[derive(Clone, Debug)]
pub struct Config {
    /// The values of the file.
    pub file: file::ConfigFile,
    path: PathBuf,
    folder: PathBuf,
    lines: KeyLines,
}

/// All mistakes in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes {
    /// The path of the file.
    pub path: PathBuf,
    /// At least one, in the order of lines.
    pub list: Vec<Mistake>,
}

/// The size limit of a configuration file in bytes.
const MAX_BYTES: u64 = 4 << 20;

impl Config {
    /// Reads and checks the file at `path`.
    ///
    /// # Errors
    /// All its mistakes, or the one reason why it could not be read.
    pub fn read(path: &Path) -> Result<Config, Mistakes> {
        Config::read_with(path, |_| ())
    }

    /// As [`Config::read`], with `change` applied to the file's values before they are checked. The command line uses
    /// it to override the file.
    ///
    /// # Errors
    /// As of [`Config::read`].
    pub fn read_with(path: &Path, change: impl FnOnce(&mut file::ConfigFile)) -> Result<Config, Mistakes> {
        let wrong = |text: String| Mistakes {
            path: path.to_owned(),
            list: vec![Mistake { line: 0, text }],
        };
        let can_not = |e: std::io::Error| wrong(Error::os(&e, "Can't read it").message());
        let mut bytes = Vec::new();
        let mut from = std::fs::File::open(path).map_err(can_not)?.take(MAX_BYTES + 1);
        from.read_to_end(&mut bytes).map_err(can_not)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(wrong("it is too large for a configuration file".to_owned()));
        }
        let text = String::from_utf8(bytes).map_err(|e| Mistakes {
            path: path.to_owned(),
            list: vec![Mistake {
                line: keys::line_of(
                    &String::from_utf8_lossy(e.as_bytes()),
                    e.utf8_error().valid_up_to(),
                ),
                text: "it is not UTF-8 here".to_owned(),
            }],
        })?;
        Config::parse(path, &text, change)
    }

    /// Returns a configuration of the values that `change` sets, without a file.
    ///
    /// # Errors
    /// All mistakes; they have no line numbers.
    pub fn without_file(change: impl FnOnce(&mut file::ConfigFile)) -> Result<Config, Mistakes> {
        Config::parse(Path::new("command line"), "", change)
    }

    /// Parses and checks `text`, the content of the file at `path`.
    ///
    /// # Errors
    /// All its mistakes.
    pub fn parse(
        path: &Path,
        text: &str,
        change: impl FnOnce(&mut file::ConfigFile),
    ) -> Result<Config, Mistakes> {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let wrong = |list| Mistakes {
            path: path.to_owned(),
            list,
        };
        let syntax = |e: toml::de::Error| Mistake {
            line: e.span().map_or(0, |span| keys::line_of(text, span.start)),
            text: e.message().trim_end().replace('\n', "; "),
        };
        let parsed = DeTable::parse(text).map_err(|e| wrong(vec![syntax(e)]))?;
        let (lines, mistakes) = keys::walk(text, parsed.get_ref());
        if !mistakes.is_empty() {
            return Err(wrong(mistakes));
        }
        let mut file = toml::from_str(text).map_err(|e| wrong(vec![syntax(e)]))?;
        change(&mut file);
        let config = Config {
            file,
            path: path.to_owned(),
            folder: whole.parent().unwrap_or(Path::new("/")).to_owned(),
            lines,
        };
        let mistakes = checks::check(&config);
        match mistakes.is_empty() {
            true => Ok(config),
            false => Err(wrong(mistakes)),
        }
    }

    /// Returns the path of the file, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory that names in the file are relative to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the absolute path of a file that the configuration names.
    pub fn absolute_path(&self, name: &Path) -> PathBuf {
        // `components` removes `.` segments.
        self.folder.join(name).components().collect()
    }

    /// Returns a mistake at the line of `key`, such as `location[1].authz`.
    pub fn mistake(&self, key: &str, text: impl Into<String>) -> Mistake {
        Mistake {
            line: self.lines.of(key),
            text: text.into(),
        }
    }

    /// Returns `list` as the mistakes of this file.
    pub fn wrong(&self, list: Vec<Mistake>) -> Mistakes {
        Mistakes {
            path: self.path.clone(),
            list,
        }
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.list.iter().enumerate() {
            let end = if at + 1 < self.list.len() { "\n" } else { "" };
            let path = self.path.display();
            match mistake.line {
                0 => write!(f, "{path}: {}{end}", mistake.text)?,
                line => write!(f, "{path}:{line}: {}{end}", mistake.text)?,
            }
        }
        Ok(())
    }
}

impl From<Mistakes> for Error {
    fn from(mistakes: Mistakes) -> Error {
        Error::new(Code::BAD_CONFIG_VALUE, mistakes.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn complaints(text: &str) -> String {
        match Config::parse(Path::new("/etc/sven.toml"), text, |_| ()) {
            Ok(_) => String::new(),
            Err(mistakes) => mistakes.to_string(),
        }
    }

    #[test]
    fn syntax_and_type_errors_are_reported_with_their_line() {
        for (text, expected) in [
            ("[serve]\nroot = '/x'\n\nroot = '/y'\n", "/etc/sven.toml:4: "),
            ("[serve\n", "/etc/sven.toml:1: "),
            ("[serve]\nroot = 5\n", "/etc/sven.toml:2: "),
            (
                "listen = 5\n",
                "/etc/sven.toml:1: invalid type: integer `5`, expected a table",
            ),
            (
                "[cache]\n\nmemory = '1 QiB'\n",
                "/etc/sven.toml:3: '1 QiB' is no size such as",
            ),
            (
                "[limits]\nstall-timeout = 30\n",
                "/etc/sven.toml:2: invalid type: integer `30`, expected a time such as",
            ),
            (
                "[[location]]\npath-authz = 'maybe'\n",
                "/etc/sven.toml:2: unknown variant `maybe`, expected one of `on`, `off`, `short-circuit`",
            ),
        ] {
            let found = complaints(text);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }

    #[test]
    fn missing_and_non_utf8_files_are_reported() {
        let folder = tempfile::tempdir().expect("because /tmp is there");
        let path = folder.path().join("sven.toml");
        let read = |path: &Path| Config::read(path).map(drop).map_err(|e| e.to_string());
        let gone = read(&path).expect_err("because it is not there");
        assert!(
            gone.ends_with("sven.toml: Can't read it: No such file or directory"),
            "{gone}"
        );
        std::fs::write(&path, b"[serve]\nroot = '\xff'\n").expect("because it is ours");
        let odd = read(&path).expect_err("because it is not UTF-8");
        assert!(odd.ends_with("sven.toml:2: it is not UTF-8 here"), "{odd}");
    }

    const PACKAGED: &str = include_str!("../../../../packaging/sven.toml");
    const UNIT: &str = include_str!("../../../../packaging/sven.service");
    const MANIFEST: &str = include_str!("../../Cargo.toml");

    #[test]
    fn the_packaged_file_is_valid_with_and_without_its_commented_keys() {
        assert_eq!(complaints(PACKAGED), "");
        let uncommented = PACKAGED.lines().map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.starts_with('[') || rest.contains(" = ") => format!("{rest}\n"),
            _ => format!("{line}\n"),
        });
        assert_eq!(complaints(&uncommented.collect::<String>()), "");
    }

    #[test]
    fn files_named_in_the_systemd_unit_are_packaged() {
        let manifest: toml::Table = toml::from_str(MANIFEST).expect("because cargo reads it");
        let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array();
        let mut installed: Vec<String> = Vec::new();
        for asset in assets.expect("because it is a list") {
            let (from, to) = (asset[0].as_str(), asset[1].as_str());
            let (from, to) = (from.expect("because it is text"), to.expect("because it is text"));
            let name = from.rsplit('/').next().unwrap_or_default();
            installed.push(format!("/{to}{}", if to.ends_with('/') { name } else { "" }));
        }
        let commands = UNIT
            .lines()
            .filter(|line| line.starts_with("Exec") || line.starts_with("Condition"));
        let words = commands.flat_map(|line| line.split([' ', '=']));
        let ours: Vec<&str> = words
            .filter(|word| word.starts_with('/') && word.contains("sven"))
            .collect();
        assert!(ours.len() >= 5, "{ours:?}");
        for word in ours {
            assert!(
                installed.iter().any(|path| path == word),
                "{word} is not in {installed:?}"
            );
        }
    }
}
