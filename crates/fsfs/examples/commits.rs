//! Times commits: `commits REPOS COUNT [group]` edits files of a small tree COUNT times, by single commits or in groups of so
//! many.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program, not a library"
)]

use std::path::PathBuf;
use std::time::Instant;

use base::{Date, FsPath, Result, Revnum};
use fsfs::{Cache, Fs, Txn, TxnOptions};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().unwrap_or_default()).join("db");
    let mut number = || args.next().and_then(|text| text.parse::<u64>().ok());
    let (count, size) = (number().unwrap_or(1000), number());
    let fs = Fs::open(&path, &Cache::new(256 << 20))?;
    let now = || Date(1_700_000_000_000_000);
    let start = Instant::now();
    let mut group = match size {
        Some(_) => Some(fs.commit_group()?),
        None => None,
    };
    for step in 0..count {
        let mut txn = match &mut group {
            Some(group) => group.begin_txn(TxnOptions::default(), now())?,
            None => fs.begin_txn(fs.youngest()?, TxnOptions::default(), now())?,
        };
        txn.set_prop("svn:log", Some(format!("Step {step}").as_bytes()))?;
        edit(&mut txn, step)?;
        match (&mut group, size) {
            (Some(group), Some(size)) => {
                group.commit(txn, &now)?;
                if step % size == size - 1 {
                    group.flush()?;
                }
            }
            _ => drop(txn.commit(&now)?),
        }
    }
    if let Some(group) = &mut group {
        group.flush()?;
    }
    let took = start.elapsed();
    println!(
        "{count} commits in {took:.2?}: {:.0} a second; youngest r{}",
        count as f64 / took.as_secs_f64(),
        fs.youngest().unwrap_or(Revnum::ZERO)
    );
    Ok(())
}

/// Changes two files, adding what is missing.
fn edit(txn: &mut Txn, step: u64) -> Result<()> {
    for file in [step % 500, (step * 7) % 500] {
        let dir = FsPath::canonicalize(&format!("trunk/dir{}", file % 20))?;
        let path = dir.join_str(&format!("file{file}.c"));
        if txn.root()?.try_node(&path)?.is_none() {
            for dir in [dir.parent().unwrap_or_else(FsPath::root), dir] {
                if txn.root()?.try_node(&dir)?.is_none() {
                    txn.make_dir(&dir)?;
                }
            }
            txn.make_file(&path)?;
        }
        let mut text = String::new();
        for line in 0..40 {
            text.push_str(&format!(
                "line {line} of file {file}, edited {}\n",
                (step + line * 3) / 60
            ));
        }
        text.push_str(&format!("step {step}\n"));
        let mut writer = txn.apply_text(&path, None)?;
        writer.write(text.as_bytes())?;
        writer.finish(txn)?;
    }
    Ok(())
}
