//! Revision files compared with those of Subversion 1.14 for the same changes: byte for byte where nothing is
//! compressed.
//!
//! Compression libraries give different output for the same bytes, so with compression the comparison is of delta
//! bases and of sizes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use base::{Date, FsPath, Revnum};
use fsfs::disk::UnsyncedDisk;
use fsfs::{Cache, Fs, Txn, TxnOptions};
use testkit::{Repo, Tool, sample};

/// One commit.
#[derive(Clone, Debug)]
enum WriteStep {
    Mkdir(&'static str),
    Put(&'static str, Vec<u8>),
    Propset(&'static str, &'static str, String),
    Remove(&'static str),
}

fn open(repo: &Repo) -> Fs {
    Fs::open_on(&repo.db(), &Cache::new(16 << 20), Arc::new(UnsyncedDisk)).unwrap()
}

fn now() -> Date {
    Date(1_700_000_000_000_000)
}

fn path(text: &str) -> FsPath {
    FsPath::parse(&format!("/{text}")).unwrap()
}

/// Creates a repository with shards of this size and this configuration.
fn repository(version: &str, shard: Option<u32>, conf: &str) -> Repo {
    let repo = Repo::create(version);
    let replace = |name: &str, text: String| {
        let path = repo.db().join(name);
        _ = std::fs::remove_file(&path);
        std::fs::write(path, text).unwrap();
    };
    if let Some(shard) = shard {
        let format = std::fs::read_to_string(repo.db().join("format")).unwrap();
        replace(
            "format",
            format.replace("sharded 1000", &format!("sharded {shard}")),
        );
    }
    if !conf.is_empty() {
        replace("fsfs.conf", conf.to_owned());
    }
    repo
}

fn theirs(repo: &Repo, step: &WriteStep) {
    let mucc = Tool::new("svnmucc").args(["-m", "", "-U"]).arg(repo.url());
    match step {
        WriteStep::Mkdir(path) => mucc.args(["mkdir", path]).ok(),
        WriteStep::Put(path, text) => mucc.args(["put", "/dev/stdin", path]).stdin(text.clone()).ok(),
        WriteStep::Propset(path, name, value) => mucc.args(["propset", name, value, path]).ok(),
        WriteStep::Remove(path) => mucc.args(["rm", path]).ok(),
    };
}

fn ours(fs: &Fs, step: &WriteStep) {
    let base = fs.youngest().unwrap();
    let mut txn = fs.begin_txn(base, TxnOptions::default(), now()).unwrap();
    match step {
        WriteStep::Mkdir(name) => txn.make_dir(&path(name)).unwrap(),
        WriteStep::Put(name, text) => {
            let exists = fs.root(base).unwrap().node(&path(name)).is_ok();
            if !exists {
                txn.make_file(&path(name)).unwrap();
            }
            put(&mut txn, name, text);
        }
        WriteStep::Propset(name, prop, value) => txn
            .change_prop(&path(name), prop, Some(value.as_bytes()))
            .unwrap(),
        WriteStep::Remove(name) => txn.delete(&path(name)).unwrap(),
    }
    let done = txn.commit(&now).unwrap();
    assert!(done.post_commit_error.is_none(), "{:?}", done.post_commit_error);
}

fn put(txn: &mut Txn, file: &str, text: &[u8]) {
    let mut writer = txn.apply_text(&path(file), None).unwrap();
    for piece in text.chunks(70_001) {
        writer.write(piece).unwrap();
    }
    writer.finish(txn).unwrap();
}

/// The revision files by number.
fn revision_files(repo: &Repo) -> BTreeMap<u64, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut left: Vec<PathBuf> = vec![repo.db().join("revs")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            let number = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
            out.insert(number, std::fs::read(&path).unwrap());
        }
    }
    out
}

/// Rows of the rep-cache: hash, revision, item, length, expanded length.
fn rows(repo: &Repo) -> Vec<(String, i64, i64, i64, i64)> {
    let path = repo.db().join("rep-cache.db");
    if !path.exists() {
        return Vec::new();
    }
    let connection = rusqlite::Connection::open(path).unwrap();
    let query =
        "SELECT hash, revision, offset, size, expanded_size FROM rep_cache ORDER BY revision, offset, hash";
    let mut statement = connection.prepare(query).unwrap();
    let rows = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn schema(repo: &Repo) -> Option<(i64, i64)> {
    let path = repo.db().join("rep-cache.db");
    let connection = path.exists().then(|| rusqlite::Connection::open(path).unwrap())?;
    let number = |query: &str| connection.query_row(query, [], |row| row.get(0)).unwrap();
    let without =
        "SELECT COUNT(*) FROM sqlite_master WHERE name = 'rep_cache' AND sql LIKE '%WITHOUT ROWID%'";
    Some((number("PRAGMA user_version"), number(without)))
}

/// Makes the commits on both sides and compares all files.
fn compare(version: &str, shard: Option<u32>, conf: &str, steps: &[WriteStep]) {
    let compressed = match version {
        "1.3" => false,
        "1.4" | "1.5" => true,
        _ => !conf.contains("compression = none") && !conf.contains("compression-level = 0"),
    };
    let (our_repo, their_repo) = (repository(version, shard, conf), repository(version, shard, conf));
    let fs = open(&our_repo);
    for step in steps {
        ours(&fs, step);
        theirs(&their_repo, step);
    }
    let (our_files, their_files) = (revision_files(&our_repo), revision_files(&their_repo));
    assert_eq!(our_files.len(), steps.len() + 1);
    Tool::new("svnadmin")
        .args(["verify", "-q"])
        .arg(our_repo.path())
        .ok();
    assert_eq!(schema(&our_repo), schema(&their_repo), "{version} {conf}");
    if compressed {
        for (rev, ours) in &our_files {
            let theirs = &their_files[rev];
            assert_eq!(bases(ours), bases(theirs), "{version} {conf} r{rev}");
        }
        let size = |files: &BTreeMap<u64, Vec<u8>>| files.values().map(Vec::len).sum::<usize>();
        let (ours, theirs) = (size(&our_files), size(&their_files));
        assert!(
            ours * 50 < theirs * 51,
            "{version} {conf}: {ours} bytes, theirs {theirs}"
        );
        return;
    }
    for (rev, ours) in &our_files {
        let same = ours == &their_files[rev];
        assert!(
            same,
            "{version}, shard {shard:?}, {conf}: r{rev} of\n{:?}\nours:\n{}\ntheirs:\n{}",
            (*rev > 0).then(|| describe(&steps[*rev as usize - 1])),
            head(ours),
            head(&their_files[rev])
        );
    }
    assert_eq!(rows(&our_repo), rows(&their_repo), "{version} {conf}");
}

/// The bases of all deltas in a revision file, without their lengths.
fn bases(file: &[u8]) -> Vec<String> {
    let lines = file.split(|&b| b == b'\n').map(String::from_utf8_lossy);
    let headers = lines.filter(|line| line.starts_with("DELTA") || line.starts_with("PLAIN"));
    headers
        .map(|line| {
            line.rsplit_once(' ')
                .map_or(line.to_string(), |(base, _)| base.to_owned())
        })
        .collect()
}

fn describe(step: &WriteStep) -> String {
    match step {
        WriteStep::Put(name, text) => format!("Put {name}, {} bytes", text.len()),
        other => format!("{other:?}"),
    }
}

fn head(bytes: &[u8]) -> String {
    let lines = bytes.split(|&b| b == b'\n').filter(|line| line.len() < 200);
    lines
        .map(|line| format!("{}\n", String::from_utf8_lossy(line)))
        .collect()
}

/// Bytes that do not compress.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Numbered lines, one of which is marked.
fn lines(count: usize, marked: usize) -> Vec<u8> {
    let line = |at| match at == marked {
        true => format!("line {at} was changed here\n"),
        false => format!("This is line {at} of a text\n"),
    };
    (0..count).map(line).collect::<String>().into_bytes()
}

/// Texts of all relevant sizes, property lists, and contents that occur again.
fn contents() -> Vec<WriteStep> {
    use WriteStep::{Mkdir, Propset, Put, Remove};
    let mut steps = vec![
        Mkdir("d"),
        Put("d/empty", Vec::new()),
        Put("d/small", b"x".to_vec()),
        Put("d/small", noise(1, 63)),
        Put("d/small", noise(2, 64)),
        Put("d/small", noise(3, 65)),
        Put("d/small", Vec::new()),
        Put("d/small", noise(2, 64)),
        Put("d/other", noise(2, 64)),
        Put("text", lines(300, 0)),
        Put("text", lines(300, 150)),
        Put("copy", lines(300, 0)),
        Put("text", lines(300, 0)),
        Put("window", noise(4, 102_400)),
        Put("window", noise(4, 102_401)),
        Put("window", [noise(5, 30), noise(4, 310_000)].concat()),
        Put(
            "window",
            [noise(4, 200_000), noise(6, 10), noise(4, 900)].concat(),
        ),
        Put("window", noise(4, 50_000)),
        Put("window", lines(40_000, 77)),
        Put("window", lines(40_000, 30_077)),
        Put("again", noise(4, 310_000)),
        Put("once-more", noise(4, 310_000)),
        Propset("d", "a", "dir".into()),
        Propset("text", "a", "dir".into()),
        Propset("copy", "a", "dir".into()),
        Propset("text", "svn:eol-style", "native".into()),
        // A file whose text is a property list that occurs elsewhere, and a property list that occurs elsewhere as a
        // text.
        Put("list", b"K 1\na\nV 3\ndir\nEND\n".to_vec()),
        Put("list2", b"K 1\na\nV 5\nother\nEND\n".to_vec()),
        Propset("copy", "a", "other".into()),
        Remove("d/other"),
        Put("d/other", noise(2, 64)),
    ];
    for at in 0..8 {
        let long = String::from_utf8(lines(20, at)).unwrap();
        steps.push(Propset("text", "long", long.clone()));
        steps.push(Propset("", "long", long));
    }
    steps
}

const PLAIN: &str = "[deltification]\ncompression = none\n";

#[test]
fn contents_in_every_format() {
    let formats = [
        ("1.3", ""),
        ("1.7", PLAIN),
        ("1.14", ""),
        ("1.9", PLAIN),
        ("1.14", PLAIN),
    ];
    for (version, conf) in sample(2, formats) {
        compare(version, None, conf, &contents());
    }
}

#[test]
fn contents_with_every_configuration() {
    let configurations = [
        ("1.14", "[deltification]\ncompression-level = 0\n"),
        (
            "1.14",
            "[rep-sharing]\nenable-rep-sharing = false\n[deltification]\ncompression = none\n",
        ),
        (
            "1.14",
            "[deltification]\nenable-dir-deltification = false\nenable-props-deltification = false\ncompression = none\n",
        ),
        ("1.14", "[deltification]\ncompression = zlib-9\n"),
        (
            "1.9",
            "[io]\nl2p-page-size = 4\np2l-page-size = 1\n[deltification]\ncompression = none\n",
        ),
    ];
    for (version, conf) in sample(2, configurations) {
        compare(version, None, conf, &contents());
    }
}

/// The delta bases of a file and its directory that are changed in many revisions.
#[test]
fn delta_chains() {
    let mut steps = vec![WriteStep::Mkdir("d")];
    steps.extend((0..36).map(|at| WriteStep::Put("d/file", lines(40, at))));
    steps.push(WriteStep::Put("d/short", b"short".to_vec()));
    steps.extend((0..6).map(|at| WriteStep::Put("d/short", lines(3, at))));
    let options = |options: &str| format!("{PLAIN}{options}");
    let configurations = [
        ("1.14", Some(4), String::new()),
        ("1.8", Some(7), options("")),
        ("1.3", None, String::new()),
        (
            "1.9",
            None,
            options("max-linear-deltification = 3\nmax-deltification-walk = 15\n"),
        ),
        ("1.14", Some(20), options("max-linear-deltification = 64\n")),
        ("1.14", Some(3), options("max-linear-deltification = 0\n")),
        ("1.14", Some(3), options("max-deltification-walk = 0\n")),
    ];
    for (version, shard, conf) in sample(2, configurations) {
        compare(version, shard, &conf, &steps);
    }
}

/// The file of revision 1 and the contents of `current` after the first commit to a new repository.
#[test]
fn a_first_commit() {
    for version in ["1.3", "1.4", "1.5", "1.7", "1.8", "1.9", "1.14"] {
        let (our_repo, their_repo) = (Repo::create(version), Repo::create(version));
        let step = WriteStep::Put("iota", b"Hello\n".to_vec());
        ours(&open(&our_repo), &step);
        theirs(&their_repo, &step);
        assert_eq!(
            revision_files(&our_repo),
            revision_files(&their_repo),
            "{version}"
        );
        let current = |repo: &Repo| std::fs::read(repo.db().join("current")).unwrap();
        assert_eq!(current(&our_repo), current(&their_repo), "{version}");
        assert_eq!(open(&our_repo).youngest().unwrap(), Revnum(1));
    }
}
