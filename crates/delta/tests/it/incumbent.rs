//! Our windows of thousands of edited texts are the same bytes as Subversion's.
//!
//! `svnadmin load` takes a dump of two revisions, in the second of which every file is edited; `svnadmin dump
//! --deltas` then prints the delta of each. `SVEN_DELTA_CASES` and `SVEN_DELTA_SEED` ask for more than the usual
//! few hundred files, or for others.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use delta::svndiff::{self, Codec};
use delta::text_delta::{TextDelta, slice_reader};

#[test]
fn deltas_of_edited_texts_are_subversions_bytes() {
    let number = |name, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => default,
    };
    let (cases, seed) = (number("SVEN_DELTA_CASES", 300), number("SVEN_DELTA_SEED", 1));
    let mut random = Random(seed);
    let pairs: Vec<_> = (0..cases as usize)
        .map(|case| edited_pair(case, &mut random))
        .collect();
    let dir = std::env::temp_dir().join(format!("sven-delta-{}-{seed}", std::process::id()));
    let theirs = their_deltas(&dir, &pairs);
    std::fs::remove_dir_all(&dir).unwrap();
    let mut differing = Vec::new();
    for (case, (source, target)) in pairs.iter().enumerate() {
        if source == target {
            continue;
        }
        let ours = our_delta(source, target);
        let theirs = &theirs[&format!("f{case}")];
        if ours != *theirs {
            differing.push((case, source.len(), target.len()));
        }
        assert_eq!(&apply(source, theirs), target);
    }
    assert!(
        differing.is_empty(),
        "{} of {cases}: {differing:?}",
        differing.len()
    );
}

fn our_delta(source: &[u8], target: &[u8]) -> Vec<u8> {
    let mut codec = Codec::new();
    let mut out = Vec::new();
    svndiff::write_header(0, &mut out);
    let mut windows = TextDelta::new(slice_reader(source), slice_reader(target));
    while let Some(window) = windows.next_window().unwrap() {
        svndiff::write_window(window, 0, 0, &mut codec, &mut out);
    }
    out
}

fn apply(source: &[u8], document: &[u8]) -> Vec<u8> {
    let mut codec = Codec::new();
    let mut target = Vec::new();
    let mut views = delta::text_delta::SourceView::new(slice_reader(source));
    let mut decoder = svndiff::Decoder::new();
    let sink = |window: &svndiff::EncodedWindow<'_>| {
        let view = views.view(window.source_offset, window.source_len)?;
        Ok(window.apply(view, &mut target, &mut codec)?)
    };
    decoder.push(document, sink).unwrap();
    decoder.finish().unwrap();
    target
}

fn their_deltas(dir: &Path, pairs: &[(Vec<u8>, Vec<u8>)]) -> HashMap<String, Vec<u8>> {
    std::fs::create_dir_all(dir).unwrap();
    let repository = dir.join("repository");
    let done = Command::new("svnadmin")
        .arg("create")
        .arg(&repository)
        .status()
        .unwrap();
    assert!(done.success());
    let mut dump = b"SVN-fs-dump-format-version: 2\n\n".to_vec();
    for (revision, action) in [(1, "add"), (2, "change")] {
        write!(
            dump,
            "Revision-number: {revision}\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n"
        )
        .unwrap();
        for (case, (source, target)) in pairs.iter().enumerate() {
            let text = if revision == 1 { source } else { target };
            let len = text.len();
            write!(
                dump,
                "Node-path: f{case}\nNode-kind: file\nNode-action: {action}\nText-content-length: {len}\n\
                 Content-length: {len}\n\n"
            )
            .unwrap();
            dump.extend_from_slice(text);
            dump.extend_from_slice(b"\n\n");
        }
    }
    let file = dir.join("dump");
    std::fs::write(&file, &dump).unwrap();
    let done = Command::new("svnadmin")
        .args(["load", "-q"])
        .arg(&repository)
        .stdin(std::fs::File::open(&file).unwrap())
        .status()
        .unwrap();
    assert!(done.success());
    let output = Command::new("svnadmin")
        .args(["dump", "-q", "--deltas", "--incremental", "-r2"])
        .arg(&repository)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    parse_dump(&output.stdout)
}

/// The text delta of each node of a dump stream.
fn parse_dump(mut rest: &[u8]) -> HashMap<String, Vec<u8>> {
    let mut out = HashMap::new();
    let mut headers: HashMap<String, String> = HashMap::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = String::from_utf8(rest[..end].to_vec()).unwrap();
        rest = &rest[end + 1..];
        if let Some((name, value)) = line.split_once(": ") {
            headers.insert(name.to_owned(), value.to_owned());
        } else if !headers.is_empty() {
            let number = |name: &str| headers.get(name).map_or(0, |text| text.parse::<usize>().unwrap());
            let (props, text) = (number("Prop-content-length"), number("Text-content-length"));
            if let Some(path) = headers.get("Node-path") {
                out.insert(path.clone(), rest[props..props + text].to_vec());
            }
            rest = &rest[props + text..];
            headers.clear();
        }
    }
    out
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % limit.max(1) as u64) as usize
    }

    /// Bytes of an alphabet of `letters`, or lines out of a small set of lines.
    fn text(&mut self, len: usize, letters: usize) -> Vec<u8> {
        if letters > 2 && self.below(3) == 0 {
            let count = 1 + self.below(60);
            let lines: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    let len = 1 + self.below(90);
                    let mut line: Vec<u8> = (0..len)
                        .map(|_| (self.below(letters) as u8).wrapping_add(b' '))
                        .collect();
                    line.push(b'\n');
                    line
                })
                .collect();
            let mut out = Vec::new();
            while out.len() < len {
                out.extend_from_slice(&lines[self.below(count)]);
            }
            out.truncate(len);
            return out;
        }
        (0..len).map(|_| self.below(letters) as u8).collect()
    }
}

fn edited_pair(case: usize, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let lengths = [0, 10, 63, 64, 65, 127, 128, 129, 200, 700, 3_000, 9_000, 40_000];
    let mut len = lengths[random.below(lengths.len())];
    len += random.below(len / 2 + 2);
    if case.is_multiple_of(40) {
        len = 90_000 + random.below(250_000);
    }
    let letters = [1, 2, 3, 10, 90, 256][random.below(6)];
    let source = random.text(len, letters);
    let mut target = source.clone();
    for _ in 0..random.below(12) {
        let at = random.below(target.len() + 1);
        let span = [1, 2, 4, 5, 8, 60, 64, 70, 130, 1_000, 5_000][random.below(11)];
        let span = 1 + random.below(span);
        let end = target.len().min(at + span);
        match random.below(6) {
            0 => drop(target.drain(at..end)),
            1 => {
                let new = random.text(span, letters);
                target.splice(at..at, new);
            }
            2 => {
                let new = random.text(span, letters);
                target.splice(at..end, new);
            }
            3 => {
                let moved: Vec<u8> = target.drain(at..end).collect();
                let to = random.below(target.len() + 1);
                target.splice(to..to, moved);
            }
            4 => {
                let from = random.below(source.len() + 1);
                let copied = source[from..source.len().min(from + span)].to_vec();
                target.splice(at..at, copied);
            }
            _ => {
                if at < target.len() {
                    target[at] = target[at].wrapping_add(1);
                }
            }
        }
    }
    if random.below(15) == 0 {
        target = random.text(len, letters);
    }
    if random.below(15) == 0 {
        let cut = random.below(target.len() + 1);
        target.truncate(cut);
    }
    (source, target)
}
