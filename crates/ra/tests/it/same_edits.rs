//! Edits in both directions are the same over each kind of access: updates with differences of texts, revisions of files, and
//! revisions that are copied to another repository.

use base::{Depth, FsPath, RelPath, Result, Revnum};
use delta::RecordingEditor;
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk, WindowForm};
use delta::svndiff::Codec;
use delta::window::Window;
use ra::{
    CommitRequest, FileRequest, FileRev, FileRevSink, FileRevsRequest, LockTarget, LogRequest, LogRevprops,
    PathState, ReplayOptions, ReplaySink, ReportKind, ReportRequest, Reporter, RevpropChange, Session,
};
use testkit::{Tool, branch_history, random_history, scratch};

use crate::access::{Access, KINDS};
use crate::same_answers::{check_out, make};

fn rel(text: &str) -> RelPath {
    RelPath::canonicalize(text).expect("a path")
}

/// Returns the calls of an edit, in an order that does not depend on the order of a directory's entries. Which digests and entry
/// properties come with a file whose text did not change differs.
fn shown(editor: &RecordingEditor) -> Vec<String> {
    let lines = editor
        .lines()
        .iter()
        .map(|line| match line.strip_prefix("close-file ") {
            Some(rest) => format!("close-file {}", rest.split(' ').next().unwrap_or_default()),
            None => line.clone(),
        });
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

/// Runs a report whose caller has the whole tree of `from`.
fn report(
    session: &mut dyn Session,
    request: &ReportRequest<'_>,
    from: Revnum,
    mut editor: RecordingEditor,
) -> Vec<String> {
    let mut state =
        |reporter: &mut dyn Reporter| reporter.set_path(&RelPath::empty(), &PathState::complete(from));
    match session.report(request, &mut state, &mut editor) {
        Ok(()) => shown(&editor),
        Err(error) => vec![format!("{:?}", error.code())],
    }
}

fn with_bases(texts: &RecordingEditor) -> RecordingEditor {
    let bases = texts.texts().iter();
    bases.fold(RecordingEditor::new(), |editor, (path, text)| {
        editor.with_base(path, text)
    })
}

/// Text edits, with the texts that they lead to.
#[derive(Default)]
struct Revisions {
    lines: Vec<String>,
    text: Vec<u8>,
    next: Vec<u8>,
}

impl FileRevSink for Revisions {
    fn revision(&mut self, rev: &FileRev) -> Result<()> {
        self.lines.push(format!("{rev:?}"));
        self.next.clear();
        Ok(())
    }

    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        let window = match chunk {
            TextChunk::Decoded(window) => window.clone(),
            TextChunk::Encoded(window) => window.decode(&mut Codec::new())?,
        };
        let begin = usize::try_from(window.source_offset).expect("a small text");
        let view = &self.text[begin..begin + window.source_len as usize];
        window.apply(view, &mut self.next)?;
        Ok(())
    }

    fn text_end(&mut self) -> Result<()> {
        self.text = std::mem::take(&mut self.next);
        self.lines.push(format!("{:?}", self.text));
        Ok(())
    }
}

#[test]
fn updates_and_revisions_of_files_are_the_same() {
    let scratch = scratch();
    let history = random_history::history(11, 30, false);
    make(scratch.path(), "r", Some(history.stream.bytes()));
    let access = Access::start(scratch.path());
    let youngest = history.youngest;
    let mut expected: Vec<String> = Vec::new();
    for kind in KINDS {
        let mut session = access.open(kind, "r");
        let mut found = Vec::new();
        for step in 0..6 {
            let (from, to) = (
                Revnum(youngest * step / 6 + 1),
                Revnum(youngest * (step + 2) / 8 + 1),
            );
            let base = check_out(&mut *session, from).expect("a checkout");
            let url = session.root_url().clone();
            for (what, kind) in [
                (
                    "update",
                    ReportKind::Update {
                        send_copyfrom: false,
                        ignore_ancestry: false,
                    },
                ),
                (
                    "ignore",
                    ReportKind::Update {
                        send_copyfrom: false,
                        ignore_ancestry: true,
                    },
                ),
                ("status", ReportKind::Status),
                (
                    "diff",
                    ReportKind::Diff {
                        url: &url,
                        ignore_ancestry: false,
                        text_deltas: true,
                    },
                ),
                (
                    "switch",
                    ReportKind::Switch {
                        url: &url,
                        send_copyfrom: false,
                        ignore_ancestry: true,
                    },
                ),
            ] {
                for depth in [Depth::Infinity, Depth::Files] {
                    let request = ReportRequest {
                        kind,
                        rev: Some(to),
                        target: "",
                        depth,
                    };
                    let editor = if what == "status" {
                        RecordingEditor::new()
                    } else {
                        with_bases(&base)
                    };
                    let mut lines = report(&mut *session, &request, from, editor);
                    if what == "status" {
                        // Texts are not sent; what stands for them differs.
                        lines.retain(|line| !line.starts_with("text "));
                    }
                    found.push(format!(
                        "{what} {from}:{to} {}:\n{}",
                        depth.word(),
                        lines.join("\n")
                    ));
                }
            }
        }
        for path in &history.paths {
            for reverse in [false, true] {
                let path = rel(path);
                let ends = [Revnum(0), Revnum(youngest)];
                let request = FileRevsRequest {
                    path: &path,
                    start: Some(ends[usize::from(reverse)]),
                    end: Some(ends[usize::from(!reverse)]),
                    include_merged: false,
                };
                let mut sink = Revisions::default();
                let result = session
                    .file_revs(&request, &mut sink)
                    .map_err(|error| error.code());
                found.push(format!(
                    "file-revs {path} {reverse}: {result:?} {}",
                    sink.lines.join("\n")
                ));
            }
            let path = rel(path);
            for peg in [1, youngest / 2, youngest] {
                let deleted = session.deleted_revision(&path, Revnum(peg), Revnum(youngest));
                found.push(format!(
                    "deleted {path}@{peg}: {:?}",
                    deleted.map_err(|error| error.code())
                ));
            }
        }
        for rev in 0..=youngest {
            let date = session
                .revprop(Revnum(rev), "svn:date")
                .expect("a revision")
                .expect("a date");
            let date = base::Date::parse(&date).expect("a date");
            found.push(format!("dated {rev}: {:?}", session.dated_revision(date)));
        }
        if expected.is_empty() {
            expected = found;
            continue;
        }
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{kind}");
        }
    }
}

/// Returns the log of merged revisions: which entries are below which, and what is known of each. Changed paths are left out, because
/// Apache passes those of an entry that it leaves out to the next one.
fn merged_log(session: &mut dyn Session, path: &RelPath, youngest: u64) -> Vec<String> {
    let request = LogRequest {
        paths: vec![path.clone()],
        start: Some(Revnum(youngest)),
        end: Some(Revnum(0)),
        include_merged: true,
        revprops: LogRevprops::Names(vec!["svn:log".to_owned(), "svn:author".to_owned()]),
        ..LogRequest::default()
    };
    let mut lines = Vec::new();
    let result = session.log(&request, &mut |entry| {
        lines.push(format!("{entry:?}"));
        Ok(())
    });
    // An error after the response has begun has no number over HTTP.
    lines.push(format!("{}", result.is_ok()));
    lines
}

#[test]
fn merged_revisions_are_the_same() {
    let scratch = scratch();
    let history = branch_history::history(3, 40);
    make(scratch.path(), "r", Some(history.stream.bytes()));
    let access = Access::start(scratch.path());
    // Subversion's servers fail where mergeinfo names a revision in which its path did not exist; ours do not.
    let mut expected: [Vec<Vec<String>>; 2] = Default::default();
    for kind in KINDS {
        let mut session = access.open(kind, "r");
        let mut found = Vec::new();
        for path in history.paths.iter().take(40) {
            let path = rel(path);
            found.push(merged_log(&mut *session, &path, history.youngest));
            let request = FileRevsRequest {
                path: &path,
                start: Some(Revnum(0)),
                end: Some(Revnum(history.youngest)),
                include_merged: true,
            };
            let mut sink = Revisions::default();
            let mut lines = Vec::new();
            let result = session.file_revs(&request, &mut sink).is_ok();
            // Whether an unchanged text is sent differs.
            lines.extend(sink.lines.into_iter().filter(|line| line.starts_with("FileRev")));
            lines.push(format!("{result:?} {:?}", sink.text));
            found.push(lines);
        }
        assert!(
            found
                .iter()
                .flatten()
                .any(|line| line.contains("has_children: true"))
        );
        let expected = &mut expected[usize::from(!["disk", "ours"].contains(&kind))];
        if expected.is_empty() {
            *expected = found;
            continue;
        }
        for (found, expected) in found.iter().zip(&*expected) {
            assert_eq!(found, expected, "{kind}");
        }
    }
}

/// Copies revisions to a session of another repository.
struct Copier<'a> {
    to: &'a mut dyn Session,
}

impl ReplaySink for Copier<'_> {
    fn revision(
        &mut self,
        rev: Revnum,
        revprops: &base::Props,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<()> {
        let mut revprops = revprops.clone();
        let standard = ["svn:author", "svn:date"].map(|name| (name, revprops.remove(name)));
        let request = CommitRequest {
            revprops,
            ..CommitRequest::default()
        };
        let root = self.to.root_url().clone();
        let info = self.to.commit(&request, &mut |editor| {
            let mut sources = Sources {
                inner: editor,
                root: &root,
                is_open: false,
            };
            drive(&mut sources)?;
            // A revision without changes does not open its root, but a commit must.
            match sources.is_open {
                true => Ok(()),
                false => sources
                    .inner
                    .open_root(None)
                    .and_then(|root| sources.inner.close_directory(root)),
            }
        })?;
        assert_eq!(info.rev, rev);
        for (name, value) in standard {
            let change = RevpropChange {
                rev,
                name,
                value: value.as_deref(),
                expected: None,
            };
            self.to.change_revprop(&change)?;
        }
        Ok(())
    }
}

/// Makes the sources of copies URLs.
struct Sources<'a> {
    inner: &'a mut dyn Editor,
    root: &'a base::Url,
    is_open: bool,
}

impl Sources<'_> {
    fn url(&self, from: Option<CopyFrom<'_>>) -> Option<(String, Revnum)> {
        let from = from?;
        let path = FsPath::canonicalize(from.path).expect("a path").to_rel();
        Some((self.root.join(&path).as_str().to_owned(), from.rev))
    }
}

fn copy_from(from: &Option<(String, Revnum)>) -> Option<CopyFrom<'_>> {
    from.as_ref().map(|(path, rev)| CopyFrom { path, rev: *rev })
}

impl Editor for Sources<'_> {
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()> {
        self.inner.set_target_revision(rev)
    }
    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        self.is_open = true;
        self.inner.open_root(base)
    }
    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.inner.delete_entry(path, rev, parent)
    }
    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        from: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        let from = self.url(from);
        self.inner.add_directory(path, parent, copy_from(&from))
    }
    fn open_directory(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<DirToken> {
        self.inner.open_directory(path, parent, base)
    }
    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.inner.change_dir_prop(dir, name, value)
    }
    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        self.inner.close_directory(dir)
    }
    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        from: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        let from = self.url(from);
        self.inner.add_file(path, parent, copy_from(&from))
    }
    fn open_file(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        self.inner.open_file(path, parent, base)
    }
    fn apply_textdelta(&mut self, file: FileToken, base: Option<&base::checksum::Md5>) -> Result<()> {
        self.inner.apply_textdelta(file, base)
    }
    fn accepts_encoded(&self) -> EncodedVersions {
        self.inner.accepts_encoded()
    }
    fn window_form(&self) -> Option<WindowForm> {
        self.inner.window_form()
    }
    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.inner.text_chunk(file, chunk)
    }
    fn text_end(&mut self, file: FileToken) -> Result<()> {
        self.inner.text_end(file)
    }
    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.inner.change_file_prop(file, name, value)
    }
    fn close_file(&mut self, file: FileToken, md5: Option<&base::checksum::Md5>) -> Result<()> {
        self.inner.close_file(file, md5)
    }
    fn close_edit(&mut self) -> Result<()> {
        self.inner.close_edit()
    }
    fn abort_edit(&mut self) -> Result<()> {
        self.inner.abort_edit()
    }
}

/// Returns the dump of a repository without its UUID and the properties of revision 0.
fn dump(path: &std::path::Path) -> String {
    let dump = Tool::new("svnadmin")
        .args(["dump", "-q", "-r1:HEAD"])
        .arg(path)
        .ok();
    let text = dump.out();
    text.lines()
        .filter(|line| !line.starts_with("UUID"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn revisions_are_copied_to_another_repository_over_each_kind() {
    let scratch = scratch();
    let history = random_history::history(5, 30, false);
    make(scratch.path(), "source", Some(history.stream.bytes()));
    let access = Access::start(scratch.path());
    let expected = dump(&scratch.path().join("source"));
    for kind in KINDS {
        make(scratch.path(), kind, None);
        let hook = scratch.path().join(kind).join("hooks/pre-revprop-change");
        std::fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("a hook can be written");
        Tool::new("chmod").arg("+x").arg(&hook).ok();
        let mut from = access.open(kind, "source");
        let mut to = access.open(kind, kind);
        let options = ReplayOptions {
            low_water_mark: Revnum(0),
            send_deltas: true,
        };
        let mut copier = Copier { to: &mut *to };
        let copied = from.replay_range(Revnum(1), Revnum(history.youngest), &options, &mut copier);
        copied.unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(dump(&scratch.path().join(kind)), expected, "{kind}");
        // A property with an expected value.
        let change = |value: &'static [u8], expected: Option<&'static [u8]>| RevpropChange {
            rev: Revnum(1),
            name: "my:prop",
            value: Some(value),
            expected: Some(expected),
        };
        to.change_revprop(&change(b"\x01 binary", None)).expect(kind);
        let refused = to.change_revprop(&change(b"2", None)).expect_err(kind);
        assert!(
            refused.has(base::Code::FS_PROP_BASEVALUE_MISMATCH),
            "{kind}: {refused}"
        );
        to.change_revprop(&change(b"3\r\n<&>", Some(b"\x01 binary")))
            .expect(kind);
        let found = to.revprop(Revnum(1), "my:prop").expect(kind);
        assert_eq!(found.as_deref(), Some(&b"3\r\n<&>"[..]), "{kind}");
        let delete = RevpropChange {
            rev: Revnum(1),
            name: "my:prop",
            value: None,
            expected: None,
        };
        to.change_revprop(&delete).expect(kind);
        assert_eq!(to.revprop(Revnum(1), "my:prop").expect(kind), None, "{kind}");
    }
}

#[test]
fn commits_of_locked_and_outdated_nodes_are_judged_the_same() {
    let scratch = scratch();
    let access = Access::start(scratch.path());
    for kind in KINDS {
        make(scratch.path(), kind, None);
        let mut session = access.open(kind, kind);
        let text = |editor: &mut dyn Editor, file, text: &[u8]| {
            editor.apply_textdelta(file, None)?;
            editor.text_chunk(file, TextChunk::Decoded(&Window::insertion(text)))?;
            editor.text_end(file)?;
            editor.close_file(file, Some(&base::checksum::Md5::of(text)))
        };
        let plain = CommitRequest::default();
        let made = session.commit(&plain, &mut |editor| {
            let root = editor.open_root(None)?;
            let dir = editor.add_directory(&rel("d e"), root, None)?;
            for name in ["d e/f&1", "d e/g%2"] {
                let file = editor.add_file(&rel(name), dir, None)?;
                text(editor, file, name.as_bytes())?;
            }
            editor.close_directory(dir)?;
            editor.close_directory(root)
        });
        assert_eq!(made.expect(kind).rev, Revnum(1));
        let change = |session: &mut dyn Session, request: &CommitRequest, base, what: &[u8]| {
            session.commit(request, &mut |editor| {
                let root = editor.open_root(Some(base))?;
                let dir = editor.open_directory(&rel("d e"), root, Some(base))?;
                let file = editor.open_file(&rel("d e/f&1"), dir, Some(base))?;
                editor.change_file_prop(file, "svn:eol-style", Some(b"native"))?;
                text(editor, file, what)?;
                editor.close_directory(dir)?;
                editor.close_directory(root)
            })
        };
        change(&mut *session, &plain, Revnum(1), b"two").expect(kind);
        // The file has changed since revision 1.
        let outdated = change(&mut *session, &plain, Revnum(1), b"three").expect_err(kind);
        let codes = [base::Code::FS_TXN_OUT_OF_DATE, base::Code::RA_OUT_OF_DATE];
        assert!(codes.contains(&outdated.code()), "{kind}: {outdated}");
        let target = LockTarget {
            path: rel("d e/f&1"),
            rev: Some(Revnum(2)),
        };
        let mut token = String::new();
        let lock = session.lock(&[target], Some("c <&>"), false, &mut |_, lock| {
            token = lock?.token;
            Ok(())
        });
        lock.expect(kind);
        let held = session.get_lock(&rel("d e/f&1")).expect(kind).expect(kind);
        assert_eq!(
            (held.token.as_str(), held.comment.as_deref()),
            (token.as_str(), Some("c <&>")),
            "{kind}"
        );
        let refused = change(&mut *session, &plain, Revnum(2), b"three").expect_err(kind);
        let codes = [base::Code::FS_NO_LOCK_TOKEN, base::Code::FS_BAD_LOCK_TOKEN];
        assert!(codes.contains(&refused.code()), "{kind}: {refused}");
        let with_token = |keep_locks| CommitRequest {
            lock_tokens: vec![(rel("d e/f&1"), token.clone())],
            keep_locks,
            ..CommitRequest::default()
        };
        change(&mut *session, &with_token(true), Revnum(2), b"three").expect(kind);
        assert!(session.get_lock(&rel("d e/f&1")).expect(kind).is_some(), "{kind}");
        let deleted = session.commit(&with_token(false), &mut |editor| {
            let root = editor.open_root(None)?;
            editor.delete_entry(&rel("d e"), Some(Revnum(3)), root)?;
            editor.close_directory(root)
        });
        assert_eq!(deleted.expect(kind).rev, Revnum(4), "{kind}");
        let left = session.get_locks(&RelPath::empty(), Depth::Infinity).expect(kind);
        assert_eq!(left, [], "{kind}");
        // No transaction stays.
        let txns = Tool::new("svnadmin")
            .arg("lstxns")
            .arg(scratch.path().join(kind))
            .ok();
        assert_eq!(txns.out(), "", "{kind}");
    }
}

#[test]
fn a_long_text_passes_in_both_directions() {
    let scratch = scratch();
    let access = Access::start(scratch.path());
    // Bytes that cannot be compressed, of many windows.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let long: Vec<u8> = (0..1_500_000).map(|_| next()).collect();
    for kind in KINDS {
        make(scratch.path(), kind, None);
        let mut session = access.open(kind, kind);
        let committed = session.commit(&CommitRequest::default(), &mut |editor| {
            let root = editor.open_root(None)?;
            let file = editor.add_file(&rel("long"), root, None)?;
            editor.apply_textdelta(file, None)?;
            for part in long.chunks(delta::window::WINDOW_SIZE) {
                editor.text_chunk(file, TextChunk::Decoded(&Window::insertion(part)))?;
            }
            editor.text_end(file)?;
            editor.close_file(file, Some(&base::checksum::Md5::of(&long)))?;
            editor.close_directory(root)
        });
        assert_eq!(committed.expect(kind).rev, Revnum(1));
        let path = rel("long");
        let request = FileRequest {
            path: &path,
            rev: None,
            props: true,
            text: true,
        };
        let mut found = Vec::new();
        let info = session.file(&request, &mut |_, piece| {
            found.extend_from_slice(piece);
            Ok(())
        });
        assert_eq!(info.expect(kind).rev, Revnum(1), "{kind}");
        assert!(found == long, "{kind}");
        let editor = check_out(&mut *session, Revnum(1)).expect("a checkout");
        assert!(editor.texts().get("long") == Some(&long), "{kind}");
    }
}
