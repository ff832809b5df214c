//! Dates as revisions: random sequences of revision dates, ascending or not, compared with Subversion over both
//! protocols and with `svnadmin`.
//!
//! The default run is a small part; `DATED_SEEDS=0..2000 cargo test -p sven --test interop
//! dates_find_the_same_revisions` runs more.
//!
//! What every run asks is a small part; `DATED_SEEDS=0..2000 cargo test -p sven --test interop dates_find_the_same_revisions` asks more.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use testkit::history::Random;
use testkit::probe::{Probe, ProbeItem, text};
use testkit::server::TestServer;
use testkit::{Side, Tool, runs_all_cases, scratch};

use crate::http::raw_http::HttpConnection;

/// The youngest revisions of the served repositories.
const YOUNGEST: [u64; 9] = [0, 1, 2, 3, 5, 6, 9, 14, 31];

/// The servers of one side, and a connection over HTTP.
struct DateServers {
    side: Side,
    svn: Arc<TestServer>,
    http: TestServer,
    connection: HttpConnection,
}

impl DateServers {
    fn open(side: Side, root: &Path) -> DateServers {
        let http = TestServer::http(side, root, testkit::server::http::READ_FREELY, &[]);
        DateServers {
            side,
            svn: Arc::new(TestServer::svnserve(side, root, &[])),
            connection: HttpConnection::new(http.port()),
            http,
        }
    }

    /// Returns the results for these dates over each protocol.
    fn all(&mut self, root: &Path, name: &str, dates: &[String], with_admin: bool) -> Vec<String> {
        assert!(self.http.is_alive(), "{:?} died", self.side);
        let url = format!("svn://localhost/{name}");
        // A new process of Subversion's server, without cached properties.
        let mut probe = Probe::connect_as(Arc::clone(&self.svn), url, None);
        let mut reported = Vec::new();
        for date in dates {
            let response: ProbeItem = probe.request("get-dated-rev", vec![text(date)]);
            reported.push(format!("svn {response:?}"));
            let body = format!(
                "<S:dated-rev-report xmlns:S=\"svn:\" xmlns:D=\"DAV:\"><D:creationdate>{date}</D:creationdate>\
                 </S:dated-rev-report>"
            );
            let headers = [("Content-Type", "text/xml")];
            let url = format!("/{name}/!svn/me");
            let response = self.connection.send_request("REPORT", &url, &headers, &body);
            reported.push(format!("http {}", response.shown(&[])));
        }
        if with_admin && let Some(date) = dates.first() {
            let range = format!("{{{date}}}");
            let dumped = self
                .side
                .tool("svnadmin")
                .args(["dump", "-q", "-r", &range])
                .arg(root.join(name))
                .run();
            reported.push(format!("dump {} {}{}", dumped.code, dumped.out(), dumped.err()));
        }
        reported
    }
}

/// Dates in forms that nothing writes.
const FORMS: [&str; 6] = [
    "10000-01-01T00:00:00.000000Z",
    "9999-12-31T23:59:59.999999Z",
    "292277-01-09T04:00:54.775807Z",
    "2004-6-15T0:0:0.12Z",
    "2004-06-15T00:00:00.000000Z and more",
    "Sat 5 Aug 2006 13:07:22.123456 (day 217, dst 1, gmt_off -25200)",
];

/// Returns a date with microseconds.
fn day(year: usize, month: usize) -> String {
    format!("{:04}-{month:02}-15T00:00:00.000000Z", 2000 + year)
}

/// Returns a random date of a revision; `None` for no date.
fn date(random: &mut Random, span: usize, odd: bool) -> Option<String> {
    if odd {
        match random.below(20) {
            0 => return None,
            1 => return Some("nonsense".to_owned()),
            2 => return Some(String::new()),
            3 => return Some("2003-02-30T00:00:00.000000Z".to_owned()),
            4 => return Some("2003-02-20T00:00:00Z".to_owned()),
            5 => return Some(FORMS[random.below(FORMS.len())].to_owned()),
            _ => {}
        }
    }
    Some(day(random.below(span), 6))
}

/// Sets the date as the only property of a revision.
fn set(repository: &Path, rev: usize, date: Option<&str>) {
    let mut properties = String::new();
    if let Some(date) = date {
        _ = write!(properties, "K 8\nsvn:date\nV {}\n{date}\n", date.len());
    }
    properties += "END\n";
    let file = repository.join(format!("db/revprops/0/{rev}"));
    let new = file.with_extension("new");
    fs::write(&new, properties).expect("because the repository is ours");
    fs::rename(&new, &file).expect("because the repository is ours");
}

fn run(seeds: Range<u64>) -> usize {
    let root = scratch();
    for youngest in YOUNGEST {
        let repository = root.path().join(format!("y{youngest}"));
        testkit::create_repository(&repository);
        let mut stream = String::from("SVN-fs-dump-format-version: 2\n\n");
        for rev in 0..=youngest {
            let lengths = "Prop-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n";
            _ = write!(stream, "Revision-number: {rev}\n{lengths}");
        }
        Tool::new("svnadmin")
            .args(["load", "-q"])
            .arg(&repository)
            .stdin(stream)
            .ok();
    }
    let mut sides = Side::BOTH.map(|side| DateServers::open(side, root.path()));
    let mut requested = 0;
    for seed in seeds {
        let mut random = Random::new(seed ^ 0xda7e);
        random.next();
        let youngest = YOUNGEST[random.below(YOUNGEST.len())];
        let (name, span) = (format!("y{youngest}"), [3, 6, 20][random.below(3)]);
        let odd = random.below(3) == 0;
        let mut dates: Vec<Option<String>> = (0..=youngest).map(|_| date(&mut random, span, odd)).collect();
        if random.below(4) == 0 {
            dates.sort();
        }
        for (rev, date) in dates.iter().enumerate() {
            set(&root.path().join(&name), rev, date.as_deref());
        }
        let wanted: Vec<String> = (0..4)
            .map(|_| match random.below(20) {
                0 => day(0, 1),
                1 => day(60, 1),
                2 => FORMS[random.below(FORMS.len())].to_owned(),
                _ => {
                    let year = random.below(span);
                    day(year, [5, 6, 6, 7][random.below(4)])
                }
            })
            .collect();
        let with_admin = seed % 4 == 0;
        let [theirs, ours] = sides
            .each_mut()
            .map(|side| side.all(root.path(), &name, &wanted, with_admin));
        assert_eq!(theirs, ours, "seed {seed}: {wanted:?} in {dates:?}");
        requested += theirs.len();
    }
    requested
}

#[test]
fn dates_find_the_same_revisions() {
    let count = if runs_all_cases() { 80 } else { 24 };
    eprintln!("{} questions", run(testkit::seeds("DATED_SEEDS", 0..count)));
}
