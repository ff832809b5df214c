//! Jobs that read: exports, logs, blame, lists, and `svnbench`.

use std::fs;
use std::path::Path;

use super::{ClientBench, ClientPrograms, Peer, measured, url};
use crate::cells::Goal;
use crate::matrix::Format;
use crate::matrix::repositories::{self, BLAMED_FILE};
use crate::measure::{RunCost, client_of};
use crate::rivals::servers::StartedServer;
use crate::workload::{self, run};

/// A program with its words, the path of its target, and the goal.
type ReadingRow = (&'static str, &'static [&'static str], &'static str, Goal);

/// The goal of `svnbench`: half of the processor time.
const HALF: Goal = Goal {
    wall: None,
    cpu: Some(2.0),
};

const ROWS: [ReadingRow; 9] = [
    ("svn", &["log", "-v"], "", Goal::wall(1.5)),
    ("svn", &["blame"], BLAMED_FILE, Goal::wall(3.0)),
    ("svn", &["list", "-R"], "trunk", Goal::NONE),
    (
        "svn",
        &["diff", "-r", "1:HEAD", "--summarize"],
        "trunk",
        Goal::NONE,
    ),
    ("svnbench", &["null-export"], "trunk", HALF),
    ("svnbench", &["null-log", "-v"], "", HALF),
    ("svnbench", &["null-blame"], BLAMED_FILE, HALF),
    ("svnbench", &["null-list", "-R"], "trunk", HALF),
    ("svnbench", &["null-info", "-R"], "trunk", HALF),
];

impl ClientBench<'_> {
    /// Measures the jobs that read a history.
    pub(super) fn reading(&mut self, peer: Peer, repository: &Path, history: &str) -> Result<(), String> {
        let programs = self.programs;
        let server = programs.serve(peer, repository.parent().unwrap_or(Path::new("/")))?;
        let url = url(server.as_ref(), repository);
        for (program, words, path, goal) in ROWS {
            let job = format!("{program} {}, {}, {history}", words.join(" "), peer.name());
            self.job(&job, goal, |is_ours| {
                let mut command = programs.client(is_ours, program);
                client_of(
                    measured(server.as_ref()),
                    command.args(words).arg(format!("{url}/{path}")),
                )
            });
        }
        let job = format!("svn export, {}, {history}", peer.name());
        self.job(&job, Goal::wall(2.0), |is_ours| {
            programs.export(is_ours, &format!("{url}/trunk"), server.as_ref())
        });
        Ok(())
    }

    /// Measures imports and exports of a source tree.
    pub(super) fn tree(&mut self, files: usize) -> Result<(), String> {
        let programs = self.programs;
        let (count, is_generated) = if files == 0 { (500, true) } else { (files, false) };
        let what = if is_generated { "generated" } else { "Linux 6.1" };
        let data = &self.selection.directories.data;
        let tree = workload::import_tree(programs.scratch, data, count, is_generated)?;
        for peer in Peer::ALL {
            let job = format!("svn import, {}, {what}, {count} files", peer.name());
            self.job(&job, Goal::wall(1.5), |is_ours| {
                programs.import(is_ours, peer, &tree)
            });
        }
        let root = programs.fresh("tree-served")?;
        fs::create_dir(&root).map_err(|e| format!("{}: {e}", root.display()))?;
        let repository = root.join("repository");
        repositories::empty(&repository, Format::Fsfs8, 1000)?;
        run(&mut workload::import(
            &tree,
            &format!("file://{}/trunk", repository.display()),
        ))?;
        for peer in Peer::ALL {
            let server = programs.serve(peer, &root)?;
            let url = format!("{}/trunk", url(server.as_ref(), &repository));
            let job = format!("svn export, {}, {what}, {count} files", peer.name());
            self.job(&job, Goal::wall(2.0), |is_ours| {
                programs.export(is_ours, &url, server.as_ref())
            });
        }
        Ok(())
    }
}

impl ClientPrograms<'_> {
    fn export(&self, is_ours: bool, url: &str, server: Option<&StartedServer>) -> Result<RunCost, String> {
        let target = self.fresh("exported")?;
        let mut command = self.client(is_ours, "svn");
        client_of(measured(server), command.args(["export", "-q", url]).arg(&target))
    }

    fn import(&self, is_ours: bool, peer: Peer, tree: &Path) -> Result<RunCost, String> {
        let root = self.fresh("imported")?;
        fs::create_dir(&root).map_err(|e| format!("{}: {e}", root.display()))?;
        let repository = root.join("repository");
        repositories::empty(&repository, Format::Fsfs8, 1000)?;
        let server = self.serve(peer, &root)?;
        let mut command = self.client(is_ours, "svn");
        command.args(["import", "-q", "--no-auto-props", "--no-ignore", "-m", "import"]);
        client_of(
            measured(server.as_ref()),
            command
                .arg(tree)
                .arg(format!("{}/trunk", url(server.as_ref(), &repository))),
        )
    }
}
