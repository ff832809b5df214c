//! Write-through proxies: a mirror forwards writes to a master. Apache and Sven are tested in both roles.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::server::http::{HttpSite, READ_FREELY};
use testkit::server::transport::Transport;
use testkit::{Side, Tool, sample, scratch};

use crate::pair::{ScenarioClient, compare};
use crate::twins::{CONF, greek_repo, write_program};

/// A master and its mirror, with their servers.
struct ProxyPair {
    slave: TestServer,
    master: TestServer,
    repository: PathBuf,
    copy: PathBuf,
    _root: TempDir,
}

impl ProxyPair {
    fn new(master: Side, slave: Side) -> ProxyPair {
        ProxyPair::with(master, slave, "")
    }

    /// With more lines for the location, if Sven is the master.
    fn with(master: Side, slave: Side, more: &str) -> ProxyPair {
        let root = scratch();
        let at = |name: &str| root.path().join(name).join("repo");
        let (repository, copy) = (at("master"), at("slave"));
        let origin = greek_repo();
        for repository in [&repository, &copy] {
            std::fs::create_dir(repository.parent().expect("because it has a name"))
                .expect("because it is new");
            origin.copy_to(repository);
            std::fs::write(repository.join("conf/svnserve.conf"), CONF).expect("because it is a copy");
            let passwords = "[users]\nalice = secret\nbob = pw\n";
            std::fs::write(repository.join("conf/passwd"), passwords).expect("because it is a copy");
            write_program(
                &repository.join("hooks/pre-revprop-change"),
                "#!/bin/sh\nexit 0\n",
            );
        }
        follow(&repository, &copy);
        let serve = |side, transport, parent: &Path, apache: &str, ours: &str| {
            let site = HttpSite {
                transport,
                at: "/svn",
                apache,
                ours,
                ..HttpSite::plain(parent)
            };
            TestServer::http_site(side, &site)
        };
        let transport = transport();
        let folder = |of: &Path| of.parent().expect("because it has a name").to_owned();
        let master = serve(master, transport, &folder(&repository), READ_FREELY, more);
        let url = format!("http://127.0.0.1:{}/svn", master.port());
        let apache = format!("{READ_FREELY}SVNMasterURI {url}\n");
        let ours = format!("master-uri = '{url}'\n");
        let slave = serve(slave, transport, &folder(&copy), &apache, &ours);
        ProxyPair {
            slave,
            master,
            repository,
            copy,
            _root: root,
        }
    }

    fn play(&self) -> String {
        let mut c = ScenarioClient::over(transport(), self.slave.port(), "svn/repo");
        c.mask(self.master.port().to_string(), "MASTER");
        c.lines(SCRIPT);
        // A commit through the mirror is in the mirror.
        for (server, repository) in [(&self.master, &self.repository), (&self.slave, &self.copy)] {
            server.storage().bring_back(repository);
        }
        let dumps = [&self.repository, &self.copy].map(|of| {
            let dump = Tool::new("svnadmin")
                .args(["dump", "-q", "-r", "2:HEAD"])
                .arg(of)
                .ok();
            testkit::normalize::mask_dates(&testkit::normalize::mask_uuids(&dump.out()))
        });
        compare(&dumps[0], &dumps[1]);
        for repository in [&self.repository, &self.copy] {
            Tool::new("svnadmin").args(["verify", "-q"]).arg(repository).ok();
        }
        c.into_transcript() + &dumps[0]
    }
}

/// Returns the transport. Apache refuses copies whose `Destination` has another scheme, and forwards the header
/// unchanged.
fn transport() -> Transport {
    match Transport::chosen_http() {
        Transport::Https => Transport::Http,
        other => other,
    }
}

/// Installs a hook that copies every revision of `master` to `copy` before the committer gets the response.
fn follow(master: &Path, copy: &Path) {
    let (from, to) = (
        format!("file://{}", master.display()),
        format!("file://{}", copy.display()),
    );
    Tool::new("svnsync")
        .args(["init", "-q", "--allow-non-empty", &to, &from])
        .ok();
    for (hook, command) in [
        ("post-commit", format!("sync -q --non-interactive {to}")),
        (
            "post-revprop-change",
            format!("copy-revprops -q --non-interactive {to} $2"),
        ),
    ] {
        let text = format!("#!/bin/sh\n/usr/bin/svnsync {command}\n");
        write_program(&master.join("hooks").join(hook), &text);
    }
}

const SCRIPT: &str = r"
svn checkout -q $U wc; svn info --show-item revision wc
echo x >> wc/iota; svn add -q --parents wc/iota; svn commit -m 'Through the copy' wc
svn update wc
svn lock wc/iota
echo y >> wc/iota; svn commit -m 'With a token' wc
svn lock -q wc/A/mu; echo z >> wc/A/mu; svn commit --no-unlock -m 'No unlock' wc; svn status wc
bob mkdir -m 'Beside' $U/new
svn unlock wc/A/mu
svn copy -m 'Copied' $U/A $U/copy
svn mv -m 'Moved' $U/copy $U/moved
svn propset --revprop -r 1 svn:log 'Changed' $U
svn propget --revprop -r 1 svn:log $U
svn propset -q p v wc/A; svn commit -m 'A property' wc
svn update wc
svn rm -q wc/A/B; svn commit -m 'Removed' wc
svn mkdir -m 'Again' $U/new
svn switch -q --ignore-ancestry $U/moved wc; svn status wc; svn info --show-item relative-url wc
anon mkdir -m 'Nobody' $U/nobody
printf 'f' > f; mucc -m 'Many' put f x/f mkdir y
printf 'f' > f; mucc -m 'Many' mkdir x put f x/f mkdir y
svn log -v $U
svn ls -R $U
";

#[test]
fn commits_and_locks_go_through_a_copy_to_its_master() {
    let received = ProxyPair::new(Side::Theirs, Side::Theirs).play();
    let pairs = [
        (Side::Theirs, Side::Ours),
        (Side::Ours, Side::Ours),
        (Side::Ours, Side::Theirs),
    ];
    for (master, slave) in sample(2, pairs) {
        eprintln!("{master:?} is the master of {slave:?}");
        compare(&received, &ProxyPair::new(master, slave).play());
    }
}

/// The master would make a revision of the part that has arrived.
#[test]
fn a_text_that_breaks_off_is_not_whole_for_the_master() {
    let pair = ProxyPair::with(Side::Ours, Side::Ours, "autoversioning = true\n");
    let youngest = || {
        let looked = Tool::new("svnlook").arg("youngest").arg(&pair.repository).ok();
        looked.out().trim().parse::<u64>().expect("a number")
    };
    let before = youngest();
    for length in [1, 20_000, 900_000] {
        let mut stream =
            TcpStream::connect(("127.0.0.1", pair.slave.port())).expect("because the server listens");
        let head = "PUT /svn/repo/iota HTTP/1.1\r\nHost: localhost\r\n\
                    Authorization: Basic YWxpY2U6c2VjcmV0\r\nContent-Length: 1000000\r\n\r\n";
        stream
            .write_all(head.as_bytes())
            .expect("because the server reads");
        stream
            .write_all(&vec![b'x'; length])
            .expect("because the server reads");
        // The master has got a part of it.
        std::thread::sleep(Duration::from_millis(300));
    }
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(youngest(), before);
    let url = format!("http://127.0.0.1:{}/svn/repo/iota", pair.slave.port());
    Tool::new("curl")
        .args([
            "-s",
            "-f",
            "-X",
            "PUT",
            "-u",
            "alice:secret",
            "--data",
            "whole",
            &url,
        ])
        .ok();
    assert_eq!(youngest(), before + 1);
}
