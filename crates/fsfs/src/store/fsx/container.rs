//! The containers of pack files of FSX, decoded.
//!
//! A container has to be decompressed and decoded whole to read one of its records, and a walk through a tree reads
//! records of a few containers in turns. So containers are in the cache.

use std::sync::Arc;

use base::{Code, Error, Result};

use super::indexes::FsxItem;
use crate::format::fsx::changes_container::ChangesContainer;
use crate::format::fsx::noderev_container::NodeRevContainer;
use crate::format::fsx::p2l::ItemType;
use crate::format::fsx::rep_container::RepContainer;
use crate::store::cache::{Cache, Key};
use crate::store::rev_file::RevFile;

/// A decoded container.
#[derive(Clone)]
pub(crate) enum Container {
    NodeRevs(Arc<NodeRevContainer>),
    Changes(Arc<ChangesContainer>),
    Reps(Arc<RepContainer>),
}

impl Container {
    /// The memory that the container takes, bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Container::NodeRevs(container) => container.bytes(),
            Container::Changes(container) => container.bytes(),
            Container::Reps(container) => container.bytes(),
        }
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        match self {
            Container::NodeRevs(container) => container.len(),
            Container::Changes(container) => container.len(),
            Container::Reps(container) => container.len(),
        }
    }
}

impl RevFile {
    /// The container that `item` is a record of.
    pub(crate) fn container(&self, cache: &Cache, item: &FsxItem) -> Result<Container> {
        let (instance, first_rev, is_packed) = self.key();
        let key = Key::part::<Container>(instance, first_rev, item.offset, u64::from(is_packed));
        if let Some(container) = cache.get(&key) {
            return Ok(container);
        }
        let items = self.fsx(cache)?;
        let bytes = items.read_checked(item)?;
        let container = match item.item_type {
            ItemType::NodeRevContainer => {
                Container::NodeRevs(Arc::new(items.in_file(NodeRevContainer::decode(&bytes))?))
            }
            ItemType::ChangesContainer => {
                Container::Changes(Arc::new(items.in_file(ChangesContainer::decode(&bytes))?))
            }
            ItemType::RepContainer => Container::Reps(Arc::new(items.in_file(RepContainer::decode(&bytes))?)),
            _ => return Err(Error::new(Code::FS_CORRUPT, "Item is no container")),
        };
        cache.insert(key, container.clone());
        Ok(container)
    }
}
