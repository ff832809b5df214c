//! Log messages: options, files, character sets, editors, and questions on a terminal.

use testkit::{Repo, Side, Spec, Tool, build};

use crate::twins::{Access, TwinClients};

fn small() -> Repo {
    build(&Spec::small("1.14"))
}

#[test]
fn messages_of_options() {
    let twins = TwinClients::new(&small(), Access::Disk);
    twins.file("crlf", "a\r\nb\r\n");
    twins.file("mixed", "a\r\nb\n");
    twins.file("zero", "a\0b");
    twins.file("latin", b"a\xe9b\n");
    twins.all_same(&[
        "svn mkdir -m crlf {URL}/1",
        "svn mkdir -m crlf --force-log {URL}/1",
        "svn mkdir -m / {URL}/2",
        "svn mkdir -m . {URL}/2",
        "svn mkdir -m ./crlf/ {URL}/2",
        "svn mkdir -m nosuch/file {URL}/3",
        "svn mkdir -m crlf",
        "svn mkdir -F crlf {URL}/4",
        "svn mkdir -F mixed {URL}/5",
        "svn mkdir -F zero {URL}/5",
        "svn mkdir -F zero",
        "svn rm -F zero {URL}/nosuch",
        "svn mv -r 1 -F zero {URL}/nosuch {URL}/5",
        "svn cp -F zero {URL}/nosuch {URL}/5",
        "svn lock -F zero zero",
        "svn lock -F zero",
        "svn mkdir -F zero --encoding UTF-16 {URL}/5",
        "svn mkdir -F latin {URL}/5",
        "svn mkdir -F latin --encoding latin1 {URL}/5",
        "svn mkdir -F latin --encoding iso-8859-15 {URL}/6",
        "svn mkdir -F latin --encoding nonsense {URL}/7",
        "svn mkdir -F latin --encoding utf8 {URL}/7",
        "svn mkdir -F latin --encoding UTF-8 {URL}/7",
        "svn mkdir -F latin --encoding= {URL}/7",
        "svn mkdir -m x --encoding nonsense {URL}/8",
        "svn mkdir -F nosuch {URL}/9",
        "svn mkdir -F nosuch",
        "svn mkdir -F /tmp {URL}/9",
        "svn mkdir -F= {URL}/9",
        "svn mkdir --file= {URL}/9",
        "svn mkdir -F /dev/null {URL}/9",
        "svn mkdir -m x -F crlf {URL}/10",
        "svn mkdir -m x -m y {URL}/11",
        "svn mkdir -m x --with-revprop a=b --with-revprop a=c --with-revprop d {URL}/12",
        "svn mkdir -m x --with-revprop a=b=c {URL}/13",
        "svn mkdir -m x --with-revprop svn:foo=x {URL}/14",
        "svn mkdir -m x --with-revprop=",
        "svn mkdir -m x --with-revprop =x",
        "svn mkdir -m x --with-revprop 1x=c",
        "svn mkdir --with-revprop svn:log=x {URL}/14",
        "svn mkdir --with-revprop a=b {URL}/14",
        "svn mkdir --force-interactive --non-interactive {URL}/14",
    ]);
    for message in ["", "a\r\nb", "a\rb", "a\r\nb\rc", "a\u{1}b", "é", "a\n\n"] {
        let url = format!("{{URL}}/m{}", message.len());
        twins.same_words(&["svn", "mkdir", "-m", message, &url]);
    }
    twins.same_prepared(&["svn", "mkdir", "-F", "-", "{URL}/stdin"], |tool: Tool| {
        tool.stdin("from\nstdin\n")
    });
    for encoding in ["C", "C.UTF-8"] {
        let url = format!("{{URL}}/l{encoding}");
        twins.same_prepared(&["svn", "mkdir", "-F", "latin", &url], |tool: Tool| {
            tool.env("LC_ALL", encoding)
        });
    }
    twins.same_repositories();
}

/// The editor prints the file that it gets, and writes another text.
#[test]
fn messages_of_editors() {
    let twins = TwinClients::new(&small(), Access::Disk);
    const SEPARATOR: &str = "--This line, and those below, will be ignored--";
    let write = |text: &str| format!("printf '%b' '{text}' >");
    let show_and_write =
        |text: &str| format!("f() {{ cat \"$1\"; echo \"$1\"; printf '%b' '{text}' > \"$1\"; }}; f");
    let cases: Vec<(&str, String, &str)> = vec![
        ("mkdir {URL}/a {URL}/b", show_and_write("hello\\n"), ""),
        (
            "mkdir --parents {URL}/p/q/r {URL}/p/s",
            show_and_write("hello"),
            "",
        ),
        ("cp {URL}/A@1 {URL}/iota {URL}/a", show_and_write("m\\n"), ""),
        (
            "cp --parents {URL}/A {URL}/iota {URL}/x/y/z",
            show_and_write("m"),
            "",
        ),
        ("mv {URL}/a/A {URL}/a/iota {URL}/b", show_and_write("m"), ""),
        ("mv --parents {URL}/b/A {URL}/n/o/p", show_and_write("m"), ""),
        ("rm {URL}/a {URL}/b/iota", show_and_write("m"), ""),
        ("pe foo {URL}/A", show_and_write("m"), ""),
        ("mkdir {URL}/c", write(&format!("a\\n\\n{SEPARATOR}\\nb")), ""),
        (
            "mkdir {URL}/d",
            write(&format!("a{SEPARATOR}\\n{SEPARATOR}x")),
            "",
        ),
        ("mkdir {URL}/e", write("  \\n a \\n \\n"), ""),
        ("mkdir {URL}/f", write("a\\r\\nb\\n"), ""),
        ("mkdir {URL}/f", write("a\\0351b\\n"), ""),
        ("mkdir --encoding latin1 {URL}/f", write("a\\0351b\\n"), ""),
        ("mkdir {URL}/g", write("a\\0000b\\n"), ""),
        ("mkdir {URL}/h", write(" \\n"), ""),
        ("mkdir {URL}/h", write(" \\n"), "a\n"),
        ("mkdir {URL}/h", write(" \\n"), "x\n\nC\n"),
        ("mkdir {URL}/i", "true".into(), "e\nA\n"),
        ("mkdir {URL}/A", write("m"), ""),
        ("mkdir {URL}/nosuch/x", write("m"), ""),
        ("mkdir {URL}/j", "exit 3;".into(), ""),
        ("mkdir {URL}/j", "kill -9 $$;".into(), ""),
        ("mkdir {URL}/j", "rm".into(), ""),
        ("mkdir {URL}/j", "nosuchcommand".into(), ""),
        ("mkdir {URL}/j", "  ".into(), ""),
        ("mkdir --editor-cmd true {URL}/j", "false".into(), "c\n"),
    ];
    for (line, editor, answers) in &cases {
        let mut words = vec!["svn"];
        words.extend(line.split(' '));
        words.push("--force-interactive");
        twins.same_prepared(&words, |tool: Tool| {
            tool.env("SVN_EDITOR", editor).stdin(answers.as_bytes())
        });
    }
    for (name, value) in [("VISUAL", "echo v >"), ("EDITOR", "echo e >")] {
        let url = format!("{{URL}}/by-{name}");
        twins.same_prepared(&["svn", "mkdir", "--force-interactive", &url], |tool: Tool| {
            tool.env(name, value).env("SVN_EDITOR", "")
        });
    }
    let words = [
        "svn",
        "mkdir",
        "--force-interactive",
        "--config-option",
        "config:helpers:editor-cmd=echo configured >",
        "{URL}/configured",
    ];
    twins.same_prepared(&words, |tool: Tool| tool.env("VISUAL", "false"));
    twins.same_repositories();
    let files = |side: Side| {
        let mut names: Vec<_> = std::fs::read_dir(twins.dir(side))
            .expect("because it is there")
            .map(|entry| entry.expect("because it can be read").file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(files(Side::Ours), files(Side::Theirs), "the left-over files");
}

/// The questions on a terminal, typed by a script.
#[test]
fn questions_on_a_terminal() {
    const TYPIST: &str = "\
import os, pty, select, sys
typed = sys.argv[1].encode()
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
out = b''
while True:
    ready, _, _ = select.select([fd], [], [], 10)
    if not ready:
        break
    try:
        piece = os.read(fd, 4096)
    except OSError:
        break
    if not piece:
        break
    out += piece
    if out.endswith(b'(e)dit:\\r\\n') and typed:
        line, _, typed = typed.partition(b'\\n')
        os.write(fd, line + b'\\n')
status = os.waitpid(pid, 0)[1]
sys.stdout.write(out.decode('utf-8', 'replace').replace('\\r\\n', '\\n'))
sys.exit(os.waitstatus_to_exitcode(status))
";
    let twins = TwinClients::new(&small(), Access::Disk);
    twins.file("typist.py", TYPIST);
    for (at, typed) in ["c\n", "a\n", "x\nabort\n", "e\nContinue\n"].iter().enumerate() {
        let run = |side: Side| {
            let client = side.tool("svn").command();
            let url = format!("{}/t{at}", twins.url(side));
            let output = Tool::new("python3")
                .args(["typist.py", typed])
                .arg(client.get_program())
                .args(["mkdir", &url])
                .env("SVN_EDITOR", "true")
                .dir(&twins.dir(side))
                .run();
            (output.out(), output.err(), output.code)
        };
        assert_eq!(run(Side::Ours), run(Side::Theirs), "{typed:?}");
    }
    twins.same_repositories();
}
