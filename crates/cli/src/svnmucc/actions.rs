//! The actions on the command line of `svnmucc`.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use base::{Code, Error, Result, Revnum, Url};
use client::prop_rules;
use client::url_commit::common_ancestor;

use crate::args::operand;
use crate::client_context::log_message::read_file;
use crate::out::Out;
use base::charset::Charset;

/// An action.
#[derive(Debug)]
pub struct Action {
    pub kind: ActionKind,
}

/// The actions with their arguments.
#[derive(Debug)]
pub enum ActionKind {
    Copy {
        /// `None` is the youngest.
        rev: Option<Revnum>,
        from: Url,
        to: Url,
    },
    Mkdir {
        url: Url,
    },
    Move {
        from: Url,
        to: Url,
    },
    Delete {
        url: Url,
    },
    Put {
        /// `-` is standard input.
        file: String,
        url: Url,
    },
    Prop {
        name: String,
        /// `None` deletes.
        value: Option<Vec<u8>>,
        url: Url,
    },
}

impl Action {
    /// The URLs at or below which the commit must be rooted: a node that is added or deleted is an entry of a directory.
    pub fn anchors(&self) -> Vec<Url> {
        let above = |url: &Url| url.parent().unwrap_or_else(|| url.clone());
        match &self.kind {
            ActionKind::Copy { from, to, .. } => vec![from.clone(), above(to)],
            ActionKind::Move { from, to } => vec![above(from), above(to)],
            ActionKind::Mkdir { url } | ActionKind::Delete { url } | ActionKind::Put { url, .. } => {
                vec![above(url)]
            }
            ActionKind::Prop { url, .. } => vec![url.clone()],
        }
    }
}

/// Returns the arguments that a file has, one a line.
///
/// # Errors
/// `errno`.
pub fn words_of_file(file: &OsStr) -> Result<Vec<OsString>> {
    let bytes = read_file(file)?;
    let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    let lines = lines.filter(|line| !line.is_empty());
    Ok(lines.map(|line| OsStr::from_bytes(line).to_owned()).collect())
}

/// Parses all actions. With `root`, their URLs are relative to it.
///
/// # Errors
/// `INCORRECT_PARAMS` for words that are no action, missing arguments and malformed ones; `errno` of the files of property values.
pub fn parse(words: &[OsString], root: Option<&Url>, out: &Out) -> Result<Vec<Action>> {
    let mut parser = Parser {
        words: words.iter(),
        root,
        charset: out.charset(),
    };
    let mut actions = Vec::new();
    let mut anchors = Vec::new();
    while let Some(word) = parser.words.next() {
        let name = parser.charset.read_word(word)?;
        let kind = match &*name {
            "mkdir" => ActionKind::Mkdir { url: parser.url()? },
            "rm" => ActionKind::Delete { url: parser.url()? },
            "mv" => ActionKind::Move {
                from: parser.url()?,
                to: parser.url()?,
            },
            "cp" => ActionKind::Copy {
                rev: parser.revision()?,
                from: parser.url()?,
                to: parser.url()?,
            },
            "put" => ActionKind::Put {
                file: parser.file()?,
                url: parser.url()?,
            },
            "propset" | "propsetf" => {
                let name = parser.word()?.into_owned();
                let value = match word.as_bytes() {
                    b"propset" => {
                        // The value is converted with those of files.
                        let value = parser.operand()?;
                        parser.charset.read_word(value)?;
                        value.as_bytes().to_vec()
                    }
                    _ => read_file(OsStr::new(&parser.file()?))?,
                };
                ActionKind::Prop {
                    value: Some(stored_value(&name, value, out)?),
                    name,
                    url: parser.url()?,
                }
            }
            "propdel" => ActionKind::Prop {
                name: parser.word()?.into_owned(),
                value: None,
                url: parser.url()?,
            },
            _ => return Err(incorrect(format!("'{name}' is not an action\n"))),
        };
        let action = Action { kind };
        anchors.extend(action.anchors());
        anchors = vec![anchor(&anchors)?];
        actions.push(action);
    }
    Ok(actions)
}

/// Returns the deepest URL that all of `anchors` are at or below.
///
/// # Errors
/// `INCORRECT_PARAMS` if there is none.
pub fn anchor(anchors: &[Url]) -> Result<Url> {
    common_ancestor(anchors)
        .map_err(|_| incorrect("URLs in the action list do not share a common ancestor".to_owned()))
}

struct Parser<'a> {
    words: std::slice::Iter<'a, OsString>,
    root: Option<&'a Url>,
    charset: Charset,
}

impl<'a> Parser<'a> {
    fn operand(&mut self) -> Result<&'a OsStr> {
        let word = self.words.next().map(OsString::as_os_str);
        word.ok_or_else(|| incorrect("insufficient arguments".to_owned()))
    }

    fn word(&mut self) -> Result<Cow<'a, str>> {
        self.charset.read_word(self.operand()?)
    }

    /// Reads a revision of `cp`; `None` is the youngest.
    fn revision(&mut self) -> Result<Option<Revnum>> {
        let word = self.word()?;
        if word.eq_ignore_ascii_case("head") {
            return Ok(None);
        }
        let digits = word.trim_start_matches('r');
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        Revnum::parse(digits.as_bytes())
            .filter(|_| is_number)
            .map(Some)
            .ok_or_else(|| incorrect(format!("'{word}' is not a revision\n")))
    }

    fn url(&mut self) -> Result<Url> {
        let word = &*self.word()?;
        if Url::is_url(word) {
            return Url::canonicalize(word);
        }
        let Some(root) = self.root else {
            let message = format!("'{word}' is not a URL, and --root-url (-U) not provided\n");
            return Err(incorrect(message));
        };
        Url::canonicalize(&format!("{root}/{word}"))
    }

    fn file(&mut self) -> Result<String> {
        let word = &*self.word()?;
        Ok(match word {
            "-" => word.to_owned(),
            _ => operand::tidy(word),
        })
    }
}

/// Returns a value in the form that is stored: the text of Subversion's own properties with line feeds.
fn stored_value(name: &str, value: Vec<u8>, out: &Out) -> Result<Vec<u8>> {
    if !prop_rules::is_text(name) {
        return Ok(value);
    }
    let normalized = || -> Result<Vec<u8>> {
        let text = out.charset().read(&value)?;
        Ok(base::with_line_feeds(text.as_bytes())?.into_owned())
    };
    normalized().map_err(|error| error.context("Error normalizing property value"))
}

fn incorrect(message: String) -> Error {
    Error::new(Code::INCORRECT_PARAMS, message)
}
