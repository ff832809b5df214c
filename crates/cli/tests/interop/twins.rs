//! Two repositories that are equal at the start, one written through Subversion's `svnserve`, the other through Sven.
//!
//! A scenario is a shell script, run line by line on both sides. Afterwards the transcripts must be equal, and so
//! must the results: dumps, locks, unfinished transactions, and the lines of the operational log. Subversion's
//! `svnadmin verify` must accept Sven's repository.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use testkit::normalize::{mask_dates, mask_uuids, sorted_lines};
use testkit::server::transport::Transport;
use testkit::server::{TestServer, http};
use testkit::{Repo, Side, Tool, greek, scratch};

use crate::apache;
use crate::pair::{ScenarioClient, compare, serve, url, without_line};
use crate::serve::without_place;

/// Two repositories, each with its server.
pub struct Twins {
    sides: [ServedTwin; 2],
    _root: TempDir,
}

/// One of the two repositories.
pub struct ServedTwin {
    /// The implementation of the server.
    pub side: Side,
    /// The repository.
    pub path: PathBuf,
    /// Its server.
    pub server: TestServer,
    transport: Transport,
    /// True if anonymous users have rights.
    is_open: bool,
    log: OperationalLogFile,
}

/// The operational log of a server.
enum OperationalLogFile {
    /// Over svn://, in svnserve's form.
    Svn(PathBuf),
    /// Over HTTP, in svnserve's form, which only Sven has.
    Http(PathBuf),
    /// In the form of Apache's configuration.
    Apache(PathBuf),
}

/// Everyone reads; alice and bob write.
pub const CONF: &str = "[general]\nanon-access = read\npassword-db = passwd\n";

const PASSWD: &str = "[users]\nalice = secret\nbob = pw\ncarol = pw\n";

/// Shell functions of the scripts: `svn` is alice, `bob` is bob, `anon` is anonymous.
const WORDS: &str = "\
svn() { command svn \"$@\" --username alice --password secret --non-interactive --no-auth-cache; }
bob() { command svn \"$@\" --username bob --password pw --non-interactive --no-auth-cache; }
carol() { command svn \"$@\" --username carol --password pw --non-interactive --no-auth-cache; }
anon() { command svn \"$@\" --non-interactive --no-auth-cache; }
mucc() { command svnmucc \"$@\" -U \"$U\" -u alice -p secret --non-interactive --no-auth-cache; }
sync() { command svnsync \"$@\" --sync-username alice --sync-password secret --non-interactive --no-auth-cache; }
";

impl Twins {
    /// Makes two repositories with the Greek tree as revision 1.
    pub fn greek() -> Twins {
        Twins::with(&[("svnserve.conf", &closed_over_http(CONF))], &[])
    }

    /// As [`Twins::greek`], with these files in `conf/` and more arguments for the servers.
    pub fn with(conf: &[(&str, &str)], args: &[&str]) -> Twins {
        Twins::of(&greek_repo(), conf, args)
    }

    /// As [`Twins::greek`], over HTTP: with Apache and with Sven.
    pub fn greek_over_http() -> Twins {
        Twins::over_http(&greek_repo(), &[("svnserve.conf", CONF)], http::READ_FREELY)
    }

    /// Serves two copies of `repo` over HTTP. `conf` are files for Sven in `conf/`, `location` is Apache's
    /// configuration.
    pub fn over_http(repo: &Repo, conf: &[(&str, &str)], location: &str) -> Twins {
        Twins::over(Transport::chosen_http(), repo, conf, location)
    }

    /// As [`Twins::over_http`], over a given transport.
    pub fn over(transport: Transport, repo: &Repo, conf: &[(&str, &str)], location: &str) -> Twins {
        Twins::served(repo, conf, transport, |side, folder| {
            over_http(side, transport, folder, location, &[])
        })
    }

    /// Serves two copies of `repo`. Over HTTP `conf/svnserve.conf` is translated for Apache.
    pub fn of(repo: &Repo, conf: &[(&str, &str)], args: &[&str]) -> Twins {
        let transport = Transport::chosen(Transport::Svn);
        Twins::served(repo, conf, transport, |side, folder| {
            if transport != Transport::Svn {
                let rules = apache::rules(&folder.join("repo/conf"), args);
                return over_http(side, transport, folder, &rules, args);
            }
            let log = folder.join("log");
            let logged = log.display().to_string();
            let args = [args, &["--log-file", &logged]].concat();
            (
                serve(side, transport, folder, "", &args),
                OperationalLogFile::Svn(log),
            )
        })
    }

    fn served(
        repo: &Repo,
        conf: &[(&str, &str)],
        transport: Transport,
        serve: impl Fn(Side, &Path) -> (TestServer, OperationalLogFile),
    ) -> Twins {
        let root = scratch();
        let sides = Side::BOTH.map(|side| {
            let folder = root.path().join(format!("{side:?}"));
            let path = folder.join("repo");
            fs::create_dir(&folder).expect("because the folder is empty");
            repo.copy_to(&path);
            fs::write(path.join("conf/passwd"), PASSWD).expect("because it is a copy");
            for (name, text) in conf {
                fs::write(path.join("conf").join(name), text).expect("because it is a copy");
            }
            let (server, log) = serve(side, &folder);
            let rules = fs::read_to_string(path.join("conf/svnserve.conf")).unwrap_or_default();
            ServedTwin {
                is_open: !rules.contains("anon-access = none"),
                side,
                path,
                server,
                transport,
                log,
            }
        });
        Twins { sides, _root: root }
    }

    /// Returns both, Subversion's first.
    pub fn both(&self) -> &[ServedTwin; 2] {
        &self.sides
    }

    /// Installs a hook on both sides: a program with `body` below its `#!/bin/sh`.
    pub fn hook(&self, name: &str, body: &str) {
        for twin in &self.sides {
            let body = twin.server.storage().own_hook(body, &twin.path);
            write_program(
                &twin.path.join("hooks").join(name),
                &format!("#!/bin/sh\n{body}\n"),
            );
        }
    }

    /// Runs `scenario` on both sides at the same time, and compares the transcripts and the results.
    pub fn same(&self, scenario: impl Fn(&mut ScenarioClient) + Sync) {
        let run = |twin: &ServedTwin| {
            let mut client = ScenarioClient::over(twin.transport, twin.server.port(), "repo");
            for directory in twin.server.storage().own_directories(&twin.path) {
                client.mask(directory.display().to_string(), "REPO");
            }
            client.lines("svn checkout -q $U wc");
            scenario(&mut client);
            client.into_transcript()
        };
        let [theirs, ours] = &self.sides;
        let (received, output_text) = thread::scope(|scope| {
            let theirs = scope.spawn(|| run(theirs));
            let ours = run(ours);
            let theirs = theirs.join();
            (
                theirs.expect("because the scenario runs against the real server"),
                ours,
            )
        });
        compare(&received, &output_text);
        self.compare_final_state();
    }

    /// Compares the results of the scenario.
    pub fn compare_final_state(&self) {
        let [theirs, ours] = self.sides.each_ref().map(ServedTwin::left);
        compare(&theirs, &ours);
        self.compare_logs();
        Tool::new("svnadmin")
            .args(["verify", "-q"])
            .arg(&self.sides[1].path)
            .ok();
    }

    /// Compares the operational logs.
    fn compare_logs(&self) {
        // Over HTTP lines are written after the response, and clients do not wait for them.
        for _ in 0..50 {
            if self.differences().is_none() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        if let Some(lines) = self.differences() {
            panic!("logs differ\n{lines}");
        }
    }

    /// Returns the lines that only one of the two has.
    fn differences(&self) -> Option<String> {
        let [theirs, ours] = self.sides.each_ref().map(ServedTwin::logged);
        let mut theirs_alone = alone(&theirs, &ours);
        theirs_alone.retain(|line| !self.sides[0].says_too_much(line));
        let ours_alone = alone(&ours, &theirs);
        if theirs_alone.is_empty() && ours_alone.is_empty() {
            return None;
        }
        Some(format!(
            "--- theirs alone\n{}\n--- ours alone\n{}\n",
            theirs_alone.join("\n"),
            ours_alone.join("\n")
        ))
    }
}

impl ServedTwin {
    /// Returns the URL of the repository.
    pub fn url(&self) -> String {
        url(self.transport, self.server.port(), "repo")
    }

    /// Returns Subversion's dump of the repository, its locks and its transactions.
    pub fn left(&self) -> String {
        let storage = self.server.storage();
        storage.bring_back(&self.path);
        let send_request = |args: &[&str]| {
            let output_text = Tool::new("svnadmin").args(args).arg(&self.path).ok();
            mask_dates(&mask_uuids(&output_text.out()))
        };
        let mut text = send_request(&["dump", "-q"]);
        let locks = send_request(&["lslocks"]);
        let mut locks: Vec<&str> = locks.split("Path: ").map(str::trim).collect();
        locks.sort_unstable();
        _ = write!(
            text,
            "locks:\n{}\ntransactions:\n{}",
            locks.join("\n"),
            storage.open_transactions(Side::Theirs, &self.path)
        );
        text
    }

    /// Returns the lines of the log.
    fn logged(&self) -> String {
        let (OperationalLogFile::Svn(file)
        | OperationalLogFile::Http(file)
        | OperationalLogFile::Apache(file)) = &self.log;
        let text = fs::read_to_string(file).expect("because it logs");
        let mut lines: Vec<String> = match self.log {
            OperationalLogFile::Svn(_) => text.lines().map(without_place).collect(),
            OperationalLogFile::Apache(_) => text.lines().map(str::to_owned).collect(),
            OperationalLogFile::Http(_) => text.lines().filter_map(operation_of).collect(),
        };
        if self.is_open && self.transport != Transport::Svn {
            // Apache ignores a login where none is needed; Sven checks it.
            lines
                .iter_mut()
                .for_each(|line| *line = line.split_once(' ').map_or("", |(_, rest)| rest).to_owned());
        }
        // Sven reports the line of a mistake in a file.
        lines.iter_mut().for_each(|line| *line = without_line(line));
        // Lines about closed connections have no defined order.
        lines.retain(|line| !line.contains(" 210002 ") && !line.contains(" ERR 104 "));
        lines.iter_mut().for_each(sort_paths);
        // The order of lines of a client with two connections is undefined.
        lines.sort_unstable();
        let text = self.server.storage().with_own_paths(&lines.join("\n"));
        let text = text.replace(&self.path.display().to_string(), "REPO");
        mask_dates(&mask_uuids(&text)).replace(&format!(":{}", self.server.port()), ":PORT")
    }

    /// True for lines that only Apache writes: unlocks before a commit that needs the locks has finished, and a
    /// listing for a LOCK of a directory.
    fn says_too_much(&self, line: &str) -> bool {
        let is_folder = line.contains(" get-dir ") && line.ends_with(" text");
        matches!(self.log, OperationalLogFile::Apache(_)) && (line.contains(" unlock (") || is_folder)
    }
}

/// Returns the lines of `one` that `other` does not have.
fn alone<'a>(one: &'a str, other: &str) -> Vec<&'a str> {
    let mut rest: Vec<&str> = other.lines().collect();
    let is_alone = |line: &&str| match rest.iter().position(|known| known == line) {
        Some(at) => {
            rest.swap_remove(at);
            false
        }
        None => true,
    };
    one.lines().filter(is_alone).collect()
}

/// Starts an HTTP server; returns it and its log.
fn over_http(
    side: Side,
    transport: Transport,
    folder: &Path,
    location: &str,
    args: &[&str],
) -> (TestServer, OperationalLogFile) {
    let server = serve(side, transport, folder, location, args);
    let log = match side {
        Side::Theirs => OperationalLogFile::Apache(server.operational_log()),
        Side::Ours => OperationalLogFile::Http(server.operational_log()),
    };
    (server, log)
}

/// Returns user, repository and operation of a line of Sven's log; `None` for errors, which Apache does not log
/// there.
fn operation_of(line: &str) -> Option<String> {
    let words = line.splitn(4, ' ').nth(3)?;
    let text = words.splitn(3, ' ').nth(2)?;
    let is_error = ["ERR ", "ERR- ", "WARN ", "WARN- "]
        .iter()
        .any(|word| text.starts_with(word));
    (!is_error).then(|| words.to_owned())
}

impl ScenarioClient {
    /// Runs each line of `script` in a shell and records its output. `$U` is the repository's URL.
    pub fn lines(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let output = Tool::new("sh")
                .args(["-c", &format!("{WORDS}{line}")])
                .env("U", &self.url)
                .dir(self.dir())
                .run();
            let (mut out, mut err) = (output.out(), output.err());
            if line.contains("lock ") {
                // The client sends the paths of a lock request in any order, which is that of the output.
                for text in [&mut out, &mut err] {
                    *text = sorted_lines(text).join("\n");
                }
                err = without_first_refused(line, err);
            }
            self.note(&format!("$ {line}\n{out}~{err}=> {}", output.code));
        }
    }
}

/// Masks the path in an error: over HTTP a client sends a request for each path, and reports the first refusal that
/// it reads.
fn without_first_refused(line: &str, output_text: String) -> String {
    const REFUSED: &str = "The requested feature is not supported by ";
    let first = line.split(';').next().unwrap_or_default();
    let paths = first.matches(" wc/").count() + first.matches(" $U/").count();
    match output_text.split_once(REFUSED) {
        Some((before, _)) if paths > 1 && Transport::chosen(Transport::Svn) != Transport::Svn => {
            format!("{before}{REFUSED}one of them")
        }
        _ => output_text,
    }
}

/// Returns the configuration without anonymous access over HTTP: a client that gets its first 401 when it locks
/// several paths sometimes fails, with any server, because it sends all requests before the first response.
pub fn closed_over_http(conf: &str) -> String {
    match Transport::chosen(Transport::Svn) {
        Transport::Svn => conf.to_owned(),
        _ => conf.replace("anon-access = read", "anon-access = none"),
    }
}

/// Makes a repository with the Greek tree as revision 1.
pub fn greek_repo() -> Repo {
    let repo = Repo::create("1.14");
    let tree = scratch();
    greek::write(tree.path());
    Tool::new("svn")
        .args(["import", "-q", "-m", "The Greek tree"])
        .arg(tree.path())
        .arg(repo.url())
        .ok();
    repo
}

/// Sorts the paths of a lock request.
pub fn sort_paths(line: &mut String) {
    let Some((before, rest)) = line.split_once("lock (") else {
        return;
    };
    let Some((paths, behind)) = rest.split_once(')') else {
        return;
    };
    let mut paths: Vec<&str> = paths.split(' ').collect();
    paths.sort_unstable();
    *line = format!("{before}lock ({}){behind}", paths.join(" "));
}

/// Writes a program and makes it executable.
pub fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, text).expect("because the folder is ours");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, mode).expect("because the file is ours");
}
