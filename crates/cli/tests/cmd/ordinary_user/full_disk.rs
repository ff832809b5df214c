//! Programs and servers on a full file system: they report the error, no data is damaged or lost, readers are served,
//! and failed operations succeed once there is space.
//!
//! The free space is a number of pages, so that each run fails at another write. `FULL_DISK_SEEDS` selects the runs
//! of programs, `FULL_DISK_LONG` runs all amounts of space for the servers.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::small_disk::SmallDisk;
use testkit::{Output, Side, Tool, sample, scratch};

use super::sh;

/// The size of a page in bytes.
const PAGE: u64 = 4096;

/// A small file system with the repository `repo`.
struct SmallFileSystem {
    disk: SmallDisk,
}

impl SmallFileSystem {
    fn mount() -> Option<SmallFileSystem> {
        SmallDisk::mount("6m").map(|disk| SmallFileSystem { disk })
    }

    fn at(&self) -> &Path {
        self.disk.path()
    }

    fn repo(&self) -> PathBuf {
        self.at().join("repo")
    }

    /// Fills the file system except for `pages`.
    fn fill(&self, pages: u64) {
        let mut filler = File::create(self.at().join("filler")).expect("because there is space for a name");
        let piece = vec![b'x'; 64 << 10];
        while filler.write_all(&piece).is_ok() {}
        let len = filler.metadata().expect("because it is open").len();
        let len = len.next_multiple_of(PAGE).saturating_sub(pages * PAGE);
        filler.set_len(len).expect("because it becomes shorter");
    }

    fn free(&self) {
        std::fs::remove_file(self.at().join("filler")).expect("because it was made");
    }

    /// Restores the files of `template`.
    fn reset(&self, template: &Path) {
        sh(&format!(
            "find {at} -mindepth 1 -delete; cp -a {template}/. {at}",
            at = self.at().display(),
            template = template.display()
        ));
    }

    fn youngest(&self) -> u64 {
        let youngest = Tool::new("svnlook").arg("youngest").arg(self.repo()).ok();
        youngest.out().trim().parse().expect("because it is a number")
    }

    fn verify(&self, name: &str, what: &str) {
        let repo = self.at().join(name);
        let verified = Tool::new("svnadmin").args(["verify", "-q"]).arg(&repo).run();
        assert!(verified.code == 0, "{what}: {verified:?}");
    }

    fn transactions(&self) -> String {
        Tool::new("svnadmin").arg("lstxns").arg(self.repo()).ok().out()
    }
}

/// The commands; `D` is the file system, `R` the repository on it, `O` a directory on another one. After a failure
/// the second part runs, and then the command again with enough space.
const COMMANDS: [(&str, &str); 15] = [
    ("svnadmin load -q R -F O/stream", ""),
    ("svnadmin hotcopy -q R D/copy", "rm -rf D/copy"),
    ("svnadmin hotcopy -q --incremental R D/older", ""),
    ("svnadmin pack -q R", ""),
    ("svnadmin upgrade R", ""),
    ("svnadmin dump -q R -F D/dump", "rm -f D/dump"),
    ("svnadmin setlog --bypass-hooks -r 1 R O/long", ""),
    ("svnadmin setrevprop -r 1 R name O/long", ""),
    ("svnadmin delrevprop -r 1 R svn:author", ""),
    ("svnadmin lock R /f1 root O/text opaquelocktoken:t", ""),
    ("svnadmin unlock R /f2 root opaquelocktoken:of-root", ""),
    ("svnadmin rmlocks R /f2", ""),
    ("svnadmin setuuid R 11111111-2222-4333-8444-555555555555", ""),
    ("svnadmin recover R", ""),
    ("svnadmin create D/new", "rm -rf D/new"),
];

/// Makes the directory `template` with the initial files, and the files of `O`.
fn prepare(root: &Path) {
    std::fs::write(root.join("text"), "text").expect("because the folder is ours");
    std::fs::write(root.join("long"), "text ".repeat(2000)).expect("because the folder is ours");
    let noise = testkit::history::noise(3, 40_000);
    std::fs::write(root.join("noise"), &noise).expect("because the folder is ours");
    sh(&format!(
        "cd {root}; mkdir template; cd template; svnadmin create --compatible-version 1.8 repo; \
         sed -i 's/sharded 1000/sharded 2/' repo/db/format; \
         printf '[general]\\nanon-access = read\\npassword-db = passwd\\n' > repo/conf/svnserve.conf; \
         printf '[users]\\nalice = pw\\n' > repo/conf/passwd; \
         printf '#!/bin/sh\\n' > repo/hooks/pre-revprop-change; chmod +x repo/hooks/pre-revprop-change; \
         for i in 1 2 3 4; do svnmucc -m m -U file://$PWD/repo put ../noise f$i > /dev/null; done; \
         svnadmin lock repo /f2 root ../text opaquelocktoken:of-root > /dev/null; \
         svnadmin hotcopy -q repo older; svnmucc -m m -U file://$PWD/repo put ../long f5 > /dev/null; \
         svnadmin create ../other; for i in 1 2 3; do svnmucc -m m -U file://$PWD/../other put ../noise s$i > /dev/null; done; \
         svnadmin dump -q --incremental -r 1:3 ../other > ../stream",
        root = root.display()
    ));
}

fn run(side: Side, disk: &SmallFileSystem, root: &Path, command: &str) -> Output {
    let words = command.split(' ').map(|word| match word.split_once('/') {
        _ if word == "R" => disk.repo().display().to_string(),
        Some(("D", below)) => disk.at().join(below).display().to_string(),
        Some(("O", below)) => root.join(below).display().to_string(),
        _ => word.to_owned(),
    });
    let words: Vec<String> = words.collect();
    side.tool(&words[0]).args(&words[1..]).run()
}

/// Runs a command with `pages` of free space, then again with enough. Returns whether it failed first.
fn attempt(side: Side, disk: &SmallFileSystem, root: &Path, number: usize, pages: u64) -> bool {
    let (command, before_again) = COMMANDS[number];
    let what = format!("{side:?}, {pages} pages: {command}");
    disk.reset(&root.join("template"));
    disk.fill(pages);
    let first = run(side, disk, root, command);
    let reader = side.tool("svnlook").arg("cat").arg(disk.repo()).arg("f1").run();
    disk.free();
    assert!(reader.code == 0, "{what}: {reader:?}");
    disk.verify("repo", &what);
    if command.contains("/older") {
        disk.verify("older", &what);
    }
    if first.code != 0 {
        let is_said = [28, 200_030]
            .iter()
            .any(|code| first.error_codes().contains(code));
        assert!(first.code == 1 && is_said, "{what}: {first:?}");
        assert!(command.contains(" load ") || disk.youngest() == 5, "{what}");
        if !before_again.is_empty() {
            let words = before_again.replace("D/", &format!("{}/", disk.at().display()));
            sh(&words);
        }
        // Committed revisions of a load stay, so the whole stream cannot be loaded again.
        if !command.contains(" load ") || disk.youngest() == 5 {
            let again = run(side, disk, root, command);
            assert!(again.code == 0, "{what}: {again:?}");
        }
        disk.verify("repo", &what);
    }
    first.code != 0
}

/// Returns a dump of the repository without dates.
fn dump(disk: &SmallFileSystem) -> String {
    let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(disk.repo()).ok();
    testkit::normalize::mask_dates(&dump.out())
}

#[test]
fn programs_report_a_full_disk_and_damage_nothing() {
    let Some(disk) = SmallFileSystem::mount() else {
        return;
    };
    let folder = scratch();
    prepare(folder.path());
    let is_chosen = std::env::var_os("FULL_DISK_SEEDS").is_some();
    // Every second one: each command once, without space or with some.
    for seed in sample(
        if is_chosen { 1 } else { 2 },
        testkit::seeds("FULL_DISK_SEEDS", 0..30),
    ) {
        let number = (seed as usize) % COMMANDS.len();
        // Small numbers of pages are more frequent.
        let pages = match seed / COMMANDS.len() as u64 {
            0 => 0,
            more => (more * 7 + seed * 3) % (4 << (seed % 5)),
        };
        let failed = attempt(Side::Ours, &disk, folder.path(), number, pages);
        if pages == 0 {
            let ours = dump(&disk);
            let theirs_failed = attempt(Side::Theirs, &disk, folder.path(), number, pages);
            assert_eq!(failed, theirs_failed, "seed {seed}: {}", COMMANDS[number].0);
            assert!(ours == dump(&disk), "seed {seed}: {}", COMMANDS[number].0);
        }
    }
}

/// Commands that write; `U` is the URL.
const WRITES: [&str; 4] = [
    "svnmucc -m text -U U put NOISE new mkdir folder",
    "svnmucc -m text -U U propsetf name LONG f1",
    "svn lock -m comment U/f1",
    "svn propset --revprop -r 1 -F LONG name U",
];

/// Sends a write to a server with `pages` of free space.
fn serve(
    disk: &SmallFileSystem,
    root: &Path,
    server: &mut TestServer,
    url: &str,
    write: &str,
    pages: u64,
    what: &str,
) {
    let send_request = |line: &str| {
        let words = line.split(' ').map(|word| match word {
            "NOISE" => root.join("noise").display().to_string(),
            "LONG" => root.join("long").display().to_string(),
            word => match word.strip_prefix('U') {
                Some(below) if below.is_empty() || below.starts_with('/') => format!("{url}{below}"),
                _ => word.to_owned(),
            },
        });
        let words: Vec<String> = words.collect();
        let tool = Tool::new(&words[0]).args(&words[1..]);
        let user = [
            "--non-interactive",
            "--no-auth-cache",
            "--username",
            "alice",
            "--password",
            "pw",
        ];
        tool.args(user).dir(root).run()
    };
    disk.fill(pages);
    let first = send_request(write);
    let reader = send_request("svn cat U/f2");
    disk.free();
    assert!(
        reader.code == 0 && reader.stdout.len() == 40_000,
        "{what}: {reader:?}"
    );
    assert!(server.is_alive(), "{what}");
    disk.verify("repo", what);
    let is_commit = write.contains("mucc");
    if first.code == 0 && pages > 0 {
        assert_eq!(disk.youngest(), 5 + u64::from(is_commit), "{what}");
        return;
    }
    assert!(first.code == 1 && !first.stderr.is_empty(), "{what}: {first:?}");
    assert_eq!(disk.youngest(), 5, "{what}");
    assert_eq!(disk.transactions(), "", "{what}: a transaction stays");
    let again = send_request(write);
    assert!(again.code == 0, "{what}: {again:?}");
    assert_eq!(disk.youngest(), 5 + u64::from(is_commit), "{what}");
    disk.verify("repo", what);
}

fn served(start: impl Fn(&SmallFileSystem) -> (TestServer, String)) {
    let Some(disk) = SmallFileSystem::mount() else {
        return;
    };
    let folder = scratch();
    prepare(folder.path());
    let is_long = std::env::var_os("FULL_DISK_LONG").is_some();
    let amounts: &[u64] = match is_long {
        true => &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40,
        ],
        false => &[0, 1, 2, 12],
    };
    let cases = WRITES
        .into_iter()
        .flat_map(|write| amounts.iter().map(move |pages| (write, *pages)));
    // 3 has no common divisor with the number of amounts.
    for (write, pages) in sample(if is_long { 1 } else { 3 }, cases) {
        disk.reset(&folder.path().join("template"));
        let (mut server, url) = start(&disk);
        let what = format!("{pages} pages: {write}");
        serve(&disk, folder.path(), &mut server, &url, write, pages, &what);
    }
}

/// The revisions of a group become visible together, but one that has no room does not cost those before it.
#[test]
fn a_load_keeps_the_revisions_that_have_room() {
    let Some(disk) = SmallFileSystem::mount() else {
        return;
    };
    let root = scratch();
    sh(&format!(
        "cd {}; svnadmin create from; for i in $(seq 40); do head -c 3000 /dev/urandom > f; \
         svnmucc -m m -U file://$PWD/from put f f$i > out; done; svnadmin dump -q from > stream",
        root.path().display()
    ));
    for pages in [5, 20, 35, 50, 65] {
        let kept = Side::BOTH.map(|side| {
            sh(&format!("find {} -mindepth 1 -delete", disk.at().display()));
            Tool::new("svnadmin").arg("create").arg(disk.repo()).ok();
            disk.fill(pages);
            let stream = root.path().join("stream");
            let load = side.tool("svnadmin").args(["load", "-q"]).arg(disk.repo());
            let output = load.arg("-F").arg(stream).run();
            assert_eq!(
                output.error_codes().first(),
                Some(&28),
                "{side:?}, {pages} pages: {output:?}"
            );
            disk.free();
            disk.verify("repo", &format!("{side:?}, {pages} pages"));
            disk.youngest()
        });
        // A group keeps 16 pages for its end, of which it then uses a few.
        let [theirs, ours] = kept;
        assert!(ours + 6 >= theirs, "{pages} pages: r{ours} instead of r{theirs}");
    }
}

#[test]
fn a_server_over_svn_survives_a_full_disk() {
    served(|disk| {
        // The log is on the same file system.
        let log = disk.at().join("log").display().to_string();
        let server = TestServer::svnserve(Side::Ours, disk.at(), &["--log-file", &log]);
        let url = server.url("repo");
        (server, url)
    });
}

#[test]
fn a_server_over_http_survives_a_full_disk() {
    served(|disk| {
        let server = TestServer::http_site(Side::Ours, &HttpSite::plain(disk.at()));
        let url = format!("http://127.0.0.1:{}/repo", server.port());
        (server, url)
    });
}
