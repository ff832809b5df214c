//! Compares the edits of update, switch, status and diff with those of the real `svnserve` for the same reports. The
//! order of siblings is unspecified, so edits are compared as sets; the recording editor checks that the order of
//! calls is legal.

use std::sync::Arc;

use base::{Depth, FsPath, RelPath, Revnum};
use delta::editor::EncodedVersions;
use repos::access::{Everything, Readable};
use repos::dump::{Filter, FilterRule};
use repos::report::{Report, ReportOptions};
use repos::{Cache, Repository};
use testkit::history::Random;
use testkit::server::TestServer;
use testkit::{Repo, Side, Spec, build};

use crate::peer::{EditLines, SvnPeer};
use crate::recording::{RecordingEditor, RepositoryTexts};
use crate::replay::show;

/// One request with its report, sent to both sides.
#[derive(Clone, Debug)]
struct ReportCase {
    request: ReportRequest,
    target_rev: u64,
    operand: String,
    depth: Depth,
    report: Vec<ReportCommand>,
}

#[derive(Clone, Debug)]
enum ReportRequest {
    Update {
        copyfrom: bool,
        ignore_ancestry: bool,
    },
    Switch {
        to: String,
        copyfrom: bool,
        ignore_ancestry: bool,
    },
    Status,
    Diff {
        to: String,
        ignore_ancestry: bool,
        text: bool,
    },
}

/// A report command.
#[derive(Clone, Debug)]
enum ReportCommand {
    Set(String, u64, Depth, bool, Option<String>),
    Link(String, String, u64, Depth, bool),
    Delete(String),
}

struct ReportComparison {
    _server: TestServer,
    peer: SvnPeer,
    anchor: FsPath,
    root_url: String,
    repo: Repository,
    texts: RepositoryTexts,
    readable: Arc<dyn Readable>,
}

impl ReportComparison {
    fn new(repo: &Repo, anchor: &str, readable: Arc<dyn Readable>) -> ReportComparison {
        let root = repo.path().parent().expect("because a repository has a folder");
        let name = repo
            .path()
            .file_name()
            .expect("because it has a name")
            .to_string_lossy();
        let server = TestServer::svnserve(Side::Theirs, root, &["-T"]);
        let peer = SvnPeer::connect(&server, &format!("{name}{anchor}"));
        let opened = Repository::open(repo.path(), &Cache::new(64 << 20)).expect("a repository");
        ReportComparison {
            root_url: server.url(&name),
            _server: server,
            peer,
            anchor: FsPath::canonicalize(anchor).expect("a path"),
            texts: RepositoryTexts::of(&opened),
            repo: opened,
            readable,
        }
    }

    fn theirs(&mut self, case: &ReportCase) -> EditLines {
        let depth = case.depth.word();
        let text = |text: &str| format!("{}:{text}", text.len());
        let operand = text(&case.operand);
        let rev = case.target_rev;
        let request = match &case.request {
            ReportRequest::Update {
                copyfrom,
                ignore_ancestry,
            } => {
                format!("( update ( ( {rev} ) {operand} true {depth} {copyfrom} {ignore_ancestry} ) )")
            }
            ReportRequest::Switch {
                to,
                copyfrom,
                ignore_ancestry,
            } => {
                let url = text(&format!("{}{to}", self.root_url));
                format!("( switch ( ( {rev} ) {operand} true {url} {depth} {copyfrom} {ignore_ancestry} ) )")
            }
            ReportRequest::Status => format!("( status ( {operand} true ( {rev} ) {depth} ) )"),
            ReportRequest::Diff {
                to,
                ignore_ancestry,
                text: texts,
            } => {
                let url = text(&format!("{}{to}", self.root_url));
                format!("( diff ( ( {rev} ) {operand} true {ignore_ancestry} {url} {texts} {depth} ) )")
            }
        };
        let report: Vec<String> = case
            .report
            .iter()
            .map(|call| match call {
                ReportCommand::Set(path, rev, depth, empty, token) => {
                    let token = token
                        .as_ref()
                        .map_or(String::new(), |token| format!("{} ", text(token)));
                    format!(
                        "( set-path ( {} {rev} {empty} ( {token}) {} ) )",
                        text(path),
                        depth.word()
                    )
                }
                ReportCommand::Link(path, to, rev, depth, empty) => {
                    let url = text(&format!("{}{to}", self.root_url));
                    format!(
                        "( link-path ( {} {url} {rev} {empty} ( ) {} ) )",
                        text(path),
                        depth.word()
                    )
                }
                ReportCommand::Delete(path) => format!("( delete-path ( {} ) )", text(path)),
            })
            .collect();
        self.peer.report(&request, &report)
    }

    fn ours(&self, case: &ReportCase, accepts: EncodedVersions) -> EditLines {
        let path = |path: &String| FsPath::canonicalize(path).expect("a path");
        let options = ReportOptions {
            target_rev: Revnum(case.target_rev),
            anchor: self.anchor.clone(),
            operand: case.operand.clone(),
            switch_to: match &case.request {
                ReportRequest::Switch { to, .. } | ReportRequest::Diff { to, .. } => Some(path(to)),
                ReportRequest::Update { .. } | ReportRequest::Status => None,
            },
            text_deltas: match &case.request {
                ReportRequest::Status => false,
                ReportRequest::Diff { text, .. } => *text,
                ReportRequest::Update { .. } | ReportRequest::Switch { .. } => true,
            },
            depth: case.depth,
            ignore_ancestry: match &case.request {
                ReportRequest::Update { ignore_ancestry, .. }
                | ReportRequest::Switch { ignore_ancestry, .. }
                | ReportRequest::Diff { ignore_ancestry, .. } => *ignore_ancestry,
                ReportRequest::Status => false,
            },
            send_copyfrom: match &case.request {
                ReportRequest::Update { copyfrom, .. } | ReportRequest::Switch { copyfrom, .. } => *copyfrom,
                ReportRequest::Diff { .. } | ReportRequest::Status => false,
            },
        };
        let mut recording = RecordingEditor::new(&self.texts, accepts);
        let run = || -> base::Result<()> {
            let mut report = Report::begin(&self.repo, options, self.readable.clone())?;
            let rel = |path: &String| RelPath::canonicalize(path).expect("a path");
            for call in &case.report {
                // As in a server, `finish` returns the first failure.
                drop(match call {
                    ReportCommand::Set(path, rev, depth, empty, token) => {
                        report.set_path(&rel(path), Revnum(*rev), *depth, *empty, token.as_deref())
                    }
                    ReportCommand::Link(at, to, rev, depth, empty) => {
                        report.link_path(&rel(at), &path(to), Revnum(*rev), *depth, *empty, None)
                    }
                    ReportCommand::Delete(path) => report.delete_path(&rel(path)),
                });
            }
            report.finish(&mut recording).map(drop)
        };
        match run() {
            Ok(()) => Ok(recording.finish()),
            Err(error) => Err(error
                .links()
                .map(|link| (u64::from(link.code().0.unsigned_abs()), link.text()))
                .collect()),
        }
    }

    fn compare(&mut self, case: &ReportCase) {
        let theirs = sorted(self.theirs(case));
        for accepts in [EncodedVersions::NONE, EncodedVersions::up_to(2)] {
            let ours = sorted(self.ours(case, accepts));
            if theirs != ours {
                show(&theirs, &ours);
                panic!("{case:#?}");
            }
        }
    }
}

fn sorted(edit: EditLines) -> EditLines {
    let mut lines = edit?;
    lines.sort();
    Ok(lines)
}

fn set(path: &str, rev: u64) -> ReportCommand {
    ReportCommand::Set(path.to_owned(), rev, Depth::Infinity, false, None)
}

fn update(target_rev: u64, report: Vec<ReportCommand>) -> ReportCase {
    ReportCase {
        request: ReportRequest::Update {
            copyfrom: false,
            ignore_ancestry: false,
        },
        target_rev,
        operand: String::new(),
        depth: Depth::Unknown,
        report,
    }
}

const DEPTHS: [Depth; 4] = [Depth::Empty, Depth::Files, Depth::Immediates, Depth::Infinity];
const REQUESTED: [Depth; 5] = [
    Depth::Unknown,
    Depth::Empty,
    Depth::Files,
    Depth::Immediates,
    Depth::Infinity,
];

#[test]
fn checkout_of_every_revision() {
    for compatible in ["1.3", "1.14"] {
        let repo = build(&Spec::new(compatible));
        let mut bench = ReportComparison::new(&repo, "", Arc::new(Everything));
        for rev in (0..=repo.youngest()).step_by(6) {
            let top = ReportCommand::Set(String::new(), rev, Depth::Infinity, true, None);
            bench.compare(&update(rev, vec![top]));
        }
    }
}

#[test]
fn update_and_back() {
    let repo = build(&Spec::new("1.14"));
    let mut bench = ReportComparison::new(&repo, "", Arc::new(Everything));
    let youngest = repo.youngest();
    for rev in (0..=youngest).step_by(2) {
        for to in [rev + 1, youngest, rev.saturating_sub(1), rev.saturating_sub(7)] {
            bench.compare(&update(to, vec![set("", rev)]));
        }
    }
}

#[test]
fn every_pair_of_depths() {
    let repo = build(&Spec::new("1.14"));
    let mut bench = ReportComparison::new(&repo, "/trunk", Arc::new(Everything));
    for (from, to) in [(3, 40), (40, 15), (45, 60), (30, 30)] {
        for held in DEPTHS {
            for requested in REQUESTED {
                for start_empty in [false, true] {
                    let top = ReportCommand::Set(String::new(), from, held, start_empty, None);
                    let mut case = update(to, vec![top]);
                    case.depth = requested;
                    bench.compare(&case);
                }
            }
        }
    }
}

#[test]
fn one_entry_of_the_anchor() {
    let repo = build(&Spec::new("1.14"));
    let mut bench = ReportComparison::new(&repo, "/trunk", Arc::new(Everything));
    for operand in [
        "hello.txt",
        "big.txt",
        "many",
        "no-newline",
        "nothing",
        "empty.txt",
    ] {
        for (from, to) in [(3, 40), (40, 3), (20, 30), (32, 32)] {
            for depth in REQUESTED {
                let mut tops = vec![
                    vec![set("", from)],
                    vec![ReportCommand::Set(
                        String::new(),
                        from,
                        Depth::Infinity,
                        true,
                        None,
                    )],
                    // The anchor is reported twice: in one of the revisions the entry may not exist.
                    vec![set("", from), set("", to)],
                    vec![set("", 2), set("", from)],
                ];
                for held in DEPTHS {
                    let first = || ReportCommand::Set(String::new(), from, held, false, None);
                    let to = |path: &str, rev| {
                        ReportCommand::Link(String::new(), path.into(), rev, Depth::Infinity, false)
                    };
                    tops.push(vec![first(), ReportCommand::Delete(String::new())]);
                    tops.push(vec![first(), to("/branches/b2/hello.txt", 22)]);
                    tops.push(vec![first(), to("/trunk/many", 45)]);
                    tops.push(vec![first(), to("/branches/b2/hello.txt", 1)]);
                }
                for top in tops {
                    let mut case = update(to, top);
                    case.operand = operand.to_owned();
                    case.depth = depth;
                    bench.compare(&case);
                }
            }
        }
    }
}

#[test]
fn refusals() {
    let repo = build(&Spec::new("1.14"));
    let mut bench = ReportComparison::new(&repo, "/trunk", Arc::new(Everything));
    let youngest = repo.youngest();
    let unknown = |path: &str| ReportCommand::Set(path.to_owned(), 5, Depth::Unknown, false, None);
    let link = |depth| ReportCommand::Link("hello.txt".into(), "/trunk/big.txt".into(), 5, depth, false);
    for report in [
        vec![],
        vec![set("hello.txt", 5)],
        vec![ReportCommand::Delete(String::new())],
        vec![ReportCommand::Link(
            String::new(),
            "/trunk".into(),
            5,
            Depth::Infinity,
            false,
        )],
        vec![set("", 5), ReportCommand::Delete(String::new())],
        vec![set("", 5), set("", 6)],
        vec![
            set("", 5),
            ReportCommand::Link(String::new(), "/branches".into(), 5, Depth::Infinity, false),
        ],
        vec![unknown("")],
        vec![set("", 5), unknown("hello.txt")],
        vec![set("", 5), unknown("hello.txt"), set("zzz", 5)],
        vec![set("", 5), link(Depth::Exclude)],
        vec![set("", 5), link(Depth::Unknown)],
        vec![set("", youngest + 1)],
        vec![set("", 5), set("hello.txt", youngest + 1)],
        vec![set("", 5), set("zzz", 5)],
        vec![set("", 5), set("hello.txt/zzz", 5)],
        vec![set("", 5), set("zzz/yyy", 5)],
        vec![set("", 0)],
        vec![ReportCommand::Set(String::new(), 5, Depth::Exclude, false, None)],
        vec![ReportCommand::Set(String::new(), 5, Depth::Exclude, true, None)],
        vec![
            ReportCommand::Set(String::new(), 5, Depth::Infinity, true, None),
            set("many/x", 5),
        ],
        vec![
            ReportCommand::Set(String::new(), 50, Depth::Infinity, true, None),
            set("many/aaa.txt", 50),
        ],
    ] {
        for target in [5, 50, youngest + 1, 0] {
            for operand in ["", "hello.txt", "many"] {
                let mut case = update(target, report.clone());
                case.operand = operand.to_owned();
                bench.compare(&case);
                case.depth = REQUESTED[operand.len() % REQUESTED.len()];
                bench.compare(&case);
            }
        }
    }
}

#[test]
fn switch_and_diff() {
    let repo = build(&Spec::new("1.14"));
    let mut bench = ReportComparison::new(&repo, "/trunk", Arc::new(Everything));
    for to in [
        "/branches/b2",
        "/branches/b3",
        "/trunk",
        "/tags/t1",
        "/branches",
        "/nowhere",
        "/trunk/hello.txt",
        "",
    ] {
        for (from, rev) in [(16, 26), (30, 24)] {
            for ignore_ancestry in [false, true] {
                for request in [
                    ReportRequest::Switch {
                        to: to.to_owned(),
                        copyfrom: true,
                        ignore_ancestry,
                    },
                    ReportRequest::Diff {
                        to: to.to_owned(),
                        ignore_ancestry,
                        text: true,
                    },
                    ReportRequest::Diff {
                        to: to.to_owned(),
                        ignore_ancestry,
                        text: false,
                    },
                ] {
                    for operand in ["", "hello.txt"] {
                        let mut case = update(rev, vec![set("", from)]);
                        case.request = request.clone();
                        case.operand = operand.to_owned();
                        bench.compare(&case);
                    }
                }
            }
        }
    }
}

/// Reports as clients send them, and some that no client sends.
struct RandomReports {
    random: Random,
    youngest: u64,
    paths: Vec<String>,
}

impl RandomReports {
    fn new(seed: u64, repo: &Repository) -> Self {
        let youngest = repo.youngest().expect("readable").0;
        let mut paths: Vec<String> = (1..=youngest)
            .flat_map(|rev| {
                let root = repo.fs().root(Revnum(rev)).expect("readable");
                let changes = root.changed_paths().expect("readable");
                changes
                    .iter()
                    .map(|c| c.path.as_str().to_owned())
                    .collect::<Vec<_>>()
            })
            .collect();
        paths.sort();
        paths.dedup();
        RandomReports {
            random: Random::new(seed),
            youngest,
            paths,
        }
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    fn rev(&mut self) -> u64 {
        1 + self.random.below(usize::try_from(self.youngest).expect("small")) as u64
    }

    fn path(&mut self) -> String {
        let at = self.random.below(self.paths.len());
        self.paths[at].clone()
    }

    fn depth(&mut self) -> Depth {
        if self.one_in(3) {
            DEPTHS[self.random.below(DEPTHS.len())]
        } else {
            Depth::Infinity
        }
    }

    fn case(&mut self, anchor: &str) -> ReportCase {
        let ignore_ancestry = self.one_in(4);
        let copyfrom = self.one_in(3);
        let request = match self.random.below(8) {
            0 => ReportRequest::Status,
            1 => ReportRequest::Switch {
                to: self.path(),
                copyfrom,
                ignore_ancestry,
            },
            2 => ReportRequest::Diff {
                to: self.path(),
                ignore_ancestry,
                text: self.one_in(2),
            },
            _ => ReportRequest::Update {
                copyfrom,
                ignore_ancestry,
            },
        };
        let (top, target_rev) = (self.rev(), self.rev());
        let mut below: Vec<String> = (0..self.random.below(6))
            .filter_map(|_| {
                let path = self.path();
                let rel = path.strip_prefix(anchor)?.strip_prefix('/')?;
                Some(rel.to_owned()).filter(|rel| !rel.is_empty())
            })
            .collect();
        let operand = match below.first() {
            Some(path) if self.one_in(3) => path.split('/').next().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        if !operand.is_empty() {
            let inside = below
                .iter()
                .filter_map(|path| path.strip_prefix(&operand)?.strip_prefix('/'));
            below = inside.map(str::to_owned).collect();
        }
        below.sort_by(|a, b| {
            RelPath::parse(a)
                .expect("a path")
                .cmp_tree(&RelPath::parse(b).expect("a path"))
        });
        below.dedup();
        let mut report = vec![ReportCommand::Set(
            String::new(),
            top,
            self.depth(),
            self.one_in(5),
            None,
        )];
        if !operand.is_empty() {
            match self.random.below(6) {
                0 | 1 => report.push(ReportCommand::Delete(String::new())),
                2 => report.push(ReportCommand::Set(
                    String::new(),
                    self.rev(),
                    self.depth(),
                    self.one_in(5),
                    None,
                )),
                // With entries below it, the incumbent reads freed memory.
                3 if below.is_empty() => {
                    let (path, rev, depth) = (self.path(), self.rev(), self.depth());
                    report.push(ReportCommand::Link(
                        String::new(),
                        path,
                        rev,
                        depth,
                        self.one_in(5),
                    ));
                }
                _ => {}
            }
        }
        for path in below {
            let rev = if self.one_in(2) { top } else { self.rev() };
            report.push(match self.random.below(8) {
                0 | 1 => ReportCommand::Delete(path),
                2 => ReportCommand::Link(path, self.path(), rev, self.depth(), self.one_in(4)),
                3 => ReportCommand::Set(path, rev, Depth::Exclude, false, None),
                _ => ReportCommand::Set(path, rev, self.depth(), self.one_in(4), None),
            });
        }
        ReportCase {
            request,
            target_rev,
            operand,
            depth: REQUESTED[self.random.below(REQUESTED.len())],
            report,
        }
    }
}

#[test]
fn random_reports() {
    let histories = [
        Spec::new("1.14"),
        Spec::new("1.4"),
        Spec::new("1.14")
            .named("expanded")
            .with(crate::dump::expanded_copies_stream()),
        Spec::small("1.8"),
    ];
    for (seed, spec) in histories.iter().enumerate() {
        let repo = build(spec);
        for anchor in ["", if seed < 2 { "/trunk" } else { "" }] {
            let mut bench = ReportComparison::new(&repo, anchor, Arc::new(Everything));
            let mut imagination = RandomReports::new(seed as u64 + 1, &bench.repo);
            for _ in 0..150 {
                let case = imagination.case(anchor);
                bench.compare(&case);
            }
        }
    }
}

#[test]
fn unreadable_paths() {
    let repo = build(
        &Spec::new("1.14")
            .named("expanded")
            .with(crate::dump::expanded_copies_stream()),
    )
    .copy();
    for (seed, hidden) in ["/from", "/from/d1", "/to/c2/d1", "/other", "/to/c2/foo"]
        .into_iter()
        .enumerate()
    {
        let conf = repo.path().join("conf");
        std::fs::write(conf.join("svnserve.conf"), "[general]\nauthz-db = authz\n").expect("written");
        std::fs::write(conf.join("authz"), format!("[/]\n* = r\n[{hidden}]\n* =\n")).expect("written");
        let filter = Filter {
            rule: FilterRule::Exclude,
            patterns: vec![hidden.to_owned()],
            glob: false,
        };
        let mut bench = ReportComparison::new(&repo, "", Arc::new(filter));
        let mut imagination = RandomReports::new(seed as u64 + 100, &bench.repo);
        for rev in 0..=repo.youngest() {
            bench.compare(&update(
                rev,
                vec![ReportCommand::Set(
                    String::new(),
                    rev,
                    Depth::Infinity,
                    true,
                    None,
                )],
            ));
            bench.compare(&update(rev, vec![set("", 1)]));
        }
        for _ in 0..60 {
            let case = imagination.case("");
            // A server refuses paths that are not readable as a whole before it accepts a report.
            let top = FsPath::canonicalize(&case.operand).expect("a path");
            let to = match &case.request {
                ReportRequest::Switch { to, .. } | ReportRequest::Diff { to, .. } => to,
                ReportRequest::Update { .. } | ReportRequest::Status => "/",
            };
            let to = FsPath::canonicalize(to).expect("a path");
            if bench.readable.read(&top) && bench.readable.read(&to) {
                bench.compare(&case);
            }
        }
    }
}

/// Valid lock tokens, tokens of other locks, and tokens of no lock; on paths that changed and that did not.
#[test]
fn lock_tokens() {
    let mut spec = Spec::new("1.14").named("locks");
    spec.locks = true;
    let repo = build(&spec);
    let mut bench = ReportComparison::new(&repo, "/trunk", Arc::new(Everything));
    let youngest = repo.youngest();
    let mine = "opaquelocktoken:00000000-1111-4222-8333-000000000001";
    let other = "opaquelocktoken:00000000-1111-4222-8333-000000000002";
    for token in [mine, other, "opaquelocktoken:of-no-lock"] {
        for path in ["big.txt", "many", "many/file-050.txt", "hello.txt"] {
            for rev in [youngest, 50, 11] {
                for start_empty in [false, true] {
                    let token = Some(token.to_owned());
                    let locked =
                        ReportCommand::Set(path.to_owned(), rev, Depth::Infinity, start_empty, token.clone());
                    bench.compare(&update(youngest, vec![set("", youngest), locked.clone()]));
                    let mut status = update(youngest, vec![set("", youngest), locked]);
                    status.request = ReportRequest::Status;
                    bench.compare(&status);
                    let top = ReportCommand::Set(String::new(), rev, Depth::Infinity, start_empty, token);
                    let mut operand = update(youngest, vec![top]);
                    operand.operand = path.split('/').next().unwrap_or_default().to_owned();
                    bench.compare(&operand);
                }
            }
        }
    }
}
