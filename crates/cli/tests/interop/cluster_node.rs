//! One node of a cluster whose surroundings fail: its database, its disk, its settings.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::engines::{cluster_table, engines, sql, write_secret_key};
use testkit::server::TestServer;
use testkit::tool::sven_binary;
use testkit::{Output, Tool, scratch};

/// A node with an empty repository `r` that everyone may write.
struct OneNode {
    dir: TempDir,
    database: String,
    server: TestServer,
}

impl OneNode {
    fn start() -> OneNode {
        let dir = scratch();
        write_secret_key(dir.path());
        let (port, config) = (testkit::server::free_port(), dir.path().join("sven.toml"));
        let (database, objects) = (engines().new_database(), engines().new_prefix());
        let table = cluster_table(&database, &objects, &engines().endpoint(), "node");
        let text = format!(
            "[listen]\nhttp = '127.0.0.1:{port}'\n[metrics]\neverywhere = true\n[log]\nerror = 'error.log'\n{table}lease = '1s'\npatience = '3s'\n"
        );
        std::fs::write(&config, text).expect("because the directory is the test's");
        run(&config, &["init"]).expect_ok();
        run(&config, &["create", "r"]).expect_ok();
        put(&config, "conf/svnserve.conf", "[general]\nanon-access = write\n");
        let server = TestServer::sven_serve_on(&config, port);
        let node = OneNode {
            dir,
            database,
            server,
        };
        // The socket is open before the signals are handled.
        wait_for("the node is ready", || node.ready().starts_with("ready"));
        node
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.server.addr())
    }

    /// What the error log has.
    fn log(&self) -> String {
        std::fs::read_to_string(self.path("error.log")).unwrap_or_default()
    }

    /// The page that a load balancer reads.
    fn ready(&self) -> String {
        Tool::new("curl").args(["-s", &self.url("-/ready")]).run().out()
    }
}

fn run(config: &Path, args: &[&str]) -> Output {
    cluster_tool(config, args).run()
}

fn put(config: &Path, path: &str, text: &str) {
    cluster_tool(config, &["put", "r", path]).stdin(text).ok();
}

fn cluster_tool(config: &Path, args: &[&str]) -> Tool {
    let (first, rest) = args.split_first().expect("because each call names a command");
    Tool::new(sven_binary())
        .args(["cluster", first, "--config"])
        .arg(config)
        .args(rest)
}

fn svn(args: &[&str]) -> Output {
    Tool::new("svn").args(args).run()
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not so");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_node_ends_when_its_database_was_restored() {
    let mut node = OneNode::start();
    let url = node.url("r");
    for name in ["a", "b", "c"] {
        svn(&["mkdir", "-q", "-m", "x", &format!("{url}/{name}")]).expect_ok();
    }
    sql(
        &node.database,
        "DELETE FROM sven_revision WHERE rev > 1; UPDATE sven_repository SET youngest = 1",
    );
    let late = svn(&["mkdir", "-q", "-m", "x", &format!("{url}/d")]);
    assert_ne!(late.code, 0);
    wait_for("the node ends", || !node.server.is_alive());
    let log = node.log();
    assert!(
        log.contains("The database of the cluster was restored to an earlier state"),
        "{log}"
    );
    assert_eq!(sql(&node.database, "SELECT youngest FROM sven_repository"), "1");
}

/// The old access rules may allow what the new ones forbid.
#[test]
fn a_node_that_cannot_write_access_rules_answers_no_requests() {
    let node = OneNode::start();
    let config = node.path("sven.toml");
    let (url, conf) = (node.url("r"), node.path("node/repositories/r/conf"));
    let (cat, file) = (format!("{url}/f"), node.path("f"));
    std::fs::write(&file, "text\n").expect("because the directory is the test's");
    Tool::new("svnmucc")
        .args(["-m", "x", "put"])
        .arg(&file)
        .arg(&cat)
        .ok();
    assert_eq!(svn(&["cat", &cat]).expect_ok().out(), "text\n");
    assert_eq!(node.ready(), "ready\n");
    // As on a full disk: the file cannot be written.
    let in_the_way = conf.join("authz.new/in-the-way");
    std::fs::create_dir_all(&in_the_way).expect("because the directory is the test's");
    put(&config, "conf/authz.new", "[/]\n* =\n");
    wait_for("the node is not ready", || {
        node.ready().contains("the configuration of a repository")
    });
    let refused = svn(&["cat", &cat]);
    assert_ne!(refused.code, 0);
    let page = Tool::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", &cat])
        .run();
    assert_eq!(page.out(), "500");
    let log = node.log();
    for part in ["the repository 'r'", "conf/authz.new'"] {
        assert!(log.contains(part), "{part} in {log}");
    }
    std::fs::remove_dir_all(conf.join("authz.new")).expect("because it is there");
    wait_for("the node is ready", || node.ready() == "ready\n");
    assert_eq!(svn(&["cat", &cat]).expect_ok().out(), "text\n");
}

#[test]
fn a_repository_that_is_not_of_the_cluster_is_not_removed() {
    let node = OneNode::start();
    let own = node.path("node/repositories/own");
    Tool::new("svnadmin").arg("create").arg(&own).ok();
    let url = format!("file://{}", own.display());
    svn(&["mkdir", "-q", "-m", "x", &format!("{url}/precious")]).expect_ok();
    run(&node.path("sven.toml"), &["create", "own"]).expect_ok();
    wait_for("the repository of the cluster is there", || {
        own.join("db/sven-cluster.conf").exists()
    });
    assert_eq!(svn(&["ls", &node.url("own")]).expect_ok().out(), "");
    let kept: Vec<PathBuf> = std::fs::read_dir(node.path("node/not-of-cluster"))
        .expect("because it was made")
        .map(|entry| entry.expect("because it can be read").path())
        .collect();
    let [kept] = &kept[..] else { panic!("{kept:?}") };
    let url = format!("file://{}", kept.display());
    assert_eq!(svn(&["ls", &url]).expect_ok().out(), "precious/\n");
    let log = node.log();
    for path in [&own, kept] {
        assert!(log.contains(&format!("'{}'", path.display())), "{log}");
    }
}

#[test]
fn a_changed_table_of_the_cluster_needs_a_restart() {
    let node = OneNode::start();
    let config = node.path("sven.toml");
    let reload = |text: &str, count: usize| {
        std::fs::write(&config, text).expect("because the directory is the test's");
        let id = node.server.pid().to_string();
        Tool::new("kill").args(["-HUP", &id]).ok();
        wait_for("the configuration is read", || {
            node.log().matches("The configuration was read anew").count() == count
        });
    };
    let warning = "[cluster] cannot change while the server runs: restart it";
    let text = std::fs::read_to_string(&config).expect("because it is there");
    reload(&text, 1);
    assert!(!node.log().contains(warning), "{}", node.log());
    let elsewhere = text
        .replace("lease = '1s'", "lease = '2s'")
        .replace("directory = 'node'", "directory = 'other'");
    assert!(elsewhere.contains("'other'"), "{elsewhere}");
    reload(&elsewhere, 2);
    assert!(node.log().contains(warning), "{}", node.log());
    // It serves what it has served.
    svn(&["ls", &node.url("r")]).expect_ok();
}

#[test]
fn names_and_epochs_that_are_wrong_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let node = OneNode::start();
    let config = node.path("sven.toml");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let created = cluster_tool(&config, &["create"]).arg(name).run();
    assert_ne!(created.code, 0);
    assert_eq!(sql(&node.database, "SELECT name FROM sven_repository"), "r");
    let dead = run(&config, &["dead", "9999"]);
    assert_eq!(dead.code, 1);
    assert!(
        dead.err().contains("no machine with epoch 9999"),
        "{}",
        dead.err()
    );
}

/// The messages say which of the two cannot be reached, and say it once.
#[test]
fn unreachable_engines_are_named() {
    let node = OneNode::start();
    let config = node.path("sven.toml");
    let text = std::fs::read_to_string(&config).expect("because it is there");
    let without = |key: &str, value: &str| {
        let lines = text.lines().map(|line| match line.starts_with(key) {
            true => format!("{key} = '{value}'\n"),
            false => format!("{line}\n"),
        });
        let short: String = lines.collect();
        std::fs::write(&config, short.replace("patience = '3s'", "patience = '300ms'"))
            .expect("because the directory is the test's");
        run(&config, &["gc"]).err()
    };
    let port = testkit::server::free_port();
    let database = without(
        "database",
        &format!("postgresql://sven@127.0.0.1:{port}/x?sslmode=disable"),
    );
    assert_eq!(
        database.matches("error connecting to server").count(),
        1,
        "{database}"
    );
    assert!(database.contains("Connection refused"), "{database}");
    let objects = without("endpoint", &format!("http://127.0.0.1:{port}"));
    assert!(
        objects.contains("in the object store of the cluster: it cannot be reached: "),
        "{objects}"
    );
    assert!(!objects.contains("os error"), "{objects}");
}
