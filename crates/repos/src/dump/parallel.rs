//! Prints one large revision with several threads.
//!
//! The replay runs on the caller's thread, which only notes the records: the lookups are quick. Batches of records are
//! printed into memory by tasks of an [`OrderedQueue`], and the caller writes them in order as soon as they are printed, or
//! when too much waits. What waits is bounded by the bytes that the records are expected to take. The caller prints two kinds
//! of batches straight into the output when their turn comes: those that take much more than expected, and those with a
//! long text.

use std::collections::VecDeque;
use std::io::Write;
use std::panic::resume_unwind;
use std::sync::Arc;

use base::ordered::{Limits, OrderedQueue, ThreadPool};
use base::{FsPath, Result, Revnum};
use fsfs::Node;

use crate::dump::memory::RecordBuffer;
use crate::dump::printed::{PrintEnd, PrintLimits, PrintedRecords};
use crate::dump::record::{NodeRecord, Output, Printer, RecordStyle, Records, Scratch};
use crate::dump::{Warning, write_error};
use crate::dumpfile::NodeAction;

/// How much memory the records of one revision may take.
#[derive(Clone, Copy)]
pub(super) struct MemoryLimits {
    /// Texts longer than this many bytes are not printed into memory.
    pub text: u64,
    /// Bytes of noted and printed records that may wait to be written.
    pub waiting: u64,
}

/// Prints the records that `drive` makes to `out`, with the threads of `pool`. The bytes are those that one [`Printer`]
/// alone would print.
///
/// # Errors
/// The first in the order of the records, from printing or from `drive`; everything before it was written. `CANCELLED`.
pub(super) fn print<'w>(
    out: &mut dyn Write,
    pool: &ThreadPool<'w>,
    style: RecordStyle<'w>,
    limits: MemoryLimits,
    warnings: &mut Vec<Warning>,
    drive: impl FnOnce(&mut dyn Records) -> Result<()>,
) -> Result<()> {
    let mut printer = ParallelPrinter {
        out,
        style,
        limits,
        warnings,
        scratch: Scratch::default(),
        queue: OrderedQueue::urgent(pool, NO_LIMITS),
        noted: Vec::new(),
        noted_cost: 0,
        pending: VecDeque::new(),
        pending_cost: 0,
        failed: false,
    };
    let driven = drive(&mut printer);
    let finished = printer.finish();
    finished.and(driven)
}

/// A batch's records in a buffer of their own.
type PrintedBatch = (RecordBuffer, PrintedRecords);

/// Notes records and prints them in batches.
struct ParallelPrinter<'s, 'w> {
    out: &'s mut dyn Write,
    style: RecordStyle<'w>,
    limits: MemoryLimits,
    warnings: &'s mut Vec<Warning>,
    scratch: Scratch,
    /// The batches of `pending` that are printed into memory.
    queue: OrderedQueue<'w, PrintedBatch>,
    /// Records that are in no batch yet.
    noted: Vec<NotedRecord>,
    noted_cost: u64,
    /// Batches that are not written yet, in order.
    pending: VecDeque<PendingBatch>,
    pending_cost: u64,
    /// After an error nothing more is written.
    failed: bool,
}

/// A record to print.
enum NotedRecord {
    Delete {
        path: FsPath,
        for_a_copy: bool,
    },
    Node {
        path: FsPath,
        action: NodeAction,
        node: Node,
        compared: Option<Node>,
        copyfrom: Option<(Revnum, FsPath)>,
    },
}

/// A batch that is not written yet.
struct PendingBatch {
    batch: Arc<[NotedRecord]>,
    /// The bytes that it is expected to take.
    cost: u64,
    /// The queue prints it into memory. Otherwise it is printed straight into the output.
    is_queued: bool,
}

impl ParallelPrinter<'_, '_> {
    fn note(&mut self, record: NotedRecord, cost: u64) -> Result<()> {
        if cost > self.limits.text {
            self.submit();
            self.pending.push_back(PendingBatch {
                batch: Arc::new([record]),
                cost: RECORD_COST,
                is_queued: false,
            });
            self.pending_cost += RECORD_COST;
        } else {
            self.noted.push(record);
            self.noted_cost += cost;
            if self.noted_cost >= self.limits.text / BATCHES {
                self.submit();
            }
        }
        self.write_ready()
    }

    /// Makes a batch of the noted records and queues it.
    fn submit(&mut self) {
        if self.noted.is_empty() {
            return;
        }
        let batch: Arc<[NotedRecord]> = std::mem::take(&mut self.noted).into();
        let cost = std::mem::take(&mut self.noted_cost);
        let (style, queued) = (self.style, batch.clone());
        self.queue
            .push(move || (print_to_memory(&queued, cost, style), 0));
        self.pending_cost += cost;
        self.pending.push_back(PendingBatch {
            batch,
            cost,
            is_queued: true,
        });
    }

    /// Writes the first batches while they are printed already, or while too much waits.
    fn write_ready(&mut self) -> Result<()> {
        while let Some(first) = self.pending.front() {
            let is_ready = first.is_queued && self.queue.is_first_done();
            if !is_ready && self.pending_cost < self.limits.waiting {
                break;
            }
            self.write_first()?;
        }
        Ok(())
    }

    /// Writes everything that was noted.
    fn finish(&mut self) -> Result<()> {
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

    fn write(&mut self, batch: &PendingBatch) -> Result<()> {
        if batch.is_queued
            && let Some(printed) = self.queue.take()
        {
            let (buffer, printed) = printed.unwrap_or_else(|panic| resume_unwind(panic));
            if !matches!(printed.ended, PrintEnd::TooLarge) {
                let written = buffer.write_to(&printed.records, self.out);
                written.map_err(|e| write_error(&e))?;
                self.warnings.extend(printed.warnings);
                return match printed.ended {
                    PrintEnd::Failed(error) => Err(error),
                    PrintEnd::Well | PrintEnd::TooLarge => Ok(()),
                };
            }
        }
        let output = Output::Stream(&mut *self.out);
        let mut printer = Printer::new(output, self.style, &mut self.scratch);
        let printed = print_batch(&batch.batch, &mut printer);
        self.warnings.append(&mut printer.warnings);
        printed
    }
}

impl Records for ParallelPrinter<'_, '_> {
    fn delete(&mut self, path: &FsPath, for_a_copy: bool) -> Result<()> {
        let path = path.clone();
        self.note(NotedRecord::Delete { path, for_a_copy }, RECORD_COST)
    }

    fn node(&mut self, change: &NodeRecord<'_>) -> Result<()> {
        let has_new_text = change.node.has_text()
            && (change.compared).is_none_or(|compared| compared.text_key() != change.node.text_key());
        // An error is reported when the record is printed.
        let size = if has_new_text {
            change.node.size().unwrap_or(0)
        } else {
            0
        };
        let record = NotedRecord::Node {
            path: change.path.clone(),
            action: change.action,
            node: change.node.clone(),
            compared: change.compared.cloned(),
            copyfrom: change.copyfrom.map(|(rev, path)| (rev, path.clone())),
        };
        self.note(record, size.saturating_add(RECORD_COST))
    }
}

/// Prints a batch into memory. One that takes much more than its `cost` is given up: see [`PrintEnd::TooLarge`].
fn print_to_memory(batch: &[NotedRecord], cost: u64, style: RecordStyle<'_>) -> PrintedBatch {
    let limits = PrintLimits {
        style,
        bytes: cost.saturating_mul(2),
        defer_checks: false,
    };
    let mut buffer = RecordBuffer::default();
    let print = |printer: &mut Printer<'_>| print_batch(batch, printer);
    let printed = PrintedRecords::make(limits, &mut buffer, &mut Scratch::default(), print);
    (buffer, printed)
}

fn print_batch(batch: &[NotedRecord], printer: &mut Printer<'_>) -> Result<()> {
    batch.iter().try_for_each(|record| match record {
        NotedRecord::Delete { path, for_a_copy } => printer.delete(path, *for_a_copy),
        NotedRecord::Node {
            path,
            action,
            node,
            compared,
            copyfrom,
        } => printer.node(&NodeRecord {
            path,
            action: *action,
            node,
            compared: compared.as_ref(),
            copyfrom: copyfrom.as_ref().map(|(rev, path)| (*rev, path)),
        }),
    })
}

/// What waits is bounded by [`MemoryLimits`] instead.
const NO_LIMITS: Limits = Limits {
    tasks: usize::MAX,
    bytes: usize::MAX,
};

/// Batches that make up what one revision may take.
const BATCHES: u64 = 8;

/// What a record is expected to take beside its text: headers and properties, and the record as it is noted.
const RECORD_COST: u64 = 1024;
