//! The file that says how far an interrupted verification got: `--state-file`.
//!
//! It is a TOML file, replaced in one step every few seconds and at the end of an interrupted run. It names the repository, the
//! range and the options; a run with others does not continue it. A finished run removes it. The range is that of the first run:
//! later revisions belong to the next verification.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::{Code, Error, Result, Revnum, disk_path};
use fsfs::admin::verify::VerifyPosition;
use fsfs::disk::{RealDisk, write_atomic};
use serde::{Deserialize, Serialize};

use crate::svnadmin::locks::now;

/// A failure, and its revision; `None` for the steps before the revisions.
pub(super) type RevisionFailure = (Option<Revnum>, Error);

/// The contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct VerifyState {
    /// The version of this format: 1.
    version: u32,
    /// The text that identifies the filesystem.
    repository: String,
    start: u64,
    end: u64,
    metadata_only: bool,
    check_normalization: bool,
    keep_going: bool,
    step: Step,
    /// The revision with which the step continues.
    next: u64,
    /// The date at which the file was written.
    saved: String,
    /// The number of failures that are not in the list, because there were too many.
    more_failures: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failures: Vec<Failure>,
}

/// A step of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Step {
    Files,
    RepositoryMetadata,
    Revisions,
}

/// A failure that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    /// `None` for the first two steps.
    revision: Option<u64>,
    /// The error chain, outermost link first.
    links: Vec<FailureLink>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureLink {
    code: i32,
    message: Option<String>,
}

/// The state of the present run, and the file in which it is stored.
pub(super) struct StateFile {
    path: PathBuf,
    state: VerifyState,
    /// True if the run continues an interrupted one.
    is_continued: bool,
    saved: Instant,
}

impl VerifyState {
    /// Returns the state at the beginning of a run. The flags are `--metadata-only`, `--check-normalization` and `--keep-going`.
    pub(super) fn new(repository: String, (start, end): (Revnum, Revnum), flags: [bool; 3]) -> Self {
        let [metadata_only, check_normalization, keep_going] = flags;
        VerifyState {
            version: VERSION,
            repository,
            start: start.0,
            end: end.0,
            metadata_only,
            check_normalization,
            keep_going,
            step: Step::Files,
            next: start.0,
            saved: now().to_string(),
            more_failures: 0,
            failures: Vec::new(),
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let state: VerifyState = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        if state.version != VERSION {
            return Err(format!("version {} is unknown", state.version));
        }
        let end = state.end.checked_add(1).ok_or("'end' is too large")?;
        match state.start <= state.next && state.next <= end {
            true => Ok(state),
            false => Err(format!("revision {} is not in the range", state.next)),
        }
    }

    fn encode(&self) -> Result<String> {
        toml::to_string(self).map_err(|e| Error::new(Code::MALFORMED_FILE, e.to_string()))
    }

    /// Says why a run with the state `new` at its beginning does not continue this one, if it does not. `is_fixed` is true
    /// if the last revision was given by number or date.
    fn mismatch(&self, new: &VerifyState, is_fixed: bool) -> Option<String> {
        let flags = |state: &VerifyState| (state.metadata_only, state.check_normalization, state.keep_going);
        if self.repository != new.repository {
            return Some("belongs to another repository, or to the one that was here before".to_owned());
        }
        if flags(self) != flags(new) {
            return Some("belongs to a verification with other options".to_owned());
        }
        let is_other_end = self.end > new.end || (is_fixed && self.end != new.end);
        (self.start != new.start || is_other_end).then(|| {
            format!(
                "belongs to a verification of revisions {}:{}",
                self.start, self.end
            )
        })
    }
}

impl StateFile {
    /// Opens the file at `path`, or creates it with the state `new`.
    ///
    /// # Errors
    /// `INCORRECT_PARAMS` if the file belongs to something else or is inside of the repository; `MALFORMED_FILE`; the system's.
    pub(super) fn open(path: &Path, repository: &Path, new: VerifyState, is_fixed: bool) -> Result<Self> {
        refuse_inside(path, repository)?;
        let failed = |e: io::Error| Error::io("Can't open file", path, &e);
        let (state, is_continued) = match File::open(path) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
                (checked(path, &bytes, &new, is_fixed)?, true)
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let mut file = File::create_new(path).map_err(failed)?;
                let written = file.write_all(new.encode()?.as_bytes());
                written.map_err(|e| Error::io("Can't write to file", path, &e))?;
                (new, false)
            }
            Err(e) => return Err(failed(e)),
        };
        Ok(StateFile {
            path: path.to_owned(),
            state,
            is_continued,
            saved: Instant::now(),
        })
    }

    /// Returns the first and the last revision of the range.
    pub(super) fn range(&self) -> (Revnum, Revnum) {
        (Revnum(self.state.start), Revnum(self.state.end))
    }

    /// Returns where the run begins.
    pub(super) fn position(&self) -> VerifyPosition {
        let next = Revnum(self.state.next);
        match self.state.step {
            Step::Files => VerifyPosition::Files(next),
            Step::RepositoryMetadata => VerifyPosition::RepositoryMetadata,
            Step::Revisions => VerifyPosition::Revision(next),
        }
    }

    /// Returns what is printed when an interrupted run is continued.
    pub(super) fn greeting(&self) -> Option<String> {
        let VerifyState {
            end,
            next,
            step,
            saved,
            failures,
            ..
        } = &self.state;
        let done = match step {
            Step::Files => format!("the files of revisions before {next} are checked"),
            Step::RepositoryMetadata => "the files are checked".to_owned(),
            Step::Revisions => format!("revisions before {next} are verified"),
        };
        let found = failures.len() as u64 + self.state.more_failures;
        self.is_continued.then(|| {
            format!(
                "Continuing the verification up to revision {end}, interrupted at {saved}: {done}, failures: {found}."
            )
        })
    }

    /// Returns the failures of the interrupted runs.
    pub(super) fn failures(&self) -> Vec<RevisionFailure> {
        let failures = self.state.failures.iter();
        failures
            .filter_map(|failure| {
                let links = failure.links.iter();
                let links = links.map(|link| (Code(link.code), link.message.clone()));
                Some((failure.revision.map(Revnum), Error::from_links(links)?))
            })
            .collect()
    }

    /// Notes how far the run is, and saves it if that was not done for some seconds.
    ///
    /// # Errors
    /// As [`StateFile::save`].
    pub(super) fn reached(&mut self, position: VerifyPosition, failures: &[RevisionFailure]) -> Result<()> {
        (self.state.step, self.state.next) = match position {
            VerifyPosition::Files(next) => (Step::Files, next.0.min(self.state.end + 1)),
            VerifyPosition::RepositoryMetadata => (Step::RepositoryMetadata, self.state.start),
            VerifyPosition::Revision(next) => (Step::Revisions, next.0),
        };
        if self.saved.elapsed() < SAVE_INTERVAL {
            return Ok(());
        }
        self.saved = Instant::now();
        self.save(failures)
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn save(&self, failures: &[RevisionFailure]) -> Result<()> {
        let stored = failures.iter().take(MAX_FAILURES);
        let state = VerifyState {
            saved: now().to_string(),
            more_failures: self.state.more_failures + failures.len().saturating_sub(MAX_FAILURES) as u64,
            failures: stored.map(|(rev, error)| Failure::new(*rev, error)).collect(),
            ..self.state.clone()
        };
        write_atomic(&RealDisk, &self.path, state.encode()?.as_bytes(), &self.path)
    }

    /// Removes the file of a finished run.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn remove(&self) -> Result<()> {
        fs::remove_file(&self.path).map_err(|e| Error::io("Can't remove file", &self.path, &e))
    }
}

impl Failure {
    fn new(revision: Option<Revnum>, error: &Error) -> Self {
        let links = error.links().map(|link| FailureLink {
            code: link.code().0,
            message: link.message().map(str::to_owned),
        });
        Failure {
            revision: revision.map(|rev| rev.0),
            links: links.collect(),
        }
    }
}

/// Parses the file and checks that it belongs to this verification.
fn checked(path: &Path, bytes: &[u8], new: &VerifyState, is_fixed: bool) -> Result<VerifyState> {
    let state = VerifyState::parse(bytes).map_err(|what| {
        let message = format!("State file '{}' can't be read: {what}", disk_path::shown(path));
        Error::new(Code::MALFORMED_FILE, message)
    })?;
    match state.mismatch(new, is_fixed) {
        None => Ok(state),
        Some(what) => Err(Error::new(
            Code::INCORRECT_PARAMS,
            format!(
                "State file '{}' {what}; remove it to begin a new verification",
                disk_path::shown(path)
            ),
        )),
    }
}

/// A verification writes nothing into the repository.
fn refuse_inside(path: &Path, repository: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let real = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        fs::canonicalize(path).map_err(|e| Error::io("Can't find the whole path of", path, &e))
    };
    if real(parent.unwrap_or(Path::new(".")))?.starts_with(real(repository)?) {
        let message = format!(
            "State file '{}' is inside of the repository",
            disk_path::shown(path)
        );
        return Err(Error::new(Code::INCORRECT_PARAMS, message));
    }
    Ok(())
}

/// The version of the file's format.
const VERSION: u32 = 1;

/// The largest file that is read, bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Failures that are stored; of more, only the number is.
const MAX_FAILURES: usize = 10_000;

/// The time between two saves: what a killed run has to do again.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn state() -> VerifyState {
        let range = (Revnum(5), Revnum(90));
        VerifyState {
            saved: "2026-11-23T17:15:46.000000Z".to_owned(),
            ..VerifyState::new("uuid instance 12 34".to_owned(), range, [false, true, true])
        }
    }

    fn file(state: VerifyState) -> StateFile {
        StateFile {
            path: PathBuf::new(),
            state,
            is_continued: true,
            saved: Instant::now(),
        }
    }

    #[test]
    fn the_format_stays() {
        let error = Error::new(Code::FS_CORRUPT, "it's bad").wrap_bare(Code::FS_GENERAL);
        let state = VerifyState {
            step: Step::Revisions,
            next: 91,
            failures: vec![Failure::new(Some(Revnum(7)), &error), Failure::new(None, &error)],
            ..state()
        };
        let text = r#"version = 1
repository = "uuid instance 12 34"
start = 5
end = 90
metadata-only = false
check-normalization = true
keep-going = true
step = "revisions"
next = 91
saved = "2026-11-23T17:15:46.000000Z"
more-failures = 0

[[failures]]
revision = 7

[[failures.links]]
code = 160000

[[failures.links]]
code = 160004
message = "it's bad"

[[failures]]

[[failures.links]]
code = 160000

[[failures.links]]
code = 160004
message = "it's bad"
"#;
        assert_eq!(state.encode().expect("encodes"), text);
        assert_eq!(VerifyState::parse(text.as_bytes()).expect("parses"), state);
        let file = file(state);
        assert_eq!(file.position(), VerifyPosition::Revision(Revnum(91)));
        let failures = file.failures();
        assert_eq!(failures[0].0, Some(Revnum(7)));
        assert_eq!(
            failures[0].1.links().count(),
            2,
            "both links of {:?}",
            failures[0].1
        );
    }

    #[test]
    fn other_runs_do_not_continue_it() {
        let old = state();
        assert_eq!(old.mismatch(&state(), true), None);
        for (change, complaint) in [
            (
                (|new| new.repository.push('x')) as fn(&mut VerifyState),
                "repository",
            ),
            (|new| new.keep_going = false, "options"),
            (|new| new.metadata_only = true, "options"),
            (|new| new.start = 4, "revisions 5:90"),
            (|new| new.end = 89, "revisions 5:90"),
        ] {
            let mut new = state();
            change(&mut new);
            let message = old.mismatch(&new, false).expect("differs");
            assert!(message.contains(complaint), "{message}");
        }
        // Commits since the first run matter only if the end was given.
        let new = VerifyState { end: 91, ..state() };
        assert_eq!(old.mismatch(&new, false), None);
        assert!(old.mismatch(&new, true).is_some());
    }

    #[test]
    fn bad_files_are_errors() {
        let good = state().encode().expect("encodes");
        for (from, to) in [
            ("version = 1", "version = 2"),
            ("next = 5", "next = 4"),
            ("next = 5", "next = 92"),
            ("end = 90", "end = -1"),
            ("step = \"files\"", "step = \"all\""),
            ("start", "begin"),
        ] {
            assert!(good.contains(from));
            let bad = good.replacen(from, to, 1);
            assert!(VerifyState::parse(bad.as_bytes()).is_err(), "{to}");
        }
        assert!(VerifyState::parse(b"").is_err());
        assert!(VerifyState::parse(b"\xff").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(bytes in any::<Vec<u8>>()) {
            _ = VerifyState::parse(&bytes);
        }

        #[test]
        fn what_is_written_is_read(
            repository: String,
            start in 0..1u64 << 40,
            length in 0..1u64 << 40,
            messages in proptest::collection::vec(any::<Option<String>>(), 0..4),
            flags: [bool; 3],
        ) {
            let range = (Revnum(start), Revnum(start + length));
            let mut state = VerifyState::new(repository, range, flags);
            for (at, message) in messages.iter().enumerate() {
                let links = [(Code(at as i32), message.clone()), (Code(1), None)];
                let error = Error::from_links(links).expect("two links");
                state.failures.push(Failure::new(Some(Revnum(at as u64)), &error));
            }
            let text = state.encode().expect("encodes");
            prop_assert_eq!(VerifyState::parse(text.as_bytes()), Ok(state));
        }
    }
}
