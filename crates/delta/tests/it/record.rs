//! The recording editor records its calls, and refuses calls that no driver may make.

use base::checksum::Md5;
use base::{Code, RelPath, Revnum};
use delta::editor::{CopyFrom, Editor, EncodedVersions, TextChunk};
use delta::svndiff::{self, Codec, EncodedWindow, Parsed};
use delta::window::Window;
use delta::xdelta::Matcher;
use delta::{NullEditor, RecordingEditor};

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn drive(editor: &mut dyn Editor, encoded: bool) -> base::Result<()> {
    editor.set_target_revision(Revnum(5))?;
    let root = editor.open_root(Some(Revnum(3)))?;
    editor.delete_entry(&path("gone"), Some(Revnum(4)), root)?;
    editor.absent_directory(&path("secret"), root)?;
    let dir = editor.add_directory(
        &path("dir"),
        root,
        Some(CopyFrom {
            path: "/old",
            rev: Revnum(2),
        }),
    )?;
    editor.change_dir_prop(dir, "svn:ignore", Some(b"*.o\n"))?;
    let added = editor.add_file(&path("dir/a"), dir, None)?;
    let edited = editor.open_file(&path("edited"), root, Some(Revnum(3)))?;
    editor.close_directory(dir)?;
    editor.apply_textdelta(added, None)?;
    editor.apply_textdelta(edited, Some(&Md5::of(b"the base")))?;
    if encoded {
        let mut bytes = Vec::new();
        svndiff::write_insertion(b"new text", 2, 0, &mut Codec::new(), &mut bytes);
        let Ok(Parsed::Complete(window)) = EncodedWindow::parse(2, &bytes) else {
            panic!("no window");
        };
        editor.text_chunk(added, TextChunk::Encoded(&window))?;
    } else {
        editor.text_chunk(added, TextChunk::Decoded(&Window::insertion(b"new text")))?;
    }
    let window = Matcher::new().window(0, b"the base", b"the basement");
    editor.text_chunk(edited, TextChunk::Decoded(&window))?;
    editor.text_end(edited)?;
    editor.text_end(added)?;
    editor.change_file_prop(added, "p", None)?;
    editor.close_directory(root)?;
    editor.close_file(edited, Some(&Md5::of(b"the basement")))?;
    editor.close_file(added, None)?;
    editor.close_edit()
}

#[test]
fn every_call_is_a_line() {
    let mut editor = RecordingEditor::new()
        .with_base("edited", b"the base")
        .accepting(EncodedVersions::up_to(2));
    drive(&mut editor, true).unwrap();
    let expected = "\
set-target-revision 5
open-root 3
delete-entry gone 4
absent-directory secret
add-directory dir from /old@2
dir-prop dir svn:ignore = \"*.o\\n\"
add-file dir/a
open-file edited 3
close-directory dir
text edited base 8 -> 12 bytes in 1 window, <basement>
text dir/a base 0 -> 8 bytes in 1 window, <new>
file-prop dir/a p deleted
close-directory .
close-file edited <basement>
close-file dir/a -
close-edit
"
    .replace("<basement>", &Md5::of(b"the basement").to_string())
    .replace("<new>", &Md5::of(b"new text").to_string());
    assert_eq!(editor.transcript(), expected);
    assert_eq!(editor.texts()["edited"], b"the basement");
    assert_eq!(editor.encoded_windows(), 1);
    drive(&mut NullEditor::new(EncodedVersions::NONE), false).unwrap();
}

#[test]
fn bad_drivers_are_refused() {
    // A window of a version that the receiver does not accept; a base that is not the receiver's.
    let base = || RecordingEditor::new().with_base("edited", b"the base");
    drive(&mut base(), false).unwrap();
    assert_eq!(drive(&mut base(), true).unwrap_err().code(), Code::ASSERTION_FAIL);
    let mut other = RecordingEditor::new();
    assert_eq!(
        drive(&mut other, false).unwrap_err().code(),
        Code::CHECKSUM_MISMATCH
    );

    let mut editor = RecordingEditor::new();
    let root = editor.open_root(None).unwrap();
    editor.open_root(None).unwrap_err();
    let dir = editor.open_directory(&path("d"), root, None).unwrap();
    editor.add_file(&path("d/x/y"), dir, None).unwrap_err();
    editor.close_directory(root).unwrap_err();
    editor.close_edit().unwrap_err();
    editor.close_directory(dir).unwrap();
    editor.add_file(&path("d/y"), dir, None).unwrap_err();
    editor.close_directory(root).unwrap();
    editor.close_edit().unwrap();
}
