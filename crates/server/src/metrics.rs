//! What the process counts, for Prometheus.
//!
//! Operations are counted under the first word of their line in the operational log, requests that have none under their
//! method: both are words of ours, so that no client can make up labels. What others count already (connections, threads,
//! the cache) is looked at when somebody asks.

use std::fmt;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::http::METHODS;

/// Upper ends, in seconds.
const BUCKETS: [f64; 15] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0,
];

/// By protocol and operation.
type OfOperation = [(&'static str, &'static str); 2];
type Seconds = Family<OfOperation, Histogram, fn() -> Histogram>;

/// Everything that is counted where it happens.
pub(crate) struct Metrics {
    registry: Registry,
    seconds: Seconds,
    failed: Family<OfOperation, Counter>,
    received: Family<[(&'static str, &'static str); 1], Counter>,
    sent: Family<OfOperation, Counter>,
    commits: Counter,
    locks: Family<[(&'static str, &'static str); 1], Counter>,
    connections: Family<[(&'static str, &'static str); 1], Gauge<i64, AtomicI64>>,
}

/// Which way clients came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Svn,
    Http,
    Https,
}

impl Protocol {
    fn word(self) -> &'static str {
        match self {
            Protocol::Svn => "svn",
            Protocol::Http => "http",
            Protocol::Https => "https",
        }
    }
}

/// Something that was done.
pub(crate) struct Done {
    pub(crate) protocol: Protocol,
    /// One of our own words.
    pub(crate) operation: &'static str,
    pub(crate) took: Duration,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) failed: bool,
}

impl Default for Metrics {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let mut metrics = Metrics {
            registry: Registry::with_prefix("sven"),
            seconds: Family::new_with_constructor(histogram),
            failed: Family::default(),
            received: Family::default(),
            sent: Family::default(),
            commits: Counter::default(),
            locks: Family::default(),
            connections: Family::default(),
        };
        let Metrics {
            registry,
            seconds,
            failed,
            received,
            sent,
            commits,
            locks,
            connections,
        } = &mut metrics;
        registry.register_with_unit(
            "operation",
            "Time from a request's head to its last byte",
            Unit::Seconds,
            seconds.clone(),
        );
        registry.register(
            "operations_failed",
            "Operations that ended in an error",
            failed.clone(),
        );
        registry.register_with_unit("received", "Bytes of requests", Unit::Bytes, received.clone());
        registry.register_with_unit("sent", "Bytes of answers", Unit::Bytes, sent.clone());
        registry.register("commits", "Revisions made", commits.clone());
        registry.register("locks", "Requests that locked or unlocked", locks.clone());
        registry.register("connections", "Clients that are connected", connections.clone());
        metrics
    }
}

impl Metrics {
    pub(crate) fn count(&self, done: &Done) {
        let protocol = ("protocol", done.protocol.word());
        let labels = [protocol, ("operation", done.operation)];
        let seconds = done.took.as_secs_f64();
        self.seconds.get_or_create(&labels).observe(seconds);
        if done.failed {
            self.failed.get_or_create(&labels).inc();
        }
        if done.received > 0 {
            self.received.get_or_create(&[protocol]).inc_by(done.received);
        }
        self.sent.get_or_create(&labels).inc_by(done.sent);
        match done.operation {
            "commit" if !done.failed => _ = self.commits.inc(),
            "lock" | "unlock" => _ = self.locks.get_or_create(&[("operation", done.operation)]).inc(),
            _ => {}
        }
    }

    /// One more connection, until the answer is dropped.
    pub(crate) fn connected(&self, protocol: Protocol) -> Connected {
        let gauge = self
            .connections
            .get_or_create_owned(&[("protocol", protocol.word())]);
        gauge.inc();
        Connected(gauge)
    }

    /// All that is counted, with what is looked at now, as Prometheus reads it.
    pub(crate) fn text(&self, now: &[Look]) -> String {
        let mut text = String::new();
        let mut looked = Registry::with_prefix("sven");
        looked.register_collector(Box::new(Looks(now.to_vec())));
        // Neither writing to a string nor what is registered can fail.
        _ = encode(&mut text, &self.registry);
        if let Some(end) = text.rfind("# EOF") {
            text.truncate(end);
        }
        _ = encode(&mut text, &looked);
        text
    }
}

/// A connection that counts.
pub(crate) struct Connected(Gauge<i64, AtomicI64>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Something that others know: its name, what it is, whether it only grows, and its values by label.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) grows: bool,
    pub(crate) label: &'static str,
    pub(crate) values: Vec<(&'static str, u64)>,
}

impl Look {
    /// Of threads, and of those among them that wait for their clients.
    pub(crate) fn threads(name: &'static str, count: Option<(usize, usize)>) -> Look {
        let (all, waiting) = count.unwrap_or_default();
        Look {
            name,
            help: "Threads that answer, and those of them that wait for slow clients",
            grows: false,
            label: "state",
            values: vec![("all", all as u64), ("waiting", waiting as u64)],
        }
    }
}

#[derive(Debug)]
struct Looks(Vec<Look>);

impl Collector for Looks {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for look in &self.0 {
            let count = ConstCounter::new(0u64);
            let gauge = ConstGauge::new(0i64);
            let kind = if look.grows {
                count.metric_type()
            } else {
                gauge.metric_type()
            };
            let mut metric = encoder.encode_descriptor(look.name, look.help, None, kind)?;
            for (label, value) in &look.values {
                let labels = [(look.label, *label)];
                let labels = if look.label.is_empty() {
                    &labels[..0]
                } else {
                    &labels[..]
                };
                let one = metric.encode_family(&labels)?;
                match look.grows {
                    true => ConstCounter::new(*value).encode(one)?,
                    false => ConstGauge::new(i64::try_from(*value).unwrap_or(i64::MAX)).encode(one)?,
                }
            }
        }
        Ok(())
    }
}

/// Only our own words are labels: the first of a line of the operational log, or a method.
pub(crate) fn operation_word(text: &str) -> &'static str {
    let first = text.split(' ').next().unwrap_or_default();
    WORDS
        .iter()
        .chain(&METHODS)
        .find(|word| **word == first)
        .copied()
        .unwrap_or("other")
}

/// As the operational log has them.
const WORDS: [&str; 32] = [
    "checkout-or-export",
    "update",
    "switch",
    "status",
    "diff",
    "commit",
    "lock",
    "unlock",
    "log",
    "get-file",
    "get-dir",
    "get-locations",
    "get-location-segments",
    "get-file-revs",
    "get-mergeinfo",
    "get-inherited-props",
    "get-deleted-rev",
    "get-latest-rev",
    "get-dated-rev",
    "get-lock",
    "get-locks",
    "get-iprops",
    "change-rev-prop",
    "rev-prop",
    "rev-proplist",
    "replay",
    "replay-range",
    "list",
    "stat",
    "check-path",
    "reparent",
    "open",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_told() {
        let metrics = Metrics::default();
        let done = |operation, failed| Done {
            protocol: Protocol::Https,
            operation: operation_word(operation),
            took: Duration::from_millis(3),
            received: 10,
            sent: 20,
            failed,
        };
        metrics.count(&done("commit r7", false));
        metrics.count(&done("commit r8", true));
        metrics.count(&done("lock (/a)", false));
        metrics.count(&done("../evil\n{}\"", false));
        let held = metrics.connected(Protocol::Svn);
        let looks = [Look {
            name: "cache_lookups",
            help: "Questions to the cache",
            grows: true,
            label: "result",
            values: vec![("hit", 5), ("miss", 6)],
        }];
        let text = metrics.text(&looks);
        for line in [
            "sven_commits_total 1\n",
            "sven_operation_seconds_count{protocol=\"https\",operation=\"commit\"} 2\n",
            "sven_operation_seconds_bucket{le=\"0.005\",protocol=\"https\",operation=\"commit\"} 2\n",
            "sven_operations_failed_total{protocol=\"https\",operation=\"commit\"} 1\n",
            "sven_sent_bytes_total{protocol=\"https\",operation=\"other\"} 20\n",
            "sven_received_bytes_total{protocol=\"https\"} 40\n",
            "sven_locks_total{operation=\"lock\"} 1\n",
            "sven_connections{protocol=\"svn\"} 1\n",
            "sven_cache_lookups_total{result=\"hit\"} 5\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(
            text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1,
            "{text}"
        );
        drop(held);
        assert!(
            metrics
                .text(&[])
                .contains("sven_connections{protocol=\"svn\"} 0\n")
        );
    }
}
