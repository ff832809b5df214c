//! Times reading a repository: `walk changes REPOS [CACHE-MB]` reads what each revision changed,
//! `walk tree REPOS REV [CACHE-MB]` a whole tree, `walk trees REPOS STEP [CACHE-MB]` every STEP-th tree without texts.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program, not a library"
)]

use std::time::Instant;

use base::{NodeKind, Result, Revnum};
use fsfs::{Cache, Fs, Node};

#[derive(Default)]
struct ReadTotals {
    nodes: u64,
    bytes: u64,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
    let number = |at: usize, default: u64| arg(at).parse().unwrap_or(default);
    let mode = arg(1);
    let budget = number(if mode == "changes" { 3 } else { 4 }, 256);
    let cache = Cache::new(budget << 20);
    let fs = Fs::open(&std::path::Path::new(&arg(2)).join("db"), &cache)?;
    let mut read = ReadTotals::default();
    let start = Instant::now();
    match &*mode {
        "changes" => {
            for rev in 0..=fs.youngest()?.0 {
                changes(&fs, Revnum(rev), &mut read)?;
            }
        }
        "tree" => tree(&fs.root(Revnum(number(3, 0)))?.root_node()?, true, &mut read)?,
        _ => {
            for rev in (0..=fs.youngest()?.0).step_by(number(3, 100) as usize) {
                tree(&fs.root(Revnum(rev))?.root_node()?, false, &mut read)?;
            }
        }
    }
    let (seconds, mib) = (
        start.elapsed().as_secs_f64(),
        read.bytes as f64 / f64::from(1 << 20),
    );
    println!(
        "{} nodes, {mib:.1} MiB in {seconds:.3} s, cache holds {} MiB",
        read.nodes,
        cache.used() >> 20
    );
    Ok(())
}

fn changes(fs: &Fs, rev: Revnum, read: &mut ReadTotals) -> Result<()> {
    let root = fs.root(rev)?;
    for change in root.changed_paths()?.iter() {
        if let Some(node) = root.try_node(&change.path)? {
            one(&node, true, read)?;
        }
    }
    Ok(())
}

fn tree(node: &Node, texts: bool, read: &mut ReadTotals) -> Result<()> {
    one(node, texts, read)?;
    if node.kind() == NodeKind::Dir {
        for entry in node.entries()?.iter() {
            tree(&node.child_of(entry)?, texts, read)?;
        }
    }
    Ok(())
}

fn one(node: &Node, texts: bool, read: &mut ReadTotals) -> Result<()> {
    read.nodes += 1;
    node.props()?;
    if node.kind() == NodeKind::Dir {
        node.entries()?;
    } else if texts {
        let mut reader = node.reader()?;
        loop {
            let length = reader.fill()?.len();
            if length == 0 {
                break;
            }
            read.bytes += length as u64;
            reader.consume(length);
        }
    }
    Ok(())
}
