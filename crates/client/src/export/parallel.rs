//! Several sessions share the subtrees of an export.
//!
//! The tree is divided into *parts*: subtrees that are exported by one report each. A part near the top covers only a directory and
//! its files; its subdirectories are parts of their own. Threads, each with a session, take the parts in the order of their paths. The calling
//! thread receives what they did, and reports it in the order of paths: it holds back what is not yet its turn, which is a few
//! bytes for each path.
//!
//! A tree without subdirectories, or one session, is one part: no further connection is opened before there is work for it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use base::{Code, Depth, Error, RelPath, Result, Revnum, Url};
use parking_lot::{Condvar, Mutex};
use ra::{Capability, PathState, ReportKind, ReportRequest, Session};

use super::editor::{EditSink, ExportEditor, TreeAt};
use super::node::Links;
use super::{ExportEvent, ExportOptions, Notify};

/// Directories that are this many levels below the top are not divided.
const DIVIDED_LEVELS: usize = 2;

/// A subtree that is exported by one report.
struct Part {
    number: usize,
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
    links: &'a Links,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    parts: Vec<Part>,
    numbers: usize,
    /// Parts that are being exported.
    active: usize,
    failed: Option<Error>,
    externals: BTreeMap<RelPath, Vec<u8>>,
}

/// What happened in a part.
enum PartEvent {
    Added(PathBuf),
    /// Another part follows here.
    Part(usize),
    End,
}

/// Exports what is below the directory at the session's URL into `target`, which exists. Returns the directories with
/// `svn:externals`.
pub(super) fn export(
    mut session: Box<dyn Session>,
    rev: Revnum,
    target: &Path,
    options: &ExportOptions<'_>,
    links: &Links,
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
        links,
        queue: Mutex::default(),
        changed: Condvar::new(),
    };
    shared.add(RelPath::empty(), target.to_owned());
    let (sender, events) = channel();
    thread::scope(|scope| {
        let mut first = Some(session);
        for _ in 0..if shared.is_divided { sessions } else { 1 } {
            let (session, sender, shared) = (first.take(), sender.clone(), &shared);
            scope.spawn(move || shared.work(session, &sender));
        }
        drop(sender);
        if let Err(error) = report_in_order(&events, notify) {
            shared.fail(error);
        }
    });
    let queue = shared.queue.into_inner();
    match queue.failed {
        Some(error) => Err(error),
        None => Ok(queue.externals.into_iter().collect()),
    }
}

impl Shared<'_> {
    /// Adds a part to the queue. Returns its number.
    fn add(&self, path: RelPath, target: PathBuf) -> usize {
        let mut queue = self.queue.lock();
        let number = queue.numbers;
        queue.numbers += 1;
        queue.parts.push(Part { number, path, target });
        self.changed.notify_one();
        number
    }

    fn fail(&self, error: Error) {
        self.queue.lock().failed.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Takes the part with the first path; `None` if there is no more work.
    fn take(&self) -> Option<Part> {
        let mut queue = self.queue.lock();
        loop {
            if queue.failed.is_some() {
                return None;
            }
            let parts = queue.parts.iter().enumerate();
            let first = parts.min_by(|(_, a), (_, b)| a.path.cmp_tree(&b.path));
            if let Some((at, _)) = first {
                queue.active += 1;
                return Some(queue.parts.swap_remove(at));
            }
            if queue.active == 0 {
                return None;
            }
            self.changed.wait(&mut queue);
        }
    }

    /// Exports parts until there are none left.
    fn work(&self, mut session: Option<Box<dyn Session>>, events: &Sender<(usize, PartEvent)>) {
        while let Some(part) = self.take() {
            let outcome = self.export_part(&mut session, &part, events);
            let mut queue = self.queue.lock();
            queue.active -= 1;
            match outcome {
                Ok(externals) => queue.externals.extend(externals),
                Err(error) => _ = queue.failed.get_or_insert(error),
            }
            drop(queue);
            self.changed.notify_all();
        }
    }

    fn export_part(
        &self,
        session: &mut Option<Box<dyn Session>>,
        part: &Part,
        events: &Sender<(usize, PartEvent)>,
    ) -> Result<Vec<(RelPath, Vec<u8>)>> {
        let url = self.url.join(&part.path);
        let session = match session {
            Some(session) => session,
            none => none.insert((self.options.open)(self.url)?),
        };
        session.reparent(&url)?;
        let is_divided = self.is_divided && part.path.components().count() < DIVIDED_LEVELS;
        let at = TreeAt {
            root_url: self.root_url,
            url: &url,
            target: &part.target,
            options: self.options,
            links: self.links,
        };
        let sink = PartSink {
            shared: self,
            part,
            is_divided,
            events,
        };
        let mut editor = ExportEditor::new(&at, sink);
        let request = ReportRequest {
            kind: ReportKind::Update {
                send_copyfrom: false,
                ignore_ancestry: false,
            },
            rev: Some(self.rev),
            target: "",
            depth: if is_divided {
                Depth::Immediates
            } else {
                self.options.depth
            },
        };
        let state = PathState::empty(self.rev);
        session.report(
            &request,
            &mut |reporter| reporter.set_path(&RelPath::empty(), &state),
            &mut editor,
        )?;
        let externals = std::mem::take(&mut editor.externals);
        send(events, part.number, PartEvent::End);
        Ok(externals
            .into_iter()
            .map(|(path, value)| (part.path.join(&path), value))
            .collect())
    }
}

/// Passes the events of one part on, and makes parts of its subdirectories.
struct PartSink<'a> {
    shared: &'a Shared<'a>,
    part: &'a Part,
    is_divided: bool,
    events: &'a Sender<(usize, PartEvent)>,
}

impl PartSink<'_> {
    fn added(&self, target: &Path) -> Result<()> {
        send(self.events, self.part.number, PartEvent::Added(target.to_owned()));
        match self.shared.queue.lock().failed {
            Some(_) => Err(Error::bare(Code::CANCELLED)),
            None => Ok(()),
        }
    }
}

impl EditSink for PartSink<'_> {
    fn directory(&mut self, path: &RelPath, target: &Path) -> Result<()> {
        self.added(target)?;
        if self.is_divided {
            let path = self.part.path.join(path);
            let number = self.shared.add(path, target.to_owned());
            send(self.events, self.part.number, PartEvent::Part(number));
        }
        Ok(())
    }

    fn file(&mut self, target: &Path) -> Result<()> {
        self.added(target)
    }
}

fn send(events: &Sender<(usize, PartEvent)>, part: usize, event: PartEvent) {
    // The receiver has gone if it has failed; its error ends the export.
    _ = events.send((part, event));
}

/// Reports events in the order of the tree.
fn report_in_order(events: &Receiver<(usize, PartEvent)>, notify: Notify<'_>) -> Result<()> {
    let mut waiting: HashMap<usize, VecDeque<PartEvent>> = HashMap::new();
    let mut open = vec![0];
    for (part, event) in events {
        waiting.entry(part).or_default().push_back(event);
        while let Some(&part) = open.last() {
            let next = waiting.get_mut(&part).and_then(VecDeque::pop_front);
            match next {
                Some(PartEvent::Added(path)) => notify(ExportEvent::Added(&path))?,
                Some(PartEvent::Part(number)) => open.push(number),
                Some(PartEvent::End) => {
                    waiting.remove(&part);
                    open.pop();
                }
                None => break,
            }
        }
    }
    Ok(())
}
