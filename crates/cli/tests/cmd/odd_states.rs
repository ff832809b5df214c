//! Repositories in states that crashes, other programs and unusual options leave: what both programs make of them.

use std::fs;

use testkit::stream::{DumpStream, RecordKind};
use testkit::{Side, Tool, history};

use super::script::TwinDirectories;

/// Makes a repository `r` in both directories, with a few revisions.
fn loaded(create: &str) -> TwinDirectories {
    let twin = TwinDirectories::new();
    twin.file("stream", history::small().bytes());
    twin.run(&format!("{create} r\nstream | load -q r"));
    twin
}

/// Locks hold for the revisions of a stream, although a stream has no user and no tokens.
#[test]
fn streams_do_not_change_locked_files() {
    for create in [
        "create",
        "create --compatible-version 1.1",
        "create --fs-type fsx",
    ] {
        let twin = TwinDirectories::new();
        let mut stream = DumpStream::new("b1f7b0a4-5a0d-4ef0-8a55-0d6f2d8d1c11");
        stream
            .rev("begin")
            .mkdirs(["d", "e"])
            .file("d/f", "1")
            .file("g", "1");
        twin.file("begin", stream.bytes());
        twin.file("comment", "reason");
        twin.run(&format!(
            "{create} r
             begin | load -q r
             lock r d/f jane comment opaquelocktoken:1",
        ));
        let mut part = |change: &dyn Fn(&mut DumpStream)| {
            stream.rev("change");
            change(&mut stream);
            let last = stream.youngest();
            stream.part(last, last)
        };
        let parts = [
            part(&|stream| _ = stream.edit("d/f", "2")),
            part(&|stream| _ = stream.delete("d/f")),
            part(&|stream| _ = stream.delete("d")),
            part(&|stream| _ = stream.copy(RecordKind::Dir, "c", 1, "d").edit("g", "2")),
        ];
        for (number, part) in parts.into_iter().enumerate() {
            twin.file(&format!("part{number}"), part);
            twin.run(&format!("part{number} | load -q r"));
        }
        twin.run(
            "lslocks r
             lstxns r
             $ svnlook tree r
             unlock r d/f jane opaquelocktoken:1
             part0 | load -q r
             $ svnlook tree r
             $ svnadmin verify -q r",
        );
    }
}

/// Numbers in `current` that no revision has.
#[test]
fn recover_replaces_a_damaged_current() {
    for (create, lines) in [
        (
            "create",
            &[
                "",
                "x",
                "-1",
                " 1",
                "2147483647",
                "2147483648",
                "9999999999",
                "99999999999",
                "00000000000001",
            ][..],
        ),
        (
            "create --compatible-version 1.1",
            &[
                "3",
                "3 1",
                "3 1 1 x",
                "3  1 1",
                "3 ! 1",
                "x 1 1",
                "99999999999 1 1",
            ],
        ),
    ] {
        let twin = loaded(create);
        for line in lines {
            twin.file("r/db/current", format!("{line}\n"));
            twin.run(
                "dump -q -r 0 r
                 recover r
                 info r",
            );
            twin.same_file("r/db/current");
            twin.run("recover r");
        }
    }
}

/// The counter of transactions: Subversion goes on with any text.
#[test]
fn commits_go_on_with_a_damaged_txn_current() {
    for fs_type in ["fsfs", "fsx"] {
        let twin = loaded(&format!("create --fs-type {fs_type}"));
        let ours = twin.dir(Side::Ours);
        // A transaction that stays has the first number.
        let txn = Tool::new("svnadmin").args(["lstxns", "r"]).dir(&ours);
        assert_eq!(txn.ok().out(), "");
        for (number, text) in ["", "\n", "!garbage\n"].into_iter().enumerate() {
            fs::write(ours.join("r/db/txn-current"), text).expect("because the repository is ours");
            let made = Side::Ours.tool("svnmucc").args(["-m", "m", "-U"]);
            let made = made.arg(format!("file://{}/r", ours.display()));
            made.args(["mkdir", &format!("new{number}")]).ok();
        }
        let verified = Tool::new("svnadmin").args(["verify", "-q", "r"]).dir(&ours);
        verified.ok();
    }
}

#[test]
fn options_of_fsfs_conf_hold_for_long_jobs() {
    let twin = TwinDirectories::new();
    twin.file("stream", history::rich().bytes());
    twin.run("create r");
    twin.file("r/db/fsfs.conf", "[debug]\npack-after-commit = true\n");
    for side in Side::BOTH {
        let path = twin.dir(side).join("r/db/format");
        let format = fs::read_to_string(&path).expect("because the repository is ours");
        Tool::new("chmod").arg("u+w").arg(&path).ok();
        fs::write(&path, format.replace("sharded 1000", "sharded 2")).expect("because it is writable");
    }
    twin.run(
        "stream | load -q r
         info r
         $ svnadmin verify -q r",
    );
    twin.file("r/db/fsfs.conf", "[rep-sharing]\nenable-rep-sharing = false\n");
    twin.run(
        "build-repcache r
         build-repcache -q r
         build-repcache -r 1:2 r
         build-repcache -r 99 r",
    );
}

/// Subversion's hotcopy begins with a new filesystem. If it is killed, properties of revision 0 are there that are younger than the
/// source's and of the same length.
#[test]
fn a_copy_that_subversion_has_begun_gets_the_properties_of_revision_0() {
    for incomplete in ["db/format", "db/fs-type"] {
        let twin = TwinDirectories::new();
        let ours = twin.dir(Side::Ours);
        twin.file("stream", history::small().bytes());
        twin.run("create r\nstream | load -q r\n$ svnadmin create copy");
        for name in ["db/uuid", "db/fsfs.conf"] {
            fs::copy(ours.join("r").join(name), ours.join("copy").join(name)).expect("because both are ours");
        }
        fs::remove_file(ours.join("copy").join(incomplete)).expect("because it is there");
        let copy = Side::Ours
            .tool("svnadmin")
            .args(["hotcopy", "-q", "--incremental", "r", "copy"]);
        copy.dir(&ours).ok();
        for name in ["db/revprops/0/0", "db/fs-type", "db/format"] {
            let read = |repo: &str| fs::read(ours.join(repo).join(name)).expect("because it was copied");
            assert_eq!(read("copy"), read("r"), "{name}, without {incomplete}");
        }
    }
}

/// In a revision file that has lost or won bytes, the offset of the changed-path list may lead to an empty line: that is no empty list.
#[test]
fn a_shifted_revision_file_is_no_empty_revision() {
    for (version, name) in [("1.3", "r/db/revs/2"), ("1.8", "r/db/revs/0/2")] {
        let twin = loaded(&format!("create --compatible-version {version}"));
        for side in Side::BOTH {
            let path = twin.dir(side).join(name);
            let mut bytes = fs::read(&path).expect("because the repository has it");
            bytes.insert(3, b'X');
            Tool::new("chmod").arg("u+w").arg(&path).ok();
            fs::write(&path, bytes).expect("because it is writable");
        }
        for command in ["dump -q r", "dump -q --incremental -r 2 r"] {
            let [theirs, ours] = Side::BOTH.map(|side| {
                let dump = side.tool("svnadmin").args(command.split(' '));
                let dump = dump.dir(&twin.dir(side)).run();
                (dump.code, dump.error_codes())
            });
            assert_eq!(ours, theirs, "{command}, version {version}");
            assert_eq!(ours.0, 1, "{command}, version {version}");
        }
    }
}
