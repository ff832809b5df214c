//! Several sessions share the subtrees of an export.
//!
//! The tree is divided into *parts*: subtrees that are exported by one report each. A divided part covers only a directory and
//! its files; its subdirectories are parts of their own. Parts near the top are divided, deeper ones only while threads
//! have nothing to do; while the first session is alone, only the top is. It stays alone while it keeps the machine busy. Each part has a key, and keys are ordered as the events of one
//! report over the whole tree would be. Threads, each with a session, take the first part. The calling thread receives what they did, and
//! reports it in the order of keys: it holds back what is not yet its turn. A thread waits while too much is held back, unless its part, or
//! one that its part made, has its turn.
//!
//! An error has its turn too: what comes before it is exported and reported as if there were one thread.
//!
//! A tree without subdirectories, or one session, is one part: no further connection is opened before there is work for it. A server
//! may serve fewer connections than it accepts (svnserve's thread pool does), so no thread waits for another one with an open
//! connection: a thread takes a part when it has a connection, a thread without work closes its connection, and nothing is held back while
//! a connection is being opened. If another connection is refused, the export goes on with those that are open.

mod part_sink;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use base::ordered::ThreadPool;
use base::{Code, Depth, Error, RelPath, Result, Revnum, Url};
use parking_lot::{Condvar, Mutex};
use ra::{Capability, PathState, ReportKind, ReportRequest, Session};

use self::part_sink::{PartSink, PartWriter};
use super::editor::{EditSink, ExportEditor, TreeAt};
use super::{ExportEvent, ExportOptions, Notify};

/// Directories at fewer levels below the top than this are always divided.
const DIVIDED_LEVELS: usize = 2;

/// Deeper ones, up to this level, are divided if parts are few.
const MOST_LEVELS: usize = 8;

/// Events that are held back before threads wait.
const MOST_HELD: usize = 100_000;

/// Groups of nodes that a session is ahead of the threads that write. Each may be megabytes.
const MOST_GROUPS: usize = 16;

/// The position of a part: the numbers of the parts that lead to it, each within the one before.
type Key = Vec<u32>;

/// A subtree that is exported by one report.
struct Part {
    key: Key,
    /// The path below the top of the export.
    path: RelPath,
    target: PathBuf,
}

/// What the threads share.
struct Shared<'a> {
    root_url: &'a Url,
    url: &'a Url,
    rev: Revnum,
    is_divided: bool,
    options: &'a ExportOptions<'a>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    parts: BTreeMap<Key, Part>,
    /// Parts that are being exported.
    active: usize,
    /// Where the first error is: no part from here on is exported.
    failed_at: Option<Key>,
    is_stopped: bool,
    /// The part whose events are reported.
    turn: Key,
    /// Events that were sent and not reported.
    held: usize,
    /// Sessions that threads have.
    sessions: usize,
    /// Sessions that are being opened.
    opening: usize,
    externals: BTreeMap<RelPath, Vec<u8>>,
}

impl Queue {
    /// Removes the parts behind an error.
    fn forget_failed(&mut self) {
        if let Some(at) = self.failed_at.clone() {
            self.parts.split_off(&at);
        }
    }
}

/// What happened in a part.
enum PartEvent {
    /// Nodes that were written.
    Added(Vec<PathBuf>),
    /// Another part follows here.
    Part(Key),
    End,
    Failed(Error),
}

impl PartEvent {
    /// How much of [`MOST_HELD`] the event takes.
    fn weight(&self) -> usize {
        match self {
            PartEvent::Added(paths) => paths.len(),
            _ => 1,
        }
    }
}

/// Exports what is below the directory at the session's URL into `target`, which exists. Returns the directories with
/// `svn:externals`.
pub(super) fn export(
    mut session: Box<dyn Session>,
    rev: Revnum,
    target: &Path,
    options: &ExportOptions<'_>,
    notify: Notify<'_>,
) -> Result<Vec<(RelPath, Vec<u8>)>> {
    let sessions = options.sessions.max(1);
    let (root_url, url) = (session.root_url().clone(), session.url().clone());
    let may_divide = sessions > 1 && options.depth == Depth::Infinity;
    let shared = Shared {
        root_url: &root_url,
        url: &url,
        rev,
        is_divided: may_divide && session.has(Capability::Depth)?,
        options,
        queue: Mutex::default(),
        changed: Condvar::new(),
    };
    shared.queue.lock().sessions = 1;
    shared.add(Part {
        key: Key::new(),
        path: RelPath::empty(),
        target: target.to_owned(),
    });
    let (sender, events) = channel();
    let outcome = thread::scope(|scope| {
        let mut first = Some(session);
        for _ in 0..if shared.is_divided { sessions } else { 1 } {
            let (session, sender, shared) = (first.take(), sender.clone(), &shared);
            scope.spawn(move || {
                if session.is_none() {
                    shared.leave_alone();
                }
                shared.work(session, &sender);
            });
        }
        drop(sender);
        let outcome = shared.report_in_order(&events, notify);
        shared.stop();
        outcome
    });
    outcome.map(|()| shared.queue.into_inner().externals.into_iter().collect())
}

impl Shared<'_> {
    fn add(&self, part: Part) {
        self.queue.lock().parts.insert(part.key.clone(), part);
        self.changed.notify_all();
    }

    /// Waits while the first session works alone, at most until the end of the export.
    fn leave_alone(&self) {
        let mut until = Instant::now() + self.options.alone_for;
        let mut queue = self.queue.lock();
        while !queue.is_stopped && (queue.active > 0 || !queue.parts.is_empty()) {
            if self.changed.wait_until(&mut queue, until).timed_out() {
                if (self.options.has_time)() {
                    return;
                }
                until += self.options.alone_for;
            }
        }
    }

    fn stop(&self) {
        self.queue.lock().is_stopped = true;
        self.changed.notify_all();
    }

    /// Waits for a part that the thread can begin; false if there is no more work. Closes the session before it waits. One further
    /// connection is opened at a time.
    fn wait(&self, session: &mut Option<Box<dyn Session>>) -> bool {
        let mut queue = self.queue.lock();
        loop {
            queue.forget_failed();
            if queue.is_stopped || (queue.parts.is_empty() && queue.active == 0) {
                return false;
            }
            if !queue.parts.is_empty() && (session.is_some() || queue.opening == 0) {
                return true;
            }
            if let Some(idle) = session.take() {
                queue.sessions -= 1;
                drop(queue);
                drop(idle);
                queue = self.queue.lock();
                continue;
            }
            self.changed.wait(&mut queue);
        }
    }

    /// Takes the first part, and decides whether it is divided; `None` if there is none.
    fn take(&self) -> Option<(Part, bool)> {
        let mut queue = self.queue.lock();
        queue.forget_failed();
        if queue.is_stopped {
            return None;
        }
        let (_, part) = queue.parts.pop_first()?;
        queue.active += 1;
        let level = part.path.components().count();
        let is_hungry = queue.parts.len() < self.options.sessions;
        // Each report costs a round trip.
        let is_alone = queue.sessions <= 1 && !self.options.alone_for.is_zero();
        let most = match is_hungry {
            _ if is_alone => 1,
            true => MOST_LEVELS,
            false => DIVIDED_LEVELS,
        };
        Some((part, self.is_divided && level < most))
    }

    /// Makes sure that there is a usable session. Returns false if there is none, and other threads have some.
    fn open(&self, session: &mut Option<Box<dyn Session>>) -> Result<bool> {
        if session.as_ref().is_some_and(|session| session.is_usable()) {
            return Ok(true);
        }
        let mut queue = self.queue.lock();
        queue.sessions -= usize::from(session.take().is_some());
        queue.opening += 1;
        drop(queue);
        self.changed.notify_all();
        let opened = (self.options.open)(self.url);
        let mut queue = self.queue.lock();
        queue.opening -= 1;
        match opened {
            Ok(opened) => {
                queue.sessions += 1;
                *session = Some(opened);
                Ok(true)
            }
            Err(error) if error.has(Code::CANCELLED) => Err(error),
            Err(_) if queue.sessions > 0 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Exports parts until there are none left.
    fn work(&self, mut session: Option<Box<dyn Session>>, events: &Sender<(Key, PartEvent)>) {
        while self.wait(&mut session) {
            // The part waits for a connection in the queue, where another thread can take it.
            let opened = self.open(&mut session);
            self.changed.notify_all();
            if let Ok(false) = opened {
                return;
            }
            let Some((part, is_divided)) = self.take() else {
                continue;
            };
            let at = TreeAt {
                root_url: self.root_url,
                url: self.url.join(&part.path),
                target: &part.target,
                options: self.options,
            };
            let mut sink = PartSink::new(self, &part, &at, is_divided, events);
            let outcome = match (opened, &mut session) {
                (Ok(_), Some(session)) => self.export_part(&mut **session, &mut sink),
                (Err(error), _) => Err(error),
                (Ok(_), None) => Ok(BTreeMap::new()),
            };
            let flushed = sink.flush();
            let outcome = outcome.and_then(|externals| flushed.map(|()| externals));
            let mut queue = self.queue.lock();
            queue.active -= 1;
            let end = match outcome {
                Ok(externals) => {
                    let found = externals.into_iter();
                    queue
                        .externals
                        .extend(found.map(|(path, value)| (part.path.join(&path), value)));
                    PartEvent::End
                }
                Err(error) => {
                    let mut at = part.key.clone();
                    at.push(sink.children);
                    if queue.failed_at.as_ref().is_none_or(|failed| at < *failed) {
                        queue.failed_at = Some(at);
                    }
                    PartEvent::Failed(error)
                }
            };
            queue.held += 1;
            drop(queue);
            send(events, part.key, end);
            self.changed.notify_all();
        }
    }

    fn export_part(
        &self,
        session: &mut dyn Session,
        sink: &mut PartSink<'_>,
    ) -> Result<BTreeMap<RelPath, Vec<u8>>> {
        let depth = match sink.is_divided {
            true => Depth::Immediates,
            false => self.options.depth,
        };
        let at = sink.at;
        ThreadPool::scope(self.options.writers, |pool| {
            let most = match self.options.writers {
                0 | 1 => 0,
                _ => MOST_GROUPS,
            };
            let mut writer = PartWriter::new(pool, most, sink);
            let received = self.receive(session, depth, ExportEditor::new(at, &mut writer));
            // What was received before an error is written, and may have an error of its own.
            writer.finish().and(received)
        })
    }

    fn receive<S: EditSink>(
        &self,
        session: &mut dyn Session,
        depth: Depth,
        mut editor: ExportEditor<'_, S>,
    ) -> Result<BTreeMap<RelPath, Vec<u8>>> {
        session.reparent(&editor.at.url)?;
        let request = ReportRequest {
            kind: ReportKind::Update {
                send_copyfrom: false,
                ignore_ancestry: false,
            },
            rev: Some(self.rev),
            target: "",
            depth,
        };
        let state = PathState::empty(self.rev);
        let outcome = session.report(
            &request,
            &mut |reporter| reporter.set_path(&RelPath::empty(), &state),
            &mut editor,
        );
        if outcome.is_err() {
            // What came before the error is exported.
            editor.write_ready()?;
        }
        outcome?;
        Ok(editor.externals)
    }

    /// Reports events in the order of the tree.
    fn report_in_order(&self, events: &Receiver<(Key, PartEvent)>, notify: Notify<'_>) -> Result<()> {
        let mut waiting: HashMap<Key, VecDeque<PartEvent>> = HashMap::new();
        let mut open = vec![Key::new()];
        for (part, event) in events {
            waiting.entry(part).or_default().push_back(event);
            let mut reported = 0;
            while let Some(part) = open.last() {
                let next = waiting.get_mut(part).and_then(VecDeque::pop_front);
                reported += next.as_ref().map_or(0, PartEvent::weight);
                match next {
                    Some(PartEvent::Added(paths)) => paths
                        .iter()
                        .try_for_each(|path| notify(ExportEvent::Added(path)))?,
                    Some(PartEvent::Part(key)) => open.push(key),
                    Some(PartEvent::Failed(error)) => return Err(error),
                    Some(PartEvent::End) => {
                        waiting.remove(part);
                        open.pop();
                    }
                    None => break,
                }
            }
            if reported > 0 {
                self.reported(reported, open.last());
            }
        }
        Ok(())
    }

    /// Lets threads go on after `count` events were reported, and `turn` is next.
    fn reported(&self, count: usize, turn: Option<&Key>) {
        let mut queue = self.queue.lock();
        let was_full = queue.held > MOST_HELD;
        queue.held -= count;
        if let Some(turn) = turn.filter(|turn| **turn != queue.turn) {
            queue.turn.clone_from(turn);
        }
        if was_full {
            self.changed.notify_all();
        }
    }
}

fn send(events: &Sender<(Key, PartEvent)>, part: Key, event: PartEvent) {
    // The receiver has gone if it has failed; its error ends the export.
    _ = events.send((part, event));
}
