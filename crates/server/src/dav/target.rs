//! What a method that writes finds at its URL: WebDAV's kinds of resources, and whether there is one.
//!
//! Which methods a resource understands depends on its kind alone; a method asks for it where the resource is none that it can do
//! something with, so that the answer is the one that the incumbent gives.

use base::{Code, Error, NodeKind};
use http::StatusCode;
use wire::dav::uri::Resource;

use super::fault::Fault;
use super::visit::Visit;

/// The kinds that differ in what may be done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A node of a revision, as everybody sees it.
    Regular { exists: bool },
    /// A version of a node. Whether there is one is asked by methods that look at it alone.
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

impl Target {
    /// False for what is known not to be there.
    pub(super) fn exists(self) -> bool {
        match self {
            Target::Regular { exists } | Target::Working { exists } | Target::Activity { exists } => exists,
            Target::Version | Target::Baseline | Target::Private | Target::Txn | Target::WorkingBaseline => {
                true
            }
        }
    }
}

impl Visit<'_> {
    /// What the request's URL stands for.
    ///
    /// # Errors
    /// Those of URLs that stand for nothing: revisions, transactions and names of clients that do not exist.
    pub(super) fn target(&mut self) -> Result<Target, Fault> {
        let exists = |rev, path| -> Result<bool, Fault> {
            Ok(self.repository().check_path(rev, path)? != NodeKind::None)
        };
        Ok(match &self.resource {
            Resource::Public(path) => Target::Regular {
                exists: exists(self.youngest()?, path)?,
            },
            Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => Target::Regular {
                exists: exists(*rev, path)?,
            },
            Resource::Version(rev, _) => {
                // The revision exists, whatever is there.
                self.repository().fs().root(*rev)?;
                Target::Version
            }
            Resource::Baseline(rev) | Resource::Revision(rev) => {
                if *rev > self.youngest()? {
                    let text = format!("No such revision {rev}");
                    return Err(Error::new(Code::FS_NO_SUCH_REVISION, text).into());
                }
                Target::Baseline
            }
            Resource::Vcc | Resource::Me => Target::Private,
            Resource::Activity(id) => Target::Activity {
                exists: self.activities().find(id)?.is_some(),
            },
            Resource::Txn(_) | Resource::Vtxn(_) => {
                self.step(|_, _| Ok(()))?;
                Target::Txn
            }
            Resource::WorkingBaseline(..) => {
                self.step(|_, _| Ok(()))?;
                Target::WorkingBaseline
            }
            Resource::TxnRoot(_, path) | Resource::VtxnRoot(_, path) | Resource::Working(_, path) => {
                let path = path.clone();
                Target::Working {
                    exists: self.step(|_, in_use| Ok(in_use.transaction.kind(&path)? != NodeKind::None))?,
                }
            }
        })
    }

    /// Why a resource cannot be made or written that is in no transaction: `MKCOL` and `PUT`.
    pub(super) fn not_writable(&mut self) -> Fault {
        let is_put = self.request.method == http::Method::PUT;
        self.refusal(|target| match target {
            Target::Regular { exists: false } => StatusCode::CONFLICT,
            Target::WorkingBaseline => StatusCode::METHOD_NOT_ALLOWED,
            _ if is_put => StatusCode::CONFLICT,
            _ => StatusCode::METHOD_NOT_ALLOWED,
        })
    }

    /// The status that a kind of resource gets, or what is wrong with the URL itself.
    pub(super) fn refusal(&mut self, status: impl FnOnce(Target) -> StatusCode) -> Fault {
        match self.target() {
            Ok(target) => Fault::html(status(target)),
            Err(fault) => fault,
        }
    }
}
