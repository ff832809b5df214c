//! The commands of cases: each returns what its setting may change.

use std::cell::OnceCell;
use std::fs;

use testkit::server::TestServer;
use testkit::server::http::READ_FREELY;
use testkit::server::transport::{Transport, certificate};
use testkit::{Spec, Tool, build};

use super::recorder::{Recorder, RelayMode};
use crate::context::{Home, Servers};

/// The servers of all cases.
pub(super) struct World {
    pub(super) servers: Servers,
    /// Apache, which everyone may read and `alice` may write, and the relay to it.
    recorded: OnceCell<(TestServer, Recorder)>,
    proxy: OnceCell<TestServer>,
}

/// The number of files in a directory of the second repository.
const FILES: usize = 100;
/// A proxy that demands a password.
const PROXY: &str = "ProxyRequests On\n<Proxy *>\nAuthType Basic\nAuthName proxy\nAuthUserFile @FOLDER/users\nRequire valid-user\n</Proxy>\n";

impl World {
    /// Makes two more repositories: `s` with a directory of files that have the media type of binary ones, and `many` with many revisions.
    pub(super) fn new(servers: Servers) -> World {
        let repository = servers.root().join("s");
        let tree = servers.root().join("tree");
        fs::create_dir(&tree).expect("because the directory is new");
        for number in 0..FILES {
            let text = format!("{number}\n").repeat(10);
            fs::write(tree.join(number.to_string()), text).expect("because the directory is new");
        }
        Tool::new("svnadmin").arg("create").arg(&repository).ok();
        let url = format!("file://{}", repository.display());
        let auto = [
            "--auto-props",
            "--config-option",
            "config:auto-props:*=svn:mime-type=a/b",
        ];
        let import = Tool::new("svn").args(["import", "-q", "-m", ""]).args(auto);
        import.arg(&tree).arg(format!("{url}/d")).ok();
        let many = build(&Spec::small("1.14"));
        let copy = Tool::new("cp").arg("-r").arg(many.path());
        copy.arg(servers.root().join("many")).ok();
        World {
            servers,
            recorded: OnceCell::new(),
            proxy: OnceCell::new(),
        }
    }

    /// Runs a command in which `{RECORDED}` is the URL of all repositories; returns the number of connections, and the heads of
    /// requests.
    fn record(&self, home: &Home<'_>, line: &str) -> (usize, Vec<String>) {
        let (_, recorder) = self.recorded.get_or_init(|| {
            let server = self.servers.site(Transport::Http, READ_FREELY, "");
            let recorder = Recorder::new(server.port(), RelayMode::Faithful);
            (server, recorder)
        });
        let url = format!("http://127.0.0.1:{}", recorder.port());
        recorder.take();
        let shown = home.run(&line.replace("{RECORDED}", &url), "");
        assert!(shown.ends_with("[exit 0]"), "{line}: {shown}");
        recorder.take()
    }

    fn second(&self) -> String {
        format!("file://{}", self.servers.root().join("s").display())
    }
}

fn write(home: &Home<'_>, name: &str, bytes: impl AsRef<[u8]>) {
    let path = home.dir.path().join(name);
    let dir = path.parent().expect("because it is below the home");
    fs::create_dir_all(dir).expect("because the home is writable");
    fs::write(path, bytes).expect("because the directory is there");
}

/// Makes a repository in the home and returns its URL.
fn own_repository(home: &Home<'_>) -> String {
    let path = home.dir.path().join("repo");
    Tool::new("svnadmin").arg("create").arg(&path).ok();
    format!("file://{}", path.display())
}

/// Reads and compares.
pub(super) fn any_work(world: &World, home: &Home<'_>) -> String {
    [
        format!("svn export {}/d/1 out", world.second()),
        format!("svn diff -r0:1 {}/d/1@1", world.second()),
        "svn ls {SVN} --username alice --password secret --non-interactive".to_owned(),
        "svn ls {BASIC} --username alice --password secret --non-interactive".to_owned(),
    ]
    .map(|line| home.run(&line, ""))
    .concat()
}

fn store(home: &Home<'_>, option: &str) -> String {
    let login = "--username alice --password secret --non-interactive";
    let shown = home.run(&format!("svn ls {{SVN}} {login} {option}"), "");
    format!("{shown}{:#?}", home.files())
}

pub(super) fn stored(_: &World, home: &Home<'_>) -> String {
    store(
        home,
        "--config-option servers:global:store-plaintext-passwords=yes",
    )
}

pub(super) fn stored_if_allowed(_: &World, home: &Home<'_>) -> String {
    store(home, "")
}

pub(super) fn logged_in(_: &World, home: &Home<'_>) -> String {
    home.run("svn ls {SVN} --password pw --non-interactive", "")
}

pub(super) fn edited(_: &World, home: &Home<'_>) -> String {
    let url = own_repository(home);
    home.ask(&format!("svn mkdir {url}/new"), &[])
}

/// Compares two directories, and two revisions of a file that is not text.
pub(super) fn compared(world: &World, home: &Home<'_>) -> String {
    write(home, "old/a", "one two\n");
    write(home, "new/a", "one  two\n");
    let binary = format!("svn diff -r0:1 {}/d/1@1", world.second());
    home.run("svn diff --old=old --new=new", "") + &home.run(&binary, "")
}

pub(super) fn tunnelled(_: &World, home: &Home<'_>) -> String {
    write(home, "tunnel.sh", "echo \"$@\" > words\nexit 1\n");
    let shown = home.run("svn ls svn+ssh://host/r", "");
    let words = fs::read_to_string(home.dir.path().join("words"));
    format!("{shown}{words:?}")
}

fn import(home: &Home<'_>, options: &str) -> String {
    let url = own_repository(home);
    write(home, "types", "a/special txt\n");
    write(home, "tree/a.txt", "text\n");
    write(home, "tree/b.c", "text\n");
    let shown = home.run(&format!("svn import -m m tree {url} {options}"), "");
    let props = Tool::new("svn").args(["proplist", "-vR", &url]).ok().out();
    format!("{shown}{}", home.shape(&props))
}

pub(super) fn imported(_: &World, home: &Home<'_>) -> String {
    import(home, "--config-option config:auto-props:*.txt=a=b")
}

pub(super) fn imported_with_props(_: &World, home: &Home<'_>) -> String {
    import(home, "--auto-props")
}

pub(super) fn message_of_a_file(_: &World, home: &Home<'_>) -> String {
    let url = own_repository(home);
    write(home, "latin", b"a\xe9b\n");
    let shown = home.run(&format!("svn mkdir -q -F latin {url}/new"), "");
    let path = home.dir.path().join("repo");
    shown + &Tool::new("svnlook").arg("log").arg(path).ok().out()
}

/// Passes a proxy, with what is missing of the name and the password.
pub(super) fn through_a_proxy(world: &World, home: &Home<'_>) -> String {
    let users = "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n";
    let proxy = world
        .proxy
        .get_or_init(|| TestServer::apache_with(PROXY, &[("users", users)]));
    let own = fs::read_to_string(home.area().join("servers")).expect("because it was made");
    let other = match own.contains("http-proxy-username") {
        true => "password=secret",
        false => "username=alice",
    };
    // Without a setting, a name alone is the same as a wrong password.
    let options = ["host=127.0.0.1", &format!("port={}", proxy.port()), other]
        .map(|option| format!("--config-option servers:global:http-proxy-{option}"));
    let line = "svn ls {BASIC} --username alice --password secret --non-interactive";
    home.run(&format!("{line} {}", options.join(" ")), "")
}

/// Whether any request accepts compressed responses.
pub(super) fn compressed(world: &World, home: &Home<'_>) -> String {
    let (_, heads) = world.record(home, "svn ls {RECORDED}/s/d");
    let is_accepting = |head: &String| head.contains("accept-encoding: gzip");
    format!("{}", heads.iter().any(is_accepting))
}

/// The number of requests for single files of an exported directory.
pub(super) fn fetched(world: &World, home: &Home<'_>) -> String {
    let (_, heads) = world.record(home, "svn export -q {RECORDED}/s/d out");
    let fetches = heads.iter().filter(|head| head.starts_with("get "));
    format!("{}", fetches.count())
}

/// The number of connections of a command.
pub(super) fn connections(world: &World, home: &Home<'_>, line: &str, most: usize) -> usize {
    let options = format!("http-max-connections={most} --config-option servers:global:http-bulk-updates=no");
    let line = format!("{line} --config-option servers:global:{options}");
    world.record(home, &line).0
}

/// How the bodies of the requests of a commit are framed, without the first request of a session.
pub(super) fn framed(world: &World, home: &Home<'_>) -> String {
    write(home, "text", "text\n");
    let name = format!("new{}", home.dir.path().display()).replace(['/', '.'], "-");
    let login = "--username alice --password secret --non-interactive";
    let line = format!("svnmucc -m m put text {{RECORDED}}/s/{name} {login}");
    let (_, heads) = world.record(home, &line);
    let framing = |method: &str| {
        let head = heads.iter().find(|head| head.starts_with(method));
        let lines = head.expect("because a commit has it").lines();
        let named = lines.filter_map(|line| line.split_once(':'));
        let mut names = named.map(|(name, _)| name);
        let name = names.find(|name| ["content-length", "transfer-encoding"].contains(name));
        format!("{method}{name:?}\n")
    };
    ["post ", "put ", "merge "].map(framing).concat()
}

pub(super) fn trusted_by_the_system(_: &World, home: &Home<'_>) -> String {
    let tool = home.tool("svn ls {TLS} --non-interactive");
    let output = tool.env("SSL_CERT_FILE", &certificate().certificate).run();
    format!("{}{}[exit {}]", output.out(), output.err(), output.code)
}
