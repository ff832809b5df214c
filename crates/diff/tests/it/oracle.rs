//! The differences of the real tool: thousands in one call of `svnlook diff`.

use testkit::history::Random;
use testkit::stream::DumpStream;
use testkit::{Repo, Tool};

/// An old and a new text.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Pairs of texts in a repository: the old ones in revision 1, the new ones in revision 2.
pub struct Oracle {
    /// The texts.
    pub pairs: Vec<Pair>,
    repo: Repo,
}

impl Oracle {
    /// Loads the pairs with the real tool.
    pub fn new(pairs: Vec<Pair>) -> Self {
        let mut stream = DumpStream::new("d1ff0000-0f0f-4a4a-8b8b-c0c0d0d0e0e0");
        stream.rev("Old");
        for (at, (old, _)) in pairs.iter().enumerate() {
            stream.file(&format!("f{at:05}"), old);
        }
        stream.rev("New");
        for (at, (_, new)) in pairs.iter().enumerate() {
            stream.edit(&format!("f{at:05}"), new);
        }
        let repo = Repo::create("1.14");
        repo.load(stream.part(0, 2));
        Oracle { pairs, repo }
    }

    /// What `svnlook diff` prints for each pair, from the hunks on; empty if nothing.
    pub fn hunks(&self, options: &str) -> Vec<Vec<u8>> {
        let mut args = vec!["diff", "-r2"];
        if !options.is_empty() {
            args.extend(["-x", options]);
        }
        let out = Tool::new("svnlook").args(args).arg(self.repo.path()).ok().stdout;
        let mut found = vec![Vec::new(); self.pairs.len()];
        for part in sections(&out) {
            let number: usize = String::from_utf8_lossy(&part[..5])
                .parse()
                .expect("because files are numbered");
            // The name, the line of `=`, two labels; and the blank line at the end.
            let body = part.splitn(5, |b| *b == b'\n').nth(4).unwrap_or_default();
            found[number] = body.strip_suffix(b"\n").unwrap_or(body).to_vec();
        }
        found
    }
}

fn sections(out: &[u8]) -> Vec<&[u8]> {
    const MARK: &[u8] = b"Modified: f";
    let starts: Vec<usize> = out
        .windows(MARK.len())
        .enumerate()
        .filter(|(at, window)| *window == MARK && (*at == 0 || out[at - 1] == b'\n'))
        .map(|(at, _)| at)
        .collect();
    let ends = starts.iter().skip(1).copied().chain([out.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &out[start + MARK.len()..end])
        .collect()
}

/// A sequence of numbers, and the same one edited.
pub fn edited(random: &mut Random, alphabet: usize, length: usize) -> (Vec<usize>, Vec<usize>) {
    let old: Vec<usize> = (0..length).map(|_| random.below(alphabet)).collect();
    if random.below(7) == 0 {
        let other = (0..random.below(length + 1))
            .map(|_| random.below(alphabet))
            .collect();
        return (old, other);
    }
    let mut new = old.clone();
    for _ in 0..=random.below(6) {
        let at = random.below(new.len() + 1);
        let end = (at + random.below(6)).min(new.len());
        let fresh: Vec<usize> = (0..random.below(6)).map(|_| random.below(alphabet)).collect();
        match random.below(4) {
            0 => drop(new.drain(at..end)),
            1 => drop(new.splice(at..at, fresh)),
            2 => drop(new.splice(at..end, fresh)),
            _ => {
                let moved: Vec<usize> = new.drain(at..end).collect();
                let to = random.below(new.len() + 1);
                drop(new.splice(to..to, moved));
            }
        }
    }
    (old, new)
}
