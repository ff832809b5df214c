//! A generated history with the measured proportions of a real project with 25,000 revisions.
//!
//! Files per commit, lines per change, file sizes, path depths and the distribution of changes over files are drawn
//! from the quantiles below. A tag is copied every 250 revisions. Some commits edit properties, delete, move or
//! replace nodes; some files are binary. Equal seeds give equal histories.

use std::collections::BTreeSet;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::quantiles::Quantiles;
use super::stream::DumpWriter;
use super::{Workload, cached, load, text};

const FILES_PER_COMMIT: Quantiles = Quantiles(&[
    (0.0, 1.0),
    (0.5, 1.0),
    (0.75, 2.0),
    (0.9, 5.0),
    (0.99, 21.0),
    (0.9999, 200.0),
    (1.0, 1500.0),
]);
const LINES_ADDED: Quantiles =
    Quantiles(&[(0.0, 1.0), (0.5, 3.5), (0.9, 71.0), (0.99, 636.0), (1.0, 3000.0)]);
const FILE_SIZE: Quantiles = Quantiles(&[
    (0.0, 120.0),
    (0.1, 900.0),
    (0.5, 5e3),
    (0.9, 40e3),
    (0.99, 287e3),
    (1.0, 1.4e6),
]);
const PATH_DEPTH: Quantiles = Quantiles(&[(0.0, 1.0), (0.5, 2.0), (0.9, 5.0), (0.99, 9.0), (1.0, 12.0)]);
const TAG_EVERY: u32 = 250;
const INITIAL_FILES: usize = 300;

/// Returns the repository of a history of `revisions` revisions, made if needed.
pub fn workload(data: &Path, revisions: u32, seed: u64) -> std::result::Result<Workload, String> {
    let name = format!("history-{revisions}-{seed}");
    let repository = cached(data, &name, |path| load(path, |out| write(out, revisions, seed)))?;
    Ok(Workload {
        name: format!("history {revisions}"),
        repository,
        trunk: "trunk",
        busy_file: Some("trunk/hot.c".to_owned()),
        busy_directory: None,
        tag: None,
    })
}

/// Returns the dump stream of a history, made if needed.
pub fn dump(data: &Path, revisions: u32, seed: u64) -> std::result::Result<PathBuf, String> {
    let path = data.join(format!("history-{revisions}-{seed}.dump"));
    if path.exists() {
        return Ok(path);
    }
    let unfinished = path.with_extension("unfinished");
    let make = || -> Result<()> {
        let mut out = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(&unfinished)?);
        write(&mut out, revisions, seed)?;
        out.flush()?;
        std::fs::rename(&unfinished, &path)
    };
    make().map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// Writes the history as a dump stream.
pub fn write(out: &mut dyn Write, revisions: u32, seed: u64) -> Result<()> {
    let mut generator = ProjectGenerator {
        rng: ChaCha8Rng::seed_from_u64(seed),
        stream: DumpWriter::begin(out)?,
        files: Vec::new(),
        dirs: BTreeSet::new(),
        touched: BTreeSet::new(),
        named: 0,
    };
    generator.stream.revision(0, &[("svn:date", &date(0))])?;
    generator.initial()?;
    for number in 2..=revisions {
        generator.commit(number)?;
    }
    Ok(())
}

/// Writes a dump stream that adds `trunk/blamed.c`, a text of 60 KB, and changes it: it has `revisions` revisions. For repositories that
/// have a trunk.
pub fn write_blamed(out: &mut dyn Write, revisions: u32, seed: u64) -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut stream = DumpWriter::begin(out)?;
    let mut text = text::text(60_000, &mut rng);
    for number in 1..=revisions {
        let author = ["alice", "bob", "carol"][rng.random_range(0..3usize)];
        let (date, log) = (date(1_000_000 + number), format!("change {number}"));
        stream.revision(
            number,
            &[("svn:author", author), ("svn:date", &date), ("svn:log", &log)],
        )?;
        if number == 1 {
            stream.add_file("trunk/blamed.c", &[], &text)?;
        } else {
            text = text::edit(&text, rng.random_range(1..6), &mut rng);
            stream.change_text("trunk/blamed.c", &text)?;
        }
    }
    Ok(())
}

struct GeneratedFile {
    path: String,
    text: Vec<u8>,
    binary: bool,
}

struct ProjectGenerator<'a> {
    rng: ChaCha8Rng,
    stream: DumpWriter<'a>,
    /// The existing files, the most often changed first.
    files: Vec<GeneratedFile>,
    dirs: BTreeSet<String>,
    /// Paths already changed in the current revision.
    touched: BTreeSet<String>,
    named: u32,
}

impl ProjectGenerator<'_> {
    fn initial(&mut self) -> Result<()> {
        self.start(1)?;
        for dir in ["trunk", "tags", "branches"] {
            self.stream.add_dir(dir)?;
        }
        let text = text::text(20_000, &mut self.rng);
        self.stream
            .add_file("trunk/hot.c", &[("svn:eol-style", "native")], &text)?;
        self.files.push(GeneratedFile {
            path: "trunk/hot.c".to_owned(),
            text,
            binary: false,
        });
        (0..INITIAL_FILES).try_for_each(|_| self.add())
    }

    fn start(&mut self, number: u32) -> Result<()> {
        self.touched.clear();
        let author = ["alice", "bob", "carol", "dave", "eve"][self.rng.random_range(0..5usize)];
        let mut log = Vec::new();
        (0..self.rng.random_range(1..6)).for_each(|_| text::line(&mut log, &mut self.rng));
        let log = String::from_utf8_lossy(&log).into_owned();
        self.stream.revision(
            number,
            &[
                ("svn:author", author),
                ("svn:date", &date(number)),
                ("svn:log", log.trim_end()),
            ],
        )
    }

    fn commit(&mut self, number: u32) -> Result<()> {
        self.start(number)?;
        if number.is_multiple_of(TAG_EVERY) {
            return self
                .stream
                .copy(&format!("tags/t{number}"), "dir", "trunk", number - 1);
        }
        for _ in 0..FILES_PER_COMMIT.draw_count(&mut self.rng) {
            match self.rng.random_range(0..1000) {
                0..90 => self.add()?,
                90..115 => self.delete()?,
                115..130 => self.rename(number)?,
                130..134 => self.replace()?,
                134..165 => self.props()?,
                _ => self.edit()?,
            }
        }
        Ok(())
    }

    /// Returns an index into the files: 1 % of them get 23 % of the changes, 10 % get 68 %.
    fn pick(&mut self) -> usize {
        let count = self.files.len();
        let (hot, warm) = ((count / 100).max(1), (count / 10).max(1));
        match self.rng.random_range(0..100) {
            0..23 => self.rng.random_range(0..hot),
            23..68 => self.rng.random_range(hot.min(warm - 1)..warm),
            _ => self.rng.random_range(warm.min(count - 1)..count),
        }
    }

    /// Returns a file that has not changed in this revision, if one of eight draws finds one.
    fn pick_fresh(&mut self) -> Option<usize> {
        for _ in 0..8 {
            let at = self.pick();
            if self.touched.insert(self.files[at].path.clone()) {
                return Some(at);
            }
        }
        None
    }

    fn add(&mut self) -> Result<()> {
        let path = self.new_path()?;
        let size = FILE_SIZE.draw(&mut self.rng) as usize;
        let binary = self.rng.random_bool(0.05);
        let text = if binary {
            text::binary(size, &mut self.rng)
        } else {
            text::text(size, &mut self.rng)
        };
        let props: &[(&str, &str)] = match (binary, self.rng.random_range(0..10)) {
            (true, _) => &[("svn:mime-type", "application/octet-stream")],
            (false, 0..4) => &[("svn:eol-style", "native"), ("svn:keywords", "Id")],
            _ => &[],
        };
        self.stream.add_file(&path, props, &text)?;
        self.touched.insert(path.clone());
        // A new file gets a random position in the order of changes.
        let at = self
            .rng
            .random_range(0..=self.files.len())
            .max(self.files.len().min(1));
        self.files.insert(at, GeneratedFile { path, text, binary });
        Ok(())
    }

    fn new_path(&mut self) -> Result<String> {
        let depth = PATH_DEPTH.draw_count(&mut self.rng);
        let mut path = "trunk".to_owned();
        for _ in 1..depth {
            path = format!("{path}/d{}", self.rng.random_range(0..6));
            if self.dirs.insert(path.clone()) {
                self.stream.add_dir(&path)?;
            }
        }
        self.named += 1;
        Ok(format!("{path}/f{}.c", self.named))
    }

    fn edit(&mut self) -> Result<()> {
        let Some(at) = self.pick_fresh() else {
            return Ok(());
        };
        let added = LINES_ADDED.draw_count(&mut self.rng);
        let file = &mut self.files[at];
        file.text = if file.binary || file.text.len() > 1_500_000 {
            let size = file.text.len().min(400_000);
            text::binary(size, &mut self.rng)
        } else {
            text::edit(&file.text, added, &mut self.rng)
        };
        self.stream.change_text(&file.path, &file.text)
    }

    fn delete(&mut self) -> Result<()> {
        match self.pick_fresh() {
            Some(at) if at > 0 => {
                let file = self.files.remove(at);
                self.stream.delete(&file.path)
            }
            _ => Ok(()),
        }
    }

    fn rename(&mut self, number: u32) -> Result<()> {
        match self.pick_fresh() {
            Some(at) if at > 0 => {
                let path = self.new_path()?;
                self.stream
                    .copy(&path, "file", &self.files[at].path, number - 1)?;
                self.stream.delete(&self.files[at].path)?;
                self.touched.insert(path.clone());
                self.files[at].path = path;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn replace(&mut self) -> Result<()> {
        match self.pick_fresh() {
            Some(at) if at > 0 => {
                let size = self.files[at].text.len();
                self.files[at].text = text::text(size, &mut self.rng);
                self.stream
                    .replace_file(&self.files[at].path, &self.files[at].text)
            }
            _ => Ok(()),
        }
    }

    fn props(&mut self) -> Result<()> {
        let Some(at) = self.pick_fresh() else {
            return Ok(());
        };
        let value = self.rng.random_range(0..1000u32).to_string();
        self.stream.change_props(
            &self.files[at].path,
            "file",
            &[("owner", &value), ("svn:eol-style", "native")],
        )
    }
}

/// Returns the date of a revision: one revision an hour from 2010 on.
fn date(number: u32) -> String {
    let start = jiff::Timestamp::from_second(1_262_304_000).expect("because 2010 is a year");
    let when = start + jiff::SignedDuration::from_hours(i64::from(number));
    when.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn equal_seeds_give_equal_histories() {
        let stream = |seed| {
            let mut out = Vec::new();
            super::write(&mut out, 30, seed).expect("because memory takes everything");
            out
        };
        assert_eq!(stream(1), stream(1));
        assert_ne!(stream(1), stream(2));
    }
}
