//! Writing texts: of any length, in pieces of any size, abandoned halfway, and to proto-revision files that others
//! have left.

use std::io::Write as _;
use std::sync::Arc;

use base::checksum::Md5;
use base::{Code, Date, FsPath, Revnum};
use delta::editor::{TextChunk, WindowForm};
use delta::svndiff::{self, Codec, EncodedWindow, Parsed};
use fsfs::disk::UnsyncedDisk;
use fsfs::{Cache, Fs, TextWriter, Txn, TxnOptions};
use proptest::prelude::*;
use testkit::{Repo, Tool};

fn open(repo: &Repo) -> Fs {
    Fs::open_on(&repo.db(), &Cache::new(4 << 20), Arc::new(UnsyncedDisk)).unwrap()
}

fn path(text: &str) -> FsPath {
    FsPath::parse(text).unwrap()
}

fn begin(fs: &Fs) -> Txn {
    fs.begin_txn(fs.youngest().unwrap(), TxnOptions::default(), Date(0))
        .unwrap()
}

fn start(txn: &mut Txn, file: &str) -> TextWriter {
    if txn.root().unwrap().try_node(&path(file)).unwrap().is_none() {
        txn.make_file(&path(file)).unwrap();
    }
    txn.apply_text(&path(file), None).unwrap()
}

fn put(txn: &mut Txn, file: &str, text: &[u8]) {
    let mut writer = start(txn, file);
    writer.write(text).unwrap();
    assert_eq!(writer.finish(txn).unwrap(), Md5::of(text));
}

fn read(fs: &Fs, file: &str) -> Vec<u8> {
    let root = fs.root(fs.youngest().unwrap()).unwrap();
    root.node(&path(file))
        .unwrap()
        .reader()
        .unwrap()
        .read_all()
        .unwrap()
}

/// The windows of a text, encoded or decoded, and the text that results from them.
fn sent(fs: &Fs, file: &str, form: WindowForm) -> (usize, Vec<u8>) {
    let root = fs.root(fs.youngest().unwrap()).unwrap();
    let mut windows = fs.encoded_text(&root.node(&path(file)).unwrap(), form).unwrap();
    let (mut bytes, mut text) = (0, Vec::new());
    while let Some(window) = windows.next_window().unwrap() {
        bytes += window.len();
        let window = window.window().unwrap();
        window.apply(&[], &mut text, &mut Codec::new()).unwrap();
    }
    (bytes, text)
}

/// A client may accept compressed windows or not, after another client has done the opposite.
#[test]
fn the_compression_of_a_text_does_not_depend_on_earlier_clients() {
    let repo = Repo::create("1.14");
    let text = |word: &str| format!("{word} and the same again\n").repeat(20_000).into_bytes();
    for word in ["first", "second", "third"] {
        let fs = open(&repo);
        let mut txn = begin(&fs);
        put(&mut txn, "/file", &text(word));
        txn.commit(&|| Date(0)).unwrap();
    }
    let (long, packed, raw) = (text("third").len(), WindowForm::new(2, 5), WindowForm::new(2, 0));
    for (first, then) in [(packed, raw), (raw, packed)] {
        let fs = open(&repo);
        let before = sent(&fs, "/file", first);
        let after = sent(&fs, "/file", then);
        assert!(before.1 == text("third") && after.1 == text("third"));
        let packed_len = if first == packed { before.0 } else { after.0 };
        assert!(packed_len < long / 2, "{packed_len} of {long}");
        // A client that accepts compressed windows is sent those that are stored compressed; the others are not
        // compressed for it.
        let raw_len = if first == packed { after.0 } else { before.0 };
        assert_eq!(raw_len < long, first == packed, "{raw_len} of {long}");
        assert_eq!(read(&fs, "/file"), text("third"));
    }
}

/// Writes a text as a client sends it: `piece` bytes in each window, compressed or not.
fn put_windows(fs: &Fs, text: &[u8], piece: usize, level: u8) {
    let mut txn = begin(fs);
    if txn.root().unwrap().try_node(&path("/sent")).unwrap().is_some() {
        txn.delete(&path("/sent")).unwrap();
    }
    txn.make_file(&path("/sent")).unwrap();
    let md5 = Md5::of(text);
    let mut writer = txn.apply_textdelta(&path("/sent"), None, Some(&md5)).unwrap();
    let (mut codec, mut bytes) = (Codec::new(), Vec::new());
    for piece in text.chunks(piece) {
        bytes.clear();
        svndiff::write_insertion(piece, 2, level, &mut codec, &mut bytes);
        match EncodedWindow::parse(2, &bytes).unwrap() {
            Parsed::Complete(window) => writer.chunk(TextChunk::Encoded(&window)).unwrap(),
            Parsed::Incomplete { .. } => panic!("it is whole"),
        }
    }
    assert_eq!(writer.finish(&mut txn).unwrap(), md5);
    txn.commit(&|| Date(0)).unwrap();
}

/// Windows that arrive in the form in which they are stored are stored unchanged; all others are encoded again. Both
/// read the same, have the same length, and are valid for Subversion.
#[test]
fn windows_of_a_client_are_stored_unchanged_or_encoded_again() {
    let window = 102_400;
    for length in [
        1usize,
        500,
        window - 1,
        window,
        window + 1,
        3 * window,
        12 * window + 77,
    ] {
        let repo = Repo::create("1.14");
        let mut stored = Vec::new();
        for (piece, level) in [
            (window, 5),
            (window, 0),
            (window / 2, 5),
            (window / 2 + 1, 5),
            (7_000, 0),
        ] {
            let text: Vec<u8> = (0..length)
                .map(|at| ((at / 5 % 23 + at / 4_000) % 90) as u8 + 33)
                .collect();
            // Every text is different, so that none is shared.
            let text = [&text[..], &[piece as u8, (piece >> 8) as u8, level]].concat();
            let fs = open(&repo);
            put_windows(&fs, &text, piece, level);
            let fs = open(&repo);
            assert_eq!(read(&fs, "/sent"), text);
            stored.push(sent(&fs, "/sent", WindowForm::new(2, 5)));
        }
        verify(&repo);
        let out = Tool::new("svn")
            .arg("cat")
            .arg(format!("{}/sent", repo.url()))
            .ok();
        assert_eq!(out.stdout, stored[4].1);
        let lengths: Vec<usize> = stored.iter().map(|(length, _)| *length).collect();
        let spread = lengths.iter().max().unwrap() - lengths.iter().min().unwrap();
        assert!(spread < 64 + length / 1000, "{lengths:?}");
    }
}

fn verify(repo: &Repo) {
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each text replaces the previous one and is a delta against it; then all are read back.
    #[test]
    fn any_text_comes_back(
        texts in prop::collection::vec((0usize..9, 0usize..3, 1usize..200_000, any::<u8>()), 1..6),
        version in prop::sample::select(vec!["1.4", "1.8", "1.14"]),
    ) {
        let repo = Repo::create(version);
        let fs = open(&repo);
        let mut all = Vec::new();
        for (windows, odd, piece, seed) in texts {
            // Lengths around multiples of the window size.
            let length = (windows * windows / 4 * 102_400 + odd).saturating_sub(1);
            let text: Vec<u8> = (0..length).map(|at| ((at / 3 * at) >> 9) as u8 ^ seed).collect();
            let mut txn = begin(&fs);
            let mut writer = start(&mut txn, "/file");
            for piece in text.chunks(piece) {
                writer.write(piece).unwrap();
            }
            prop_assert_eq!(writer.finish(&mut txn).unwrap(), Md5::of(&text));
            txn.commit(&|| Date(0)).unwrap();
            all.push(text);
        }
        let fs = open(&repo);
        for (at, text) in all.iter().enumerate() {
            let root = fs.root(Revnum(at as u64 + 1)).unwrap();
            let node = root.node(&path("/file")).unwrap();
            prop_assert!(&node.reader().unwrap().read_all().unwrap() == text);
            prop_assert_eq!(node.size().unwrap(), text.len() as u64);
        }
        verify(&repo);
    }
}

#[test]
fn an_aborted_text_leaves_nothing() {
    for version in ["1.5", "1.14"] {
        let repo = Repo::create(version);
        let fs = open(&repo);
        let mut txn = begin(&fs);
        put(&mut txn, "/before", b"before");
        // A text shorter than a window, and one long enough for a second thread.
        for length in [10, 2_000_000] {
            let mut writer = start(&mut txn, "/file");
            writer.write(&vec![7; length]).unwrap();
            drop(writer);
        }
        put(&mut txn, "/after", b"after");
        txn.commit(&|| Date(0)).unwrap();
        assert_eq!(
            (read(&fs, "/before"), read(&fs, "/file"), read(&fs, "/after")),
            (b"before".to_vec(), Vec::new(), b"after".to_vec())
        );
        assert!(std::fs::metadata(repo.db().join("revs/0/1")).unwrap().len() < 2000);
        verify(&repo);
    }
}

#[test]
fn one_text_is_written_at_a_time() {
    let repo = Repo::create("1.14");
    let fs = open(&repo);
    let mut txn = begin(&fs);
    txn.make_file(&path("/other")).unwrap();
    let writer = start(&mut txn, "/file");
    let error = txn.apply_text(&path("/other"), None).err().unwrap();
    assert_eq!(error.code(), Code::FS_REP_BEING_WRITTEN, "{error}");
    drop(writer);
    // Another process that writes has the same effect.
    let lock = repo.db().join("txn-protorevs/0-0.rev-lock");
    let mut holder = Tool::new("flock")
        .arg(&lock)
        .args(["sh", "-c", "echo; read line"])
        .command();
    holder
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let error = txn.apply_text(&path("/other"), None).err().unwrap();
    assert_eq!(error.code(), Code::FS_REP_BEING_WRITTEN, "{error}");
    holder.stdin.take().unwrap().write_all(b"\n").unwrap();
    holder.wait().unwrap();
    put(&mut txn, "/other", b"text");
    txn.commit(&|| Date(0)).unwrap();
    verify(&repo);
}

#[test]
fn the_rest_of_a_crashed_writer_is_truncated() {
    for version in ["1.8", "1.14"] {
        let repo = Repo::create(version);
        let name = {
            let mut txn = begin(&open(&repo));
            put(&mut txn, "/first", b"the first text");
            txn.write_to_disk().unwrap();
            txn.name().to_owned()
        };
        let file = repo.db().join(format!("txn-protorevs/{name}.rev"));
        let mut proto = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
        proto.write_all(b"DELTA\nSVN\x02half of a wind").unwrap();
        let fs = open(&repo);
        let mut txn = fs.open_txn(&name).unwrap();
        put(&mut txn, "/second", b"the second text");
        txn.commit(&|| Date(0)).unwrap();
        assert_eq!(
            (read(&fs, "/first"), read(&fs, "/second")),
            (b"the first text".to_vec(), b"the second text".to_vec())
        );
        verify(&repo);
    }
}

#[test]
fn a_file_shorter_than_its_index_is_damage() {
    let repo = Repo::create("1.14");
    let name = {
        let mut txn = begin(&open(&repo));
        put(&mut txn, "/first", b"the first text");
        txn.write_to_disk().unwrap();
        txn.name().to_owned()
    };
    let file = repo.db().join(format!("txn-protorevs/{name}.rev"));
    std::fs::OpenOptions::new()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(5)
        .unwrap();
    let fs = open(&repo);
    let mut txn = fs.open_txn(&name).unwrap();
    let error = txn.apply_text(&path("/first"), None).err().unwrap();
    assert_eq!(error.code(), Code::FS_INDEX_INCONSISTENT, "{error}");
    assert!(txn.commit(&|| Date(0)).is_err());
    txn.abort().unwrap();
    assert_eq!(fs.youngest().unwrap(), Revnum(0));
}

/// Texts of several windows are verified when they are first read, not when they come entirely from the cache; they
/// are verified when only a part is cached.
#[test]
fn a_text_reads_the_same_uncached_cached_and_partly_cached() {
    let repo = Repo::create("1.14");
    let texts: Vec<Vec<u8>> = [102_400, 102_401, 250_000, 512_000]
        .iter()
        .map(|length| testkit::history::noise(7, *length))
        .collect();
    let fs = open(&repo);
    let mut txn = begin(&fs);
    for (at, text) in texts.iter().enumerate() {
        put(&mut txn, &format!("/f{at}"), text);
    }
    txn.commit(&|| Date(0)).unwrap();
    for budget in [0, 1 << 20, 64 << 20] {
        let fs = Fs::open_on(&repo.db(), &Cache::new(budget), Arc::new(UnsyncedDisk)).unwrap();
        for _ in 0..3 {
            for (at, text) in texts.iter().enumerate() {
                assert!(read(&fs, &format!("/f{at}")) == *text, "{at} with {budget}");
            }
        }
        // Abandoned after the first window: the text was never verified as a whole.
        let root = fs.root(fs.youngest().unwrap()).unwrap();
        let mut reader = root.node(&path("/f3")).unwrap().reader().unwrap();
        assert_eq!(reader.next_piece().unwrap().bytes(), &texts[3][..102_400]);
        assert!(read(&fs, "/f3") == texts[3]);
    }
}
