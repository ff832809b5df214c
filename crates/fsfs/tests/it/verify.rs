//! `verify` compared with the incumbent's: both find damage in the same repositories.

use std::ops::ControlFlow;

use base::{Code, Error, Revnum};
use fsfs::admin::verify::{self, VerifyObserver, VerifyOptions, VerifyProgress, VerifyWarning};
use fsfs::{Cache, Fs};
use testkit::repo::{Repo, Spec, When, build, matrix};
use testkit::stream::DumpStream;
use testkit::{Tool, history};

/// Prints like the program: standard output, and the first error number of each failure.
#[derive(Default)]
pub struct Transcript {
    pub out: String,
    pub failures: Vec<(Option<Revnum>, Error)>,
    pub keep_going: bool,
}

impl VerifyObserver for Transcript {
    fn progress(&mut self, progress: VerifyProgress) {
        self.out.push_str(&match progress {
            VerifyProgress::Metadata(rev) => format!("* Verifying metadata at revision {rev} ...\n"),
            VerifyProgress::RepositoryMetadata => "* Verifying repository metadata ...\n".to_owned(),
            VerifyProgress::Revision(rev) => format!("* Verified revision {rev}.\n"),
        });
    }

    fn failed(&mut self, at: Option<Revnum>, error: &Error) -> ControlFlow<()> {
        self.failures.push((at, error.clone()));
        if self.keep_going {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    fn warn(&mut self, _: Revnum, warning: &VerifyWarning) {
        self.out.push_str(&match warning {
            VerifyWarning::NameCollision(path) => {
                format!("WARNING 0x0003: Duplicate representation of path '{path}'\n")
            }
            VerifyWarning::MergeinfoCollision { source, node } => {
                format!(
                    "WARNING 0x0004: Duplicate representation of path '{source}' in svn:mergeinfo property of '{node}'\n"
                )
            }
        });
    }
}

/// The output and failures of our `verify`.
pub fn ours(repo: &Repo, change: impl FnOnce(&mut VerifyOptions), keep_going: bool) -> Transcript {
    let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
    let mut options = VerifyOptions::range(Revnum(0), fs.youngest().expect("reads"));
    options.cache_budget = 16 << 20;
    change(&mut options);
    let mut transcript = Transcript {
        keep_going,
        ..Default::default()
    };
    verify::run(&fs, &options, &mut transcript).expect("begins");
    transcript
}

/// Standard output of the real tool, without the lines that follow the order of the rep-cache's rows.
fn theirs(repo: &Repo, args: &[&str]) -> String {
    let out = Tool::new("svnadmin")
        .arg("verify")
        .args(args)
        .arg(repo.path())
        .run()
        .out();
    match out.split_once("* Verifying repository metadata ...\n") {
        Some((before, after)) => {
            let after = after
                .lines()
                .filter(|line| !line.starts_with("* Verifying metadata"));
            let after: String = after.map(|line| format!("{line}\n")).collect();
            format!("{before}* Verifying repository metadata ...\n{after}")
        }
        None => out,
    }
}

#[test]
fn verify_of_undamaged_repositories_equals_the_incumbents() {
    for spec in matrix() {
        let repo = build(&spec);
        let ours = ours(&repo, |_| {}, true);
        assert!(ours.failures.is_empty(), "{}: {:?}", spec.name, ours.failures);
        assert_eq!(ours.out, theirs(&repo, &[]), "{}", spec.name);
    }
}

#[test]
fn ranges_and_metadata_only() {
    for spec in matrix().into_iter().filter(|spec| spec.name.contains("half")) {
        let repo = build(&spec);
        for range in ["10:12", "35:37", "70:73", "0:0", "7:7"] {
            let (start, end) = range.split_once(':').expect("a range");
            let rev = |text: &str| Revnum::parse(text.as_bytes()).expect("a number");
            for metadata_only in [false, true] {
                let ours = ours(
                    &repo,
                    |o| (o.start, o.end, o.metadata_only) = (rev(start), rev(end), metadata_only),
                    false,
                );
                assert!(
                    ours.failures.is_empty(),
                    "{} {range}: {:?}",
                    spec.name,
                    ours.failures
                );
                let mut args = vec!["-r", range];
                args.extend(metadata_only.then_some("--metadata-only"));
                assert_eq!(ours.out, theirs(&repo, &args), "{} {range}", spec.name);
            }
        }
    }
}

#[test]
fn one_worker_and_many_report_the_same() {
    let repo = build(&matrix()[11]);
    let one = ours(&repo, |o| o.jobs = 1, false);
    let many = ours(&repo, |o| o.jobs = 7, false);
    assert_eq!(one.out, many.out);
}

/// A revision that is larger than a batch is shared among the workers. The report stays the same for every repository
/// and every damage.
#[test]
fn workers_share_a_large_revision() {
    let shared = |o: &mut VerifyOptions| (o.jobs, o.batch_bytes) = (4, 1);
    for spec in matrix().into_iter().filter(|spec| spec.name.contains("half")) {
        let repo = build(&spec);
        let (alone, many) = (ours(&repo, |o| o.jobs = 1, true), ours(&repo, shared, true));
        assert!(many.failures.is_empty(), "{}: {:?}", spec.name, many.failures);
        assert_eq!(many.out, alone.out, "{}", spec.name);
    }
    let mut import = DumpStream::new("0d5c7f1e-1111-4222-8333-0000000000a1");
    import.rev("Import");
    for n in 0..90 {
        import.file(&format!("file-{n:02}"), history::noise(n, 700 + 90 * n as usize));
    }
    import.rev("One more").edit("file-07", "short");
    // Without checksums of items the tree walk finds the damage.
    let repo = build(&Spec::new("1.8").with(import).named("import")).copy();
    let path = repo.db().join("revs/0/1");
    Tool::new("chmod").args(["-R", "u+w"]).arg(repo.path()).ok();
    let good = std::fs::read(&path).expect("because the copy is ours");
    let mut random = history::Random::new(11);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let mut bad = good.clone();
        for _ in 0..3 {
            bad[random.below(good.len())] ^= 1 << random.below(8);
        }
        std::fs::write(&path, &bad).expect("because the copy is ours");
        let say = |change: fn(&mut VerifyOptions)| {
            let verified = ours(&repo, change, true);
            let failures = verified.failures.into_iter();
            let lines: Vec<_> = failures.map(|(rev, e)| format!("{rev:?}: {e}")).collect();
            (verified.out, lines)
        };
        let alone = say(|o| (o.jobs, o.batch_bytes) = (1, usize::MAX));
        assert_eq!(say(|o| (o.jobs, o.batch_bytes) = (4, 1)), alone);
        assert_eq!(say(|o| (o.jobs, o.batch_bytes) = (3, 5000)), alone);
        seen.insert(alone);
    }
    assert!(seen.len() > 5, "only {seen:?}");
}

/// Long texts are hashed side by side, of several revisions. Each damage is reported for its revision alone.
#[test]
fn long_texts_side_by_side() {
    let mut import = DumpStream::new("0d5c7f1e-1111-4222-8333-0000000000a2");
    import.rev("Import");
    for n in 0..6 {
        import.file(
            &format!("file-{n}"),
            history::noise(n, 520_000 + 90_000 * n as usize),
        );
    }
    import.rev("Another").file("file-6", history::noise(6, 700_000));
    import.rev("The same").file("file-7", history::noise(6, 700_000));
    let repo = build(&Spec::new("1.8").with(import).named("long")).copy();
    let whole: fn(&mut VerifyOptions) = |o| o.jobs = 1;
    let each_alone: fn(&mut VerifyOptions) = |o| (o.jobs, o.batch_bytes) = (4, 1);
    for options in [whole, each_alone] {
        let verified = ours(&repo, options, true);
        assert!(verified.failures.is_empty(), "{:?}", verified.failures);
    }
    Tool::new("chmod").args(["-R", "u+w"]).arg(repo.path()).ok();
    let mut random = history::Random::new(12);
    for rev in [1, 2, 1, 1] {
        let path = repo.db().join(format!("revs/0/{rev}"));
        let good = std::fs::read(&path).expect("because the copy is ours");
        let mut bad = good.clone();
        // Texts come first in the file, and noise is stored as it is.
        bad[2_000 + random.below(600_000)] ^= 0x10;
        std::fs::write(&path, &bad).expect("because the copy is ours");
        let failures = |options| {
            let failures = ours(&repo, options, true).failures.into_iter();
            failures.map(|(rev, e)| (rev, e.to_string())).collect::<Vec<_>>()
        };
        let found = failures(whole);
        assert_eq!(found, failures(each_alone));
        // With rep-sharing the third revision has the text of the second.
        let expected: &[u64] = if rev == 2 { &[2, 3] } else { &[1] };
        let revs: Vec<_> = found.iter().map(|(rev, _)| rev.map(|rev| rev.0)).collect();
        assert_eq!(revs, expected.iter().map(|rev| Some(*rev)).collect::<Vec<_>>());
        assert!(
            found.iter().all(|(_, text)| text.contains("Checksum mismatch")),
            "{found:?}"
        );
        std::fs::write(&path, &good).expect("because the copy is ours");
    }
}

/// Cancels while a revision is being checked.
#[test]
fn cancellation_stops_verify_within_a_revision() {
    let repo = build(&matrix()[11]);
    let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
    let mut options = VerifyOptions::range(Revnum(0), fs.youngest().expect("reads"));
    (options.jobs, options.batch_bytes) = (4, 1);
    let cancel = options.cancel.clone();
    let raiser = std::thread::spawn(move || cancel.cancel());
    let mut transcript = Transcript::default();
    if let Err(e) = verify::run(&fs, &options, &mut transcript) {
        assert_eq!(e.code(), Code::CANCELLED);
    }
    raiser.join().expect("because raising a flag cannot fail");
    assert!(transcript.failures.is_empty(), "{:?}", transcript.failures);
}

#[test]
fn open_transactions_verify() {
    for version in ["1.3", "1.8", "1.14"] {
        let repo = build(&Spec::new(version).busy());
        let fs = Fs::open(&repo.db(), &Cache::new(1 << 20)).expect("opens");
        let txn = fs.list_txns().expect("reads").remove(0);
        verify::transaction(&fs, &txn).unwrap_or_else(|e| panic!("{version}: {e}"));
        let error = verify::transaction(&fs, "1-zz").expect_err("no such transaction");
        assert_eq!(error.code(), Code::FS_NO_SUCH_TRANSACTION);
    }
}

/// Subversion 1.14.2's own pack makes this: see `history::orphans`.
#[test]
fn an_index_with_an_unused_number_fails() {
    let repo = build(
        &Spec::new("1.14")
            .with(history::orphans())
            .named("orphans")
            .shard(2)
            .pack(When::After),
    );
    let ours = ours(&repo, |_| {}, true);
    let theirs = Tool::new("svnadmin")
        .args(["verify", "--keep-going"])
        .arg(repo.path())
        .run();
    assert_ne!(theirs.code, 0);
    let numbers: Vec<i32> = ours.failures.iter().map(|(_, e)| e.code().0).collect();
    assert_eq!(numbers, theirs.error_codes()[..1], "{theirs:?}");
    let unpacked = build(&Spec::new("1.14").with(history::orphans()).named("orphans"));
    assert!(self::ours(&unpacked, |_| {}, true).failures.is_empty());
}

#[test]
fn equivalent_names_cause_warnings() {
    let mut history = DumpStream::new("aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee");
    let mergeinfo = "/caf\u{e9}:1\n/cafe\u{301}:1\n";
    use testkit::stream::{Content, RecordKind};
    history
        .rev("1")
        .mkdirs(["d"])
        .file("caf\u{e9}", "1")
        .file("cafe\u{301}", "2")
        .file("d/ok", "3");
    history.rev("2").mkdirs(["D"]).file("D/\u{e9}", "1").change(
        RecordKind::Dir,
        "",
        Content::props(&[("svn:mergeinfo", mergeinfo.as_bytes())]),
    );
    history.rev("3").file("D/e\u{301}", "1");
    history
        .rev("4")
        .edit("D/e\u{301}", "2")
        .copy(RecordKind::Dir, "E", 3, "D");
    history
        .rev("5")
        .file("E/x/".trim_end_matches('/'), "x")
        .delete("d");
    let repo = build(&Spec::new("1.14").with(history).named("names"));
    let ours = ours(&repo, |o| o.check_normalization = true, false);
    assert!(ours.failures.is_empty());
    assert_eq!(ours.out, theirs(&repo, &["--check-normalization"]));
    assert!(ours.out.matches("WARNING 0x0003").count() >= 4, "{}", ours.out);
}
