//! The cells of reading: warm, when everything is in the caches of node and server, and cold, by a node whose directory is empty.
//!
//! The server on FSFS is as cold as it can be made: it is started again, and the page cache is emptied where this process may do
//! that.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::nodes::{ClusterEngines, Delays, on_files};
use super::{ClusterOptions, DELAYS};
use crate::cells::{Goal, TableCell};
use crate::matrix::row::drop_page_cache;
use crate::measure::RunCost;
use crate::rivals::SvenBinary;
use crate::rivals::servers::StartedServer;
use crate::workload::{self, large, run};

/// The name of the rival in the table.
const RIVAL: &str = "FSFS";

/// The least ratio of warm reading.
const WARM: Goal = Goal::wall(0.9);

/// The least ratio of cold reading: three times the time on FSFS.
const COLD: Goal = Goal::wall(0.33);

/// Measures the cells.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn measure(
    options: &ClusterOptions,
    sven: &SvenBinary,
    warm: bool,
    cold: bool,
) -> Result<Vec<TableCell>, String> {
    let data = &options.directories.data;
    let scratch = tempfile::tempdir_in(data).map_err(|e| e.to_string())?;
    let history = workload::history::workload(data, options.revisions, 1)?;
    let files = FilesRoot::make(scratch.path(), &history.repository, options.files)?;
    let engines = ClusterEngines::start(sven, data)?;
    for name in NAMES {
        engines.import(&files.0.join(name), name)?;
    }
    let reading = Reading {
        options,
        sven,
        engines,
        files,
        trunk: history.trunk,
    };
    let mut cells = Vec::new();
    if warm {
        reading.warm(&mut cells)?;
    }
    if cold {
        reading.cold(&mut cells)?;
    }
    Ok(cells)
}

/// The repositories: a history, the same packed, and a tree of files in one revision.
const NAMES: [&str; 3] = ["history", "packed", "tree"];

/// The directory with the repositories of the server on FSFS.
struct FilesRoot(PathBuf);

impl FilesRoot {
    fn make(scratch: &Path, history: &Path, files: usize) -> Result<FilesRoot, String> {
        let root = scratch.join("repositories");
        std::fs::create_dir(&root).map_err(|e| format!("{}: {e}", root.display()))?;
        for name in ["history", "packed"] {
            run(Command::new("cp").arg("-a").arg(history).arg(root.join(name)))?;
        }
        run(Command::new("svnadmin")
            .args(["pack", "-q"])
            .arg(root.join("packed")))?;
        let tree = large::small_tree(scratch, files)?;
        run(Command::new("svnadmin").arg("create").arg(root.join("tree")))?;
        let url = format!("file://{}/trunk", root.join("tree").display());
        run(Command::new("svn")
            .args(["import", "-q", "-m", "tree"])
            .arg(tree)
            .arg(url))?;
        Ok(FilesRoot(root))
    }
}

struct Reading<'a> {
    options: &'a ClusterOptions,
    sven: &'a SvenBinary,
    engines: ClusterEngines<'a>,
    files: FilesRoot,
    trunk: &'static str,
}

impl Reading<'_> {
    fn warm(&self, cells: &mut Vec<TableCell>) -> Result<(), String> {
        for delays in DELAYS {
            let files = on_files(self.sven, &self.files.0)?;
            let nodes = (0..3)
                .map(|node| self.engines.node(&format!("warm{node}"), delays))
                .collect::<Result<Vec<_>, _>>()?;
            for (what, name, args) in self.jobs() {
                let client = |server: &StartedServer| client(server, name, &args);
                let mut turn = 0;
                let cell = TableCell::measure(
                    format!("{what}, one node, {delays}"),
                    RIVAL,
                    WARM,
                    self.options.runs,
                    || nodes[0].server.measure_client(&mut client(&nodes[0])),
                    || files.server.measure_client(&mut client(&files)),
                );
                cells.push(cell?);
                // Each client at another node. All have read it once.
                for node in &nodes[1..] {
                    node.server.measure_client(&mut client(node))?;
                }
                let cell = TableCell::measure(
                    format!("{what}, three nodes in turn, {delays}"),
                    RIVAL,
                    WARM,
                    self.options.runs,
                    || {
                        turn = (turn + 1) % nodes.len();
                        nodes[turn].server.measure_client(&mut client(&nodes[turn]))
                    },
                    || files.server.measure_client(&mut client(&files)),
                );
                cells.push(cell?);
            }
        }
        Ok(())
    }

    fn cold(&self, cells: &mut Vec<TableCell>) -> Result<(), String> {
        for delays in DELAYS {
            for (what, name, args) in self
                .jobs()
                .into_iter()
                .filter(|(what, ..)| what.starts_with("export"))
            {
                let cell = TableCell::measure(
                    format!("{what}, cold, {delays}"),
                    RIVAL,
                    COLD,
                    self.options.runs.min(3),
                    || self.run_cold_node(delays, name, &args),
                    || {
                        drop_page_cache()?;
                        let files = on_files(self.sven, &self.files.0)?;
                        files.server.measure_client(&mut client(&files, name, &args))
                    },
                );
                cells.push(cell?);
            }
        }
        Ok(())
    }

    fn run_cold_node(&self, delays: Delays, name: &str, args: &[String]) -> Result<RunCost, String> {
        self.engines.wipe("cold")?;
        drop_page_cache()?;
        let node = self.engines.node("cold", delays)?;
        node.server.measure_client(&mut client(&node, name, args))
    }

    /// The jobs: what, in which repository, and the arguments of `svnbench` before the URL, with the path last.
    fn jobs(&self) -> Vec<(String, &'static str, Vec<String>)> {
        let revisions = self.options.revisions;
        let job = |what: String, name: &'static str, args: &[&str]| {
            (what, name, args.iter().map(|arg| (*arg).to_owned()).collect())
        };
        vec![
            job(
                format!("export of {revisions} revisions' trunk"),
                "history",
                &["null-export", "-q", self.trunk],
            ),
            job(
                format!("export of {revisions} revisions' trunk, packed"),
                "packed",
                &["null-export", "-q", self.trunk],
            ),
            job(
                format!("export of {} files", self.options.files),
                "tree",
                &["null-export", "-q", "trunk"],
            ),
            job(
                format!("log -v of {revisions} revisions"),
                "history",
                &["null-log", "-q", "-v", ""],
            ),
            job(
                format!("list -R of {} files", self.options.files),
                "tree",
                &["null-list", "-q", "-R", "trunk"],
            ),
            job("info of the root".to_owned(), "history", &["null-info", ""]),
        ]
    }
}

fn client(server: &StartedServer, name: &str, args: &[String]) -> Command {
    let mut command = Command::new("svnbench");
    let (path, args) = args
        .split_last()
        .map_or(("", args), |(path, args)| (path.as_str(), args));
    command
        .args(args)
        .arg("--non-interactive")
        .arg(format!("{}/{name}/{path}", server.url).trim_end_matches('/'));
    command
}
