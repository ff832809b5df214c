//! The cache against files that change.

use std::cell::Cell;
use std::fs;

use tempfile::TempDir;

use super::*;
use crate::config::Access;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
}

const NO_REPOSITORY: &FetchRevisioned<'static> = &|_| Ok(None);

#[test]
fn values_are_shared_until_the_file_changes() {
    let folder = folder();
    let path = folder.path().join("svnserve.conf");
    let cache = ConfigCache::default();
    assert_eq!(*cache.server(&path).expect("no file"), ServerConf::default());
    assert_eq!(cache.server_required(&path).expect_err("no file").code(), Code(2));

    write(&path, "[general]\nanon-access=none\n");
    let first = cache.server(&path).expect("valid");
    assert_eq!(first.anon_access, Access::None);
    assert!(Arc::ptr_eq(&first, &cache.server(&path).expect("valid")));

    // The same contents in another file: read again, not parsed again.
    let other = folder.path().join("other");
    write(&other, "[general]\nanon-access=none\n");
    fs::rename(&other, &path).expect("renamed");
    assert!(Arc::ptr_eq(&first, &cache.server(&path).expect("valid")));

    write(&path, "[general]\nanon-access=read\n");
    assert_eq!(cache.server(&path).expect("valid").anon_access, Access::Read);
    assert_eq!(first.anon_access, Access::None, "who began with it keeps it");

    write(&path, "[general\n");
    for _ in 0..2 {
        let e = cache.server(&path).expect_err("broken");
        let links: Vec<_> = e.links().map(|l| (l.code(), l.text())).collect();
        let head = format!("Error while parsing config file: {}:", path.display());
        assert_eq!(
            links,
            [
                (Code::MALFORMED_FILE, head),
                (
                    Code::MALFORMED_FILE,
                    "line 1: Section header must end with ']'".to_owned()
                )
            ]
        );
    }
    write(&path, "[general]\nanon-access=read\n");
    assert_eq!(cache.server(&path).expect("mended").anon_access, Access::Read);
}

#[test]
fn a_directory_is_no_file() {
    let folder = folder();
    let e = ConfigCache::default()
        .server(folder.path())
        .expect_err("a directory");
    let texts: Vec<_> = e.links().map(base::Link::text).collect();
    let shown = folder.path().display();
    assert_eq!(
        texts,
        [
            format!("Error while parsing config file: {shown}:"),
            format!("Can't read file '{shown}': Is a directory")
        ]
    );
}

#[test]
fn passwords_tell_clients_nothing() {
    let folder = folder();
    let path = folder.path().join("passwd");
    let cache = ConfigCache::default();
    let e = cache.passwords(&path).expect_err("no file");
    let codes: Vec<_> = e.links().map(base::Link::code).collect();
    assert_eq!(codes, [Code::AUTHN_FAILED, Code(2)]);
    assert_eq!(e.message(), "Authentication failed");
    write(&path, "[users]\na=b\n");
    let passwords = cache.passwords(&path).expect("valid").expect("readable");
    assert_eq!(passwords.password(b"a"), Some(&b"b"[..]));
}

#[test]
fn authz_and_groups_are_one_thing() {
    let folder = folder();
    let file = |name: &str| folder.path().join(name);
    let conf = ServerConf {
        authz_db: Some(Source::File(file("authz"))),
        groups_db: Some(Source::File(file("groups"))),
        ..ServerConf::default()
    };
    let files = AuthzFiles::of(&conf, Path::new("/r")).expect("it has");
    let cache = ConfigCache::default();
    write(&file("authz"), "[/]\n@g=r\n");
    let e = cache.authz(&files, NO_REPOSITORY).expect_err("no groups file");
    let links: Vec<_> = e.links().map(|l| (l.code(), l.text())).collect();
    assert_eq!(
        links,
        [
            (
                Code::AUTHZ_INVALID_CONFIG,
                "Invalid authz configuration".to_owned()
            ),
            (
                Code::ILLEGAL_TARGET,
                format!("'{}' is not a file", file("groups").display())
            )
        ]
    );
    write(&file("groups"), "[groups]\ng=@x\n");
    let e = cache.authz(&files, NO_REPOSITORY).expect_err("undefined group");
    let texts: Vec<_> = e.links().map(base::Link::text).collect();
    assert_eq!(
        texts,
        [
            "Invalid authz configuration".to_owned(),
            format!(
                "Error while parsing config file: '{}' (line 2):",
                file("groups").display()
            ),
            "Undefined group '@x'".to_owned()
        ]
    );
    write(&file("groups"), "[groups]\ng=u\n");
    let first = cache.authz(&files, NO_REPOSITORY).expect("valid");
    assert!(Arc::ptr_eq(
        &first,
        &cache.authz(&files, NO_REPOSITORY).expect("valid")
    ));
    write(&file("groups"), "[groups]\ng=v\n");
    let second = cache.authz(&files, NO_REPOSITORY).expect("valid");
    let max = |authz: &Authz| authz.rights(None, Some("u")).max_rights();
    assert!(max(&first) > max(&second));
}

#[test]
fn rules_inside_a_repository_are_fetched_each_time() {
    let conf = ServerConf {
        authz_db: Some(Source::new(b"^/a", Path::new("/"))),
        ..ServerConf::default()
    };
    let files = AuthzFiles::of(&conf, Path::new("/r")).expect("it has");
    let cache = ConfigCache::default();
    let fetched = Cell::new(0);
    let fetch = |path: &[u8]| {
        assert_eq!(path, b"/r/a");
        fetched.set(fetched.get() + 1);
        Ok(Some(if fetched.get() < 3 {
            b"[/]\n".to_vec()
        } else {
            b"[/]\n*=r\n".to_vec()
        }))
    };
    let first = cache.authz(&files, &fetch).expect("valid");
    assert!(Arc::ptr_eq(&first, &cache.authz(&files, &fetch).expect("valid")));
    assert!(!Arc::ptr_eq(&first, &cache.authz(&files, &fetch).expect("valid")));
    let e = cache.authz(&files, NO_REPOSITORY).expect_err("not there");
    assert_eq!(e.root_cause().text(), "'file:///r/a' is not a file");
}

#[test]
fn errors_of_meaning_have_their_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("authz");
    let conf = ServerConf {
        authz_db: Some(Source::File(path.clone())),
        ..ServerConf::default()
    };
    let files = AuthzFiles::of(&conf, Path::new("/r")).expect("it has");
    for (text, line) in [
        ("# c\n[/]\n*=r\na=q\n", 4),
        ("[groups]\ng=u\n\n[/]\n*=r\n@h=r\n", 6),
        ("[groups]\ng=u,\n  @h\n[/]\n", 2),
        ("[groups]\ng=@h\nh=@g\n[/]\n", 3),
        ("[aliases]\na=x\n[groups]\ng=&b\n[/]\n", 4),
        ("[/]\n*=r\n\n[/]\n", 4),
        ("[/]\n[:glob:/]\n", 2),
        ("[/]\n[/a]\n[x]\n", 3),
        ("[/]\n*=r\n[/a]\na=r\n&n=r\n", 5),
    ] {
        write(&path, text);
        let cache = ConfigCache::default();
        let e = cache.authz(&files, NO_REPOSITORY).expect_err(text);
        let said = e.links().nth(1).map(base::Link::text);
        let name = path.display();
        let expect = format!("Error while parsing config file: '{name}' (line {line}):");
        assert_eq!(said, Some(expect), "{text:?}: {}", e.message());
    }
}

#[test]
fn odd_values_are_noticed_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("svnserve.conf");
    write(&path, "[general]\nanon-access = yes\nauth-access = write\n");
    let cache = ConfigCache::default();
    for _ in 0..2 {
        assert_eq!(cache.server(&path).expect("it holds").anon_access, Access::None);
    }
    let said: Vec<String> = cache.take_notices().iter().map(Error::message).collect();
    let expect = "'anon-access = yes' counts as 'none': it can be 'none', 'read' or 'write'";
    assert_eq!(said, [format!("{}: {expect}", path.display())]);
    assert!(cache.take_notices().is_empty());
}
