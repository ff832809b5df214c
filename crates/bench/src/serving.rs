//! Cells of a client against two servers: *cold* starts a new server for each run, *hot* leaves it running.

use std::path::Path;
use std::process::Command;

use crate::cells::Cell;
use crate::measure::Cost;
use crate::rivals::servers::Running;
use crate::setup::Selection;
use crate::workload::Workload;

/// Whether a run gets a server of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmth {
    /// A new server for each run.
    Cold,
    /// Servers that have answered the same before.
    Hot,
}

impl Warmth {
    /// As in the names of cells.
    pub fn word(self) -> &'static str {
        match self {
            Warmth::Cold => "cold",
            Warmth::Hot => "hot",
        }
    }
}

/// Makes the client for a repository's URL.
pub type Client<'a> = &'a dyn Fn(&str) -> Result<Command, String>;

/// One cell that is to be measured.
pub struct Job<'a> {
    /// Its name in the table.
    pub name: String,
    /// Whom we are compared with.
    pub rival: &'static str,
    /// Smallest ratio that the goal asks for.
    pub goal: Option<f64>,
    /// Cold or hot.
    pub warmth: Warmth,
    /// Starts ours (`true`) or theirs for the repositories below a folder.
    pub start: &'a dyn Fn(bool, &Path) -> Result<Running, String>,
    /// The client that is run against the repository of this URL.
    pub client: Client<'a>,
}

impl Job<'_> {
    /// Measures the cell, if it is asked for.
    ///
    /// # Errors
    /// The first server that doesn't start or client that fails.
    pub fn measure(self, on: &Workload, selection: &Selection) -> Result<Option<Cell>, String> {
        if !selection.wanted(&self.name) {
            return Ok(None);
        }
        let start = |ours| (self.start)(ours, on.root());
        let ask = |running: &Running| -> Result<Cost, String> {
            let url = format!("{}/{}", running.url, on.base_name());
            running.server.serve(&mut (self.client)(&url)?)
        };
        let (name, rival, goal, runs) = (self.name, self.rival, self.goal, selection.runs);
        let cell = match self.warmth {
            Warmth::Cold => {
                let run = |ours| ask(&start(ours)?);
                Cell::measure(name, rival, goal, runs, || run(true), || run(false))
            }
            Warmth::Hot => {
                let (ours, theirs) = (start(true)?, start(false)?);
                // Where the only pair counts it needs one before it.
                if runs == 0 {
                    ask(&ours)?;
                    ask(&theirs)?;
                }
                Cell::measure(name, rival, goal, runs, || ask(&ours), || ask(&theirs))
            }
        };
        cell.map(Some)
    }
}

/// A stock client that takes the URL as its last argument, with `path` behind it.
pub fn client(words: &[&str], url: &str, path: &str) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(format!("{url}/{path}"));
    command
}
