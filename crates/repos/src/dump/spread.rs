//! One large revision, printed by many threads.
//!
//! The replay runs on the caller's thread, which only notes the records; the lookups are quick. Batches of them are
//! printed by workers, each into memory, and the caller puts them out in order whenever it has noted too much. So
//! what waits is bounded, by what the records are expected to take. A batch that takes much more after all, and a
//! text that is long by itself, the caller prints straight into the output when their turn comes.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use base::{Code, Error, FsPath, Result, Revnum};
use crossbeam_channel::{Receiver, Sender};
use fsfs::Node;

use crate::dump::piece::{Ended, Piece};
use crate::dump::record::{Change, Printer, Records, Style};
use crate::dump::{Warning, write_error};
use crate::dumpfile::Action;

/// How much memory, and how many threads.
#[derive(Clone, Copy)]
pub(super) struct Means {
    pub threads: usize,
    /// Longer texts are not printed into memory.
    pub longest: u64,
    /// Bytes of noted and printed records that may wait for their turn.
    pub budget: u64,
}

/// Prints the records that `drive` makes to `out`, as a [`Printer`] alone would do it.
///
/// # Errors
/// The first in the order of the records, be it the printing's or `drive`'s; everything before it was written.
/// `CANCELLED`.
pub(super) fn print(
    out: &mut dyn Write,
    style: Style<'_>,
    means: Means,
    warnings: &mut Vec<Warning>,
    drive: impl FnOnce(&mut dyn Records) -> Result<()>,
) -> Result<()> {
    let (give, jobs) = crossbeam_channel::unbounded();
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..means.threads {
            let (jobs, stopped) = (jobs.clone(), &stopped);
            scope.spawn(move || {
                for job in jobs {
                    work(job, style, stopped);
                }
            });
        }
        let mut spread = Spread {
            out,
            style,
            means,
            warnings,
            give,
            noted: Vec::new(),
            noted_cost: 0,
            pending: VecDeque::new(),
            pending_cost: 0,
            failed: false,
        };
        let driven = drive(&mut spread);
        let settled = spread.settle();
        stopped.store(true, Ordering::Relaxed);
        settled.and(driven)
    })
}

struct Spread<'s> {
    out: &'s mut dyn Write,
    style: Style<'s>,
    means: Means,
    warnings: &'s mut Vec<Warning>,
    give: Sender<Job>,
    /// Records that no worker has got yet.
    noted: Vec<Record>,
    noted_cost: u64,
    /// Batches that are not written yet, in order.
    pending: VecDeque<Pending>,
    pending_cost: u64,
    /// After an error nothing more is written.
    failed: bool,
}

/// A record to print.
enum Record {
    Delete {
        path: FsPath,
        for_a_copy: bool,
    },
    Node {
        path: FsPath,
        action: Action,
        node: Node,
        compared: Option<Node>,
        copyfrom: Option<(Revnum, FsPath)>,
    },
}

/// A batch for a worker.
struct Job {
    batch: Arc<[Record]>,
    cost: u64,
    done: Sender<Piece>,
}

/// A batch whose turn will come.
struct Pending {
    batch: Arc<[Record]>,
    cost: u64,
    /// None if the batch is not to be printed into memory.
    piece: Option<Receiver<Piece>>,
}

impl Spread<'_> {
    fn note(&mut self, record: Record, cost: u64) -> Result<()> {
        if cost > self.means.longest {
            self.submit();
            self.pending.push_back(Pending {
                batch: Arc::new([record]),
                cost: RECORD_COST,
                piece: None,
            });
            self.pending_cost += RECORD_COST;
        } else {
            self.noted.push(record);
            self.noted_cost += cost;
            if self.noted_cost >= self.means.longest / BATCHES {
                self.submit();
            }
        }
        self.write_ready()
    }

    /// Gives what is noted to the workers.
    fn submit(&mut self) {
        if self.noted.is_empty() {
            return;
        }
        let batch: Arc<[Record]> = std::mem::take(&mut self.noted).into();
        let cost = std::mem::take(&mut self.noted_cost);
        let (done, piece) = crossbeam_channel::bounded(1);
        let job = Job {
            batch: batch.clone(),
            cost,
            done,
        };
        // The workers live as long as we do; had they panicked, the piece would be missed below.
        drop(self.give.send(job));
        self.pending_cost += cost;
        self.pending.push_back(Pending {
            batch,
            cost,
            piece: Some(piece),
        });
    }

    /// Writes the first batches as far as they are there, or as far as there are too many.
    fn write_ready(&mut self) -> Result<()> {
        while let Some(first) = self.pending.front() {
            let is_ready = first.piece.as_ref().is_some_and(|piece| !piece.is_empty());
            if !is_ready && self.pending_cost < self.means.budget {
                break;
            }
            self.write_first()?;
        }
        Ok(())
    }

    /// Writes all that was noted.
    fn settle(&mut self) -> Result<()> {
        if self.failed {
            return Ok(());
        }
        self.submit();
        while !self.pending.is_empty() {
            self.write_first()?;
        }
        Ok(())
    }

    fn write_first(&mut self) -> Result<()> {
        let Some(first) = self.pending.pop_front() else {
            return Ok(());
        };
        self.pending_cost -= first.cost;
        let written = self.style.cancel.check().and_then(|()| self.write(&first));
        self.failed = written.is_err();
        written
    }

    fn write(&mut self, batch: &Pending) -> Result<()> {
        if let Some(piece) = &batch.piece {
            let piece = piece
                .recv()
                .map_err(|_| Error::new(Code::ASSERTION_FAIL, "A thread of the dump is gone"))?;
            if !matches!(piece.ended, Ended::TooLarge) {
                self.out.write_all(&piece.bytes).map_err(|e| write_error(&e))?;
                self.warnings.extend(piece.warnings);
                return match piece.ended {
                    Ended::Failed(error) => Err(error),
                    Ended::Well | Ended::TooLarge => Ok(()),
                };
            }
        }
        let mut printer = Printer::new(self.out, self.style, u64::MAX);
        let printed = print_batch(&batch.batch, &mut printer);
        self.warnings.append(&mut printer.warnings);
        printed
    }
}

impl Records for Spread<'_> {
    fn delete(&mut self, path: &FsPath, for_a_copy: bool) -> Result<()> {
        let path = path.clone();
        self.note(Record::Delete { path, for_a_copy }, RECORD_COST)
    }

    fn node(&mut self, change: &Change<'_>) -> Result<()> {
        let has_new_text = change.node.has_text()
            && (change.compared).is_none_or(|compared| compared.text_key() != change.node.text_key());
        // An error is the printing's to tell.
        let size = if has_new_text {
            change.node.size().unwrap_or(0)
        } else {
            0
        };
        let record = Record::Node {
            path: change.path.clone(),
            action: change.action,
            node: change.node.clone(),
            compared: change.compared.cloned(),
            copyfrom: change.copyfrom.map(|(rev, path)| (rev, path.clone())),
        };
        self.note(record, size.saturating_add(RECORD_COST))
    }
}

fn work(job: Job, style: Style<'_>, stopped: &AtomicBool) {
    if stopped.load(Ordering::Relaxed) {
        return;
    }
    let limit = job.cost.saturating_mul(2);
    let expected = if style.deltas { 0 } else { job.cost };
    let piece = Piece::make(style, expected, limit, |printer| print_batch(&job.batch, printer));
    // Nobody waits if the dump has failed.
    drop(job.done.send(piece));
}

fn print_batch(batch: &[Record], printer: &mut Printer<'_>) -> Result<()> {
    batch.iter().try_for_each(|record| match record {
        Record::Delete { path, for_a_copy } => printer.delete(path, *for_a_copy),
        Record::Node {
            path,
            action,
            node,
            compared,
            copyfrom,
        } => printer.node(&Change {
            path,
            action: *action,
            node,
            compared: compared.as_ref(),
            copyfrom: copyfrom.as_ref().map(|(rev, path)| (*rev, path)),
        }),
    })
}

/// Batches that make up what one revision may take.
const BATCHES: u64 = 8;

/// What a record is expected to take beside its text: headers and properties, and the record as it is noted.
const RECORD_COST: u64 = 1024;
