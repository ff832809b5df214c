//! The containers of pack files, decoded.
//!
//! A container has to be decompressed and decoded whole to read one of its records, and a walk through a tree reads
//! records of a few containers in turns. So the last ones are kept, up to a limit in bytes.

use std::sync::Arc;

use base::{Code, Error, Result};
use quick_cache::Weighter;
use quick_cache::sync::Cache as QuickCache;

use super::Store;
use super::handle::FileKey;
use super::rev_file::{Item, RevFile};
use crate::format::changes_container::ChangesContainer;
use crate::format::noderev_container::NodeRevContainer;
use crate::format::p2l::ItemType;
use crate::format::rep_container::RepContainer;

/// A decoded container.
#[derive(Clone)]
pub(crate) enum Container {
    NodeRevs(Arc<NodeRevContainer>),
    Changes(Arc<ChangesContainer>),
    Reps(Arc<RepContainer>),
}

impl Container {
    fn bytes(&self) -> usize {
        match self {
            Container::NodeRevs(container) => container.bytes(),
            Container::Changes(container) => container.bytes(),
            Container::Reps(container) => container.bytes(),
        }
    }
}

/// The containers that were used last, by file and offset.
pub(super) struct ContainerCache(QuickCache<(FileKey, u64), Container, ContainerWeighter>);

#[derive(Clone)]
struct ContainerWeighter;

impl Weighter<(FileKey, u64), Container> for ContainerWeighter {
    fn weight(&self, _: &(FileKey, u64), container: &Container) -> u64 {
        /// Bytes of an entry beside its value.
        const OVERHEAD: usize = 128;
        (OVERHEAD + container.bytes()) as u64
    }
}

/// The most bytes of all kept containers.
const CACHE_BYTES: u64 = 32 << 20;

/// The number of containers for which the cache reserves memory at first.
const CONTAINERS: usize = 256;

impl ContainerCache {
    pub(super) fn new() -> Self {
        ContainerCache(QuickCache::with_weighter(
            CONTAINERS,
            CACHE_BYTES,
            ContainerWeighter,
        ))
    }
}

impl Store {
    /// The container that `item` is a record of.
    pub(crate) fn container(&self, file: &RevFile, item: &Item) -> Result<Container> {
        let key = (file.key(), item.offset);
        if let Some(container) = self.containers.0.get(&key) {
            return Ok(container);
        }
        let bytes = file.read_checked(item)?;
        let container = match item.item_type {
            ItemType::NodeRevContainer => {
                Container::NodeRevs(Arc::new(file.in_file(NodeRevContainer::decode(&bytes))?))
            }
            ItemType::ChangesContainer => {
                Container::Changes(Arc::new(file.in_file(ChangesContainer::decode(&bytes))?))
            }
            ItemType::RepContainer => Container::Reps(Arc::new(file.in_file(RepContainer::decode(&bytes))?)),
            _ => return Err(Error::new(Code::FS_CORRUPT, "Item is no container")),
        };
        self.containers.0.insert(key, container.clone());
        Ok(container)
    }
}
