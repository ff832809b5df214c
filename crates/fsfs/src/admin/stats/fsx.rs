//! Statistics about the use of disk space of FSX: `sven fsx stats`.
//!
//! The P2L index of each file says what every byte belongs to. Each node-revision is decoded for the representations that it uses;
//! contents are not read. All cores read; one thread adds up, in the order of the files, so that the first use of a representation
//! determines its kind.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use base::ordered::{Limits, cores, in_order};
use base::{Cancel, Code, Error, NodeKind, Result, Revnum};

use super::gather::jobs;
use super::{Histogram, RepKind, Total};
use crate::format::fsx::p2l::ItemType;
use crate::format::rep_line::{Rep, RepLocation, RepSize};
use crate::tree::Fs;

/// All figures of `sven fsx stats`.
#[derive(Clone, Debug, Default)]
pub struct FsxStats {
    /// Number of revisions.
    pub revisions: u64,
    /// Number of revisions in pack files.
    pub packed: u64,
    /// Files of one revision each.
    pub revision_files: Total,
    /// Pack files.
    pub pack_files: Total,
    /// Bytes of indexes and footers.
    pub indexes: u64,
    /// Bytes of padding.
    pub unused: u64,
    /// Items by their kind, in the order of their numbers: those that are stored alone, and containers.
    pub items: Vec<(FsxItemKind, Total)>,
    /// Items that are in containers, with the bytes of the containers: changed-path lists, node-revisions, representations.
    pub contained: [Total; 3],
    /// Changed paths in all lists.
    pub changed_paths: u64,
    /// Node-revisions of directories and of files.
    pub nodes: [u64; 2],
    /// Representations that node-revisions use, by the kind of the first use, in the order of [`RepKind`].
    pub reps: [FsxRepStats; 4],
}

/// A kind of item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsxItemKind(ItemType);

impl FsxItemKind {
    /// Returns the name for a list, in the plural.
    pub fn name(self) -> &'static str {
        match self.0 {
            ItemType::Unused => "unused ranges",
            ItemType::FileText => "file representations",
            ItemType::DirText => "directory representations",
            ItemType::FileProps => "file property representations",
            ItemType::DirProps => "directory property representations",
            ItemType::NodeRev => "node-revisions",
            ItemType::Changes => "changed-path lists",
            ItemType::ChangesContainer => "containers of changed-path lists",
            ItemType::NodeRevContainer => "containers of node-revisions",
            ItemType::RepContainer => "containers of representations",
        }
    }
}

/// Representations of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsxRepStats {
    /// All of them, with the bytes of their contents.
    pub all: Total,
    /// Those that several node-revisions use, with the bytes of their contents.
    pub shared: Total,
    /// Bytes of the contents that are not stored again because of that.
    pub saved: u64,
    /// Sizes of contents.
    pub sizes: Histogram,
}

/// Checks that a filesystem is one of FSX.
///
/// # Errors
/// `FS_UNSUPPORTED_TYPE` for another back end.
pub fn check(fs: &Fs) -> Result<()> {
    if fs.format().is_fsx() {
        return Ok(());
    }
    let text = format!(
        "The repository is not one of fsx, but of {}",
        fs.format().back_end.name()
    );
    Err(Error::new(Code::FS_UNSUPPORTED_TYPE, text))
}

/// Reads everything and counts. `progress` is called for the first revision of each file as it is reached.
///
/// # Errors
/// `FS_UNSUPPORTED_TYPE` for another back end; `CANCELLED`; those of reading.
pub fn run(fs: &Fs, progress: &mut dyn FnMut(Revnum), cancel: &Cancel) -> Result<FsxStats> {
    check(fs)?;
    let youngest = fs.youngest()?;
    fs.refresh_min_unpacked_rev()?;
    let threads = cores();
    let limits = Limits {
        tasks: 4 * threads,
        bytes: usize::MAX,
    };
    let mut stats = FsxStats {
        revisions: youngest.0 + 1,
        ..FsxStats::default()
    };
    let (mut items, mut reps) = (BTreeMap::new(), HashMap::new());
    let read = |revs: Range<u64>| (read(fs, revs, cancel), 0);
    in_order(threads, limits, jobs(fs, youngest), read, |read| {
        let read = read?;
        progress(read.first);
        stats.add(read, &mut items, &mut reps);
        Ok::<(), Error>(())
    })?;
    stats.items = items
        .into_iter()
        .map(|(kind, total)| (FsxItemKind(kind), total))
        .collect();
    for usage in reps.into_values() {
        let of_kind = &mut stats.reps[usage.kind as usize];
        of_kind.all.add(usage.expanded);
        of_kind.sizes.add(usage.expanded);
        if usage.uses > 1 {
            of_kind.shared.add(usage.expanded);
            of_kind.saved += usage.expanded.saturating_mul(usage.uses - 1);
        }
    }
    Ok(stats)
}

/// The figures of one file.
struct FsxFileFigures {
    first: Revnum,
    revisions: u64,
    is_packed: bool,
    bytes: u64,
    indexes: u64,
    items: BTreeMap<ItemType, Total>,
    contained: [Total; 3],
    changed_paths: u64,
    nodes: [u64; 2],
    /// Uses of representations, in the order of the node-revisions.
    uses: Vec<(RepKind, RepAddress, u64)>,
}

/// Revision and item of a representation, and its record if it is in a container.
type RepAddress = (u64, u64);

struct RepUsage {
    kind: RepKind,
    expanded: u64,
    uses: u64,
}

fn read(fs: &Fs, revs: Range<u64>, cancel: &Cancel) -> Result<FsxFileFigures> {
    fs.with_rev_file(Revnum(revs.start), |file| {
        let items = file.fsx(fs.cache())?;
        let end = items.indexes.footer.l2p_offset;
        let mut figures = FsxFileFigures {
            first: file.first_rev(),
            revisions: file.rev_count(),
            is_packed: file.key().2,
            bytes: file.bytes().len(),
            indexes: file.bytes().len().saturating_sub(end),
            items: BTreeMap::new(),
            contained: [Total::default(); 3],
            changed_paths: 0,
            nodes: [0; 2],
            uses: Vec::new(),
        };
        for page in 0..items.page_count()? {
            cancel.check()?;
            for entry in items
                .page_entries(page)?
                .iter()
                .filter(|entry| entry.offset < end)
            {
                figures.items.entry(entry.item_type).or_default().add(entry.size);
                let contained = match entry.item_type {
                    ItemType::ChangesContainer => Some(0),
                    ItemType::NodeRevContainer => Some(1),
                    ItemType::RepContainer => Some(2),
                    _ => None,
                };
                if let Some(at) = contained {
                    figures.contained[at].count += entry.items.len() as u64;
                    figures.contained[at].bytes += entry.size;
                }
                match entry.item_type {
                    ItemType::NodeRev | ItemType::NodeRevContainer => {
                        for &(rev, number) in &entry.items {
                            figures.add_node(fs, rev, number)?;
                        }
                    }
                    ItemType::Changes | ItemType::ChangesContainer => {
                        for &(rev, _) in &entry.items {
                            figures.changed_paths += fs.fsx_changes(rev)?.len() as u64;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(figures)
    })
}

impl FsxFileFigures {
    fn add_node(&mut self, fs: &Fs, rev: Revnum, number: u64) -> Result<()> {
        let node = fs.fsx_noderev(rev, number)?;
        let is_dir = node.kind == NodeKind::Dir;
        let (text, props) = match is_dir {
            true => (RepKind::Dir, RepKind::DirProps),
            false => (RepKind::File, RepKind::FileProps),
        };
        self.nodes[usize::from(!is_dir)] += 1;
        for (kind, rep) in [(text, &node.text), (props, &node.props)] {
            if let Some(rep) = rep
                && let RepLocation::Rev(rev, item) = rep.location
            {
                self.uses.push((kind, (rev.0, item), expanded(rep)));
            }
        }
        Ok(())
    }
}

/// Returns the length of a content, bytes.
fn expanded(rep: &Rep) -> u64 {
    match rep.size() {
        RepSize::Known(size) => size,
        RepSize::DependsOnHeader => rep.length,
    }
}

impl FsxStats {
    fn add(
        &mut self,
        figures: FsxFileFigures,
        items: &mut BTreeMap<ItemType, Total>,
        reps: &mut HashMap<RepAddress, RepUsage>,
    ) {
        match figures.is_packed {
            true => {
                self.packed += figures.revisions;
                self.pack_files.add(figures.bytes);
            }
            false => self.revision_files.add(figures.bytes),
        }
        self.indexes += figures.indexes;
        for (kind, total) in figures.items {
            match kind {
                ItemType::Unused => self.unused += total.bytes,
                _ => items.entry(kind).or_default().plus(total),
            }
        }
        for (all, one) in self.contained.iter_mut().zip(figures.contained) {
            all.plus(one);
        }
        self.changed_paths += figures.changed_paths;
        for (all, one) in self.nodes.iter_mut().zip(figures.nodes) {
            *all += one;
        }
        for (kind, address, expanded) in figures.uses {
            let first = RepUsage {
                kind,
                expanded,
                uses: 0,
            };
            reps.entry(address).or_insert(first).uses += 1;
        }
    }
}

impl Total {
    fn plus(&mut self, other: Total) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}
