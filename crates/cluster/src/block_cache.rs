//! x
use std::path::Path;
use std::sync::Arc;
pub(crate) struct BlockCache;
impl BlockCache {
    pub(crate) fn open(_: &Path, _: u64, _: Arc<crate::metrics::ClusterMetrics>) -> base::Result<BlockCache> {
        Ok(BlockCache)
    }
}
