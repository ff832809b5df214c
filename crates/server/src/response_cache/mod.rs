//! Responses that are made once and sent again.
//!
//! A checkout over HTTP requests each file by its path and the revision of its last change. The content of such a URL never changes,
//! and every client of the same kind sends the same bytes. A thousand clients that check out a release also send the same report.
//! So there are two kinds of entries ([`RequestKind`]): whole responses by the head of their request, and bodies of reports by all
//! that the report asks for.
//!
//! [`ResponseCache::get`] is the only way to a response. It returns one only if the key is the same, byte for byte, in the same
//! instance of the repository, and all of its [`Validators`] hold for the requester: the options, the URL of the repository, the
//! requester's rights, and the facts of the repository that the response shows.
//!
//! The cache has a budget in bytes of its own, a part of the server's memory for caches ([`MemoryBudget`]).

mod recording;
mod validators;

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Result;
use bytes::Bytes;
use http::HeaderValue;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Equivalent, OptionsBuilder, Weighter};
use repos::Instance;

pub(crate) use self::recording::BodyRecording;
pub(crate) use self::validators::{Requester, RequiredAccess, Validators};
use crate::metrics::MetricSample;
use crate::net::Quota;

/// The cache of responses of one server.
pub(crate) struct ResponseCache {
    /// `None` without a budget.
    responses: Option<Responses>,
    hits: AtomicU64,
    misses: AtomicU64,
    /// Bytes of bodies that are recorded while they are sent.
    recordings: Arc<Quota>,
}

type Responses = Cache<ResponseKey, Arc<CachedResponse>, ResponseWeighter>;

/// How a server's memory for caches is divided, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBudget {
    /// For what is read from repositories.
    pub repositories: u64,
    /// For responses that are sent again.
    pub responses: u64,
}

/// What a key is made of. Each kind has its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequestKind {
    /// The head of a GET request, but for its credentials. The response is sent without asking a handler.
    Head,
    /// Everything that the response to an update report depends on. The handler writes the head.
    UpdateReport,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ResponseKey {
    instance: Instance,
    kind: RequestKind,
    request: Box<[u8]>,
}

/// As [`ResponseKey`], for a look-up.
#[derive(Hash)]
struct BorrowedKey<'a> {
    instance: Instance,
    kind: RequestKind,
    request: &'a [u8],
}

/// A stored response.
pub(crate) struct CachedResponse {
    pub(crate) validators: Validators,
    /// The head as it is sent, without the lines that differ each time; empty if a handler writes it.
    pub(crate) head: Box<[u8]>,
    pub(crate) body: Box<[Bytes]>,
    /// The request, for the access log; `None` if a handler answers it.
    pub(crate) logged: Option<LoggedRequest>,
}

/// What the access log shows of a request.
pub(crate) struct LoggedRequest {
    pub(crate) target: Box<str>,
    pub(crate) referer: Option<HeaderValue>,
    pub(crate) agent: Option<HeaderValue>,
}

#[derive(Clone)]
struct ResponseWeighter;

impl Weighter<ResponseKey, Arc<CachedResponse>> for ResponseWeighter {
    fn weight(&self, key: &ResponseKey, response: &Arc<CachedResponse>) -> u64 {
        (OVERHEAD + key.request.len() + response.bytes()) as u64
    }
}

impl Equivalent<ResponseKey> for BorrowedKey<'_> {
    fn equivalent(&self, key: &ResponseKey) -> bool {
        self.instance == key.instance && self.kind == key.kind && *self.request == *key.request
    }
}

impl MemoryBudget {
    /// Divides `bytes` for a server that serves HTTP or does not.
    pub fn new(bytes: u64, has_http: bool) -> MemoryBudget {
        let responses = match has_http {
            true => bytes / RESPONSES_PART,
            false => 0,
        };
        MemoryBudget {
            repositories: bytes - responses,
            responses,
        }
    }
}

impl ResponseCache {
    /// Makes a cache with a budget in bytes; with 0 it caches nothing.
    pub(crate) fn new(budget: u64) -> ResponseCache {
        let shards = (budget / MIN_SHARD).clamp(1, 16).next_power_of_two() as usize;
        let options = OptionsBuilder::new()
            .shards(shards)
            .estimated_items_capacity(
                usize::try_from(budget / 4096)
                    .unwrap_or(usize::MAX)
                    .clamp(16, 1 << 20),
            )
            .weight_capacity(budget)
            .build()
            .expect("because all mandatory options are given and in range");
        let with = |options| {
            let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
            Cache::with_options(options, ResponseWeighter, hasher, lifecycle)
        };
        ResponseCache {
            responses: (budget > 0).then(|| with(options)),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            recordings: Quota::new(MAX_RECORDED, MAX_RECORDED),
        }
    }

    /// Returns the response to a request, if there is one that the requester may have and that is still valid.
    ///
    /// # Errors
    /// Those of reading the revision properties that the response shows.
    pub(crate) fn get(
        &self,
        kind: RequestKind,
        request: &[u8],
        requester: &impl Requester,
    ) -> Result<Option<Arc<CachedResponse>>> {
        let Some(responses) = &self.responses else {
            return Ok(None);
        };
        let instance = requester.repository().instance();
        let response = responses.get(&BorrowedKey {
            instance,
            kind,
            request,
        });
        let response = match response {
            Some(response) => response.validators.hold_for(requester)?.then_some(response),
            None => None,
        };
        let counter = match response {
            Some(_) => &self.hits,
            None => &self.misses,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(response)
    }

    /// Stores the response to a request to the repository of this instance. `request` is the same for requests that get the same
    /// response while its validators hold, and for no others.
    pub(crate) fn insert(
        &self,
        instance: Instance,
        kind: RequestKind,
        request: &[u8],
        response: CachedResponse,
    ) {
        let request = request.into();
        let bytes = response.bytes() as u64;
        // One long response must not push out all others.
        let fits = |responses: &&Responses| bytes <= responses.shard_capacity() / LONGEST_PART;
        if let Some(responses) = self.responses.as_ref().filter(fits) {
            responses.insert(
                ResponseKey {
                    instance,
                    kind,
                    request,
                },
                Arc::new(response),
            );
        }
    }

    /// Returns a recording of a body that is sent.
    pub(crate) fn record(&self) -> BodyRecording {
        BodyRecording::new(&self.recordings)
    }

    /// Returns the bytes that all responses weigh.
    pub(crate) fn used(&self) -> u64 {
        self.responses.as_ref().map_or(0, Cache::weight)
    }

    /// Returns the counters since the server began.
    pub(crate) fn samples(&self) -> Vec<MetricSample> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        vec![MetricSample {
            name: "response_cache_lookups",
            help: "Requests to the cache of whole responses",
            grows: true,
            label: "result",
            values: vec![("hit", count(&self.hits)), ("miss", count(&self.misses))],
        }]
    }
}

impl CachedResponse {
    /// Returns about how many bytes of memory this takes.
    fn bytes(&self) -> usize {
        let body: usize = self
            .body
            .iter()
            .map(|piece| size_of::<Bytes>() + piece.len())
            .sum();
        let logged = self.logged.as_ref().map_or(0, |logged| logged.target.len());
        size_of::<CachedResponse>() + self.validators.bytes() + self.head.len() + logged + body
    }
}

/// The part of a server's memory for caches that responses get where HTTP is served: the divisor.
const RESPONSES_PART: u64 = 4;

/// The least capacity of a shard of the cache, if there is more than one, bytes.
const MIN_SHARD: u64 = 128 << 20;

/// The longest response is a part of a shard: the divisor.
const LONGEST_PART: u64 = 4;

/// Bytes of an entry beside its key and its response.
const OVERHEAD: usize = 160;

/// The limit on all recordings together, bytes: clients that read slowly must not fill the memory.
const MAX_RECORDED: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use base::{Date, FsPath, Revnum};
    use repos::{Cache as RepositoryCache, CreateOptions, Repository};

    use super::*;
    use crate::config::HttpOptions;

    /// A request; by default one that gets the response of [`response`].
    #[derive(Clone)]
    struct Request {
        repository: Repository,
        options: Arc<HttpOptions>,
        root: &'static str,
        may_read: bool,
    }

    impl Requester for Request {
        fn repository(&self) -> &Repository {
            &self.repository
        }

        fn options(&self) -> &Arc<HttpOptions> {
            &self.options
        }

        fn root(&self) -> &str {
            self.root
        }

        fn may_read(&self, access: &RequiredAccess) -> bool {
            matches!(access, RequiredAccess::Path(path) if path.as_str() == "/a") && self.may_read
        }
    }

    impl Request {
        fn is_hit(&self, cache: &ResponseCache, kind: RequestKind, request: &[u8]) -> bool {
            cache.get(kind, request, self).expect("readable").is_some()
        }
    }

    fn create(path: &Path, cache: &Arc<RepositoryCache>) -> Repository {
        repos::create(path, &CreateOptions::default(), Date(0)).expect("a new repository");
        Repository::open(path, cache).expect("it was created")
    }

    fn response(request: &Request, length: usize) -> CachedResponse {
        CachedResponse {
            validators: Validators {
                options: request.options.clone(),
                root: request.root.into(),
                access: RequiredAccess::Path(FsPath::canonicalize("/a").expect("a path")),
                youngest: None,
                date: None,
                sent_revisions: None,
            },
            head: Box::default(),
            body: vec![Bytes::from(vec![7; length])].into(),
            logged: None,
        }
    }

    fn request(folder: &Path) -> Request {
        Request {
            repository: create(&folder.join("repository"), &RepositoryCache::new(1 << 20)),
            options: Arc::default(),
            root: "/svn/repository",
            may_read: true,
        }
    }

    #[test]
    fn only_the_same_request_of_a_user_with_the_right_gets_a_response() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = ResponseCache::new(1 << 20);
        let same = request(folder.path());
        let instance = same.repository.instance();
        cache.insert(instance, RequestKind::Head, b"GET /a", response(&same, 10));
        let is_hit = |request: &Request| request.is_hit(&cache, RequestKind::Head, b"GET /a");
        assert!(is_hit(&same));
        assert!(!same.is_hit(&cache, RequestKind::Head, b"GET /b"));
        assert!(!same.is_hit(&cache, RequestKind::UpdateReport, b"GET /a"));
        let engine = RepositoryCache::new(1 << 20);
        let first = Request {
            repository: create(&folder.path().join("first"), &engine),
            ..same.clone()
        };
        cache.insert(
            first.repository.instance(),
            RequestKind::Head,
            b"GET /c",
            response(&first, 10),
        );
        assert!(first.is_hit(&cache, RequestKind::Head, b"GET /c"));
        let second = Request {
            repository: create(&folder.path().join("second"), &engine),
            ..first
        };
        assert!(!second.is_hit(&cache, RequestKind::Head, b"GET /c"));
        let others = [
            Request {
                may_read: false,
                ..same.clone()
            },
            Request {
                root: "/other/repository",
                ..same.clone()
            },
            Request {
                options: Arc::default(),
                ..same.clone()
            },
        ];
        for (at, other) in others.iter().enumerate() {
            assert!(!is_hit(other), "{at}");
        }
        assert!(is_hit(&same));
    }

    #[test]
    fn a_response_with_a_fact_that_no_longer_holds_is_not_sent() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = ResponseCache::new(1 << 20);
        let request = request(folder.path());
        let instance = request.repository.instance();
        let is_hit = |youngest, date| {
            let mut stored = response(&request, 10);
            stored.validators.youngest = youngest;
            stored.validators.date = date;
            cache.insert(instance, RequestKind::Head, b"GET /a", stored);
            request.is_hit(&cache, RequestKind::Head, b"GET /a")
        };
        let zero = Revnum(0);
        // The date is in the engine's cache.
        let date = request.repository.date(zero).expect("readable");
        assert!(date.is_some());
        assert!(is_hit(Some(zero), None));
        assert!(!is_hit(Some(Revnum(1)), None));
        assert!(is_hit(None, Some((zero, date))));
        assert!(!is_hit(None, Some((zero, None))));
        assert!(!is_hit(None, Some((zero, Some(Date(1))))));
        assert!(!is_hit(None, Some((Revnum(1), date))));
    }

    #[test]
    fn the_budget_bounds_all_responses() {
        let folder = tempfile::tempdir().expect("a folder");
        let request = request(folder.path());
        let instance = request.repository.instance();
        let cache = ResponseCache::new(1 << 20);
        for at in 0..1000_u32 {
            cache.insert(
                instance,
                RequestKind::Head,
                &at.to_be_bytes(),
                response(&request, 10_000),
            );
        }
        assert!(
            cache.used() <= 1 << 20 && cache.used() > 1 << 18,
            "{}",
            cache.used()
        );
        cache.insert(
            instance,
            RequestKind::Head,
            b"long",
            response(&request, 300 << 10),
        );
        assert!(!request.is_hit(&cache, RequestKind::Head, b"long"));
        let none = ResponseCache::new(0);
        none.insert(instance, RequestKind::Head, b"GET /a", response(&request, 10));
        assert!(!request.is_hit(&none, RequestKind::Head, b"GET /a") && none.used() == 0);
    }

    #[test]
    fn only_http_takes_a_part_of_the_memory() {
        assert_eq!(MemoryBudget::new(100, false).repositories, 100);
        let both = MemoryBudget::new(100, true);
        assert_eq!((both.repositories, both.responses), (75, 25));
    }
}
