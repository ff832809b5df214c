//! The kinds of resources as WebDAV has them, and whether a resource exists.
//!
//! The kind decides which methods a resource supports. A method reads it where it cannot handle the resource, so that the error is
//! the incumbent's.

use base::{Code, Error, NodeKind};
use http::StatusCode;
use wire::dav::uri::Resource;

use crate::http::Fault;
use crate::site::RequestContext;

/// The kinds of resources that support different methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceKind {
    /// A public node.
    Regular { exists: bool },
    /// A version of a node. Whether it exists is checked by the methods that use it.
    Version,
    /// A revision's properties.
    Baseline,
    /// A resource of Subversion's own.
    Private,
    /// A transaction.
    Txn,
    /// A node of a transaction.
    Working { exists: bool },
    /// A transaction's properties, as old clients name them.
    WorkingBaseline,
    /// A client's name for a transaction.
    Activity { exists: bool },
}

impl ResourceKind {
    /// Returns false for resources that are known not to exist.
    pub(super) fn exists(self) -> bool {
        match self {
            ResourceKind::Regular { exists }
            | ResourceKind::Working { exists }
            | ResourceKind::Activity { exists } => exists,
            ResourceKind::Version
            | ResourceKind::Baseline
            | ResourceKind::Private
            | ResourceKind::Txn
            | ResourceKind::WorkingBaseline => true,
        }
    }
}

impl RequestContext<'_> {
    /// Returns the kind of the request's resource.
    ///
    /// # Errors
    /// Those of revisions, transactions and names of clients that do not exist.
    pub(super) fn resource_kind(&mut self) -> Result<ResourceKind, Fault> {
        let exists = |rev, path| -> Result<bool, Fault> {
            Ok(self.repository().check_path(rev, path)? != NodeKind::None)
        };
        Ok(match &self.resource {
            Resource::Public(path) => ResourceKind::Regular {
                exists: exists(self.youngest()?, path)?,
            },
            Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => {
                ResourceKind::Regular {
                    exists: exists(*rev, path)?,
                }
            }
            Resource::Version(rev, _) => {
                // Only the revision must exist.
                self.repository().fs().root(*rev)?;
                ResourceKind::Version
            }
            Resource::Baseline(rev) | Resource::Revision(rev) => {
                if *rev > self.youngest()? {
                    let text = format!("No such revision {rev}");
                    return Err(Error::new(Code::FS_NO_SUCH_REVISION, text).into());
                }
                ResourceKind::Baseline
            }
            Resource::Vcc | Resource::Me => ResourceKind::Private,
            Resource::Activity(id) => ResourceKind::Activity {
                exists: self.activities().find(id)?.is_some(),
            },
            Resource::Txn(_) | Resource::Vtxn(_) => {
                self.step(|_, _| Ok(()))?;
                ResourceKind::Txn
            }
            Resource::WorkingBaseline(..) => {
                self.step(|_, _| Ok(()))?;
                ResourceKind::WorkingBaseline
            }
            Resource::TxnRoot(_, path) | Resource::VtxnRoot(_, path) | Resource::Working(_, path) => {
                let path = path.clone();
                ResourceKind::Working {
                    exists: self.step(|_, in_use| Ok(in_use.transaction.kind(&path)? != NodeKind::None))?,
                }
            }
        })
    }

    /// Returns the error response of `MKCOL` and `PUT` for a resource outside of transactions.
    pub(super) fn not_writable(&mut self) -> Fault {
        let is_put = self.request.method == http::Method::PUT;
        self.refusal(|kind| match kind {
            ResourceKind::Regular { exists: false } => StatusCode::CONFLICT,
            ResourceKind::WorkingBaseline => StatusCode::METHOD_NOT_ALLOWED,
            _ if is_put => StatusCode::CONFLICT,
            _ => StatusCode::METHOD_NOT_ALLOWED,
        })
    }

    /// Returns an error response with the status for the resource's kind, or the error of the URL itself.
    pub(super) fn refusal(&mut self, status: impl FnOnce(ResourceKind) -> StatusCode) -> Fault {
        match self.resource_kind() {
            Ok(kind) => Fault::html(status(kind)),
            Err(fault) => fault,
        }
    }
}
