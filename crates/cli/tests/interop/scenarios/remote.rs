//! Steps with a server.

use super::generator::{StepGenerator, TREES, View, WorkingCopy, join, target, url};
use super::step::ScenarioStep;

impl StepGenerator {
    /// Adds a commit, mostly of the whole working copy.
    pub fn commit(&mut self, view: &View, copy: WorkingCopy) {
        if self.one_in(3) {
            self.svn(copy, &["update", "-q", "--accept", "postpone"]);
            self.resolve(copy);
        }
        let log = format!("commit {} \u{e4}\nsecond line", self.serial());
        let mut args = vec!["commit", "-m", &log];
        match self.random.below(12) {
            0 => args.extend(["--with-revprop", "note=with it"]),
            1 => args.push("--keep-changelists"),
            2 => args.push("-q"),
            3 => args.push("--no-unlock"),
            4 => args.extend(["--depth", "empty"]),
            5 => args.push("--include-externals"),
            _ => {}
        }
        let path = match self.one_in(4) {
            true => self.path(view, copy).unwrap_or_default(),
            false => String::new(),
        };
        let at = target(&path);
        args.push(&at);
        self.svn(copy, &args);
    }

    /// Adds an update, switch or relocate.
    pub fn update(&mut self, view: &View, copy: WorkingCopy) {
        let rev = format!("-r{}", self.revision(view));
        let path = match self.one_in(2) {
            true => String::new(),
            false => self.path(view, copy).unwrap_or_default(),
        };
        let at = target(&path);
        let depth = self.one_of(&["empty", "files", "immediates", "infinity"]);
        let accept = ["--accept", "postpone"];
        match self.random.below(20) {
            0..6 => self.svn(copy, &["update", "--accept", "postpone", "--force"]),
            6..8 => self.svn(copy, &[&["update", "--force", &rev, &at], &accept[..]].concat()),
            8 => self.svn(copy, &[&["update", "--depth", depth, &at], &accept[..]].concat()),
            9 | 10 => self.svn(
                copy,
                &[&["update", "--set-depth", depth, &at], &accept[..]].concat(),
            ),
            11 => self.svn(copy, &["update", "--set-depth", "exclude", &at]),
            12 | 13 => self.update_absent(view, copy),
            14 => {
                self.obstruct(view, copy);
                self.svn(copy, &["update", "--force", "--accept", "postpone"]);
            }
            15 => {
                let how = self.one_of(&["mine-full", "theirs-full", "working", "base"]);
                self.svn(copy, &["update", "--accept", how, "--adds-as-modification"]);
            }
            16..18 => self.switch(view, copy, &path),
            18 => self.svn(copy, &["update", "--ignore-externals", "-q", &at]),
            _ => {
                self.svn(copy, &["relocate", "URL", "OTHERNAME"]);
                self.svn(copy, &["update", "--accept", "postpone"]);
                self.svn(copy, &["relocate", "OTHERNAME", "URL"]);
            }
        }
    }

    /// Adds an update of a path that a sparse working copy may lack.
    fn update_absent(&mut self, view: &View, copy: WorkingCopy) {
        let from = self.in_repository(view, copy);
        let mut path = from;
        if copy.dir == "a" || self.one_in(2) {
            for tree in TREES {
                if let Some(rest) = path.strip_prefix(tree) {
                    path = rest.trim_start_matches('/').to_owned();
                    break;
                }
            }
        }
        let at = target(&path);
        match self.random.below(3) {
            0 => self.svn(copy, &["update", "--parents", &at]),
            1 => {
                let depth = self.one_of(&["empty", "files", "immediates"]);
                self.svn(copy, &["update", "--parents", "--depth", depth, &at]);
            }
            _ => self.svn(copy, &["update", "--set-depth", "infinity", &at]),
        }
    }

    fn switch(&mut self, view: &View, copy: WorkingCopy, path: &str) {
        let (path, to) = match self.random.below(5) {
            0 => (path.to_owned(), self.in_repository(view, copy)),
            1 | 2 => {
                let tree = self.tree(view, copy);
                (tree, TREES[self.random.below(3)].to_owned())
            }
            _ => {
                let mut below = path;
                for tree in TREES {
                    below = below.strip_prefix(tree).unwrap_or(below).trim_start_matches('/');
                }
                (path.to_owned(), join(self.one_of(&TREES[..3]), below))
            }
        };
        let path = &path;
        let mut to = url(&to);
        if self.one_in(4) {
            to = format!("{}@{}", to.trim_end_matches('@'), self.revision(view));
        }
        let at = target(path);
        let mut args = vec!["switch", "--accept", "postpone", &to, &at];
        if self.one_in(2) {
            args.push("--ignore-ancestry");
        }
        match self.random.below(5) {
            0 => args.extend(["--set-depth", "immediates"]),
            1 => args.extend(["--depth", "files"]),
            2 => args.push("--force"),
            _ => {}
        }
        self.svn(copy, &args);
    }

    /// Adds a merge into a tree of the working copy.
    pub fn merge(&mut self, view: &View, copy: WorkingCopy) {
        let into = self.tree(view, copy);
        if self.one_in(2) {
            self.svn(copy, &["update", "-q", "--accept", "working"]);
        }
        let from = match self.one_in(5) {
            true => {
                let from = self.in_repository(view, copy);
                url(&from)
            }
            false => url(self.one_of(&TREES[..3])),
        };
        let change = format!("-c{}{}", self.one_of(&["", "", "-"]), self.revision(view).max(1));
        let (old, new) = (self.revision(view), self.revision(view));
        let range = format!("-r{old}:{new}");
        let pegged = format!("{}@{new}", from.trim_end_matches('@'));
        let mut args = vec!["merge", "--accept"];
        args.push(self.one_of(&["postpone", "postpone", "mine-full", "theirs-full", "working"]));
        match self.random.below(10) {
            0..3 => args.extend(["--allow-mixed-revisions", &from]),
            3 | 4 => args.extend([&*change, &from]),
            5 => args.extend([&*range, &from]),
            6 => args.extend(["--reintegrate", &from]),
            7 => args.extend(["--record-only", &change, &from]),
            8 => args.extend([&*from, &pegged]),
            _ => args.extend(["--ignore-ancestry", &change, &from]),
        }
        args.push(&into);
        match self.random.below(10) {
            0 => args.push("--dry-run"),
            1 => args.push("--force"),
            2 => args.extend(["--depth", "files"]),
            3 => args.push("-v"),
            _ => {}
        }
        self.svn(copy, &args);
        if self.one_in(2) {
            self.resolve(copy);
            let log = format!("merge {}", self.serial());
            self.svn(copy, &["commit", "-m", &log]);
        }
    }

    /// Adds a step that sets, steals, breaks or releases a lock.
    pub fn lock(&mut self, view: &View, copy: WorkingCopy) {
        let Some(path) = self.file(view, copy) else { return };
        let mut at = target(&path);
        let from = self.in_repository(view, copy);
        let from = url(&from);
        let choice = self.random.below(12);
        if choice >= 4
            && let Some((_, known)) = self.locked.iter().rev().find(|(dir, _)| *dir == copy.dir)
        {
            // A locked path in half of the cases.
            at = target(known);
        }
        match choice {
            0..4 => {
                self.locked.push((copy.dir, path));
                self.svn(copy, &["lock", "-m", "a comment <&>", &at]);
                if self.one_in(4) {
                    self.svn(copy, &["unlock", &at]);
                } else if self.one_in(2) {
                    let text = self.text(&view.text(&join(copy.dir, &at)));
                    self.push(ScenarioStep::Write(join(copy.dir, &at), text));
                    self.svn(copy, &["commit", "-m", "locked"]);
                }
            }
            4 | 5 => self.svn(copy, &["lock", "--force", &at]),
            6..8 => self.svn(copy, &["unlock", &at]),
            8 => self.svn(copy, &["unlock", "--force", &at]),
            9 => self.svn(copy, &["lock", &from]),
            10 => self.svn(copy, &["unlock", "--force", &from]),
            _ => {
                // The other user steals or breaks the lock.
                let (dir, user) = super::generator::COPIES[usize::from(copy.dir == "a")];
                let other = WorkingCopy { dir, user };
                let verb = self.one_of(&["lock", "unlock"]);
                self.svn(other, &[verb, "--force", &at]);
                self.svn(copy, &["status", "-u"]);
            }
        }
    }

    /// Adds a change of the repository without a working copy.
    pub fn by_url(&mut self, view: &View, copy: WorkingCopy) {
        let (from, to) = (self.in_repository(view, copy), self.in_repository(view, copy));
        let log = format!("by url {}", self.serial());
        let rev = format!("-r{}", self.revision(view));
        let fresh = join(&from, super::generator::NAMES[self.random.below(9)]);
        let branch = TREES[2 + self.random.below(3)];
        let message = ["-m", &log];
        let args: Vec<String> = match self.random.below(14) {
            0..4 => {
                // A branch or a tag of a whole tree.
                let tree = self.one_of(&TREES[..3]);
                vec!["copy".into(), rev, url(tree), url(branch)]
            }
            4 => vec![
                "copy".into(),
                "--parents".into(),
                url(&from),
                url(&join(&to, "new/copy")),
            ],
            5 => vec!["move".into(), url(&from), url(&fresh)],
            6 => vec!["rm".into(), url(&fresh)],
            7 => vec!["rm".into(), url(branch)],
            8 => vec!["mkdir".into(), "--parents".into(), url(&join(&fresh, "x/y"))],
            9 => vec!["mkdir".into(), url(&fresh)],
            10 => vec!["copy".into(), url(&from), url(&to), url(&fresh)],
            11 => vec!["import".into(), "-q".into(), "A".into(), url(&fresh)],
            _ => {
                let name = self.one_of(&["note", "svn:log", "svn:author", "x:y"]);
                let verb = self.one_of(&["propset", "propset", "propdel"]);
                let mut args = vec![verb, "--revprop", &rev, name];
                if verb == "propset" {
                    args.push("changed \u{e9}\nlater");
                }
                args.push("URL");
                self.svn(copy, &args);
                return;
            }
        };
        let args: Vec<&str> = args.iter().map(String::as_str).chain(message).collect();
        self.svn(copy, &args);
    }

    /// Adds a command that changes nothing.
    pub fn look(&mut self, view: &View, copy: WorkingCopy) {
        let from = self.in_repository(view, copy);
        let from = url(&from);
        let path = self.path(view, copy).unwrap_or_default();
        let at = target(&path);
        let (old, new) = (self.revision(view), self.revision(view));
        let range = format!("-r{old}:{new}");
        let rev = format!("-r{new}");
        let pegged = format!("{}@{old}", from.trim_end_matches('@'));
        let tree = url(self.one_of(&TREES[..3]));
        let subject = self.one_of(&[&at, &from, &pegged]).to_owned();
        let args: &[&str] = match self.random.below(30) {
            0 => &["log", "-v", "-q", &range, &subject],
            1 => &["log", "-v", "-g", &subject],
            2 => &["log", "-v", "-l3", "--stop-on-copy", &subject],
            3 => &["log", "--diff", &range, &subject],
            4 => &["log", "--with-all-revprops", "--xml", "-v", &subject],
            5 => &["log", "--search", "edit", "-v", &subject],
            6 => &["blame", "-g", &subject],
            7 => &["blame", "--force", &rev, &subject],
            8 => &["cat", &subject],
            9 => &["diff", &range, &subject],
            10 => &["diff", "--old", &tree, "--new", &from],
            11 => &["diff", "--summarize", &range, &from],
            12 => &["diff", "--git", "--notice-ancestry", &range, &tree],
            13 => &["diff", "--show-copies-as-adds", "-r", "HEAD", &at],
            14 => &["mergeinfo", "--show-revs", "eligible", &tree, &at],
            15 => &["mergeinfo", "--show-revs", "merged", "-R", &tree, &at],
            16 => &["mergeinfo", "--log", "-v", "--show-revs", "merged", &tree, &from],
            17 => &["mergeinfo", &tree, &from],
            18 | 19 => &["status", "-u", "-v"],
            20 => &["ls", "-R", "-v", &subject],
            21 => &["ls", "--depth", "immediates", "--include-externals", &subject],
            22 => &["ls", "-R", "--search", "*a*", &from],
            23 => &["info", &subject],
            24 => &["info", "-R", &from],
            25 => &["proplist", "-v", "-R", &subject],
            26 => &[
                "propget",
                "-v",
                "-R",
                "--show-inherited-props",
                "svn:mergeinfo",
                &subject,
            ],
            27 => &["proplist", "-v", "--revprop", &rev, &from],
            28 => {
                let depth = self.one_of(&["files", "infinity"]);
                let eol = self.one_of(&["LF", "CRLF"]);
                self.svn(
                    WorkingCopy { dir: ".", ..copy },
                    &[
                        "export",
                        "--force",
                        "--depth",
                        depth,
                        "--native-eol",
                        eol,
                        &from,
                        "x",
                    ],
                );
                return;
            }
            _ => &["diff", "--properties-only", &range, &tree],
        };
        self.svn(copy, args);
    }
}
