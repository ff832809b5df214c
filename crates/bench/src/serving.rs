//! Measures a client with two servers: *cold* starts a new server for each run, *hot* leaves it running.

use std::path::Path;
use std::process::Command;

use crate::cells::{Goal, TableCell};
use crate::measure::RunCost;
use crate::rivals::servers::StartedServer;
use crate::setup::Selection;
use crate::workload::Workload;

/// Whether each run starts a new server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmth {
    /// A new server for each run.
    Cold,
    /// A server that has served the same requests before.
    Hot,
}

impl Warmth {
    /// Returns the word in the names of cells.
    pub fn word(self) -> &'static str {
        match self {
            Warmth::Cold => "cold",
            Warmth::Hot => "hot",
        }
    }
}

/// A function that returns the client for a repository's URL.
pub type ClientFactory<'a> = &'a dyn Fn(&str) -> Result<Command, String>;

/// A cell to measure.
pub struct ServerJob<'a> {
    /// The name in the table.
    pub name: String,
    /// The name of the rival.
    pub rival: &'static str,
    /// The goals.
    pub goal: Goal,
    /// Cold or hot.
    pub warmth: Warmth,
    /// Starts Sven (`true`) or the rival for the repositories below a directory.
    pub start: &'a dyn Fn(bool, &Path) -> Result<StartedServer, String>,
    /// The client to run.
    pub client: ClientFactory<'a>,
}

impl ServerJob<'_> {
    /// Measures the cell, if it is selected.
    ///
    /// # Errors
    /// The first server that does not start or client that fails.
    pub fn measure(self, on: &Workload, selection: &Selection) -> Result<Option<TableCell>, String> {
        if !selection.wanted(&self.name) {
            return Ok(None);
        }
        let start = |ours| (self.start)(ours, on.root());
        let ask = |running: &StartedServer| -> Result<RunCost, String> {
            let url = format!("{}/{}", running.url, on.base_name());
            running.server.measure_client(&mut (self.client)(&url)?)
        };
        let (name, rival, goal, runs) = (self.name, self.rival, self.goal, selection.runs);
        let cell = match self.warmth {
            Warmth::Cold => {
                let run = |ours| ask(&start(ours)?);
                TableCell::measure(name, rival, goal, runs, || run(true), || run(false))
            }
            Warmth::Hot => {
                let (ours, theirs) = (start(true)?, start(false)?);
                // With `runs == 0` the only pair counts, so the servers need a run before it.
                if runs == 0 {
                    ask(&ours)?;
                    ask(&theirs)?;
                }
                TableCell::measure(name, rival, goal, runs, || ask(&ours), || ask(&theirs))
            }
        };
        cell.map(Some)
    }
}

/// Returns a stock client with the URL of `path` as its last argument.
pub fn client(words: &[&str], url: &str, path: &str) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(format!("{url}/{path}"));
    command
}
