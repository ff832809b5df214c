//! What is done with the nodes of a part: they are written, and reported in its order.

use std::path::PathBuf;
use std::sync::mpsc::{Sender, SyncSender};
use std::time::{Duration, Instant};

use base::{Code, Error, RelPath, Result};

use super::super::editor::{EditSink, ReadyNode, ReadyNodes, TreeAt};
use super::{Key, MOST_HELD, Part, PartEvent, Shared, send};

/// Nodes of a part that are reported together.
const SENT_AT_ONCE: usize = 64;

/// A node is not reported together with one that is written this much later.
const LONGEST_KEPT: Duration = Duration::from_millis(20);

/// Passes the events of one part on, and makes parts of its subdirectories.
pub(super) struct PartSink<'a> {
    shared: &'a Shared<'a>,
    part: &'a Part,
    pub(super) at: &'a TreeAt<'a>,
    pub(super) is_divided: bool,
    /// Subdirectories that are parts.
    pub(super) children: u32,
    /// Nodes that were written and not sent yet: each message wakes the thread that reports.
    added: Vec<PathBuf>,
    /// When the first of them was written.
    since: Instant,
    events: &'a Sender<(Key, PartEvent)>,
}

impl<'a> PartSink<'a> {
    pub(super) fn new(
        shared: &'a Shared<'a>,
        part: &'a Part,
        at: &'a TreeAt<'a>,
        is_divided: bool,
        events: &'a Sender<(Key, PartEvent)>,
    ) -> PartSink<'a> {
        PartSink {
            shared,
            part,
            at,
            is_divided,
            children: 0,
            added: Vec::new(),
            since: Instant::now(),
            events,
        }
    }

    fn add(&mut self, target: PathBuf) -> Result<()> {
        if self.added.is_empty() {
            self.since = Instant::now();
        }
        self.added.push(target);
        match self.added.len() >= SENT_AT_ONCE || self.since.elapsed() >= LONGEST_KEPT {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Sends the nodes that were written.
    pub(super) fn flush(&mut self) -> Result<()> {
        match std::mem::take(&mut self.added) {
            added if added.is_empty() => Ok(()),
            added => self.send(PartEvent::Added(added)),
        }
    }

    /// Waits while too many events are held back, and sends one.
    fn send(&self, event: PartEvent) -> Result<()> {
        let key = &self.part.key;
        let mut queue = self.shared.queue.lock();
        loop {
            let is_over = queue.failed_at.as_ref().is_some_and(|failed| key >= failed);
            if queue.is_stopped || is_over {
                return Err(Error::bare(Code::CANCELLED));
            }
            if queue.held <= MOST_HELD || queue.opening > 0 || queue.turn.starts_with(key) {
                break;
            }
            self.shared.changed.wait(&mut queue);
        }
        queue.held += event.weight();
        drop(queue);
        send(self.events, key.clone(), event);
        Ok(())
    }

    fn directory(&mut self, path: &RelPath, target: PathBuf) -> Result<()> {
        self.add(target.clone())?;
        if self.is_divided {
            let mut key = self.part.key.clone();
            key.push(self.children);
            self.children += 1;
            self.shared.add(Part {
                key: key.clone(),
                path: self.part.path.join(path),
                target,
            });
            self.flush()?;
            self.send(PartEvent::Part(key))?;
        }
        Ok(())
    }
}

impl EditSink for PartSink<'_> {
    fn nodes(&mut self, nodes: ReadyNodes) -> Result<()> {
        for node in nodes.digested() {
            match node {
                ReadyNode::Directory(path, target) => self.directory(&path, target)?,
                ReadyNode::File(file) => {
                    let target = file.write(self.at)?;
                    self.add(target)?;
                }
            }
        }
        Ok(())
    }
}

/// Passes what a session has received on to the thread that writes.
pub(super) struct EditSteps(pub(super) SyncSender<ReadyNodes>);

impl EditSink for EditSteps {
    fn nodes(&mut self, nodes: ReadyNodes) -> Result<()> {
        // The thread has ended with an error, which counts more than this one.
        self.0.send(nodes).map_err(|_| Error::bare(Code::CANCELLED))
    }
}
