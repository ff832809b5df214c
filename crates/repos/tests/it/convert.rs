//! Conversions whose destination is committed to meanwhile.

use std::path::Path;
use std::sync::Arc;

use base::{Cancel, Code, Date, FsPath, Result, Revnum};
use fsfs::{BackEnd, TxnOptions};
use repos::convert::{self, ConvertObserver, ConvertOptions};
use repos::{Cache, CreateOptions, Repository, load};

/// Commits to a repository.
fn commit(path: &Path, directory: &str) -> Result<Revnum> {
    let repository = Repository::open(path, &Cache::new(8 << 20))?;
    let fs = repository.fs();
    let mut txn = fs.begin_txn(fs.youngest()?, TxnOptions::default(), Date(0))?;
    txn.make_dir(&FsPath::parse(directory)?)?;
    Ok(txn.commit(&|| Date(0))?.rev)
}

/// Takes a step when the conversion begins, and notes what was converted.
struct Observer<F> {
    step: F,
    converted: Vec<u64>,
}

impl<F: FnMut()> ConvertObserver for Observer<F> {
    fn started(&mut self, _: Revnum, _: Revnum) {
        (self.step)();
    }

    fn converted(&mut self, rev: Revnum) -> Result<()> {
        self.converted.push(rev.0);
        Ok(())
    }
}

/// Brings a conversion up to date, or makes it. Returns what was converted, and the outcome.
fn convert(source: &Path, destination: &Path, step: impl FnMut()) -> (Vec<u64>, Result<()>) {
    let options = ConvertOptions {
        to: BackEnd::Fsfs,
        compatible: None,
        shard_size: None,
        incremental: true,
        meter: None,
    };
    let mut observer = Observer {
        step,
        converted: Vec::new(),
    };
    let caches = [Cache::new(8 << 20), Cache::new(8 << 20)];
    let clock: load::Clock = Arc::new(|| Date(0));
    let caches = [&caches[0], &caches[1]];
    let outcome = convert::convert(
        source,
        destination,
        &options,
        &mut observer,
        &Cancel::new(),
        caches,
        &clock,
    );
    (observer.converted, outcome)
}

#[test]
fn a_conversion_that_was_committed_to_gets_nothing() -> Result<()> {
    let scratch = testkit::scratch();
    let [source, destination] = ["source", "destination"].map(|name| scratch.path().join(name));
    repos::create(&source, &CreateOptions::default(), Date(0))?;
    commit(&source, "/a")?;
    let (converted, outcome) = convert(&source, &destination, || {});
    outcome?;
    assert_eq!(converted, [1]);
    commit(&source, "/b")?;
    commit(&source, "/c")?;
    let commit_to_it = || assert_eq!(commit(&destination, "/own"), Ok(Revnum(2)));
    let (converted, outcome) = convert(&source, &destination, commit_to_it);
    assert_eq!(outcome.map_err(|e| e.code()), Err(Code::FS_CONFLICT));
    assert_eq!(converted, [0; 0], "a commit is no converted revision");
    let repository = Repository::open(&destination, &Cache::new(8 << 20))?;
    let youngest = repository.fs().youngest()?;
    assert_eq!(youngest, Revnum(2), "the copy of r2 is not there as r3");
    assert_eq!(repository.fs().list_txns()?, Vec::<String>::new());
    // It goes on.
    assert_eq!(commit(&destination, "/next")?, Revnum(3));
    let (_, outcome) = convert(&source, &destination, || {});
    assert_eq!(outcome.map_err(|e| e.code()), Err(Code::INCORRECT_PARAMS));
    Ok(())
}
