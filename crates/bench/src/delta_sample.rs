//! Windows of a repository's own deltas, from a dump with deltas of its last revisions.

use std::io::{BufRead, BufReader, Error, Read, Result};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use delta::svndiff::{Codec, DEFAULT_LEVEL, Decoder, OwnedWindow};

use crate::rivals::SvenBinary;
use crate::workload::run;

/// The most revisions of a sample.
const REVISIONS: u64 = 500;
/// The bytes of contents that are enough for a sample.
const ENOUGH: usize = 32 << 20;
/// The longest delta that is taken; longer ones are left out.
const LONGEST: u64 = 64 << 20;

/// Returns the windows of texts in the last revisions, as svndiff of `version`.
///
/// # Errors
/// If they can't be read.
pub fn windows(
    sven: &SvenBinary,
    repository: &Path,
    version: u8,
) -> std::result::Result<Vec<OwnedWindow>, String> {
    let youngest = run(Command::new("svnlook").arg("youngest").arg(repository))?;
    let youngest: u64 = String::from_utf8_lossy(&youngest).trim().parse().unwrap_or(0);
    let range = format!("{}:{youngest}", youngest.saturating_sub(REVISIONS - 1));
    let mut dump = sven.command("svnadmin");
    dump.args(["dump", "-q", "--deltas", "--incremental", "-r", &range])
        .arg(repository)
        .stdout(Stdio::piped());
    let named = |e: Error| format!("the deltas of {}: {e}", repository.display());
    let mut child = dump.spawn().map_err(named)?;
    let read = read(&mut child, version).map_err(named);
    // It has ended, or enough was read.
    _ = child.kill();
    _ = child.wait();
    read
}

fn read(child: &mut Child, version: u8) -> Result<Vec<OwnedWindow>> {
    let stdout = child
        .stdout
        .take()
        .ok_or_else(|| Error::other("the dump has no output"))?;
    let mut stream = BufReader::with_capacity(1 << 18, stdout);
    let mut sample = DeltaSample {
        version,
        codec: Codec::new(),
        windows: Vec::new(),
        made: 0,
    };
    while sample.made < ENOUGH {
        let Some(record) = Record::read(&mut stream)? else {
            break;
        };
        std::io::copy(&mut (&mut stream).take(record.props), &mut std::io::sink())?;
        if record.is_delta && record.text <= LONGEST {
            let mut document = Vec::new();
            (&mut stream).take(record.text).read_to_end(&mut document)?;
            sample.add(&document)?;
        } else {
            std::io::copy(&mut (&mut stream).take(record.text), &mut std::io::sink())?;
        }
    }
    Ok(sample.windows)
}

struct DeltaSample {
    version: u8,
    codec: Codec,
    windows: Vec<OwnedWindow>,
    /// The length of what the windows make.
    made: usize,
}

impl DeltaSample {
    fn add(&mut self, document: &[u8]) -> Result<()> {
        let mut bytes = Vec::new();
        let result = Decoder::new().push(document, |window| {
            bytes.clear();
            window.write_as(self.version, DEFAULT_LEVEL, &mut self.codec, &mut bytes)?;
            self.windows.push(OwnedWindow::new(self.version, &bytes));
            self.made += window.target_len as usize;
            Ok(())
        });
        result.map_err(|e| Error::other(e.to_string()))
    }
}

/// The headers of a record that tell where its contents are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Record {
    props: u64,
    text: u64,
    is_delta: bool,
}

impl Record {
    /// Reads the headers of the next record; `None` at the end of the stream.
    fn read(stream: &mut impl BufRead) -> Result<Option<Record>> {
        let mut record = Record::default();
        let mut has_headers = false;
        let mut line = Vec::new();
        loop {
            line.clear();
            stream.read_until(b'\n', &mut line)?;
            let Some(line) = line.strip_suffix(b"\n") else {
                return Ok(has_headers.then_some(record));
            };
            if line.is_empty() {
                match has_headers {
                    true => return Ok(Some(record)),
                    false => continue,
                }
            }
            has_headers = true;
            let line = String::from_utf8_lossy(line);
            let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
            let length = || {
                value
                    .parse()
                    .map_err(|_| Error::other(format!("{name}: {value}")))
            };
            match name {
                "Prop-content-length" => record.props = length()?,
                "Text-content-length" => record.text = length()?,
                "Text-delta" => record.is_delta = value == "true",
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_end_at_their_empty_line() {
        let mut stream =
            &b"\nRevision-number: 1\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n\
            Node-path: a\nText-delta: true\nText-content-length: 4\n\nSVN\0"[..];
        let first = Record::read(&mut stream).expect("it is a record");
        let is = |props, text, is_delta| {
            Some(Record {
                props,
                text,
                is_delta,
            })
        };
        assert_eq!(first, is(10, 0, false));
        stream = &stream[10..];
        assert_eq!(Record::read(&mut stream).expect("it is a record"), is(0, 4, true));
        stream = &stream[4..];
        assert_eq!(Record::read(&mut stream).expect("it is the end"), None);
    }
}
