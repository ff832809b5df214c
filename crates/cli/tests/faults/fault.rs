//! Faults: what they are, how they begin and end.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use testkit::fault_proxy::{FaultProxy, ProxyFault};

use crate::nodes::{LEASE_MS, NODES, TestNodes};

/// A fault. The order is that in which faults end: a node starts when all else works.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// PostgreSQL stops: in order, or as in a crash.
    Postgres {
        /// True for a crash.
        is_crash: bool,
    },
    /// The object store stops, as in a crash.
    ObjectStore,
    /// A connection of a node, or all of them, has a fault.
    Network {
        /// The node.
        node: usize,
        /// The connection.
        link: Link,
        /// What the connection does.
        fault: LinkFault,
    },
    /// The object store answers all nodes with errors.
    StoreErrors(LinkFault),
    /// Files of a node's cache are damaged or removed.
    Cache {
        /// The node.
        node: usize,
        /// What happens to the files.
        damage: Damage,
    },
    /// The process of a node is stopped for longer than its lease, and continues.
    Pause {
        /// The node.
        node: usize,
    },
    /// The process of a node is killed, and started again.
    Kill {
        /// The node.
        node: usize,
        /// True if its directory is removed.
        wipe: bool,
    },
}

/// A connection of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// To PostgreSQL.
    Database,
    /// To the object store.
    Objects,
    /// From the other nodes.
    Others,
    /// All of them.
    All,
}

/// What happens on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkFault {
    /// Nothing passes. What was sent arrives at the end, or is lost.
    Stall {
        /// True if it arrives.
        arrives: bool,
    },
    /// Connections end.
    Cut,
    /// Milliseconds of delay.
    Delay(u64),
    /// Each request is answered with this status.
    Status(u16),
    /// The first response to each request that writes is lost.
    LoseResponses,
}

/// What happens to files of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// Some bytes of each have other values.
    Bytes,
    /// Each has lost its end.
    Short,
    /// They are gone.
    Gone,
}

impl Fault {
    /// A random fault.
    pub fn random(random: &mut ChaCha8Rng) -> Fault {
        let node = random.random_range(0..NODES);
        match random.random_range(0..100) {
            0..=17 => Fault::Kill {
                node,
                wipe: random.random_bool(0.4),
            },
            18..=29 => Fault::Pause { node },
            30..=45 => Fault::Network {
                node,
                link: Link::Database,
                fault: LinkFault::of_network(random),
            },
            46..=57 => Fault::Network {
                node,
                link: Link::Objects,
                fault: LinkFault::of_store(random),
            },
            58..=67 => Fault::Network {
                node,
                link: Link::Others,
                fault: match random.random_bool(0.3) {
                    true => LinkFault::LoseResponses,
                    false => LinkFault::of_network(random),
                },
            },
            68..=75 => Fault::Network {
                node,
                link: Link::All,
                fault: LinkFault::of_network(random),
            },
            76..=81 => Fault::StoreErrors(LinkFault::of_store(random)),
            82..=85 => Fault::ObjectStore,
            86..=91 => Fault::Postgres {
                is_crash: random.random_bool(0.5),
            },
            _ => Fault::Cache {
                node,
                damage: [Damage::Bytes, Damage::Short, Damage::Gone][random.random_range(0..3)],
            },
        }
    }

    /// How long it lasts.
    pub fn duration(&self, random: &mut ChaCha8Rng) -> Duration {
        let milliseconds = match self {
            Fault::Cache { .. } => 0,
            Fault::Pause { .. } => LEASE_MS + random.random_range(100..1000),
            Fault::Network {
                fault: LinkFault::Stall { .. },
                ..
            } => random.random_range(100..3000),
            _ => random.random_range(50..1200),
        };
        Duration::from_millis(milliseconds)
    }

    /// The node that it hits; `None` if it hits all of them.
    pub fn node(&self) -> Option<usize> {
        match self {
            Fault::Postgres { .. } | Fault::ObjectStore | Fault::StoreErrors(_) => None,
            Fault::Network { node, .. }
            | Fault::Cache { node, .. }
            | Fault::Pause { node }
            | Fault::Kill { node, .. } => Some(*node),
        }
    }

    /// Begins. Returns how many files of a cache are damaged.
    pub fn begin(&self, test: &mut TestNodes, random: &mut ChaCha8Rng) -> usize {
        match self {
            Fault::Postgres { is_crash: true } => test.engines.stop_postgres(),
            Fault::Postgres { is_crash: false } => test.engines.shut_postgres_down(),
            Fault::ObjectStore => test.engines.stop_objects(),
            Fault::Network { fault, .. } | Fault::StoreErrors(fault) => {
                for proxy in self.proxies(test) {
                    proxy.set(fault.of_proxy());
                }
            }
            Fault::Cache { node, damage } => {
                let files = test.cached_files(*node);
                // Another process, or the node itself, may have removed a file.
                let damaged = |file: &PathBuf| damage.apply(file, random).is_ok();
                return files.iter().map(damaged).filter(|damaged| *damaged).count();
            }
            Fault::Pause { node } => test.signal_node(*node, "STOP"),
            Fault::Kill { node, wipe } => test.kill_node(*node, *wipe),
        }
        0
    }

    /// Ends.
    pub fn end(&self, test: &mut TestNodes) {
        match self {
            Fault::Postgres { .. } => test.engines.start_postgres(),
            Fault::ObjectStore => test.engines.start_objects(),
            Fault::Network { fault, .. } | Fault::StoreErrors(fault) => {
                for proxy in self.proxies(test) {
                    if *fault == (LinkFault::Stall { arrives: false }) {
                        proxy.set(ProxyFault::Cut);
                    }
                    proxy.set(ProxyFault::None);
                }
            }
            Fault::Cache { .. } => {}
            Fault::Pause { node } => test.signal_node(*node, "CONT"),
            Fault::Kill { node, .. } => test.start_node(*node),
        }
    }

    fn proxies<'a>(&self, test: &'a TestNodes) -> Vec<&'a FaultProxy> {
        match self {
            Fault::StoreErrors(_) => test.nodes.iter().map(|node| &node.objects).collect(),
            Fault::Network { node, link, .. } => {
                let node = &test.nodes[*node];
                match link {
                    Link::Database => vec![&node.database],
                    Link::Objects => vec![&node.objects],
                    Link::Others => vec![&node.others],
                    Link::All => vec![&node.database, &node.objects, &node.others],
                }
            }
            _ => Vec::new(),
        }
    }
}

impl LinkFault {
    fn of_network(random: &mut ChaCha8Rng) -> LinkFault {
        match random.random_range(0..10) {
            0..=4 => LinkFault::Stall {
                arrives: random.random_bool(0.6),
            },
            5..=7 => LinkFault::Cut,
            _ => LinkFault::Delay(random.random_range(1..60)),
        }
    }

    fn of_store(random: &mut ChaCha8Rng) -> LinkFault {
        match random.random_range(0..10) {
            0..=2 => LinkFault::Status(if random.random_bool(0.5) { 500 } else { 503 }),
            3..=5 => LinkFault::LoseResponses,
            _ => LinkFault::of_network(random),
        }
    }

    fn of_proxy(self) -> ProxyFault {
        match self {
            LinkFault::Stall { .. } => ProxyFault::Stall,
            LinkFault::Cut => ProxyFault::Cut,
            LinkFault::Delay(milliseconds) => ProxyFault::Delay(Duration::from_millis(milliseconds)),
            LinkFault::Status(status) => ProxyFault::Status(status),
            LinkFault::LoseResponses => ProxyFault::LoseResponses,
        }
    }
}

impl Damage {
    fn apply(self, file: &Path, random: &mut ChaCha8Rng) -> std::io::Result<()> {
        if self == Damage::Gone {
            return std::fs::remove_file(file);
        }
        let open = std::fs::OpenOptions::new().write(true).open(file)?;
        let length = open.metadata()?.len();
        match self {
            Damage::Short => open.set_len(length / 2),
            _ => (0..4).try_for_each(|_| {
                let bytes: [u8; 3] = random.random();
                open.write_all_at(&bytes, random.random_range(0..length.max(4) - 3))
            }),
        }
    }
}
