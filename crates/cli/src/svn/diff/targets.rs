//! What is compared: the operands, and the options `--old` and `--new`.
//!
//! Comparisons are made one after the other, and each is found when those before it are complete. Some errors about what is compared are
//! found only after the options of texts were checked: [`Input::Refused`].

use std::ffi::{OsStr, OsString};
use std::path::Path;

use base::{Code, Error, RelPath, Result, Url};
use client::diff::{Comparison, LocalPaths};
use client::locate;

use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::ClientContext;
use crate::client_context::target::{self, TargetPath, TypedTarget};
use crate::local_path;
use crate::out::Out;
use crate::svn::options::TargetsOption;
use crate::svn::target_list::needs_versioned_path;

/// A comparison whose revisions are as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// See [`Comparison::Node`].
    Node {
        url: Url,
        peg: Revision,
        old: Revision,
        new: Revision,
    },
    /// See [`Comparison::Urls`].
    Urls {
        old: (Url, Revision),
        new: (Url, Revision),
    },
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nodes of a repository.
    Repository(Target),
    /// Paths of the local disk.
    Local(LocalPaths),
    /// Nothing that can be compared.
    Refused(Error),
}

impl From<Result<Input>> for Input {
    fn from(found: Result<Input>) -> Input {
        found.unwrap_or_else(Input::Refused)
    }
}

impl Target {
    /// Returns the comparison.
    ///
    /// # Errors
    /// `CLIENT_BAD_REVISION` and `CLIENT_VERSIONED_PATH_REQUIRED` for revisions of a working copy.
    pub fn resolve(&self) -> Result<Comparison> {
        Ok(match self {
            Target::Node { url, peg, old, new } => Comparison::Node {
                url: url.clone(),
                peg: peg.of_url()?,
                old: old.of_url()?,
                new: new.of_url()?,
            },
            Target::Urls { old, new } => Comparison::Urls {
                old: old.0.clone(),
                old_rev: of_end(old.1)?,
                new: new.0.clone(),
                new_rev: of_end(new.1)?,
            },
        })
    }
}

/// Returns the revision of an end of a comparison of URLs.
fn of_end(revision: Revision) -> Result<locate::Revision> {
    revision.of_url().map_err(|_| needs_versioned_path())
}

/// Returns the comparisons of an argument list without `--old`. Missing revisions and paths make comparisons that are refused.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for URLs mixed with paths, and for revisions of targets.
pub fn of_operands(
    context: &ClientContext,
    out: &mut Out,
    operands: &[OsString],
    range: Option<RevisionRangeArg>,
) -> Result<Vec<Result<Input>>> {
    let mut targets = target::read_targets(context, out, operands, &TargetsOption::default())?;
    if targets.is_empty() {
        targets.push(TypedTarget::current_directory());
    }
    if let ([old, new], None) = (&targets[..], range)
        && (old.is_url() || new.is_url())
    {
        let ends = [old.parse()?, new.parse()?];
        return Ok(vec![Ok(two_ends(&ends).into())]);
    }
    if targets.iter().any(TypedTarget::is_url) && !targets.iter().all(TypedTarget::is_url) {
        return Err(mixed());
    }
    Ok(targets.iter().map(|target| one_node(target, range)).collect())
}

/// Returns the comparison of two nodes.
///
/// # Errors
/// `WC_NOT_WORKING_COPY` for a path.
fn two_ends(ends: &[target::Target; 2]) -> Result<Input> {
    let end = |target: &target::Target| -> Result<(Url, Revision)> {
        Ok((target.url()?.clone(), target.peg.unwrap_or(Revision::Head)))
    };
    let (old, new) = (end(&ends[0])?, end(&ends[1])?);
    Ok(Input::Repository(Target::Urls { old, new }))
}

/// Returns the comparison of two revisions of a node.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for a peg revision that is none.
fn one_node(typed: &TypedTarget, range: Option<RevisionRangeArg>) -> Result<Input> {
    if range.is_none()
        && !typed.is_url()
        && let Err(error) = typed.url()
    {
        // A comparison within a working copy has no peg revisions.
        return Ok(Input::Refused(error));
    }
    let target = typed.parse()?;
    let found = target.url().and_then(|url| match range {
        Some(range) => Ok(Input::Repository(Target::Node {
            url: url.clone(),
            peg: target.peg.unwrap_or(Revision::Head),
            old: range.start,
            new: range.end.unwrap_or(Revision::Head),
        })),
        None => {
            let message = "Not all required revisions are specified";
            Err(Error::new(Code::CLIENT_BAD_REVISION, message))
        }
    });
    Ok(found.into())
}

/// Returns the comparisons of an argument list with `--old`: each has the error `CL_ARG_PARSING_ERROR` for a path that is a URL. Paths
/// instead of URLs make comparisons that are refused.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for revisions of the ends.
pub fn of_options(
    context: &ClientContext,
    out: &mut Out,
    old: &OsStr,
    new: Option<&OsStr>,
    paths: &[OsString],
    range: Option<RevisionRangeArg>,
) -> Result<Vec<Result<Input>>> {
    let none = TargetsOption::default();
    let has_new = new.is_some();
    let paths = target::read_targets(context, out, paths, &none)?;
    let ends = [old.to_owned(), new.unwrap_or(old).to_owned()];
    let ends = target::read_targets(context, out, &ends, &none)?;
    let [old, new] = &ends[..] else {
        return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
    };
    let (old, new) = (old.parse()?, new.parse()?);
    let start = range.map(|range| range.start);
    let end = range.and_then(|range| range.end);
    let old_rev = old.peg.or(start).unwrap_or(Revision::Head);
    let new_rev = new.peg.or(end).unwrap_or(Revision::Head);
    let pair = |typed: &str| -> Result<Input> {
        if let (true, TargetPath::Local(old_path), TargetPath::Local(new_path)) =
            (has_new, &old.path, &new.path)
        {
            let revs = [old.peg.or(start), new.peg.or(end)];
            return local_pair([old_path, new_path], revs, typed).map(Input::Local);
        }
        let urls = [end_url(&old, typed)?, end_url(&new, typed)?];
        let path = relative(typed)?;
        Ok(Input::Repository(Target::Urls {
            old: (urls[0].join(&path), old_rev),
            new: (urls[1].join(&path), new_rev),
        }))
    };
    if paths.is_empty() {
        return Ok(vec![Ok(pair("").into())]);
    }
    let below = |path: &TypedTarget| match path.is_url() {
        true => {
            let message = format!("Path '{}' not relative to base URLs", path.as_str());
            Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
        }
        false => Ok(pair(path.as_str()).into()),
    };
    Ok(paths.iter().map(below).collect())
}

/// Returns the comparison of two local paths, which exist in no other version.
///
/// # Errors
/// `WC_NOT_WORKING_COPY` for a path with a revision, `INCORRECT_PARAMS` for the base of a working copy.
fn local_pair(paths: [&str; 2], revs: [Option<Revision>; 2], typed: &str) -> Result<LocalPaths> {
    let paths = paths.map(|path| Path::new(path).join(typed));
    let paths = paths.map(|path| local_path::without_parents(path).to_string_lossy().into_owned());
    let is_old_version = |rev: Option<Revision>| rev.is_some_and(|rev| rev != Revision::Base);
    if is_old_version(revs[0]) {
        return Err(target::not_a_working_copy(&paths[1]));
    }
    if is_old_version(revs[1]) {
        return Err(target::not_a_working_copy(&paths[0]));
    }
    if revs.iter().any(Option::is_some) {
        let message = "A non-URL diff at this time must be either from a path's base to the same path's working version or between the \
                       working versions of two paths";
        let error = Error::new(Code::INCORRECT_PARAMS, message);
        return Err(error.context("Sorry, svn_client_diff7 was called in a way that is not yet supported"));
    }
    let directory = std::env::current_dir().map_err(|e| Error::os(&e, "Can't get working directory"))?;
    Ok(LocalPaths { directory, paths })
}

/// Returns the URL of an end. The error for a local path names the path below it.
fn end_url<'t>(end: &'t target::Target, below: &str) -> Result<&'t Url> {
    match &end.path {
        TargetPath::Url(url) => Ok(url),
        TargetPath::Local(path) => {
            let path = Path::new(path).join(below);
            Err(target::not_a_working_copy(&path.to_string_lossy()))
        }
    }
}

fn relative(text: &str) -> Result<RelPath> {
    let mut names: Vec<&str> = Vec::new();
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." if !names.is_empty() => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    RelPath::canonicalize(&names.join("/"))
}

fn mixed() -> Error {
    let form = "'svn diff [-r N[:M]] [TARGET[@REV]...]' does not support mixed target types. Try using the --old and --new options or \
                one of the shorthand invocations listed in 'svn help diff'.";
    let error = Error::new(
        Code::ILLEGAL_TARGET,
        "Cannot mix repository and working copy targets",
    );
    error
        .wrap(Code::CL_ARG_PARSING_ERROR, "Error parsing arguments")
        .context(form)
}
