//! `sven serve --config`: the server follows its configuration file, reloads it on SIGHUP, and notifies systemd.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testkit::{Tool, scratch};

/// A server process, killed when it is dropped.
struct ConfiguredServer(Child);

impl Drop for ConfiguredServer {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

impl ConfiguredServer {
    fn start(command: &mut Command) -> ConfiguredServer {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        ConfiguredServer(child.expect("because it was built"))
    }

    /// Returns the first URL that the server prints.
    fn url(&mut self) -> String {
        let out = self.0.stdout.take().expect("because it is a pipe");
        let line = BufReader::new(out)
            .lines()
            .next()
            .expect("because it says what it serves");
        let line = line.expect("because it is text");
        line.rsplit(' ')
            .next()
            .expect("because it ends with a URL")
            .to_owned()
    }

    fn signal(&self, signal: &str) {
        Tool::new("kill").args([signal, &self.0.id().to_string()]).ok();
    }

    fn end(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.0.wait().expect("because it is our child").code()
    }
}

/// Makes a directory with a repository `repos` with write access for everyone.
fn place(folder: &Path) -> PathBuf {
    let repository = folder.join("repos");
    testkit::create_repository(&repository);
    let conf = "[general]\nanon-access = write\n";
    std::fs::write(repository.join("conf/svnserve.conf"), conf).expect("because it is ours");
    repository
}

fn sven() -> Command {
    Command::new(testkit::tool::sven_binary())
}

/// Waits until the log at `path` contains `text` `times` times.
fn await_line(path: &Path, text: &str, times: usize) -> String {
    let begun = Instant::now();
    loop {
        let log = std::fs::read_to_string(path).unwrap_or_default();
        if log.matches(text).count() >= times {
            return log;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "no '{text}' in {log:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sighup_reloads_a_valid_file_and_ignores_a_broken_one() {
    let folder = scratch();
    place(folder.path());
    let (file, log) = (folder.path().join("sven.toml"), folder.path().join("error.log"));
    let write = |text: &str| std::fs::write(&file, text).expect("because it is ours");
    let listen = "[listen]\nsvn = '127.0.0.1:0'\n[log]\nerror = 'error.log'\n";
    write(&format!("{listen}[serve]\nroot = '.'\nread-only = true\n"));
    let mut server = ConfiguredServer::start(sven().args(["serve", "--config"]).arg(&file));
    let url = format!("{}repos", server.url());
    let mkdir = |name: &str| {
        let url = format!("{url}/{name}");
        Tool::new("svn")
            .args(["mkdir", "-m", "m", "--non-interactive", &url])
            .run()
    };
    assert!(mkdir("a").err().contains("E170001"), "it is read-only");

    write(&format!("{listen}[serve]\nroot = '.'\n[limits]\nthreads = 3\n"));
    server.signal("-HUP");
    let output_text = await_line(&log, "The configuration was read anew", 1);
    assert!(
        output_text.contains("'threads' in [limits] cannot change while the server runs"),
        "{output_text}"
    );
    mkdir("a").expect_ok();

    write(&format!("{listen}[serve]\nroot = '.'\nread_only = true\n"));
    server.signal("-HUP");
    let output_text = await_line(&log, "The configuration stays as it was", 1);
    assert!(
        output_text.contains("sven.toml:7: unknown key 'read_only' in [serve]; did you mean 'read-only'?"),
        "{output_text}"
    );
    mkdir("b").expect_ok();

    // Log rotation renames the file.
    std::fs::rename(&log, folder.path().join("error.log.1")).expect("because it is there");
    write(&format!("{listen}[serve]\nroot = '.'\n"));
    server.signal("-HUP");
    await_line(&log, "The configuration was read anew", 1);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn options_override_the_file() {
    let folder = scratch();
    place(folder.path());
    let file = folder.path().join("sven.toml");
    let text = "[listen]\nsvn = '192.0.2.1:1'\n[serve]\nroot = '/nonexistent'\n";
    std::fs::write(&file, text).expect("because it is ours");
    let mut command = sven();
    command
        .args(["serve", "-R", "--svn", "127.0.0.1:0", "--config"])
        .arg(&file);
    let mut server = ConfiguredServer::start(command.arg(folder.path()));
    let url = format!("{}repos", server.url());
    Tool::new("svn").args(["info", "--non-interactive", &url]).ok();
    let mkdir = Tool::new("svn")
        .args(["mkdir", "-m", "m", "--non-interactive", &format!("{url}/a")])
        .run();
    assert!(mkdir.err().contains("E170001"), "{mkdir:?}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_file_with_mistakes_is_not_served() {
    let folder = scratch();
    let file = folder.path().join("sven.toml");
    std::fs::write(&file, "[listen]\nsvn = ':x'\n[serv]\nroot = '.'\n").expect("because it is ours");
    let output = sven()
        .args(["serve", "--config"])
        .arg(&file)
        .output()
        .expect("because it was built");
    assert_eq!(output.status.code(), Some(1));
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output_text.contains("sven.toml:3: unknown key 'serv' at the top of the file; did you mean 'serve'?"),
        "{output_text}"
    );
}

/// Starts `sven serve` with `socket` as the only passed descriptor, with the name `name`.
fn activated(socket: TcpListener, name: &str, args: &[&str]) -> ConfiguredServer {
    let program = testkit::tool::sven_binary();
    let script = format!(
        "exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$ LISTEN_FDNAMES={name}; exec '{}' serve \"$@\"",
        program.display()
    );
    let child = Command::new("sh")
        .args(["-c", &script, "sh"])
        .args(args)
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stdout(Stdio::piped())
        .spawn();
    ConfiguredServer(child.expect("because there is a shell"))
}

#[test]
fn passed_sockets_replace_addresses() {
    let folder = scratch();
    let repository = place(folder.path());
    // Hooks must not inherit the socket.
    let hook = repository.join("hooks/start-commit");
    let seen = folder.path().join("seen");
    let script = format!("#!/bin/sh\n/bin/ls -l /proc/self/fd > '{}'\n", seen.display());
    std::fs::write(&hook, script).expect("because it is ours");
    Tool::new("chmod").arg("+x").arg(&hook).ok();
    let socket = TcpListener::bind("127.0.0.1:0").expect("because there is a free port");
    let port = socket.local_addr().expect("because it is bound").port();
    let root = folder.path().display().to_string();
    // The address is in use by another process.
    let mut server = activated(socket, "svn", &["--svn", "192.0.2.1:1", &root]);
    let url = server.url();
    assert_eq!(url, format!("svn://127.0.0.1:{port}/"));
    let made = format!("{url}repos/a");
    Tool::new("svn")
        .args(["mkdir", "-m", "m", "--non-interactive", &made])
        .ok();
    let open = std::fs::read_to_string(&seen).expect("because the hook ran");
    assert!(!open.contains("socket:"), "{open}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn systemd_is_notified_and_metrics_are_served() {
    let folder = scratch();
    place(folder.path());
    let reported = UnixDatagram::bind(folder.path().join("notify")).expect("because it is a new name");
    reported
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("because it is a time");
    let next = || {
        let mut bytes = [0; 4096];
        let length = loop {
            match reported.recv(&mut bytes) {
                // The process was stopped and continues.
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                length => break length.expect("because it says something"),
            }
        };
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let file = folder.path().join("sven.toml");
    let text = "[listen]\nsvn = '127.0.0.1:0'\n[serve]\nroot = '.'\n[log]\nerror = 'error.log'\n";
    std::fs::write(&file, text).expect("because it is ours");
    let mut command = sven();
    command
        .args(["serve", "--config"])
        .arg(&file)
        .env("NOTIFY_SOCKET", folder.path().join("notify"));
    let server = ConfiguredServer::start(&mut command);
    assert!(next().starts_with("READY=1\nSTATUS=Serving svn 127.0.0.1:"));
    server.signal("-HUP");
    assert_eq!(next(), "RELOADING=1");
    assert!(next().starts_with("READY=1\n"));
    assert_eq!(server.end(), Some(0));
    assert_eq!(next(), "STOPPING=1");
}

/// Sends a request without a body and with `more` header lines; returns the status line.
fn status(port: u16, method: &str, path: &str, more: &str) -> String {
    let head = head(port, method, path, more);
    head.lines().next().unwrap_or_default().to_owned()
}

/// Sends a request without a body; returns the whole response.
fn head(port: u16, method: &str, path: &str, more: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("because it listens");
    let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{more}\r\n");
    socket.write_all(request.as_bytes()).expect("because it listens");
    let mut response = Vec::new();
    socket.read_to_end(&mut response).expect("because it answers");
    String::from_utf8_lossy(&response).into_owned()
}

#[test]
fn locations_have_their_own_users_and_change_on_reload() {
    let folder = scratch();
    place(folder.path());
    let (file, log) = (folder.path().join("sven.toml"), folder.path().join("error.log"));
    // alice's password is "password".
    let users = "alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n";
    std::fs::write(folder.path().join("users"), users).expect("because it is ours");
    let write = |open: &str| {
        let text = format!(
            "[listen]\nhttp = '127.0.0.1:0'\n[log]\nerror = 'error.log'\naccess = 'access.log'\n\
             [[location]]\npath = '/{open}'\nparent = '.'\n\
             [[location]]\npath = '/closed'\nrepository = 'repos'\nanonymous = false\n[location.auth]\nhtpasswd-file = 'users'\n"
        );
        std::fs::write(&file, text).expect("because it is ours");
    };
    write("open");
    let mut server = ConfiguredServer::start(sven().args(["serve", "--config"]).arg(&file));
    let url = server.url();
    assert!(url.ends_with("/open/"), "{url}");
    let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next());
    let port: u16 = port
        .and_then(|port| port.parse().ok())
        .expect("because it names its port");
    let alice = "Authorization: Basic YWxpY2U6cGFzc3dvcmQ=\r\n";
    let wrong = "Authorization: Basic YWxpY2U6eA==\r\n";
    for (path, more, response) in [
        ("/open/repos", "", "HTTP/1.1 200 OK"),
        ("/open/nothing", "", "HTTP/1.1 404 Not Found"),
        ("/closed", "", "HTTP/1.1 401 Unauthorized"),
        ("/closed", wrong, "HTTP/1.1 401 Unauthorized"),
        ("/closed", alice, "HTTP/1.1 200 OK"),
        ("/other", "", "HTTP/1.1 404 Not Found"),
    ] {
        assert_eq!(status(port, "OPTIONS", path, more), response, "{path} {more}");
    }
    write("public");
    server.signal("-HUP");
    await_line(&log, "The configuration was read anew", 1);
    assert_eq!(status(port, "OPTIONS", "/public/repos", ""), "HTTP/1.1 200 OK");
    assert_eq!(
        status(port, "OPTIONS", "/open/repos", ""),
        "HTTP/1.1 404 Not Found"
    );
    // The error log explains an internal error under the ID in the response.
    std::fs::remove_file(folder.path().join("users")).expect("because it is there");
    let response = head(port, "OPTIONS", "/closed", alice);
    assert!(response.starts_with("HTTP/1.1 500 "), "{response}");
    let id = response
        .split_once("<p>Request ")
        .and_then(|(_, rest)| rest.split_once('<'));
    let id = id.unwrap_or_else(|| panic!("no id in {response}")).0;
    assert!(
        response.contains(&format!("x-request-id: {id}\r\n")),
        "{response}"
    );
    let output_text = await_line(&log, id, 1);
    assert!(
        output_text.contains("E000002") && output_text.contains("/users'"),
        "{output_text}"
    );
    let access = std::fs::read_to_string(folder.path().join("access.log")).expect("because it is written");
    assert!(access.contains("\"OPTIONS /closed HTTP/1.1\" 401"), "{access}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn damage_is_in_the_error_log_over_both_protocols_and_mistakes_of_users_are_not() {
    let folder = scratch();
    let repository = place(folder.path());
    let url = format!("file://{}/d", repository.display());
    Tool::new("svn").args(["mkdir", "-q", "-m", "m", &url]).ok();
    let (file, log) = (folder.path().join("sven.toml"), folder.path().join("error.log"));
    let revision = repository.join("db/revs/0/1");
    std::fs::remove_file(&revision).expect("because it was committed");
    std::fs::write(&revision, "damage").expect("because the folder is ours");
    for protocol in ["svn", "http"] {
        let text = format!(
            "[listen]\n{protocol} = '127.0.0.1:0'\n[serve]\nroot = '.'\n[log]\nerror = 'error.log'\n"
        );
        std::fs::write(&file, text).expect("because it is ours");
        _ = std::fs::remove_file(&log);
        let mut server = ConfiguredServer::start(sven().args(["serve", "--config"]).arg(&file));
        let url = format!("{}repos", server.url());
        let list = |revision: &str| {
            let args = ["list", "--non-interactive", "-r", revision, &url];
            Tool::new("svn").args(args).run()
        };
        assert_eq!(list("99").error_codes(), [160_006], "{protocol}");
        let nowhere = Tool::new("svn")
            .args(["info", "--non-interactive", &format!("{url}-no")])
            .run();
        assert_eq!(nowhere.code, 1, "{protocol}");
        assert!(!list("1").error_codes().is_empty(), "{protocol}");
        let said = await_line(&log, "ERROR E", 1);
        assert_eq!(said.matches("ERROR").count(), 1, "{protocol}: {said}");
        assert!(said.contains("peer=127.0.0.1"), "{protocol}: {said}");
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn a_server_is_ready_while_what_both_protocols_serve_is_there() {
    let folder = scratch();
    let file = folder.path().join("sven.toml");
    let path = |name: &str| folder.path().join(name);
    for name in ["svn", "http"] {
        std::fs::create_dir(path(name)).expect("because the folder is ours");
    }
    let text = "[listen]\nsvn = '127.0.0.1:0'\nhttp = '127.0.0.1:0'\n[metrics]\neverywhere = true\n\
                [serve]\nroot = 'svn'\n[[location]]\npath = '/x'\nparent = 'http'\n";
    std::fs::write(&file, text).expect("because it is ours");
    let mut server = ConfiguredServer::start(sven().args(["serve", "--config"]).arg(&file));
    let urls = BufReader::new(server.0.stdout.take().expect("because it is a pipe")).lines();
    let mut urls = urls.map(|line| line.expect("because it is text"));
    let url = urls
        .find(|line| line.contains("http://"))
        .expect("because it is served");
    let port = url
        .split("127.0.0.1:")
        .nth(1)
        .and_then(|rest| rest.split('/').next());
    let port: u16 = port
        .and_then(|port| port.parse().ok())
        .expect("because it names its port");
    let ready = || status(port, "GET", "/-/ready", "");
    assert_eq!(ready(), "HTTP/1.1 200 OK");
    for name in ["svn", "http"] {
        std::fs::rename(path(name), path("away")).expect("because it is there");
        assert_eq!(ready(), "HTTP/1.1 503 Service Unavailable", "{name}");
        std::fs::rename(path("away"), path(name)).expect("because it is there");
        assert_eq!(ready(), "HTTP/1.1 200 OK");
    }
    assert_eq!(server.end(), Some(0));
}
