//! Servers of an unprivileged user: on repositories of that user, of a group, of another user, read-only ones, and
//! ones with single files that the user may not read or write. Clients get the same responses as from `svnserve` and
//! Apache, and the same files remain.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use testkit::server::free_port;
use testkit::tool::tool_link;
use testkit::{Output, Side, Tool, sample, scratch};

use super::{GROUP, USER, can_run, sh};

/// Repositories: a name, and the commands that make it from a repository of the user; `G` is the group.
const STATES: [(&str, &str); 20] = [
    ("own", ""),
    ("read only", "chmod -R a-w,a+rX ."),
    (
        "of a group",
        "chown -R root:G .; chmod -R g+rwX,o-rwx .; find . -type d | xargs chmod g+s",
    ),
    ("of another user", "chown -R root:root .; chmod -R go-rwx ."),
    ("transactions", "chmod 555 db/transactions"),
    ("properties", "chmod 555 db/revprops/*"),
    ("revisions", "chmod 555 db/revs/*"),
    ("write-lock", "chown root db/write-lock; chmod 444 db/write-lock"),
    (
        "txn-current-lock",
        "chown root db/txn-current-lock; chmod 444 db/txn-current-lock",
    ),
    ("txn-current", "chown root db/txn-current; chmod 0 db/txn-current"),
    (
        "rep-cache.db",
        "chown root db/rep-cache.db; chmod 444 db/rep-cache.db",
    ),
    ("hooks", "chown root hooks; chmod 0 hooks"),
    ("hook", "chmod a-x hooks/pre-revprop-change"),
    ("format", "chmod 0 format"),
    ("db/format", "chmod 0 db/format"),
    ("fsfs.conf", "chmod 0 db/fsfs.conf"),
    // These cannot be opened either.
    ("an unknown format", "chmod u+w format; echo 99 > format"),
    (
        "an unknown format of storage",
        "chmod u+w db/format; echo 99 > db/format",
    ),
    ("no UUID", "rm db/uuid"),
    ("a broken configuration", "printf '[x\n' > db/fsfs.conf"),
];

/// The requests; `U` is the URL.
const REQUESTS: [&str; 9] = [
    "svn checkout -q U wc",
    "svn ls U",
    "svn cat U/f1",
    "svn log -q U",
    "svnmucc -m text -U U mkdir folder",
    "svnmucc -m text -U U put ../text new",
    "svn propset --revprop -r 1 name value U",
    "svn propdel --revprop -r 1 svn:author U",
    "svn lock U/f1",
];

fn template(root: &Path) {
    std::fs::write(root.join("text"), "a text\n").expect("because the folder is ours");
    sh(&format!(
        "cd {}; svnadmin create template; cd template; sed -i 's/sharded 1000/sharded 2/' db/format; \
         printf '#!/bin/sh\\n' > hooks/pre-revprop-change; chmod +x hooks/pre-revprop-change; \
         printf '[general]\\nanon-access = write\\n' > conf/svnserve.conf; \
         for i in 1 2 3; do echo text $i > ../f; svnmucc -m m -U file://$PWD put ../f f$i > /dev/null; done",
        root.display()
    ));
}

/// A server process, killed when it is dropped.
struct ServerProcess(Child);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn as_user(program: &Path) -> Tool {
    Tool::new("setpriv")
        .args(["--reuid", USER, "--regid", USER, "--groups", GROUP])
        .arg(program)
}

/// Returns the program that serves `root` at `port`, with its arguments. Its configuration is written to `own`, which
/// belongs to the user.
fn program(side: Side, is_http: bool, root: &Path, own: &Path, port: u16) -> Tool {
    let written = |name: &str, text: String| {
        let path = own.join(name);
        std::fs::write(&path, text).expect("because the folder was made");
        path
    };
    match (is_http, side) {
        (false, _) => {
            let name = match side {
                Side::Theirs => PathBuf::from("svnserve"),
                Side::Ours => tool_link("svnserve"),
            };
            let port = port.to_string();
            as_user(&name)
                .args(["-d", "--foreground", "-T", "--listen-host", "127.0.0.1"])
                .args(["--listen-port", &port, "-r"])
                .arg(root)
        }
        (true, Side::Ours) => {
            let text = format!(
                "[listen]\nhttp = \"127.0.0.1:{port}\"\n[[location]]\npath = \"/\"\nparent = '{}'\n",
                root.display()
            );
            let conf = written("sven.toml", text);
            as_user(&tool_link("sven")).args(["serve", "--config"]).arg(conf)
        }
        (true, Side::Theirs) => {
            let mut text = format!(
                "ServerRoot \"{own}\"\nPidFile \"{own}/pid\"\nListen 127.0.0.1:{port}\nServerName localhost\n\
                 ErrorLog \"{own}/error.log\"\nLogLevel crit\nTypesConfig /etc/mime.types\n",
                own = own.display()
            );
            let modules = [
                "mpm_event",
                "authn_core",
                "authz_core",
                "authz_user",
                "dav",
                "dav_svn",
                "dir",
                "mime",
            ];
            for module in modules {
                let file = format!("/usr/lib/apache2/modules/mod_{module}.so");
                if Path::new(&file).exists() {
                    text.push_str(&format!("LoadModule {module}_module {file}\n"));
                }
            }
            let parent = root.display();
            text.push_str(&format!(
                "<Location />\nDAV svn\nSVNParentPath \"{parent}\"\n</Location>\n"
            ));
            let conf = written("httpd.conf", text);
            as_user(Path::new("/usr/sbin/apache2"))
                .args(["-X", "-f"])
                .arg(conf)
        }
    }
}

fn start(side: Side, is_http: bool, root: &Path, own: &Path) -> (ServerProcess, u16) {
    for _ in 0..5 {
        let port = free_port();
        let mut command = program(side, is_http, root, own, port).command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut running = ServerProcess(command.spawn().expect("because it is installed"));
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end && matches!(running.0.try_wait(), Ok(None)) {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return (running, port);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    panic!("{side:?} does not come up");
}

/// Returns the responses to all requests, and the remaining files.
fn responses(side: Side, is_http: bool, template: &Path, change: &str, requests: &[&str]) -> String {
    let folder = scratch();
    let root = folder.path();
    sh(&format!(
        "chmod 755 {root}; mkdir {root}/served {root}/own {root}/client; echo a text > {root}/text; \
         cp -a {template} {root}/served/repo; chown -R {USER}:{USER} {root}/served {root}/own; \
         cd {root}/served/repo; {change}",
        root = root.display(),
        template = template.display(),
        change = change.replace('G', GROUP),
    ));
    let (mut running, port) = start(side, is_http, &root.join("served"), &root.join("own"));
    let scheme = if is_http { "http" } else { "svn" };
    let url = format!("{scheme}://127.0.0.1:{port}/repo");
    let mut text = String::new();
    for request in requests {
        let words: Vec<String> = request
            .split(' ')
            .map(|word| match word.strip_prefix('U') {
                Some(below) if below.is_empty() || below.starts_with('/') => format!("{url}{below}"),
                _ => word.to_owned(),
            })
            .collect();
        let tool = Tool::new(&words[0]).args(&words[1..]);
        let output = tool.arg("--non-interactive").dir(&root.join("client")).run();
        text.push_str(&shown(request, &output));
    }
    assert!(
        matches!(running.0.try_wait(), Ok(None)),
        "{side:?} ended: {change}"
    );
    drop(running);
    let repo = root.join("served/repo");
    let verified = Tool::new("svnadmin").args(["verify", "-q"]).arg(&repo).run();
    text.push_str(&format!("verify => {}\n", verified.code));
    let found = Tool::new("find")
        .arg(&repo)
        .args(["-printf", "%M %u %g %P\n"])
        .ok();
    let found = found.out();
    let mut lines: Vec<&str> = found
        .lines()
        .filter(|line| !line.ends_with("rep-cache.db-journal"))
        .collect();
    lines.sort_by_key(|line| line.rsplit(' ').next());
    text.push_str(&lines.join("\n"));
    let text = text.replace(&format!(":{port}"), ":PORT");
    text.replace(&root.display().to_string(), "ROOT")
}

/// Returns the exit code and the error numbers.
fn shown(request: &str, output: &Output) -> String {
    let out = match request.contains("svnmucc") {
        true => String::new(),
        false => testkit::normalize::mask_dates(&output.out()),
    };
    format!(
        "$ {request}\n{out}{:?}\n=> {}\n",
        output.error_codes(),
        output.code
    )
}

/// Compares the responses in each state to every `step`-th request, in turn, or to all of them as [`sample`].
fn compare<'a>(
    is_http: bool,
    states: impl IntoIterator<Item = (&'a str, &'a str)>,
    requests: &[&str],
    step: usize,
) {
    if !can_run() {
        return;
    }
    let folder = scratch();
    sh(&format!("chmod 755 {}", folder.path().display()));
    template(folder.path());
    let template = folder.path().join("template");
    let mut differences = String::new();
    let states: Vec<_> = states.into_iter().collect();
    let cases = (0..states.len()).flat_map(|state| requests.iter().map(move |request| (state, *request)));
    let cases: Vec<(usize, &str)> = sample(step, cases).collect();
    for (state, (name, change)) in states.iter().enumerate() {
        let requests = cases.iter().filter(|(of, _)| *of == state);
        let requests: Vec<&str> = requests.map(|(_, request)| *request).collect();
        let [theirs, ours] = std::thread::scope(|scope| {
            let sides = Side::BOTH.map(|side| {
                let template = &template;
                let requests = &requests;
                scope.spawn(move || responses(side, is_http, template, change, requests))
            });
            sides.map(|side| side.join().expect("because it says what failed"))
        });
        if theirs != ours {
            let only = |one: &str, other: &str| -> String {
                let other: Vec<&str> = other.lines().collect();
                let lines = one.lines().filter(|line| !other.contains(line));
                lines.map(|line| format!("    {line}\n")).collect()
            };
            differences.push_str(&format!(
                "{name}\n  theirs\n{}  ours\n{}",
                only(&theirs, &ours),
                only(&ours, &theirs)
            ));
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn svnserve_of_an_unprivileged_user() {
    // First those that the test over HTTP leaves out.
    let mut states = STATES;
    states.rotate_left(1);
    compare(false, sample(2, states), &REQUESTS, 2);
}

#[test]
fn an_http_server_of_an_unprivileged_user() {
    compare(true, sample(2, STATES), &REQUESTS, 2);
}

/// Reads over HTTP also read locks. For writes Apache reports that the path exists already (E160020).
#[test]
fn locks_without_read_permission() {
    let reading = REQUESTS.split_at(4).0;
    compare(
        true,
        [("locks", "mkdir -p db/locks; chmod 0 db/locks")],
        reading,
        1,
    );
}

/// Starts that are not permitted: the same errors, and no server.
#[test]
fn a_server_that_cannot_start_reports_the_reason() {
    if !can_run() {
        return;
    }
    let folder = scratch();
    let root = folder.path();
    sh(&format!(
        "chmod 755 {root}; mkdir {root}/closed; chmod 700 {root}/closed",
        root = root.display()
    ));
    let unprivileged = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    let has_low_ports = unprivileged.is_ok_and(|text| text.trim().parse().is_ok_and(|first: u16| first > 81));
    for (is_low, line) in [
        (true, "-d --foreground --listen-host 127.0.0.1 --listen-port 81"),
        (true, "-d --listen-host 127.0.0.1 --listen-port 81"),
        (
            false,
            "-d --foreground --listen-host 127.0.0.1 --listen-port PORT --log-file C/log",
        ),
        (
            false,
            "-d --foreground --listen-host 127.0.0.1 --listen-port PORT --pid-file C/pid",
        ),
        (
            false,
            "-d --foreground --listen-host 127.0.0.1 --listen-port PORT -r C/root",
        ),
        (
            false,
            "-d --foreground --listen-host 127.0.0.1 --listen-port PORT --config-file C/conf",
        ),
        (false, "-i --log-file C/log"),
        (false, "-t --log-file C/log"),
    ] {
        if is_low && !has_low_ports {
            println!("NOT TESTED: ports below 1024 (here every user may listen on them)");
            continue;
        }
        let line = line
            .replace("PORT", &free_port().to_string())
            .replace("C/", &format!("{}/closed/", root.display()));
        let [theirs, ours] = Side::BOTH.map(|side| {
            let name = match side {
                Side::Theirs => PathBuf::from("svnserve"),
                Side::Ours => tool_link("svnserve"),
            };
            let output = Tool::new("timeout")
                .args([
                    "20",
                    "setpriv",
                    "--reuid",
                    USER,
                    "--regid",
                    USER,
                    "--clear-groups",
                ])
                .arg(name)
                .args(line.split(' '))
                .run();
            (output.code, output.error_codes(), output.out())
        });
        assert_eq!(theirs, ours, "{line}");
    }
}
