//! The counters of the process, for Prometheus.
//!
//! An operation is counted under the first word of its line in the operational log, a request without such a line under its method
//! ([`labels`]). Numbers that other parts hold (threads, the cache) are sampled when the metrics are read.
//!
//! This module knows no protocol and no part of the server: each part registers its samples ([`Metrics::watch`]).

mod labels;

use std::fmt;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

pub(crate) use self::labels::{METHODS, operation_word};

/// Upper bounds of the histogram's buckets, in seconds.
const BUCKETS: [f64; 15] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0,
];

/// Labels for the protocol and the operation.
type OfOperation = [(&'static str, &'static str); 2];
type Seconds = Family<OfOperation, Histogram, fn() -> Histogram>;

/// Makes samples when the metrics are read.
type SampleSource = Box<dyn Fn() -> Vec<MetricSample> + Send>;

/// The counters of the process, and the sources of its samples.
pub(crate) struct Metrics {
    registry: Registry,
    seconds: Seconds,
    failed: Family<OfOperation, Counter>,
    received: Family<[(&'static str, &'static str); 1], Counter>,
    sent: Family<OfOperation, Counter>,
    commits: Counter,
    locks: Family<[(&'static str, &'static str); 1], Counter>,
    connections: Family<[(&'static str, &'static str); 1], Gauge<i64, AtomicI64>>,
    sources: Mutex<Vec<SampleSource>>,
}

/// The protocol of a connection.
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

/// An operation that has ended.
pub(crate) struct FinishedOperation {
    pub(crate) protocol: Protocol,
    /// A label, as [`operation_word`] returns it.
    pub(crate) operation: &'static str,
    pub(crate) took: Duration,
    /// Bytes of the request's body, or of the command.
    pub(crate) received: u64,
    /// Bytes of the response's body, or of the response.
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
            sources: Mutex::default(),
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
            ..
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
    /// Counts an operation.
    pub(crate) fn count(&self, done: &FinishedOperation) {
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

    /// Counts a connection until the result is dropped.
    pub(crate) fn connected(&self, protocol: Protocol) -> ConnectionCount {
        let gauge = self
            .connections
            .get_or_create_owned(&[("protocol", protocol.word())]);
        gauge.inc();
        ConnectionCount(gauge)
    }

    /// Adds a source of samples.
    pub(crate) fn watch(&self, source: impl Fn() -> Vec<MetricSample> + Send + 'static) {
        self.sources.lock().push(Box::new(source));
    }

    /// Returns counters and samples in the text format of Prometheus.
    pub(crate) fn text(&self) -> String {
        let samples = self.sources.lock().iter().flat_map(|source| source()).collect();
        let mut text = String::new();
        let mut sampled = Registry::with_prefix("sven");
        sampled.register_collector(Box::new(SampleCollector(samples)));
        // Neither writing to a string nor what is registered can fail.
        _ = encode(&mut text, &self.registry);
        if let Some(end) = text.rfind("# EOF") {
            text.truncate(end);
        }
        _ = encode(&mut text, &sampled);
        text
    }
}

/// A counted connection. The count goes down when it is dropped.
pub(crate) struct ConnectionCount(Gauge<i64, AtomicI64>);

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Numbers that another part of the server holds, sampled now.
#[derive(Clone, Debug)]
pub struct MetricSample {
    /// The name without the prefix `sven_`, and without `_total` for a counter.
    pub name: &'static str,
    /// What is counted.
    pub help: &'static str,
    /// A counter; otherwise a gauge.
    pub grows: bool,
    /// The name of the label; empty for a single value.
    pub label: &'static str,
    /// The values, each with its label's value.
    pub values: Vec<(&'static str, u64)>,
}

impl MetricSample {
    /// Returns the sample of a thread pool: how many threads there are, and how many of them wait for clients.
    pub(crate) fn threads(name: &'static str, count: Option<(usize, usize)>) -> MetricSample {
        let (all, waiting) = count.unwrap_or_default();
        MetricSample {
            name,
            help: "Threads that answer, and those of them that wait for slow clients",
            grows: false,
            label: "state",
            values: vec![("all", all as u64), ("waiting", waiting as u64)],
        }
    }

    /// Returns a gauge with a single value.
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> MetricSample {
        MetricSample {
            name,
            help,
            grows: false,
            label: "",
            values: vec![("", value)],
        }
    }
}

#[derive(Debug)]
struct SampleCollector(Vec<MetricSample>);

impl Collector for SampleCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for sample in &self.0 {
            let count = ConstCounter::new(0u64);
            let gauge = ConstGauge::new(0i64);
            let kind = if sample.grows {
                count.metric_type()
            } else {
                gauge.metric_type()
            };
            let mut metric = encoder.encode_descriptor(sample.name, sample.help, None, kind)?;
            for (label, value) in &sample.values {
                let labels = [(sample.label, *label)];
                let labels = if sample.label.is_empty() {
                    &labels[..0]
                } else {
                    &labels[..]
                };
                let one = metric.encode_family(&labels)?;
                match sample.grows {
                    true => ConstCounter::new(*value).encode(one)?,
                    false => ConstGauge::new(i64::try_from(*value).unwrap_or(i64::MAX)).encode(one)?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_connections_and_samples_are_in_the_text() {
        let metrics = Metrics::default();
        let done = |operation, failed| FinishedOperation {
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
        let sample = MetricSample {
            name: "cache_lookups",
            help: "Questions to the cache",
            grows: true,
            label: "result",
            values: vec![("hit", 5), ("miss", 6)],
        };
        metrics.watch(move || vec![sample.clone()]);
        let text = metrics.text();
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
        assert!(metrics.text().contains("sven_connections{protocol=\"svn\"} 0\n"));
    }
}
