//! The trees of revisions and transactions, read only.
//!
//! | module | subject |
//! |---|---|
//! | `fs` | [`FsxFs`], an open filesystem |
//! | `root` | [`FsxRoot`], the tree of a revision or transaction; look-up of paths |
//! | `node` | [`FsxNode`], a node-revision at a path |
//! | [`rep`] | one stored representation |
//! | [`text`] | contents, out of delta chains and containers |
//! | `revprops` | revision properties |
//! | `lock` | users' locks |
//! | `txn` | transactions, from their files |
//!
//! The types have the methods that their counterparts in `fsfs` have. What is absent: the history of nodes.

mod fs;
mod lock;
mod node;
mod rep;
mod revprops;
mod root;
#[cfg(test)]
mod tests;
mod text;
mod txn;

pub use fs::FsxFs;
pub use node::FsxNode;
pub use root::FsxRoot;
pub use text::FsxTextReader;
