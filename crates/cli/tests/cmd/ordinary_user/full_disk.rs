//! Programs and servers on a file system without free space: they say so, nothing is damaged or lost, readers are served, and what
//! failed works once there is space again.
//!
//! The space that is left is a number of pages, so that each run ends at another write. `FULL_DISK_SEEDS` chooses the runs of
//! programs, `FULL_DISK_LONG` runs all amounts of space for the servers.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Output, Side, Tool, scratch};

use super::sh;

/// Bytes of the smallest piece of space.
const PAGE: u64 = 4096;

/// A small file system of its own, with the repository `repo`.
struct Disk {
    at: PathBuf,
    _folder: tempfile::TempDir,
}

impl Disk {
    /// `None`, and a line that says so, where no file system may be mounted.
    fn mount() -> Option<Disk> {
        let folder = scratch();
        let at = folder.path().join("disk");
        std::fs::create_dir(&at).expect("because the folder is ours");
        let mounted = Tool::new("mount")
            .args(["-t", "tmpfs", "-o", "size=6m", "none"])
            .arg(&at)
            .run();
        if mounted.code != 0 {
            println!(
                "NOT TESTED: a full disk (no file system may be mounted): {}",
                mounted.err()
            );
            return None;
        }
        Some(Disk { at, _folder: folder })
    }

    fn repo(&self) -> PathBuf {
        self.at.join("repo")
    }

    /// Takes all space but `pages`.
    fn fill(&self, pages: u64) {
        let mut filler = File::create(self.at.join("filler")).expect("because there is space for a name");
        let piece = vec![b'x'; 64 << 10];
        while filler.write_all(&piece).is_ok() {}
        let len = filler.metadata().expect("because it is open").len();
        let len = len.next_multiple_of(PAGE).saturating_sub(pages * PAGE);
        filler.set_len(len).expect("because it becomes shorter");
    }

    fn free(&self) {
        std::fs::remove_file(self.at.join("filler")).expect("because it was made");
    }

    /// The file system as it was when `template` was copied to it.
    fn reset(&self, template: &Path) {
        sh(&format!(
            "find {at} -mindepth 1 -delete; cp -a {template}/. {at}",
            at = self.at.display(),
            template = template.display()
        ));
    }

    fn youngest(&self) -> u64 {
        let youngest = Tool::new("svnlook").arg("youngest").arg(self.repo()).ok();
        youngest.out().trim().parse().expect("because it is a number")
    }

    fn verify(&self, name: &str, what: &str) {
        let repo = self.at.join(name);
        let verified = Tool::new("svnadmin").args(["verify", "-q"]).arg(&repo).run();
        assert!(verified.code == 0, "{what}: {verified:?}");
    }

    fn transactions(&self) -> String {
        Tool::new("svnadmin").arg("lstxns").arg(self.repo()).ok().out()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Tool::new("umount").arg("-l").arg(&self.at).run();
    }
}

/// What is run; `D` is the disk, `R` the repository on it, `O` a folder on another disk. A command that fails for want of space
/// is run again after its second part, when there is space.
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

/// A folder `template` with what lies on the disk at first, and beside it the files of `O`.
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

fn run(side: Side, disk: &Disk, root: &Path, command: &str) -> Output {
    let words = command.split(' ').map(|word| match word.split_once('/') {
        _ if word == "R" => disk.repo().display().to_string(),
        Some(("D", below)) => disk.at.join(below).display().to_string(),
        Some(("O", below)) => root.join(below).display().to_string(),
        _ => word.to_owned(),
    });
    let words: Vec<String> = words.collect();
    side.tool(&words[0]).args(&words[1..]).run()
}

/// Runs a command with `pages` left, then again with enough space. Returns whether it failed at first, and a dump of what came of it.
fn attempt(side: Side, disk: &Disk, root: &Path, number: usize, pages: u64) -> (bool, Vec<u8>) {
    let (command, before_again) = COMMANDS[number];
    let what = format!("{side:?}, {pages} pages: {command}");
    disk.reset(&root.join("template"));
    disk.fill(pages);
    let first = run(side, disk, root, command);
    let reader = side.tool("svnlook").arg("cat").arg(disk.repo()).arg("f1").run();
    disk.free();
    assert!(reader.code == 0, "{what}: {reader:?}");
    disk.verify("repo", &what);
    disk.verify("older", &what);
    if first.code != 0 {
        let is_said = [28, 200_030]
            .iter()
            .any(|code| first.error_codes().contains(code));
        assert!(first.code == 1 && is_said, "{what}: {first:?}");
        assert!(command.contains(" load ") || disk.youngest() == 5, "{what}");
        if !before_again.is_empty() {
            let words = before_again.replace("D/", &format!("{}/", disk.at.display()));
            sh(&words);
        }
        // What a load has committed is there: the rest of the stream is another's business.
        if !command.contains(" load ") || disk.youngest() == 5 {
            let again = run(side, disk, root, command);
            assert!(again.code == 0, "{what}: {again:?}");
        }
        disk.verify("repo", &what);
    }
    let dumped = Tool::new("svnadmin").args(["dump", "-q"]).arg(disk.repo()).ok();
    (first.code != 0, dumped.stdout)
}

#[test]
fn programs_say_that_the_disk_is_full_and_damage_nothing() {
    let Some(disk) = Disk::mount() else { return };
    let folder = scratch();
    prepare(folder.path());
    for seed in testkit::seeds("FULL_DISK_SEEDS", 0..30) {
        let number = (seed as usize) % COMMANDS.len();
        // Few pages more often than many.
        let pages = match seed / COMMANDS.len() as u64 {
            0 => 0,
            more => (more * 7 + seed * 3) % (4 << (seed % 5)),
        };
        let (failed, ours) = attempt(Side::Ours, &disk, folder.path(), number, pages);
        if pages == 0 {
            let (theirs_failed, theirs) = attempt(Side::Theirs, &disk, folder.path(), number, pages);
            assert_eq!(failed, theirs_failed, "seed {seed}: {}", COMMANDS[number].0);
            let tidied = |dump: &[u8]| testkit::normalize::mask_dates(&String::from_utf8_lossy(dump));
            assert!(
                tidied(&ours) == tidied(&theirs),
                "seed {seed}: {}",
                COMMANDS[number].0
            );
        }
    }
}

/// Requests that write; `U` is the URL.
const WRITES: [&str; 4] = [
    "svnmucc -m text -U U put NOISE new mkdir folder",
    "svnmucc -m text -U U propsetf name LONG f1",
    "svn lock -m comment U/f1",
    "svn propset --revprop -r 1 -F LONG name U",
];

/// A server on the disk, asked to write with `pages` left.
fn serve(disk: &Disk, root: &Path, server: &mut TestServer, url: &str, write: &str, pages: u64, what: &str) {
    let ask = |line: &str| {
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
    let first = ask(write);
    let reader = ask("svn cat U/f2");
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
    let again = ask(write);
    assert!(again.code == 0, "{what}: {again:?}");
    assert_eq!(disk.youngest(), 5 + u64::from(is_commit), "{what}");
    disk.verify("repo", what);
}

fn served(start: impl Fn(&Disk) -> (TestServer, String)) {
    let Some(disk) = Disk::mount() else { return };
    let folder = scratch();
    prepare(folder.path());
    let is_long = std::env::var_os("FULL_DISK_LONG").is_some();
    let amounts: &[u64] = match is_long {
        true => &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40,
        ],
        false => &[0, 1, 2, 12],
    };
    for write in WRITES {
        for &pages in amounts {
            disk.reset(&folder.path().join("template"));
            let (mut server, url) = start(&disk);
            let what = format!("{pages} pages: {write}");
            serve(&disk, folder.path(), &mut server, &url, write, pages, &what);
        }
    }
}

#[test]
fn a_server_over_svn_outlives_a_full_disk() {
    served(|disk| {
        // Its log is on the same disk.
        let log = disk.at.join("log").display().to_string();
        let server = TestServer::svnserve(Side::Ours, &disk.at, &["--log-file", &log]);
        let url = server.url("repo");
        (server, url)
    });
}

#[test]
fn a_server_over_http_outlives_a_full_disk() {
    served(|disk| {
        let server = TestServer::http_site(Side::Ours, &HttpSite::plain(&disk.at));
        let url = format!("http://127.0.0.1:{}/repo", server.port());
        (server, url)
    });
}
