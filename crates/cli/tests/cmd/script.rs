//! Scripts of commands that change repositories. Subversion and Sven run them side by side, each in its own
//! directory, and each step must have the same output.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use testkit::{Output, Side, Tool, normalize};

/// Two directories for the same commands.
pub struct TwinDirectories {
    scratch: TempDir,
}

impl TwinDirectories {
    /// Makes two empty directories.
    pub fn new() -> Self {
        let scratch = testkit::scratch();
        for side in Side::BOTH {
            fs::create_dir(scratch.path().join(name(side))).expect("because it is new");
        }
        TwinDirectories { scratch }
    }

    /// Returns the directory of a side.
    pub fn dir(&self, side: Side) -> PathBuf {
        self.scratch.path().join(name(side))
    }

    /// Writes a file to both directories.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        for side in Side::BOTH {
            fs::write(self.dir(side).join(name), bytes.as_ref()).expect("because the folder is there");
        }
    }

    /// Reads a file of both directories, which must be equal.
    pub fn same_file(&self, name: &str) -> Vec<u8> {
        let [theirs, ours] = Side::BOTH.map(|side| fs::read(self.dir(side).join(name)).unwrap_or_default());
        assert_eq!(
            String::from_utf8_lossy(&ours),
            String::from_utf8_lossy(&theirs),
            "{name}"
        );
        theirs
    }

    /// Runs the lines of a script. Empty lines and text after `#` are ignored. A line has the arguments of
    /// `svnadmin`, where `''` is an empty one. `FILE | arguments` sets standard input; `$ tool arguments` runs
    /// Subversion's tool in both directories.
    pub fn run(&self, script: &str) {
        for line in script.lines().map(str::trim) {
            if !line.is_empty() && !line.starts_with('#') {
                self.line(line);
            }
        }
    }

    fn line(&self, line: &str) {
        let [theirs, ours] = Side::BOTH.map(|side| self.shape(side, &self.start(side, line)));
        assert_eq!(ours, theirs, "{line}");
    }

    fn start(&self, side: Side, line: &str) -> Output {
        let dir = self.dir(side);
        let (input, words) = match line.split_once(" | ") {
            Some((file, words)) => (
                fs::read(dir.join(file)).expect("because the script made it"),
                words,
            ),
            None => (Vec::new(), line),
        };
        let mut words = words.split_ascii_whitespace().map(|word| match word {
            "''" => "",
            word => word,
        });
        let tool = match words.clone().next() {
            Some("$") => {
                words.next();
                Tool::new(words.next().unwrap_or_default())
            }
            _ => side.tool("svnadmin"),
        };
        tool.args(words).stdin(input).dir(&dir).run()
    }

    /// Returns the output of a command without the parts that may differ.
    fn shape(&self, side: Side, output: &Output) -> String {
        let text = format!("{}\n{}\nexit {}", output.out(), output.err(), output.code);
        let dir = self.dir(side);
        let text = normalize::replace(&text, &[(&dir.to_string_lossy(), "DIR")]);
        normalize::mask_dates(&normalize::mask_uuids(&text))
    }
}

fn name(side: Side) -> &'static str {
    match side {
        Side::Theirs => "theirs",
        Side::Ours => "ours",
    }
}
