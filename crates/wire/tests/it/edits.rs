//! An edit that is written as messages and read back is the same edit.

use base::checksum::Md5;
use base::{Error, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk};
use delta::svndiff::Codec;
use delta::window::Window;
use wire::svn::command::Named;
use wire::svn::edit::EditCommand;
use wire::svn::handshake::Capabilities;
use wire::svn::{Consumed, EditDecoder, EditDriver, Item, MessageSink, Scanner};

/// A connection that keeps the sent bytes; its peer accepts everything.
#[derive(Default)]
struct CollectingSink(Vec<u8>);

impl MessageSink for CollectingSink {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
    fn checkpoint(&mut self) -> Result<bool> {
        Ok(false)
    }
    fn answer(&mut self) -> Result<Result<()>> {
        Ok(Ok(()))
    }
}

/// An editor that records its calls.
#[derive(Default)]
struct CallRecorder(Vec<String>, u32);

impl CallRecorder {
    fn record(&mut self, text: String) -> u32 {
        self.0.push(text);
        self.1 += 1;
        self.1
    }
}

impl Editor for CallRecorder {
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()> {
        self.record(format!("target {rev}"));
        Ok(())
    }
    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        Ok(DirToken(self.record(format!("root {base:?}"))))
    }
    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, _: DirToken) -> Result<()> {
        self.record(format!("delete {path} {rev:?}"));
        Ok(())
    }
    fn add_directory(&mut self, path: &RelPath, _: DirToken, from: Option<CopyFrom<'_>>) -> Result<DirToken> {
        Ok(DirToken(self.record(format!("add dir {path} {from:?}"))))
    }
    fn open_directory(&mut self, path: &RelPath, _: DirToken, base: Option<Revnum>) -> Result<DirToken> {
        Ok(DirToken(self.record(format!("open dir {path} {base:?}"))))
    }
    fn change_dir_prop(&mut self, _: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.record(format!("dir prop {name} {value:?}"));
        Ok(())
    }
    fn close_directory(&mut self, _: DirToken) -> Result<()> {
        self.record("close dir".to_owned());
        Ok(())
    }
    fn absent_directory(&mut self, path: &RelPath, _: DirToken) -> Result<()> {
        self.record(format!("absent dir {path}"));
        Ok(())
    }
    fn add_file(&mut self, path: &RelPath, _: DirToken, from: Option<CopyFrom<'_>>) -> Result<FileToken> {
        Ok(FileToken(self.record(format!("add file {path} {from:?}"))))
    }
    fn open_file(&mut self, path: &RelPath, _: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        Ok(FileToken(self.record(format!("open file {path} {base:?}"))))
    }
    fn apply_textdelta(&mut self, _: FileToken, base: Option<&Md5>) -> Result<()> {
        self.record(format!("text {base:?}"));
        Ok(())
    }
    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::NONE
    }
    fn text_chunk(&mut self, _: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        self.record(format!("{chunk:?}"));
        Ok(())
    }
    fn text_end(&mut self, _: FileToken) -> Result<()> {
        self.record("text end".to_owned());
        Ok(())
    }
    fn change_file_prop(&mut self, _: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.record(format!("file prop {name} {value:?}"));
        Ok(())
    }
    fn close_file(&mut self, _: FileToken, md5: Option<&Md5>) -> Result<()> {
        self.record(format!("close file {md5:?}"));
        Ok(())
    }
    fn absent_file(&mut self, path: &RelPath, _: DirToken) -> Result<()> {
        self.record(format!("absent file {path}"));
        Ok(())
    }
    fn close_edit(&mut self) -> Result<()> {
        self.record("close".to_owned());
        Ok(())
    }
    fn abort_edit(&mut self) -> Result<()> {
        self.record("abort".to_owned());
        Ok(())
    }
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("canonical")
}

fn drive(editor: &mut dyn Editor) -> Result<()> {
    editor.set_target_revision(Revnum(7))?;
    let root = editor.open_root(None)?;
    editor.delete_entry(&path("gone"), Some(Revnum(3)), root)?;
    let from = CopyFrom {
        path: "/old",
        rev: Revnum(2),
    };
    let dir = editor.add_directory(&path("new"), root, Some(from))?;
    editor.change_dir_prop(dir, "p", Some(b"v\0"))?;
    editor.absent_directory(&path("new/secret"), dir)?;
    let one = editor.add_file(&path("new/one"), dir, None)?;
    let two = editor.open_file(&path("two"), root, Some(Revnum(1)))?;
    editor.close_directory(dir)?;
    editor.close_directory(root)?;
    // Files may be closed after their directories, and their texts may be interleaved.
    editor.apply_textdelta(one, None)?;
    editor.apply_textdelta(two, Some(&Md5::EMPTY))?;
    editor.text_chunk(one, TextChunk::Decoded(&Window::insertion(b"hello\n")))?;
    editor.text_chunk(two, TextChunk::Decoded(&Window::insertion(&[b'x'; 5000])))?;
    editor.text_chunk(one, TextChunk::Decoded(&Window::insertion(b"again\n")))?;
    editor.text_end(two)?;
    editor.text_end(one)?;
    editor.change_file_prop(two, "q", None)?;
    editor.close_file(one, Some(&Md5::of(b"hello\nagain\n")))?;
    editor.close_file(two, None)?;
    editor.close_edit()
}

fn on_the_wire(level: u8) -> Vec<u8> {
    let mut kept = CollectingSink::default();
    let mut codec = Codec::new();
    let mut driver = EditDriver::new(&mut kept, Capabilities::client(), level, &mut codec);
    drive(&mut driver).expect("nothing fails");
    assert!(driver.has_ended());
    kept.0
}

fn consume(mut bytes: &[u8], editor: &mut dyn Editor) -> Result<Consumed, String> {
    let mut decoder = EditDecoder::new();
    let mut last = Consumed::More;
    while !bytes.is_empty() {
        let len = Scanner::default()
            .scan(bytes)
            .map_err(|e| format!("{e:?}"))?
            .ok_or("cut")?;
        let named = Item::parse(&bytes[..len])
            .and_then(Named::parse)
            .map_err(|e| format!("{e:?}"))?;
        let command = EditCommand::parse(named)
            .map_err(|e| format!("{e:?}"))?
            .ok_or("unknown")?;
        let mut again = Vec::new();
        command.write(&mut again);
        assert_eq!(again, &bytes[..len], "a message is written as it was read");
        last = decoder.apply(command, editor).map_err(|e| format!("{e:?}"))?;
        bytes = &bytes[len..];
    }
    Ok(last)
}

#[test]
fn an_edit_survives_the_wire_at_every_level() {
    let mut expected = CallRecorder::default();
    drive(&mut expected).expect("nothing fails");
    for level in [0, 1, 5, 9] {
        let mut recorder = CallRecorder::default();
        assert_eq!(consume(&on_the_wire(level), &mut recorder), Ok(Consumed::Closed));
        assert_eq!(recorder.0, expected.0, "level {level}");
    }
}

#[test]
fn the_first_chunk_is_the_header_of_the_document() {
    let bytes = on_the_wire(5);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("( textdelta-chunk ( 2:c2 4:SVN\u{2} ) ) "));
    assert!(text.contains("( textdelta-chunk ( 2:c3 4:SVN\u{2} ) ) "));
    assert!(text.starts_with(
        "( target-rev ( 7 ) ) ( open-root ( ( ) 2:d0 ) ) ( delete-entry ( 4:gone ( 3 ) 2:d0 ) ) "
    ));
    assert!(String::from_utf8_lossy(&on_the_wire(0)).contains("4:SVN\0 "));
}

#[test]
fn tokens_and_order_are_checked() {
    for bad in [
        "( close-dir ( 2:d0 ) ) ",
        "( open-root ( ( ) 2:d0 ) ) ( close-file ( 2:d0 ( ) ) ) ",
        "( open-root ( ( ) 2:d0 ) ) ( add-file ( 1:a 2:d0 2:c1 ( ) ) ) ( textdelta-chunk ( 2:c1 1:x ) ) ",
        "( open-root ( ( ) 2:d0 ) ) ( add-file ( 1:a 2:d0 2:c1 ( ) ) ) ( apply-textdelta ( 2:c1 ( ) ) ) ( apply-textdelta ( 2:c1 ( ) ) ) ",
    ] {
        let why = consume(bad.as_bytes(), &mut CallRecorder::default()).expect_err("not an edit");
        assert!(why.starts_with("Protocol("), "{why}");
    }
    let broken = "( open-root ( ( ) 2:d0 ) ) ( add-file ( 1:a 2:d0 2:c1 ( ) ) ) ( apply-textdelta ( 2:c1 ( ) ) ) ( textdelta-chunk ( 2:c1 4:nope ) ) ";
    let why = consume(broken.as_bytes(), &mut CallRecorder::default()).expect_err("no svndiff");
    assert!(why.starts_with("Refused("), "{why}");
}

#[test]
fn a_peer_that_fails_early_is_told_that_we_know() {
    struct FailingSink(Vec<u8>);
    impl MessageSink for FailingSink {
        fn buffer(&mut self) -> &mut Vec<u8> {
            &mut self.0
        }
        fn checkpoint(&mut self) -> Result<bool> {
            Ok(true)
        }
        fn answer(&mut self) -> Result<Result<()>> {
            Ok(Err(Error::bare(base::Code::WC_OBSTRUCTED_UPDATE)))
        }
    }
    let mut outlet = FailingSink(Vec::new());
    let mut codec = Codec::new();
    let mut driver = EditDriver::new(&mut outlet, Capabilities::client(), 5, &mut codec);
    let error = drive(&mut driver).expect_err("the peer fails");
    assert_eq!(error.code(), base::Code::WC_OBSTRUCTED_UPDATE);
    assert!(driver.has_ended());
    driver.give_up().expect("it was given up already");
    assert_eq!(outlet.0, b"( target-rev ( 7 ) ) ( abort-edit ( ) ) ");
}
