//! Where revision files are, as the rows of the database say: one cache for all repositories of a process.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use uuid::Uuid;

/// Rows by the number of the repository and the revision.
pub(crate) struct RowCache(Cache<(i64, u64), Row, RowWeight>);

/// Where a revision file is.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) publication: Uuid,
    pub(crate) length: u64,
    pub(crate) content: Content,
}

/// Where the bytes are.
#[derive(Clone)]
pub(crate) enum Content {
    /// In the row, and here.
    Inline(Arc<[u8]>),
    /// In the row; they were not read with those of its neighbours because they are long.
    InRow,
    /// In an object, with the checksums of its blocks if they are known ([`ObjectDigest::blocks`](crate::digest::ObjectDigest)).
    Object(Option<Arc<[u8]>>),
}

#[derive(Clone)]
struct RowWeight;

impl Weighter<(i64, u64), Row> for RowWeight {
    fn weight(&self, _: &(i64, u64), row: &Row) -> u64 {
        match &row.content {
            Content::Inline(bytes) => bytes.len() as u64 + ROW_WEIGHT,
            Content::Object(Some(blocks)) => blocks.len() as u64 + ROW_WEIGHT,
            Content::InRow | Content::Object(None) => ROW_WEIGHT,
        }
    }
}

impl Default for RowCache {
    fn default() -> Self {
        RowCache(Cache::with_weighter(
            (MEMORY / ROW_WEIGHT) as usize,
            MEMORY,
            RowWeight,
        ))
    }
}

impl RowCache {
    pub(crate) fn get(&self, repository: i64, rev: u64) -> Option<Row> {
        self.0.get(&(repository, rev))
    }

    pub(crate) fn insert(&self, repository: i64, rev: u64, row: Row) {
        self.0.insert((repository, rev), row);
    }

    pub(crate) fn remove(&self, repository: i64, rev: u64) {
        self.0.remove(&(repository, rev));
    }
}

/// Memory for rows, bytes.
const MEMORY: u64 = 64 << 20;

/// What a row weighs besides its content, bytes.
const ROW_WEIGHT: u64 = 128;
