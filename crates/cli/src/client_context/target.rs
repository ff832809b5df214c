//! The targets on a command line: URLs and paths, with peg revisions.
//!
//! Targets are read in two steps, as the incumbent does, because errors of the second step come after the output for the targets
//! before. [`read_targets`] makes all targets canonical and resolves `^/`; a peg revision is not looked at. [`TypedTarget::parse`]
//! splits one of them into the path and the peg revision. An escaped `@` (`%40`) is an `@` after the first step, so that it begins a
//! peg revision in the second.

use std::ffi::OsString;

use base::{Code, Error, Result, Url, disk_path, percent};

use super::ClientContext;
use super::targets_file::TargetsOption;
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::local_path;
use crate::out::Out;

/// A target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it is.
    pub path: TargetPath,
    /// The peg revision, if there is one.
    pub peg: Option<Revision>,
}

/// A URL or a path of the local file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetPath {
    /// A URL.
    Url(Url),
    /// A path, canonical: without doubled slashes, `.` and a slash at the end. Empty is the current directory.
    Local(String),
}

impl Target {
    /// Returns the URL.
    ///
    /// # Errors
    /// `WC_NOT_WORKING_COPY` for a local path.
    pub fn url(&self) -> Result<&Url> {
        match &self.path {
            TargetPath::Url(url) => Ok(url),
            TargetPath::Local(path) => Err(not_a_working_copy(path)),
        }
    }
}

/// Returns the error for a local path that is not in a working copy. It shows the absolute path; symbolic links are not followed.
pub fn not_a_working_copy(path: &str) -> Error {
    let absolute = std::env::current_dir()
        .unwrap_or_default()
        .join(local_path::of_text(path));
    let absolute = local_path::without_parents(absolute);
    let message = format!("'{}' is not a working copy", disk_path::shown(&absolute));
    Error::new(Code::WC_NOT_WORKING_COPY, message)
}

/// A target as typed, made canonical, with its peg revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedTarget(String);

impl TypedTarget {
    /// The current directory.
    pub fn current_directory() -> TypedTarget {
        TypedTarget(String::new())
    }

    /// Makes a target canonical; `None` if it is skipped, because it has the name of the administrative directory.
    fn canonical(text: &str) -> Result<Option<TypedTarget>> {
        let (path, peg) = split_at_peg(text);
        if is_url(path) {
            return Ok(Some(TypedTarget(with_peg(canonical_url(path)?, peg))));
        }
        let path = canonical_path(text, path)?;
        Ok((!is_reserved(&path)).then(|| TypedTarget(with_peg(path, peg))))
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for a URL.
    pub fn is_url(&self) -> bool {
        is_url(&self.0)
    }

    /// Splits the target into the path and the peg revision.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` for a malformed peg revision.
    pub fn parse(&self) -> Result<Target> {
        let (text, peg) = split_at_peg(&self.0);
        let peg = match peg.filter(|peg| !peg.is_empty()) {
            Some(peg) => Some(self.parse_peg(peg)?),
            None => None,
        };
        Ok(Target {
            path: parse_path(text)?,
            peg,
        })
    }

    /// Returns the target of a command that takes no peg revisions. An empty one is not a part of the path.
    ///
    /// # Errors
    /// `ILLEGAL_TARGET` for a target with a peg revision.
    pub fn without_peg(&self) -> Result<TypedTarget> {
        match split_at_peg(&self.0) {
            (text, None | Some("")) => Ok(TypedTarget(text.to_owned())),
            _ => {
                let message = format!("'{}': a peg revision is not allowed here", self.0);
                Err(Error::new(Code::ILLEGAL_TARGET, message))
            }
        }
    }

    /// Returns the URL of a target in which an `@` is a part of the path.
    ///
    /// # Errors
    /// `WC_NOT_WORKING_COPY` for a local path; `RA_ILLEGAL_URL` for text that only looks like a URL.
    pub fn url(&self) -> Result<Url> {
        match parse_path(&self.0)? {
            TargetPath::Url(url) => Ok(url),
            TargetPath::Local(path) => Err(not_a_working_copy(&path)),
        }
    }

    fn parse_peg(&self, peg: &str) -> Result<Revision> {
        let decoded = match peg.to_ascii_lowercase() {
            lower if self.is_url() && lower.starts_with("%7b") && lower.ends_with("%7d") => {
                String::from_utf8_lossy(&percent::decode(peg.as_bytes())).into_owned()
            }
            _ => peg.to_owned(),
        };
        if let Ok(RevisionRangeArg { start, end: None }) = RevisionRangeArg::parse(&decoded) {
            return Ok(start);
        }
        let mut message = format!("Syntax error parsing peg revision '{peg}'");
        if self.0.starts_with("svn+ssh://") && self.0.matches('@').count() == 1 {
            message.push_str(&format!("; did you mean '{}@'?", self.0));
        }
        Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
    }
}

/// Reads the targets of a command line and of the file of `--targets`.
///
/// # Errors
/// `errno` 22 for text in another character set; `BAD_FILENAME` for a target without a path; `BAD_URL`; `WC_NOT_WORKING_COPY` for `^/`
/// without a URL, and `ILLEGAL_TARGET` for `^/` with URLs of several repositories.
pub fn read_targets(
    context: &ClientContext,
    out: &mut Out,
    operands: &[OsString],
    file: &TargetsOption,
) -> Result<Vec<TypedTarget>> {
    use std::os::unix::ffi::OsStrExt as _;
    let charset = out.charset();
    let mut texts = Vec::with_capacity(operands.len());
    for word in operands {
        texts.push(charset.read(word.as_bytes())?.into_owned());
    }
    if let Some(file) = &file.targets {
        texts.extend(file.read()?);
    }
    let (targets, skipped) = canonical_targets(context, &texts)?;
    for text in skipped.iter().rev() {
        let error = reserved(text);
        // The incumbent has this name in all its programs.
        out.print_stderr(&format!(
            "svn: Skipping argument: {}: {}\n",
            error.code(),
            error.message()
        ));
    }
    Ok(targets)
}

/// Makes targets canonical. Returns them, and those that are skipped.
fn canonical_targets<'a>(
    context: &ClientContext,
    texts: &'a [String],
) -> Result<(Vec<TypedTarget>, Vec<&'a str>)> {
    let mut targets = Vec::with_capacity(texts.len());
    let mut skipped = Vec::new();
    let has_relative = texts.iter().any(|text| is_relative_url(text));
    let mut root: Option<Url> = None;
    for text in texts {
        if is_relative_url(text) {
            targets.push(TypedTarget(text.clone()));
            continue;
        }
        let Some(target) = TypedTarget::canonical(text)? else {
            skipped.push(text.as_str());
            continue;
        };
        if has_relative {
            find_root(context, &target, &mut root)?;
        }
        targets.push(target);
    }
    for target in &mut targets {
        if is_relative_url(&target.0) {
            let Some(root) = &root else {
                let message = "Resolving '^/': no repository root found in the target arguments or in the current directory";
                return Err(Error::new(Code::WC_NOT_WORKING_COPY, message));
            };
            let (path, peg) = split_at_peg(&target.0);
            let path = canonical_url(&format!("{root}{}", &path[1..]))?;
            *target = TypedTarget(with_peg(path, peg));
        }
    }
    Ok((targets, skipped))
}

/// Makes text canonical in which an `@` is not special.
///
/// # Errors
/// `BAD_URL`; `RESERVED_FILENAME_SPECIFIED` for the name of the administrative directory.
pub fn canonical_whole(text: &str) -> Result<TypedTarget> {
    if is_url(text) {
        return canonical_url(text).map(TypedTarget);
    }
    let path = local_path::without_parents(text).to_string_lossy().into_owned();
    if is_reserved(&path) {
        return Err(reserved(text));
    }
    Ok(TypedTarget(path))
}

/// The error for the name of the administrative directory.
fn reserved(text: &str) -> Error {
    let message = format!("'{text}' ends in a reserved name");
    Error::new(Code::RESERVED_FILENAME_SPECIFIED, message)
}

/// True for canonical names of the administrative directory.
fn is_reserved(path: &str) -> bool {
    path.rsplit('/').next() == Some(".svn")
}

/// Finds the root of a target's repository. A repository that cannot be opened is not an error: the command reports it. A local path,
/// which is in no working copy, has no root, and the incumbent forgets the one that it has found before.
fn find_root(context: &ClientContext, target: &TypedTarget, root: &mut Option<Url>) -> Result<()> {
    let TargetPath::Url(url) = target.parse()?.path else {
        *root = None;
        return Ok(());
    };
    let found = match context.open(&url) {
        Ok(session) => session.root_url().clone(),
        Err(error) if error.code() == Code::RA_CANNOT_CREATE_SESSION => return Ok(()),
        Err(error) => return Err(error),
    };
    if root.as_ref().is_some_and(|root| *root != found) {
        let message = "All non-relative targets must have the same root URL";
        return Err(Error::new(Code::ILLEGAL_TARGET, message));
    }
    *root = Some(found);
    Ok(())
}

/// Parses a canonical target without its peg revision.
fn parse_path(text: &str) -> Result<TargetPath> {
    if !is_url(text) {
        return Ok(TargetPath::Local(text.to_owned()));
    }
    if !Url::is_url(text) {
        let message = format!("Illegal repository URL '{text}'");
        return Err(Error::new(Code::RA_ILLEGAL_URL, message));
    }
    Url::canonicalize(text).map(TargetPath::Url)
}

/// Returns a URL in its canonical form, but for text that only looks like a URL: it is refused when it is used.
fn canonical_url(text: &str) -> Result<String> {
    if !Url::is_url(text) {
        return Ok(percent::encode(text.as_bytes(), percent::URL_PATH_AND_PERCENT).collect());
    }
    Ok(Url::canonicalize(text)?.as_str().to_owned())
}

/// Returns a local path in its canonical form. `text` is the whole target.
fn canonical_path(text: &str, path: &str) -> Result<String> {
    if path.is_empty() && text.starts_with('@') {
        let message = format!("'{text}' is just a peg revision. Maybe try '{text}@' instead?");
        return Err(Error::new(Code::BAD_FILENAME, message));
    }
    Ok(local_path::without_parents(path).to_string_lossy().into_owned())
}

fn with_peg(mut path: String, peg: Option<&str>) -> String {
    if let Some(peg) = peg {
        path.push('@');
        path.push_str(peg);
    }
    path
}

/// Splits a target at the last `@` of its last component.
fn split_at_peg(text: &str) -> (&str, Option<&str>) {
    let last = text.rfind('/').map_or(0, |at| at + 1);
    match text[last..].rfind('@') {
        Some(at) => (&text[..last + at], Some(&text[last + at + 1..])),
        None => (text, None),
    }
}

/// True for text that the incumbent takes for a URL: `://` follows the first colon, and neither is at the beginning.
pub fn is_url(text: &str) -> bool {
    let Some(colon) = text.find([':', '/']) else {
        return false;
    };
    colon > 0 && text[colon..].starts_with("://")
}

fn is_relative_url(text: &str) -> bool {
    text.starts_with("^/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        let target = TypedTarget::canonical(text).map(|target| target.expect("a target"));
        match target.and_then(|target| target.parse()) {
            Ok(target) => format!("{:?} {:?}", target.path, target.peg),
            Err(error) => error.message(),
        }
    }

    #[test]
    fn peg_revisions_are_split_off_after_escapes_are_decoded() {
        for (typed, shape) in [
            ("svn://h/a%402", "Url(\"svn://h/a\") Some(Number(Revnum(2)))"),
            ("svn://h/a%40", "Url(\"svn://h/a\") None"),
            ("svn://h/a@@", "Url(\"svn://h/a@\") None"),
            ("svn://h/@1/a", "Url(\"svn://h/@1/a\") None"),
            ("svn://h/a@%7bx}", "Syntax error parsing peg revision '%7bx}'"),
            (
                "svn+ssh://u@h/",
                "Syntax error parsing peg revision 'h'; did you mean 'svn+ssh://u@h@'?",
            ),
            ("svn+ssh://u@h/x@foo", "Syntax error parsing peg revision 'foo'"),
            ("foo@/bar//", "Local(\"foo@/bar\") None"),
            ("@1", "'@1' is just a peg revision. Maybe try '@1@' instead?"),
            ("1://x", "Illegal repository URL '1://x'"),
            ("a:b://x", "Local(\"a:b:/x\") None"),
        ] {
            assert_eq!(parsed(typed), shape, "{typed}");
        }
    }
}
