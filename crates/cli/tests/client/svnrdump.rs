//! `svnrdump` beside Subversion's: the same streams, the same output, the same repositories.

use testkit::history::Random;
use testkit::{Repo, Side, Spec, Tool, build, runs_all_cases, sample, sample_from};

use crate::mirrors::Mirrors;
use crate::twins::Access;

/// Runs a command of both programs, and compares all output, as bytes.
fn same(mirrors: &Mirrors, line: &str) -> Vec<u8> {
    let [theirs, ours] = Side::BOTH.map(|side| mirrors.tool(side, "svnrdump", line).run());
    let [their_text, our_text] = [&theirs, &ours].map(|output| mirrors.shape(output, "{source}"));
    let has_same_bytes = with_sorted_deletions(&theirs.stdout) == with_sorted_deletions(&ours.stdout);
    assert!(
        has_same_bytes
            && with_sorted_deletions(their_text.as_bytes()) == with_sorted_deletions(our_text.as_bytes()),
        "{line}\n--- theirs\n{their_text}\n--- ours\n{our_text}"
    );
    theirs.stdout
}

/// Sorts records of deletions that follow each other: Subversion's order is another one in each run.
fn with_sorted_deletions(stream: &[u8]) -> Vec<u8> {
    const END: &[u8] = b"\nNode-action: delete\n\n\n";
    const START: &[u8] = b"Node-path: ";
    let find = |bytes: &[u8]| bytes.windows(END.len()).position(|window| window == END);
    let (mut out, mut run, mut done) = (Vec::new(), Vec::new(), 0);
    while let Some(at) = find(&stream[done..]) {
        let end = done + at + END.len();
        let before = &stream[done..done + at];
        let start = before
            .windows(START.len())
            .rposition(|window| window == START)
            .map_or(done, |at| done + at);
        if start > done {
            run.sort();
            out.extend(run.drain(..).flatten());
            out.extend_from_slice(&stream[done..start]);
        }
        run.push(stream[start..end].to_vec());
        done = end;
    }
    run.sort();
    out.extend(run.into_iter().flatten());
    out.extend_from_slice(&stream[done..]);
    out
}

/// Loads a stream with both programs, each into a repository of its own, below `folder`.
fn same_load(mirrors: &Mirrors, stream: &[u8], folder: &str, options: &str, context: &str) {
    let [theirs, ours] = Side::BOTH.map(|side| {
        let name = format!("loaded-by-{side:?}");
        _ = std::fs::remove_dir_all(mirrors.path(&name));
        mirrors.create(&name);
        if !folder.is_empty() {
            let url = format!("file://{}/{folder}", mirrors.path(&name).display());
            Tool::new("svn")
                .args(["mkdir", "-q", "-m", "folder"])
                .arg(url)
                .ok();
        }
        let line = format!("load {options} {{{name}}}/{folder}");
        let output = mirrors.tool(side, "svnrdump", &line).stdin(stream).run();
        (mirrors.shape(&output, &name), mirrors.dump_of_revisions(&name))
    });
    // Below a copy, Subversion's program reads properties of the path itself, where the parent of a node has no record of its own.
    let reads_other_node = theirs.0.contains("E160013: File not found")
        || theirs.0.contains("E160016: ")
        || theirs.0 == ours.0 && theirs.1 != ours.1;
    if folder.is_empty() && reads_other_node && loaded_by_svnadmin(mirrors, stream).as_ref() == Some(&ours.1)
    {
        return;
    }
    assert!(
        theirs.0 == ours.0,
        "{context}\n--- theirs\n{}\n--- ours\n{}",
        theirs.0,
        ours.0
    );
    assert!(
        theirs.1 == ours.1 || !folder.is_empty(),
        "{context}: the repositories differ"
    );
}

/// Returns the dump of the repository into which `svnadmin` has loaded a stream; `None` if it cannot.
fn loaded_by_svnadmin(mirrors: &Mirrors, stream: &[u8]) -> Option<String> {
    let name = "loaded-by-svnadmin";
    _ = std::fs::remove_dir_all(mirrors.path(name));
    mirrors.create(name);
    let tool = Tool::new("svnadmin").args(["load", "-q"]).arg(mirrors.path(name));
    let is_loaded = tool.stdin(stream).run().code == 0;
    is_loaded.then(|| mirrors.dump_of_revisions(name))
}

fn svnadmin_dump(repo: &Repo, options: &[&str]) -> Vec<u8> {
    let tool = Tool::new("svnadmin").args(["dump", "-q"]).args(options);
    tool.arg(repo.path()).ok().stdout
}

#[test]
fn dumps_have_the_same_bytes() {
    let rich = build(&Spec::new("1.14").with(testkit::history::rich()));
    let lines = [
        "dump {source}",
        "dump -q -r 3:HEAD {source}",
        "dump --incremental -r 3:7 {source}/trunk",
        "dump -r 5 {source}/trunk",
        "dump -r 5 {source}/nosuch",
    ];
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let mirrors = Mirrors::new(&rich, access);
        for line in sample_from(number, 3, lines) {
            same(&mirrors, line);
        }
    }
}

#[test]
fn wrong_use_is_refused_alike() {
    let small = build(&Spec::small("1.14"));
    let mirrors = Mirrors::new(&small, Access::Disk);
    for line in [
        "",
        "nosuch",
        "-q",
        "dump",
        "dump a b",
        "dump a",
        "load",
        "load a",
        "load -r 1 {source}",
        "dump --skip-revprop x {source}",
        "dump -r x {source}",
        "dump -r 1 -r 2 {source}",
        "dump -r 99 {source}",
        "dump -r HEAD:0 {source}",
        "dump -r 2:99 {source}",
        "dump -r PREV {source}",
        "dump -F /nosuch/x {source}",
        "load -F /nosuch/x {source}",
        "dump {nosuch}",
        "help nosuch",
        "--version -q",
        "load {source}",
        "dump --nosuch {source}",
        "dump -F",
        "dump -r 0 {source}",
        "dump --password-from-stdin {source}",
        "dump --trust-server-cert {source}",
        "dump -q -r 0 --trust-server-cert-failures= {source}",
        "dump -q -r 0 --non-interactive --trust-server-cert {source}",
        "load --trust-server-cert-failures=other x y",
        "load --password-from-stdin {source}",
        "load --password-from-stdin --non-interactive {source}",
    ] {
        same(&mirrors, line);
    }
}

/// Revision 0 behind another one, and copies of which one half is missing.
#[test]
fn odd_records_are_loaded_alike() {
    let small = build(&Spec::small("1.14"));
    let mirrors = Mirrors::new(&small, Access::Disk);
    let head = "SVN-fs-dump-format-version: 3\n\n";
    let rev = |rev: u32, log: &str| {
        let length = log.len() + 25 + log.len().to_string().len();
        format!(
            "Revision-number: {rev}\nProp-content-length: {length}\nContent-length: {length}\n\nK 7\nsvn:log\nV {}\n{log}\nPROPS-END\n\n",
            log.len()
        )
    };
    let node =
        |path: &str, rest: &str| format!("Node-path: {path}\nNode-kind: dir\nNode-action: add\n{rest}\n\n");
    let (one, two) = (rev(1, "one") + &node("a", ""), rev(2, "two"));
    for (context, records) in [
        (
            "revision 0 in the middle",
            [one.clone(), rev(0, "zero"), two.clone(), node("b", "")],
        ),
        (
            "nodes in revision 0",
            [
                one.clone(),
                rev(0, "zero") + &node("c", ""),
                two.clone(),
                node("b", ""),
            ],
        ),
        (
            "revision 0 twice",
            [rev(0, "zero"), rev(0, "again"), one.clone(), rev(0, "last")],
        ),
        (
            "no revision",
            [
                one.clone(),
                two.clone(),
                node("b", "Node-copyfrom-path: a\n"),
                String::new(),
            ],
        ),
        (
            "no path",
            [one, two, node("b", "Node-copyfrom-rev: 1\n"), String::new()],
        ),
    ] {
        let stream = head.to_owned() + &records.concat();
        same_load(&mirrors, stream.as_bytes(), "", "", context);
    }
}

#[test]
fn streams_are_loaded_alike() {
    let rich = build(&Spec::new("1.14").with(testkit::history::rich()));
    let mirrors = Mirrors::new(&rich, Access::Disk);
    same_load(
        &mirrors,
        &svnadmin_dump(&rich, &["--deltas"]),
        "",
        "",
        "the rich history",
    );
    let branches = testkit::branch_history::history(3, 12).stream;
    let branches = build(&Spec::new("1.14").with(branches));
    let full = svnadmin_dump(&branches, &[]);
    let part = svnadmin_dump(&branches, &["-r", "4:9"]);
    for access in [Access::Disk, Access::Svn] {
        let mirrors = Mirrors::new(&branches, access);
        let remote = same(&mirrors, "dump -q {source}");
        same_load(&mirrors, &remote, "", "-q", "svnrdump");
        if access == Access::Disk {
            let properties = "--skip-revprop svn:author --skip-revprop svn:log";
            let streams = [
                (&full[..], "", "", "full texts"),
                (&part, "", "", "a part"),
                (&remote, "folder", "", "in a folder"),
                (&remote, "", properties, "properties"),
                (&full[..full.len() / 3], "", "", "cut"),
                (b"nonsense\n", "", "", "nonsense"),
                (b"", "", "", "nothing"),
            ];
            for (stream, folder, options, context) in sample(2, streams) {
                same_load(&mirrors, stream, folder, options, context);
            }
        } else if runs_all_cases() {
            same_load(&mirrors, &full, "", "", "full texts");
        }
    }
}

#[test]
fn random_histories_pass_through_both_programs() {
    testkit::each_seed("RDUMP_SEEDS", 0..2, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let history = match random.below(2) {
            0 => testkit::random_history::history(seed, 12, true),
            _ => testkit::branch_history::history(seed, 12),
        };
        let repo = build(&Spec::new("1.14").with(history.stream.clone()));
        let access = Access::ALL[random.below(4)];
        let mirrors = Mirrors::new(&repo, access);
        println!("seed {seed} {access:?}");
        let stream = same(&mirrors, "dump {source}");
        let paths: Vec<&String> = history
            .paths
            .iter()
            .filter(|path| !path.contains([' ', '%', '@']))
            .collect();
        for _ in 0..3 {
            let start = random.below(history.youngest as usize + 1) as u64;
            let end = start + random.below((history.youngest - start) as usize + 1) as u64;
            let path = match paths.is_empty() || random.below(2) == 0 {
                true => "",
                false => paths[random.below(paths.len())],
            };
            let incremental = ["", "--incremental"][random.below(2)];
            same(
                &mirrors,
                &format!("dump {incremental} -r {start}:{end} {{source}}{path}"),
            );
        }
        let context = format!("seed {seed} {access:?}");
        // Over HTTP, Subversion's program fails to set some properties.
        let mirrors = match access {
            Access::Disk | Access::Svn => mirrors,
            Access::Http | Access::HttpV1 | Access::Https => Mirrors::new(&repo, Access::Svn),
        };
        same_load(&mirrors, &stream, "", "", &context);
        let options: &[&str] = [
            &[][..],
            &["--deltas"],
            &["-r", "3:9"],
            &["-r", "3:9", "--incremental"],
        ][random.below(4)];
        same_load(
            &mirrors,
            &svnadmin_dump(&repo, options),
            "",
            "",
            &format!("{context} {options:?}"),
        );
    });
}

/// What cannot be loaded is refused before anything of its revision is committed. Subversion's program dies of nodes without a kind.
#[test]
fn refused_revisions_are_not_committed() {
    let repo = build(&Spec::new("1.14"));
    let mirrors = Mirrors::new(&repo, Access::Disk);
    let date = "K 8\nsvn:date\nV 9\nyesterday\nPROPS-END\n";
    let revision = |props: &str, node: &str| {
        let length = props.len();
        format!(
            "SVN-fs-dump-format-version: 2\n\nRevision-number: 1\nProp-content-length: {length}\n\
             Content-length: {length}\n\n{props}\nNode-path: x\n{node}\n"
        )
    };
    let directory = "Node-kind: dir\nNode-action: add\n";
    same_load(&mirrors, revision(date, directory).as_bytes(), "", "", "a date");
    let skipped = "--skip-revprop svn:date";
    same_load(
        &mirrors,
        revision(date, directory).as_bytes(),
        "",
        skipped,
        "a date left out",
    );
    let in_zero = format!(
        "SVN-fs-dump-format-version: 2\n\nRevision-number: 0\nProp-content-length: 10\nContent-length: 10\n\n\
         PROPS-END\n\nNode-path: a\n{directory}\n\n{}",
        revision("PROPS-END\n", directory).replace("SVN-fs-dump-format-version: 2\n\n", "")
    );
    same_load(&mirrors, in_zero.as_bytes(), "", "", "a node in revision 0");
    let text = "Text-content-length: 1\nContent-length: 1\n\nx\n";
    for node in [
        format!("Node-action: add\n{text}"),
        format!("Node-action: change\n{text}"),
        format!("Node-kind: symlink\nNode-action: add\n{text}"),
        "Node-action: add\n".to_owned(),
    ] {
        _ = std::fs::remove_dir_all(mirrors.path("target"));
        mirrors.create("target");
        let target = Repo::at(&mirrors.path("target"));
        let tool = Side::Ours.tool("svnrdump").args(["load", &target.url()]);
        let ran = tool.stdin(revision("PROPS-END\n", &node)).run();
        assert_eq!((ran.code, ran.error_codes()), (1, vec![140_001]), "{node}");
        assert_eq!(target.youngest(), 0, "{node}");
    }
}
