//! Statistics about the use of disk space: `svnfsfs stats`.
//!
//! Every revision is read once: its node-revisions, its changed-path list and the header of each representation that it stored,
//! but no content. All cores read; one thread adds up, in the order of the files. The order matters: the first use of a
//! representation determines its kind. The oddities are the incumbent's (see [`gather`]), so that figures of different years can
//! be compared.

pub mod fsx;
mod fsx_report;
mod gather;
mod report;

use std::collections::HashMap;
use std::ops::Range;

use base::ordered::{Limits, cores, in_order};
use base::{Cancel, NodeKind, Result, Revnum};

use self::gather::{FileFigures, NodeFigures};
use crate::format::rep_header::RepHeader;
use crate::tree::Fs;

/// All figures of `svnfsfs stats`. `Display` prints them as the incumbent does, without the progress lines.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Bytes of all revisions.
    pub total: u64,
    /// Number of revisions.
    pub revisions: u64,
    /// Changed-path lists.
    pub changes: Total,
    /// Node-revisions of directories.
    pub dir_nodes: Total,
    /// Node-revisions of files.
    pub file_nodes: Total,
    /// Representations by the kind of their first use, in the order of [`RepKind`].
    pub reps: [RepStats; 4],
    /// Representations that were stored for nodes without a predecessor.
    pub added: Total,
    /// Bytes of headers and end lines of representations.
    pub overhead: u64,
    /// Sizes of contents, and of what is stored of them.
    pub sizes: Histograms,
    /// The largest representations, the largest first.
    pub largest: Vec<LargeRep>,
    /// Sizes of files by the extension of their name (`None`: without one).
    pub extensions: Vec<(Option<String>, Histograms)>,
}

/// A number of items and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Number of items.
    pub count: u64,
    /// Bytes of all items.
    pub bytes: u64,
}

impl Total {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// The kind of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepKind {
    /// A directory's entries.
    Dir,
    /// A file's text.
    File,
    /// A directory's properties.
    DirProps,
    /// A file's properties.
    FileProps,
}

/// Representations of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepStats {
    /// All of them.
    pub all: Total,
    /// Those that several node-revisions use.
    pub shared: Total,
    /// Bytes of their contents.
    pub expanded: u64,
    /// Bytes of the contents of the shared ones.
    pub expanded_shared: u64,
    /// Bytes of their contents if nothing were shared.
    pub unshared: u64,
    /// Uses of shared ones beyond the first.
    pub references: u64,
    /// Sum of the lengths of all delta chains.
    pub chain_lengths: u64,
    /// Sizes of their contents, and of what is stored of them.
    pub sizes: Histograms,
}

/// Sizes of contents and of their representations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histograms {
    /// Of contents.
    pub expanded: Histogram,
    /// Of representations.
    pub stored: Histogram,
}

impl Histograms {
    fn add(&mut self, expanded: u64, stored: u64) {
        self.expanded.add(expanded);
        self.stored.add(stored);
    }
}

/// Numbers of items by size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// All.
    pub total: Total,
    /// Items of 2^(n-1) to 2^n - 1 bytes; the first line is for 0 bytes.
    pub lines: [Total; 65],
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            total: Total::default(),
            lines: [Total::default(); 65],
        }
    }
}

impl Histogram {
    fn add(&mut self, size: u64) {
        self.total.add(size);
        self.lines[(u64::BITS - size.leading_zeros()) as usize].add(size);
    }
}

/// One of the largest representations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeRep {
    /// Stored bytes.
    pub size: u64,
    /// The revision that stored it.
    pub rev: Revnum,
    /// The path of the node that used it first.
    pub path: String,
}

/// Reads everything and counts. `progress` is called for the first revision of each shard as it is reached.
///
/// # Errors
/// `CANCELLED`; those of reading.
pub fn run(fs: &Fs, progress: &mut dyn FnMut(Revnum), cancel: &Cancel) -> Result<Stats> {
    fs.refuse_fsx("statistics")?;
    let youngest = fs.youngest()?;
    fs.refresh_min_unpacked_rev()?;
    let mut builder = StatsBuilder::default();
    builder.stats.revisions = youngest.0 + 1;
    let threads = cores();
    let limits = Limits {
        tasks: 4 * threads,
        bytes: usize::MAX,
    };
    let read = |revs: Range<u64>| {
        let read = (cancel.check())
            .and_then(|()| gather::read(fs, revs.clone(), cancel))
            .map(|found| (revs, found));
        (read, 0)
    };
    in_order(threads, limits, gather::jobs(fs, youngest), read, |read| {
        let (revs, found) = read?;
        let size = match fs.format().shard_size {
            0 => LINEAR_STEP,
            size => size,
        };
        let starts = revs.filter(|rev| rev % size == 0);
        starts.map(Revnum).for_each(&mut *progress);
        builder.add(fs, found)
    })?;
    Ok(builder.finish())
}

/// Revisions between two calls of `progress` in a linear layout.
const LINEAR_STEP: u64 = 1000;

/// A representation and its uses.
struct RepUsage {
    kind: RepKind,
    size: u64,
    expanded: u64,
    uses: u64,
    base: Option<(u64, u64)>,
    /// Length of its delta chain; 0 if it is not computed yet.
    chain: u64,
}

#[derive(Default)]
struct StatsBuilder {
    stats: Stats,
    reps: HashMap<(u64, u64), RepUsage>,
    extensions: HashMap<Option<String>, Histograms>,
}

impl StatsBuilder {
    fn add(&mut self, fs: &Fs, figures: FileFigures) -> Result<()> {
        self.stats.total += figures.total;
        self.stats.changes.count += figures.changes.count;
        self.stats.changes.bytes += figures.changes.bytes;
        for node in figures.nodes {
            let is_dir = node.kind == NodeKind::Dir;
            match is_dir {
                true => self.stats.dir_nodes.add(node.bytes),
                false => self.stats.file_nodes.add(node.bytes),
            }
            let (text, props) = match is_dir {
                true => (RepKind::Dir, RepKind::DirProps),
                false => (RepKind::File, RepKind::FileProps),
            };
            for (at, kind) in [text, props].into_iter().enumerate() {
                self.add_rep(fs, &node, at, kind, &figures.headers)?;
            }
        }
        Ok(())
    }

    fn add_rep(
        &mut self,
        fs: &Fs,
        node: &NodeFigures,
        at: usize,
        kind: RepKind,
        headers: &HashMap<(u64, u64), RepHeader>,
    ) -> Result<()> {
        let Some((location, rep)) = &node.reps[at] else {
            return Ok(());
        };
        if let Some(known) = self.reps.get_mut(location) {
            known.uses += 1;
            return Ok(());
        }
        let header = match headers.get(location) {
            Some(header) => *header,
            // Stored in an older file, but first used here.
            None => fs.rep_header(rep, None)?,
        };
        let (base, header_bytes) = match header {
            RepHeader::Plain | RepHeader::SelfDelta => (None, PLAIN_HEADER_LEN),
            RepHeader::Delta { rev, item, length } => (
                Some((rev.0, item)),
                format!("DELTA {rev} {item} {length}\n").len() as u64,
            ),
        };
        let (size, expanded) = (rep.length, gather::expanded(rep, header));
        self.stats.overhead += header_bytes + TRAILER_LEN;
        self.stats.sizes.add(expanded, size);
        self.stats.reps[kind as usize].sizes.add(expanded, size);
        if kind == RepKind::File {
            let extension = extension(&node.path).map(str::to_owned);
            self.extensions.entry(extension).or_default().add(expanded, size);
        }
        if node.is_added {
            self.stats.added.add(size);
        }
        self.add_large(size, Revnum(location.0), &node.path);
        self.reps.insert(
            *location,
            RepUsage {
                kind,
                size,
                expanded,
                uses: 1,
                base,
                chain: 0,
            },
        );
        Ok(())
    }

    /// Among equal sizes, a new one replaces the last.
    fn add_large(&mut self, size: u64, rev: Revnum, path: &str) {
        let largest = &mut self.stats.largest;
        if largest.len() == MAX_LARGEST {
            if largest.last().is_some_and(|last| size < last.size) {
                return;
            }
            largest.pop();
        }
        let at = largest.partition_point(|large| large.size >= size);
        let path = path.to_owned();
        largest.insert(at, LargeRep { size, rev, path });
    }

    fn finish(mut self) -> Stats {
        let locations: Vec<(u64, u64)> = self.reps.keys().copied().collect();
        for location in locations {
            let chain = self.chain(location);
            let Some(rep) = self.reps.get(&location) else {
                continue;
            };
            let of_kind = &mut self.stats.reps[rep.kind as usize];
            of_kind.all.add(rep.size);
            of_kind.expanded += rep.expanded;
            of_kind.unshared = of_kind
                .unshared
                .saturating_add(rep.expanded.saturating_mul(rep.uses));
            of_kind.chain_lengths += chain;
            if rep.uses > 1 {
                of_kind.shared.add(rep.size);
                of_kind.expanded_shared += rep.expanded;
                of_kind.references += rep.uses - 1;
            }
        }
        self.stats.extensions = self.extensions.into_iter().collect();
        self.stats.extensions.sort_by(|a, b| a.0.cmp(&b.0));
        self.stats
    }

    /// Returns the length of a delta chain, and stores it for all of its members.
    fn chain(&mut self, location: (u64, u64)) -> u64 {
        let (mut passed, mut at, mut length) = (Vec::new(), Some(location), 0);
        while let Some(here) = at {
            match self.reps.get(&here) {
                Some(rep) if rep.chain > 0 => {
                    length = rep.chain;
                    break;
                }
                // A damaged chain may be circular; no other is as long as this.
                Some(rep) if passed.len() <= self.reps.len() => at = rep.base,
                // Stored, but not used.
                _ => at = None,
            }
            passed.push(here);
        }
        for here in passed.into_iter().rev() {
            length += 1;
            if let Some(rep) = self.reps.get_mut(&here) {
                rep.chain = length;
            }
        }
        length
    }
}

/// Number of the largest representations that are kept.
const MAX_LARGEST: usize = 64;

/// Length of `PLAIN\n` and `DELTA\n`, and of `ENDREP\n`, bytes.
const PLAIN_HEADER_LEN: u64 = 6;
const TRAILER_LEN: u64 = 7;

/// Returns the extension of a file's name: from the last dot on, unless that is the first character.
fn extension(path: &str) -> Option<&str> {
    let name = &path[path.rfind('/').map_or(0, |at| at + 1)..];
    name.rfind('.').filter(|&at| at > 0).map(|at| &name[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_the_real_tools() {
        for (path, expected) in [
            ("/a/.profile", None),
            ("/a.b/none", None),
            ("/foo.", Some(".")),
            ("/x.tar.gz", Some(".gz")),
            ("/..x", Some(".x")),
            ("/sp ace.t t", Some(".t t")),
        ] {
            assert_eq!(extension(path), expected, "{path}");
        }
    }

    #[test]
    fn the_largest_are_kept_in_order() {
        let mut builder = StatsBuilder::default();
        for rev in 0..200 {
            builder.add_large(rev % 70, Revnum(rev), "/");
        }
        let largest = &builder.stats.largest;
        assert_eq!(largest.len(), MAX_LARGEST);
        assert!(largest.windows(2).all(|pair| pair[0].size >= pair[1].size));
        let firsts: Vec<_> = largest[..3]
            .iter()
            .map(|large| (large.size, large.rev.0))
            .collect();
        assert_eq!(firsts, [(69, 69), (69, 139), (68, 68)]);
    }
}
