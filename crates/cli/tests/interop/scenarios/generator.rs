//! Generates steps from a seed and from the files of one sandbox. Steps without a server are in `local`, steps with a
//! server in `remote`.

use std::collections::VecDeque;
use std::path::PathBuf;

use testkit::history::Random;
use testkit::server::transport::Transport;

use super::sandbox::{DiskEntry, Sandbox};
use super::step::{Run, ScenarioStep, StepText};

/// The two working copies and their users.
pub const COPIES: [(&str, &str); 2] = [("a", "alice"), ("b", "bob")];
/// The names of new entries: few, so that they collide.
pub const NAMES: [&str; 9] = [
    "A",
    "B",
    "new",
    "f.txt",
    "g.c",
    "sp ace",
    "h@1",
    "e%20\u{e9}",
    "x.tmp",
];
/// The directories of the repository for trees like the trunk.
pub const TREES: [&str; 5] = ["trunk", "branches/b1", "branches/b2", "tags/t1", "branches/b3"];

/// A generator of a scenario.
pub struct StepGenerator {
    pub random: Random,
    pub transport: Transport,
    pending: VecDeque<ScenarioStep>,
    serial: u32,
    /// The paths of files that may be locked, below a tree.
    pub locked: Vec<(&'static str, String)>,
    /// True if the second working copy is of the whole repository.
    whole: bool,
}

/// The state that a step is generated from.
pub struct View {
    dir: PathBuf,
    entries: Vec<(String, DiskEntry)>,
    pub youngest: u64,
}

/// The working copy of a step.
#[derive(Clone, Copy)]
pub struct WorkingCopy {
    pub dir: &'static str,
    pub user: &'static str,
}

impl View {
    pub fn of(sandbox: &Sandbox) -> View {
        View {
            dir: sandbox.dir.clone(),
            entries: sandbox.entries(),
            youngest: sandbox.youngest(),
        }
    }

    /// Returns paths in a working copy.
    pub fn paths(&self, copy: WorkingCopy, fits: impl Fn(DiskEntry) -> bool) -> Vec<&str> {
        let all = self.entries.iter().filter(|(_, entry)| fits(*entry));
        all.filter_map(|(path, _)| path.strip_prefix(copy.dir)?.strip_prefix('/'))
            .collect()
    }

    pub fn has(&self, path: &str) -> bool {
        self.entries.iter().any(|(known, _)| known == path)
    }

    pub fn is_file(&self, path: &str) -> bool {
        self.entries
            .iter()
            .any(|(known, entry)| known == path && *entry == DiskEntry::File)
    }

    /// Returns the contents of a file; empty if it does not exist.
    pub fn text(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.dir.join(path)).unwrap_or_default()
    }
}

impl StepGenerator {
    pub fn new(seed: u64, transport: Transport) -> StepGenerator {
        let mut random = Random::new(seed);
        random.next();
        let mut generator = StepGenerator {
            whole: random.below(3) == 0,
            random,
            transport,
            locked: Vec::new(),
            pending: VecDeque::new(),
            serial: 0,
        };
        generator.check_out();
        generator
    }

    fn check_out(&mut self) {
        let second = match (self.whole, self.random.below(3)) {
            (true, _) => "URL",
            (false, 0) => "URL/trunk",
            (false, _) => "URL/branches/b1",
        };
        let [first_depth, second_depth] = [0, 1].map(|_| match self.random.below(8) {
            0 => "empty",
            1 => "files",
            2 => "immediates",
            _ => "infinity",
        });
        for (at, (url, depth)) in [("URL/trunk", first_depth), (second, second_depth)]
            .into_iter()
            .enumerate()
        {
            let (dir, user) = COPIES[at];
            let copy = WorkingCopy { dir: ".", user };
            self.svn(copy, &["checkout", "--depth", depth, url, dir]);
        }
    }

    /// Returns the next step.
    pub fn next(&mut self, view: &View) -> ScenarioStep {
        loop {
            if let Some(step) = self.pending.pop_front() {
                return step;
            }
            let (dir, user) = COPIES[self.random.below(2)];
            let user = if self.one_in(10) { "bob" } else { user };
            let copy = WorkingCopy { dir, user };
            match self.random.below(100) {
                0..40 => self.change(view, copy),
                40..54 => self.commit(view, copy),
                54..69 => self.update(view, copy),
                69..75 => self.merge(view, copy),
                75..80 => self.lock(view, copy),
                80..87 => self.by_url(view, copy),
                _ => self.look(view, copy),
            }
        }
    }

    pub fn push(&mut self, step: ScenarioStep) {
        self.pending.push_back(step);
    }

    /// Adds a run of the client.
    pub fn svn<T: AsRef<str>>(&mut self, copy: WorkingCopy, args: &[T]) {
        self.push(ScenarioStep::Svn(Run {
            dir: copy.dir,
            user: copy.user,
            args: args.iter().map(|arg| arg.as_ref().to_owned()).collect(),
            save: None,
        }));
    }

    /// Adds a run of the client with its output in a file of the sandbox.
    pub fn svn_into(&mut self, copy: WorkingCopy, args: &[&str], file: &str) {
        self.svn(copy, args);
        if let Some(ScenarioStep::Svn(run)) = self.pending.back_mut() {
            run.save = Some(file.to_owned());
        }
    }

    /// Returns true once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    pub fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.random.below(all.len())]
    }

    /// Returns a new number each time.
    pub fn serial(&mut self) -> u32 {
        self.serial += 1;
        self.serial
    }

    pub fn file(&mut self, view: &View, copy: WorkingCopy) -> Option<String> {
        self.any(&view.paths(copy, |entry| entry == DiskEntry::File))
    }

    pub fn path(&mut self, view: &View, copy: WorkingCopy) -> Option<String> {
        self.any(&view.paths(copy, |_| true))
    }

    /// Returns a directory of the working copy; the root is "".
    pub fn directory(&mut self, view: &View, copy: WorkingCopy) -> String {
        let mut all = view.paths(copy, |entry| entry == DiskEntry::Dir);
        all.push("");
        self.any(&all).expect("because there is the root")
    }

    fn any(&mut self, all: &[&str]) -> Option<String> {
        (!all.is_empty()).then(|| all[self.random.below(all.len())].to_owned())
    }

    /// Returns an unused path of the working copy.
    pub fn fresh(&mut self, view: &View, copy: WorkingCopy) -> Option<String> {
        for _ in 0..8 {
            let parent = self.directory(view, copy);
            let path = join(&parent, self.one_of(&NAMES));
            if path.len() < 60 && !view.has(&join(copy.dir, &path)) {
                return Some(path);
            }
        }
        None
    }

    /// Returns a path of the working copy, below one of the trees of the repository.
    pub fn in_repository(&mut self, view: &View, copy: WorkingCopy) -> String {
        let mut path = match self.one_in(6) {
            true => String::new(),
            false => self.path(view, copy).unwrap_or_default(),
        };
        for tree in TREES {
            if let Some(rest) = path.strip_prefix(tree) {
                path = rest.trim_start_matches('/').to_owned();
                break;
            }
        }
        let tree = if self.one_in(3) {
            self.one_of(&TREES)
        } else {
            TREES[self.random.below(2)]
        };
        join(tree, &path)
    }

    /// Returns the path in the working copy of a tree like the trunk.
    pub fn tree(&mut self, view: &View, copy: WorkingCopy) -> String {
        if copy.dir == "a" || !self.whole {
            return ".".to_owned();
        }
        let there: Vec<&str> = TREES
            .into_iter()
            .filter(|tree| view.has(&join(copy.dir, tree)))
            .collect();
        self.any(&there).unwrap_or_else(|| ".".to_owned())
    }

    /// Returns an existing revision, mostly a late one.
    pub fn revision(&mut self, view: &View) -> u64 {
        let youngest = view.youngest as usize;
        match self.random.below(4) {
            0 => self.random.below(youngest + 1) as u64,
            1 => youngest as u64,
            _ => (youngest - self.random.below(youngest.min(6) + 1)) as u64,
        }
    }

    /// Returns a new text for a file with the text `before`.
    pub fn text(&mut self, before: &[u8]) -> StepText {
        let serial = self.serial();
        let end: &[u8] = match before.windows(2).any(|pair| pair == b"\r\n") {
            true => b"\r\n",
            false => b"\n",
        };
        // Mixed line ends are an error in the client during a commit. Over HTTP it then waits until the server closes
        // the connection.
        let end = match self.transport == Transport::Svn && self.one_in(12) {
            true => b"\r\n",
            false => end,
        };
        let line = [format!("line {serial} $Rev$").as_bytes(), end].concat();
        match self.random.below(20) {
            0..9 => StepText::Bytes([before, &line].concat()),
            9..14 if !before.is_empty() => {
                // Within the text, at the beginning of a line.
                let mut at = self.random.below(before.len());
                while at > 0 && before[at - 1] != b'\n' {
                    at -= 1;
                }
                let rest = &before[at..];
                let gone = match self.one_in(2) {
                    true => rest
                        .iter()
                        .position(|byte| *byte == b'\n')
                        .map_or(0, |end| end + 1),
                    false => 0,
                };
                StepText::Bytes([&before[..at], &line, &rest[gone..]].concat())
            }
            14 => StepText::Bytes(Vec::new()),
            15 => StepText::Bytes((0..300).map(|_| self.random.next() as u8).collect()),
            16 => {
                let count = 1000 + self.random.below(6000);
                StepText::Lines(format!("a line of a long text, {serial}\n"), count)
            }
            17 => StepText::Bytes(b"the same everywhere\n".to_vec()),
            _ => StepText::Bytes((0..1 + self.random.below(8)).flat_map(|_| line.clone()).collect()),
        }
    }
}

/// Joins a path and a name.
pub fn join(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}/{name}"),
    }
}

/// Returns a path of a working copy as an argument: an `@` is added, because the client takes text after the last one
/// for a revision.
pub fn target(path: &str) -> String {
    match path {
        "" => ".".to_owned(),
        path if path.contains('@') => format!("{path}@"),
        path => path.to_owned(),
    }
}

/// Returns the URL of a path of the repository as an argument.
pub fn url(path: &str) -> String {
    let encoded = path.replace('%', "%25");
    target(&format!("URL/{encoded}"))
}
