//! Replay reports with and without `include-path`, at several URLs: the path is one of the repository, whatever the URL is.

use std::fmt::Write as _;

use super::served::twins;
use super::webdav_clients::ALICE;

#[test]
fn replays_of_a_path_are_apaches() {
    let [theirs, ours] = twins().map(|served| {
        let mut out = String::new();
        for url in ["/r", "/r/a", "/r/a/b", "/r/!svn/me", "/r/!svn/bc/1/a", "/r/!svn/rvr/1/a/b"] {
            for include in [None, Some(""), Some("a"), Some("a/b"), Some("b"), Some("none")] {
                let element = include.map(|path| format!("<S:include-path>{path}</S:include-path>"));
                let body = format!(
                    "<S:replay-report xmlns:S='svn:'><S:revision>1</S:revision>{}<S:low-water-mark>0</S:low-water-mark>\
                     <S:send-deltas>0</S:send-deltas></S:replay-report>",
                    element.unwrap_or_default()
                );
                let response = served.send_request("REPORT", url, &[ALICE], &body);
                let edit = String::from_utf8_lossy(&response.body).into_owned();
                _ = writeln!(out, "{url} {include:?}: {} {edit}", response.status);
            }
        }
        out
    });
    crate::pair::compare(&theirs, &ours);
}
