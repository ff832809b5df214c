//! What the HTTP server needs from the module that knows what requests mean.

use std::sync::Arc;

use base::FsPath;
use repos::Repository;

use super::fault::Fault;
use super::request::Request;
use super::response_writer::ResponseWriter;
use crate::config::HttpOptions;

/// Answers requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// What the requests of one connection have in common.
    type Connection: Default + Send + Sync + 'static;
    /// The user and the rights of a connection's last request.
    type Auth: CachedAuth;

    /// Answers a request into `reply`. May block, unless the read mode is cached-only.
    ///
    /// # Errors
    /// The error response for the client, in place of what was written but not sent.
    fn answer(
        &self,
        connection: &Self::Connection,
        request: &mut Request,
        reply: &mut ResponseWriter,
    ) -> Result<(), Fault>;

    /// Returns the user and the rights of the connection's last request while they are known to hold under `options`; `None` where
    /// a request must be authorized again.
    fn cached_auth(&self, connection: &Self::Connection, options: &Arc<HttpOptions>) -> Option<Self::Auth>;
}

/// The user and the rights of a connection's last request: enough to decide whether a cached response may be sent again.
pub(crate) trait CachedAuth {
    /// The repository of the last request.
    fn repository(&self) -> &Repository;

    /// The path of its URL.
    fn root(&self) -> &str;

    /// Returns whether a request with this `Authorization` value is from the same client, and may read `path`.
    fn may_read(&self, authorization: Option<&[u8]>, path: &FsPath) -> bool;

    /// The user's name, if one was proved.
    fn user(&self) -> Option<&str>;
}
