//! Texts on their way into a transaction: of any length and in any pieces, given up halfway, and into prototype revisions that
//! others left behind.

use std::io::Write as _;
use std::sync::Arc;

use base::checksum::Md5;
use base::{Code, Date, FsPath, Revnum};
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

fn verify(repo: &Repo) {
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each text replaces the one before and is a delta of it; then all are read back.
    #[test]
    fn any_text_comes_back(
        texts in prop::collection::vec((0usize..9, 0usize..3, 1usize..200_000, any::<u8>()), 1..6),
        version in prop::sample::select(vec!["1.4", "1.8", "1.14"]),
    ) {
        let repo = Repo::create(version);
        let fs = open(&repo);
        let mut all = Vec::new();
        for (windows, odd, piece, seed) in texts {
            // Lengths around whole numbers of windows.
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
fn a_text_given_up_leaves_nothing() {
    for version in ["1.5", "1.14"] {
        let repo = Repo::create(version);
        let fs = open(&repo);
        let mut txn = begin(&fs);
        put(&mut txn, "/before", b"before");
        // One in the first window, one long enough for a second thread.
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
    // Another process is as good a reason.
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
fn what_a_crashed_writer_left_is_cut_off() {
    for version in ["1.8", "1.14"] {
        let repo = Repo::create(version);
        let name = {
            let mut txn = begin(&open(&repo));
            put(&mut txn, "/first", b"the first text");
            txn.lay_down().unwrap();
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
        txn.lay_down().unwrap();
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
