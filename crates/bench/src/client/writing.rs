//! Jobs on whole histories: mirrors, dumps over the network, filtered dumps.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{ClientBench, ClientPrograms, Peer, measured, url};
use crate::cells::Goal;
use crate::matrix::Format;
use crate::matrix::repositories;
use crate::measure::{RunCost, client_of, tool_reading};
use crate::workload::run;

/// The revisions of a mirror: a mirror of a long history takes minutes with Subversion's program.
const MIRRORED: u32 = 300;

impl ClientBench<'_> {
    /// Measures `svndumpfilter`.
    pub(super) fn filtering(&mut self, dump: &Path, history: &str) {
        let programs = self.programs;
        let rows: [(&str, &[&str]); 2] = [
            (
                "exclude",
                &["exclude", "--drop-empty-revs", "--renumber-revs", "tags"],
            ),
            ("include", &["include", "trunk"]),
        ];
        for (name, words) in rows {
            let job = format!("svndumpfilter {name}, {history}");
            self.job(&job, Goal::wall(3.0), |is_ours| {
                tool_reading(programs.tool(is_ours, "svndumpfilter").args(words), dump)
            });
        }
    }

    /// Measures `svnsync` and `svnrdump`.
    pub(super) fn mirroring(&mut self, peer: Peer, repository: &Path, history: &str) -> Result<(), String> {
        let programs = self.programs;
        let server = programs.serve(peer, repository.parent().unwrap_or(Path::new("/")))?;
        let source = url(server.as_ref(), repository);
        let job = format!("svnrdump dump, {}, {history}", peer.name());
        self.job(&job, Goal::NONE, |is_ours| {
            client_of(
                measured(server.as_ref()),
                programs.client(is_ours, "svnrdump").args(["dump", "-q", &source]),
            )
        });
        drop(server);
        let part = programs.beginning(repository)?;
        let job = format!("svnsync of {MIRRORED} revisions, {}, {history}", peer.name());
        let goal = if peer == Peer::Disk {
            Goal::NONE
        } else {
            Goal::wall(3.0)
        };
        self.job(&job, goal, |is_ours| programs.mirror(is_ours, peer, &part));
        Ok(())
    }
}

impl ClientPrograms<'_> {
    /// Makes a repository of the first revisions of another one.
    fn beginning(&self, repository: &Path) -> Result<PathBuf, String> {
        let root = self.scratch.join("beginning");
        let part = root.join("repository");
        if part.exists() {
            return Ok(part);
        }
        fs::create_dir_all(&root).map_err(|e| format!("{}: {e}", root.display()))?;
        repositories::empty(&part, Format::Fsfs8, 1000)?;
        let dump = self.scratch.join("beginning.dump");
        let mut command = std::process::Command::new("svnadmin");
        command
            .args(["dump", "-q", "-r", &format!("0:{MIRRORED}"), "-F"])
            .arg(&dump);
        run(command.arg(repository))?;
        let mut load = std::process::Command::new("svnadmin");
        load.args(["load", "-q", "-F"]).arg(&dump).arg(&part);
        run(&mut load)?;
        Ok(part)
    }

    /// Mirrors a repository into an empty one; both are served by the same server. Initialization is not measured.
    fn mirror(&self, is_ours: bool, peer: Peer, source: &Path) -> Result<RunCost, String> {
        let root = source.parent().unwrap_or(Path::new("/"));
        let target = root.join("mirror");
        crate::jobs::clear(&target)?;
        repositories::empty(&target, Format::Fsfs8, 1000)?;
        let hook = target.join("hooks/pre-revprop-change");
        let written = fs::write(&hook, "#!/bin/sh\nexit 0\n")
            .and_then(|()| fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)));
        written.map_err(|e| format!("{}: {e}", hook.display()))?;
        let server = self.serve(peer, root)?;
        let (from, to) = (url(server.as_ref(), source), url(server.as_ref(), &target));
        run(self.client(is_ours, "svnsync").args(["init", "-q", &to, &from]))?;
        client_of(
            measured(server.as_ref()),
            self.client(is_ours, "svnsync").args(["sync", "-q", &to]),
        )
    }
}
