//! The writing subcommands of `svnadmin`, including their errors, compared with the incumbent's.

use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Side, Tool};

use crate::script::TwinDirectories;

/// Returns a history with files, changes, copies and deletions.
fn history() -> Vec<u8> {
    let mut stream = DumpStream::new(UUID);
    stream.rev("one").mkdirs(["trunk"]);
    stream
        .file("trunk/a", "x")
        .file("trunk/b", "x")
        .file("trunk/c", "x");
    stream.rev("two\nlines").edit("trunk/a", "yy");
    stream.change(RecordKind::File, "trunk/b", Content::props(&[("foo", b"bar")]));
    stream.delete("trunk/c");
    stream
        .rev("three")
        .copy(RecordKind::Dir, "branch", 2, "trunk")
        .edit("branch/a", "yyy")
        .copy(RecordKind::File, "trunk/d", 2, "trunk/b")
        .delete("trunk/b");
    stream
        .rev("four")
        .file("trunk/b", "x")
        .file("trunk/c", "yy")
        .delete("branch");
    stream.bytes()
}

/// Makes a repository `r` with [`history`] and a file `f`.
fn loaded() -> TwinDirectories {
    let twin = TwinDirectories::new();
    twin.file("d1", history());
    twin.file("f", "hi\n");
    twin.run(
        "create r
         d1 | load -q --no-flush-to-disk r",
    );
    twin
}

#[test]
fn create_with_all_options() {
    let twin = TwinDirectories::new();
    twin.run(
        "create r
         create r
         create r/conf/sub
         create r/db/x
         create
         create --fs-type foo rf
         create --fs-type fsfs rfs
         create --fs-type fsx rfsx
         create --fs-type fsx --compatible-version 1.8 rfsx18
         create --fs-type fsx --compatible-version 1.9 rfsx19
         create --fs-type fsx --pre-1.6-compatible rfsx15
         info rfsx
         create a/b/c
         create r2 extra
         create --bdb-txn-nosync rb2
         create --bdb-log-keep rb3
         create svn://x/y
         create --nosuch r",
    );
    for version in [
        "1", "1.0", "1.1", "1.2", "1.3.5", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "1.10", "1.14",
        "1.14.99", "1.15", "2.0", "x", "1.x", "1.4.x",
    ] {
        twin.run(&format!("create --compatible-version {version} c{version}"));
        twin.same_file(&format!("c{version}/format"));
        twin.same_file(&format!("c{version}/db/format"));
    }
    for options in [
        "--pre-1.4-compatible",
        "--pre-1.5-compatible",
        "--pre-1.6-compatible",
        "--pre-1.5-compatible --compatible-version 1.9",
    ] {
        let repo = options.replace([' ', '.', '-'], "");
        twin.run(&format!("create {options} {repo}"));
        twin.same_file(&format!("{repo}/db/format"));
    }
}

/// The last one counts.
#[test]
fn create_with_several_versions() {
    const OPTIONS: [&str; 4] = [
        "--pre-1.4-compatible",
        "--pre-1.5-compatible",
        "--pre-1.6-compatible",
        "--compatible-version=1.8",
    ];
    let twin = TwinDirectories::new();
    for (first, one) in OPTIONS.iter().enumerate() {
        for (second, other) in OPTIONS.iter().enumerate() {
            twin.run(&format!("create {one} {other} r{first}{second}"));
            twin.same_file(&format!("r{first}{second}/db/format"));
        }
    }
}

#[test]
fn create_in_the_current_directory() {
    for typed in [".", "./", "", "./."] {
        let [theirs, ours] = [Side::Theirs, Side::Ours].map(|side| {
            let dir = testkit::scratch();
            let create = || {
                let created = side
                    .tool("svnadmin")
                    .args(["create", typed])
                    .dir(dir.path())
                    .run();
                (
                    created.code,
                    created.out(),
                    created.err().replace(&*dir.path().to_string_lossy(), "DIR"),
                )
            };
            let again = (create(), create());
            let is_made = dir.path().join("db/format").exists();
            let other = testkit::scratch();
            std::fs::write(other.path().join("file"), "").expect("because it is ours");
            let refused = side
                .tool("svnadmin")
                .args(["create", typed])
                .dir(other.path())
                .run();
            (again, is_made, refused.code, refused.err())
        });
        assert_eq!(theirs, ours, "'{typed}'");
    }
}

#[test]
fn load_with_all_options() {
    let twin = loaded();
    twin.file("empty", "");
    twin.file("cut", &history()[..700]);
    twin.file("no-stream", "not a dumpfile");
    twin.run(
        "d1 | load r
         d1 | load -q r
         empty | load r
         cut | load r
         no-stream | load r
         create l1
         d1 | load -r 2:3 l1
         create l2
         d1 | load --parent-dir /x l2
         $ svnlook youngest l2
         load -F d1 l1
         load -F nope l1
         load -r 3:2 l1
         load -r x l1
         load -r HEAD l1
         load-revprops -r 1:HEAD l1
         load l1 extra
         load svn://x/y
         d1 | load --ignore-uuid --force-uuid l1
         create l3
         d1 | load -q --ignore-uuid --ignore-dates l3
         $ svnadmin verify -q l3
         d1 | load-revprops r
         d1 | load-revprops -r 1:2 r
         d1 | load-revprops -q r
         create l5
         d1 | load-revprops l5
         load-revprops l5 extra
         load-revprops -F nope l5",
    );
    assert_eq!(uuid(&twin, Side::Ours, "r"), uuid(&twin, Side::Theirs, "r"));
    assert_eq!(uuid(&twin, Side::Ours, "l1"), uuid(&twin, Side::Ours, "r"));
    assert_ne!(uuid(&twin, Side::Ours, "l3"), uuid(&twin, Side::Ours, "r"));
}

fn uuid(twin: &TwinDirectories, side: Side, repo: &str) -> String {
    let at = twin.dir(side).join(repo);
    side.tool("svnlook").arg("uuid").arg(at).ok().out()
}

#[test]
fn load_checks_properties() {
    let twin = TwinDirectories::new();
    let mut carriage = DumpStream::new(UUID);
    carriage.rev_with(&[("svn:log", b"a\r\nb")]).file("f", "x");
    twin.file("crlf", carriage.bytes());
    twin.run(
        "create a
         crlf | load a
         create b
         crlf | load --normalize-props b
         $ svnlook log b
         create c
         crlf | load --bypass-prop-validation c
         crlf | load-revprops b
         crlf | load-revprops --normalize-props b
         lstxns a
         rmtxns a 0-0
         lstxns a",
    );
}

#[test]
fn revision_properties() {
    let twin = loaded();
    twin.file("crlf", "a\r\nb");
    twin.file("no-utf8", b"a\xff");
    twin.run(
        "setlog r -r 1 f
         setlog r -r 1 --bypass-hooks f
         setlog r f
         setlog r -r 1 --bypass-hooks
         setlog r -r 1:2 --bypass-hooks f
         setlog r -r 99 --bypass-hooks f
         setlog r -r PREV:1 --bypass-hooks f
         setlog r -r HEAD --bypass-hooks f
         setlog r -r 1 --bypass-hooks nof
         setlog r -r 1 --bypass-hooks f f
         setrevprop r -r 1 foo f
         $ svnlook pg --revprop -r 1 r foo
         setrevprop r -r 1 svn:date f
         setrevprop r -r 1 foo
         setrevprop r foo f
         setrevprop r -r 1 -t 1-1 foo f
         setrevprop r -t 9-9 foo f
         setrevprop r -r 1 foo f g
         setrevprop r -r 1 --use-pre-revprop-change-hook foo f
         setrevprop r -r 1 --use-post-revprop-change-hook foo f
         setrevprop r -r 1:2 foo f
         setrevprop r -r 1 svn:x crlf
         $ svnlook pg --revprop -r 1 r svn:x
         setrevprop r -r 1 svn:x no-utf8
         setrevprop r -r 1 x no-utf8
         setlog r -r 1 --bypass-hooks crlf
         $ svnlook log -r 1 r
         setlog r -r 1 --bypass-hooks no-utf8
         delrevprop r -r 1 foo
         delrevprop r -r 1 foo
         delrevprop r -r 1
         delrevprop r foo
         delrevprop r -t 9-9 foo
         delrevprop r -r 1 svn:log svn:x
         delrevprop r -r 99 foo
         $ svnadmin verify -q r",
    );
}

#[test]
fn setuuid() {
    let twin = loaded();
    twin.run(
        "setuuid r 12345678-1234-1234-1234-123456789abc
         setuuid r nonsense
         setuuid r ''
         setuuid r a b",
    );
    for side in Side::BOTH {
        assert_eq!(
            uuid(&twin, side, "r"),
            "12345678-1234-1234-1234-123456789abc\n",
            "{side:?}"
        );
    }
    twin.run("setuuid r");
    assert_ne!(
        uuid(&twin, Side::Ours, "r"),
        "12345678-1234-1234-1234-123456789abc\n"
    );
}

#[test]
fn lock_and_unlock() {
    let twin = loaded();
    for side in Side::BOTH {
        let url = format!("file://{}/r/trunk/b", twin.dir(side).display());
        Tool::new("svn").args(["lock", "-q", &url]).ok();
    }
    twin.run(
        "lslocks r
         $ svnlook lock r /trunk/b
         rmlocks r /trunk/b
         lock r /trunk/a u f
         lock r /trunk/a u f
         lock r /trunk/a v f
         lslocks r
         $ svnlook lock r /trunk/a
         lock r /trunk/nosuch u f
         lock r /trunk u f
         lock r trunk/b u f opaquelocktoken:x
         lock r /trunk/b u f opaquelocktoken:x
         lock r /trunk/b u f bad
         lock r /trunk/b u
         lock r /trunk/b u f t x
         lock r /trunk/b u nof
         lock -q r /trunk/c u f
         lock r /trunk/b '' f
         lock r /trunk/b u f ''
         lock svn://x/y
         unlock r /trunk/a u bad
         unlock r /trunk/a v opaquelocktoken:x
         unlock r /trunk/a u
         unlock r /trunk/b v opaquelocktoken:x
         unlock r /trunk/b u opaquelocktoken:x
         unlock r /trunk/b u opaquelocktoken:x
         unlock r trunk/none u opaquelocktoken:x
         unlock r /trunk/b u x y
         rmlocks r /trunk/a
         rmlocks r /trunk/a /trunk/b
         rmlocks r
         rmlocks -q r /trunk/c
         rmlocks r trunk/c
         rmlocks r /nosuch
         lslocks r",
    );
}

#[test]
fn removing_transactions() {
    let twin = loaded();
    twin.run(
        "lstxns r
         rmtxns r 1-1
         rmtxns r
         rmtxns -q r 1-1
         rmtxns r bad
         rmtxns r 0-0 1-1",
    );
}

#[test]
fn pack_upgrade_and_recover() {
    let twin = loaded();
    for version in ["1.3", "1.4", "1.5", "1.8"] {
        twin.run(&format!("create --compatible-version {version} c{version}"));
    }
    twin.run(
        "pack r
         pack -q r
         pack c1.5
         pack c1.3
         pack c1.4
         upgrade r
         upgrade c1.3",
    );
    twin.same_file("c1.3/format");
    twin.same_file("c1.3/db/format");
    twin.run(
        "upgrade c1.5
         upgrade c1.8
         upgrade nosuch
         upgrade r x
         recover r
         recover --wait r
         recover r x
         recover c1.4
         deltify r
         deltify -q r
         deltify -r 1:2 r
         deltify -r 2:1 r
         deltify -r 99 r
         deltify r x
         build-repcache r
         build-repcache -q r
         build-repcache -r 1 r
         build-repcache -r 1:2 r
         build-repcache -r 2:1 r
         build-repcache -r 99 r
         build-repcache c1.5
         build-repcache r x
         list-dblogs r
         list-unused-dblogs r
         list-dblogs r x
         list-unused-dblogs nosuch
         verify r
         info r
         $ svnadmin verify -q r
         $ svnadmin verify -q c1.3
         $ svnadmin verify -q c1.8",
    );
    twin.same_file("c1.8/db/format");
}

#[test]
fn hotcopy() {
    let twin = loaded();
    for side in Side::BOTH {
        let full = twin.dir(side).join("full");
        std::fs::create_dir_all(full.join("x")).expect("because the place is free");
    }
    twin.run(
        "create --compatible-version 1.8 c1.8
         create other
         hotcopy r h
         $ svnadmin verify -q h
         hotcopy r h
         hotcopy --incremental r h
         hotcopy -q r h2
         hotcopy r
         hotcopy r h3 x
         hotcopy --clean-logs r h4
         hotcopy nosuch h5
         hotcopy r nodir/sub
         hotcopy --incremental r h6
         d1 | load -q r
         hotcopy --incremental r h6
         $ svnadmin verify -q h6
         $ svnlook youngest h6
         hotcopy --incremental c1.8 h6
         hotcopy --incremental other h6
         hotcopy r full
         hotcopy r r",
    );
    // Subversion copies until the names are too long.
    let dir = twin.dir(Side::Ours);
    let refused = Side::Ours
        .tool("svnadmin")
        .args(["hotcopy", "r", "r/x"])
        .dir(&dir)
        .run();
    assert_eq!((refused.code, refused.error_codes()), (1, vec![200_004]));
    assert!(!dir.join("r/x").exists());
}

/// A copy has lock files of its own, also if those of the source are behind links.
#[test]
fn hotcopy_of_a_repository_with_linked_locks() {
    let twin = loaded();
    for side in Side::BOTH {
        let dir = twin.dir(side);
        let moved = std::fs::rename(dir.join("r/locks"), dir.join("elsewhere"));
        moved.expect("because the directory is ours");
        let linked = std::os::unix::fs::symlink("../elsewhere", dir.join("r/locks"));
        linked.expect("because the name is free");
    }
    twin.run(
        "hotcopy r h
         hotcopy --incremental r h
         recover h",
    );
    for side in Side::BOTH {
        for name in ["locks", "locks/db.lock", "locks/db-logs.lock"] {
            let path = twin.dir(side).join("h").join(name);
            let kind = path.symlink_metadata().expect(name).file_type();
            assert!(!kind.is_symlink(), "{side:?}: {name}");
        }
    }
}

/// Caches keep no more files open than a process may have.
#[test]
fn many_files_with_few_descriptors() {
    let twin = TwinDirectories::new();
    let mut stream = DumpStream::new(UUID);
    for number in 0..90 {
        stream.rev("m").file(&format!("f{number}"), "x");
    }
    twin.file("d", stream.bytes());
    twin.run(
        "create r
         d | load -q --no-flush-to-disk r",
    );
    let url = format!("file://{}/r", twin.dir(Side::Ours).display());
    for (tool, args) in [
        ("svnadmin", ["verify", "-q", "r"]),
        ("svnadmin", ["dump", "-q", "r"]),
        ("svn", ["log", "-v", &url]),
        ("svn", ["list", "-R", &url]),
    ] {
        let command = Side::Ours.tool(tool).args(args).command();
        let limited = Tool::new("sh").args(["-c", r#"ulimit -n 32; exec "$0" "$@""#]);
        let limited = limited.arg(command.get_program()).args(command.get_args());
        limited.dir(&twin.dir(Side::Ours)).ok();
    }
}

#[test]
fn freeze() {
    let twin = loaded();
    twin.file("both", "r\nother\n");
    twin.file("one-missing", "r\nnosuch\n");
    twin.file("exit7", "exit 7\n");
    twin.file("die", "kill -9 $$\n");
    twin.file("no-first-line", "echo run: $@\n");
    for side in Side::BOTH {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(twin.dir(side).join("no-first-line"), mode).expect("because it is ours");
    }
    twin.run(
        "create other
         freeze r -- echo hello
         freeze r
         freeze r -- sh exit7
         freeze r -- /nonexistent
         freeze r -- ./no-first-line a b
         freeze -F both -- echo two
         freeze -F both echo three
         freeze r echo four
         freeze -F nof -- echo
         freeze -F both
         freeze -F one-missing -- echo five
         freeze nosuch -- echo six
         freeze r -- sh die",
    );
}

/// `pack` on a frozen repository writes nothing before the freeze ends.
#[test]
fn packing_waits_while_a_repository_is_frozen() {
    let twin = loaded();
    let dir = &twin.dir(Side::Ours);
    let svnadmin = testkit::tool::tool_link("svnadmin");
    let script = "svnadmin create p; sed -i 's/sharded 1000/sharded 2/' p/db/format; svnadmin load -q p < d1";
    Tool::new("sh").args(["-ec", script]).dir(dir).ok();
    let pack = format!(
        "{} pack -q p > out 2>&1 & sleep 1; ls p/db/revs",
        svnadmin.display()
    );
    let frozen = Tool::new(&svnadmin)
        .args(["freeze", "p", "--", "sh", "-c", &pack])
        .dir(dir)
        .ok();
    assert_eq!(frozen.out(), "0\n1\n2\n");
    let packed = dir.join("p/db/min-unpacked-rev");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while std::fs::read_to_string(&packed).is_ok_and(|text| text != "4\n") {
        assert!(std::time::Instant::now() < end, "it is never packed");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Side::Theirs
        .tool("svnadmin")
        .args(["verify", "-q", "p"])
        .dir(dir)
        .ok();
}

const UUID: &str = "694022bd-e2dc-46c0-8d31-6eccbe7cc197";
