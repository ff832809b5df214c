//! Runs a tool of theirs and ours with the same words, and insists that both streams and the exit code agree.

use std::ffi::OsStr;
use std::path::Path;

use testkit::{Output, Side};

/// What may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    Exact,
    /// The order of lines: theirs comes out of a hash table.
    OfLines,
}

/// A tool in a folder and an environment.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// Its name.
    pub tool: &'a str,
    /// Where it runs.
    pub folder: &'a Path,
    /// Environment variables besides the clean environment's.
    pub env: &'a [(&'a str, &'a str)],
}

impl<'a> Pair<'a> {
    /// A tool in a folder.
    pub fn new(tool: &'a str, folder: &'a Path) -> Self {
        Pair {
            tool,
            folder,
            env: &[],
        }
    }

    /// Compares all three, byte for byte.
    pub fn same<A: AsRef<OsStr>>(&self, words: &[A]) {
        self.compare(words, Order::Exact);
    }

    /// Compares words separated by blanks.
    pub fn same_line(&self, line: &str) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        self.same(&words);
    }

    /// Compares all three.
    pub fn compare<A: AsRef<OsStr>>(&self, words: &[A], order: Order) {
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
            if order == Order::OfLines {
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
