//! The environment of scenarios: two servers, and for each scenario two sandboxes, each with a repository and a
//! directory for working copies.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use testkit::normalize::{mask_dates, mask_uuids, sorted_lines};
use testkit::server::TestServer;
use testkit::server::cluster::ServedStorage;
use testkit::server::transport::{Transport, certificate};
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Repo, Side, Tool, greek, scratch};

use super::known::without_timing;
use super::step::{Run, ScenarioStep, USERS, change_disk};
use crate::apache;
use crate::pair::{attributes_sorted, serve, url};

/// Both servers of one transport.
pub struct Arena {
    pub transport: Transport,
    template: Repo,
    servers: [TestServer; 2],
    root: TempDir,
}

/// One side of a scenario.
pub struct Sandbox {
    pub side: Side,
    /// The directory that scripts run in.
    pub dir: PathBuf,
    pub repository: PathBuf,
    url: String,
    port: u16,
    storage: ServedStorage,
    config: PathBuf,
    transport: Transport,
    /// The number of changes of the disk.
    clock: u64,
}

const CONF: &str = "[general]\nanon-access = none\nauth-access = write\npassword-db = passwd\n";

/// The client's configuration: exclusive locking of working copies, no stored passwords.
const CLIENT: &str = "[auth]\nstore-auth-creds = no\nstore-passwords = no\n[working-copy]\nexclusive-locking = true\n\
                      exclusive-locking-clients = svn\n[miscellany]\nglobal-ignores = *.o\n";

/// The time limit of a command.
const PATIENCE: Duration = Duration::from_secs(120);

impl Arena {
    /// Starts both servers.
    pub fn new(transport: Transport) -> Arena {
        let root = scratch();
        let config = root.path().join("config");
        fs::create_dir(&config).expect("because the folder is empty");
        fs::write(config.join("config"), CLIENT).expect("because the folder is ours");
        let trusted = certificate().certificate.display();
        let servers = format!("[global]\nstore-auth-creds = no\nssl-authority-files = {trusted}\n");
        fs::write(config.join("servers"), servers).expect("because the folder is ours");
        let template = template();
        let rules = apache::rules(&template.path().join("conf"), &[]);
        let servers = Side::BOTH.map(|side| {
            let repositories = root.path().join(letter(side)).join("repos");
            fs::create_dir_all(&repositories).expect("because the folder is ours");
            match transport {
                // Subversion's server has a process for each connection, because `log -g` sometimes crashes it.
                Transport::Svn => TestServer::svnserve(side, &repositories, &[]),
                _ => serve(side, transport, &repositories, &rules, &[]),
            }
        });
        Arena {
            transport,
            template,
            servers,
            root,
        }
    }

    /// Makes two sandboxes with new repositories.
    pub fn sandboxes(&self, name: &str) -> [Sandbox; 2] {
        [0, 1].map(|at: usize| {
            let side = Side::BOTH[at];
            let top = self.root.path().join(letter(side));
            let repository = top.join("repos").join(name);
            self.template.copy_to(&repository);
            let dir = top.join(name);
            fs::create_dir(&dir).expect("because each scenario has a name of its own");
            let port = self.servers[at].port();
            let storage = self.servers[at].storage();
            storage.add(&repository);
            Sandbox {
                side,
                dir,
                repository,
                url: url(self.transport, port, name),
                port,
                storage,
                config: self.root.path().join("config"),
                transport: self.transport,
                clock: 0,
            }
        })
    }

    /// Returns whether each server is running: Subversion's, then Sven's.
    pub fn alive(&mut self) -> [bool; 2] {
        self.servers.each_mut().map(TestServer::is_alive)
    }
}

fn letter(side: Side) -> &'static str {
    match side {
        Side::Theirs => "t",
        Side::Ours => "o",
    }
}

impl Sandbox {
    /// Runs a step; returns the client's output without the parts that may differ.
    pub fn run(&mut self, step: &ScenarioStep) -> String {
        self.clock += 1;
        change_disk(step, &self.dir, self.clock);
        match step {
            ScenarioStep::Svn(run) => self.svn(run),
            _ => String::new(),
        }
    }

    fn svn(&self, run: &Run) -> String {
        let (_, password) = USERS
            .iter()
            .find(|(name, _)| *name == run.user)
            .expect("because there are no others");
        let other = self.url.replace("127.0.0.1", "localhost");
        let args = (run.args.iter()).map(|arg| arg.replace("OTHERNAME", &other).replace("URL", &self.url));
        let tool = Tool::new("svn").args(args).arg("--config-dir").arg(&self.config);
        let tool = tool
            .args([
                "--non-interactive",
                "--username",
                run.user,
                "--password",
                password,
            ])
            .env(
                "SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS",
                "yes",
            );
        let mut command = tool.dir(&self.dir.join(run.dir)).command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = match command.spawn() {
            Ok(child) => child,
            // Its directory was removed.
            Err(e) => return format!("no run: {:?}\n", e.kind()),
        };
        let pid = child.id();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        let Ok(output) = receiver.recv_timeout(PATIENCE) else {
            Tool::new("kill").args(["-KILL", &pid.to_string()]).run();
            return "hangs\n".to_owned();
        };
        let output = output.expect("because the client was started");
        let out = String::from_utf8_lossy(&output.stdout);
        if let Some(file) = &run.save {
            fs::write(self.dir.join(file), with_files_sorted(&output.stdout))
                .expect("because the folder is ours");
        }
        let err = String::from_utf8_lossy(&output.stderr);
        let (mut out, mut err) = (self.normal(&out), self.normal(&err));
        if !is_ordered(run) {
            out = sorted_lines(&out).join("\n");
        }
        out = without_timing(&out, self.transport);
        // The output before the server's error depends on the server's order of entries.
        if run.verb() == "status" && err.contains("E160013: Working copy path") {
            out.clear();
        }
        // The client reports several targets and failing externals in hash order or in the order of the responses.
        if ["lock", "unlock"].contains(&run.verb()) || err.contains("W205011") {
            err = sorted_lines(&err).join("\n");
        }
        format!("{out}\n{err}\n=> {:?}\n", output.status.code())
    }

    fn normal(&self, text: &str) -> String {
        let dir = self.dir.display().to_string();
        let text = text
            .replace(&format!(":{}", self.port), ":PORT")
            .replace(&dir, "DIR");
        let text = without_temporary_names(&mask_dates(&mask_uuids(&attributes_sorted(&text))));
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("Text Last Updated: "));
        lines.map(without_short_date).collect::<Vec<_>>().join("\n")
    }

    /// Returns the files of a working copy: kinds, permissions and contents.
    pub fn disk(&self) -> String {
        let mut out = String::new();
        for (path, entry) in self.entries() {
            let path = self.dir.join(&path);
            _ = match entry {
                DiskEntry::Dir => writeln!(out, "{}/", path.display()),
                DiskEntry::Link => writeln!(out, "{} -> {:?}", path.display(), fs::read_link(&path)),
                DiskEntry::File => {
                    let bytes = fs::read(&path).unwrap_or_default();
                    let text = String::from_utf8_lossy(&bytes);
                    let shown = match bytes.len() {
                        0..400 => format!("{text:?}"),
                        long => format!("{long} bytes, {:?}", base::checksum::Md5::of(&bytes)),
                    };
                    writeln!(out, "{} {} {shown}", path.display(), mode(&path))
                }
            };
        }
        self.normal(&out)
    }

    /// Returns all files below the sandbox, sorted, without the client's administrative files.
    pub fn entries(&self) -> Vec<(String, DiskEntry)> {
        let mut found = Vec::new();
        walk(&self.dir, "", &mut found);
        found.sort();
        found
    }

    /// Returns the youngest revision.
    pub fn youngest(&self) -> u64 {
        let tool = self
            .storage
            .tool(self.side, "svnlook", &["youngest"], &self.repository);
        tool.run().out().trim().parse().unwrap_or_default()
    }

    /// Returns the final state: Subversion's dump of the repository, its locks and the number of its transactions.
    pub fn left(&self) -> String {
        self.storage.bring_back(&self.repository);
        let send_request = |tool: &str| {
            let args: Vec<&str> = tool.split(' ').collect();
            let output_text = Tool::new("svnadmin").args(args).arg(&self.repository).run();
            assert_eq!(output_text.code, 0, "{:?}: {output_text:?}", self.side);
            String::from_utf8_lossy(&output_text.stdout).into_owned()
        };
        if self.side == Side::Ours {
            send_request("verify -q");
        }
        let mut text = send_request("dump -q");
        let locks = send_request("lslocks");
        let mut locks: Vec<&str> = locks.split("Path: ").map(str::trim).collect();
        locks.sort_unstable();
        _ = write!(text, "locks:\n{}\n", locks.join("\n"));
        mask_dates(&mask_uuids(&text))
    }

    /// Removes the sandbox from the disk.
    pub fn remove(self) {
        _ = fs::remove_dir_all(&self.dir);
        self.storage.forget(&self.repository);
        _ = fs::remove_dir_all(&self.repository);
    }
}

/// True for output with a defined order.
fn is_ordered(run: &Run) -> bool {
    // Files of a deleted directory are in hash order.
    let has_diff = run.args.iter().any(|arg| arg == "--diff");
    ["log", "cat", "blame", "ls", "mergeinfo"].contains(&run.verb()) && !has_diff
}

/// Masks the names of the client's temporary files, such as `svn-JrO8ak`.
fn without_temporary_names(text: &str) -> String {
    const START: &str = "/svn-";
    let mut parts = text.split(START);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = part.len() > 6 && part.as_bytes()[..6].iter().all(u8::is_ascii_alphanumeric);
        out.push_str(START);
        out.push_str(if is_name && part[6..].starts_with('\'') {
            &part[6..]
        } else {
            part
        });
    }
    out
}

/// Sorts the files of a patch: those of a deleted directory are in the client's hash order.
fn with_files_sorted(patch: &[u8]) -> Vec<u8> {
    const HEADER: &[u8] = b"Index: ";
    let is_header = |at: usize| patch[at..].starts_with(HEADER) && (at == 0 || patch[at - 1] == b'\n');
    let mut starts: Vec<usize> = (0..patch.len()).filter(|at| is_header(*at)).collect();
    let first = starts.first().copied().unwrap_or(patch.len());
    starts.push(patch.len());
    let mut files: Vec<&[u8]> = starts.windows(2).map(|pair| &patch[pair[0]..pair[1]]).collect();
    files.sort_unstable();
    [&patch[..first], &files.concat()].concat()
}

/// Removes the month, the day and the time of day in the output of `ls -v`.
fn without_short_date(line: &str) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    for month in MONTHS {
        let Some(at) = line.find(&format!(" {month} ")) else {
            continue;
        };
        let rest = &line.as_bytes()[at + 5..];
        if rest.len() > 8 && rest[2] == b' ' && (rest[5] == b':' || rest[3] == b' ') {
            return format!("{} <time>{}", &line[..at], &line[at + 13..]);
        }
    }
    line.to_owned()
}

/// The file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskEntry {
    Dir,
    File,
    Link,
}

fn walk(top: &Path, below: &str, found: &mut Vec<(String, DiskEntry)>) {
    for entry in fs::read_dir(top).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name == ".svn" {
            continue;
        }
        let name = name.to_string_lossy();
        let path = match below {
            "" => name.into_owned(),
            _ => format!("{below}/{name}"),
        };
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            walk(&entry.path(), &path, found);
        }
        let kind = match (kind.is_dir(), kind.is_symlink()) {
            (true, _) => DiskEntry::Dir,
            (_, true) => DiskEntry::Link,
            _ => DiskEntry::File,
        };
        found.push((path, kind));
    }
}

fn mode(path: &Path) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = path.metadata().map_or(0, |meta| meta.permissions().mode());
    format!("{:o}", mode & 0o777)
}

/// Returns the initial repository: the Greek tree as trunk, a branch, and a directory for externals.
fn template() -> Repo {
    let repo = Repo::create("1.14");
    repo.load(history().bytes());
    let conf = repo.path().join("conf");
    let passwords: String = USERS
        .iter()
        .map(|(name, word)| format!("{name} = {word}\n"))
        .collect();
    fs::write(conf.join("svnserve.conf"), CONF).expect("because it was just made");
    fs::write(conf.join("passwd"), format!("[users]\n{passwords}")).expect("because it was just made");
    // `true` as a hook permits all changes without a shell.
    symlink("/bin/true", repo.path().join("hooks/pre-revprop-change")).expect("because it was just made");
    repo
}

fn history() -> DumpStream {
    let mut stream = DumpStream::new("5ba3b1f0-5f44-4b39-9a7d-4f6ba4c9a7d2");
    stream.rev("trunk, branches, tags");
    stream.mkdirs(["trunk", "branches", "tags", "vendor", "vendor/lib"]);
    stream.file("vendor/tool.c", "int tool;\n");
    stream
        .file("vendor/lib/a.h", "#define A\n")
        .file("vendor/lib/b.h", "#define B\n");
    for dir in greek::DIRS {
        stream.mkdirs([format!("trunk/{dir}").as_str()]);
    }
    for (path, text) in greek::FILES {
        stream.file(&format!("trunk/{path}"), text.repeat(5));
    }
    stream.rev("a branch");
    stream.copy(RecordKind::Dir, "branches/b1", 1, "trunk");
    stream.rev("properties");
    stream.change(
        RecordKind::File,
        "trunk/A/mu",
        Content::props(&[("svn:eol-style", b"LF"), ("svn:keywords", b"Rev Author")]),
    );
    stream.change(
        RecordKind::File,
        "trunk/A/D/H/chi",
        Content::props(&[("svn:needs-lock", b"*")]),
    );
    stream.change(
        RecordKind::File,
        "trunk/iota",
        Content::props(&[("svn:executable", b"*")]),
    );
    stream.change(
        RecordKind::Dir,
        "trunk/A",
        Content::props(&[("svn:ignore", b"*.tmp\n")]),
    );
    stream.rev("an edit of the trunk");
    stream.edit("trunk/A/D/gamma", "gamma\nhas\nother\nlines\n$Rev$\n");
    stream.rev("vendor");
    stream.edit("vendor/tool.c", "int tool = 1;\n");
    stream.rev("an edit of the branch");
    stream.edit(
        "branches/b1/A/B/lambda",
        "This is the file 'lambda' of the branch.\n",
    );
    stream
}
