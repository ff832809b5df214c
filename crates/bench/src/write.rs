//! The writing cells: load, import, large files, pack, hotcopy; and how large the results are.
//!
//! Both sides begin each run with a repository that the incumbent has just made, so that they have the same format and the same
//! settings. Where files are made, what is measured is the program that makes them: of a server the CPU and memory columns are the
//! server's, of a tool the tool's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::cells::Cell;
use crate::measure::{Cost, tool, tool_reading};
use crate::rivals::Sven;
use crate::rivals::servers::{Kind, start};
use crate::setup::Selection;
use crate::sizes::{Size, of_repository};
use crate::workload::{self, large, run};
use crate::{huge, sizes};

const RIVAL: &str = "1.14.2";
const SERVER: &str = "1.14 -T -M 1024";

/// What to write, and how often.
#[derive(Args, Clone)]
pub struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Size of the large files, in MiB
    #[arg(long, default_value_t = 1024)]
    megabytes: u64,
    /// How many files of the Linux sources to import (0: none; Debian's linux-source-6.1)
    #[arg(long, default_value_t = 100_000)]
    files: usize,
    /// Adds a text of 4 GiB that goes in and out, and the memory that takes
    #[arg(long)]
    huge: bool,
}

/// Measures every cell and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn main(mut options: Options) -> Result<(), String> {
    if options.selection.quick {
        options.selection.revisions = vec![100];
        options.selection.runs = 0;
        options.megabytes = 2;
        options.files = 50;
    }
    let sven = options.selection.places.prepare()?;
    let selection = &options.selection;
    let place = tempfile::tempdir_in(&selection.places.data).map_err(|e| e.to_string())?;
    let mut bench = Bench {
        sven,
        selection,
        options: &options,
        place: place.path(),
        cells: Vec::new(),
        sizes: Vec::new(),
        huge: String::new(),
        failed: Vec::new(),
    };
    for revisions in &selection.revisions {
        bench.history(*revisions)?;
    }
    bench.import()?;
    for compressible in [false, true] {
        bench.large_file(compressible)?;
    }
    if options.huge {
        let megabytes = if selection.quick { 8 } else { 4096 };
        bench.huge = huge::rows(&bench.sven, bench.place, megabytes, selection.seed)?;
    }
    bench.publish()
}

/// Ours and theirs, in the order of a pair.
const SIDES: [bool; 2] = [true, false];

struct Bench<'a> {
    sven: Sven,
    selection: &'a Selection,
    options: &'a Options,
    place: &'a Path,
    cells: Vec<Cell>,
    sizes: Vec<Size>,
    huge: String,
    failed: Vec<String>,
}

impl Bench<'_> {
    fn measure(
        &mut self,
        job: String,
        rival: &'static str,
        goal: f64,
        run: impl Fn(bool) -> Result<Cost, String>,
    ) {
        let runs = self.selection.runs;
        let name = job.clone();
        match Cell::measure(job, rival, Some(goal), runs, || run(true), || run(false)) {
            Ok(cell) => self.cells.push(cell),
            // The others are worth having all the same.
            Err(error) => self.failed.push(format!("{name}: {error}")),
        }
    }

    /// Load with and without syncs, then pack and copy what was loaded.
    fn history(&mut self, revisions: u32) -> Result<(), String> {
        let name = format!("history {revisions}");
        let jobs = ["load", "load --no-flush-to-disk", "pack", "hotcopy", "size"];
        if !jobs
            .iter()
            .any(|job| self.selection.wanted(&format!("{job}, {name}")))
        {
            return Ok(());
        }
        let dump = workload::history::dump(&self.selection.places.data, revisions, self.selection.seed)?;
        for flag in [None, Some("--no-flush-to-disk")] {
            let job = format!(
                "load{}, {name}",
                flag.map(|f| format!(" {f}")).unwrap_or_default()
            );
            if !self.selection.wanted(&job) {
                continue;
            }
            let (place, sven, dump) = (self.place, self.sven.clone(), &dump);
            let load = |ours| {
                let repository = fresh(place, "load")?;
                let mut command = admin(&sven, ours);
                command.args(["load", "-q"]).args(flag).arg(&repository);
                tool_reading(&mut command, dump)
            };
            self.measure(job, RIVAL, 2.0, load);
        }
        self.after_load(&name, &dump)
    }

    fn after_load(&mut self, name: &str, dump: &Path) -> Result<(), String> {
        let (ours, theirs) = (self.place.join("ours"), self.place.join("theirs"));
        for side in SIDES {
            let path = if side { &ours } else { &theirs };
            clear(path)?;
            run(Command::new("svnadmin").arg("create").arg(path))?;
            let mut command = admin(&self.sven, side);
            tool_reading(command.args(["load", "-q", "--no-flush-to-disk"]).arg(path), dump)?;
        }
        self.sizes.push(Size::new(
            format!("{name}, unpacked"),
            of_repository(&ours)?,
            of_repository(&theirs)?,
        ));
        // Both pack and copy what theirs loaded.
        let place = self.place;
        if self.selection.wanted(&format!("pack, {name}")) {
            let sven = self.sven.clone();
            let pack = |side: bool| {
                let copy = place.join("pack");
                clear(&copy)?;
                run(Command::new("cp").arg("-a").arg(&theirs).arg(&copy))?;
                let mut command = admin(&sven, side);
                tool(command.args(["pack", "-q"]).arg(&copy))
            };
            self.measure(format!("pack, {name}"), RIVAL, 2.0, pack);
        }
        if self.selection.wanted(&format!("hotcopy, {name}")) {
            let sven = self.sven.clone();
            let copy = |side: bool| {
                let target = place.join("copy");
                clear(&target)?;
                let mut command = admin(&sven, side);
                tool(command.args(["hotcopy", "-q"]).arg(&theirs).arg(&target))
            };
            self.measure(format!("hotcopy, {name}"), RIVAL, 1.0, copy);
        }
        for (side, path) in [(true, &ours), (false, &theirs)] {
            run(admin(&self.sven, side).args(["pack", "-q"]).arg(path))?;
        }
        self.sizes.push(Size::new(
            format!("{name}, packed"),
            of_repository(&ours)?,
            of_repository(&theirs)?,
        ));
        Ok(())
    }

    /// `svn import` of a source tree through both servers.
    fn import(&mut self) -> Result<(), String> {
        let files = self.options.files;
        let job = format!("svn import, Linux 6.1, {files} files");
        if files == 0 || !self.selection.wanted(&job) {
            return Ok(());
        }
        let data = &self.selection.places.data;
        let tree = workload::import_tree(self.place, data, files, self.selection.quick)?;
        let repository = |side| {
            self.place
                .join(if side { "served-ours" } else { "served-theirs" })
        };
        let (place, sven) = (self.place, self.sven.clone());
        let import = |side: bool| {
            let name = if side { "served-ours" } else { "served-theirs" };
            served(place, name, side, &sven, |url| workload::import(&tree, url))
        };
        let (ours, theirs) = (repository(true), repository(false));
        self.measure(job.clone(), SERVER, 1.5, import);
        self.sizes
            .push(Size::new(job, of_repository(&ours)?, of_repository(&theirs)?));
        Ok(())
    }

    /// One large file, put into the repository by `svnmucc`.
    fn large_file(&mut self, compressible: bool) -> Result<(), String> {
        let megabytes = self.options.megabytes;
        let what = if compressible {
            "compressible"
        } else {
            "incompressible"
        };
        let job = format!("commit of one {what} file of {megabytes} MiB");
        if !self.selection.wanted(&job) {
            return Ok(());
        }
        let file = self.place.join("large");
        large::file(&file, megabytes, compressible, self.selection.seed)?;
        let (place, sven) = (self.place, self.sven.clone());
        let put = |side: bool| {
            let name = if side { "served-ours" } else { "served-theirs" };
            served(place, name, side, &sven, |url| {
                let mut client = Command::new("svnmucc");
                client
                    .args(["--non-interactive", "-m", "large", "put"])
                    .arg(&file)
                    .arg(format!("{url}/large"));
                client
            })
        };
        self.measure(job.clone(), SERVER, 2.0, put);
        let [ours, theirs] = ["served-ours", "served-theirs"].map(|name| of_repository(&place.join(name)));
        self.sizes.push(Size::new(job, ours?, theirs?));
        clear(&file)
    }

    fn publish(&self) -> Result<(), String> {
        let more = format!("\n{}{}", sizes::markdown(&self.sizes), self.huge);
        self.selection
            .publish("write", "Subversion", &self.cells, &more)?;
        if self.failed.is_empty() {
            Ok(())
        } else {
            Err(format!("not measured: {}", self.failed.join("; ")))
        }
    }
}

fn admin(sven: &Sven, ours: bool) -> Command {
    if ours {
        sven.command("svnadmin")
    } else {
        Command::new("svnadmin")
    }
}

/// Serves a new repository, and measures what the server does for a client.
fn served(
    place: &Path,
    name: &str,
    ours: bool,
    sven: &Sven,
    client: impl Fn(&str) -> Command,
) -> Result<Cost, String> {
    let repository = fresh(place, name)?;
    let conf = repository.join("conf/svnserve.conf");
    fs::write(&conf, "[general]\nanon-access = write\n").map_err(|e| format!("{}: {e}", conf.display()))?;
    let kind = if ours { Kind::Sven } else { Kind::SubversionTuned };
    let running = start(kind, sven, place)?;
    running
        .server
        .serve(&mut client(&format!("{}/{name}", running.url)))
}

/// An empty repository, as the incumbent makes it.
fn fresh(place: &Path, name: &str) -> Result<PathBuf, String> {
    let path = place.join(name);
    clear(&path)?;
    run(Command::new("svnadmin").arg("create").arg(&path))?;
    Ok(path)
}

fn clear(path: &Path) -> Result<(), String> {
    let gone = if path.is_dir() {
        fs::remove_dir_all(path)
    } else if path.exists() {
        fs::remove_file(path)
    } else {
        Ok(())
    };
    gone.map_err(|e| format!("{}: {e}", path.display()))
}
