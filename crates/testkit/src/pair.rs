//! Runs a tool of Subversion and of Sven with the same arguments and compares standard output, standard error and
//! exit code.

use std::ffi::OsStr;
use std::path::Path;

use crate::tool::{Output, Side};

/// The differences that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedDifference {
    /// None.
    Exact,
    /// The order of lines, which in Subversion is that of a hash table.
    OfLines,
}

/// A tool with its directory and environment.
#[derive(Clone, Copy)]
pub struct ToolPair<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The current directory.
    pub folder: &'a Path,
    /// Additional environment variables.
    pub env: &'a [(&'a str, &'a str)],
}

impl<'a> ToolPair<'a> {
    /// Returns a tool that runs in a directory.
    pub fn new(tool: &'a str, folder: &'a Path) -> Self {
        ToolPair {
            tool,
            folder,
            env: &[],
        }
    }

    /// Compares all three, byte for byte.
    pub fn same<A: AsRef<OsStr>>(&self, words: &[A]) {
        self.compare(words, AllowedDifference::Exact);
    }

    /// Compares the results for arguments separated by spaces.
    pub fn same_line(&self, line: &str) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        self.same(&words);
    }

    /// Compares all three.
    pub fn compare<A: AsRef<OsStr>>(&self, words: &[A], order: AllowedDifference) {
        let run = |side: Side| -> Output {
            let mut tool = side.tool(self.tool).dir(self.folder).args(words);
            for (name, value) in self.env {
                tool = tool.env(name, value);
            }
            tool.run()
        };
        let (theirs, ours) = (run(Side::Theirs), run(Side::Ours));
        let shape = |output: &Output| {
            let mut lines: Vec<Vec<u8>> = output.stdout.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            if order == AllowedDifference::OfLines {
                lines.sort();
            }
            (lines, output.stderr.clone(), output.code)
        };
        assert!(
            shape(&theirs) == shape(&ours),
            "{} {:?} {:?}\n{}",
            self.tool,
            words.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
            self.env,
            first_difference(&theirs, &ours)
        );
    }
}

fn first_difference(theirs: &Output, ours: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut report = format!("exit codes {} and {}\n", theirs.code, ours.code);
    for (name, a, b) in [
        ("stdout", &theirs.stdout, &ours.stdout),
        ("stderr", &theirs.stderr, &ours.stderr),
    ] {
        if a == b {
            continue;
        }
        let (a, b) = (text(a), text(b));
        let at = a.lines().zip(b.lines()).take_while(|(x, y)| x == y).count();
        let piece = |text: &str| text.lines().skip(at).take(6).collect::<Vec<_>>().join("\n");
        report.push_str(&format!(
            "{name} from line {}\ntheirs:\n{}\nours:\n{}\n",
            at + 1,
            piece(&a),
            piece(&b)
        ));
    }
    report
}
