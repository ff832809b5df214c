//! The counted disk: results are those of the plain disk, every byte is counted, and the limit holds for all threads together.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::{Cancel, Revnum};
use fsfs::admin::hotcopy::{self, HotcopyOptions};
use fsfs::admin::verify::{self, VerifyOptions};
use fsfs::disk::{Clock, Disk, IoCounts, IoMeter, MeteredDisk, RealDisk, Throttle};
use fsfs::{Cache, Fs};
use testkit::Repo;
use testkit::repo::{Spec, build, matrix};

use crate::files::files;
use crate::verify::Transcript;

/// A clock that only waits advance. Clones share the time.
#[derive(Clone, Default)]
struct WaitedClock(Arc<WaitedTime>);

#[derive(Default)]
struct WaitedTime {
    /// Nanoseconds.
    now: AtomicU64,
    waits: AtomicU64,
}

impl Clock for WaitedClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.now.load(Ordering::SeqCst))
    }

    fn wait(&self, time: Duration) {
        let end = self.now() + time;
        self.0
            .now
            .fetch_max(u64::try_from(end.as_nanos()).expect("fits"), Ordering::SeqCst);
        self.0.waits.fetch_add(1, Ordering::SeqCst);
    }
}

fn open(db: &Path, meter: &Arc<IoMeter>) -> Fs {
    let disk: Arc<dyn Disk> = Arc::new(MeteredDisk::new(Arc::new(RealDisk), meter.clone()));
    Fs::open_on(db, &Cache::new(1 << 20), disk).expect("opens")
}

fn limited(rate: u64) -> (Arc<IoMeter>, WaitedClock) {
    let clock = WaitedClock::default();
    let throttle = Throttle::new(rate, Box::new(clock.clone()));
    (Arc::new(IoMeter::new(Some(throttle), Cancel::new())), clock)
}

/// Checks that the waits are as long as the rate demands, to the debt that is too short for a wait.
fn check_time(counts: IoCounts, rate: u64, clock: &WaitedClock) {
    let bytes = counts.read.max(counts.written);
    let expected = Duration::from_secs_f64(bytes as f64 / rate as f64);
    let waited = clock.now();
    assert!(
        waited <= expected && expected <= waited + Duration::from_millis(10),
        "{counts:?} took {waited:?}, not {expected:?}"
    );
    let waits = clock.0.waits.load(Ordering::SeqCst);
    assert!(waits > 3, "{waits} waits");
}

fn copy(from: &Repo, to: &Path, meter: &Arc<IoMeter>) {
    hotcopy::run(
        &open(&from.db(), meter),
        to,
        HotcopyOptions::default(),
        &mut |_| {},
        &Cancel::new(),
    )
    .expect("copies");
}

/// The contents of all files but those that differ between two copies.
fn contents(db: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut all = files(db);
    all.retain(|name, _| name != "uuid" && !name.starts_with("rep-cache.db"));
    all
}

#[test]
fn copies_are_complete_and_counted() {
    const RATE: u64 = 64 << 10;
    for spec in matrix().iter().step_by(3) {
        let repo = build(spec);
        let folder = testkit::scratch();
        let (plain, metered) = (folder.path().join("plain"), folder.path().join("metered"));
        copy(&repo, &plain, &Arc::default());
        let (meter, clock) = limited(RATE);
        copy(&repo, &metered, &meter);
        assert!(contents(&plain) == contents(&metered), "{}", spec.name);
        let revisions: u64 = files(&metered.join("revs"))
            .values()
            .map(|(_, bytes)| bytes.len() as u64)
            .sum();
        let counts = meter.counts();
        assert!(
            counts.written >= revisions && counts.read >= revisions,
            "{counts:?}, {revisions} bytes of revisions"
        );
        check_time(counts, RATE, &clock);
    }
}

#[test]
fn a_verification_obeys_the_rate_on_all_threads() {
    const RATE: u64 = 64 << 10;
    let repo = build(&Spec::small("1.14").named("rate"));
    for jobs in [1, 4] {
        let (meter, clock) = limited(RATE);
        let fs = open(&repo.db(), &meter);
        let mut transcript = Transcript::default();
        let options = VerifyOptions {
            jobs,
            ..VerifyOptions::range(Revnum(0), Revnum(repo.youngest()))
        };
        verify::run(&fs, &options, &mut transcript).expect("begins");
        assert!(transcript.failures.is_empty(), "{:?}", transcript.failures);
        assert_eq!(meter.counts().written, 0);
        check_time(meter.counts(), RATE, &clock);
    }
}

#[test]
fn a_cancelled_copy_of_a_long_file_ends() {
    let folder = testkit::scratch();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    std::fs::write(&from, vec![7; 1 << 20]).expect("writes");
    let (cancel, clock) = (Cancel::new(), WaitedClock::default());
    let throttle = Throttle::new(64 << 10, Box::new(clock));
    let meter = Arc::new(IoMeter::new(Some(throttle), cancel.clone()));
    let disk = MeteredDisk::new(Arc::new(RealDisk), meter.clone());
    disk.copy(&from, &to).expect("copies");
    assert_eq!(std::fs::read(&to).expect("reads"), vec![7; 1 << 20]);
    cancel.cancel();
    assert!(disk.copy(&from, &to).is_err());
    // One part.
    assert_eq!(meter.counts().read, (1 << 20) + (16 << 10));
}
