//! `sven serve` without a configuration file, and repositories that change while a server is running.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use testkit::server::TestServer;
use testkit::{Side, Tool, scratch};

/// A `sven serve` process, killed when it is dropped.
struct SvenServe(Child);

impl Drop for SvenServe {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Starts `sven serve` with these arguments and its temporary directories in `tmp`.
fn start(args: &[&str], tmp: &Path) -> SvenServe {
    let child = Command::new(testkit::tool::sven_binary())
        .arg("serve")
        .args(args)
        .env("TMPDIR", tmp)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    SvenServe(child.expect("because it was built"))
}

/// Reads the output up to the line that contains `last`.
fn printed(child: &mut SvenServe, last: &str) -> Vec<String> {
    let out = child.0.stdout.take().expect("because it is a pipe");
    let mut lines = Vec::new();
    for line in BufReader::new(out).lines() {
        let line = line.expect("because it is text");
        let done = line.contains(last);
        lines.push(line);
        if done {
            return lines;
        }
    }
    panic!("it ended after {lines:?}");
}

/// Sends a signal and returns the exit code.
fn end(mut child: SvenServe, signal: &str) -> Option<i32> {
    Tool::new("kill").args([signal, &child.0.id().to_string()]).ok();
    child.0.wait().expect("because it is our child").code()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

#[test]
fn every_command_that_the_demonstration_prints_works() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let (tmp, place) = (scratch(), scratch());
        let mut child = start(&["--demo", "--svn", "127.0.0.1:0"], tmp.path());
        let lines = printed(&mut child, "svn diff");
        assert!(!is_empty(tmp.path()), "the repository is in the temporary folder");
        let commands: Vec<&str> = lines
            .iter()
            .filter_map(|l| l.trim().strip_prefix("svn "))
            .collect();
        assert_eq!(commands.len(), 5, "{lines:?}");
        for command in commands {
            let output_text = Tool::new("svn")
                .args(command.split(' '))
                .arg("--non-interactive")
                .dir(place.path())
                .ok();
            assert!(!output_text.out().is_empty(), "{command}");
        }
        assert_eq!(end(child, signal), Some(0), "{signal}");
        assert!(is_empty(tmp.path()), "{signal} leaves something behind");
        assert!(place.path().join("sven-demo/README.txt").exists());
    }
}

#[test]
fn a_directory_of_repositories_is_served_without_configuration() {
    let root = scratch();
    std::fs::create_dir(root.path().join("group")).expect("because it is ours");
    for name in ["one", "group/two", "with space"] {
        testkit::create_repository(&root.path().join(name));
    }
    let folder = root.path().display().to_string();
    let mut child = start(&["--svn", "127.0.0.1:0", &folder], root.path());
    let line = printed(&mut child, "svn://")
        .pop()
        .expect("because it printed one");
    let url = line.rsplit(' ').next().expect("because it ends with a URL");
    for name in ["one", "group/two", "with%20space"] {
        let whole = format!("{url}{name}");
        Tool::new("svn").args(["info", "--non-interactive", &whole]).ok();
    }
    let nothing = Tool::new("svn").args(["info", "--non-interactive", url]).run();
    assert!(nothing.err().contains("E210005"), "{}", nothing.err());
    assert_eq!(end(child, "-TERM"), Some(0));
}

#[test]
fn every_kind_of_address_and_root_works_or_is_reported() {
    let root = scratch();
    let folder = root.path().display().to_string();
    // An empty root: a warning, and repositories that are made later are served.
    let mut child = Command::new(testkit::tool::sven_binary())
        .args(["serve", "--svn", "[::1]:0", &folder])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map(SvenServe)
        .expect("because it was built");
    let line = printed(&mut child, "svn://").concat();
    let url = line.rsplit(' ').next().expect("because it ends with a URL");
    assert!(url.starts_with("svn://[::1]:"), "{line}");
    let mut warning = String::new();
    let stderr = child.0.stderr.take().expect("because it is a pipe");
    BufReader::new(stderr)
        .read_line(&mut warning)
        .expect("because it is text");
    assert!(warning.contains("There is no repository in") && warning.contains("svnadmin create"));
    let new = root.path().join("new");
    testkit::create_repository(&new);
    let info = |url: &str| Tool::new("svn").args(["info", "--non-interactive", url]).ok();
    info(&format!("{url}new"));
    // The address is in use now.
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap_or_default();
    let output_text = Tool::new(testkit::tool::sven_binary())
        .args(["serve", "--svn", &format!("[::1]:{port}"), &folder])
        .run();
    assert_eq!(output_text.code, 1);
    assert!(
        output_text.err().contains(&format!("port {port} of ::1")) && output_text.err().contains("E000098"),
        "{output_text:?}"
    );
    // A repository as the root; every address of both families.
    let itself = new.display().to_string();
    let mut child = start(&["--svn", ":0", &itself], root.path());
    let line = printed(&mut child, "svn://").concat();
    assert!(line.starts_with(&format!("Serving the repository '{itself}' at svn://localhost:")));
    let port = line.trim_end_matches('/').rsplit(':').next().unwrap_or_default();
    for host in ["127.0.0.1", "[::1]", "localhost"] {
        info(&format!("svn://{host}:{port}"));
    }
    assert_eq!(end(child, "-TERM"), Some(0));
    // The default port, unless it is in use.
    let mut child = start(&[&folder], root.path());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().expect("because it is a pipe"))
        .read_line(&mut line)
        .expect("because it is text");
    match line.is_empty() {
        true => assert_eq!(child.0.wait().expect("because it is our child").code(), Some(1)),
        false => assert!(line.ends_with(" at svn://localhost/\n"), "{line}"),
    }
    for path in ["/no/where", "/etc/passwd"] {
        let nowhere = Tool::new(testkit::tool::sven_binary())
            .args(["serve", path])
            .run();
        assert_eq!(nowhere.code, 1);
        let text = format!("Can't open directory '{path}'");
        assert!(nowhere.err().contains(&text), "{nowhere:?}");
    }
}

/// Makes a repository at `path` with a directory `name`.
fn create(path: &Path, name: &str) {
    _ = std::fs::remove_dir_all(path);
    testkit::create_repository(path);
    let url = format!("file://{}/{name}", path.display());
    Tool::new("svn").args(["mkdir", "-q", "-m", "x", &url]).ok();
}

#[test]
fn a_replaced_repository_serves_no_old_data() {
    let root = scratch();
    let path = root.path().join("r");
    create(&path, "first");
    let server = TestServer::svnserve(Side::Ours, root.path(), &[]);
    let list = || {
        Tool::new("svn")
            .args(["list", "--non-interactive", &server.url("r")])
            .ok()
            .out()
    };
    assert_eq!(list(), "first/\n");
    let uuid = Tool::new("svnlook").arg("uuid").arg(&path).ok().out();
    for name in ["second", "third"] {
        create(&path, name);
        assert_eq!(list(), format!("{name}/\n"));
    }
    // Even a repository with the same UUID.
    create(&path, "fourth");
    Tool::new("svnadmin")
        .arg("setuuid")
        .arg(&path)
        .arg(uuid.trim())
        .ok();
    assert_eq!(list(), "fourth/\n");
}

#[test]
fn readers_continue_during_a_pack() {
    let root = scratch();
    let path = root.path().join("r");
    create(&path, "first");
    let format = std::fs::read_to_string(path.join("db/format")).expect("because it was just made");
    crate::misconfiguration::replace(
        &path.join("db/format"),
        &format.replace("sharded 1000", "sharded 3"),
    );
    let server = TestServer::svnserve(Side::Ours, root.path(), &[]);
    let url = server.url("r");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..10 {
                let to = format!("file://{}/d{number}", path.display());
                Tool::new("svn").args(["mkdir", "-q", "-m", "x", &to]).ok();
                Tool::new("svnadmin").args(["pack", "-q"]).arg(&path).ok();
            }
        });
        while !writer.is_finished() {
            let log = Tool::new("svn")
                .args(["log", "-v", "--non-interactive", &url])
                .ok();
            assert!(log.out().contains("A /first"));
            Tool::new("svn")
                .args(["list", "-R", "--non-interactive", &url])
                .ok();
        }
    });
    assert!(path.join("db/revs/0.pack").exists());
}

/// Returns a log line without process, time, and source line of an error.
pub fn without_place(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').skip(2).collect();
    if words.get(3).is_some_and(|word| word.starts_with("ERR")) && words.len() > 5 {
        words.drain(4..6);
    }
    words.join(" ")
}

/// What ends a session on standard input and output: the exit code, and the error on standard error, which is in no log.
#[test]
fn sessions_through_a_tunnel_end_with_their_error() {
    let root = scratch();
    let repository = root.path().join("repo");
    testkit::create_repository(&repository);
    let url = format!("svn://host{}", repository.display());
    let hello = |version: u8, capabilities: &str, url: &str| {
        format!("( {version} ( {capabilities} ) {}:{url} 3:abc ( ) ) ", url.len())
    };
    let usual = hello(2, "edit-pipeline svndiff1", &url);
    let login = "( ANONYMOUS ( 0: ) ) ";
    let inputs = [
        String::new(),
        hello(1, "edit-pipeline", &url),
        hello(3, "edit-pipeline", &url),
        hello(2, "svndiff1", &url),
        hello(2, "edit-pipeline", "xvn://host/repo"),
        hello(2, "edit-pipeline", "svn://host/no/repository"),
        usual.clone(),
        format!("{usual}( UNKNOWN ( 0: ) ) "),
        format!("{usual}{login}"),
        format!("{usual}{login}( get-latest-rev ( ) ) "),
        format!("{usual}{login}( get-latest"),
        format!("{usual}{login}( x )) "),
    ];
    for mode in ["-t", "-i"] {
        for input in &inputs {
            let [theirs, ours] = Side::BOTH.map(|side| {
                let log = root.path().join(format!("{side:?}.log"));
                let tool = side.tool("svnserve").arg(mode).arg("--log-file").arg(&log);
                let output = tool.stdin(input.as_str()).run();
                let log = std::fs::read_to_string(log).unwrap_or_default();
                let errors = log.lines().filter(|line| line.contains(" ERR ")).count();
                (output.code, output.error_codes(), errors)
            });
            assert_eq!(theirs, ours, "{mode} {input}");
        }
    }
    // Nothing is needed to find the name of the user.
    let [theirs, ours] = Side::BOTH.map(|side| {
        let mut server = side.tool("svnserve").arg("-t").command();
        let output = server
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .expect("because the tool is installed");
        (output.status.code(), output.stdout.starts_with(b"( success ( "))
    });
    assert_eq!(theirs, ours);
    assert!(ours.1, "the greeting is sent");
}
