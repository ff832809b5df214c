//! Revisions that are read ahead arrive as they were sent.

use base::RelPath;
use base::checksum::Md5;
use delta::RecordingEditor;
use delta::editor::{CopyFrom, TextChunk};
use delta::window::Window;

use super::*;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("a path")
}

/// Makes an edit with every call.
fn edit(editor: &mut dyn Editor, text: &[u8]) -> Result<()> {
    editor.set_target_revision(Revnum(7))?;
    let root = editor.open_root(Some(Revnum(6)))?;
    editor.change_dir_prop(root, "p", Some(b"v\n\0"))?;
    editor.delete_entry(&path("gone"), None, root)?;
    let from = CopyFrom {
        path: "/b c",
        rev: Revnum(3),
    };
    let dir = editor.add_directory(&path("d"), root, Some(from))?;
    let file = editor.add_file(&path("d/f"), dir, None)?;
    editor.close_directory(dir)?;
    let other = editor.open_directory(&path("e"), root, None)?;
    editor.change_dir_prop(other, "p", None)?;
    editor.absent_file(&path("e/x"), other)?;
    editor.absent_directory(&path("e/y"), other)?;
    editor.close_directory(other)?;
    editor.apply_textdelta(file, None)?;
    for piece in text.chunks(50_000) {
        editor.text_chunk(file, TextChunk::Decoded(&Window::insertion(piece)))?;
    }
    editor.text_end(file)?;
    editor.change_file_prop(file, "q", Some(b""))?;
    editor.close_file(file, Some(&Md5::of(text)))?;
    let second = editor.open_file(&path("g"), root, Some(Revnum(6)))?;
    editor.close_file(second, None)?;
    editor.close_directory(root)
}

#[test]
fn a_played_edit_makes_the_same_calls() {
    let text: Vec<u8> = (0..400_000u32).map(|at| (at % 251) as u8).collect();
    let mut expected = RecordingEditor::new();
    edit(&mut expected, &text).expect("a correct edit");
    // A small limit: the sender has to wait for the receiver.
    let (sender, steps) = queue::bounded(1000, Cancel::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut sink = RecordingSink { sender: &sender };
            let props = Props::from([("svn:log".to_owned(), b"text".to_vec())]);
            for rev in [1, 2] {
                sink.revision(Revnum(rev), &props, &mut |editor| edit(editor, &text))?;
            }
            sender.send(Step::End)
        });
        let mut ahead = ReplayAhead {
            steps,
            is_inside: false,
        };
        // The first revision is skipped.
        assert_eq!(
            ahead.next_revision().expect("works").expect("a revision").0,
            Revnum(1)
        );
        let (rev, props) = ahead.next_revision().expect("works").expect("a revision");
        assert_eq!((rev, props.len()), (Revnum(2), 1));
        let mut editor = RecordingEditor::new();
        ahead.drive(&mut editor).expect("works");
        assert_eq!(editor.transcript(), expected.transcript());
        assert!(ahead.next_revision().expect("works").is_none());
    });
}

#[test]
fn a_receiver_that_is_gone_ends_the_sender() {
    let (sender, steps) = queue::bounded(1000, Cancel::new());
    drop(steps);
    let error = sender.send(Step::End).expect_err("no receiver");
    assert_eq!(error.code(), Code::CANCELLED);
}

#[test]
fn a_sender_that_is_gone_or_a_cancellation_ends_the_receiver() {
    let cancel = Cancel::new();
    let (sender, mut steps) = queue::bounded(1000, cancel.clone());
    drop(sender);
    assert_eq!(
        steps.receive().expect_err("no sender").code(),
        Code::ASSERTION_FAIL
    );
    let (_sender, mut steps) = queue::bounded(1000, cancel.clone());
    cancel.cancel();
    assert_eq!(steps.receive().expect_err("cancelled").code(), Code::CANCELLED);
}
