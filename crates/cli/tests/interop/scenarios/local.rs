//! Steps that change a working copy.

use testkit::server::transport::Transport;

use super::generator::{StepGenerator, View, WorkingCopy, join, target, url};
use super::step::{ScenarioStep, StepText};

impl StepGenerator {
    /// Adds a change of a working copy, mostly without the server.
    pub fn change(&mut self, view: &View, copy: WorkingCopy) {
        let choice = self.random.below(48);
        self.change_by(choice, view, copy);
        if (12..40).contains(&choice) && self.one_in(3) {
            let log = format!("change {}", self.serial());
            self.svn(copy, &["commit", "-m", &log]);
        }
    }

    fn change_by(&mut self, choice: usize, view: &View, copy: WorkingCopy) {
        match choice {
            0..12 => {
                for _ in 0..1 + self.random.below(3) {
                    self.edit(view, copy);
                }
                self.commit_soon(copy);
            }
            12..16 => self.add_file(view, copy),
            16..18 => self.add_tree(view, copy),
            18..20 => {
                if let Some(path) = self.fresh(view, copy) {
                    self.svn(copy, &["mkdir", &target(&path)]);
                }
            }
            20..23 => self.remove(view, copy),
            23..26 => self.move_or_copy(view, copy, "move"),
            26..28 => self.move_or_copy(view, copy, "copy"),
            28..31 => self.copy_from_history(view, copy),
            31..33 => self.replace(view, copy),
            33..38 => self.property(view, copy),
            38 => self.externals(view, copy),
            39 => self.link(view, copy),
            40 => self.change_list(view, copy),
            41..43 => self.revert(view, copy),
            43 => {
                let more = self.one_of(&["-q", "--remove-unversioned", "--vacuum-pristines"]);
                self.svn(copy, &["cleanup", more]);
            }
            44..46 => self.resolve(copy),
            _ => self.patch(view, copy),
        }
    }

    fn commit_soon(&mut self, copy: WorkingCopy) {
        if self.one_in(2) {
            let log = format!("edit {}", self.serial());
            self.svn(copy, &["commit", "-m", &log]);
        }
    }

    fn edit(&mut self, view: &View, copy: WorkingCopy) {
        if let Some(path) = self.file(view, copy) {
            let path = join(copy.dir, &path);
            let before = view.text(&path);
            let text = self.text(&before);
            self.push(ScenarioStep::Write(path, text));
        }
    }

    fn add_file(&mut self, view: &View, copy: WorkingCopy) {
        let Some(path) = self.fresh(view, copy) else {
            return;
        };
        let text = self.text(b"");
        self.push(ScenarioStep::Write(join(copy.dir, &path), text));
        let more = self.one_of(&["-q", "--auto-props", "--no-auto-props", "--force"]);
        self.svn(copy, &["add", more, &target(&path)]);
    }

    fn add_tree(&mut self, view: &View, copy: WorkingCopy) {
        let Some(path) = self.fresh(view, copy) else {
            return;
        };
        let top = join(copy.dir, &path);
        self.push(ScenarioStep::Mkdir(join(&top, "sub")));
        for name in ["one", "sub/two", "sub/three.o", "x.tmp"] {
            let text = self.text(b"");
            self.push(ScenarioStep::Write(join(&top, name), text));
        }
        let depth = self.one_of(&["infinity", "infinity", "immediates", "empty"]);
        self.svn(copy, &["add", "--depth", depth, &target(&path)]);
        if self.one_in(2) {
            let log = format!("add {}", self.serial());
            self.svn(copy, &["commit", "-m", &log]);
        }
    }

    fn remove(&mut self, view: &View, copy: WorkingCopy) {
        let Some(path) = self.path(view, copy) else { return };
        if self.one_in(6) {
            // Removed without the client, so that it is missing.
            self.push(ScenarioStep::Remove(join(copy.dir, &path)));
            return;
        }
        let more = self.one_of(&["-q", "--force", "--force", "--keep-local"]);
        self.svn(copy, &["rm", more, &target(&path)]);
    }

    fn move_or_copy(&mut self, view: &View, copy: WorkingCopy, verb: &str) {
        if let (Some(from), Some(to)) = (self.path(view, copy), self.fresh(view, copy)) {
            self.svn(copy, &[verb, &target(&from), &target(&to)]);
            if self.one_in(2) && view.is_file(&join(copy.dir, &from)) {
                let before = view.text(&join(copy.dir, &from));
                let text = self.text(&before);
                self.push(ScenarioStep::Write(join(copy.dir, &to), text));
            }
        }
    }

    fn copy_from_history(&mut self, view: &View, copy: WorkingCopy) {
        let Some(to) = self.fresh(view, copy) else { return };
        let from = self.in_repository(view, copy);
        let rev = self.revision(view);
        let from = url(&from);
        let from = format!("{}@{rev}", from.trim_end_matches('@'));
        self.svn(copy, &["copy", &from, &target(&to)]);
    }

    fn replace(&mut self, view: &View, copy: WorkingCopy) {
        let Some(path) = self.path(view, copy) else { return };
        self.svn(copy, &["rm", "--force", &target(&path)]);
        if self.one_in(3) {
            let from = self.in_repository(view, copy);
            self.svn(copy, &["copy", &url(&from), &target(&path)]);
        } else if self.one_in(4) {
            self.svn(copy, &["mkdir", &target(&path)]);
        } else {
            let text = self.text(b"");
            self.push(ScenarioStep::Write(join(copy.dir, &path), text));
            self.svn(copy, &["add", &target(&path)]);
        }
    }

    fn property(&mut self, view: &View, copy: WorkingCopy) {
        let Some(path) = self.path(view, copy) else { return };
        let is_file = view.is_file(&join(copy.dir, &path));
        let name = match is_file {
            true => self.one_of(&[
                "svn:executable",
                "svn:needs-lock",
                "svn:eol-style",
                "svn:eol-style",
                "svn:keywords",
                "svn:mime-type",
                "color",
                "x:y.z",
            ]),
            false => self.one_of(&[
                "svn:ignore",
                "svn:global-ignores",
                "svn:auto-props",
                "color",
                "x:y.z",
            ]),
        };
        let mut more = vec![self.one_of(&["-q", "-q", "--force"])];
        let at = target(&path);
        if self.one_in(4) {
            self.svn(copy, &["propdel", name, &at]);
            return;
        }
        let serial = self.serial();
        let value = match name {
            "svn:executable" | "svn:needs-lock" => "*".to_owned(),
            // Adding a line to a text with CR makes mixed line ends, which `text` does only over svn://.
            "svn:eol-style" if self.transport != Transport::Svn => {
                self.one_of(&["native", "LF", "CRLF"]).to_owned()
            }
            "svn:eol-style" => self.one_of(&["native", "LF", "CRLF", "CR"]).to_owned(),
            // No keywords with dates or URLs: they would be committed when the property is removed.
            "svn:keywords" => self
                .one_of(&["Rev Author", "Rev", "Author Mine=%r-%a-%b-%P"])
                .to_owned(),
            "svn:mime-type" => self
                .one_of(&[
                    "text/plain",
                    "application/octet-stream",
                    "text/x-c; charset=utf-8",
                ])
                .to_owned(),
            "svn:ignore" | "svn:global-ignores" => format!("*.tmp\n*.{serial}\n"),
            "svn:auto-props" => "*.c = svn:eol-style=native;color=auto\n".to_owned(),
            _ => match self.random.below(4) {
                0 => String::new(),
                1 => format!("{serial}\nlines \u{e9}\n").repeat(1 + self.random.below(40)),
                _ => format!("value {serial}"),
            },
        };
        if !is_file && self.one_in(5) {
            more.push("-R");
        }
        let args = [&["propset"], &more[..], &[name, &value, &at]].concat();
        self.svn(copy, &args);
    }

    fn externals(&mut self, view: &View, copy: WorkingCopy) {
        let path = self.directory(view, copy);
        // Their targets have no externals, so there is no cycle.
        let value = match self.random.below(6) {
            0 => "^/vendor/lib ext",
            1 => "-r5 ^/vendor/lib ext",
            2 => "^/vendor/tool.c@5 tool.c",
            3 => "^/vendor/tool.c tool.c\n^/vendor/lib deep/ext\n",
            4 => "^/vendor/lib@4 ext\n^/vendor ext2\n",
            _ => "^/vendor/nothing ext",
        };
        if path.contains("ext") || path.contains("vendor") {
            return;
        }
        self.svn(copy, &["propset", "svn:externals", value, &target(&path)]);
        if self.one_in(2) {
            self.svn(copy, &["commit", "-m", "externals"]);
            self.svn(copy, &["update", "--force", "--accept", "postpone"]);
        }
    }

    fn link(&mut self, view: &View, copy: WorkingCopy) {
        let Some(path) = self.fresh(view, copy) else {
            return;
        };
        let goal = self.one_of(&["iota", "../nowhere", "f.txt"]);
        self.push(ScenarioStep::Link(join(copy.dir, &path), goal.to_owned()));
        self.svn(copy, &["add", &target(&path)]);
    }

    fn change_list(&mut self, view: &View, copy: WorkingCopy) {
        let Some(path) = self.file(view, copy) else { return };
        let at = target(&path);
        match self.random.below(4) {
            0 => self.svn(copy, &["changelist", "--remove", &at]),
            _ => self.svn(copy, &["changelist", "mine", &at]),
        }
        let verb = self.one_of(&["status", "diff", "revert"]);
        let verb = [verb, "--changelist", "mine"];
        match self.one_in(3) {
            true => self.svn(copy, &verb),
            false => self.svn(copy, &["commit", "-m", "listed", "--changelist", "mine"]),
        }
    }

    fn revert(&mut self, view: &View, copy: WorkingCopy) {
        let path = match self.one_in(3) {
            true => String::new(),
            false => self.path(view, copy).unwrap_or_default(),
        };
        let more = self.one_of(&["-R", "-R", "--depth=files", "--remove-added"]);
        self.svn(copy, &["revert", more, &target(&path)]);
    }

    /// Resolves all conflicts with a random choice.
    pub fn resolve(&mut self, copy: WorkingCopy) {
        let how = self.one_of(&[
            "working",
            "working",
            "mine-full",
            "theirs-full",
            "base",
            "mine-conflict",
        ]);
        self.svn(copy, &["resolve", "-R", "--accept", how, "."]);
    }

    fn patch(&mut self, view: &View, copy: WorkingCopy) {
        let serial = self.serial();
        let file = format!("{serial}.patch");
        if self.one_in(2) {
            let more = self.one_of(&["-q", "--git", "--show-copies-as-adds"]);
            let args = match more {
                "-q" => vec!["diff"],
                more => vec!["diff", more],
            };
            self.svn_into(copy, &args, &file);
        } else {
            let (tree, rev) = (self.in_repository(view, copy), self.revision(view).max(1));
            let range = format!("-c{rev}");
            self.svn_into(copy, &["diff", &range, &url(&tree)], &file);
        }
        let (dir, user) = super::generator::COPIES[self.random.below(2)];
        let other = WorkingCopy { dir, user };
        let from = format!("../{file}");
        let mut args = vec!["patch", &from];
        if self.one_in(2) {
            args.push("--reverse-diff");
        }
        if self.one_in(4) {
            args.push("--dry-run");
        }
        self.svn(other, &args);
        self.push(ScenarioStep::Remove(file.clone()));
    }

    /// Creates a file at a path where the client does not expect one.
    pub fn obstruct(&mut self, view: &View, copy: WorkingCopy) {
        if let Some(path) = self.fresh(view, copy) {
            self.push(ScenarioStep::Write(
                join(copy.dir, &path),
                StepText::Bytes(b"in the way\n".to_vec()),
            ));
        }
    }
}
