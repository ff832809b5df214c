//! Logs, metrics and health.

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
