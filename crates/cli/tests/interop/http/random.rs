//! Random reports about random histories: the responses of Apache and Sven are equal, except for undefined orders and
//! the bytes of deltas.
//!
//! The default run is a small part; `ASK_SEEDS=100..200 cargo test -p sven --test interop random_reports_by_hand` runs
//! more. `ASK_ONLY=update,list` selects kinds of requests, `ASK_ROUNDS` and `ASK_REVS` set their number and the
//! length of the histories, `ASK_GO_ON` counts differences instead of stopping at the first. With `ASK_AUTHZ` random
//! authz files restrict reading, for anonymous users and alice in turns. `ASK_BRANCHES` uses histories of branches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use testkit::history::Random;
use testkit::random_history::{self, RandomHistory};
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Repo, Side, runs_all_cases, scratch};
use wire::dav::xml::{Element, XmlLimits};

use super::edits::{self, text, url};
use super::raw_http::{HttpConnection, HttpResponse};
use super::webdav_clients::ALICE;
use crate::random::drive::{self, EditFacts};
use crate::random::lock;
use crate::random::report::{self, ReportOperation};
use crate::random::rules;

/// A request, and whether the order of the response's elements is significant.
struct ReportRequest {
    kind: &'static str,
    method: &'static str,
    url: String,
    body: String,
    depth: &'static str,
    ordered: bool,
    /// For an update report: the paths whose order the response follows.
    reported: BTreeSet<String>,
    /// True if Subversion may fail or crash.
    deadly: bool,
}

struct ReportRequestGenerator<'a> {
    random: Random,
    history: &'a RandomHistory,
    locks: Vec<(String, String)>,
}

impl ReportRequestGenerator<'_> {
    fn path(&mut self) -> String {
        match self.random.below(8) {
            0 => String::new(),
            _ => self.history.paths[self.random.below(self.history.paths.len())].clone(),
        }
    }

    fn rev(&mut self) -> u64 {
        self.random.below(self.history.youngest as usize + 1) as u64
    }

    fn bit(&mut self) -> bool {
        self.random.below(2) == 0
    }

    fn one_of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.random.below(words.len())]
    }

    /// Returns a path below `base`, relative to it.
    fn below(&mut self, base: &str) -> String {
        for _ in 0..10 {
            let path = self.path();
            if let Some(rest) = path.strip_prefix(base) {
                return rest.trim_start_matches('/').to_owned();
            }
        }
        String::new()
    }

    /// Returns the URL of a path in a revision, which may not have it.
    fn at(&mut self) -> (String, String) {
        let (rev, path) = (self.rev(), self.path());
        (url(&format!("/!svn/rvr/{rev}{path}")), path)
    }

    fn question(&mut self, kind: &'static str) -> ReportRequest {
        let body;
        let mut ordered = false;
        let mut method = "REPORT";
        let mut depth = "1";
        let mut reported = BTreeSet::new();
        let mut deadly = false;
        let (mut url_of, base) = self.at();
        let report = |name: &str, inner: String| {
            format!("<S:{name} xmlns:S=\"svn:\" xmlns:D=\"DAV:\">{inner}</S:{name}>")
        };
        let within = |name: &str, value: &dyn std::fmt::Display| {
            format!("<S:{name}>{}</S:{name}>", text(&value.to_string()))
        };
        match kind {
            "propfind" => {
                method = "PROPFIND";
                depth = self.one_of(&["0", "1"]);
                body = "<propfind xmlns=\"DAV:\"><allprop/></propfind>".to_owned();
            }
            "log" => {
                ordered = true;
                let (from, to) = (self.rev(), self.rev());
                let mut inner = within("start-revision", &from) + &within("end-revision", &to);
                if self.bit() {
                    inner += &within("limit", &self.random.below(5));
                }
                // Without it Subversion truncates values, or sends invalid XML.
                inner += "<S:encode-binary-props/>";
                for flag in ["discover-changed-paths", "strict-node-history"] {
                    if self.bit() {
                        _ = write!(inner, "<S:{flag}/>");
                    }
                }
                inner += self.one_of(&[
                    "<S:all-revprops/>",
                    "<S:no-revprops/>",
                    "<S:revprop>svn:author</S:revprop>",
                    "",
                ]);
                inner += &within("path", &self.below(&base));
                body = report("log-report", inner);
            }
            "log-g" => {
                ordered = true;
                let (from, to) = (self.rev(), self.rev());
                let inner = within("start-revision", &from)
                    + &within("end-revision", &to)
                    + "<S:discover-changed-paths/><S:include-merged-revisions/>"
                    + &within("path", &self.below(&base));
                body = report("log-report", inner);
            }
            "mergeinfo" => {
                let mut inner = within("revision", &self.rev());
                if self.random.below(4) > 0 {
                    let inherit = self.one_of(&["explicit", "inherited", "nearest-ancestor"]);
                    inner += &within("inherit", &inherit);
                }
                if self.bit() {
                    inner += &within("include-descendants", &"yes");
                }
                for _ in 0..=self.random.below(3) {
                    inner += &within("path", &self.below(&base));
                }
                body = report("mergeinfo-report", inner);
            }
            "locks" => {
                url_of = url(&base);
                let depth = self.one_of(&["empty", "files", "immediates", "infinity"]);
                body = format!("<S:get-locks-report xmlns:S=\"svn:\" depth=\"{depth}\"/>");
            }
            "locations" => {
                let mut inner = within("path", &self.below(&base)) + &within("peg-revision", &self.rev());
                for _ in 0..4 {
                    inner += &within("location-revision", &self.rev());
                }
                body = report("get-locations", inner);
            }
            "segments" => {
                ordered = true;
                let mut revs = [self.rev(), self.rev(), self.rev()];
                if self.random.below(8) > 0 {
                    revs.sort_unstable();
                }
                let mut inner = within("path", &self.below(&base));
                for (name, rev) in ["end-revision", "start-revision", "peg-revision"]
                    .iter()
                    .zip(revs)
                {
                    if self.random.below(6) > 0 {
                        inner += &within(name, &rev);
                    }
                }
                body = report("get-location-segments", inner);
            }
            "deleted-rev" => {
                let inner = within("path", &self.below(&base))
                    + &within("peg-revision", &self.rev())
                    + &within("end-revision", &self.rev());
                body = report("get-deleted-rev-report", inner);
            }
            "dated-rev" => {
                url_of = url("/!svn/me");
                let date = testkit::stream::date(self.rev() as usize);
                body = report(
                    "dated-rev-report",
                    format!("<D:creationdate>{date}</D:creationdate>"),
                );
            }
            "iprops" => {
                let mut inner = within("path", &self.below(&base));
                if self.random.below(5) > 0 {
                    inner += &within("revision", &self.rev());
                }
                body = report("inherited-props-report", inner);
            }
            "list" => {
                ordered = true;
                let depth = self.one_of(&["empty", "files", "immediates", "infinity"]);
                let mut inner = within("path", &self.below(&base)) + &within("depth", &depth);
                if self.random.below(5) > 0 {
                    inner += &within("revision", &self.rev());
                }
                if self.random.below(3) == 0 {
                    inner += &within("pattern", &self.one_of(&["a", "b*", "?", "[f-g]"]));
                }
                for prop in [
                    "DAV:resourcetype",
                    "DAV:getcontentlength",
                    "DAV:version-name",
                    "DAV:creationdate",
                ] {
                    if self.bit() {
                        inner += &within("prop", &prop);
                    }
                }
                body = report("list-report", inner);
            }
            "file-revs" | "file-revs-g" => {
                ordered = true;
                let mut inner = within("path", &self.below(&base))
                    + &within("start-revision", &self.rev())
                    + &within("end-revision", &self.rev());
                if kind == "file-revs-g" {
                    inner += "<S:include-merged-revisions/>";
                }
                body = report("file-revs-report", inner);
            }
            "replay" => {
                url_of = url("/!svn/me");
                let mut inner = within("revision", &self.rev())
                    + &within("low-water-mark", &0)
                    + &within("send-deltas", &u8::from(self.bit()));
                if self.random.below(4) == 0 {
                    inner += &within("include-path", &self.path().trim_start_matches('/'));
                }
                ordered = true;
                body = report("replay-report", inner);
            }
            "update" => {
                url_of = url("/!svn/me");
                let report = self.update();
                reported = report.reported();
                deadly = report.is_deadly();
                body = edits::xml(&report, &mut self.random);
            }
            other => unreachable!("because {other} is none of the kinds"),
        }
        ReportRequest {
            kind,
            method,
            url: url_of,
            body,
            depth,
            ordered,
            reported,
            deadly,
        }
    }

    /// Returns an update report.
    fn update(&mut self) -> report::RandomReport {
        let operation = match self.random.below(8) {
            0..=3 => ReportOperation::Update,
            4..=5 => ReportOperation::Switch,
            6 => ReportOperation::Status,
            _ => ReportOperation::Diff,
        };
        let mut maker = report::ReportGenerator {
            random: &mut self.random,
            history: self.history,
            locks: &self.locks,
        };
        maker.report(operation)
    }
}

const KINDS: [&str; 15] = [
    "propfind",
    "log",
    "log-g",
    "mergeinfo",
    "locks",
    "locations",
    "segments",
    "deleted-rev",
    "dated-rev",
    "iprops",
    "list",
    "file-revs",
    "file-revs-g",
    "replay",
    "update",
];

/// Returns the response without the parts that may differ.
fn normalized(response: &HttpResponse, ordered: bool, edit: Option<&EditFacts<'_>>) -> String {
    let kind = response
        .headers
        .get("content-type")
        .map_or("", |kind| kind[0].as_str());
    if !kind.starts_with("text/xml") {
        return format!(
            "{}\n{}",
            response.status,
            if response.status < 300 { kind } else { "" }
        );
    }
    // A truncated response ends at another position.
    match Element::parse(
        &response.body,
        XmlLimits {
            depth: 200,
            memory: usize::MAX,
            bytes: u64::MAX,
        },
    ) {
        Ok(root) => {
            let tree = match edit {
                Some(known) => edits::shown(&root, known),
                None => tree(&root, ordered),
            };
            format!("{}\n{tree}", response.status)
        }
        Err(_) => format!("{}\ncut off", response.status),
    }
}

fn tree(element: &Element, ordered: bool) -> String {
    let mut children: Vec<String> = element
        .children
        .iter()
        .map(|child| tree(child, ordered))
        .collect();
    let name = element.name.local.as_str();
    children.retain(|child| !child.starts_with("(DAV: getcontenttype"));
    let entries = [
        "log-report",
        "file-revs-report",
        "editor-report",
        "get-location-segments-report",
        "list-report",
    ];
    if !ordered || !entries.contains(&name) {
        children.sort();
    }
    if name == "mergeinfo-report" {
        // For a path that is requested twice, or below another one, Subversion sends the result twice.
        children.dedup();
    }
    let mut attributes: BTreeMap<&str, &str> = BTreeMap::new();
    attributes.extend(
        element
            .attributes
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    let value = match (name, element.children.is_empty()) {
        // Different deltas can make the same text.
        ("txdelta" | "apply-textdelta", _) => "…",
        (_, true) => element.text.trim(),
        (_, false) => "",
    };
    format!(
        "({} {name} {attributes:?} {value:?}\n{})",
        element.name.space,
        children.concat()
    )
}

/// With a cache Subversion confuses mergeinfo of different kinds.
const NO_CACHE: &str = "SVNInMemoryCacheSize 0";

/// True for known differences (docs/KNOWN-DIFFERENCES.md): ranges that end after HEAD, sources below a file, later
/// ranges of several sources that end together, and paths that are locked now and did not exist then.
fn is_known(kind: &str, theirs: &str, ours: &str) -> bool {
    let revisions = |response: &str| -> BTreeSet<String> {
        let lines = response.lines();
        // The end of the part that Subversion omits may precede it.
        let numbers = lines.filter_map(|line| Some(line.split_once(" version-name ")?.1.to_owned()));
        numbers.collect()
    };
    match kind {
        "log-g" => theirs.ends_with("cut off") || revisions(ours).is_superset(&revisions(theirs)),
        // A merge source below a file, and one beyond the youngest revision.
        "file-revs-g" => ["cut off", "\"160016\"", "\"160006\""]
            .iter()
            .any(|what| theirs.contains(what)),
        "mergeinfo" => is_told_twice(theirs, ours),
        // Properties of a node are in hash order.
        "replay" => with_sorted_props(theirs) == with_sorted_props(ours),
        // With two errors in a request Subversion reports that of the target revision.
        "update" => {
            without_revisions(theirs) == without_revisions(ours)
                || (theirs.contains("No such target revision") && ours.starts_with("500"))
        }
        "propfind" => ours == "404\n" && theirs.contains(" activelock "),
        _ => false,
    }
}

/// True if Sven's response is a proper part of Subversion's.
fn is_part(theirs: &str, ours: &str) -> bool {
    let items = |response: &str| -> BTreeSet<String> {
        let items = response.split("(svn: mergeinfo-item").skip(1);
        items
            .map(|item| item.trim_end_matches([')', '\n']).to_owned())
            .collect()
    };
    theirs.starts_with("200\n") && ours.starts_with("200\n") && items(ours).is_subset(&items(theirs))
}

/// True if Subversion sends the mergeinfo of requested paths below other requested paths in both roles, and Sven only
/// in the later one.
fn is_told_twice(theirs: &str, ours: &str) -> bool {
    let items = |response: &str| -> BTreeSet<String> {
        let items = response.split("(svn: mergeinfo-item").skip(1);
        items
            .map(|item| item.trim_end_matches([')', '\n']).to_owned())
            .collect()
    };
    let paths = |items: &BTreeSet<String>| -> BTreeSet<String> {
        let after = |item: &String| Some(item.split_once("(svn: mergeinfo-path")?.1.to_owned());
        items.iter().filter_map(after).collect()
    };
    let (theirs, ours) = (items(theirs), items(ours));
    theirs.is_superset(&ours) && paths(&theirs) == paths(&ours) && ours.len() == paths(&ours).len()
}

/// Returns a response with sorted properties.
fn with_sorted_props(response: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = response.lines().collect();
    let is_prop =
        |line: &str| line.contains("(svn: change-file-prop ") || line.contains("(svn: change-dir-prop ");
    for run in lines.chunk_by_mut(|a, b| is_prop(a) && is_prop(b)) {
        run.sort_unstable();
    }
    lines
}

/// Removes the revisions in URLs of nodes: for a node that was deleted and restored by a copy, Sven has the revision
/// in which it first existed.
fn without_revisions(response: &str) -> String {
    ["/!svn/rvr/", "/!svn/bc/"]
        .iter()
        .fold(response.to_owned(), |response, stub| {
            let mut parts = response.split(stub);
            let mut out = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                out += stub;
                out += part.trim_start_matches(|c: char| c.is_ascii_digit());
            }
            out
        })
}

/// The counts of a run, by kind.
#[derive(Debug, Default)]
struct ReportCounts {
    requested: BTreeMap<&'static str, usize>,
    /// Update reports with a complete edit.
    edits: usize,
    differ: BTreeMap<&'static str, usize>,
}

/// The parameters of a run.
struct ReportPlan {
    rounds: usize,
    revisions: u64,
    only: Vec<String>,
    go_on: bool,
    authz: bool,
    /// True for histories of branches instead of random histories.
    branches: bool,
}

fn run(plan: &ReportPlan, seeds: Range<u64>) -> ReportCounts {
    let mut count = ReportCounts::default();
    for seed in seeds {
        one_history(plan, seed, &mut count);
    }
    count
}

fn one_history(plan: &ReportPlan, seed: u64, count: &mut ReportCounts) {
    let history = match plan.branches {
        true => testkit::branch_history::history(seed, plan.revisions),
        false => random_history::history(seed, plan.revisions, seed % 2 == 1),
    };
    let repo = Repo::create("1.14");
    repo.load(history.stream.bytes());
    let root = scratch();
    std::os::unix::fs::symlink(repo.path(), root.path().join("repo")).expect("because the folder is empty");
    let is_alice = seed.is_multiple_of(2);
    let file = root.path().join("authz");
    let (mut apache, mut ours) = (String::new(), String::new());
    if plan.authz {
        let rules = rules::random(&mut Random::new(seed ^ 0xa072), &history);
        std::fs::write(&file, rules).expect("because the folder is ours");
        apache = format!("AuthzSVNAccessFile \"{}\"\n", file.display());
        ours = format!("authz = '{}'\n", file.display());
        if is_alice {
            apache += "AuthType Basic\nAuthName r\nAuthUserFile USERS\nRequire valid-user\n";
            ours += "anonymous = false\n[location.auth]\nhtpasswd-file = 'USERS'\n";
        }
    }
    let site = HttpSite {
        apache_wide: NO_CACHE,
        apache: &apache,
        ours: &ours,
        ..HttpSite::plain(root.path())
    };
    let mut random = Random::new(seed ^ 0x5eed);
    random.next();
    // Before the servers start: a cluster has a copy of the repository.
    let locks = lock(&mut random, &repo, &history);
    let [mut theirs, mut ours] = Side::BOTH.map(|side| TestServer::http_site(side, &site));
    let mut connections = [&theirs, &ours].map(|server| HttpConnection::new(server.port()));
    let mut maker = ReportRequestGenerator {
        locks,
        random,
        history: &history,
    };
    let texts = drive::by_digest(&history.texts);
    let mut before = "";
    for _ in 0..plan.rounds {
        for kind in KINDS {
            let before = std::mem::replace(&mut before, kind);
            let question = maker.question(kind);
            if !plan.only.is_empty() && !plan.only.iter().any(|only| only == kind) {
                continue;
            }
            *count.requested.entry(kind).or_default() += 1;
            let known = EditFacts {
                reported: question.reported.clone(),
                texts: Some(&texts),
            };
            let known = (kind == "update").then_some(&known);
            let told_by = |server: &TestServer, connection: &mut HttpConnection| {
                let body = question.body.replace("PORT", &server.port().to_string());
                let mut headers = vec![("Content-Type", "text/xml"), ("Depth", question.depth)];
                if plan.authz && is_alice {
                    headers.push(ALICE);
                }
                let response = connection.send_request(question.method, &question.url, &headers, &body);
                normalized(&response, question.ordered, known)
            };
            let [their_connection, our_connection] = &mut connections;
            let received = catch_unwind(AssertUnwindSafe(|| told_by(&theirs, their_connection)));
            let ours_told = told_by(&ours, our_connection);
            assert!(ours.is_alive(), "seed {seed}: ours died of {}", question.body);
            let Ok(theirs_told) = received else {
                // Subversion uses freed memory, and may crash after the response.
                // For a file without read access, oldest revision first, Subversion aborts.
                let may = question.kind.ends_with("-g")
                    || before.ends_with("-g")
                    || plan.authz && question.kind == "file-revs";
                assert!(
                    may || question.deadly,
                    "seed {seed}: theirs died of {}",
                    question.body
                );
                theirs = TestServer::http_site(Side::Theirs, &site);
                connections[0] = HttpConnection::new(theirs.port());
                continue;
            };
            count.edits += usize::from(kind == "update" && ours_told.starts_with("200\n("));
            // Sven sends early errors with their status.
            if theirs_told == "200\ncut off" && (ours_told.starts_with('4') || question.deadly) {
                continue;
            }
            if theirs_told == ours_told || is_known(question.kind, &theirs_told, &ours_told) {
                continue;
            }
            // Subversion sends the mergeinfo of descendants without read access.
            if plan.authz && kind == "mergeinfo" && is_part(&theirs_told, &ours_told) {
                continue;
            }
            *count.differ.entry(kind).or_default() += 1;
            let about = format!(
                "seed {seed}, {kind}: {} {}\n{}",
                question.method, question.url, question.body
            );
            if plan.go_on {
                eprintln!("{about}\n{}", difference(&theirs_told, &ours_told));
            } else {
                assert_eq!(theirs_told, ours_told, "{about}");
            }
        }
    }
}

/// Returns the first lines in which the responses differ.
fn difference(theirs: &str, ours: &str) -> String {
    let same = theirs
        .lines()
        .zip(ours.lines())
        .take_while(|(a, b)| a == b)
        .count();
    let show = |response: &str| {
        let lines = response.lines().skip(same.saturating_sub(12)).take(18);
        lines.collect::<Vec<_>>().join("\n")
    };
    format!("theirs:\n{}\nours:\n{}", show(theirs), show(ours))
}

#[test]
fn random_reports_get_equal_responses() {
    let (rounds, updates) = if runs_all_cases() { (14, 150) } else { (5, 50) };
    let plan = ReportPlan {
        rounds,
        revisions: 25,
        only: Vec::new(),
        go_on: false,
        authz: false,
        branches: false,
    };
    run(&plan, 0..2);
    let plan = ReportPlan {
        rounds: updates,
        only: vec!["update".to_owned()],
        ..plan
    };
    run(&plan, 2..3);
}

#[test]
fn random_reports_by_hand() {
    let var = |name: &str| std::env::var(name).ok();
    let Some(seeds) = var("ASK_SEEDS") else {
        return;
    };
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let (first, last) = seeds.split_once("..").expect("FIRST..LAST");
    let plan = ReportPlan {
        rounds: var("ASK_ROUNDS").map_or(60, |n| number(&n) as usize),
        revisions: var("ASK_REVS").map_or(30, |n| number(&n)),
        only: var("ASK_ONLY").map_or(Vec::new(), |kinds| kinds.split(',').map(str::to_owned).collect()),
        go_on: var("ASK_GO_ON").is_some(),
        authz: var("ASK_AUTHZ").is_some(),
        branches: var("ASK_BRANCHES").is_some(),
    };
    let count = run(&plan, number(first)..number(last));
    eprintln!("{count:#?}");
    assert!(count.differ.is_empty());
}
