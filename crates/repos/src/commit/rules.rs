//! What a commit refuses: bad names, foreign sources of copies, out-of-date nodes, missing rights.

use base::{Code, Error, FsPath, NodeKind, Result, Revnum, percent, with_substitutes};

use super::CommitAccess;

/// Refuses names with control characters. `path` appears in the error as it is.
pub(crate) fn check_name(path: &str) -> Result<()> {
    let is_control = |b: &u8| *b < 0x20 || *b == 0x7f;
    let Some(bad) = path.bytes().find(|b| is_control(b)) else {
        return Ok(());
    };
    let mut shown = String::with_capacity(path.len() + 8);
    for c in path.chars() {
        match u8::try_from(c) {
            Ok(b) if is_control(&b) => shown.push_str(&format!("\\{b:03o}")),
            _ => shown.push(c),
        }
    }
    Err(Error::new(
        Code::FS_PATH_SYNTAX,
        format!("Invalid control character '0x{bad:02x}' in path '{shown}'"),
    ))
}

/// Refuses a change that is based on another revision of a node than the transaction's. `created` is `None` for a
/// node that the transaction itself has made or changed, `based_on` is `None` if the client did not send it.
pub(crate) fn check_out_of_date(
    path: &FsPath,
    kind: NodeKind,
    based_on: Option<Revnum>,
    created: Option<Revnum>,
    txn_base: Revnum,
) -> Result<()> {
    match based_on {
        Some(rev) if created.is_some_and(|created| rev < created) => Err(out_of_date(path, kind)),
        Some(rev) if Some(rev) != created && rev > txn_base => Err(Error::new(
            Code::FS_NO_SUCH_REVISION,
            format!("No such revision {rev}"),
        )),
        _ => Ok(()),
    }
}

/// Makes the error for a change to a node that differs from the client's.
pub(crate) fn out_of_date(path: &FsPath, kind: NodeKind) -> Error {
    let what = match kind {
        NodeKind::Dir => "Directory ",
        NodeKind::File => "File ",
        _ => "",
    };
    Error::new(Code::FS_TXN_OUT_OF_DATE, format!("{what}'{path}' is out of date"))
}

/// Returns the path of a copy's source, whose URL must be in this repository. The path is not made canonical further,
/// so one with `..` is simply not found.
pub(super) fn copy_source(url: &str, base_url: &str) -> Result<String> {
    let url = decoded(url);
    match url.strip_prefix(base_url) {
        Some("") => Ok("/".to_owned()),
        Some(path) if path.starts_with('/') => Ok(path.to_owned()),
        _ => Err(Error::new(
            Code::FS_GENERAL,
            format!("Source url '{url}' is from different repository"),
        )),
    }
}

/// Makes the error for a source path that no repository can have.
pub(super) fn no_such_source(path: &str, rev: Revnum) -> Error {
    Error::new(
        Code::FS_NOT_FOUND,
        format!("File not found: revision {rev}, path '{path}'"),
    )
}

/// Makes a URL canonical: scheme and host in lower case, no empty components, no `%XX`. Bytes that are not UTF-8 make
/// a path that does not exist.
fn decoded(url: &str) -> String {
    let (mut out, path) = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let start = format!("{}://{}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
            (start.into_bytes(), path)
        }
        None => (Vec::new(), url),
    };
    let bare = out.is_empty();
    for component in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        out.push(b'/');
        out.extend_from_slice(&percent::decode(component.as_bytes()));
    }
    if bare && out.is_empty() {
        out.push(b'/');
    }
    // The incumbent's URLs end at a NUL.
    out.truncate(memchr::memchr(0, &out).unwrap_or(out.len()));
    with_substitutes(&out).into_owned()
}

/// Refuses what the user may not write.
pub(super) fn check_write(authz: &dyn CommitAccess, path: &FsPath, recursive: bool) -> Result<()> {
    match authz.may_write(path, recursive)? {
        true => Ok(()),
        false => Err(Error::new(Code::AUTHZ_UNWRITABLE, DENIED)),
    }
}

/// Refuses what the user may not read.
pub(super) fn check_read(authz: &dyn CommitAccess, path: &FsPath, recursive: bool) -> Result<()> {
    match authz.may_read(path, recursive)? {
        true => Ok(()),
        false => Err(Error::new(Code::AUTHZ_UNREADABLE, DENIED)),
    }
}

const DENIED: &str = "Access denied";

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages as clients of svnserve 1.14.2 get them.
    #[test]
    fn control_characters_in_names() {
        for (path, expected) in [
            ("A/ä b", None),
            (
                "a\x01b",
                Some("Invalid control character '0x01' in path 'a\\001b'"),
            ),
            (
                "a\x7fb",
                Some("Invalid control character '0x7f' in path 'a\\177b'"),
            ),
            (
                "A/\nb\tc",
                Some("Invalid control character '0x0a' in path 'A/\\012b\\011c'"),
            ),
        ] {
            let said = check_name(path).err();
            assert_eq!(said.as_ref().map(Error::message).as_deref(), expected);
            assert!(said.is_none_or(|e| e.code() == Code::FS_PATH_SYNTAX));
        }
    }

    #[test]
    fn based_on_another_revision() {
        let path = FsPath::parse("/A/f").expect("canonical");
        let check = |based_on: Option<u64>, created: Option<u64>| {
            let (based_on, created) = (based_on.map(Revnum), created.map(Revnum));
            check_out_of_date(&path, NodeKind::File, based_on, created, Revnum(9))
                .err()
                .map(|e| (e.code(), e.message()))
        };
        let stale = Some((Code::FS_TXN_OUT_OF_DATE, "File '/A/f' is out of date".to_owned()));
        let future = Some((Code::FS_NO_SUCH_REVISION, "No such revision 99".to_owned()));
        assert_eq!(check(None, Some(3)), None);
        assert_eq!(check(Some(2), Some(3)), stale);
        assert_eq!(check(Some(3), Some(3)), None);
        assert_eq!(check(Some(8), Some(3)), None);
        assert_eq!(check(Some(99), Some(3)), future);
        assert_eq!(check(Some(2), None), None);
        assert_eq!(check(Some(99), None), future);
    }

    /// Each was sent to svnserve 1.14.2 for the repository `svn://h:1/r`.
    #[test]
    fn sources_of_copies() {
        for (url, expected) in [
            ("svn://h:1/r", Ok("/")),
            ("svn://h:1/r/", Ok("/")),
            ("SVN://H:1/r/%69ota", Ok("/iota")),
            ("svn://h:1/r//A//f", Ok("/A/f")),
            ("svn://h:1/r/A%2Fs", Ok("/A/s")),
            ("svn://h:1/r%2Fiota", Ok("/iota")),
            ("svn://h:1/r/A/%2e%2E/iota", Ok("/A/../iota")),
            ("svn://h:1/r/%zzä", Ok("/%zzä")),
            ("svn://h:1/r/a%2", Ok("/a%2")),
            ("svn://h:1/r/a%00b", Ok("/a")),
            ("svn://h:1/other/%69ota//x/", Err("svn://h:1/other/iota/x")),
            ("svn://h:1/other/%C3%A4 ä", Err("svn://h:1/other/ä ä")),
            ("iota", Err("/iota")),
            ("", Err("/")),
            // svnserve compares without looking for the end of a component: `/x/iota` there.
            ("svn://h:1/rx/iota", Err("svn://h:1/rx/iota")),
        ] {
            let expected = expected
                .map(str::to_owned)
                .map_err(|url| format!("Source url '{url}' is from different repository"));
            assert_eq!(copy_source(url, "svn://h:1/r").map_err(|e| e.message()), expected);
        }
    }
}
