//! Random requests of every reading kind.

use std::collections::BTreeSet;

use testkit::history::Random;
use testkit::random_history::RandomHistory;

use super::report::{self, ReportOperation};
use super::response::ResponseShape;

/// An encoded request.
#[derive(Debug)]
pub struct ReadRequest {
    pub kind: &'static str,
    pub words: String,
    pub shape: ResponseShape,
    /// The path of the session.
    pub parent: String,
    /// True for a new session.
    pub fresh: bool,
    /// For a report: the paths whose order the response follows.
    pub reported: BTreeSet<String>,
    /// True if Subversion may fail or crash.
    pub deadly: bool,
}

/// A generator of requests.
pub struct ReadRequestGenerator<'a> {
    random: &'a mut Random,
    history: &'a RandomHistory,
    locks: &'a [(String, String)],
    knows_mergeinfo: bool,
    parent: String,
    sessions: usize,
}

impl<'a> ReadRequestGenerator<'a> {
    /// Returns a generator for a history; in its last revision the paths in `locks` have locks with these tokens.
    pub fn new(
        random: &'a mut Random,
        history: &'a RandomHistory,
        locks: &'a [(String, String)],
        compatible: &str,
    ) -> Self {
        ReadRequestGenerator {
            random,
            history,
            locks,
            knows_mergeinfo: compatible != "1.3" && compatible != "1.4",
            parent: String::new(),
            sessions: 0,
        }
    }

    /// Returns one request of each kind.
    pub fn round(&mut self, only: &[String]) -> Vec<ReadRequest> {
        // Sometimes another session, a fourth of them below the root.
        let fresh = self.sessions.is_multiple_of(4);
        self.sessions += 1;
        if fresh {
            self.parent = match self.random.below(4) {
                0 => self.absolute(),
                _ => String::new(),
            };
        }
        let mut questions = Vec::new();
        for kind in KINDS {
            // All are generated, so that a selection of kinds does not change the others.
            let mut reported = BTreeSet::new();
            let mut deadly = false;
            let mut parent = self.parent.clone();
            let (words, shape) = match kind {
                "update" | "switch" | "status" | "diff" => {
                    let report = self.report(kind);
                    reported = report.reported();
                    deadly = report.is_deadly();
                    parent.clone_from(&report.anchor);
                    (
                        report::words(&report, "svn://localhost/repo"),
                        ResponseShape::Edit,
                    )
                }
                _ => self.question(kind),
            };
            let chosen = only.is_empty() || only.iter().any(|o| o == kind);
            let merged = ["mergeinfo", "log-g", "file-revs-g"].contains(&kind);
            if chosen && (self.knows_mergeinfo || !merged) {
                questions.push(ReadRequest {
                    kind,
                    words,
                    shape,
                    parent,
                    fresh: (fresh && shape != ResponseShape::Edit) || merged || kind == "log",
                    reported,
                    deadly,
                });
            }
        }
        questions
    }

    fn absolute(&mut self) -> String {
        self.history.paths[self.random.below(self.history.paths.len())].clone()
    }

    /// Returns a path below the session's.
    fn path(&mut self) -> String {
        for _ in 0..20 {
            let path = self.absolute();
            if self.random.below(12) == 0 {
                break;
            }
            if let Some(below) = path.strip_prefix(&format!("{}/", self.parent)) {
                return below.to_owned();
            }
        }
        String::new()
    }

    fn text_path(&mut self) -> String {
        text(&self.path())
    }

    fn rev(&mut self) -> u64 {
        self.random.below(self.history.youngest as usize + 1) as u64
    }

    fn at(&mut self) -> String {
        match self.random.below(4) {
            0 => "( )".to_owned(),
            _ => format!("( {} )", self.rev()),
        }
    }

    fn bit(&mut self) -> bool {
        self.random.below(2) == 0
    }

    fn one_of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.random.below(words.len())]
    }

    fn fields(&mut self) -> String {
        let all = ["kind", "size", "has-props", "created-rev", "time", "last-author"];
        let mut words = String::from("( ");
        for field in all {
            if self.random.below(3) > 0 {
                words.push_str(field);
                words.push(' ');
            }
        }
        words.push(')');
        words
    }

    fn question(&mut self, kind: &str) -> (String, ResponseShape) {
        let (params, shape) = match kind {
            "check-path" | "stat" => (
                format!("{} {}", self.text_path(), self.at()),
                ResponseShape::Single,
            ),
            "get-file" => {
                let (path, at) = (self.text_path(), self.at());
                (
                    format!("{path} {at} {} true {}", self.bit(), self.bit()),
                    ResponseShape::File,
                )
            }
            "get-dir" => {
                let (path, at, fields) = (self.text_path(), self.at(), self.fields());
                let (props, contents, iprops) = (self.bit(), self.random.below(4) > 0, self.bit());
                (
                    format!("{path} {at} {props} {contents} {fields} {iprops}"),
                    ResponseShape::Single,
                )
            }
            "get-iprops" => (
                format!("{} {}", self.text_path(), self.at()),
                ResponseShape::Single,
            ),
            "list" => {
                let (path, at, fields) = (self.text_path(), self.at(), self.fields());
                let depth = self.one_of(&["empty", "files", "immediates", "infinity", "infinity"]);
                let patterns = match self.random.below(4) {
                    0 => format!("( {} )", text(self.one_of(&["a", "?", "b*", "[f-g]", "*-*"]))),
                    1 => format!("( {} 1:c 1:b )", text(self.one_of(&["A", "f", "B b"]))),
                    _ => String::new(),
                };
                (
                    format!("{path} {at} {depth} {fields} {patterns}"),
                    ResponseShape::Stream,
                )
            }
            "mergeinfo" => {
                let (mut paths, rev) = (self.text_path(), self.rev());
                let descendants = self.bit();
                for _ in 0..[0, 0, 1, 2, 3][self.random.below(5)] {
                    // Subversion truncates its response at a later path that does not exist.
                    let path = self.path();
                    let whole = format!("{}/{path}", self.parent);
                    if self.history.trees[rev as usize].contains_key(whole.trim_matches('/')) {
                        paths = format!("{paths} {}", text(&path));
                    }
                }
                let at = match self.random.below(4) {
                    0 if rev == self.history.youngest => "( )".to_owned(),
                    _ => format!("( {rev} )"),
                };
                let inherit = self.one_of(&["explicit", "inherited", "nearest-ancestor"]);
                (
                    format!("( {paths} ) {at} {inherit} {descendants}"),
                    ResponseShape::Single,
                )
            }
            "log" | "log-g" => (self.log(kind == "log-g"), ResponseShape::Stream),
            "get-locations" => {
                let (path, peg) = (self.text_path(), self.rev());
                let count = self.random.below(7);
                let revs: Vec<String> = (0..count).map(|_| self.rev().to_string()).collect();
                (
                    format!("{path} {peg} ( {} )", revs.join(" ")),
                    ResponseShape::Unordered,
                )
            }
            "get-location-segments" => {
                let mut revs = [self.rev(), self.rev(), self.rev()];
                if self.random.below(8) > 0 {
                    revs.sort_unstable();
                }
                let path = self.text_path();
                let [end, start, peg] = revs.map(|rev| match self.random.below(6) {
                    0 => "( )".to_owned(),
                    _ => format!("( {rev} )"),
                });
                (format!("{path} {peg} {start} {end}"), ResponseShape::Stream)
            }
            "get-deleted-rev" => (
                format!("{} {} {}", self.text_path(), self.rev(), self.rev()),
                ResponseShape::Single,
            ),
            "file-revs" => (
                format!("{} {} {} false", self.text_path(), self.at(), self.at()),
                ResponseShape::FileRevs,
            ),
            "file-revs-g" => {
                let (a, b) = (self.rev(), self.rev());
                (
                    format!("{} ( {} ) ( {} ) true", self.text_path(), a.min(b), a.max(b)),
                    ResponseShape::FileRevs,
                )
            }
            "get-dated-rev" => {
                let rev = self.rev() as usize;
                let mut date = testkit::stream::date(rev);
                if self.bit() {
                    date.replace_range(20..26, "999999");
                }
                (text(&date), ResponseShape::Single)
            }
            "rev-proplist" => (self.rev().to_string(), ResponseShape::Single),
            "rev-prop" => {
                let name = self.one_of(&["svn:author", "svn:log", "custom:one", "svn:date"]);
                (format!("{} {}", self.rev(), text(name)), ResponseShape::Single)
            }
            "replay" => {
                let low = if self.bit() { 0 } else { self.rev() };
                (
                    format!("{} {low} {}", self.rev(), self.bit()),
                    ResponseShape::Replay,
                )
            }
            "replay-range" => {
                let (a, b) = (self.rev(), self.rev());
                // Sometimes reversed, which gives an empty result.
                let (first, last) = if self.random.below(8) == 0 {
                    (a, b)
                } else {
                    (a.min(b), a.max(b))
                };
                let low = if self.bit() { 0 } else { self.rev() };
                (
                    format!("{first} {last} {low} {}", self.bit()),
                    ResponseShape::Replay,
                )
            }
            "get-lock" => (self.text_path(), ResponseShape::Single),
            "get-locks" => {
                let path = self.text_path();
                let depth = self.one_of(&["empty", "files", "immediates", "infinity"]);
                let depth = if self.bit() {
                    format!("( {depth} )")
                } else {
                    String::new()
                };
                (format!("{path} {depth}"), ResponseShape::Single)
            }
            other => unreachable!("because {other} is none of the kinds"),
        };
        let command = match kind {
            "log-g" => "log",
            "mergeinfo" => "get-mergeinfo",
            "file-revs" | "file-revs-g" => "get-file-revs",
            other => other,
        };
        (format!("( {command} ( {params} ) ) "), shape)
    }

    fn log(&mut self, merged: bool) -> String {
        let mut paths = self.text_path();
        match self.random.below(6) {
            0 => paths.push_str(&format!(" {}", self.text_path())),
            1 => paths = "0:".into(),
            _ => {}
        }
        let (a, b) = (self.at(), self.at());
        // Subversion sends the paths of suppressed entries with the next entry, or crashes.
        let (changed, strict) = (self.bit() && !merged, self.random.below(3) == 0);
        let limit = [0, 0, 1, 2, 3, 7][self.random.below(6)];
        let revprops = match self.random.below(4) {
            0 => "revprops ( )".to_owned(),
            1 => "revprops ( 7:svn:log 10:custom:one )".to_owned(),
            _ => "all-revprops ( )".to_owned(),
        };
        format!("( {paths} ) {a} {b} {changed} {strict} {limit} {merged} {revprops}")
    }

    /// Returns a request with a report.
    fn report(&mut self, kind: &str) -> report::RandomReport {
        let mut maker = report::ReportGenerator {
            random: self.random,
            history: self.history,
            locks: self.locks,
        };
        maker.report(match kind {
            "update" => ReportOperation::Update,
            "switch" => ReportOperation::Switch,
            "status" => ReportOperation::Status,
            _ => ReportOperation::Diff,
        })
    }
}

fn text(text: &str) -> String {
    format!("{}:{text}", text.len())
}

const KINDS: [&str; 25] = [
    "check-path",
    "stat",
    "get-file",
    "get-dir",
    "get-iprops",
    "list",
    "mergeinfo",
    "log",
    "log-g",
    "get-locations",
    "get-location-segments",
    "get-deleted-rev",
    "file-revs",
    "file-revs-g",
    "get-dated-rev",
    "rev-proplist",
    "rev-prop",
    "replay",
    "replay-range",
    "get-lock",
    "get-locks",
    "update",
    "switch",
    "status",
    "diff",
];
