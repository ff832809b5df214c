//! Reads blobs by name from one `git cat-file --batch`.

use std::io::{BufRead, BufReader, Error, Read, Result, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running `git cat-file --batch`.
pub struct BlobReader {
    child: Child,
    requests: ChildStdin,
    contents: BufReader<ChildStdout>,
}

impl BlobReader {
    /// Starts the process with a `git` that names the repository.
    ///
    /// # Errors
    /// If it cannot start.
    pub fn start(mut git: Command) -> Result<BlobReader> {
        let mut child = git
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (requests, contents) = streams.ok_or_else(|| Error::other("git cat-file has no pipes"))?;
        Ok(BlobReader {
            child,
            requests,
            contents: BufReader::with_capacity(1 << 18, contents),
        })
    }

    /// Passes the length and the bytes of a blob to `take`, which must read all of them.
    ///
    /// # Errors
    /// Errors of the pipes and of `take`; a name that is not a blob.
    pub fn read<T>(&mut self, name: &str, take: impl FnOnce(u64, &mut dyn Read) -> Result<T>) -> Result<T> {
        writeln!(self.requests, "{name}")?;
        let mut head = String::new();
        self.contents.read_line(&mut head)?;
        let mut words = head.split_whitespace();
        let len = match (words.next(), words.next(), words.next()) {
            (Some(_), Some("blob"), Some(len)) => len.parse::<u64>().ok(),
            _ => None,
        };
        let len = len.ok_or_else(|| Error::other(format!("git cat-file {name}: {}", head.trim())))?;
        let taken = take(len, &mut self.contents)?;
        let mut end = [0];
        self.contents.read_exact(&mut end)?;
        match end {
            [b'\n'] => Ok(taken),
            _ => Err(Error::other(format!("git cat-file {name}: not read to its end"))),
        }
    }
}

impl Drop for BlobReader {
    fn drop(&mut self) {
        // The process may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
