//! Logs, metrics and health.

use std::collections::BTreeMap;

use server::config::Provider;

use super::auth::{basic, closed};
use super::site::{RawClient, TestSite, request, status_of};

#[test]
fn requests_are_logged() {
    let site = TestSite::plain();
    let path = site.path("access.log");
    let log = server::AccessLog::open(&path).expect("a log");
    site.service.set_access_log(Some(log));
    let (status, text) = site.ask(
        "OPTIONS",
        "/repo/trunk?p=1",
        "User-Agent: a \"test\"\r\nReferer: here\r\n",
    );
    assert_eq!(status, 200);
    let id = text.to_lowercase();
    let id = id
        .split("x-request-id: ")
        .nth(1)
        .and_then(|rest| rest.split('\r').next());
    let id = id.expect("the answer names the request").to_owned();
    site.ask("OPTIONS", "/nowhere", "");
    let read = |name: &str, count: usize| {
        for _ in 0..200 {
            let text = std::fs::read_to_string(site.path(name)).unwrap_or_default();
            if text.lines().count() >= count {
                return text;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{name} has fewer than {count} lines");
    };
    read("access.log", 2);
    std::fs::rename(&path, site.path("old.log")).expect("renamed");
    site.service.hang_up();
    site.ask("OPTIONS", "/repo", "");
    let old = read("old.log", 2);
    let first = old.lines().find(|line| line.contains("/repo/trunk"));
    let first = first.expect("it was asked");
    assert!(first.starts_with("127.0.0.1 - - ["), "{first}");
    assert!(
        first.contains("\"OPTIONS /repo/trunk?p=1 HTTP/1.1\" 200 - \"here\" \"a \\\"test\\\"\" "),
        "{first}"
    );
    assert!(first.contains(&id), "{first}");
    assert!(old.contains("\"OPTIONS /nowhere HTTP/1.1\" 404 "), "{old}");
    assert_eq!(read("access.log", 1).lines().count(), 1);
}

#[test]
fn status_pages_show_health_and_metrics() {
    let site = TestSite::plain();
    site.ask("OPTIONS", "/repo", "");
    let ask = |path: &str| {
        let mut client = RawClient::to(site.status);
        client.send(request("GET", path, "Connection: close\r\n"));
        client.rest()
    };
    assert!(ask("/-/health").ends_with("ok\n"));
    assert!(ask("/-/ready").ends_with("ready\n"));
    // A request is counted when it has ended.
    let counted = "operation=\"OPTIONS\"} ";
    let metrics = (0..100)
        .map(|_| ask("/-/metrics"))
        .find(|text| text.contains(counted));
    let metrics = metrics.expect("it is counted");
    for line in [
        "sven_operation_seconds_count{protocol=\"http\",operation=\"OPTIONS\"} 1",
        "sven_cache_lookups_total{result=\"hit\"} ",
        "sven_delta_windows_total{origin=\"stored\"} ",
        "sven_http_threads{state=\"all\"} ",
        "sven_svn_threads{state=\"waiting\"} 0",
        "sven_connections{protocol=\"http\"} ",
        "sven_cache_bytes ",
        "# EOF\n",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    assert_eq!(status_of(&ask("/repo")), 404, "repositories are not there");
    assert_eq!(
        site.ask("GET", "/-/metrics", "").0,
        404,
        "nor are metrics elsewhere"
    );
    std::fs::rename(site.path("repos"), site.path("gone")).expect("renamed");
    assert_eq!(status_of(&ask("/-/ready")), 503);
    assert_eq!(status_of(&ask("/-/health")), 200);
}

#[test]
fn status_pages_can_be_on_all_listeners() {
    let site = TestSite::new(|plan, _| plan.options.status = true);
    assert_eq!(site.ask("GET", "/-/health", "").0, 200);
    assert_eq!(site.ask("HEAD", "/-/metrics", "").0, 200);
    assert_eq!(site.ask("POST", "/-/health", "").0, 405);
    assert_eq!(site.ask("GET", "/-/else", "").0, 404);
}

/// The rows of the table in docs/METRICS.md: name, type and labels. Those of clusters have a test with a cluster.
fn documented_metrics() -> BTreeMap<&'static str, (&'static str, Vec<&'static str>)> {
    let page = include_str!("../../../../docs/METRICS.md");
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| `sven_") && !line.starts_with("| `sven_cluster_"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let labels = cells[3].split(", ").map(|label| label.trim_matches('`'));
        (
            cells[1].trim_matches('`'),
            (cells[2], labels.filter(|label| *label != "–").collect()),
        )
    })
    .collect()
}

#[test]
fn the_page_has_each_metric_and_no_other() {
    let site = TestSite::new(|plan, folder| {
        let passwd = folder.join("passwd");
        std::fs::write(&passwd, "[users]\nalice = secret\n").expect("written");
        closed(plan, vec![Provider::Passwd(passwd)]);
    });
    let who = basic("alice", "secret");
    assert_eq!(site.ask("GET", "/nowhere", &who).0, 404);
    let body = "<D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/></D:lockscope>\
        <D:locktype><D:write/></D:locktype></D:lockinfo>";
    let headers = format!("{who}Content-Length: {}\r\nConnection: close\r\n", body.len());
    let mut client = site.connect();
    client.send(request("LOCK", "/repo/trunk/a.txt", &headers) + body);
    assert_eq!(status_of(&client.rest()), 200);
    let ask = || {
        let mut client = RawClient::to(site.status);
        client.send(request("GET", "/-/metrics", "Connection: close\r\n"));
        client.rest()
    };
    // A metric with labels is exposed as soon as it has counted something.
    let counted = [
        "sven_operations_failed_total{",
        "sven_received_bytes_total{",
        "sven_locks_total{",
    ];
    let all = |text: &String| counted.iter().all(|name| text.contains(name));
    let text = (0..100).map(|_| ask()).find(all).expect("they are counted");
    let documented = documented_metrics();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let exposed = types.filter_map(|line| line.split_once(' '));
    let exposed: BTreeMap<String, &str> = exposed
        .map(|(name, kind)| match kind {
            "counter" => (format!("{name}_total"), kind),
            _ => (name.to_owned(), kind),
        })
        .collect();
    let described: BTreeMap<String, &str> = documented
        .iter()
        .map(|(name, (kind, _))| ((*name).to_owned(), *kind))
        .collect();
    assert_eq!(described, exposed);
    for line in text.lines().filter(|line| line.starts_with("sven_")) {
        let (series, _) = line.split_once(' ').expect("a value");
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let row = documented.iter().find(|(row, (kind, _))| {
            *row == &name || *kind == "histogram" && name.starts_with(&format!("{row}_"))
        });
        let (_, (_, expected)) = row.expect("each metric has a row");
        let found = labels.split(',').filter_map(|label| label.split_once('='));
        let found: Vec<&str> = found
            .map(|(label, _)| label)
            .filter(|label| *label != "le")
            .collect();
        assert_eq!(&found, expected, "{line}");
    }
}
