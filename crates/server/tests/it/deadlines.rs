//! Browser pages that take too long: the time limit ends a comparison, and the page says so.

use std::time::Duration;

use testkit::Tool;

use super::site::TestSite;

/// A header that only browsers send.
const BROWSER: &str = "Accept: text/html\r\n";
/// Lines of a text that takes seconds to compare with another.
const LINES: u32 = 60_000;

/// A site whose pages may take `limit`. Its repository has two revisions of `/long` without common runs of lines.
fn site(limit: Duration) -> TestSite {
    let site = TestSite::new(|plan, _| plan.options.web.time_limit = limit);
    let url = format!("file://{}", site.path("repos/repo").display());
    for seed in [1, 2] {
        let put = ["-m", "text", "-U", &url, "--", "put", "-", "long"];
        Tool::new("svnmucc").args(put).stdin(text(seed)).ok();
    }
    site
}

/// Numbers of four digits in random order.
fn text(seed: u32) -> String {
    let mut state = seed;
    let mut number = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    (0..LINES)
        .map(|_| format!("{:04}\n", number() % 10_000))
        .collect()
}

fn page(site: &TestSite, target: &str) -> String {
    let (status, text) = site.ask("GET", target, BROWSER);
    assert_eq!(status, 200, "{target}: {text}");
    text
}

#[test]
fn a_comparison_ends_with_the_time_limit() {
    let site = site(Duration::from_millis(50));
    let revision = page(&site, "/repo/?view=revision&p=3");
    assert!(
        revision.contains("The whole difference is too long to be shown here."),
        "the difference was made to its end"
    );
    let blame = page(&site, "/repo/long?view=blame");
    assert!(
        blame.contains("This file has too much history to be shown here."),
        "the difference was made to its end"
    );
}

#[test]
fn a_log_ends_with_the_time_limit_and_can_go_on() {
    let site = site(Duration::ZERO);
    for rev in [3, 2, 1] {
        let log = page(&site, &format!("/repo/?view=log&from={rev}"));
        let entries: Vec<u32> = (0..=3)
            .filter(|rev| log.contains(&format!("<strong>r{rev}</strong>")))
            .collect();
        assert_eq!(entries, [rev], "{log}");
        assert!(log.contains(&format!("from={}", rev - 1)), "{log}");
    }
}

#[test]
fn short_texts_are_compared_within_the_usual_limit() {
    let site = TestSite::plain();
    let revision = page(&site, "/repo/?view=revision&p=1");
    assert!(!revision.contains("too long"), "{revision}");
    let blame = page(&site, "/repo/trunk/a.txt?view=blame");
    assert!(
        blame.contains("This is a.") && !blame.contains("too much"),
        "{blame}"
    );
}
