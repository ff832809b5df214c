//! Where the blocks of objects come from: the object store, or other nodes.
//!
//! By default each node reads what it needs from the object store. With `fetch-from-nodes`, each block has one node that reads it for all of
//! them, and the others ask that node. It is chosen by rendezvous hashing: the node that lives and whose address, hashed together
//! with the name of the block, gives the highest number. Both nodes have the block in their caches afterwards. So a block is read from the object
//! store once, and a node that comes or goes changes the node of its own share of the blocks only.
//!
//! Nothing depends on other nodes. One that does not answer within [`REQUEST_TIMEOUT`], or has an error, is not asked again for
//! [`PAUSE`], and the block is read from the object store. A node that is asked reads from the object store itself, never from a third node.
//!
//! **Request**: `GET URL/-/block?OBJECT&NUMBER&LENGTH&CHECKSUM` (without the last part if the database does not know it) with the header
//! line [`SEAL`], which seals path and query (`nodes`). The response is the block; its header line seals the query and the SHA-256 of the block. So only machines that know the secret in the database
//! get blocks, and no block is taken from another one or with a changed byte. Contents are encrypted if the URL begins with `https`.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Code, Error, Result};
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::block_cache::{BLOCK, BlockCache, BlockKey};
use crate::database::wait_for;
use crate::metrics::{ClusterMetrics, add};
use crate::nodes::Nodes;
use crate::objects::Objects;
use crate::settings::ClusterSettings;

/// The source of the blocks of a process.
pub(crate) struct BlockSource {
    objects: Arc<Objects>,
    metrics: Arc<ClusterMetrics>,
    peers: Option<Peers>,
}

/// The nodes that are asked.
struct Peers {
    nodes: Arc<Nodes>,
    client: reqwest::Client,
    /// The address of this node; empty if it has none.
    own: String,
    addresses: Mutex<Vec<Arc<str>>>,
    /// Nodes that did not answer, and since when.
    silent: Mutex<HashMap<Arc<str>, Instant>>,
}

impl BlockSource {
    /// Makes the source. It asks no other node before [`BlockSource::see_nodes`].
    ///
    /// # Errors
    /// `FS_GENERAL` if there is no TLS.
    pub(crate) fn new(
        settings: &ClusterSettings,
        objects: Arc<Objects>,
        nodes: Arc<Nodes>,
        metrics: Arc<ClusterMetrics>,
    ) -> Result<BlockSource> {
        let peers = match settings.fetch_from_nodes {
            false => None,
            true => Some(Peers {
                nodes,
                client: client()?,
                own: settings.url.trim_end_matches('/').to_owned(),
                addresses: Mutex::default(),
                silent: Mutex::default(),
            }),
        };
        Ok(BlockSource {
            objects,
            metrics,
            peers,
        })
    }

    /// Reads the list of nodes.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) fn see_nodes(&self) -> Result<()> {
        let Some(peers) = &self.peers else { return Ok(()) };
        let alive = peers.nodes.list()?.into_iter().filter(|node| node.is_alive);
        let mut addresses: Vec<Arc<str>> = alive
            .map(|node| node.url.into())
            .filter(|url: &Arc<str>| !url.is_empty())
            .collect();
        addresses.sort();
        addresses.dedup();
        *peers.addresses.lock() = addresses;
        Ok(())
    }

    /// Reads a block of `length` bytes, from the node that is responsible for it or from the object store.
    ///
    /// # Errors
    /// As [`BlockSource::read_store`].
    pub(crate) fn fetch(&self, key: &BlockKey, length: usize) -> io::Result<Bytes> {
        if let Some(peers) = &self.peers
            && let Some(address) = peers.responsible(key)
        {
            match peers.ask(&address, key, length) {
                // An earlier program may have damaged bytes in its cache.
                Ok(bytes) if !key.accepts(&bytes) => {
                    tracing::debug!("the node at '{address}' has sent a damaged block");
                    add(&self.metrics.failed_nodes, 1);
                }
                Ok(bytes) => {
                    add(&self.metrics.blocks_of_nodes, 1);
                    return Ok(bytes);
                }
                Err(why) => {
                    tracing::debug!("the node at '{address}' has not sent a block: {why}");
                    add(&self.metrics.failed_nodes, 1);
                    peers.silent.lock().insert(address, Instant::now());
                }
            }
        }
        self.read_store(key, length)
    }

    /// Reads a block from the object store.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; those of the store.
    pub(crate) fn read_store(&self, key: &BlockKey, length: usize) -> io::Result<Bytes> {
        let bytes = self.objects.get(&key.object, key.number * BLOCK, length as u64)?;
        add(&self.metrics.fetched_bytes, bytes.len() as u64);
        Ok(bytes)
    }
}

impl Peers {
    /// Returns the address of the node that reads the block for all; `None` if that is this one, or if it has not answered recently.
    fn responsible(&self, key: &BlockKey) -> Option<Arc<str>> {
        let address = choose(&self.addresses.lock(), key)?;
        let mut silent = self.silent.lock();
        silent.retain(|_, since| since.elapsed() < PAUSE);
        (*address != *self.own && !silent.contains_key(&address)).then_some(address)
    }

    fn ask(&self, address: &str, key: &BlockKey, length: usize) -> std::result::Result<Bytes, String> {
        let mut query = format!("{}&{}&{length}", key.object, key.number);
        if let Some(checksum) = key.checksum {
            query.push_str(&format!("&{checksum}"));
        }
        let seal = self
            .nodes
            .seal(&request_message(&query))
            .map_err(|e| e.message().to_owned())?;
        let request = self
            .client
            .get(format!("{address}{BLOCK_PATH}?{query}"))
            .header(SEAL, seal);
        let asked = async {
            let mut response = request.send().await?.error_for_status()?;
            let seal = response.headers().get(SEAL).cloned();
            let mut bytes = BytesMut::with_capacity(length);
            while let Some(part) = response.chunk().await? {
                if bytes.len() + part.len() > length {
                    break;
                }
                bytes.extend_from_slice(&part);
            }
            Ok::<_, reqwest::Error>((bytes.freeze(), seal))
        };
        let (bytes, seal) = wait_for(asked)
            .map_err(|e| e.message().to_owned())?
            .map_err(|e| e.to_string())?;
        let seal = seal.as_ref().and_then(|seal| seal.to_str().ok());
        let is_sealed = self
            .nodes
            .is_sealed(&response_message(&query, &bytes), seal.unwrap_or_default())
            .map_err(|e| e.message().to_owned())?;
        match is_sealed && bytes.len() == length {
            true => Ok(bytes),
            false => Err("the response has no valid seal".to_owned()),
        }
    }
}

/// Answers the request of another node. Returns the block and its seal; `None` if the request is not sealed, or there is no such block.
///
/// # Errors
/// `FS_GENERAL`: the block could not be read.
pub(crate) fn block_for_node(
    source: &BlockSource,
    cache: &BlockCache,
    nodes: &Nodes,
    query: &str,
    seal: &str,
) -> Result<Option<(Vec<u8>, String)>> {
    if !nodes.is_sealed(&request_message(query), seal)? {
        return Ok(None);
    }
    let Some((key, length)) = parse(query) else {
        return Ok(None);
    };
    let mut bytes = vec![0; length];
    let mut at = 0;
    while at < length {
        let read = cache.read(&key, length, at, &mut bytes[at..], &|| {
            source.read_store(&key, length)
        });
        match read {
            Ok(count) => at += count,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::new(Code::FS_GENERAL, e.to_string())),
        }
    }
    let seal = nodes.seal(&response_message(query, &bytes))?;
    Ok(Some((bytes, seal)))
}

/// Reads the query of a request: the block and its length, bytes.
fn parse(query: &str) -> Option<(BlockKey, usize)> {
    let (object, rest) = query.split_once('&')?;
    let (number, rest) = rest.split_once('&')?;
    let (length, checksum) = match rest.split_once('&') {
        Some((length, checksum)) => (length, Some(checksum.parse().ok()?)),
        None => (rest, None),
    };
    let (number, length): (u64, usize) = (number.parse().ok()?, length.parse().ok()?);
    let is_sound = !object.is_empty() && length > 0 && length as u64 <= BLOCK && number < u64::MAX / BLOCK;
    let object: Arc<str> = object.into();
    is_sound.then_some((
        BlockKey {
            object,
            number,
            checksum,
        },
        length,
    ))
}

/// Chooses the address with the highest number for the block.
fn choose(addresses: &[Arc<str>], key: &BlockKey) -> Option<Arc<str>> {
    let number = |address: &Arc<str>| -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(address.as_bytes());
        digest.update([0]);
        digest.update(key.object.as_bytes());
        digest.update(key.number.to_le_bytes());
        digest.finalize().into()
    };
    addresses.iter().max_by_key(|address| number(address)).cloned()
}

fn request_message(query: &str) -> Vec<u8> {
    format!("GET\n{BLOCK_PATH}\n{query}").into_bytes()
}

fn response_message(query: &str, bytes: &[u8]) -> Vec<u8> {
    let mut message = format!("block\n{query}\n").into_bytes();
    message.extend_from_slice(&Sha256::digest(bytes));
    message
}

fn client() -> Result<reqwest::Client> {
    let made = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(REQUEST_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build();
    made.map_err(|e| {
        Error::new(
            Code::FS_GENERAL,
            format!("Can't make the client for other nodes: {e}"),
        )
    })
}

/// The path of blocks at a node.
const BLOCK_PATH: &str = "/-/block";

/// The header line with the seal of a request and of its response.
const SEAL: &str = "x-sven-seal";

const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a node that has not answered is not asked.
const PAUSE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn key(object: &str, number: u64) -> BlockKey {
        BlockKey {
            object: object.into(),
            number,
            checksum: None,
        }
    }

    #[test]
    fn queries_are_read_as_they_are_written() {
        assert_eq!(
            parse("a/r/000001/5-b&7&1048576"),
            Some((key("a/r/000001/5-b", 7), 1 << 20))
        );
        let with_checksum = BlockKey {
            checksum: Some(u32::MAX),
            ..key("a", 0)
        };
        assert_eq!(parse("a&0&5&4294967295"), Some((with_checksum, 5)));
        for wrong in [
            "",
            "a",
            "a&1",
            "&1&1",
            "a&1&0",
            "a&1&1048577",
            "a&-1&5",
            "a&18446744073709551615&5",
            "a&x&5",
            "a&1&5&",
            "a&1&5&-1",
            "a&1&5&4294967296",
            "a&1&5&6&7",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_node_that_goes_changes_only_its_own_share() {
        let all: Vec<Arc<str>> = (0..5).map(|at| format!("http://node{at}").into()).collect();
        let rest: Vec<Arc<str>> = all[1..].to_vec();
        let mut shares = HashMap::<Arc<str>, u32>::new();
        for number in 0..1000 {
            let key = key("object", number);
            let chosen = choose(&all, &key).expect("because there are some");
            if chosen != all[0] {
                assert_eq!(choose(&rest, &key), Some(chosen.clone()));
            }
            *shares.entry(chosen).or_default() += 1;
        }
        assert!(
            shares.len() == 5 && shares.values().all(|share| (100..300).contains(share)),
            "{shares:?}"
        );
        assert_eq!(choose(&[], &key("object", 1)), None);
    }
}
