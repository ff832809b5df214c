//! What is told of the revisions of a file, made ready by other threads.
//!
//! All places are known before the first is told, and each depends on nothing but the one before it. So runs of
//! neighbours become pieces of a [`PrefetchQueue`]: a run, because neighbours share texts. What could not be made ready, because it
//! fails or is too long, is not there; the conversation then does it itself, and fails where it would have failed.

use std::sync::Arc;

use base::props::{self, PropChange};
use base::{PropList, Props, Result};
use delta::editor::{EncodedVersions, TextChunk};
use delta::svndiff::KeptWindow;
use delta::window::Window;
use fsfs::{Fs, Node};

use super::Place;
use crate::prefetch::PrefetchQueue;

/// How one place differs from the one told before.
pub(super) struct Step {
    pub revprops: PropList,
    pub prop_changes: Vec<PropChange>,
    /// A text delta follows.
    pub has_delta: bool,
}

impl Step {
    /// Compares `node`, which is at `place`, with the one told before.
    pub fn between(
        previous: Option<&Node>,
        place: &Place,
        node: &Node,
        include_merged: bool,
    ) -> Result<Step> {
        let own = node.props()?;
        let prop_changes = match previous {
            Some(previous) => props::diff(&*previous.props()?, &own),
            None => props::diff(&Props::new(), &own),
        };
        let has_delta = match previous {
            None => true,
            Some(previous) if include_merged && previous.path() != node.path() => true,
            Some(previous) => previous.text_differs(node, true)?,
        };
        Ok(Step {
            revprops: node.fs().revprops(place.rev)?,
            prop_changes,
            has_delta,
        })
    }
}

/// A step with all windows of its delta.
pub(super) struct Ready {
    pub step: Step,
    pub windows: Vec<Kept>,
}

/// A window that waits for its turn.
pub(super) enum Kept {
    Decoded(Window),
    Encoded(KeptWindow),
}

impl Kept {
    fn of(chunk: TextChunk<'_>) -> Self {
        match chunk {
            TextChunk::Decoded(window) => Kept::Decoded(window.clone()),
            TextChunk::Encoded(window) => Kept::Encoded(KeptWindow::new(window.version, window.raw)),
        }
    }

    fn size(&self) -> usize {
        match self {
            Kept::Decoded(window) => window.new_data.len() + size_of_val(&window.ops[..]),
            Kept::Encoded(window) => window.len(),
        }
    }

    /// Hands the window over.
    pub fn tell(&self, sink: &mut dyn super::Sink) -> Result<()> {
        match self {
            Kept::Decoded(window) => sink.text_chunk(TextChunk::Decoded(window)),
            Kept::Encoded(window) => sink.text_chunk(TextChunk::Encoded(&window.window()?)),
        }
    }
}

/// Steps that are made ahead, in order.
pub(super) struct Steps {
    queue: PrefetchQueue<Vec<Option<Ready>>>,
    fs: Fs,
    places: Arc<[Place]>,
    include_merged: bool,
    accepts: EncodedVersions,
    /// Places that are in the line, or were.
    begun: usize,
    /// The rest of the run whose turn it is.
    run: std::vec::IntoIter<Option<Ready>>,
}

/// Places of a run.
const RUN: usize = 8;

/// Shorter histories are told as they come.
const SHORT: usize = 2 * RUN;

/// Longer texts, and what is beyond so much in a run, are not made ready, bytes.
const LONGEST: usize = 1 << 20;

impl Steps {
    /// Begins with the first place. `None` where nothing is gained by it.
    pub fn ahead(
        fs: &Fs,
        places: &Arc<[Place]>,
        include_merged: bool,
        accepts: EncodedVersions,
    ) -> Option<Self> {
        if places.len() < SHORT {
            return None;
        }
        Some(Steps {
            queue: PrefetchQueue::new()?,
            fs: fs.clone(),
            places: places.clone(),
            include_merged,
            accepts,
            begun: 0,
            run: Vec::new().into_iter(),
        })
    }

    /// What is ready of the next place, if it is.
    ///
    /// # Errors
    /// `ASSERTION_FAIL` if making it ready panicked.
    pub fn next(&mut self) -> Result<Option<Ready>> {
        if let Some(next) = self.run.next() {
            return Ok(next);
        }
        while self.begun < self.places.len() && self.queue.has_room() {
            let run = self.begun..self.places.len().min(self.begun + RUN);
            self.begun = run.end;
            let (fs, places) = (self.fs.clone(), self.places.clone());
            let (include_merged, accepts) = (self.include_merged, self.accepts);
            self.queue.push(move || {
                let mut size = 0;
                let mut made = Vec::with_capacity(run.len());
                let mut previous = run.start.checked_sub(1).and_then(|at| places[at].node(&fs).ok());
                for at in run {
                    let node = places[at].node(&fs).ok();
                    let ready = match &node {
                        Some(node) if at == 0 || previous.is_some() => {
                            let pair = (previous.as_ref(), node);
                            make(&fs, &places[at], pair, include_merged, accepts, &mut size)
                                .ok()
                                .flatten()
                        }
                        Some(_) | None => None,
                    };
                    made.push(ready);
                    previous = node;
                }
                (made, size)
            });
        }
        self.run = self.queue.take().transpose()?.unwrap_or_default().into_iter();
        Ok(self.run.next().flatten())
    }
}

/// Makes a step ready, unless it is too long; adds what it holds to `size`.
fn make(
    fs: &Fs,
    place: &Place,
    (previous, node): (Option<&Node>, &Node),
    include_merged: bool,
    accepts: EncodedVersions,
    size: &mut usize,
) -> Result<Option<Ready>> {
    if node.size()? > LONGEST as u64 || *size > LONGEST {
        return Ok(None);
    }
    let step = Step::between(previous, place, node, include_merged)?;
    let mut windows = Vec::new();
    if step.has_delta {
        fs.text_delta(previous, node, accepts)?.drive(&mut |chunk| {
            windows.push(Kept::of(chunk));
            Ok(())
        })?;
    }
    *size += FIXED + windows.iter().map(Kept::size).sum::<usize>();
    Ok(Some(Ready { step, windows }))
}

/// What a step takes beside its windows, bytes, roughly.
const FIXED: usize = 1 << 10;
