//! Random questions of every kind that reads.

use testkit::history::Random;
use testkit::random::History;

use super::answer::Shape;

/// A question, ready to be sent.
#[derive(Debug)]
pub struct Question {
    pub kind: &'static str,
    pub words: String,
    pub shape: Shape,
    /// Where the session is.
    pub parent: String,
    /// In a session of its own.
    pub fresh: bool,
}

/// Makes questions.
pub struct Ask<'a> {
    random: &'a mut Random,
    history: &'a History,
    knows_mergeinfo: bool,
    parent: String,
    sessions: usize,
}

impl<'a> Ask<'a> {
    pub fn new(random: &'a mut Random, history: &'a History, compatible: &str) -> Self {
        Ask {
            random,
            history,
            knows_mergeinfo: compatible != "1.3" && compatible != "1.4",
            parent: String::new(),
            sessions: 0,
        }
    }

    /// One question of each kind.
    pub fn round(&mut self, only: &[String]) -> Vec<Question> {
        // Every now and then another session, a fourth of them below the root.
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
            // All are made, so that a choice of kinds does not change the others.
            let (words, shape) = self.question(kind);
            let chosen = only.is_empty() || only.iter().any(|o| o == kind);
            let merged = ["mergeinfo", "log-g", "file-revs-g"].contains(&kind);
            if chosen && (self.knows_mergeinfo || !merged) {
                questions.push(Question {
                    kind,
                    words,
                    shape,
                    parent: self.parent.clone(),
                    fresh: fresh || merged || kind == "log",
                });
            }
        }
        questions
    }

    fn absolute(&mut self) -> String {
        self.history.paths[self.random.below(self.history.paths.len())].clone()
    }

    /// A path below the session's.
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

    fn question(&mut self, kind: &str) -> (String, Shape) {
        let (params, shape) = match kind {
            "check-path" | "stat" => (format!("{} {}", self.text_path(), self.at()), Shape::Single),
            "get-file" => {
                let (path, at) = (self.text_path(), self.at());
                (
                    format!("{path} {at} {} true {}", self.bit(), self.bit()),
                    Shape::File,
                )
            }
            "get-dir" => {
                let (path, at, fields) = (self.text_path(), self.at(), self.fields());
                let (props, contents, iprops) = (self.bit(), self.random.below(4) > 0, self.bit());
                (
                    format!("{path} {at} {props} {contents} {fields} {iprops}"),
                    Shape::Single,
                )
            }
            "get-iprops" => (format!("{} ( {} )", self.text_path(), self.rev()), Shape::Single),
            "list" => {
                let (path, at, fields) = (self.text_path(), self.at(), self.fields());
                let depth = self.one_of(&["empty", "files", "immediates", "infinity", "infinity"]);
                let patterns = match self.random.below(4) {
                    0 => format!("( {} )", text(self.one_of(&["a", "?", "b*", "[f-g]", "*-*"]))),
                    1 => format!("( {} 1:c 1:b )", text(self.one_of(&["A", "f", "B b"]))),
                    _ => String::new(),
                };
                (format!("{path} {at} {depth} {fields} {patterns}"), Shape::Stream)
            }
            "mergeinfo" => {
                let (path, at) = (self.text_path(), self.at());
                let inherit = self.one_of(&["explicit", "inherited", "nearest-ancestor"]);
                (format!("( {path} ) {at} {inherit} {}", self.bit()), Shape::Single)
            }
            "log" | "log-g" => (self.log(kind == "log-g"), Shape::Stream),
            "get-locations" => {
                let (path, peg) = (self.text_path(), self.rev());
                let revs: Vec<String> = (0..5).map(|_| self.rev().to_string()).collect();
                (format!("{path} {peg} ( {} )", revs.join(" ")), Shape::Unordered)
            }
            "get-location-segments" => {
                let mut revs = [self.rev(), self.rev(), self.rev()];
                revs.sort_unstable();
                let path = self.text_path();
                (
                    format!("{path} ( {} ) ( {} ) ( {} )", revs[2], revs[1], revs[0]),
                    Shape::Stream,
                )
            }
            "get-deleted-rev" => (
                format!("{} {} {}", self.text_path(), self.rev(), self.rev()),
                Shape::Single,
            ),
            "file-revs" => (
                format!("{} ( {} ) ( {} ) false", self.text_path(), self.rev(), self.rev()),
                Shape::FileRevs,
            ),
            "file-revs-g" => {
                let (a, b) = (self.rev(), self.rev());
                (
                    format!("{} ( {} ) ( {} ) true", self.text_path(), a.min(b), a.max(b)),
                    Shape::FileRevs,
                )
            }
            "get-dated-rev" => {
                let rev = self.rev() as usize;
                let mut date = testkit::stream::date(rev);
                if self.bit() {
                    date.replace_range(20..26, "999999");
                }
                (text(&date), Shape::Single)
            }
            "rev-proplist" => (self.rev().to_string(), Shape::Single),
            "rev-prop" => {
                let name = self.one_of(&["svn:author", "svn:log", "custom:one", "svn:date"]);
                (format!("{} {}", self.rev(), text(name)), Shape::Single)
            }
            "replay" => {
                let low = if self.bit() { 0 } else { self.rev() };
                (format!("{} {low} {}", self.rev(), self.bit()), Shape::Replay)
            }
            "update" | "switch" | "status" | "diff" => return (self.report(kind), Shape::Edit),
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
        // Theirs sends the paths of entries that it suppresses with the next entry, or dies of it.
        let (changed, strict) = (self.bit() && !merged, self.random.below(3) == 0);
        let limit = [0, 0, 3][self.random.below(3)];
        let revprops = match self.random.below(4) {
            0 => "revprops ( )".to_owned(),
            1 => "revprops ( 7:svn:log 10:custom:one )".to_owned(),
            _ => "all-revprops ( )".to_owned(),
        };
        format!("( {paths} ) {a} {b} {changed} {strict} {limit} {merged} {revprops}")
    }

    /// A working copy's report and what is to be done with it.
    fn report(&mut self, kind: &str) -> String {
        let operand = match self.random.below(4) {
            0 => self.path().split('/').next().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        let operand = text(&operand);
        let target = self.at();
        let depth = self.one_of(&["unknown", "unknown", "empty", "files", "immediates", "infinity"]);
        let other = text(&format!(
            "svn://localhost/repo{}",
            self.absolute().replace(' ', "%20")
        ));
        let (one, two, three) = (self.bit(), self.bit(), self.bit());
        let request = match kind {
            "update" => format!("( update ( {target} {operand} true {depth} {one} {two} ) ) "),
            "switch" => format!("( switch ( {target} {operand} true {other} {depth} {one} {two} ) ) "),
            "status" => format!("( status ( {operand} true {target} {depth} ) ) "),
            _ => format!("( diff ( {target} {operand} {one} {two} {other} {three} {depth} ) ) "),
        };
        let mut report = format!(
            "( set-path ( 0: {} {} ( ) {} ) ) ",
            self.rev(),
            self.random.below(3) == 0,
            self.one_of(&["infinity", "infinity", "infinity", "immediates", "files", "empty"])
        );
        let mut paths: Vec<String> = (0..self.random.below(4)).map(|_| self.path()).collect();
        paths.sort_by_key(|path| path.replace('/', "\0"));
        paths.dedup();
        for path in paths.iter().filter(|path| !path.is_empty()) {
            let path = text(path);
            report.push_str(&match self.random.below(5) {
                0 => format!("( delete-path ( {path} ) ) "),
                1 => {
                    let to = text(&format!(
                        "svn://localhost/repo{}",
                        self.absolute().replace(' ', "%20")
                    ));
                    format!(
                        "( link-path ( {path} {to} {} {} ( ) infinity ) ) ",
                        self.rev(),
                        self.bit()
                    )
                }
                _ => format!(
                    "( set-path ( {path} {} {} ( ) infinity ) ) ",
                    self.rev(),
                    self.bit()
                ),
            });
        }
        format!("{request}{report}( finish-report ( ) ) ")
    }
}

fn text(text: &str) -> String {
    format!("{}:{text}", text.len())
}

const KINDS: [&str; 22] = [
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
    "update",
    "switch",
    "status",
    "diff",
];
