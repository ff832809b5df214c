//! Queries of the client about merges, without a working copy.

use testkit::history::Random;
use testkit::random_history::RandomHistory;
use testkit::stream::RecordKind;

/// A run of the client.
#[derive(Debug)]
pub struct MergeQuery {
    pub args: Vec<String>,
    /// True if the order of the output lines is significant.
    pub is_ordered: bool,
}

/// A generator of queries, and of the arguments of merges.
pub struct MergeGenerator<'a> {
    pub random: Random,
    pub history: &'a RandomHistory,
    /// The youngest revision of the repositories. Revisions after the generated history have its last tree.
    pub youngest: usize,
}

impl MergeGenerator<'_> {
    pub fn one_in(&mut self, n: usize) -> bool {
        self.random.below(n) == 0
    }

    pub fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.random.below(all.len())]
    }

    pub fn rev(&mut self) -> usize {
        1 + self.random.below(self.youngest)
    }

    /// Returns a node and a revision in which it exists.
    pub fn node(&mut self, kind: Option<RecordKind>) -> (String, usize) {
        for _ in 0..50 {
            let rev = match self.random.below(2) {
                0 => self.youngest,
                _ => self.rev(),
            };
            let tree = &self.history.trees[rev.min(self.history.trees.len() - 1)];
            // Trees are more frequent than nodes in them.
            let whole = self.random.below(3) > 0 && kind != Some(RecordKind::File);
            let fits = tree.iter().filter(|(path, found)| {
                kind.is_none_or(|kind| kind == **found) && (!whole || path.matches('/').count() < 2)
            });
            let all: Vec<&String> = fits.map(|(path, _)| path).collect();
            if !all.is_empty() {
                return (all[self.random.below(all.len())].clone(), rev);
            }
        }
        (String::new(), self.youngest)
    }

    /// Returns the URL of a node at a peg revision.
    pub fn target(&mut self, kind: Option<RecordKind>) -> String {
        let (path, rev) = self.node(kind);
        // Sometimes a revision in which it may not exist.
        let rev = if self.one_in(15) { self.rev() } else { rev };
        format!("URL/{path}@{rev}")
    }

    pub fn ranges(&mut self) -> String {
        let (a, b) = (self.rev() - 1, self.rev());
        match self.random.below(5) {
            0 => format!("{b}:{a}"),
            1 => format!("{a}:HEAD"),
            2 => format!("HEAD:{a}"),
            _ => format!("{}:{}", a.min(b), a.max(b)),
        }
    }

    pub fn question(&mut self) -> MergeQuery {
        let mut args: Vec<String> = Vec::new();
        let mut is_ordered = true;
        let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
        match self.random.below(20) {
            0..=7 => {
                add(&["mergeinfo", "--show-revs", self.one_of(&["merged", "eligible"])]);
                if self.one_in(3) {
                    add(&["-R"]);
                }
                if self.one_in(3) {
                    add(&["--log"]);
                    if self.one_in(2) {
                        add(&["-v"]);
                    }
                }
                if self.one_in(4) {
                    add(&["-r", &self.ranges()]);
                }
                add(&[&self.target(None), &self.target(None)]);
            }
            8 => add(&[
                "mergeinfo",
                &self.target(Some(RecordKind::Dir)),
                &self.target(Some(RecordKind::Dir)),
            ]),
            9..=14 => {
                // With paths Subversion sometimes stops responding.
                let style = self.one_of(&["-q", "-q", "-q", "-q", "-q", "--xml", "--xml", "-v"]);
                add(&["log", "-g", style]);
                if self.one_in(3) {
                    add(&["-l", self.one_of(&["1", "2", "3", "7"])]);
                }
                if self.one_in(2) {
                    add(&["-r", &self.ranges()]);
                }
                if self.one_in(6) {
                    add(&["--stop-on-copy"]);
                }
                let (path, rev) = self.node(None);
                add(&[&format!("URL/{path}@{rev}")]);
                if self.one_in(3) {
                    let below = format!("{path}/");
                    let tree = &self.history.trees[rev.min(self.history.trees.len() - 1)];
                    let below: Vec<&str> = tree.keys().filter_map(|p| p.strip_prefix(&below)).collect();
                    if !below.is_empty() {
                        for _ in 0..1 + self.random.below(3) {
                            add(&[below[self.random.below(below.len())]]);
                        }
                    }
                }
            }
            15..=16 => {
                add(&["blame", "-g", "-v"]);
                if self.one_in(3) {
                    add(&["-r", &self.ranges()]);
                }
                add(&[&self.target(Some(RecordKind::File))]);
            }
            17 => {
                is_ordered = false;
                add(&[
                    "propget",
                    "-R",
                    "svn:mergeinfo",
                    &self.target(Some(RecordKind::Dir)),
                ]);
            }
            18 => {
                is_ordered = false;
                add(&[
                    "propget",
                    "--show-inherited-props",
                    "-v",
                    "svn:mergeinfo",
                    &self.target(None),
                ]);
            }
            _ => {
                is_ordered = false;
                add(&["proplist", "--show-inherited-props", "-v", &self.target(None)]);
            }
        }
        MergeQuery { args, is_ordered }
    }
}
