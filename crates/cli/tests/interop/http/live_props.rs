//! Live properties of revisions with unusual stored values, compared with Apache.

use std::fmt::Write as _;
use std::fs;

use testkit::server::TestServer;
use testkit::{Side, Tool, scratch};

use super::raw_http::send_request;

/// Values of `svn:date`; `None` for no property.
const DATES: [Option<&str>; 14] = [
    Some("2015-01-02T03:04:05.0Z"),
    Some("2015-01-02T03:04:05Z"),
    Some("2015-01-02T03:04:05.123456789Z"),
    Some("2015-01-02T03:04:05.12Z"),
    Some("garbage"),
    Some(""),
    Some("2015-01-02"),
    Some("  2015-01-02T03:04:05.000000Z"),
    Some("2015-13-45T99:99:99.000000Z"),
    Some("2015-01-02T03:04:05.000000+02:00"),
    None,
    Some("2015-01-02T03:04:05.000000Z\n"),
    Some("<&>"),
    Some("1969-12-31T23:59:59.000001Z"),
];

const ALL: &str = "<propfind xmlns='DAV:'><allprop/></propfind>";
const DATED: &str = "<propfind xmlns='DAV:'><prop><creationdate/><getlastmodified/></prop></propfind>";

#[test]
fn unusual_dates_are_sent_as_stored() {
    let root = scratch();
    let repository = root.path().join("r");
    testkit::create_repository(&repository);
    let url = format!("file://{}", repository.display());
    for (nth, date) in DATES.iter().enumerate() {
        Tool::new("svnmucc")
            .args(["-m", "made", "-U", &url, "mkdir"])
            .arg(format!("d{nth}"))
            .arg("put")
            .arg(repository.join("format"))
            .arg(format!("d{nth}/f"))
            .ok();
        // Stored without any check.
        let date = date.map_or(String::new(), |date| {
            format!("K 8\nsvn:date\nV {}\n{date}\n", date.len())
        });
        let file = repository.join(format!("db/revprops/0/{}", nth + 1));
        fs::remove_file(&file).expect("because the revision was just made");
        fs::write(&file, format!("{date}K 7\nsvn:log\nV 4\nmade\nEND\n")).expect("because it is ours");
    }
    let [theirs, ours] = Side::BOTH.map(|side| {
        let server = TestServer::http(side, root.path(), "", &[]);
        let mut reported = String::new();
        for nth in 0..DATES.len() {
            let rev = nth + 1;
            for path in [
                format!("!svn/rev/{rev}"),
                format!("!svn/bln/{rev}"),
                format!("d{nth}"),
                format!("d{nth}/f"),
                format!("!svn/rvr/{rev}/d{nth}/f"),
            ] {
                for body in [ALL, DATED] {
                    let headers = [("Depth", "0"), ("User-Agent", "SVN/1.14.2")];
                    let response =
                        send_request(server.port(), "PROPFIND", &format!("/r/{path}"), &headers, body);
                    _ = writeln!(reported, "{path} {}", response.shown(&[]));
                }
            }
        }
        reported
    });
    crate::pair::compare(&theirs, &ours);
}
