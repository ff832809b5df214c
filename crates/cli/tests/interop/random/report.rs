//! Random reports of working copies, for both protocols.
//!
//! There are two kinds. [`ReportGenerator::copy`] makes reports as the stock client does: every part exists, at
//! another revision, with a greater or smaller depth than its parent, excluded, missing, switched, incomplete or
//! locked. [`ReportGenerator::arbitrary`] makes valid reports that no client sends.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use testkit::history::Random;
use testkit::random_history::RandomHistory;
use testkit::stream::RecordKind;

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportOperation {
    Update,
    Switch,
    Status,
    Diff,
}

/// A request with its report.
#[derive(Clone, Debug)]
pub struct RandomReport {
    pub operation: ReportOperation,
    /// The path with a leading slash, or "".
    pub anchor: String,
    /// An entry of the anchor, or "".
    pub operand: String,
    /// The target revision; `None` for the youngest.
    pub target: Option<u64>,
    /// The depth; `None` for the older form of the request, which has [`RandomReport::recurse`] only.
    pub depth: Option<&'static str>,
    pub recurse: bool,
    /// The target of a switch or diff: a path with a leading slash, or "".
    pub other: String,
    pub text_deltas: bool,
    pub send_copyfrom: bool,
    pub ignore_ancestry: bool,
    pub entries: Vec<ReportEntry>,
}

/// A path of a report, relative to the operand.
#[derive(Clone, Debug)]
pub struct ReportEntry {
    pub path: String,
    /// The client's state; `None` if it does not have the path.
    pub held: Option<ReportedState>,
}

/// The client's state of a path.
#[derive(Clone, Debug)]
pub struct ReportedState {
    pub rev: u64,
    /// The depth; `None` is not sent and means infinity.
    pub depth: Option<&'static str>,
    pub start_empty: bool,
    pub token: Option<String>,
    /// The path that it is switched to, with a leading slash, or "".
    pub link: Option<String>,
}

impl ReportedState {
    fn at(rev: u64, depth: &'static str) -> ReportedState {
        ReportedState {
            rev,
            depth: Some(depth),
            start_empty: false,
            token: None,
            link: None,
        }
    }
}

impl RandomReport {
    /// Returns the paths, relative to the anchor, whose order in the report the response follows, and their parents.
    pub fn reported(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for entry in &self.entries {
            let parts = [self.operand.as_str(), entry.path.as_str()];
            let path = parts.into_iter().filter(|part| !part.is_empty());
            let path = path.collect::<Vec<_>>().join("/");
            let above = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
            all.extend(above);
            if entry
                .held
                .as_ref()
                .is_some_and(|held| held.depth != Some("exclude"))
            {
                all.insert(path);
            }
        }
        all
    }
}

impl RandomReport {
    /// True if Subversion may fail or crash (docs/KNOWN-DIFFERENCES.md): the operand is switched, and the report has
    /// paths below it.
    pub fn is_deadly(&self) -> bool {
        let [_, second, _, ..] = &self.entries[..] else {
            return false;
        };
        let is_link = second.held.as_ref().is_some_and(|held| held.link.is_some());
        second.path.is_empty() && is_link
    }
}

/// A generator of reports.
pub struct ReportGenerator<'a> {
    pub random: &'a mut Random,
    pub history: &'a RandomHistory,
    /// The locked paths with a leading slash, and their tokens.
    pub locks: &'a [(String, String)],
}

impl ReportGenerator<'_> {
    pub fn report(&mut self, operation: ReportOperation) -> RandomReport {
        let top = self.rev();
        let target = self.some_rev();
        let anchor = self.anchor(top);
        let operand = match self.random.below(5) {
            0 | 1 => self.operand(&anchor, top, target.unwrap_or(self.history.youngest)),
            _ => String::new(),
        };
        let depth = ["unknown", "unknown", "empty", "files", "immediates", "infinity"][self.random.below(6)];
        let mut report = RandomReport {
            operation,
            operand,
            target,
            depth: (self.random.below(15) > 0).then_some(depth),
            recurse: self.bit(),
            other: self.other(&anchor),
            text_deltas: self.random.below(4) > 0,
            send_copyfrom: self.bit(),
            ignore_ancestry: self.random.below(3) == 0,
            entries: Vec::new(),
            anchor,
        };
        if self.random.below(4) == 0 {
            self.arbitrary(&mut report, top);
        } else {
            self.copy(&mut report, top);
        }
        report
    }

    /// Makes the report of a working copy as the stock client does.
    fn copy(&mut self, report: &mut RandomReport, rev: u64) {
        let depth = self.depth();
        let mut first = ReportedState::at(rev, depth);
        // A checkout, or an interrupted update.
        first.start_empty = self.random.below(5) == 0;
        let mut path = join(&report.anchor, &report.operand);
        let (mut rev, mut start_empty) = (rev, first.start_empty);
        report.entries.push(report_entry("", Some(first)));
        if !report.operand.is_empty() {
            match self.random.below(8) {
                0..=2 => {
                    // Missing or excluded.
                    report.entries.push(report_entry("", None));
                    return;
                }
                3 => {
                    let (held, to) = self.switched();
                    path = to;
                    (rev, start_empty) = (held.rev, held.start_empty);
                    report.entries.push(report_entry("", Some(held)));
                }
                _ => {}
            }
        }
        let calm = [2, 4, 10, 40][self.random.below(4)];
        self.children(
            &mut report.entries,
            "",
            &path,
            rev,
            rank(depth),
            start_empty,
            calm,
        );
    }

    /// Reports the entries of a directory. About one in `calm` entries differs from the state that its parent
    /// implies.
    #[expect(
        clippy::too_many_arguments,
        reason = "they are what a directory of a working copy is"
    )]
    fn children(
        &mut self,
        out: &mut Vec<ReportEntry>,
        dir: &str,
        path: &str,
        rev: u64,
        depth: usize,
        start_empty: bool,
        calm: usize,
    ) {
        let other = self.rev();
        let mut names = self.names(path, rev);
        let here = names.clone();
        names.extend(self.names(path, other));
        for name in names {
            let (child, at) = (slash(dir, &name), join(path, &name));
            let kind = self.kind(&at, rev);
            let implied = match kind {
                Some(RecordKind::File) => depth >= 1,
                Some(RecordKind::Dir) => depth >= 2,
                None => false,
            } && !start_empty;
            let below = if depth == 2 { 0 } else { depth };
            if !implied {
                // Most entries that the parent does not imply are missing.
                if self.random.below(3) > 0 {
                    continue;
                }
                let rev = if here.contains(&name) { rev } else { other };
                self.explicit(out, &child, &at, rev, calm);
                continue;
            }
            if self.random.below(calm) > 0 {
                if kind == Some(RecordKind::Dir) {
                    self.children(out, &child, &at, rev, below, false, calm);
                }
                continue;
            }
            match self.random.below(8) {
                0 => out.push(report_entry(&child, Some(ReportedState::at(rev, "exclude")))),
                1 => out.push(report_entry(&child, None)),
                2 | 3 => {
                    let (held, to) = self.switched();
                    let (rev, depth, empty) = (held.rev, rank_of(&held), held.start_empty);
                    out.push(report_entry(&child, Some(held)));
                    self.children(out, &child, &to, rev, depth, empty, calm);
                }
                4 | 5 => self.explicit(out, &child, &at, other, calm),
                _ => self.explicit(out, &child, &at, rev, calm),
            }
        }
    }

    /// Reports a node in a state of its own, if that revision has it.
    fn explicit(&mut self, out: &mut Vec<ReportEntry>, child: &str, at: &str, rev: u64, calm: usize) {
        let Some(kind) = self.kind(at, rev) else {
            return;
        };
        let mut held = ReportedState::at(rev, "infinity");
        if kind == RecordKind::File {
            held.token = self.token(at);
            out.push(report_entry(child, Some(held)));
            return;
        }
        held.depth = Some(self.depth());
        held.start_empty = self.random.below(6) == 0;
        let (depth, empty) = (rank_of(&held), held.start_empty);
        out.push(report_entry(child, Some(held)));
        self.children(out, child, at, rev, depth, empty, calm);
    }

    /// Returns an existing path to switch to.
    fn switched(&mut self) -> (ReportedState, String) {
        let rev = self.rev();
        let paths: Vec<&String> = self.history.trees[rev as usize].keys().collect();
        let to = join("", paths[self.random.below(paths.len())]);
        let mut held = ReportedState::at(rev, self.depth());
        held.start_empty = self.random.below(8) == 0;
        held.link = Some(to.clone());
        held.token = self.token(&to);
        (held, to)
    }

    /// Makes a report with arbitrary paths, revisions and depths.
    fn arbitrary(&mut self, report: &mut RandomReport, rev: u64) {
        let depth = self.any_depth();
        let mut first = ReportedState::at(rev, depth.unwrap_or("infinity"));
        first.depth = depth;
        first.start_empty = self.random.below(4) == 0;
        match self.random.below(100) {
            // The server refuses this.
            0 => first.link = Some(self.path()),
            1 => report.entries.push(report_entry("", None)),
            _ => {}
        }
        if self.random.below(100) > 0 {
            report.entries.push(report_entry("", Some(first)));
        }
        let top = join(&report.anchor, &report.operand);
        let mut paths: Vec<String> = (0..self.random.below(6)).map(|_| self.below(&top)).collect();
        paths.sort_by_key(|path| path.replace('/', "\0"));
        paths.dedup();
        paths.retain(|path| !path.is_empty());
        if paths.len() > 1 && self.random.below(12) == 0 {
            let at = self.random.below(paths.len() - 1);
            paths.swap(at, at + 1);
        }
        // A second entry for the operand; the server refuses a report without one.
        if self.random.below(if report.operand.is_empty() { 40 } else { 2 }) == 0 {
            paths.insert(0, String::new());
        }
        for path in paths {
            let held = (self.random.below(5) > 0).then(|| {
                let beyond = u64::from(self.random.below(100) == 0);
                let mut held = ReportedState::at(self.rev() + beyond * self.history.youngest, "infinity");
                held.depth = self.any_depth();
                held.start_empty = self.random.below(3) == 0;
                if self.random.below(3) == 0 {
                    held.token = self.token(&join(&top, &path));
                }
                if self.random.below(4) == 0 {
                    held.link = Some(self.path());
                }
                held
            });
            report.entries.push(ReportEntry { path, held });
        }
    }

    fn token(&mut self, path: &str) -> Option<String> {
        let lock = self.locks.iter().find(|(locked, _)| locked == path);
        match (lock, self.random.below(4)) {
            (Some((_, token)), 1..) => Some(token.clone()),
            (_, 0) => Some("opaquelocktoken:stale".to_owned()),
            _ => None,
        }
    }

    /// Returns an anchor, mostly an existing directory.
    fn anchor(&mut self, rev: u64) -> String {
        if self.random.below(20) == 0 {
            return self.path();
        }
        let tree = &self.history.trees[rev as usize];
        let dirs = tree.iter().filter(|(_, kind)| **kind == RecordKind::Dir);
        let dirs: Vec<&String> = dirs.map(|(path, _)| path).collect();
        match self.random.below(3) {
            0 => String::new(),
            _ => join("", dirs[self.random.below(dirs.len())]),
        }
    }

    /// Returns an entry of the anchor, in the report's revision or in the target, sometimes in neither.
    fn operand(&mut self, anchor: &str, rev: u64, target: u64) -> String {
        let mut names = self.names(anchor, rev);
        let target = target.min(self.history.youngest);
        names.extend(self.names(anchor, target));
        let names: Vec<String> = names.into_iter().collect();
        match self.random.below(12) {
            0 => "g".to_owned(),
            _ if names.is_empty() => String::new(),
            _ => names[self.random.below(names.len())].clone(),
        }
    }

    /// Returns the target of a switch: mostly a directory, sometimes a part or a parent of the anchor.
    fn other(&mut self, anchor: &str) -> String {
        match self.random.below(6) {
            0 => anchor.to_owned(),
            1 => self.path(),
            _ => {
                let rev = self.rev();
                self.anchor(rev)
            }
        }
    }

    fn names(&self, dir: &str, rev: u64) -> BTreeSet<String> {
        let tree = &self.history.trees[rev as usize];
        let dir = dir.trim_start_matches('/');
        let children = tree.keys().filter(|path| !path.is_empty()).filter_map(|path| {
            let rest = match dir {
                "" => path.as_str(),
                _ => path.strip_prefix(dir)?.strip_prefix('/')?,
            };
            (!rest.contains('/')).then(|| rest.to_owned())
        });
        children.collect()
    }

    fn kind(&self, path: &str, rev: u64) -> Option<RecordKind> {
        let tree = &self.history.trees[rev as usize];
        tree.get(path.trim_start_matches('/')).copied()
    }

    fn path(&mut self) -> String {
        match self.random.below(8) {
            0 => String::new(),
            _ => self.history.paths[self.random.below(self.history.paths.len())].clone(),
        }
    }

    /// Returns a path below `base`, relative to it; "" if there is none.
    fn below(&mut self, base: &str) -> String {
        for _ in 0..20 {
            let path = self.path();
            if let Some(rest) = path.strip_prefix(&format!("{base}/")) {
                return rest.to_owned();
            }
        }
        String::new()
    }

    fn rev(&mut self) -> u64 {
        self.random.below(self.history.youngest as usize + 1) as u64
    }

    /// Returns a revision; sometimes the youngest, rarely a missing one.
    fn some_rev(&mut self) -> Option<u64> {
        match self.random.below(60) {
            0 => Some(self.history.youngest + 1),
            1..=15 => None,
            _ => Some(self.rev()),
        }
    }

    fn depth(&mut self) -> &'static str {
        ["infinity", "infinity", "infinity", "immediates", "files", "empty"][self.random.below(6)]
    }

    fn any_depth(&mut self) -> Option<&'static str> {
        match self.random.below(40) {
            0 => Some("unknown"),
            1..=3 => Some("exclude"),
            4..=8 => None,
            _ => Some(self.depth()),
        }
    }

    fn bit(&mut self) -> bool {
        self.random.below(2) == 0
    }
}

/// Encodes the report for svn://, for a session at the anchor of a repository with this URL.
pub fn words(report: &RandomReport, root: &str) -> String {
    let url = |path: &str| text(&format!("{root}{}", path.replace(' ', "%20")));
    let target = report.target.map_or("( )".into(), |rev| format!("( {rev} )"));
    let (operand, recurse) = (text(&report.operand), report.recurse);
    let depth = report.depth.unwrap_or_default();
    let (copyfrom, ancestry) = (report.send_copyfrom, report.ignore_ancestry);
    let recurse = match report.depth {
        Some(depth) => ["unknown", "infinity"].contains(&depth),
        None => recurse,
    };
    let mut out = match (report.operation, report.depth) {
        (ReportOperation::Update, None) => format!("( update ( {target} {operand} {recurse} ) ) "),
        (ReportOperation::Update, _) => {
            format!("( update ( {target} {operand} {recurse} {depth} {copyfrom} {ancestry} ) ) ")
        }
        (ReportOperation::Switch, None) => {
            let other = url(&report.other);
            format!("( switch ( {target} {operand} {recurse} {other} ) ) ")
        }
        (ReportOperation::Switch, _) => {
            let other = url(&report.other);
            format!("( switch ( {target} {operand} {recurse} {other} {depth} {copyfrom} {ancestry} ) ) ")
        }
        (ReportOperation::Status, None) => format!("( status ( {operand} {recurse} {target} ) ) "),
        (ReportOperation::Status, _) => format!("( status ( {operand} {recurse} {target} {depth} ) ) "),
        (ReportOperation::Diff, _) => {
            let (other, texts) = (url(&report.other), report.text_deltas);
            format!("( diff ( {target} {operand} {recurse} {ancestry} {other} {texts} {depth} ) ) ")
        }
    };
    for entry in &report.entries {
        let path = text(&entry.path);
        let Some(held) = &entry.held else {
            _ = write!(out, "( delete-path ( {path} ) ) ");
            continue;
        };
        let (rev, empty) = (held.rev, held.start_empty);
        let token = held.token.as_deref().map_or(String::new(), text);
        let depth = held.depth.unwrap_or_default();
        _ = match &held.link {
            Some(to) => write!(
                out,
                "( link-path ( {path} {} {rev} {empty} ( {token} ) {depth} ) ) ",
                url(to)
            ),
            None => write!(out, "( set-path ( {path} {rev} {empty} ( {token} ) {depth} ) ) "),
        };
    }
    out + "( finish-report ( ) ) "
}

fn report_entry(path: &str, held: Option<ReportedState>) -> ReportEntry {
    let path = path.to_owned();
    ReportEntry { path, held }
}

fn rank(depth: &str) -> usize {
    let depths = ["empty", "files", "immediates", "infinity"];
    depths.iter().position(|known| *known == depth).unwrap_or(0)
}

fn rank_of(held: &ReportedState) -> usize {
    rank(held.depth.unwrap_or("infinity"))
}

fn slash(dir: &str, name: &str) -> String {
    join(dir, name).trim_start_matches('/').to_owned()
}

fn join(dir: &str, name: &str) -> String {
    match name {
        "" => dir.to_owned(),
        _ => format!("{dir}/{name}"),
    }
}

fn text(text: &str) -> String {
    format!("{}:{text}", text.len())
}
