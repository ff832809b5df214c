//! The time that this machine needs at least for the digests and the decoding of a repository's contents.
//!
//! `verify` decodes each content and computes its digests. This measures the same kernels on all cores and nothing
//! else: MD5 with all lanes full, SHA-1, and windows of the repository's own deltas. The sum of their times for the
//! repository's bytes is what a perfect `verify` would take. The deltas are those of `dump --deltas`, each against the
//! file's last version; the repository's own may have older bases and be longer.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use base::checksum::{Sha1, md5_many};
use delta::svndiff::{Codec, OwnedWindow};

use crate::cells::{TableCell, median};
use crate::delta_sample;
use crate::rivals::SvenBinary;
use crate::surroundings::SurroundingsWatch;
use crate::workload::{Workload, run};

/// The goal: the least share of the machine's rate.
const GOAL: f64 = 0.5;
/// How long each kernel runs.
const SECONDS: f64 = 0.5;
/// The lanes of MD5, and the bytes of each.
const LANES: (usize, usize) = (16, 64 << 10);

/// Returns a line that compares Sven's runs of `verify` with the machine's own rate.
///
/// # Errors
/// If the repository's statistics or its deltas can't be read.
pub fn note(sven: &SvenBinary, workload: &Workload, verify: &TableCell) -> Result<String, String> {
    let watch = SurroundingsWatch::start();
    let sizes = ContentSizes::of(sven, &workload.repository)?;
    let rates = KernelRates::measure(&sample(sven, &workload.repository)?)?;
    let least = sizes.all / rates.md5 + sizes.texts / rates.sha1 + sizes.all / rates.decoding;
    let wall = median(verify.ours.iter().map(|run| run.wall).collect());
    let share = least / wall.max(1e-3);
    let verdict = if share >= GOAL { "met" } else { "**missed**" };
    let busy = match verify.surroundings.is_busy() || watch.finish().is_busy() {
        true => ", **busy**: other programs worked",
        false => "",
    };
    let (mib, mib_s) = (|bytes: f64| bytes / 1_048_576.0, |rate: f64| rate / 1e6);
    Ok(format!(
        "- {}: {:.0} MiB of contents, {:.0} MiB of them texts. All cores of this machine compute MD5 of {:.0} MB/s and SHA-1 of \
         {:.0} MB/s, and decode {:.0} MB/s of the repository's deltas: {least:.2} s. `verify` takes {wall:.2} s, \
         {:.0} % of that rate (goal ≥ {:.0} %: {verdict}{busy}).\n",
        verify.job,
        mib(sizes.all),
        mib(sizes.texts),
        mib_s(rates.md5),
        mib_s(rates.sha1),
        mib_s(rates.decoding),
        share * 100.0,
        GOAL * 100.0,
    ))
}

/// The sizes of all contents of a repository, each stored one once, in bytes.
#[derive(Debug, PartialEq)]
struct ContentSizes {
    /// Texts, directories and property lists: they have an MD5.
    all: f64,
    /// Texts of files: they have a SHA-1 too.
    texts: f64,
}

impl ContentSizes {
    fn of(sven: &SvenBinary, repository: &Path) -> Result<ContentSizes, String> {
        let stats = run(sven
            .command("svnfsfs")
            .args(["stats", "-M", "1024"])
            .arg(repository))?;
        ContentSizes::parse(&String::from_utf8_lossy(&stats))
            .ok_or_else(|| "svnfsfs stats has no sizes".to_owned())
    }

    fn parse(stats: &str) -> Option<ContentSizes> {
        let number = |text: &str, after: &str| {
            let line = text.lines().find(|line| line.ends_with(after))?;
            let digits: String = line.chars().filter(char::is_ascii_digit).collect();
            digits.parse::<f64>().ok()
        };
        let files = stats.split("File representation statistics:").nth(1)?;
        Some(ContentSizes {
            all: number(stats, "bytes expanded representation size")?,
            texts: number(files, "bytes expanded size")?,
        })
    }
}

/// The bytes in a second that each kernel makes on all cores.
struct KernelRates {
    md5: f64,
    sha1: f64,
    /// Of the contents that the deltas make.
    decoding: f64,
}

impl KernelRates {
    fn measure(sample: &[OwnedWindow]) -> Result<KernelRates, String> {
        let (lanes, len) = LANES;
        let buffers: Vec<Vec<u8>> = (0..lanes).map(|lane| vec![lane as u8; len]).collect();
        let texts: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        let md5 = on_all_cores(|| {
            std::hint::black_box(md5_many(&texts));
            Ok(lanes * len)
        })?;
        let sha1 = on_all_cores(|| {
            std::hint::black_box(Sha1::of(texts[0]));
            Ok(len)
        })?;
        let decoding = on_all_cores_with(DecodeBuffers::default, |buffers| buffers.decode(sample))?;
        Ok(KernelRates { md5, sha1, decoding })
    }
}

/// What a thread that decodes needs.
#[derive(Default)]
struct DecodeBuffers {
    codec: Codec,
    source: Vec<u8>,
    target: Vec<u8>,
}

impl DecodeBuffers {
    /// Decodes and applies all windows, and returns the length of what they make.
    fn decode(&mut self, sample: &[OwnedWindow]) -> Result<usize, String> {
        let mut made = 0;
        for window in sample {
            let window = window.window().map_err(|e| e.to_string())?;
            // The bytes of the base do not matter for the time.
            let base = window.source_len as usize;
            if self.source.len() < base {
                self.source.resize(base, b'x');
            }
            self.target.clear();
            window
                .apply(&self.source, &mut self.target, &mut self.codec)
                .map_err(|e| e.to_string())?;
            made += self.target.len();
        }
        Ok(made)
    }
}

fn on_all_cores(work: impl Fn() -> Result<usize, String> + Sync) -> Result<f64, String> {
    on_all_cores_with(|| (), |()| work())
}

/// Repeats the work on one thread for each core, and returns the bytes that all make in a second.
fn on_all_cores_with<S>(
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S) -> Result<usize, String> + Sync,
) -> Result<f64, String> {
    let repeat = || {
        let mut state = state();
        // The first round fills caches and buffers.
        work(&mut state)?;
        let (started, mut bytes) = (Instant::now(), 0);
        while started.elapsed() < Duration::from_secs_f64(SECONDS) {
            bytes += work(&mut state)?;
        }
        Ok::<f64, String>(bytes as f64 / started.elapsed().as_secs_f64())
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(repeat)).collect();
        let rates = threads.into_iter().map(|thread| {
            thread
                .join()
                .map_err(|_| "a thread of a kernel failed".to_owned())?
        });
        rates.sum()
    })
}

/// Returns windows of the repository's own deltas, as the repository stores them.
fn sample(sven: &SvenBinary, repository: &Path) -> Result<Vec<OwnedWindow>, String> {
    let named = |e: std::io::Error| format!("{}: {e}", repository.display());
    let format = std::fs::read_to_string(repository.join("db/format")).map_err(named)?;
    // Format 8 stores LZ4 by default, older ones zlib.
    let first = format.lines().next().and_then(|line| line.parse::<u32>().ok());
    let version = if first.is_some_and(|format| format >= 8) {
        2
    } else {
        1
    };
    let sample = delta_sample::windows(sven, repository, version)?;
    match sample.is_empty() {
        true => Err("the last revisions have no texts".to_owned()),
        false => Ok(sample),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_statistics() {
        let stats = "Global statistics:\n         204,569,000 bytes expanded representation size\n\n\
                     Directory representation statistics:\n          18,345,850 bytes expanded size\n\n\
                     File representation statistics:\n         186,223,120 bytes expanded size\n";
        let sizes = ContentSizes {
            all: 204_569_000.0,
            texts: 186_223_120.0,
        };
        assert_eq!(ContentSizes::parse(stats), Some(sizes));
        assert_eq!(ContentSizes::parse("Global statistics:\n"), None);
    }

    #[test]
    fn kernels_make_bytes() {
        let mut codec = Codec::new();
        let mut bytes = Vec::new();
        delta::svndiff::write_insertion(&[b'a'; 5000], 2, 5, &mut codec, &mut bytes);
        let made = DecodeBuffers::default().decode(&[OwnedWindow::new(2, &bytes)]);
        assert_eq!(made, Ok(5000));
        assert!(on_all_cores(|| Ok(1)).is_ok_and(|rate| rate > 0.0));
        assert!(on_all_cores(|| Err("no".to_owned())).is_err());
    }
}
