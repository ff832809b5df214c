//! The same requests over each kind of access return the same.

use base::{Depth, RelPath, Revnum};
use delta::RecordingEditor;
use delta::editor::TextChunk;
use delta::window::Window;
use ra::{
    CommitRequest, DirectoryRequest, DirentFields, FileRequest, ListRequest, LockTarget, LogRequest,
    MergeinfoOf, MergeinfoRequest, PathState, ReplayOptions, ReportKind, ReportRequest, Session,
    UnlockTarget,
};
use testkit::{Tool, random_history, scratch};

use crate::access::{Access, KINDS, USER, configure};

pub fn make(root: &std::path::Path, name: &str, stream: Option<Vec<u8>>) {
    let path = root.join(name);
    Tool::new("svnadmin").arg("create").arg(&path).ok();
    if let Some(stream) = stream {
        Tool::new("svnadmin")
            .args(["load", "-q"])
            .arg(&path)
            .stdin(stream)
            .ok();
    }
    configure(&path);
}

/// Returns the checkout of a revision.
pub fn check_out(session: &mut dyn Session, rev: Revnum) -> base::Result<RecordingEditor> {
    let mut editor = RecordingEditor::new();
    let request = ReportRequest {
        kind: ReportKind::Update {
            send_copyfrom: false,
            ignore_ancestry: false,
        },
        rev: Some(rev),
        target: "",
        depth: Depth::Infinity,
    };
    let mut state =
        |reporter: &mut dyn ra::Reporter| reporter.set_path(&RelPath::empty(), &PathState::empty(rev));
    session.report(&request, &mut state, &mut editor)?;
    Ok(editor)
}

/// Returns the results of all requests about one path in one revision. Errors are compared by their numbers.
fn answers(session: &mut dyn Session, path: &RelPath, rev: Revnum) -> Vec<String> {
    let mut out = Vec::new();
    let mut add = |what: &str, result: base::Result<String>| {
        let shown = result.unwrap_or_else(|error| format!("{:?}", error.code()));
        out.push(format!("{what} {path}@{rev}: {shown}"));
    };
    add("latest", session.latest_revision().map(|rev| rev.to_string()));
    add(
        "revprops",
        session.revprops(rev).map(|props| format!("{props:?}")),
    );
    add(
        "kind",
        session
            .check_path(path, Some(rev))
            .map(|kind| format!("{kind:?}")),
    );
    add(
        "stat",
        session.stat(path, Some(rev)).map(|found| format!("{found:?}")),
    );
    let request = FileRequest {
        path,
        rev: Some(rev),
        props: true,
        text: true,
    };
    let mut text = Vec::new();
    let info = session.file(&request, &mut |_, piece| {
        text.extend_from_slice(piece);
        Ok(())
    });
    add("file", info.map(|info| format!("{info:?} {text:?}")));
    let request = DirectoryRequest {
        path,
        rev: Some(rev),
        props: true,
        entries: Some(DirentFields::ALL),
    };
    add(
        "directory",
        session.directory(&request).map(|found| format!("{found:?}")),
    );
    let mut lines = String::new();
    let request = ListRequest {
        path,
        rev: Some(rev),
        depth: Depth::Infinity,
        fields: DirentFields::ALL,
        patterns: None,
    };
    let listed = session.list(&request, &mut |path, found| {
        lines += &format!("{path} {found:?}\n");
        Ok(())
    });
    add("list", listed.map(|()| lines));
    add(
        "inherited",
        session
            .inherited_props(path, rev)
            .map(|found| format!("{found:?}")),
    );
    let request = MergeinfoRequest {
        paths: std::slice::from_ref(path),
        rev: Some(rev),
        of: MergeinfoOf::Inherited,
        descendants: true,
    };
    add(
        "mergeinfo",
        session.mergeinfo(&request).map(|found| format!("{found:?}")),
    );
    let request = LogRequest {
        paths: vec![path.clone()],
        start: Some(rev),
        end: Some(Revnum(0)),
        limit: 5,
        changed_paths: true,
        ..LogRequest::default()
    };
    let mut lines = String::new();
    let logged = session.log(&request, &mut |entry| {
        lines += &format!("{entry:?}\n");
        Ok(())
    });
    add("log", logged.map(|()| lines));
    let revs: Vec<Revnum> = (0..=rev.0).map(Revnum).collect();
    add(
        "locations",
        session
            .locations(path, rev, &revs)
            .map(|found| format!("{found:?}")),
    );
    let mut lines = String::new();
    let segments = session.location_segments(path, Some(rev), Some(rev), None, &mut |segment| {
        lines += &format!("{segment:?}\n");
        Ok(())
    });
    add("segments", segments.map(|()| lines));
    add("checkout", check_out(session, rev).map(|editor| sorted(&editor)));
    let mut editor = RecordingEditor::new();
    let options = ReplayOptions {
        low_water_mark: Revnum(0),
        send_deltas: false,
    };
    let replayed = session.replay(rev, &options, &mut editor);
    add("replay", replayed.map(|()| sorted(&editor)));
    out
}

/// Servers visit the entries of a directory in different orders.
fn sorted(editor: &RecordingEditor) -> String {
    let mut lines = editor.lines().to_vec();
    lines.sort();
    lines.join("\n")
}

#[test]
fn random_histories_look_the_same_over_all_kinds_of_access() {
    let scratch = scratch();
    let history = random_history::history(7, 25, false);
    make(scratch.path(), "r", Some(history.stream.bytes()));
    let access = Access::start(scratch.path());
    let mut sessions = KINDS.map(|kind| access.open(kind, "r"));
    let youngest = history.youngest;
    let mut different = Vec::new();
    for (at, path) in history.paths.iter().enumerate().take(40) {
        let path = RelPath::canonicalize(path).expect("a path");
        // One revision beyond the youngest.
        let rev = Revnum(at as u64 * 7 % (youngest + 2));
        let [disk, others @ ..] = &mut sessions;
        let expected = answers(&mut **disk, &path, rev);
        for (other, kind) in others.iter_mut().zip(&KINDS[1..]) {
            let found = answers(&mut **other, &path, rev);
            for (expected, found) in expected.iter().zip(&found) {
                if found != expected {
                    different.push(format!("{kind}:\n{found}\ninstead of\n{expected}"));
                }
            }
        }
    }
    assert!(
        different.is_empty(),
        "{} differences:\n{}",
        different.len(),
        different.join("\n")
    );
}

#[test]
fn commits_and_locks_have_the_same_effect() {
    let scratch = scratch();
    let access = Access::start(scratch.path());
    let mut dumps = Vec::new();
    for kind in KINDS {
        make(scratch.path(), kind, None);
        let mut session = access.open(kind, kind);
        let path = |text: &str| RelPath::canonicalize(text).expect("a path");
        let request = CommitRequest {
            revprops: [("svn:log".to_owned(), b"one".to_vec())].into(),
            ..CommitRequest::default()
        };
        let info = session.commit(&request, &mut |editor| {
            let root = editor.open_root(None)?;
            let dir = editor.add_directory(&path("d"), root, None)?;
            editor.change_dir_prop(dir, "p", Some(b"v"))?;
            let file = editor.add_file(&path("d/f"), dir, None)?;
            editor.apply_textdelta(file, None)?;
            editor.text_chunk(file, TextChunk::Decoded(&Window::insertion(b"text\n")))?;
            editor.text_end(file)?;
            editor.close_file(file, None)?;
            editor.close_directory(dir)?;
            editor.close_directory(root)
        });
        let info = info.unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(
            (info.rev, info.author.as_deref()),
            (Revnum(1), Some(USER.0)),
            "{kind}"
        );
        let source = session.root_url().join(&path("d")).as_str().to_owned();
        let copied = session.commit(&request, &mut |editor| {
            let root = editor.open_root(None)?;
            let (path, rev) = (path("copy"), Revnum(1));
            let from = delta::editor::CopyFrom { path: &source, rev };
            let dir = editor.add_directory(&path, root, Some(from))?;
            editor.close_directory(dir)
        });
        assert_eq!(copied.expect(kind).rev, Revnum(2));
        let refused = session.commit(&request, &mut |editor| {
            let root = editor.open_root(None)?;
            editor.delete_entry(&path("none"), Some(Revnum(2)), root)
        });
        let code = refused.expect_err(kind).code();
        assert_eq!(code, base::Code::FS_TXN_OUT_OF_DATE, "{kind}");
        let target = LockTarget {
            path: path("d/f"),
            rev: None,
        };
        let missing = LockTarget {
            path: path("none"),
            rev: None,
        };
        let mut results = Vec::new();
        let locked = session.lock(&[target, missing], Some("mine"), false, &mut |_, result| {
            results.push(result);
            Ok(())
        });
        locked.expect(kind);
        let lock = results[0].clone().expect(kind);
        assert!(results[1].is_err(), "{kind}");
        let held = session.get_locks(&RelPath::empty(), Depth::Infinity).expect(kind);
        assert_eq!(held, std::slice::from_ref(&lock), "{kind}");
        let target = UnlockTarget {
            path: path("d/f"),
            token: Some(lock.token),
        };
        session
            .unlock(&[target], false, &mut |_, result| result)
            .expect(kind);
        assert_eq!(session.get_lock(&path("d/f")).expect(kind), None, "{kind}");
        assert_eq!(session.latest_revision().expect(kind), Revnum(2));
        let dump = Tool::new("svnadmin")
            .args(["dump", "-q"])
            .arg(scratch.path().join(kind))
            .ok();
        let is_fixed = |line: &&str| !line.starts_with("UUID") && !line.starts_with("20");
        dumps.push(dump.out().lines().filter(is_fixed).collect::<Vec<_>>().join("\n"));
    }
    for (dump, kind) in dumps.iter().zip(KINDS) {
        assert_eq!(dump, &dumps[0], "{kind}");
    }
}
