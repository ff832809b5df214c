//! Fixes the revisions of externals in a copy: every external without a peg revision gets the youngest revision of its repository, so that the copy stays
//! what it is now.

use std::collections::BTreeMap;

use base::{NodeKind, RelPath, Result, Revnum, Url};
use ra::{DirectoryRequest, DirentFields, Session};

use crate::externals::{self, EXTERNALS, External, ParseDate};
use crate::revision::Revision;

/// What pinning needs.
#[derive(Clone, Copy)]
pub struct PinExternals<'a> {
    /// Parses dates of revisions.
    pub parse_date: ParseDate<'a>,
}

/// Returns the new values of `svn:externals` in the tree at the session's URL, by path.
///
/// # Errors
/// Those of externals that cannot be parsed, and of their repositories.
pub fn pinned(
    open: &dyn Fn(&Url) -> Result<Box<dyn Session>>,
    session: &mut dyn Session,
    rev: Revnum,
    pin: &PinExternals<'_>,
) -> Result<BTreeMap<RelPath, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![RelPath::empty()];
    while let Some(path) = waiting.pop() {
        let directory = session.directory(&DirectoryRequest {
            path: &path,
            rev: Some(rev),
            props: true,
            entries: Some(DirentFields::KIND),
        })?;
        for (name, entry) in &directory.entries {
            if entry.kind == NodeKind::Dir {
                waiting.push(path.join_str(name));
            }
        }
        if let Some(value) = directory.props.get(EXTERNALS)
            && let Some(value) = pinned_value(open, session, &path, value, pin)?
        {
            found.insert(path, value);
        }
    }
    Ok(found)
}

/// Returns the new value of a property; `None` if all its externals have revisions.
fn pinned_value(
    open: &dyn Fn(&Url) -> Result<Box<dyn Session>>,
    session: &mut dyn Session,
    path: &RelPath,
    value: &[u8],
    pin: &PinExternals<'_>,
) -> Result<Option<Vec<u8>>> {
    let directory = session.url().join(path);
    let parsed = externals::parse(directory.as_str(), value, pin.parse_date)?;
    let text = String::from_utf8_lossy(value);
    let lines = text
        .split(['\n', '\r'])
        .map(|line| line.trim_matches([' ', '\t']));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut pinned = String::new();
    let mut is_changed = false;
    for (line, external) in lines.zip(parsed) {
        let form = LineForm::of(line);
        let rev = match external.peg {
            Revision::Head => {
                is_changed = true;
                let url = externals::absolute_url(&external.url, &directory, session.root_url())?;
                let latest = match url.relative_to(session.root_url()) {
                    Some(_) => session.latest_revision()?,
                    None => open(&url)?.latest_revision()?,
                };
                Some(latest)
            }
            _ => None,
        };
        pinned.push_str(&form.line(&external, rev));
        pinned.push('\n');
    }
    Ok(is_changed.then(|| pinned.into_bytes()))
}

/// The parts of a line as they are written.
struct LineForm {
    /// The word of the option `-r`, without the option.
    rev: Option<String>,
    /// The peg revision.
    peg: Option<String>,
    /// The target, quoted as it was.
    target: String,
    /// The target comes first.
    is_old: bool,
}

impl LineForm {
    fn of(line: &str) -> LineForm {
        let mut words = externals::words(line);
        let mut rev = None;
        let option = words.iter().take(2).position(|word| word.starts_with("-r"));
        if let Some(at) = option {
            let word = words.remove(at);
            rev = Some(match &word[2..] {
                "" if at < words.len() => words.remove(at),
                text => text.to_owned(),
            });
        }
        let (first, second) = (
            words.first().cloned().unwrap_or_default(),
            words.get(1).cloned().unwrap_or_default(),
        );
        let is_old = match option {
            Some(at) => at == 1,
            None => !Url::is_url(&first) && Url::is_url(&second),
        };
        let name_at = first.rfind('/').map_or(0, |slash| slash + 1);
        let peg = first[name_at..]
            .rfind('@')
            .map(|at| first[name_at + at + 1..].to_owned())
            .filter(|peg| !is_old && !peg.is_empty());
        LineForm {
            rev,
            peg,
            target: if is_old { first } else { second },
            is_old,
        }
    }

    /// Returns the line with a revision, or with the ones that it has.
    fn line(&self, external: &External, pin: Option<Revnum>) -> String {
        let target = quoted(&self.target);
        if self.is_old {
            let rev = pin
                .map(|rev| rev.to_string())
                .or_else(|| self.rev.clone())
                .unwrap_or_default();
            return format!("{target} -r{rev} {}", quoted(&external.url));
        }
        let mut line = String::new();
        if let Some(rev) = &self.rev {
            line.push_str(&format!("-r{rev} "));
        }
        let peg = pin
            .map(|rev| rev.to_string())
            .or_else(|| self.peg.clone())
            .unwrap_or_default();
        line.push_str(&quoted(&format!("{}@{peg}", external.url)));
        line.push(' ');
        line.push_str(&target);
        line
    }
}

/// Quotes a word that has blanks.
fn quoted(word: &str) -> String {
    match word.contains([' ', '\t']) {
        true => format!("\"{word}\""),
        false => word.to_owned(),
    }
}
