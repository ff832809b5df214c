//! A client that makes random requests at random nodes, and records them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::checksum::Md5;
use base::{Lock, RelPath, Result, Revnum, Url};
use delta::editor::TextChunk;
use delta::window::{WINDOW_SIZE, Window};
use parking_lot::Mutex;
use ra::{
    CommitRequest, FileRequest, FixedPassword, Limits, LockTarget, OpenOptions, Password, RevpropChange,
    Session, UnlockTarget,
};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::history::{Action, Event, History, Outcome, made_by, text_of};
use crate::nodes::{LOCKED_FILES, SHARED_FILES, Targets, USER};

/// How many lists there are.
pub const LISTS: usize = 3;

/// What the clients of a run share.
pub struct Shared {
    /// Where the repository is.
    pub targets: Targets,
    /// What they have seen.
    pub history: History,
    /// The locks that they know of: the names and tokens, by file.
    pub locks: Mutex<[Option<(String, String)>; LOCKED_FILES]>,
    /// True when they are to end.
    pub is_over: AtomicBool,
    /// What was seen that must never be seen.
    pub violations: Mutex<Vec<String>>,
}

/// A client.
pub struct Client {
    shared: Arc<Shared>,
    number: u64,
    turn: u64,
    random: ChaCha8Rng,
}

/// A session with its URL, and the number of its node if all requests reach one.
struct OpenSession {
    session: Box<dyn Session>,
    url: String,
    node: Option<usize>,
}

impl Client {
    /// A client with a number of its own.
    pub fn new(shared: Arc<Shared>, number: u64, seed: u64) -> Client {
        let random = ChaCha8Rng::seed_from_u64(seed * 1000 + number);
        Client {
            shared,
            number,
            turn: 0,
            random,
        }
    }

    /// Makes requests until the run is over.
    pub fn run(mut self) {
        while !self.shared.is_over.load(Ordering::Relaxed) {
            self.turn += 1;
            let (url, node) = self.url();
            let opened = open(&url);
            let made = opened.and_then(|session| self.request(OpenSession { session, url, node }));
            // Two processors run everything. Without pauses the clients would have most of them.
            let longest = if made.is_ok() { 20 } else { 60 };
            std::thread::sleep(Duration::from_millis(self.random.random_range(0..longest)));
        }
    }

    fn url(&mut self) -> (String, Option<usize>) {
        let targets = &self.shared.targets;
        let node = self.random.random_range(0..targets.svn.len());
        match self.random.random_range(0..10) {
            0..=4 => (targets.svn[node].clone(), Some(node)),
            5..=7 => (targets.http[node].clone(), Some(node)),
            _ => (targets.spread.clone(), None),
        }
    }

    fn request(&mut self, mut at: OpenSession) -> Result<()> {
        match self.random.random_range(0..100) {
            0..=14 => {
                let path = format!("new-{}-{}", self.number, self.turn);
                self.commit(&mut at, &path, None, None, None)
            }
            15..=34 => {
                let path = format!("shared{}", self.random.random_range(0..SHARED_FILES));
                self.change(&mut at, &path, None)
            }
            35..=44 => {
                let file = self.random.random_range(0..LOCKED_FILES);
                let sends_token = self.random.random_bool(0.5);
                let known = self.shared.locks.lock()[file].clone();
                self.change(&mut at, &lock_path(file), known.filter(|_| sends_token))
            }
            45..=52 => {
                let start = Instant::now();
                let rev = at.session.latest_revision()?;
                self.add(&at, start, Action::Youngest(rev.0), Outcome::Done);
                Ok(())
            }
            53..=60 => {
                let path = format!("shared{}", self.random.random_range(0..SHARED_FILES));
                self.read(&mut at, &path, None).map(drop)
            }
            61..=68 => {
                let path = format!("shared{}", self.random.random_range(0..SHARED_FILES));
                let youngest = at.session.latest_revision()?;
                let rev = self.random.random_range(1..=youngest.0);
                self.read(&mut at, &path, Some(Revnum(rev))).map(drop)
            }
            69..=78 => self.append(&mut at),
            79..=84 => {
                let list = self.random.random_range(0..LISTS);
                self.read_list(&mut at, list).map(drop)
            }
            85..=94 => self.lock_or_unlock(&mut at),
            _ => {
                let file = self.random.random_range(0..LOCKED_FILES);
                self.read_lock(&mut at, file)
            }
        }
    }

    fn add(&self, at: &OpenSession, start: Instant, action: Action, outcome: Outcome) {
        let is_commit = matches!(action, Action::Commit { .. }) && outcome == Outcome::Done;
        self.shared.history.add(Event {
            start,
            end: Instant::now(),
            url: at.url.clone(),
            action,
            outcome,
        });
        if let (true, Some(node)) = (is_commit, at.node) {
            self.shared.history.note_commit(node);
        }
    }

    /// A name for a change, with the number of bytes that it has if it is a text.
    fn name(&mut self) -> String {
        let length = match self.random.random_range(0..6) {
            0 => self.random.random_range(70_000..150_000),
            _ => self.random.random_range(0..2000),
        };
        format!("{}-{}-{length}", self.number, self.turn)
    }

    /// Reads a file and replaces what was read.
    fn change(&mut self, at: &mut OpenSession, path: &str, lock: Option<(String, String)>) -> Result<()> {
        let (rev, before) = self.read(at, path, None)?;
        self.commit(at, path, lock, Some(rev), before.as_deref())
    }

    /// Commits a file: a new one, or one that was read at `base`.
    fn commit(
        &mut self,
        at: &mut OpenSession,
        path: &str,
        lock: Option<(String, String)>,
        base: Option<Revnum>,
        before: Option<&str>,
    ) -> Result<()> {
        let id = self.name();
        let text = text_of(&id, before);
        let name = RelPath::parse(path)?;
        let token = lock.as_ref().map(|(_, token)| (name.clone(), token.clone()));
        let request = CommitRequest {
            revprops: [("svn:log".to_owned(), id.clone().into_bytes())].into(),
            lock_tokens: token.into_iter().collect(),
            keep_locks: self.random.random_bool(0.5),
        };
        let start = Instant::now();
        let made = at.session.commit(&request, &mut |editor| {
            let root = editor.open_root(base)?;
            let file = match base {
                None => editor.add_file(&name, root, None)?,
                Some(_) => editor.open_file(&name, root, base)?,
            };
            editor.apply_textdelta(file, None)?;
            for piece in text.chunks(WINDOW_SIZE) {
                editor.text_chunk(file, TextChunk::Decoded(&Window::insertion(piece)))?;
            }
            editor.text_end(file)?;
            editor.close_file(file, Some(&Md5::of(&text)))?;
            editor.close_directory(root)
        });
        let action = Action::Commit {
            id,
            path: path.to_owned(),
            rev: made.as_ref().ok().map(|info| info.rev.0),
            lock: lock.map(|(id, _)| id),
            unlocks: !request.keep_locks,
        };
        // The client sends a MERGE once.
        let outcome = made
            .as_ref()
            .map_or_else(|e| Outcome::of(e, true), |_| Outcome::Done);
        self.add(at, start, action, outcome);
        Ok(())
    }

    /// Reads a file. Returns the revision, and the commit that has made the text.
    fn read(
        &mut self,
        at: &mut OpenSession,
        path: &str,
        rev: Option<Revnum>,
    ) -> Result<(Revnum, Option<String>)> {
        let request = FileRequest {
            path: &RelPath::parse(path)?,
            rev,
            props: false,
            text: true,
        };
        let start = Instant::now();
        let mut text = Vec::new();
        let info = at.session.file(&request, &mut |_, piece| {
            text.extend_from_slice(piece);
            Ok(())
        })?;
        let id = match made_by(&text) {
            Ok((id, _)) => id,
            Err(e) => {
                let violation = format!("{}/{path}@{}: {e}", at.url, info.rev);
                self.shared.violations.lock().push(violation);
                return Ok((info.rev, None));
            }
        };
        let action = Action::Read {
            path: path.to_owned(),
            rev: info.rev.0,
            is_youngest: rev.is_none(),
            id: id.clone(),
        };
        self.add(at, start, action, Outcome::Done);
        Ok((info.rev, id))
    }

    /// Reads a list. Returns the property.
    fn read_list(&mut self, at: &mut OpenSession, list: usize) -> Result<Option<Vec<u8>>> {
        let start = Instant::now();
        let value = at.session.revprop(Revnum(0), &list_name(list))?;
        let ids = items(value.as_deref());
        self.add(at, start, Action::ReadList { list, ids }, Outcome::Done);
        Ok(value)
    }

    fn append(&mut self, at: &mut OpenSession) -> Result<()> {
        let list = self.random.random_range(0..LISTS);
        let old = self.read_list(at, list)?;
        let id = format!("{}-{}", self.number, self.turn);
        let mut new = old.clone().unwrap_or_default();
        if !new.is_empty() {
            new.push(b' ');
        }
        new.extend_from_slice(id.as_bytes());
        let change = RevpropChange {
            rev: Revnum(0),
            name: &list_name(list),
            value: Some(&new),
            expected: Some(old.as_deref()),
        };
        let start = Instant::now();
        let outcome = outcome(at.session.change_revprop(&change), at);
        self.add(at, start, Action::Append { list, id }, outcome);
        Ok(())
    }

    fn lock_or_unlock(&mut self, at: &mut OpenSession) -> Result<()> {
        let file = self.random.random_range(0..LOCKED_FILES);
        let path = lock_path(file);
        let name = RelPath::parse(&path)?;
        let known = self.shared.locks.lock()[file].clone();
        let Some((id, token)) = known else {
            let id = self.name();
            let target = LockTarget {
                path: name,
                rev: None,
            };
            let mut answer: Option<Result<Lock>> = None;
            let start = Instant::now();
            let sent = at.session.lock(&[target], Some(&id), false, &mut |_, result| {
                answer = Some(result);
                Ok(())
            });
            let made = sent.and(answer.unwrap_or_else(|| Err(missing_answer())));
            if let Ok(lock) = &made {
                self.shared.locks.lock()[file] = Some((id.clone(), lock.token.clone()));
            }
            let is_refused = made.is_err();
            let outcome = outcome(made.map(drop), at);
            self.add(at, start, Action::Lock { path, id }, outcome);
            return match is_refused {
                true => self.read_lock(at, file),
                false => Ok(()),
            };
        };
        let target = UnlockTarget {
            path: name,
            token: Some(token),
        };
        let mut answer: Option<Result<()>> = None;
        let start = Instant::now();
        let sent = at.session.unlock(&[target], false, &mut |_, result| {
            answer = Some(result);
            Ok(())
        });
        let made = sent.and(answer.unwrap_or_else(|| Err(missing_answer())));
        let outcome = outcome(made, at);
        self.add(at, start, Action::Unlock { path, id: id.clone() }, outcome);
        let mut locks = self.shared.locks.lock();
        if locks[file].as_ref().is_some_and(|(known, _)| *known == id) {
            locks[file] = None;
        }
        Ok(())
    }

    fn read_lock(&mut self, at: &mut OpenSession, file: usize) -> Result<()> {
        let path = lock_path(file);
        let start = Instant::now();
        let found = at.session.get_lock(&RelPath::parse(&path)?)?;
        let known = found.map(|lock| (lock.comment.unwrap_or_default(), lock.token));
        let id = known.as_ref().map(|(id, _)| id.clone());
        self.shared.locks.lock()[file] = known;
        self.add(at, start, Action::ReadLock { path, id }, Outcome::Done);
        Ok(())
    }
}

/// Reads what all nodes show when the run is over.
pub fn read_all(shared: &Arc<Shared>) -> Result<()> {
    let targets = shared.targets.clone();
    let mut client = Client::new(shared.clone(), u64::MAX / 1000, 0);
    for url in targets.svn.iter().chain(&targets.http) {
        let mut at = OpenSession {
            session: open(url)?,
            url: url.clone(),
            node: None,
        };
        let start = Instant::now();
        let rev = at.session.latest_revision()?;
        client.add(&at, start, Action::Youngest(rev.0), Outcome::Done);
        for list in 0..LISTS {
            client.read_list(&mut at, list)?;
        }
        for file in 0..LOCKED_FILES {
            client.read_lock(&mut at, file)?;
        }
    }
    Ok(())
}

/// Opens a session as the only user.
///
/// # Errors
/// If the server cannot be reached.
pub fn open(url: &str) -> Result<Box<dyn Session>> {
    let password = Password {
        user: USER.0.to_owned(),
        password: USER.1.to_owned(),
    };
    let options = OpenOptions {
        credentials: Arc::new(FixedPassword(password)),
        limits: Limits {
            connect: PATIENCE,
            idle: PATIENCE,
            ..Limits::default()
        },
        ..OpenOptions::default()
    };
    ra::open(&Url::canonicalize(url)?, &options)
}

/// The name of the property with a list.
pub fn list_name(list: usize) -> String {
    format!("test:list{list}")
}

/// The items of a list.
pub fn items(value: Option<&[u8]>) -> Vec<String> {
    let text = String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn lock_path(file: usize) -> String {
    format!("lock{file}")
}

/// The outcome of a change. Over HTTP, the client sends a request once more if a connection ends before the response.
fn outcome(made: Result<()>, at: &OpenSession) -> Outcome {
    match made {
        Ok(()) => Outcome::Done,
        Err(e) => Outcome::of(&e, at.url.starts_with("svn://")),
    }
}

fn missing_answer() -> base::Error {
    base::Error::new(base::Code::RA_SVN_IO_ERROR, "the server has not answered")
}

/// How long a client waits for a server that is silent.
const PATIENCE: Duration = Duration::from_secs(8);
