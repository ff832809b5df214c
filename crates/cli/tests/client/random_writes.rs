//! Random commands that commit without a working copy.

use testkit::history::Random;

/// The source of random commands for one repository.
pub struct Cases {
    random: Random,
    /// Paths that exist, have existed, or may come to exist.
    paths: Vec<String>,
    youngest: usize,
}

impl Cases {
    /// Commands for a repository that has had `paths`.
    pub fn new(seed: u64, paths: &[String], youngest: u64) -> Cases {
        let paths = paths
            .iter()
            .map(|path| path.trim_start_matches('/').to_owned())
            .filter(|path| !path.is_empty())
            .collect();
        let mut random = Random::new(seed ^ 0x5eed);
        random.next();
        Cases {
            random,
            paths,
            youngest: youngest as usize,
        }
    }

    /// Returns the words of the next command.
    pub fn next(&mut self) -> Vec<String> {
        let mut words = vec!["svn".to_owned()];
        let count = 1 + self.random.below(5) / 3;
        match self.random.below(10) {
            0 | 1 => {
                words.extend(["mkdir".to_owned(), "-m".into(), "log".into()]);
                self.maybe(&mut words, "--parents", 2);
                (0..count).for_each(|_| words.push(self.new_url()));
            }
            2 => {
                words.extend(["rm".to_owned(), "-m".into(), "log".into()]);
                (0..count).for_each(|_| words.push(self.url()));
            }
            3..=6 => {
                words.extend(["cp".to_owned(), "-m".into(), "log".into()]);
                self.maybe(&mut words, "--parents", 3);
                self.maybe(&mut words, "--pin-externals", 4);
                if self.random.below(4) == 0 {
                    words.push(format!("-r{}", self.revision()));
                }
                for _ in 0..count {
                    let peg = match self.random.below(2) {
                        0 => String::new(),
                        _ => format!("@{}", self.revision()),
                    };
                    words.push(format!("{}{peg}", self.url()));
                }
                words.push(self.target());
            }
            _ => {
                words.extend(["mv".to_owned(), "-m".into(), "log".into()]);
                self.maybe(&mut words, "--parents", 3);
                (0..count).for_each(|_| words.push(self.url()));
                words.push(self.target());
            }
        }
        words
    }

    /// Returns the words of an `svnmucc` with several actions, of which many change what earlier ones have made.
    pub fn actions(&mut self) -> Vec<String> {
        let mut words: Vec<String> = ["svnmucc", "-m", "log"].map(str::to_owned).into();
        let mut made = Vec::new();
        for _ in 0..1 + self.random.below(6) {
            let kind = self.random.below(9);
            let path = match (self.inside(&made), kind) {
                (Some(inside), _) => inside,
                (None, 0 | 1) => self.new_url(),
                (None, 3..=6) => self.target(),
                (None, _) => self.url(),
            };
            match kind {
                0 | 1 => words.push("mkdir".into()),
                2 => words.push("rm".into()),
                3 | 4 => words.extend(["cp".into(), self.copied_revision(), self.url()]),
                5 => words.extend(["mv".into(), self.url()]),
                6 => words.extend(["put".into(), "f".into()]),
                7 => words.extend(["propset".into(), "p".into(), "v".into()]),
                _ => words.extend(["propdel".into(), "svn:mergeinfo".into()]),
            }
            words.push(path.clone());
            if matches!(kind, 0 | 1 | 3..=5) {
                made.push(path);
            }
        }
        words
    }

    /// A URL below one of these, or none. What is below may be a name that other directories have, so that a copy has it.
    fn inside(&mut self, made: &[String]) -> Option<String> {
        if made.is_empty() || self.random.below(3) == 0 {
            return None;
        }
        let above = &made[self.random.below(made.len())];
        let path = &self.paths[self.random.below(self.paths.len())];
        let names: Vec<&str> = path.split('/').collect();
        let below = names[names.len().saturating_sub(1 + self.random.below(2))..].join("/");
        Some(format!("{above}/{below}"))
    }

    /// Returns the words of a command that locks, unlocks, imports or changes properties.
    pub fn others(&mut self) -> Vec<String> {
        let mut words = vec!["svn".to_owned()];
        let mut add = |text: &str| words.extend(text.split(' ').map(str::to_owned));
        let names = [
            "p",
            "svn:log",
            "svn:author",
            "svn:ignore",
            "svn:eol-style",
            "a b",
            "svn:x",
        ];
        let name = names[self.random.below(names.len())];
        let is_forced = self.random.below(3) == 0;
        match self.random.below(8) {
            0 | 1 => add("lock -m comment"),
            2 => add("unlock"),
            3 => add("import -m log tree"),
            4 => add(&format!("propset --revprop -r {}", self.revision())),
            5 => add(&format!("propdel --revprop -r {}", self.revision())),
            6 => add(&format!(
                "propedit --editor-cmd {{DIR}}/edit --revprop -r {}",
                self.revision()
            )),
            _ => add("propedit -m log --editor-cmd {DIR}/edit"),
        }
        let takes_force = words[1] != "propdel" && words[1] != "import";
        words.extend((is_forced && takes_force).then(|| "--force".to_owned()));
        if words[1].starts_with("prop") {
            words.push(name.to_owned());
        }
        if words[1] == "propset" {
            words.push(["v", "a\r\nb\n", "native", ""][self.random.below(4)].to_owned());
        }
        let count = match &*words[1] {
            "lock" | "unlock" => 1 + self.random.below(3),
            _ => 1,
        };
        (0..count).for_each(|_| {
            let url = match self.random.below(4) {
                0 => self.new_url(),
                _ => self.url(),
            };
            words.push(url);
        });
        words
    }

    fn copied_revision(&mut self) -> String {
        match self.random.below(2) {
            0 => "HEAD".to_owned(),
            _ => self.revision().to_string(),
        }
    }

    fn maybe(&mut self, words: &mut Vec<String>, option: &str, of: usize) {
        if self.random.below(of) == 0 {
            words.push(option.to_owned());
        }
    }

    fn revision(&mut self) -> usize {
        self.random.below(self.youngest + 3)
    }

    /// A URL that is likely to exist.
    pub fn url(&mut self) -> String {
        let at = self.random.below(self.paths.len());
        url_of(&self.paths[at])
    }

    fn target(&mut self) -> String {
        match self.random.below(3) {
            0 => self.url(),
            _ => self.new_url(),
        }
    }

    /// A URL that is unlikely to exist, in a directory that is likely to.
    pub fn new_url(&mut self) -> String {
        let above = match self.random.below(4) {
            0 => String::new(),
            _ => format!("{}/", self.paths[self.random.below(self.paths.len())]),
        };
        let name = ["n", "m", "n/o", "q r", "é"][self.random.below(5)];
        let path = format!("{above}{name}");
        self.paths.push(path.clone());
        url_of(&path)
    }
}

fn url_of(path: &str) -> String {
    format!("{{URL}}/{path}")
}
