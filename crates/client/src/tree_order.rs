//! Paths in the order of trees.

use std::cmp::Ordering;

use base::RelPath;

/// A path that sorts in the order of trees: what is below a path follows it directly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeOrder(pub RelPath);

impl Ord for TreeOrder {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp_tree(&other.0)
    }
}

impl PartialOrd for TreeOrder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
