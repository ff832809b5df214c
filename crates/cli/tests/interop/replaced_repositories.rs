//! Repositories that an administrator changes while the server is running: a restored backup, another repository with
//! the same UUID, an upgrade, a pack. Afterwards the server serves the files on disk, over new and over open
//! connections.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use testkit::probe::{Probe, ProbeItem, flag, list, text};
use testkit::server::TestServer;
use testkit::server::http::{HttpSite, READ_FREELY};
use testkit::server::transport::Transport;
use testkit::{Side, Tool, sample, sample_from, scratch};

/// The change of the administrator.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AdminChange {
    /// `current` and the revision files are those of a backup of revision 3; all other files stay.
    FilesBack,
    /// The same, and another process commits before the server reads the repository again.
    FilesBackAndOn,
    /// The directory is replaced by the backup.
    DirectoryBack,
    /// The directory is replaced by another repository with the same UUID and the same number of revisions.
    Another,
    /// The same, and it is packed.
    AnotherPacked,
    /// The same with one more revision, packed.
    AnotherLonger,
    /// The instance ID changes.
    SetUuid,
    /// The repository is upgraded to the newest format.
    Upgrade,
    /// The repository is packed.
    Pack,
}

const CHANGES: [AdminChange; 9] = [
    AdminChange::FilesBack,
    AdminChange::FilesBackAndOn,
    AdminChange::DirectoryBack,
    AdminChange::Another,
    AdminChange::AnotherPacked,
    AdminChange::AnotherLonger,
    AdminChange::SetUuid,
    AdminChange::Upgrade,
    AdminChange::Pack,
];

struct ChangedRepository {
    root: TempDir,
    path: PathBuf,
}

impl ChangedRepository {
    /// Makes a repository with five revisions; `backup` has the first three.
    fn new(version: &str) -> ChangedRepository {
        let root = scratch();
        let place = ChangedRepository {
            path: root.path().join("repo"),
            root,
        };
        testkit::create_compatible(version, &place.path);
        small_shards(&place.path);
        std::fs::write(
            place.path.join("conf/svnserve.conf"),
            "[general]\nanon-access = write\n",
        )
        .expect("because it was just made");
        for rev in 1..=5 {
            if rev == 4 {
                copy(&place.path, &place.root.path().join("backup"));
            }
            put(&place.url(), &format!("old {rev}"));
        }
        // It describes revisions that the change may take away.
        let index = Tool::new(testkit::tool::sven_binary()).arg("index");
        index.arg("-q").arg(&place.path).ok();
        place
    }

    fn url(&self) -> String {
        format!("file://{}", self.path.display())
    }

    fn change(&self, change: AdminChange) {
        let (db, backup) = (self.path.join("db"), self.root.path().join("backup"));
        let back = || {
            for kind in ["revs", "revprops"] {
                for rev in [4, 5] {
                    std::fs::remove_file(db.join(kind).join((rev / 2).to_string()).join(rev.to_string()))
                        .expect("because it is there");
                }
            }
            for name in ["current", "txn-current", "rep-cache.db"] {
                std::fs::copy(backup.join("db").join(name), db.join(name)).expect("because it is there");
            }
        };
        match change {
            AdminChange::FilesBack => back(),
            AdminChange::FilesBackAndOn => {
                back();
                (4..=6).for_each(|rev| put(&self.url(), &format!("new {rev}")));
            }
            AdminChange::DirectoryBack => {
                std::fs::remove_dir_all(&self.path).expect("because it is ours");
                copy(&backup, &self.path);
            }
            AdminChange::Another => self.replace("1.14", 5),
            AdminChange::AnotherPacked => {
                self.replace("1.14", 5);
                Tool::new("svnadmin").args(["pack", "-q"]).arg(&self.path).ok();
            }
            AdminChange::AnotherLonger => {
                self.replace("1.14", 6);
                Tool::new("svnadmin").args(["pack", "-q"]).arg(&self.path).ok();
            }
            AdminChange::SetUuid => {
                let uuid = Tool::new("svnlook").arg("uuid").arg(&self.path).ok().out();
                Tool::new("svnadmin")
                    .arg("setuuid")
                    .arg(&self.path)
                    .arg(uuid.trim())
                    .ok();
            }
            AdminChange::Upgrade => drop(Tool::new("svnadmin").arg("upgrade").arg(&self.path).ok()),
            AdminChange::Pack => drop(Tool::new("svnadmin").args(["pack", "-q"]).arg(&self.path).ok()),
        }
    }

    /// Replaces this repository by another one with the same UUID.
    fn replace(&self, version: &str, revisions: u64) {
        let uuid = Tool::new("svnlook").arg("uuid").arg(&self.path).ok().out();
        let conf = std::fs::read(self.path.join("conf/svnserve.conf")).expect("because it is there");
        std::fs::remove_dir_all(&self.path).expect("because it is ours");
        testkit::create_compatible(version, &self.path);
        small_shards(&self.path);
        std::fs::write(self.path.join("conf/svnserve.conf"), conf).expect("because it is there");
        (1..=revisions).for_each(|rev| put(&self.url(), &format!("new {rev}")));
        let set = Tool::new("svnadmin").arg("setuuid").arg(&self.path);
        set.arg(uuid.trim()).ok();
    }

    fn youngest(&self) -> u64 {
        let text = Tool::new("svnlook").arg("youngest").arg(&self.path).ok().out();
        text.trim().parse().expect("a number")
    }

    fn text(&self, rev: u64) -> String {
        let rev = rev.to_string();
        Tool::new("svnlook")
            .args(["cat", "-r", &rev])
            .arg(&self.path)
            .arg("file")
            .ok()
            .out()
    }
}

fn small_shards(path: &Path) {
    let format = path.join("db/format");
    let text = std::fs::read_to_string(&format).expect("because it was just made");
    _ = std::fs::remove_file(&format);
    std::fs::write(&format, text.replace("sharded 1000", "sharded 2")).expect("because it was just made");
}

fn copy(from: &Path, to: &Path) {
    Tool::new("cp").arg("-a").arg(from).arg(to).ok();
}

/// Commits the file with a text.
fn put(url: &str, text: &str) {
    let log = format!("log of {text}");
    let mucc = Tool::new("svnmucc").args(["--non-interactive", "-U", url, "-m", &log]);
    mucc.args(["--", "put", "-", "file"]).stdin(text).ok();
}

fn svn(args: &[&str]) -> testkit::Output {
    Tool::new("svn")
        .args(args)
        .args(["--non-interactive", "--no-auth-cache"])
        .run()
}

/// Returns the file in the youngest revision.
fn head(connection: &mut Probe) -> String {
    let output_text = connection.request("get-file", vec![text("file"), list([]), flag(false), flag(true)]);
    assert_eq!(
        output_text.items().first(),
        Some(&ProbeItem::Word("success".into())),
        "{output_text:?}"
    );
    let mut bytes = Vec::new();
    while let ProbeItem::Text(piece) = connection.read() {
        if piece.is_empty() {
            break;
        }
        bytes.extend(piece);
    }
    connection.read();
    String::from_utf8(bytes).expect("because it is a text")
}

/// Returns the exit code of a client that prints the file in all revisions up to `youngest`, and the texts.
fn texts(url: &str, youngest: u64) -> (i32, String) {
    let targets: Vec<String> = (1..=youngest).map(|rev| format!("{url}/file@{rev}")).collect();
    let args: Vec<&str> = targets.iter().map(String::as_str).collect();
    let output = svn(&[&["cat"], &args[..]].concat());
    (output.code, output.out())
}

fn check(transport: Transport, version: &str, change: AdminChange) {
    let what = format!("{transport:?} {version} {change:?}");
    let place = ChangedRepository::new(version);
    let server = Arc::new(match transport {
        Transport::Svn => TestServer::svnserve(Side::Ours, place.root.path(), &[]),
        _ => TestServer::http_site(
            Side::Ours,
            &HttpSite {
                transport,
                apache: READ_FREELY,
                ..HttpSite::plain(place.root.path())
            },
        ),
    });
    let url = crate::pair::url(transport, server.port(), "repo");
    let at = |rev: u64| format!("{url}/file@{rev}");
    // Everything is in the cache, and one connection is open.
    let wc = place.root.path().join("wc").display().to_string();
    assert_eq!(svn(&["checkout", "-q", &url, &wc]).code, 0, "{what}");
    let old: String = (1..=5).map(|rev| format!("old {rev}")).collect();
    assert_eq!(texts(&url, 5), (0, old), "{what}");
    assert_eq!(svn(&["log", "-q", "-v", &url]).code, 0, "{what}");
    for command in ["log", "blame"] {
        assert_eq!(svn(&[command, &at(5)]).code, 0, "{what}");
    }
    let connect = || Probe::connect_as(server.clone(), url.clone(), None);
    let mut open = (transport == Transport::Svn).then(connect);
    if let Some(open) = &mut open {
        assert_eq!(head(open), "old 5", "{what}");
    }

    place.change(change);

    if let Some(open) = &mut open {
        assert_eq!(head(open), place.text(place.youngest()), "{what}");
    }
    // The client reads HEAD, and each revision.
    let youngest = place.youngest();
    let read_all = |when: &str, youngest: u64| {
        assert_eq!(
            svn(&["cat", &format!("{url}/file")]).out(),
            place.text(youngest),
            "{what}, {when}"
        );
        let [served, stored] = [&url, &place.url()].map(|url| texts(url, youngest));
        assert_eq!(stored.0, 0, "{what}, {when}");
        assert_eq!(served, stored, "{what}, {when}");
        for command in ["log", "blame"] {
            let [served, stored] =
                [&url, &place.url()].map(|url| svn(&[command, &format!("{url}/file")]).out());
            assert_eq!(served, stored, "{what}, {when}");
        }
    };
    read_all("after it", youngest);
    // A commit is based on the new youngest revision.
    let log = Tool::new("svnmucc").args(["--non-interactive", "-U", &url, "-m", "on top"]);
    let output_text = log
        .args(["-u", "alice", "-p", "secret", "--", "put", "-", "file"])
        .stdin("on top")
        .run();
    assert_eq!(output_text.code, 0, "{what}: {output_text:?}");
    assert_eq!(place.youngest(), youngest + 1, "{what}");
    read_all("after a commit", youngest + 1);
    let logged = svn(&["log", "-v", &url]).out();
    let stored = svn(&["log", "-v", &place.url()]).out();
    assert_eq!(logged, stored, "{what}");
    Tool::new("svnadmin").args(["verify", "-q"]).arg(&place.path).ok();
}

/// Commits that began before their repository was replaced by another one, each over its own connection.
fn check_commit(version: &str, change: impl Fn(&ChangedRepository)) {
    let place = ChangedRepository::new(version);
    let server = Arc::new(TestServer::svnserve(Side::Ours, place.root.path(), &[]));
    let url = crate::pair::url(Transport::Svn, server.port(), "repo");
    let connect = || Probe::connect_as(server.clone(), url.clone(), None);
    let (mut before, mut idle) = (connect(), connect());
    assert_eq!(head(&mut before), "old 5");
    assert_eq!(head(&mut idle), "old 5");
    let begin = b"( commit ( 1:m ( ) false ( ( 7:svn:log 1:m ) ) ) ) ( open-root ( ( 5 ) 2:d0 ) ) \
                  ( change-dir-prop ( 2:d0 1:p ( 1:v ) ) ) ";
    let end = b"( close-dir ( 2:d0 ) ) ( close-edit ( ) ) ";
    before.send(begin);
    // No login is needed, and the edit can begin.
    (0..2).for_each(|_| drop(before.read()));
    // There is no response that shows how much of the edit the server has read.
    std::thread::sleep(std::time::Duration::from_millis(200));
    change(&place);
    let (youngest, text) = (place.youngest(), place.text(place.youngest()));
    before.send(end);
    let output_text = before.read();
    assert!(format!("{output_text:?}").contains("failure"), "{output_text:?}");
    assert_eq!(place.youngest(), youngest, "{output_text:?}");
    // A commit that begins now is based on the new repository, or is refused because the layout differs.
    idle.send(begin);
    idle.send(end);
    let output_text: Vec<ProbeItem> = (0..3).map(|_| idle.read()).collect();
    let is_refused = format!("{output_text:?}").contains("failure");
    assert_eq!(
        place.youngest(),
        youngest + u64::from(!is_refused),
        "{output_text:?}"
    );
    assert_eq!(place.text(place.youngest()), text);
    Tool::new("svnadmin").args(["verify", "-q"]).arg(&place.path).ok();
}

#[test]
fn no_commit_continues_on_a_replaced_repository() {
    check_commit("1.14", |place| place.replace("1.14", 5));
    check_commit("1.14", |place| place.replace("1.6", 5));
    check_commit("1.6", |place| place.replace("1.14", 5));
    check_commit("1.14", |place| place.change(AdminChange::DirectoryBack));
}

/// Returns a format in which the change has an effect.
fn version(change: AdminChange) -> &'static str {
    match change {
        AdminChange::Upgrade | AdminChange::Pack => "1.6",
        _ => "1.14",
    }
}

#[test]
fn over_svn() {
    for change in sample(2, CHANGES) {
        check(Transport::Svn, version(change), change);
    }
}

#[test]
fn over_http() {
    // A sample has the changes that the sample over svn:// leaves out.
    for change in sample_from(1, 2, CHANGES) {
        check(Transport::Http, version(change), change);
    }
}
