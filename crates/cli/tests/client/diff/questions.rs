//! Random commands.

use testkit::history::Random;

use super::history::DiffHistory;

/// Returns the words after `svn diff`.
pub fn question(random: &mut Random, history: &DiffHistory) -> Vec<String> {
    let mut words = Vec::new();
    let asks = Asks { history };
    match random.below(20) {
        0..=6 => {
            words.push(format!("-r{}:{}", asks.rev(random), asks.rev(random)));
            for _ in 0..1 + random.below(5) / 4 {
                words.push(asks.url_with_peg(random));
            }
        }
        7..=10 => {
            let minus = ["", "", "-"][random.below(3)];
            words.push(format!("-c{minus}{}", 1 + random.below(history.youngest)));
            words.push(asks.url_with_peg(random));
        }
        11..=15 => {
            let [url, other] = asks.pair(random);
            words.push(format!("{url}@{}", asks.rev(random)));
            words.push(format!("{other}@{}", asks.rev(random)));
        }
        _ => asks.old_and_new(random, &mut words),
    }
    options(random, &mut words);
    words
}

struct Asks<'a> {
    history: &'a DiffHistory,
}

impl Asks<'_> {
    fn rev(&self, random: &mut Random) -> String {
        match random.below(8) {
            0 => "HEAD".to_owned(),
            _ => random.below(self.history.youngest + 1).to_string(),
        }
    }

    fn url(&self, random: &mut Random) -> String {
        match random.below(20) {
            0..=3 => "{URL}".to_owned(),
            4 => "{URL}/nosuch".to_owned(),
            _ => format!("{{URL}}/{}", self.path(random)),
        }
    }

    /// Returns two URLs, or one twice. The incumbent compares the root and a node that is missing in a way that depends on chance.
    fn pair(&self, random: &mut Random) -> [String; 2] {
        let (one, other) = (self.url(random), self.url(random));
        let has_root = one == "{URL}" || other == "{URL}";
        match random.below(5) {
            2.. if !has_root => [one, other],
            _ => [one.clone(), one],
        }
    }

    fn path(&self, random: &mut Random) -> String {
        let path = &self.history.paths[random.below(self.history.paths.len())];
        escaped(path)
    }

    fn url_with_peg(&self, random: &mut Random) -> String {
        let url = self.url(random);
        match random.below(3) {
            0 => format!("{url}@{}", self.rev(random)),
            1 => format!("{url}@"),
            _ => url,
        }
    }

    fn old_and_new(&self, random: &mut Random, words: &mut Vec<String>) {
        let [old, new] = self.pair(random);
        let peg = |random: &mut Random| match random.below(3) {
            0 => "@".to_owned(),
            _ => format!("@{}", self.rev(random)),
        };
        words.push(format!("--old={old}{}", peg(random)));
        if random.below(3) != 0 {
            words.push(format!("--new={new}{}", peg(random)));
        }
        match random.below(3) {
            0 => words.push(format!("-r{}", self.rev(random))),
            1 => words.push(format!("-r{}:{}", self.rev(random), self.rev(random))),
            _ => {}
        }
        for _ in 0..random.below(3) {
            let path = &self.history.paths[random.below(self.history.paths.len())];
            let name = path.rsplit('/').next().unwrap_or(path);
            words.push(name.to_owned());
        }
    }
}

/// Returns a path with the escapes that a URL needs.
pub fn escaped(path: &str) -> String {
    let names = [
        ('%', "%25"),
        (' ', "%20"),
        ('#', "%23"),
        ('?', "%3F"),
        ('\\', "%5C"),
    ];
    names.iter().fold(path.to_owned(), |path, (letter, escape)| {
        path.replace(*letter, escape)
    })
}

fn options(random: &mut Random, words: &mut Vec<String>) {
    let mut push = |random: &mut Random, of: usize, option: &str| {
        if random.below(of) == 0 {
            words.push(option.to_owned());
            return true;
        }
        false
    };
    let depth = ["empty", "files", "immediates", "infinity"][random.below(4)];
    push(random, 3, &format!("--depth={depth}"));
    push(random, 20, "-N");
    push(random, 4, "--notice-ancestry");
    if push(random, 4, "--summarize") {
        push(random, 3, "--xml");
        push(random, 4, "--ignore-properties");
        return;
    }
    for option in [
        "--git",
        "--no-diff-added",
        "--no-diff-deleted",
        "--show-copies-as-adds",
        "--patch-compatible",
        "--force",
        "--ignore-properties",
    ] {
        push(random, 8, option);
    }
    push(random, 10, "--properties-only");
    let extension = [
        "-u",
        "-U0",
        "-U 1",
        "-p",
        "-b",
        "-w",
        "--ignore-eol-style",
        "-up -U5",
        "-z",
    ];
    if random.below(5) == 0 {
        words.push("-x".to_owned());
        words.push(extension[random.below(extension.len())].to_owned());
    }
}
