//! `svnauthz`: compares standard output, standard error and exit code, except for help and line numbers (Subversion
//! does not count section headers).

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::{Output, Side, Tool, scratch};

/// Authz files on disk, and a repository `repos` with revisions and a transaction that change some of them.
struct AuthzFiles {
    _scratch: TempDir,
    folder: PathBuf,
    url: String,
    txn: String,
}

const FILES: [(&str, &str); 8] = [
    ("good", "[/]\n* = rw\n"),
    ("bad", "[/]\nx=q\n"),
    ("syntax", "[/]\n[/a\n"),
    ("rights", "[/a]\nx=r\n[/b]\nx=\n[r:/a]\nx=rw\n"),
    ("warn", "[groups]\ne=\n[/]\n@e=r\nx=r\n"),
    ("groups", "[groups]\ng=x\n"),
    ("uses", "[/]\n@g=rw\n"),
    ("sp ace", "[/]\n* = r\n"),
];

fn authz_files() -> AuthzFiles {
    let scratch = scratch();
    let folder = scratch.path().to_owned();
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text).expect("written");
    }
    let committed = folder.join("committed");
    Tool::new("svnadmin").arg("create").arg(&committed).ok();
    let url = format!("file://{}", committed.display());
    let put = |url: &str, what: &[&str]| {
        let svnmucc = Tool::new("svnmucc").dir(&folder).args(["-m", "m", "-U", url]);
        svnmucc.args(what).run()
    };
    let mut all = vec!["mkdir", "d"];
    for (name, _) in FILES {
        all.extend(["put", name, name]);
    }
    put(&url, &all).expect_ok();
    // A hook that copies the repository and fails leaves an open transaction in the copy.
    let open = folder.join("repos");
    let hook = committed.join("hooks/pre-commit");
    let script = format!("#!/bin/sh\ncp -r \"$1\" '{}'\nexit 1\n", open.display());
    std::fs::write(&hook, script).expect("written");
    executable(&hook);
    let refused = put(
        &url,
        &["put", "bad", "good", "put", "syntax", "new", "mkdir", "e"],
    );
    assert_ne!(refused.code, 0, "{refused:?}");
    std::fs::remove_file(&hook).expect("removed");
    let txn = Tool::new("svnadmin")
        .arg("lstxns")
        .arg(&open)
        .ok()
        .out()
        .trim()
        .to_owned();
    AuthzFiles {
        _scratch: scratch,
        folder,
        url,
        txn,
    }
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("made executable");
}

impl AuthzFiles {
    /// Runs both tools with the arguments in `line`: `URL`, `TXN` and `''` stand for the URL, the transaction and an
    /// empty argument, `_` for a space.
    fn same(&self, tool: &str, line: &str) {
        self.same_with_input(tool, line, "");
    }

    /// As [`AuthzFiles::same`], with a text on standard input.
    fn same_with_input(&self, tool: &str, line: &str, input: &str) {
        let words = line.split_ascii_whitespace().map(|word| {
            let word = if word == "''" { "" } else { word };
            word.replace("URL", &self.url)
                .replace("TXN", &self.txn)
                .replace('_', " ")
        });
        let words: Vec<String> = words.collect();
        let [theirs, ours] = Side::BOTH.map(|side| {
            let tool = side.tool(tool).dir(&self.folder).args(&words);
            tool.stdin(input).run()
        });
        let seen = |output: &Output| (output.code, output.out(), without_numbers(&output.err()));
        assert_eq!(seen(&ours), seen(&theirs), "{tool} {line} < {input:?}");
    }
}

/// Replaces digits after `line ` by N.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split("line ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "line N";
        out += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out
}

#[test]
fn svnauthz_validate() {
    let files = authz_files();
    for line in [
        "validate good",
        "validate bad",
        "validate syntax",
        "validate warn",
        "validate nosuch",
        "validate .",
        "validate ./bad",
        "validate bad/",
        "validate ../nosuch/x",
        "validate ''",
        "validate",
        "validate a b",
        "validate ^/bad",
        "validate http://x/y",
        "validate file://host/x",
        "validate svn://x",
        "validate file:/tmp/x",
        "validate URL/good",
        "validate URL/bad",
        "validate URL/syntax",
        "validate URL/nosuch",
        "validate URL/d",
        "validate URL/sp%20ace",
        "validate URL/sp_ace",
        "validate URL/good/x",
        "validate URL",
        "validate URL/",
        "validate file:///nosuch/x",
        "validate FILE:///nosuch/x",
        "validate URL/good@1",
        "validate --path / good",
        "validate -R good",
        "validate --foo",
        "validate -Z",
        "validate good --",
        "foo",
        "--path",
    ] {
        files.same("svnauthz", line);
    }
    for line in [
        "good",
        "bad",
        "warn",
        "a b",
        "nosuch",
        "--help",
        "--version -q",
        "help",
        "-t x y z",
        "validate good",
    ] {
        files.same("svnauthz-validate", line);
    }
    files.same("svnauthz", "");
}

/// Rules from devices and from a pipe.
#[test]
fn authz_that_is_no_regular_file() {
    let files = authz_files();
    for line in [
        "validate /dev/null",
        "validate /dev",
        "accessof /dev/null",
        "accessof --groups-file /dev/null good",
    ] {
        files.same("svnauthz", line);
    }
    for text in ["", "[/]\nx = rw\n", "[/a"] {
        for line in [
            "validate /dev/stdin",
            "accessof --username x --path / /dev/stdin",
            "accessof --username x --groups-file /dev/stdin uses",
        ] {
            files.same_with_input("svnauthz", line, text);
        }
    }
}

#[test]
fn authz_files_in_a_transaction() {
    let files = authz_files();
    for line in [
        "validate -t TXN repos good",
        "validate -t TXN repos new",
        "validate -t TXN repos uses",
        "validate --transaction=TXN repos /uses",
        "validate -t TXN repos e",
        "validate -t TXN repos nosuch",
        "validate -t nosuch repos good",
        "validate -t 0-zz repos good",
        "validate -t TXN /nosuch good",
        "validate -t TXN repos",
        "validate -t TXN",
        "validate -t TXN repos a b",
        "validate -t TXN repos URL/good",
        "validate -t TXN repos ^/good",
        "accessof -t TXN repos rights --path / --username x",
        "accessof -t TXN repos uses --groups-file groups --path / --username x",
        "accessof -t TXN repos uses --groups-file rights --path / --username x",
        "accessof -t TXN repos/db good",
    ] {
        files.same("svnauthz", line);
    }
}

#[test]
fn svnauthz_accessof() {
    let files = authz_files();
    for who in [
        "--path /a --username x",
        "--path a/ --username x",
        "--path /b/c --username x",
        "--username x",
        "",
    ] {
        for is in [
            "",
            "--is no",
            "--is r",
            "--is rw",
            "--repository r --is r",
            "--repository r",
        ] {
            files.same("svnauthz", &format!("accessof rights {who} {is}"));
        }
    }
    for line in [
        "accessof",
        "accessof good --is",
        "accessof good --is x",
        "accessof --is x",
        "accessof good --is rw -R",
        "accessof good -R",
        "accessof good -R --path /",
        "accessof good --is q -R",
        "accessof bad --is no",
        "accessof nosuch --is no",
        "accessof nosuch -R",
        "accessof warn --path / --username x",
        "accessof warn --path / --username x --is rw",
        "accessof rights --path ''",
        "accessof rights --path ..",
        "accessof rights --path .. --is rw",
        "accessof rights --path /a/../b/./c//d/ --is rw",
        "accessof rights --path // --is rw",
        "accessof rights --path /b/../a --username x",
        "accessof rights --path /a/../b --username x",
        "accessof rights --username '' --path /a",
        "accessof rights rb",
        "accessof rights --is ''",
        "accessof rights --path a//./b --username x --is no",
        "accessof URL/rights --path /a --username x",
        "accessof uses --groups-file groups --path / --username x",
        "accessof uses --groups-file ^/groups",
        "accessof uses --groups-file URL/groups --path / --username x",
        "accessof uses --groups-file nosuch",
        "accessof URL/uses --groups-file groups --path / --username x",
        "accessof uses --groups-file http://x",
        "accessof URL/bad --groups-file URL/syntax",
        "accessof uses --groups-file rights",
        "accessof groups --groups-file groups",
    ] {
        files.same("svnauthz", line);
    }
}

/// Help texts differ from the incumbent's, but contain every option.
#[test]
fn help_contains_every_option() {
    for topic in ["validate", "accessof"] {
        let [theirs, ours] = Side::BOTH.map(|side| side.tool("svnauthz").args(["help", topic]).ok().out());
        for word in theirs
            .split_ascii_whitespace()
            .filter(|word| word.starts_with("[--") || word.starts_with("--"))
        {
            assert!(ours.contains(word), "{word} in\n{ours}");
        }
    }
}
