//! Composition: one window with the effect of two in sequence.
//!
//! `first` makes X from a base, `second` makes Y from X; the result makes Y from the base, and X is never made. Bytes
//! that `second` inserts or copies from Y stay. Bytes that it copies from X are replaced by the instructions of
//! `first` that make them. A copy inside X stays a copy if the bytes that it copies are in the same range (so a
//! repeated pattern stays one instruction); bytes before the range are traced back to base and new data.

use crate::svndiff::SvndiffError;
use crate::window::{Op, Window};

/// Composes two windows. `second`'s source view is what `first` makes, or the beginning of that. The result has the
/// source view of `first`.
///
/// # Errors
/// What [`Window::validate`] says of either, and E185003 if the views do not fit.
pub fn compose(first: &Window, second: &Window) -> Result<Window, SvndiffError> {
    first.validate()?;
    second.validate()?;
    if second.source_len > first.target_len {
        return Err(SvndiffError::SourceOverflow(0));
    }
    let mut composer = Composer {
        first: Layout::of(first),
        made: 0,
        out: Window {
            source_offset: first.source_offset,
            source_len: first.source_len,
            target_len: second.target_len,
            ..Window::default()
        },
    };
    let mut new_data = &second.new_data[..];
    for op in &second.ops {
        match *op {
            Op::Source { offset, len } => composer.piece(offset, len),
            Op::Target { .. } => composer.push(*op),
            Op::New { len } => {
                let (bytes, rest) = new_data.split_at(len as usize);
                composer.insert(bytes);
                new_data = rest;
            }
        }
    }
    Ok(composer.out)
}

struct Composer<'a> {
    first: Layout<'a>,
    /// Bytes of Y that `out` makes so far.
    made: u32,
    out: Window,
}

impl Composer<'_> {
    /// Appends instructions that make X[start, start + len).
    fn piece(&mut self, start: u32, len: u32) {
        let end = start + len;
        let piece_in_y = self.made;
        let mut at = start;
        for number in self.first.op_at(start).. {
            if at == end {
                break;
            }
            let (op_start, op) = self.first.op(number);
            let stop = end.min(op_start + op.len());
            let (skip, len) = (at - op_start, stop - at);
            match op {
                Op::Source { offset, .. } => self.push(Op::Source {
                    offset: offset + skip,
                    len,
                }),
                Op::New { .. } => self.insert_from_first(number, skip, len),
                Op::Target { offset, .. } => {
                    let from = offset + skip;
                    let before = start.saturating_sub(from).min(len);
                    self.trace(from, before);
                    if before < len {
                        self.push(Op::Target {
                            offset: piece_in_y + (from + before - start),
                            len: len - before,
                        });
                    }
                }
            }
            at = stop;
        }
    }

    /// Appends instructions that make X[from, from + len) from base and new data only.
    fn trace(&mut self, from: u32, len: u32) {
        if len == 0 {
            return;
        }
        let roots = self.first.roots();
        let first = roots.partition_point(|root| root.start <= from) - 1;
        let mut at = from;
        let mut emit = Vec::new();
        for (root, next) in roots[first..]
            .iter()
            .zip(roots[first + 1..].iter().map(|root| root.start).chain([u32::MAX]))
        {
            let stop = next.min(from + len);
            emit.push((root.what, at - root.start, stop - at));
            at = stop;
            if at == from + len {
                break;
            }
        }
        for (what, skip, len) in emit {
            match what {
                SegmentSource::Base(offset) => self.push(Op::Source {
                    offset: offset + skip,
                    len,
                }),
                SegmentSource::New(place) => {
                    let place = (place + skip) as usize;
                    let window = self.first.window;
                    self.insert(&window.new_data[place..place + len as usize]);
                }
            }
        }
    }

    fn insert_from_first(&mut self, number: usize, skip: u32, len: u32) {
        let place = (self.first.new_data[number] + skip) as usize;
        let window = self.first.window;
        self.insert(&window.new_data[place..place + len as usize]);
    }

    fn insert(&mut self, bytes: &[u8]) {
        self.out.new_data.extend_from_slice(bytes);
        self.push(Op::New {
            len: bytes.len() as u32,
        });
    }

    fn push(&mut self, op: Op) {
        self.made += op.len();
        self.out.push_op(op);
    }
}

/// The position at which each instruction of a window writes, and the position of an insertion's bytes.
struct Layout<'a> {
    window: &'a Window,
    starts: Vec<u32>,
    new_data: Vec<u32>,
    /// Made on first use: windows without copies of their own target never need it.
    roots: Option<Vec<Root>>,
}

/// A run of target bytes, traced back to its source.
#[derive(Clone, Copy)]
struct Root {
    start: u32,
    what: SegmentSource,
}

#[derive(Clone, Copy)]
enum SegmentSource {
    /// The source view, from this offset on.
    Base(u32),
    /// The new data, from this offset on.
    New(u32),
}

impl SegmentSource {
    fn skip(self, bytes: u32) -> Self {
        match self {
            SegmentSource::Base(offset) => SegmentSource::Base(offset + bytes),
            SegmentSource::New(offset) => SegmentSource::New(offset + bytes),
        }
    }
}

impl<'a> Layout<'a> {
    fn of(window: &'a Window) -> Self {
        let (mut at, mut taken) = (0, 0);
        let mut starts = Vec::with_capacity(window.ops.len());
        let mut new_data = Vec::with_capacity(window.ops.len());
        for op in &window.ops {
            starts.push(at);
            new_data.push(taken);
            at += op.len();
            if let Op::New { len } = op {
                taken += len;
            }
        }
        Layout {
            window,
            starts,
            new_data,
            roots: None,
        }
    }

    /// Returns the instruction that makes the byte at `position`.
    fn op_at(&self, position: u32) -> usize {
        self.starts.partition_point(|start| *start <= position) - 1
    }

    fn op(&self, number: usize) -> (u32, Op) {
        (self.starts[number], self.window.ops[number])
    }

    /// Returns the runs of the target, in order; none is a copy from the target. There are at most as many as bytes.
    fn roots(&mut self) -> &[Root] {
        if self.roots.is_none() {
            self.roots = Some(self.trace_all());
        }
        self.roots.as_deref().unwrap_or_default()
    }

    fn trace_all(&self) -> Vec<Root> {
        let mut roots: Vec<Root> = Vec::new();
        for (number, op) in self.window.ops.iter().enumerate() {
            let start = self.starts[number];
            match *op {
                Op::Source { offset, .. } => roots.push(Root {
                    start,
                    what: SegmentSource::Base(offset),
                }),
                Op::New { .. } => roots.push(Root {
                    start,
                    what: SegmentSource::New(self.new_data[number]),
                }),
                Op::Target { offset, len } => {
                    let mut from = roots.partition_point(|root| root.start <= offset) - 1;
                    let (mut at, mut read) = (start, offset);
                    while at < start + len {
                        // Copies of runs that were just made may be copied again: so patterns repeat.
                        let run = roots[from];
                        let run_end = roots.get(from + 1).map_or(at, |next| next.start);
                        let stop = (start + len).min(at + (run_end - read));
                        roots.push(Root {
                            start: at,
                            what: run.what.skip(read - run.start),
                        });
                        read += stop - at;
                        at = stop;
                        from += 1;
                    }
                }
            }
        }
        roots
    }
}
