//! Faulty files: we find the same fault as `svnauthz validate` and report it with the same message.
//!
//! Line numbers differ: the incumbent does not count the lines of section headers.

use std::process::Command;

use repos::authz::Authz;

/// The error chain, one `E220003: message` a line; empty if the file is valid.
fn ours(text: &[u8], groups: Option<&[u8]>) -> String {
    match Authz::parse(text, groups) {
        Ok(authz) => {
            let warnings = authz.warnings().iter();
            warnings
                .map(|w| format!("warning: W{:06}: {}\n", w.code().0, w.message()))
                .collect()
        }
        Err(e) => {
            let head = format!("E{:06}: Error while parsing authz file: 'authz':\n", e.code().0);
            let links = e
                .links()
                .map(|link| format!("E{:06}: {}\n", link.code().0, link.text()));
            head + &links.collect::<String>()
        }
    }
}

fn theirs(text: &[u8], groups: Option<&[u8]>) -> String {
    let folder = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(folder.path().join("authz"), text).expect("written");
    let mut command = Command::new("svnauthz");
    command.env("LC_ALL", "C.UTF-8").current_dir(folder.path());
    match groups {
        None => command.args(["validate", "authz"]),
        Some(groups) => {
            std::fs::write(folder.path().join("groups"), groups).expect("written");
            command.args(["accessof", "authz", "--groups-file", "groups"])
        }
    };
    let output = command.output().expect("svnauthz is installed");
    String::from_utf8_lossy(&output.stderr).replace("svnauthz: ", "")
}

/// Replaces the digits after `line ` by `N`.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split("line ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "line N";
        out += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out
}

fn same(text: &[u8], groups: Option<&[u8]>) {
    let (ours, theirs) = (ours(text, groups), theirs(text, groups));
    assert_eq!(
        without_numbers(&ours),
        without_numbers(&theirs),
        "{}",
        text.escape_ascii()
    );
}

#[test]
fn faults_of_ini_syntax() {
    for text in [
        "",
        "[/",
        "[",
        "x",
        " x",
        " [/]",
        "[/]\nx",
        "[/]\n x=r",
        "[/]\n# c\n  x = r",
        "[/]\nx = r\n\n  w",
        " # c\n[/\n",
        "[/]\n # c",
        "[/]\r\nx = q\r\n",
        "[/]\rx = q\r",
        "[/]\nx = r # w",
        "; foo\n[/]",
        "[/]\nx = r = w",
        "[/]\nx:y = r",
        "\u{feff}[/]\nx = q",
        "[/]\nx = %(y)s\ny=r",
        "[/]\nx=r\n  #\ny=q",
        "[/]\nx=\ny=\n=q",
    ] {
        same(text.as_bytes(), None);
    }
    same(b"[/\0]\nx = q", None);
    same(b"[/]\nx\0y = q", None);
    same(b"[/]\nx = q\0r", None);
}

#[test]
fn in_section_names() {
    for name in [
        "",
        "a",
        "a:b",
        "a:",
        ":/",
        ":",
        "::/",
        "a:b:/",
        "a/b:/",
        "/a/",
        "//",
        "//a",
        "/a//b",
        "/./a",
        "/a/.",
        "/a/..",
        "/../a",
        "/a:b",
        "r:/a:b",
        "r:/a/",
        "r:a",
        ":glob:/",
        ":glob:r:/",
        ":glob:r:",
        ":glob:",
        ":glob::/",
        ":glob:r",
        ":glob:/a/",
        ":glob:/a//b",
        ":glob:/./a",
        ":glob:r:/a/",
        ":GLOB:/a",
        ":foo:/a",
        ":glob",
        "glob:/a",
        " /",
        "/ ",
        ":/a:b",
        "Groups",
        " groups",
        "é:/a/",
        "é",
        ":é:/",
        "//a/..",
        ":glob:/\\.",
    ] {
        same(format!("[{name}]\n").as_bytes(), None);
    }
}

#[test]
fn in_sections_with_the_same_meaning() {
    for text in [
        "[/]\nx=r\n[/]\ny=q",
        "[/a]\n[:glob:/a]",
        "[:glob:/a]\n[/a]\nx=q",
        "[r:/a]\n[:glob:r:/a]",
        "[/a]\n[r:/a]",
        "[:glob:/a/**/*]\n[:glob:/a/*/**]",
        "[:glob:/**/**]\n[:glob:/**]",
        "[:glob:/***]\n[:glob:/*]",
        "[:glob:/a***b]\n[:glob:/a*b]",
        "[/*]\n[:glob:/*]",
        "[:glob:/\\a]\n[/a]",
        "[:glob:/\\*]\n[/*]",
        "[:glob:/\\a*]\n[:glob:/a*]",
        "[:glob:/*\\a]\n[:glob:/*a]",
        "[:glob:/a\\*]\n[/a*]",
        "[:glob:/\\a?]\n[:glob:/a?]",
        "[:glob:/[x]\n[/[x]",
        "[:glob:/a\\]\n[/a\\]",
        "[:glob:/\\**]\n[:glob:/*\\*]",
        "[:glob:/a\\\\]\n[/a\\]",
        "[:glob:/**/*/**/*]\n[:glob:/*/*/**]",
        "[//a]\n[/]",
        "[r://a]\n[r:/]",
        "[:glob://**]\n[/]",
        "[///b]\n[//a]",
        "[groups]\na=b\n[groups]",
        "[aliases]\n[aliases]",
        "[r:/a]\n[r:/a]",
        "[/a]\n[/A]",
        "[glob:/a]\n[:glob:/a]",
    ] {
        same(text.as_bytes(), None);
    }
}

#[test]
fn in_entries() {
    for entry in [
        "@x=r",
        "&x=r",
        "~@x=r",
        "~&x=r",
        "$foo=r",
        "~$foo=r",
        "$Authenticated=r",
        "~*=r",
        "~~x=r",
        "~=r",
        "@=r",
        "&=r",
        "$=r",
        "*x=r",
        "~*x=r",
        "~ x=r",
        "@ x=r",
        "x=rr",
        "x=wr",
        "x=r w",
        "x=w",
        "x=R",
        "x=r,w",
        "x=rwx",
        "x=wx",
        "x=r\tw",
        "@x=q",
        "~*=q",
        "x=q\nx=r",
        "x=r\nx=w",
        "~*=r\nx=q",
        "x=q\n~*=r",
        "@u=r\n&v=r",
        "&v=r\n@u=r",
        "@u1=r\n@u2=r\n@u0=r",
        "*=",
        "$anonymous=r\n$authenticated=rw\n~$anonymous=r",
        "=r",
    ] {
        same(format!("[/]\n{entry}\n").as_bytes(), None);
    }
    same(b"[/]\nx=\xc3\xa9", None);
    same(b"[/]\nx\xff = q", None);
    same(b"[/\xff]\nx = q", None);
}

#[test]
fn in_groups_and_aliases() {
    for text in [
        "[groups]\na=@b",
        "[groups]\na=@a",
        "[groups]\na=@b\nb=@a",
        "[groups]\na=@b\nb=@c\nc=@d",
        "[groups]\na=&x",
        "[groups]\na=&x\n[aliases]\nx=u",
        "[groups]\na=b,,c, ,d,",
        "[groups]\n@a=b",
        "[groups]\n&a=b",
        "[groups]\n$a=b",
        "[groups]\n*a=b",
        "[groups]\n~a=b",
        "[groups]\n=b",
        "[aliases]\n@a=b",
        "[aliases]\n*=b",
        "[aliases]\n=b",
        "[aliases]\na=@b",
        "[groups]\na=b\na=c",
        "[aliases]\na=b\na=c",
        "[groups]\na=b\nA=c\n[/]\n@a=r",
        "[groups]\na=\n[/]\n@a=r",
        "[groups]\na=,\n[/]\n@a=r\n~@a=r\n[/b]\n@a=",
        "[groups]\na=\nb=@a\n[/]\n@b=r",
        "[aliases]\nx=\n[groups]\ng=&x\n[/]\n@g=r\n&x=r",
        "[groups]\na=@b\n[/]\nx=q",
        "[groups]\na=@b\n[/]\n@u=r",
        "[groups]\nz=@y1\na=@y2",
        "[groups]\na=@y1,&q",
        "[groups]\na=&q,@y1",
        "[groups]\na=&q,@y1\n[/]\n&u=r",
        "[/]\n@u=r\n[bad]",
        "[bad]\n[/",
        "[/]\nx=q\n[/",
        "[groups]\na=b\n[/]\n@a=r\n@a=q",
        "[groups]\na=@ b",
    ] {
        same(text.as_bytes(), None);
    }
}

#[test]
fn in_a_groups_file() {
    for (authz, groups) in [
        ("[/]\n@g=r", "[groups]\ng=x"),
        ("[/]\n@g=r", "[groups]\ng=@x"),
        ("[/]\n@g=r", "[/]\n"),
        ("[/]\n@g=r", "[aliases]\n"),
        ("[/]\n@g=r", "[groups]\n[groups]\n"),
        ("[/]\n@g=r", "[groups"),
        ("[/]\n@g=r", "x=y"),
        ("[/]\n@g=r", ""),
        ("[groups]\n[/]\n@g=r", "[groups]\ng=x"),
        ("[groups]\nh=x\n[/]\n@g=r", "[groups]\ng=x"),
        ("[groups]\nh=x\n[/]\nx=q", "[groups]\ng=x"),
        ("[groups]\nh=x\n[/]\n@z=r", "[groups"),
        ("[groups]\nh=x\nh=y", "[groups]\ng=x"),
        ("[aliases]\na=x", "[groups]\ng=&a"),
        ("[/]\nx=q", "[groups"),
        ("[/]\n@g=r", "[groups]\ng=\n"),
    ] {
        // The answer "no" or "r" goes to standard output.
        same(authz.as_bytes(), Some(groups.as_bytes()));
    }
}

/// The real tool crashes on these.
#[test]
fn groups_that_lead_into_a_circle() {
    for text in ["[groups]\na=@b\nb=@c\nc=@b\n", "[groups]\nq=@b\nb=@b\n"] {
        let e = Authz::parse(text.as_bytes(), None).expect_err("a circle");
        assert_eq!(e.message(), "Recursive definition of group '@b'");
    }
    let mut deep = "[groups]\n".to_owned();
    for n in 0..100_000 {
        deep += &format!("g{n}=@g{}\n", n + 1);
    }
    let e = Authz::parse(deep.as_bytes(), None).expect_err("the last is undefined");
    assert_eq!(e.message(), "Undefined group '@g100000'");
    assert!(Authz::parse((deep + "g100000=x\n[/]\n@g0=r\n").as_bytes(), None).is_ok());
}

/// A file whose nested groups multiply is refused quickly.
#[test]
fn groups_that_multiply_take_no_longer_than_their_text() {
    let mut text = "[groups]\ng0=x\n".to_owned();
    for n in 1..2000 {
        text += &format!("g{n}=@g{0},@g{0},@g{1}\n", n - 1, n / 2);
    }
    text += "[/]\n@g1999=r\n";
    let authz = Authz::parse(text.as_bytes(), None).expect("valid");
    assert_eq!(
        authz.rights(None, Some("x")).max_rights(),
        repos::authz::Rights::Read
    );
}
