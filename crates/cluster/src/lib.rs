//! Repositories that several machines share: the parts that change in PostgreSQL, the parts that never change in an object store.
//!
//! A [`Cluster`] is a connection to both, for all repositories of a process. It gives [`fsfs`] the storage of one repository
//! ([`fsfs::shared`]). Each machine that serves is a *node*: it registers, gets an *epoch* (a number that never comes again), and
//! renews a lease. A node whose lease has ended, or that was declared dead, commits no more.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`] | what an administrator says |
//! | `schema` | the tables, and their versions |
//! | `database` | connections to PostgreSQL, for blocking callers |
//! | `head_reader` | one question for the state of a repository, for all callers that wait |
//! | `heads` | the parts that change |
//! | `objects` | the object store, for blocking callers |
//! | `store_identity` | whether the object store belongs to the cluster |
//! | `row_cache`, `block_cache`, `blobs` | the parts that never change, with a cache on the machine's disk |
//! | `block_source` | where these are read: the object store, or other nodes |
//! | `digest` | what the database knows of the bytes of an object |
//! | `nodes` | registration, leases, seals |
//! | `node_dir`, `directories` | the directory of a node, and those of repositories in it |
//! | `files` | configuration and hooks |
//! | `state` | what all parts share in a process |
//! | `refusals` | why a process refuses requests |
//! | `status` | the state of a cluster on one page |
//! | `garbage` | objects and rows compared |
//! | [`transfer`] | repositories of files into a cluster and back |
//! | `uuids` | the UUID of a repository in the directories of nodes |
//! | `upkeep` | work in the background of each node |
//! | [`jobs`] | work that one node does for all: packing, garbage, scrubbing |
//!
//! The interface is blocking. `tokio` runs inside, on a thread of its own.
//!
//! What is absent: trees, users, hooks, protocols.

mod blobs;
mod block_cache;
mod block_source;
mod cluster;
mod database;
mod digest;
mod directories;
mod files;
mod garbage;
mod head_reader;
mod heads;
pub mod jobs;
mod metrics;
mod naming_deadline;
mod node_dir;
mod nodes;
mod objects;
mod refusals;
mod row_cache;
mod schema;
pub mod settings;
mod state;
mod status;
mod store_identity;
pub mod transfer;
mod upkeep;
mod uuids;

pub use cluster::{Cluster, RepositoryInfo};
pub use directories::{find, open};
pub use files::{RepositoryFile, RepositoryFiles, read_files};
pub use garbage::{GarbageReport, ObjectReport};
pub use metrics::ClusterMetrics;
pub use node_dir::is_node_dir;
pub use nodes::NodeInfo;
pub use settings::ClusterSettings;
pub use status::{ClusterStatus, InlineContents};
