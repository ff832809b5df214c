//! Times a commit of generated files: `put DB KIND FILES BYTES`, where KIND is `noise` (does not compress), `text` or
//! `zeros`, commits them in one revision below a new directory.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program, not a library"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use base::{Date, FsPath, Result};
use fsfs::disk::{Disk, RealDisk};
use fsfs::{Cache, Fs, TxnOptions};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, db, kind, files, bytes, more @ ..] = &args[..] else {
        eprintln!("put DB noise|text|zeros FILES BYTES [REVISIONS]");
        std::process::exit(1);
    };
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let (files, bytes) = (number(files), number(bytes));
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let fs = Fs::open_on(Path::new(db), &Cache::new(256 << 20), disk)?;
    let base = fs.youngest()?;
    let mut supply = Supply {
        state: 0x9e37_79b9_7f4a_7c15 ^ base.0,
        kind: kind.clone(),
    };
    let dir = format!("/made-{base}");
    one_revision(&fs, &dir, files, bytes, &mut supply)?;
    let revisions = more.first().map_or(0, |text| number(text));
    many_revisions(&fs, &dir, files, bytes, revisions, &mut supply)
}

/// Commits the directory with all files.
fn one_revision(fs: &Fs, dir: &str, files: u64, bytes: u64, supply: &mut Supply) -> Result<()> {
    let begun = Instant::now();
    let mut txn = fs.begin_txn(fs.youngest()?, TxnOptions::default(), Date(0))?;
    txn.make_dir(&path(dir))?;
    let mut buffer = vec![0; 64 << 10];
    for number in 0..files {
        let file = path(&format!("{dir}/file-{number:06}"));
        txn.make_file(&file)?;
        let mut writer = txn.apply_text(&file, None)?;
        let mut left = bytes;
        while left > 0 {
            let piece = &mut buffer[..left.min(64 << 10) as usize];
            supply.fill(piece);
            writer.write(piece)?;
            left -= piece.len() as u64;
        }
        writer.finish(&mut txn)?;
    }
    let texts = begun.elapsed();
    let done = txn.commit(&|| Date(0))?;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "r{}: {seconds:.2} s, {:.2} s of it the commit; {:.0} MB/s, {:.0} files/s",
        done.rev,
        seconds - texts.as_secs_f64(),
        (files * bytes) as f64 / seconds / 1e6,
        files as f64 / seconds
    );
    Ok(())
}

/// Commits `revisions` changes of one file each.
fn many_revisions(
    fs: &Fs,
    dir: &str,
    files: u64,
    bytes: u64,
    revisions: u64,
    supply: &mut Supply,
) -> Result<()> {
    let begun = Instant::now();
    let mut buffer = vec![0; bytes.min(64 << 10) as usize];
    let mut group = fs.commit_group()?;
    for at in 0..revisions {
        let mut txn = group.begin_txn(TxnOptions::default(), Date(0))?;
        let file = path(&format!("{dir}/file-{:06}", at % files));
        let mut writer = txn.apply_text(&file, None)?;
        supply.fill(&mut buffer);
        writer.write(&buffer)?;
        writer.finish(&mut txn)?;
        group.commit(txn, &|| Date(0))?;
        if at % 1000 == 999 {
            group.flush()?;
        }
    }
    group.flush()?;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{revisions} revisions more: {:.0} a second",
        revisions as f64 / seconds
    );
    Ok(())
}

fn path(text: &str) -> FsPath {
    FsPath::parse(text).expect("a path")
}

/// Bytes that are cheap to make.
struct Supply {
    state: u64,
    kind: String,
}

impl Supply {
    fn fill(&mut self, buffer: &mut [u8]) {
        let kind = self.kind.as_str();
        for chunk in buffer.chunks_mut(8) {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            let word = match kind {
                "noise" => self.state.to_le_bytes(),
                "text" => WORDS[(self.state >> 40) as usize % WORDS.len()],
                _ => [0; 8],
            };
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

const WORDS: [[u8; 8]; 16] = [
    *b"revision",
    *b" of the\n",
    *b"folders ",
    *b"commits ",
    *b" deltas\n",
    *b"copy of ",
    *b"locking ",
    *b"a branch",
    *b" merges\n",
    *b"tagging ",
    *b"texts in",
    *b" hooks\n ",
    *b"  if it ",
    *b"return; ",
    *b"struct {",
    *b"  else {",
];
