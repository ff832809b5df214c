//! Where the commands of a chapter run: a folder that holds the folders that the guide names, and ports of its own.
//!
//! The folders and ports in [`FOLDERS`] and [`PORTS`] are replaced in all that is run or written, and put back in what is printed.
//! Commands are bound by the permissions of files, also where the tests run as root.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use tempfile::TempDir;
use testkit::{Tool, scratch};

use crate::twins::write_program;

/// The folders that a chapter may name.
const FOLDERS: [&str; 9] = [
    "/srv/svn",
    "/srv/mirror",
    "/srv/restored",
    "/etc/sven",
    "/etc/apache2",
    "/var/backups/svn",
    "/var/log/sven",
    "/usr/local/bin",
    BIN,
];

/// Where the package has its links; here, the program itself as well, and what stands for systemd and sudo.
const BIN: &str = "/usr/lib/sven/bin";

/// The ports that a chapter may name: svn, http, https, metrics.
const PORTS: [&str; 4] = ["3690", "8080", "8443", "9180"];

/// How long a server may take to start, and a script to run.
const PATIENCE: Duration = Duration::from_secs(60);

/// A stand-in for systemd that does with the unit `sven` what its file says, and the journal of that unit.
const SYSTEMCTL: &str = r#"#!/bin/sh
set -e
cd "$(dirname "$0")/../../../.."
says() { sed -n "s/^$1=//p" sven.service; }
lines() { cat journal var/log/sven/*.log 2>/dev/null | grep -c "$1" || true; }
await() { n=0; until [ "$(lines "$1")" -gt "$2" ]; do n=$((n + 1)); [ $n -lt 1200 ] || exit 1; sleep 0.05; done; }
stop() { [ ! -e pid ] || { kill "$(cat pid)" && while kill -0 "$(cat pid)" 2>/dev/null; do sleep 0.05; done; rm -f pid; }; }
start() { : > journal; $(says ExecStartPre); $(says ExecStart) >> journal 2>&1 & echo $! > pid; await Serving 0; }
case "$*" in
  "start sven" | "enable --now sven") [ -e pid ] || start ;;
  "stop sven" | "disable --now sven") stop ;;
  "restart sven") stop; start ;;
  "reload sven") before=$(lines "The configuration"); export MAINPID="$(cat pid)"; eval "$(says ExecReload)"
    await "The configuration" "$before" ;;
  "-u sven -o cat") cat journal ;;
  *) echo "$0 $*: not in this test" >&2; exit 1 ;;
esac
"#;

/// A stand-in for sudo: the test has one user.
const SUDO: &str = "#!/bin/sh\n[ \"$1\" != -u ] || shift 2\nexec \"$@\"\n";

/// A chapter's folders and servers.
pub struct Sandbox {
    folder: TempDir,
    /// Names in the guide, and what they are here.
    names: Vec<(String, String)>,
    /// Reserve the ports.
    _sockets: Vec<Socket>,
    server: Option<Child>,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        let folder = scratch();
        let root = folder.path();
        let mut names = vec![("svn://localhost/".to_owned(), "svn://localhost:3690/".to_owned())];
        let ports = PORTS.map(|name| (name, reserve_port()));
        names.extend(
            ports
                .iter()
                .map(|(name, (port, _))| (name.to_string(), port.to_string())),
        );
        for name in FOLDERS {
            let path = root.join(name.trim_start_matches('/'));
            fs::create_dir_all(&path).expect("because the folder is ours");
            names.push((name.to_owned(), path.display().to_string()));
        }
        let bin = root.join(BIN.trim_start_matches('/'));
        fs::create_dir(root.join("home")).expect("because the folder is ours");
        let sandbox = Sandbox {
            names,
            _sockets: ports.map(|(_, (_, socket))| socket).into(),
            server: None,
            folder,
        };
        let sven = bin.join("sven");
        std::os::unix::fs::symlink(testkit::tool::sven_binary(), &sven).expect("because the folder is ours");
        // The links of the package.
        let names = ["install-links", "--except", "svn", "--except", "svnversion"];
        Tool::new(&sven).args(names).arg(&bin).ok();
        let unit = fs::read_to_string(super::project().join("packaging/sven.service"));
        let unit = unit.expect("because it is packaged");
        let unit = sandbox
            .placed(&unit)
            .replace("/usr/bin/sven", &sven.display().to_string());
        fs::write(sandbox.path("sven.service"), unit).expect("because the folder is ours");
        for (name, text) in [
            ("systemctl", SYSTEMCTL),
            ("journalctl", SYSTEMCTL),
            ("sudo", SUDO),
        ] {
            write_program(&bin.join(name), text);
        }
        sandbox
    }

    /// Runs a script up to its first error; its exit status, and what it printed.
    pub fn run(&self, script: &str) -> (i32, String) {
        let output = self.tool(script).run();
        (output.code, self.documented(&output.out()))
    }

    /// Starts a server in the place of the one that runs, and waits until it listens.
    ///
    /// # Errors
    /// What it printed, if it does not.
    pub fn serve(&mut self, command: &str) -> Result<(), String> {
        self.stop();
        let log = fs::File::create(self.path("server.log")).expect("because the folder is ours");
        let copy = log.try_clone().expect("because it is open");
        let mut child = self
            .tool(&format!("exec {command}"))
            .command()
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(copy)
            .spawn()
            .expect("because there is a shell");
        let mut told = command.to_owned();
        let files = command.split_whitespace().filter(|word| word.starts_with('/'));
        for file in files.map(|file| self.placed(file)) {
            told += &fs::read_to_string(file).unwrap_or_default();
        }
        let is_told = |name: &String, port: &String| told.contains(name) || told.contains(port);
        let begun = Instant::now();
        for (name, port) in &self.names[1..=PORTS.len()] {
            while is_told(name, port) && TcpStream::connect(format!("localhost:{port}")).is_err() {
                let ended = child.try_wait().expect("because it is our child");
                if ended.is_some() || begun.elapsed() > PATIENCE {
                    end(child.id());
                    let said = fs::read_to_string(self.path("server.log")).unwrap_or_default();
                    return Err(format!("the server does not listen on {name}:\n{said}"));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        self.server = Some(child);
        Ok(())
    }

    /// Writes a file of the guide.
    pub fn write(&self, path: &str, text: &str) {
        let path = PathBuf::from(self.placed(path));
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, self.placed(text)));
        written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    fn tool(&self, script: &str) -> Tool {
        let path = format!("{BIN}:{}", std::env::var("PATH").unwrap_or_default());
        Tool::new("timeout")
            .arg(PATIENCE.as_secs().to_string())
            .args(["sh", "-e", "-c"])
            .arg(format!("exec 2>&1\n{}", self.placed(script)))
            .env("PATH", self.placed(&path))
            .env("HOME", self.path("home"))
            .dir(&self.path("home"))
            .bound_by_permissions()
    }

    /// `text` with the names of this sandbox.
    fn placed(&self, text: &str) -> String {
        let replace = |text: String, (name, real): &(String, String)| text.replace(name, real);
        self.names.iter().fold(text.to_owned(), replace)
    }

    /// `text` with the names of the guide.
    fn documented(&self, text: &str) -> String {
        let replace = |text: String, (name, real): &(String, String)| match real.parse::<u16>() {
            Ok(_) => replace_number(&text, real, name),
            Err(_) => text.replace(real, name),
        };
        let text = self.names.iter().rev().fold(text.to_owned(), replace);
        text.replace(&format!("{}/home/", self.folder.path().display()), "")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            end(server.id());
            _ = server.wait();
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stop();
        let pid = fs::read_to_string(self.path("pid")).unwrap_or_default();
        if let Ok(pid) = pid.trim().parse() {
            end(pid);
        }
    }
}

fn end(pid: u32) {
    if Path::new(&format!("/proc/{pid}")).exists() {
        Tool::new("kill").arg(pid.to_string()).run();
    }
}

/// A port that no other process gets while the socket is open: it is bound but does not listen, so that only a server that asks
/// for this very port may have it too.
fn reserve_port() -> (u16, Socket) {
    loop {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("because there are descriptors");
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        socket.bind(&any.into()).expect("because there are ports left");
        socket
            .set_reuse_address(true)
            .expect("because it is an option of sockets");
        let address = socket.local_addr().expect("because it is bound").as_socket();
        let port = address.expect("because it is one of IPv4").port();
        // Names are replaced in the order of the table: none may be a part of another.
        if PORTS.iter().all(|name| !port.to_string().contains(name)) {
            return (port, socket);
        }
    }
}

/// Replaces a port, but not the same digits within a longer number, such as that of an error.
fn replace_number(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let is_part = is_digit(before.chars().next_back()) || is_digit(after.chars().next());
        out.push_str(before);
        out.push_str(if is_part { from } else { to });
        rest = after;
    }
    out.push_str(rest);
    out
}
