//! The URL space: the meaning of the paths of requests, and the paths that responses name.
//!
//! Below a repository's own URL stand public resources (its youngest tree) and, below one special component (`!svn` unless an
//! administrator chose another), everything else: revisions, transactions, activities. Clients learn those URLs from
//! answers and never make them up, but old ones keep them in working copies for years.

use base::percent::{self, AsciiSet};
use base::{FsPath, RelPath, Revnum, bytes_not_utf8, with_substitutes};

/// Special component of the URL space if none is configured.
pub const SPECIAL: &str = "!svn";

/// The meaning of a path below a repository's URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A node of the youngest revision, or of the one that the query names.
    Public(FsPath),
    /// `bc/REV/PATH`: a node of a revision (HTTPv1).
    BaselineCollection(Revnum, FsPath),
    /// `rvr/REV/PATH`: the same (HTTPv2).
    RevisionRoot(Revnum, FsPath),
    /// `ver/REV/PATH`: a version of a node.
    Version(Revnum, FsPath),
    /// `vcc/default`: the repository as a version-controlled thing.
    Vcc,
    /// `bln/REV`: a revision's properties (HTTPv1).
    Baseline(Revnum),
    /// `rev/REV`: the same (HTTPv2).
    Revision(Revnum),
    /// `me`: the resource for reports and new transactions.
    Me,
    /// `act/ID`: a client's name for a transaction (HTTPv1).
    Activity(String),
    /// `wbl/ID/REV`: properties of an activity's transaction.
    WorkingBaseline(String, Revnum),
    /// `wrk/ID/PATH`: a node of an activity's transaction.
    Working(String, FsPath),
    /// `txn/NAME`: a transaction's properties.
    Txn(String),
    /// `txr/NAME/PATH`: a node of a transaction.
    TxnRoot(String, FsPath),
    /// `vtxn/NAME`: as `txn`, by the name that the client chose.
    Vtxn(String),
    /// `vtxr/NAME/PATH`: as `txr`, by the name that the client chose.
    VtxnRoot(String, FsPath),
}

impl Resource {
    /// Understands `below`: the components of a path behind the repository's URL, decoded. `special` are the special
    /// components. `None` is not a resource.
    pub fn parse(below: &[String], special: &[&str]) -> Option<Resource> {
        let starts = below.len() >= special.len()
            && !special.is_empty()
            && below.iter().zip(special).all(|(has, wants)| has == wants);
        if !starts {
            return Some(Resource::Public(path(below)?));
        }
        let rest = &below[special.len()..];
        let (kind, rest) = rest.split_first()?;
        let tail = |skip: usize| path(rest.get(skip..)?);
        let name = || rest.first().cloned();
        let only = || name().filter(|_| rest.len() == 1);
        let revision = || rest.first().and_then(|text| Revnum::parse(text.as_bytes()));
        let only_revision = || revision().filter(|_| rest.len() == 1);
        match kind.as_str() {
            "bc" => Some(Resource::BaselineCollection(revision()?, tail(1)?)),
            "rvr" => Some(Resource::RevisionRoot(revision()?, tail(1)?)),
            "ver" => Some(Resource::Version(revision()?, tail(1)?)),
            "vcc" => only().filter(|name| name == "default").map(|_| Resource::Vcc),
            "bln" => only_revision().map(Resource::Baseline),
            "rev" => only_revision().map(Resource::Revision),
            "me" => rest.is_empty().then_some(Resource::Me),
            "act" => only().map(Resource::Activity),
            "wbl" => {
                let rev = rest.get(1).filter(|_| rest.len() == 2)?;
                Some(Resource::WorkingBaseline(name()?, Revnum::parse(rev.as_bytes())?))
            }
            "wrk" => Some(Resource::Working(name()?, tail(1)?)),
            "txn" => only().map(Resource::Txn),
            "txr" => Some(Resource::TxnRoot(name()?, tail(1)?)),
            "vtxn" => only().map(Resource::Vtxn),
            "vtxr" => Some(Resource::VtxnRoot(name()?, tail(1)?)),
            _ => None,
        }
    }

    /// True for a transaction and for everything in one.
    pub fn is_in_transaction(&self) -> bool {
        match self {
            Resource::Public(_)
            | Resource::BaselineCollection(..)
            | Resource::RevisionRoot(..)
            | Resource::Version(..)
            | Resource::Vcc
            | Resource::Baseline(_)
            | Resource::Revision(_)
            | Resource::Me => false,
            Resource::Activity(_)
            | Resource::WorkingBaseline(..)
            | Resource::Working(..)
            | Resource::Txn(_)
            | Resource::TxnRoot(..)
            | Resource::Vtxn(_)
            | Resource::VtxnRoot(..) => true,
        }
    }

    /// The path in the repository, for resources that have one: what authorisation looks at.
    pub fn path(&self) -> Option<&FsPath> {
        match self {
            Resource::Public(path)
            | Resource::BaselineCollection(_, path)
            | Resource::RevisionRoot(_, path)
            | Resource::Version(_, path)
            | Resource::Working(_, path)
            | Resource::TxnRoot(_, path)
            | Resource::VtxnRoot(_, path) => Some(path),
            Resource::Vcc
            | Resource::Baseline(_)
            | Resource::Revision(_)
            | Resource::Me
            | Resource::Activity(_)
            | Resource::WorkingBaseline(..)
            | Resource::Txn(_)
            | Resource::Vtxn(_) => None,
        }
    }
}

fn path(components: &[String]) -> Option<FsPath> {
    FsPath::parse(&format!("/{}", components.join("/"))).ok()
}

/// The components of the path of a request: decoded, without empty ones and `.`, with `..` resolved, and whether it ended
/// in a slash. `None` for one that no server should follow: a `..` above the root, a bad escape, an encoded slash or NUL.
///
/// A component that is not UTF-8 has substitutes ([`with_substitutes`]): it is answered as the name of a node that does not exist.
pub fn split(path: &str) -> Option<(Vec<String>, bool)> {
    let mut out: Vec<String> = Vec::new();
    let mut slash = true;
    for raw in path.split('/') {
        let component = decode_bytes(raw)?;
        slash = matches!(&component[..], b"" | b"." | b"..");
        match &component[..] {
            b"" | b"." => {}
            b".." => _ = out.pop()?,
            c if c.contains(&b'/') || c.contains(&0) => return None,
            _ => out.push(with_substitutes(&component).into_owned()),
        }
    }
    Some((out, slash))
}

/// Decodes `%XX`; `None` for an escape without two digits, or if the result is not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    String::from_utf8(decode_bytes(text)?).ok()
}

/// Decodes `%XX`; `None` for an escape without two digits.
fn decode_bytes(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    percent::is_well_formed(text).then(|| percent::decode(text).into_owned())
}

/// True if a percent sign is not followed by two hexadecimal digits.
pub fn has_bad_escape(path: &str) -> bool {
    !percent::is_well_formed(path.as_bytes())
}

/// Appends a path as URLs have it: bytes that are not literal become `%XX` in capitals.
pub fn encode(path: &str, out: &mut String) {
    let restored = bytes_not_utf8(path);
    let bytes = restored.as_deref().unwrap_or(path.as_bytes());
    out.extend(percent::encode(bytes, percent::URL_PATH));
}

/// As [`encode`], and escaped for XML: an ampersand is literal in URLs but not there.
pub fn encode_escaped(path: &str, out: &mut Vec<u8>) {
    const AMPERSAND: &str = "%26";
    const SET: &AsciiSet = &percent::URL_PATH.add(b'&');
    for part in percent::encode(path.as_bytes(), SET) {
        let part = if part == AMPERSAND { "&amp;" } else { part };
        out.extend_from_slice(part.as_bytes());
    }
}

/// As [`encode`], with small digits and a literal semicolon: how WebDAV's own part of Apache writes them.
pub fn encode_lower(path: &str, out: &mut String) {
    const SET: &AsciiSet = &percent::URL_PATH.remove(b';');
    let restored = bytes_not_utf8(path);
    let bytes = restored.as_deref().unwrap_or(path.as_bytes());
    for part in percent::encode(bytes, SET) {
        match part.starts_with('%') {
            true => out.extend(part.chars().map(|c| c.to_ascii_lowercase())),
            false => out.push_str(part),
        }
    }
}

/// Where a repository's URLs begin, and how to build those below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryUrls {
    /// Path of the repository's URL, encoded, without slash at its end; empty at the server's root.
    root: String,
    /// The special part, encoded.
    special: String,
}

impl RepositoryUrls {
    /// `root` is the encoded path of the repository's URL, without slash at its end; `special` the special components.
    pub fn new(root: String, special: &str) -> RepositoryUrls {
        let mut encoded = String::new();
        encode(special, &mut encoded);
        RepositoryUrls {
            root,
            special: encoded,
        }
    }

    /// Path of the repository's URL; empty at the server's root.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// `ROOT/SPECIAL`.
    pub fn special(&self) -> String {
        format!("{}/{}", self.root, self.special)
    }

    /// URL of a public node.
    pub fn public(&self, path: &FsPath) -> String {
        let mut out = self.root.clone();
        encode(path.as_str(), &mut out);
        out
    }

    /// `SPECIAL/KIND/REV/PATH`: `bc`, `rvr` and `ver`. The root of the tree keeps its slash.
    pub fn node(&self, kind: &str, rev: Revnum, path: &FsPath) -> String {
        let mut out = format!("{}/{}/{kind}/{rev}", self.root, self.special);
        encode(path.as_str(), &mut out);
        out
    }

    /// `SPECIAL/KIND/NAME`: `bln`, `rev`, `act`, `txn`, `vtxn`.
    pub fn named(&self, kind: &str, name: &str) -> String {
        let mut out = format!("{}/{}/{kind}/", self.root, self.special);
        encode(name, &mut out);
        out
    }

    /// `SPECIAL/KIND/NAME/PATH`: `txr`, `vtxr`, `wrk`.
    pub fn working(&self, kind: &str, name: &str, path: &FsPath) -> String {
        let mut out = self.named(kind, name);
        encode(path.as_str(), &mut out);
        out
    }
}

/// The path of a full URL (`http://host/path`) or of a path, without query and fragment.
pub fn path_of(url: &str) -> Option<&str> {
    let path = match url.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => match rest.find('/') {
            Some(at) => &rest[at..],
            None => "/",
        },
        _ => url,
    };
    let path = path.split(['?', '#']).next().unwrap_or(path);
    path.starts_with('/').then_some(path)
}

/// A path in a request body: relative to the request's own, canonical, at most with one slash before it.
pub fn report_path(text: &str) -> Option<RelPath> {
    RelPath::parse(text.strip_prefix('/').unwrap_or(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Resource> {
        let (components, _) = split(text)?;
        Resource::parse(&components, &["!svn"])
    }

    fn fs(text: &str) -> FsPath {
        FsPath::parse(text).expect("a path")
    }

    #[test]
    fn every_kind_of_resource_is_known() {
        let r = Revnum(3);
        assert_eq!(parse("/a%20b//c/"), Some(Resource::Public(fs("/a b/c"))));
        assert_eq!(parse("/!svnx"), Some(Resource::Public(fs("/!svnx"))));
        assert_eq!(parse("/!svn/rvr/3"), Some(Resource::RevisionRoot(r, fs("/"))));
        assert_eq!(parse("/!svn/ver/3/a"), Some(Resource::Version(r, fs("/a"))));
        assert_eq!(parse("/!svn/vcc/default"), Some(Resource::Vcc));
        assert_eq!(parse("/!svn/me"), Some(Resource::Me));
        assert_eq!(
            parse("/!svn/wbl/x/3"),
            Some(Resource::WorkingBaseline("x".into(), r))
        );
        assert_eq!(
            parse("/!svn/txr/3-1/a"),
            Some(Resource::TxnRoot("3-1".into(), fs("/a")))
        );
        for bad in [
            "/!svn",
            "/!svn/",
            "/!svn/rvr",
            "/!svn/rvr/x",
            "/!svn/vcc/other",
            "/!svn/rev/3/x",
            "/!svn/no/3",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn paths_that_lead_outside_or_hide_slashes_are_refused() {
        for bad in [
            "/..", "/a/../..", "/%2e%2e", "/a%2Fb", "/a%00", "/%", "/%4", "/%zz",
        ] {
            assert_eq!(split(bad), None, "{bad}");
        }
        assert_eq!(split("/a/./b/../c"), Some((vec!["a".into(), "c".into()], false)));
        assert_eq!(split("/a/"), Some((vec!["a".into()], true)));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_names_that_no_node_has() {
        let (components, _) = split("/a/%c3%a4%ff%fe").expect("a path");
        assert_eq!(components, ["a", "\u{e4}\u{1a}\u{ff}\u{1a}\u{fe}"]);
        assert_eq!(
            bytes_not_utf8(&components[1]).as_deref(),
            Some(&b"\xc3\xa4\xff\xfe"[..])
        );
        let mut again = String::new();
        encode(&components[1], &mut again);
        assert_eq!(again, "%C3%A4%FF%FE");
        assert_eq!(bytes_not_utf8("a\u{1a}b"), None);
        assert_eq!(split("/%ff%00"), None);
        assert_eq!(decode("%ff"), None);
    }

    #[test]
    fn urls_are_built_as_the_incumbent_builds_them() {
        let base = RepositoryUrls::new("/svn/main".into(), "!svn");
        assert_eq!(
            base.node("rvr", Revnum(2), &fs("/trunk/b file&é;")),
            "/svn/main/!svn/rvr/2/trunk/b%20file&%C3%A9%3B"
        );
        assert_eq!(base.node("ver", Revnum(0), &fs("/")), "/svn/main/!svn/ver/0/");
        assert_eq!(path_of("http://host/a?b"), Some("/a"));
        assert_eq!(path_of("http://host"), Some("/"));
        assert_eq!(path_of("a/b"), None);
    }
}
