//! Reading ahead does not change results: exports, logs and blames that are long enough for it are compared with the
//! same ones without, also where they fail.

use std::sync::Arc;

use base::{Code, Depth, Error, FsPath, Props, RelPath, Result, Revnum};
use delta::RecordingEditor;
use delta::editor::{EncodedVersions, TextChunk};
use repos::access::{Everything, Readable, Subtree};
use repos::report::{Report, ReportOptions};
use repos::{Cache, Repository, file_revs, log};
use testkit::Repo;
use testkit::history::{Random, changed, lines, noise};
use testkit::stream::{Content, DumpStream, RecordKind};

/// Everything is readable, but that is not known beforehand, so an export reads nothing ahead.
struct UnknownAccess;

impl Readable for UnknownAccess {
    fn read(&self, _: &FsPath) -> bool {
        true
    }

    fn subtree(&self, _: &FsPath) -> Subtree {
        Subtree::Mixed
    }
}

/// A repository with a hundred directories and four hundred files of all lengths, most of them changed a few times.
fn forest() -> Repo {
    let mut random = Random::new(7);
    let mut stream = DumpStream::new("0f0f0f0f-1111-2222-3333-444444444444");
    let mut files = Vec::new();
    stream.rev("the root").mkdirs(["trunk"]);
    for dir in 0..100 {
        let parent = match dir % 4 {
            0 => "trunk".to_owned(),
            _ => format!("trunk/d{:02}", dir - dir % 4),
        };
        let path = format!("{parent}/d{dir:02}");
        stream.rev(&format!("add {path}")).mkdirs([path.as_str()]);
        for file in 0..4 {
            let text = match (dir * 4 + file) % 29 {
                0 => Vec::new(),
                1 => noise(dir, 250_000),
                2 => noise(dir, 1_200_000),
                _ => lines(dir * 4 + file, 1 + random.below(200)).into_bytes(),
            };
            let path = format!("{path}/f{file}");
            let value = path.clone();
            let props: &[(&str, &[u8])] = &[("of", value.as_bytes())];
            let props = if file % 2 == 0 { props } else { &[] };
            stream.add(RecordKind::File, &path, Content::both(props, &text));
            files.push((path, text));
        }
    }
    for change in 0..60 {
        stream.rev(&format!("change {change}"));
        for _ in 0..5 {
            let at = random.below(files.len());
            let (path, text) = &mut files[at];
            if text.is_empty() || text.len() > 100_000 {
                continue;
            }
            let new = changed(
                &String::from_utf8_lossy(text),
                random.below(40),
                &format!("by {change}"),
            );
            // A revision that changes one file.
            if new.as_bytes() != &text[..] {
                *text = new.into_bytes();
                stream.edit(path, &*text);
                files.swap_remove(at);
            }
        }
    }
    // Revisions whose changed paths do not fit into the end of the revision file that a log reads first.
    for (name, files) in [("some", 6), ("many", 300), ("most", 2500)] {
        stream.rev(name).mkdirs([name]);
        for file in 0..files {
            stream.add(
                RecordKind::File,
                &format!("{name}/f{file}"),
                Content::text("short"),
            );
        }
    }
    let repo = Repo::create("1.14");
    repo.load(stream.bytes());
    repo
}

fn open(repo: &Repo, cache: u64) -> Repository {
    Repository::open(repo.path(), &Cache::new(cache)).expect("a repository")
}

/// The transcript of an export up to its end or failure.
fn export(repo: &Repository, readable: Arc<dyn Readable>, version: u8) -> (String, Result<()>) {
    let mut editor = RecordingEditor::new().accepting(EncodedVersions::up_to(version));
    let rev = repo.youngest().expect("readable");
    let options = ReportOptions {
        target_rev: rev,
        anchor: FsPath::parse("/trunk").expect("a path"),
        operand: String::new(),
        switch_to: None,
        text_deltas: true,
        depth: Depth::Infinity,
        ignore_ancestry: false,
        send_copyfrom: false,
    };
    let mut report = Report::begin(repo, options, readable).expect("begins");
    report
        .set_path(&RelPath::empty(), rev, Depth::Infinity, true, None)
        .expect("a report");
    let result = report.finish(&mut editor).map(drop);
    let mut lines = editor.transcript();
    for (path, text) in editor.texts() {
        lines.push_str(&format!("{path} {}\n", base::checksum::Md5::of(text)));
    }
    (lines, result)
}

/// The entries of a log up to its end or failure.
fn log_lines(repo: &Repository, start: u64, end: u64) -> (Vec<String>, Result<()>) {
    let mut lines = Vec::new();
    let options = log::LogOptions {
        start: Some(Revnum(start)),
        end: Some(Revnum(end)),
        changed_paths: true,
        ..log::LogOptions::default()
    };
    let mut sink = |entry: &log::LogEntry<'_>| {
        let props: Props = entry
            .props()
            .map(|(name, value)| (name.to_owned(), value.to_vec()))
            .collect();
        lines.push(format!("{:?} {:?} {props:?}", entry.rev, entry.changes));
        Ok(())
    };
    let result = log::run(repo, &options, &Everything, &mut sink, &Default::default());
    (lines, result)
}

#[test]
fn an_export_is_the_same_and_fails_at_the_same_place() {
    let forest = forest();
    let mut whole = String::new();
    for version in 0..=2 {
        let (alone, result) = export(&open(&forest, 64 << 20), Arc::new(UnknownAccess), version);
        result.expect("exports");
        let caches = [0, 1 << 20, 64 << 20].into_iter().cycle();
        for cache in testkit::sample(3, caches.skip(version as usize).take(3)) {
            let repo = open(&forest, cache);
            for _ in 0..2 {
                let (lines, result) = export(&repo, Arc::new(Everything), version);
                result.expect("exports");
                assert_eq!(lines, alone, "svndiff {version}, {cache} bytes of cache");
            }
        }
        whole = alone;
    }
    assert_eq!(whole.matches("add-file").count(), 400);
    // Remove the file of a revision with a text, with a directory and with a property list.
    for rev in [100, 60, 30, 3] {
        let gone = forest.copy();
        std::fs::remove_file(gone.db().join(format!("revs/0/{rev}"))).expect("it was there");
        let (alone, expected) = export(&open(&gone, 64 << 20), Arc::new(UnknownAccess), 2);
        let (lines, result) = export(&open(&gone, 64 << 20), Arc::new(Everything), 2);
        let (expected, error) = (expected.expect_err("damaged"), result.expect_err("damaged"));
        assert_eq!(
            (error.code(), error.message()),
            (expected.code(), expected.message())
        );
        assert_eq!(lines, alone, "without revision {rev}");
    }
}

/// The calls of a blame up to its end or failure: one line per revision, with its windows.
#[derive(Default)]
struct RecordedBlame(Vec<String>);

impl file_revs::FileRevSink for RecordedBlame {
    fn revision(&mut self, rev: &file_revs::FileRev<'_>) -> Result<()> {
        self.0.push(format!("{rev:?}"));
        Ok(())
    }

    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        let lines = self.0.last_mut().expect("because a revision comes first");
        match chunk {
            TextChunk::Decoded(window) => lines.push_str(&format!(" {window:?}")),
            TextChunk::Encoded(window) => lines.push_str(&format!(" {} {:?}", window.version, window.raw)),
        }
        Ok(())
    }

    fn text_end(&mut self) -> Result<()> {
        let lines = self.0.last_mut().expect("because a revision comes first");
        lines.push_str(" end");
        Ok(())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }
}

fn blame(repo: &Repository, path: &FsPath, start: u64, end: u64) -> (Vec<String>, Result<()>) {
    let (start, end) = (Some(Revnum(start)), Some(Revnum(end)));
    let mut lines = RecordedBlame::default();
    let cancel = Default::default();
    let result = file_revs::run(repo, path, start, end, false, &Everything, &mut lines, &cancel);
    (lines.0, result)
}

#[test]
fn a_blame_is_the_same_and_fails_at_the_same_place() {
    let mut stream = DumpStream::new("0f0f0f0f-1111-2222-3333-444444444444");
    let mut text = lines(1, 400);
    stream.rev("add").add(RecordKind::File, "f", Content::text(&text));
    for change in 2..=60 {
        // Some texts are too long to be read ahead, and some revisions change only a property.
        text = match change % 20 {
            0 => lines(change, 30_000),
            1 => lines(change, 300),
            _ => changed(&text, change as usize, &format!("by {change}")),
        };
        stream.rev(&format!("change {change}"));
        match change % 7 {
            0 => stream.add(
                RecordKind::File,
                &format!("other{change}"),
                Content::text("other"),
            ),
            _ => stream.edit("f", text.as_bytes()),
        };
    }
    let made = Repo::create("1.14");
    made.load(stream.bytes());
    let path = FsPath::parse("/f").expect("a path");
    let repo = open(&made, 64 << 20);
    let changed_in: Vec<u64> = (1..=60).filter(|rev| *rev == 1 || rev % 7 != 0).collect();
    // Short histories are reported while they are walked.
    let (mut alone, _) = blame(&repo, &path, 1, 1);
    for pair in changed_in.windows(2) {
        let (two, result) = blame(&repo, &path, pair[0], pair[1]);
        result.expect("a blame");
        alone.push(two.last().expect("two").clone());
    }
    for cache in [0, 1 << 20, 64 << 20] {
        let (lines, result) = blame(&open(&made, cache), &path, 1, 60);
        result.expect("a blame");
        assert!(lines == alone, "{cache} bytes of cache");
    }
    let (down, result) = blame(&repo, &path, 60, 1);
    result.expect("a blame");
    assert_eq!(down.len(), alone.len());
    std::fs::remove_file(made.db().join("revprops/0/40")).expect("it was there");
    let (lines, result) = blame(&open(&made, 64 << 20), &path, 1, 60);
    let before = changed_in.iter().filter(|rev| **rev < 40).count();
    assert!(lines == alone[..before], "{} of {before}", lines.len());
    assert!(result.expect_err("damaged").to_string().contains("40"));
}

#[test]
fn a_log_is_the_same_and_fails_at_the_same_place() {
    let forest = forest();
    let repo = open(&forest, 64 << 20);
    let young = repo.youngest().expect("readable").0;
    // Short logs are read without threads.
    let mut alone = Vec::new();
    for end in (0..=young).rev().step_by(20) {
        let (part, result) = log_lines(&repo, end, end.saturating_sub(19));
        result.expect("logs");
        alone.extend(part);
    }
    for cache in [0, 64 << 20] {
        let repo = open(&forest, cache);
        let (down, result) = log_lines(&repo, young, 0);
        result.expect("logs");
        assert_eq!(down, alone);
        let (mut up, result) = log_lines(&repo, 0, young);
        result.expect("logs");
        up.reverse();
        assert_eq!(up, alone);
        // Changed properties are seen at once, whatever was read before.
        let path = forest.db().join("revprops/0/90");
        let before = std::fs::read(&path).expect("its properties");
        std::fs::write(&path, "K 7\nsvn:log\nV 3\nnew\nEND\n").expect("another one");
        let (changed, result) = log_lines(&repo, young, 0);
        result.expect("logs");
        for (rev, (now, then)) in (0..=young).rev().zip(changed.iter().zip(&alone)) {
            assert_eq!(now == then, rev != 90, "{rev}: {now}");
        }
        std::fs::write(&path, before).expect("the old ones");
    }
    std::fs::remove_file(forest.db().join("revprops/0/40")).expect("it was there");
    let (down, result) = log_lines(&open(&forest, 64 << 20), young, 0);
    assert_eq!(down, alone[..(young - 40) as usize]);
    assert!(result.expect_err("damaged").to_string().contains("40"));
    let repo = open(&forest, 64 << 20);
    let mut left = 100;
    let mut sink = |_: &log::LogEntry<'_>| {
        left -= 1;
        if left == 0 {
            Err(Error::bare(Code::CANCELLED))
        } else {
            Ok(())
        }
    };
    let options = log::LogOptions {
        end: Some(Revnum(0)),
        ..log::LogOptions::default()
    };
    let stopped = log::run(&repo, &options, &Everything, &mut sink, &Default::default());
    assert_eq!(stopped.expect_err("the sink's").code(), Code::CANCELLED);
}
