//! The jobs of a cluster by command: `svnadmin pack` and `hotcopy` on the directory of a node say what the real tool says, and
//! `sven cluster scrub`, `gc` and `fsck` agree about the objects.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::engines::{cluster_table, engines, sql, write_secret_key};
use testkit::server::TestServer;
use testkit::tool::sven_binary;
use testkit::{Output, Side, Spec, Tool, build, scratch};

/// A node that does no jobs by itself.
struct OneNode {
    dir: TempDir,
    database: String,
    _server: TestServer,
}

impl OneNode {
    /// Starts it with a copy of a repository.
    fn start(repository: &Path) -> OneNode {
        let dir = scratch();
        write_secret_key(dir.path());
        let (port, config) = (testkit::server::free_port(), dir.path().join("sven.toml"));
        let (database, objects) = (engines().new_database(), engines().new_prefix());
        let table = cluster_table(&database, &objects, &engines().endpoint(), "node");
        let text = format!(
            "[listen]\nhttp = '127.0.0.1:{port}'\n{table}pack = false\ngc = 'never'\nscrub = 'never'\n"
        );
        std::fs::write(&config, text).unwrap();
        run(&config, &["init"]).expect_ok();
        run(&config, &["import", "-q", &repository.to_string_lossy(), "r"]).expect_ok();
        let _server = TestServer::sven_serve_on(&config, port);
        OneNode {
            dir,
            database,
            _server,
        }
    }

    fn cluster(&self, args: &[&str]) -> Output {
        run(&self.path("sven.toml"), args)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The directory of the repository.
    fn repository(&self) -> PathBuf {
        self.path("node/repositories/r")
    }
}

/// Runs `sven cluster` with these settings.
fn run(config: &Path, args: &[&str]) -> Output {
    let (first, rest) = args.split_first().unwrap();
    Tool::new(sven_binary())
        .args(["cluster", first, "--config"])
        .arg(config)
        .args(rest)
        .run()
}

fn svnadmin(side: Side, args: &[&str], repositories: &[&Path]) -> String {
    side.tool("svnadmin").args(args).args(repositories).ok().out()
}

#[test]
fn what_cannot_be_done_in_the_directory_of_a_node_is_refused() {
    let repo = build(&Spec::small("1.14")).copy();
    let node = OneNode::start(repo.path());
    let shared = node.repository();
    let files = |dir: &Path| std::fs::read_dir(dir).unwrap().count();
    let before = files(&shared);
    let inside = shared.join("copy");
    for (program, args, code) in [
        (
            "svnadmin",
            vec![Path::new("hotcopy"), &shared, &inside],
            "E200004",
        ),
        (
            "svnadmin",
            vec![Path::new("hotcopy"), &shared, &shared],
            "E200004",
        ),
        ("svnadmin", vec![Path::new("recover"), &shared], "E160033"),
        ("svnadmin", vec![Path::new("upgrade"), &shared], "E160033"),
        (
            "svnadmin",
            vec![Path::new("freeze"), &shared, Path::new("true")],
            "E200007",
        ),
        ("svnfsfs", vec![Path::new("stats"), &shared], "E160033"),
    ] {
        let output = Side::Ours.tool(program).args(&args).run();
        assert_eq!(output.code, 1, "{args:?}: {}", output.err());
        assert!(output.err().contains(code), "{args:?}: {}", output.err());
    }
    assert_eq!(files(&shared), before);
}

#[test]
fn jobs_by_command() {
    let repo = build(&Spec::small("1.14").shard(4)).copy();
    let node = OneNode::start(repo.path());
    let shared = node.repository();
    for _ in 0..2 {
        // The second time nothing is left.
        let printed = svnadmin(Side::Ours, &["pack"], &[&shared]);
        assert_eq!(printed, svnadmin(Side::Theirs, &["pack"], &[repo.path()]));
    }
    let (ours, theirs) = (node.path("ours"), node.path("theirs"));
    assert_eq!(
        svnadmin(Side::Ours, &["hotcopy"], &[&shared, &ours]),
        svnadmin(Side::Theirs, &["hotcopy"], &[repo.path(), &theirs])
    );
    let mkdir = |repository: &Path| {
        let url = format!("file://{}/new", repository.display());
        Side::Ours
            .tool("svn")
            .args(["mkdir", "-q", "-m", "new", &url])
            .ok();
    };
    mkdir(&shared);
    let printed = svnadmin(Side::Ours, &["hotcopy", "--incremental"], &[&shared, &ours]);
    assert_eq!(printed, format!("* Copied revision {}.\n", repo.youngest() + 1));
    svnadmin(Side::Theirs, &["verify", "-q"], &[&ours]);
    assert_eq!(
        svnadmin(Side::Theirs, &["dump", "-q"], &[&ours]),
        svnadmin(Side::Ours, &["dump", "-q"], &[&shared])
    );
    let uuid = "6f3a4cf4-0b7c-4b8e-9d8e-d2c3a5d2a001";
    Side::Ours
        .tool("svnadmin")
        .arg("setuuid")
        .arg(&shared)
        .arg(uuid)
        .ok();
    let printed = Side::Ours.tool("svnlook").arg("uuid").arg(&shared).ok().out();
    assert_eq!(printed.trim(), uuid);
    svnadmin(Side::Ours, &["hotcopy", "-q", "--incremental"], &[&shared, &ours]);
    let printed = Side::Theirs.tool("svnlook").arg("uuid").arg(&ours).ok().out();
    assert_eq!(printed.trim(), uuid);
    let scrubbed = node.cluster(&["scrub", "r"]).expect_ok().out();
    assert!(scrubbed.contains(" objects, "), "{scrubbed}");
    let refused = node.cluster(&["gc", "--grace", "0"]);
    assert!(
        refused.err().contains("'gc-grace' in [cluster], 172800 seconds"),
        "{refused:?}"
    );
    let config = std::fs::read_to_string(node.path("sven.toml")).unwrap();
    std::fs::write(node.path("gc.toml"), config + "gc-grace = '0s'\n").unwrap();
    let collected = run(&node.path("gc.toml"), &["gc", "--grace", "0"])
        .expect_ok()
        .out();
    assert!(collected.contains("0 objects to remove later"), "{collected}");
    let status = node.cluster(&["status"]).expect_ok().out();
    // One repository is not all.
    for line in [
        "\n  gc     (all)  ended ",
        "\n  scrub  (all)  not completed yet by a command\n",
    ] {
        assert!(status.contains(line), "{status}");
    }
    let checked = node.cluster(&["fsck"]).expect_ok().err();
    assert!(
        checked.contains("PostgreSQL does not wait for its disk ('fsync' is off)"),
        "{checked}"
    );
    svnadmin(Side::Ours, &["verify", "-q"], &[&shared]);
}

#[test]
fn verify_reads_the_rows_for_rep_sharing() {
    let repo = build(&Spec::small("1.14").shard(4)).copy();
    let node = OneNode::start(repo.path());
    let shared = node.repository();
    assert_eq!(
        svnadmin(Side::Ours, &["verify"], &[&shared]),
        svnadmin(Side::Theirs, &["verify"], &[repo.path()])
    );
    sql(
        &node.database,
        "UPDATE sven_rep SET item = item + 1000 WHERE rev = (SELECT max(rev) FROM sven_rep)",
    );
    let output = Side::Ours.tool("svnadmin").arg("verify").arg(&shared).run();
    assert_eq!(output.code, 1, "{}", output.err());
    assert!(
        output.err().contains("* Error verifying repository metadata."),
        "{}",
        output.err()
    );
}

/// A lock expires by the database's clock, not by those of the machines that take and read it.
#[test]
fn locks_expire_by_one_clock() {
    let repo = build(&Spec::small("1.14")).copy();
    let node = OneNode::start(repo.path());
    for (path, seconds) in [("/iota", 300), ("/A/mu", -300)] {
        sql(
            &node.database,
            &format!(
                "INSERT INTO sven_lock (repository, path, token, owner, is_dav_comment, created, expires) \
                 SELECT id, '{path}', 'opaquelocktoken:of-{seconds}', 'alice', false, 1, \
                 ((extract(epoch FROM clock_timestamp()) + {seconds}) * 1000000)::bigint FROM sven_repository"
            ),
        );
    }
    sql(
        &node.database,
        "UPDATE sven_repository SET locks_version = locks_version + 1",
    );
    let locked = |clock: &str| {
        let listed = Side::Ours
            .tool("svnadmin")
            .arg("lslocks")
            .arg(node.repository())
            .under("faketime", &["-f", clock])
            .ok();
        let paths = listed.out();
        paths
            .lines()
            .filter_map(|line| line.strip_prefix("Path: ").map(str::to_owned))
            .collect::<Vec<_>>()
    };
    for clock in ["+0", "+9m", "-9m"] {
        assert_eq!(locked(clock), ["/iota"], "{clock}");
    }
}
