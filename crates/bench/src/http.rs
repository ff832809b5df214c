//! HTTP: the stock client, and crowds of plain ones, against our server and Apache with mod_dav_svn.
//!
//! Both servers get the same repositories, a cache of one gibibyte and the same compression level, 0 and 5 in turn; Apache has its
//! path-based checks off, ours always checks. *Cold* starts a new server for each run, *hot* leaves it running. What a
//! crowd asks for is fetched by one `curl` with 64 connections, because 64 processes of the stock client would leave no
//! CPU time to the servers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::cells::Cell;
use crate::measure::Cost;
use crate::rivals::servers::Running;
use crate::rivals::{Sven, apache, subversion_version};
use crate::workload::{self, Workload};
use crate::{plot, table};

const APACHE: &str = "Apache 2.4 event, mod_dav_svn";
/// Connections of a crowd.
const CROWD: usize = 64;

/// What to measure.
#[derive(Args, Clone)]
pub struct Options {
    /// Sizes of the generated histories, in revisions
    #[arg(long, value_delimiter = ',', default_values_t = [5000, 25000])]
    revisions: Vec<u32>,
    /// Counted pairs of runs for each cell
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// How many files of the Linux sources to import (0: none; Debian's linux-source-6.1)
    #[arg(long, default_value_t = 10_000)]
    files: usize,
    /// Compression levels of both servers
    #[arg(long, value_delimiter = ',', default_values_t = [0, 5])]
    levels: Vec<u8>,
    /// Only cells whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// A few hundred revisions and one pair: proves that the harness works
    #[arg(long)]
    quick: bool,
    /// Seed of the generated histories
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where workloads are kept between runs
    #[arg(long, default_value = "bench-data")]
    data: PathBuf,
    /// Where tables and plots go
    #[arg(long, default_value = "bench-results")]
    results: PathBuf,
    /// The sven binary (default: built beside this program)
    #[arg(long)]
    sven: Option<PathBuf>,
}

/// Measures every cell and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn main(mut options: Options) -> Result<(), String> {
    if options.quick {
        options.revisions = vec![200];
        options.runs = 0;
        options.files = 50;
        options.levels = vec![5];
    }
    let text = |e: std::io::Error| e.to_string();
    fs::create_dir_all(&options.data).map_err(|e| format!("{}: {e}", options.data.display()))?;
    options.data = fs::canonicalize(&options.data).map_err(text)?;
    let sven = Sven::find(options.sven.as_deref())?;
    let scratch = tempfile::tempdir().map_err(text)?;
    let mut cells = Vec::new();
    for revisions in options.revisions.clone() {
        let workload = workload::history::workload(&options.data, revisions, options.seed)?;
        for level in options.levels.clone() {
            let bench = Bench {
                options: &options,
                sven: &sven,
                place: scratch.path(),
                level,
            };
            bench.reading(&workload, &mut cells)?;
        }
    }
    for level in options.levels.clone() {
        let bench = Bench {
            options: &options,
            sven: &sven,
            place: scratch.path(),
            level,
        };
        bench.import(&mut cells)?;
    }
    publish(&cells, &options)
}

fn publish(cells: &[Cell], options: &Options) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let heading = format!(
        "Sven beside Apache with mod_dav_svn {}, {cores} cores, {} pairs of runs a cell, medians. A ratio is theirs \
         divided by ours.",
        subversion_version(),
        options.runs.max(1)
    );
    let text = table::markdown(cells, &heading);
    print!("{text}");
    let store = |name: &str, bytes: &[u8]| {
        let path: PathBuf = options.results.join(name);
        fs::create_dir_all(&options.results)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|e| format!("{}: {e}", path.display()))
    };
    store("http.md", text.as_bytes())?;
    store("http.json", format!("{:#}\n", table::json(cells)).as_bytes())?;
    plot::ratios(cells, &options.results.join("http.svg"))
}

struct Bench<'a> {
    options: &'a Options,
    sven: &'a Sven,
    place: &'a Path,
    level: u8,
}

impl Bench<'_> {
    fn wanted(&self, job: &str) -> bool {
        self.options
            .only
            .as_ref()
            .is_none_or(|only| job.contains(only.as_str()))
    }

    fn start(&self, is_ours: bool, root: &Path) -> Result<Running, String> {
        match is_ours {
            true => apache::ours(self.sven, root, self.level, self.place),
            false => apache::theirs(root, self.level, self.place),
        }
    }

    fn reading(&self, workload: &Workload, cells: &mut Vec<Cell>) -> Result<(), String> {
        let export = |url: &str| client(&["svnbench", "null-export"], url, workload, workload.trunk);
        let log = |url: &str| client(&["svnbench", "null-log", "-v"], url, workload, "");
        self.cold("null-export", workload, &export, cells)?;
        self.hot("null-export", workload, &export, cells)?;
        self.cold("null-log -v", workload, &log, cells)?;
        self.hot("null-log -v", workload, &log, cells)?;
        let tree = Tree::of(workload)?;
        let list = |url: &str| self.ask(&tree.folders, url, workload, 1, PROPFIND);
        self.hot("list by PROPFIND", workload, &list, cells)?;
        let crowd = |url: &str| self.ask(&tree.files, url, workload, CROWD, &[]);
        self.hot("64 clients fetch files", workload, &crowd, cells)
    }

    /// A new server for each run.
    fn cold(
        &self,
        name: &str,
        workload: &Workload,
        command: &dyn Fn(&str) -> Result<Command, String>,
        cells: &mut Vec<Cell>,
    ) -> Result<(), String> {
        let job = format!("{name} cold, level {}, {}", self.level, workload.name);
        if !self.wanted(&job) {
            return Ok(());
        }
        let run = |is_ours| -> Result<Cost, String> {
            let running = self.start(is_ours, root_of(workload))?;
            running.server.serve(&mut command(&running.url)?)
        };
        let goal = Some(2.0);
        let pairs = self.options.runs;
        cells.push(Cell::measure(
            job,
            APACHE,
            goal,
            pairs,
            || run(true),
            || run(false),
        )?);
        Ok(())
    }

    /// Servers that have answered the same before.
    fn hot(
        &self,
        name: &str,
        workload: &Workload,
        command: &dyn Fn(&str) -> Result<Command, String>,
        cells: &mut Vec<Cell>,
    ) -> Result<(), String> {
        let job = format!("{name} hot, level {}, {}", self.level, workload.name);
        if !self.wanted(&job) {
            return Ok(());
        }
        let root = root_of(workload);
        let (ours, theirs) = (self.start(true, root)?, self.start(false, root)?);
        let run = |running: &Running| running.server.serve(&mut command(&running.url)?);
        // One more that does not count, where no pair is counted twice: hot means hot.
        run(&ours)?;
        run(&theirs)?;
        let (goal, pairs) = (Some(2.0), self.options.runs);
        cells.push(Cell::measure(
            job,
            APACHE,
            goal,
            pairs,
            || run(&ours),
            || run(&theirs),
        )?);
        Ok(())
    }

    /// One `curl` that asks for all of `paths`, over so many connections.
    fn ask(
        &self,
        paths: &[String],
        url: &str,
        workload: &Workload,
        connections: usize,
        options: &[&str],
    ) -> Result<Command, String> {
        let mut config = String::new();
        for path in paths {
            _ = writeln!(
                config,
                "url = \"{url}/{}/{path}\"\noutput = \"/dev/null\"",
                name_of(workload)
            );
        }
        let file = self.place.join("curl.conf");
        fs::write(&file, config).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut curl = Command::new("curl");
        curl.args(["-s", "-f", "--globoff", "--path-as-is"]).args(options);
        if connections > 1 {
            curl.args(["-Z", "--parallel-immediate", "--parallel-max"])
                .arg(connections.to_string());
        }
        curl.arg("-K").arg(&file);
        Ok(curl)
    }

    /// `svn import` of a source tree into a new repository.
    fn import(&self, cells: &mut Vec<Cell>) -> Result<(), String> {
        let files = self.options.files;
        let job = format!("svn import, level {}, Linux 6.1, {files} files", self.level);
        if files == 0 || !self.wanted(&job) {
            return Ok(());
        }
        let tree = match self.options.quick {
            true => workload::large::small_tree(self.place, files)?,
            false => workload::linux::sources(&self.options.data, files)?,
        };
        let run = |is_ours| -> Result<Cost, String> {
            let root = self.place.join("repositories");
            _ = fs::remove_dir_all(&root);
            fs::create_dir_all(&root).map_err(|e| e.to_string())?;
            workload::run(Command::new("svnadmin").arg("create").arg(root.join("new")))?;
            let running = self.start(is_ours, &root)?;
            let mut import = Command::new("svn");
            import
                .args([
                    "import",
                    "-q",
                    "--non-interactive",
                    "--no-auto-props",
                    "--no-ignore",
                    "-m",
                    "import",
                ])
                .arg(&tree)
                .arg(format!("{}/new", running.url));
            running.server.serve(&mut import)
        };
        let (goal, pairs) = (Some(2.0), self.options.runs.min(1));
        cells.push(Cell::measure(
            job,
            APACHE,
            goal,
            pairs,
            || run(true),
            || run(false),
        )?);
        Ok(())
    }
}

/// How a directory is listed by clients that know no better.
const PROPFIND: &[&str] = &[
    "-X",
    "PROPFIND",
    "-H",
    "Depth: 1",
    "-H",
    "Content-Type: text/xml",
    "--data",
    "<?xml version=\"1.0\" encoding=\"utf-8\"?><propfind xmlns=\"DAV:\"><prop><resourcetype/><getcontentlength/>\
     <version-name/><creationdate/><creator-displayname/>\
     <deadprop-count xmlns=\"http://subversion.tigris.org/xmlns/dav/\"/></prop></propfind>",
];

/// What there is to ask for.
struct Tree {
    folders: Vec<String>,
    files: Vec<String>,
}

impl Tree {
    fn of(workload: &Workload) -> Result<Tree, String> {
        let mut look = Command::new("svnlook");
        look.args(["tree", "--full-paths"])
            .arg(&workload.repository)
            .arg(workload.trunk);
        let output = look.output().map_err(|e| format!("svnlook: {e}"))?;
        let all = String::from_utf8_lossy(&output.stdout);
        let plain = |path: &&str| {
            path.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"/-_.".contains(&b))
        };
        let (folders, files): (Vec<&str>, Vec<&str>) =
            all.lines().filter(plain).partition(|path| path.ends_with('/'));
        Ok(Tree {
            folders: folders.into_iter().map(str::to_owned).collect(),
            files: files.into_iter().map(str::to_owned).collect(),
        })
    }
}

fn client(words: &[&str], url: &str, workload: &Workload, path: &str) -> Result<Command, String> {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .arg(format!("{url}/{}/{path}", name_of(workload)));
    Ok(command)
}

fn name_of(workload: &Workload) -> String {
    let name = workload.repository.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn root_of(workload: &Workload) -> &Path {
    workload.repository.parent().unwrap_or(Path::new("/"))
}
