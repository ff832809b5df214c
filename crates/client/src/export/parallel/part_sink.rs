//! What is done with the nodes of a part: they are written, and reported in its order.

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use base::ordered::{Limits, OrderedQueue, ThreadPool};
use base::{Code, Error, RelPath, Result};

use super::super::editor::{EditSink, TreeAt};
use super::super::ready::{ReadyNodes, WrittenNode, WrittenNodes};
use super::{Key, MOST_HELD, Part, PartEvent, Shared, send};

/// Nodes of a part that are reported together.
const SENT_AT_ONCE: usize = 64;

/// Bytes of texts that wait to be written. One group may have more.
const MOST_BYTES: usize = 12 << 20;

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

/// Has nodes written by the threads of a pool and the caller's, and reports them.
pub(super) struct PartWriter<'w, 's, 'a> {
    queue: OrderedQueue<'w, WrittenNodes>,
    at: &'w TreeAt<'w>,
    sink: &'s mut PartSink<'a>,
    /// The bytes of texts in the queue.
    bytes: usize,
}

impl<'w, 's, 'a: 'w> PartWriter<'w, 's, 'a> {
    /// `most` groups of nodes wait or are being written.
    pub(super) fn new(pool: &ThreadPool<'w>, most: usize, sink: &'s mut PartSink<'a>) -> Self {
        let limits = Limits {
            tasks: most,
            bytes: usize::MAX,
        };
        PartWriter {
            queue: OrderedQueue::new(pool, limits),
            at: sink.at,
            sink,
            bytes: 0,
        }
    }

    /// Waits until all nodes are written.
    pub(super) fn finish(&mut self) -> Result<()> {
        while self.report_first()? {}
        Ok(())
    }

    /// Reports the first group, once it is written; false if there is none.
    fn report_first(&mut self) -> Result<bool> {
        let WrittenNodes { nodes, bytes, failed } = match self.queue.take() {
            None => return Ok(false),
            Some(Ok(written)) => written,
            Some(Err(panicked)) => std::panic::resume_unwind(panicked),
        };
        self.bytes -= bytes;
        for node in nodes {
            match node {
                WrittenNode::Directory(path, target) => self.sink.directory(&path, target)?,
                WrittenNode::File(target) => self.sink.add(target)?,
            }
        }
        failed.map_or(Ok(true), Err)
    }
}

impl<'w, 's, 'a: 'w> EditSink for PartWriter<'w, 's, 'a> {
    fn nodes(&mut self, nodes: ReadyNodes) -> Result<()> {
        let at = self.at;
        self.bytes += nodes.bytes();
        self.queue.push(move || (nodes.write(at), 0));
        while self.queue.is_first_done() || !self.queue.has_room() || self.bytes > MOST_BYTES {
            if !self.report_first()? {
                break;
            }
        }
        Ok(())
    }
}
