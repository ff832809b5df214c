//! The order in which the changes of several actions are sent.

use std::collections::BTreeMap;

use base::RelPath;

use crate::tree_order::TreeOrder;

/// The order in which actions have named paths first, or paths below them. Deletions have places of their own.
#[derive(Default)]
pub struct NamingOrder {
    next: usize,
    first: BTreeMap<TreeOrder, usize>,
}

impl NamingOrder {
    /// Gives a path and those above it their places.
    pub fn name(&mut self, path: &RelPath) {
        for above in ancestry(path) {
            let next = self.next;
            let place = self.first.entry(TreeOrder(above)).or_insert(next);
            self.next += usize::from(*place == next);
        }
    }

    /// Returns the place of the deletion of a path. What was below it is forgotten.
    pub fn delete(&mut self, path: &RelPath) -> usize {
        if let Some(parent) = path.parent() {
            self.name(&parent);
        }
        let old: Vec<TreeOrder> = self
            .first
            .range(TreeOrder(path.clone())..)
            .map(|(below, _)| below.clone())
            .take_while(|below| below.0.relative_to(path).is_some())
            .collect();
        let place = old.first().and_then(|first| self.first.get(first).copied());
        for path in old {
            self.first.remove(&path);
        }
        place.unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// Returns a key by which paths sort in this order, what is below a directory behind it.
    pub fn key(&self, path: &RelPath) -> Vec<usize> {
        let place = |above| self.first.get(&TreeOrder(above)).copied();
        ancestry(path)
            .map(|above| place(above).unwrap_or(usize::MAX))
            .collect()
    }

    /// As [`NamingOrder::key`], for a deletion with its own place.
    pub fn key_of_deletion(&self, path: &RelPath, place: usize) -> Vec<usize> {
        let mut key = self.key(path);
        key.pop();
        key.push(place);
        key
    }
}

/// Returns the paths from the first component to the whole path.
pub fn ancestry(path: &RelPath) -> impl Iterator<Item = RelPath> {
    path.components().scan(RelPath::empty(), |above, name| {
        *above = above.join_str(name);
        Some(above.clone())
    })
}
