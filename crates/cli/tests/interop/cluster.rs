//! A cluster of three nodes: the real client works with it, whichever node gets each of its requests, and what it has made is a
//! repository that the real tools read.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::engines::{cluster_table, engines, write_secret_key};
use testkit::fake_clock::FakeClock;
use testkit::fault_proxy::{FaultProxy, Framing, ProxyFault};
use testkit::server::TestServer;
use testkit::spreading_proxy::SpreadingProxy;
use testkit::tool::sven_binary;
use testkit::{Output, Side, Spec, Tool, build, sample, scratch};

/// Nodes with an engine each in common, and a proxy before them.
struct TestNodes {
    dir: TempDir,
    nodes: Vec<Option<TestServer>>,
    proxy: SpreadingProxy,
}

impl TestNodes {
    /// Makes the tables and a repository `r` that everyone may write, and starts three nodes.
    fn start() -> TestNodes {
        TestNodes::prepared(&engines().new_database(), |test| {
            test.cluster(&["create", "r"]).expect_ok();
            open_to_all(test);
        })
    }

    /// Makes the tables in an empty database, runs `prepare` on the cluster, and starts three nodes.
    fn prepared(database: &str, prepare: impl Fn(&TestNodes)) -> TestNodes {
        let dir = scratch();
        write_secret_key(dir.path());
        let (engines, objects) = (engines(), engines().new_prefix());
        let mut test = TestNodes {
            proxy: SpreadingProxy::start(Vec::new()),
            nodes: Vec::new(),
            dir,
        };
        let ports: Vec<u16> = (0..3).map(|_| testkit::server::free_port()).collect();
        for (node, port) in ports.iter().enumerate() {
            let table = cluster_table(database, &objects, &engines.endpoint(), &format!("node{node}"));
            let text = format!(
                "[listen]\nhttp = '127.0.0.1:{port}'\n[metrics]\neverywhere = true\n{table}\
                 url = 'http://127.0.0.1:{port}'\nlease = '2s'\npatience = '3s'\n"
            );
            std::fs::write(test.config(node), text).unwrap();
        }
        test.cluster(&["init"]).expect_ok();
        prepare(&test);
        for (node, port) in ports.iter().enumerate() {
            let server = TestServer::sven_serve_on(&test.config(node), *port);
            test.nodes.push(Some(server));
        }
        test.proxy.set_servers(test.addresses());
        test
    }

    fn config(&self, node: usize) -> PathBuf {
        self.dir.path().join(format!("node{node}.toml"))
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().flatten().map(TestServer::addr).collect()
    }

    /// Runs `sven cluster` with the settings of the first node.
    fn cluster(&self, args: &[&str]) -> Output {
        self.cluster_tool(args).run()
    }

    fn cluster_tool(&self, args: &[&str]) -> Tool {
        let (first, rest) = args.split_first().unwrap();
        Tool::new(sven_binary())
            .args(["cluster", first, "--config"])
            .arg(self.config(0))
            .args(rest)
    }

    /// Replaces a file of the repository `r`.
    fn put(&self, path: &str, text: &str) {
        self.cluster_tool(&["put", "r", path]).stdin(text).ok();
    }

    /// Waits until each node has this content of a file, or no such file.
    fn wait_for_file(&self, path: &str, text: Option<&str>) {
        for node in 0..3 {
            let file = self.repository(node, "r").join(path);
            wait_for(path, || std::fs::read_to_string(&file).ok().as_deref() == text);
        }
    }

    /// The directory of a repository at a node.
    fn repository(&self, node: usize, name: &str) -> PathBuf {
        self.dir.path().join(format!("node{node}/repositories/{name}"))
    }

    fn url(&self, below: &str) -> String {
        format!("http://127.0.0.1:{}/{below}", self.proxy.port())
    }

    /// Exports a repository, which the real tool verifies.
    fn verified_export(&self, name: &str) -> PathBuf {
        let to = self.dir.path().join(format!("{name}-exported"));
        self.cluster(&["export", "-q", name, &to.to_string_lossy()])
            .expect_ok();
        Tool::new("svnadmin").args(["verify", "-q"]).arg(&to).ok();
        to
    }
}

fn svn(args: &[&str]) -> Output {
    Tool::new("svn").args(args).run()
}

fn dump(side: Side, repository: &Path) -> Vec<u8> {
    side.tool("svnadmin")
        .args(["dump", "-q"])
        .arg(repository)
        .ok()
        .stdout
}

/// Lets everyone write.
fn open_to_all(test: &TestNodes) {
    test.put("conf/svnserve.conf", "[general]\nanon-access = write\n");
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_there() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn requests_of_one_client_reach_all_nodes() {
    let test = TestNodes::start();
    let (url, wc) = (test.url("r"), test.dir.path().join("wc"));
    svn(&["mkdir", "-q", "-m", "one", &format!("{url}/trunk")]).expect_ok();
    svn(&["checkout", "-q", &format!("{url}/trunk"), &wc.to_string_lossy()]).expect_ok();
    let in_wc = |args: &[&str]| Tool::new("svn").args(args).dir(&wc).ok();
    for file in 0..12 {
        std::fs::write(
            wc.join(format!("f{file}")),
            format!("line of {file}\n").repeat(file * 900 + 1),
        )
        .unwrap();
    }
    std::fs::create_dir(wc.join("d")).unwrap();
    std::fs::write(wc.join("d/g"), "g\n").unwrap();
    in_wc(&["add", "-q", "--force", "."]);
    in_wc(&["commit", "-q", "-m", "two"]);
    in_wc(&["copy", "-q", "d", "e"]);
    in_wc(&["propset", "-q", "p", "v", "f1"]);
    in_wc(&["delete", "-q", "f2"]);
    std::fs::write(wc.join("f3"), "changed\n").unwrap();
    in_wc(&["commit", "-q", "-m", "three"]);
    in_wc(&["update", "-q"]);
    svn(&[
        "copy",
        "-q",
        "-m",
        "four",
        &format!("{url}/trunk"),
        &format!("{url}/branch"),
    ])
    .expect_ok();
    Tool::new("svnmucc")
        .args([
            "-m",
            "five",
            "-U",
            &url,
            "mkdir",
            "x",
            "cp",
            "HEAD",
            "trunk/f3",
            "x/f3",
            "rm",
            "branch/f4",
        ])
        .ok();
    // An out-of-date commit is refused by whichever node gets it.
    let old = test.dir.path().join("old");
    svn(&[
        "checkout",
        "-q",
        "-r2",
        &format!("{url}/trunk"),
        &old.to_string_lossy(),
    ])
    .expect_ok();
    std::fs::write(old.join("f3"), "other\n").unwrap();
    let refused = Tool::new("svn")
        .args(["commit", "-q", "-m", "late"])
        .dir(&old)
        .run();
    assert!(refused.err().contains("E155011"), "{}", refused.err());
    // Each node shows the same.
    let logs: Vec<String> = test
        .addresses()
        .iter()
        .map(|node| svn(&["log", "-v", &format!("http://{node}/r")]).out())
        .collect();
    assert!(logs[0].contains("\nr5 | "), "{}", logs[0]);
    assert_eq!(logs[0], logs[1]);
    assert_eq!(logs[0], logs[2]);
    assert!(test.proxy.requests() > 60, "{}", test.proxy.requests());
    let exported = test.verified_export("r");
    let expected = dump(Side::Theirs, &exported);
    for node in 0..3 {
        assert!(
            dump(Side::Ours, &test.repository(node, "r")) == expected,
            "node {node}"
        );
        Side::Ours
            .tool("svnadmin")
            .args(["verify", "-q"])
            .arg(test.repository(node, "r"))
            .ok();
    }
}

#[test]
fn old_clients_and_plain_webdav_reach_all_nodes() {
    let test = TestNodes::start();
    for node in 0..3 {
        let text = std::fs::read_to_string(test.config(node)).unwrap();
        let location = format!(
            "\n[[location]]\npath = '/v1'\nparent = 'node{node}/repositories'\nadvertise-v2 = false\n"
        );
        std::fs::write(test.config(node), text + &location).unwrap();
    }
    let test = test.restarted();
    let url = test.url("v1/r");
    svn(&["mkdir", "-q", "-m", "one", &format!("{url}/trunk")]).expect_ok();
    let wc = test.dir.path().join("wc");
    svn(&["checkout", "-q", &format!("{url}/trunk"), &wc.to_string_lossy()]).expect_ok();
    for file in ["a", "b", "c"] {
        std::fs::write(wc.join(file), file.repeat(10)).unwrap();
    }
    Tool::new("svn").args(["add", "-q", "--force", "."]).dir(&wc).ok();
    Tool::new("svn").args(["commit", "-q", "-m", "two"]).dir(&wc).ok();
    let log = svn(&["log", "-q", &url]).stdout;
    assert_eq!(
        String::from_utf8_lossy(&log).matches("\nr").count(),
        2,
        "{}",
        String::from_utf8_lossy(&log)
    );
    test.verified_export("r");
}

#[test]
fn a_node_that_dies_takes_nothing_with_it() {
    let mut test = TestNodes::start();
    let url = test.url("r");
    let rounds: Vec<usize> = sample(2, 0..3).collect();
    for &round in &rounds {
        svn(&["mkdir", "-q", "-m", "x", &format!("{url}/before{round}")]).expect_ok();
        let node = test.nodes[round].take().unwrap();
        // The value is dropped: the process is killed.
        drop(node);
        test.proxy.set_servers(test.addresses());
        svn(&["mkdir", "-q", "-m", "x", &format!("{url}/after{round}")]).expect_ok();
        // It comes back with an empty disk.
        let port = node_port(&test.config(round));
        std::fs::remove_dir_all(test.dir.path().join(format!("node{round}"))).unwrap();
        test.nodes[round] = Some(TestServer::sven_serve_on(&test.config(round), port));
        test.proxy.set_servers(test.addresses());
    }
    let list = svn(&["list", &url]).stdout;
    assert_eq!(String::from_utf8_lossy(&list).lines().count(), 2 * rounds.len());
    test.verified_export("r");
}

/// Begins a transaction over HTTP, and returns its name.
fn begin_transaction(node: SocketAddr) -> String {
    let begun = Tool::new("curl")
        .args(["-s", "-D", "-", "-H", "content-type: application/vnd.svn-skel"])
        .args(["--data", "( create-txn )", &format!("http://{node}/r/!svn/me")])
        .ok()
        .out();
    let name = begun.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("svn-txn-name: ")
            .map(|name| name.trim().to_owned())
    });
    name.unwrap()
}

/// Sends a file of a transaction to a node, and returns the status.
fn put(to: SocketAddr, transaction: &str, file: &str) -> String {
    let url = format!("http://{to}/r/!svn/txr/{transaction}/{file}");
    let args = [
        "-s",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "-X",
        "PUT",
        "--data",
        "text",
    ];
    Tool::new("curl").args(args).arg(url).ok().out()
}

/// A node that is started again removes its transactions. Its clients are told that they are out of date, and can try again.
#[test]
fn transactions_of_a_restarted_node_are_out_of_date() {
    let mut test = TestNodes::start();
    let [first, second, _] = test.addresses()[..] else {
        panic!("three nodes")
    };
    for is_killed in [true, false] {
        let name = begin_transaction(first);
        assert_eq!(put(second, &name, "a"), "201");
        let node = test.nodes[0].take().unwrap();
        match is_killed {
            true => drop(node),
            false => assert!(node.terminate().is_some_and(|status| status.success())),
        }
        let port = node_port(&test.config(0));
        test.nodes[0] = Some(TestServer::sven_serve_on(&test.config(0), port));
        for node in [first, second] {
            assert_eq!(put(node, &name, "b"), "409", "{node}, killed: {is_killed}");
        }
    }
}

/// A node that is paused answers nothing and closes nothing. A request that was passed to it ends when its lease does.
#[test]
fn a_silent_node_is_not_waited_for() {
    let test = TestNodes::start();
    let [first, second, _] = test.addresses()[..] else {
        panic!("three nodes")
    };
    let name = begin_transaction(first);
    assert_eq!(put(second, &name, "a"), "201");
    let silent = test.nodes[0].as_ref().unwrap().pid().to_string();
    Tool::new("kill").args(["-s", "STOP", &silent]).ok();
    let begun = Instant::now();
    assert_eq!(put(second, &name, "b"), "409");
    // The lease is two seconds long, the limit for silent servers a minute.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    Tool::new("kill").args(["-s", "CONT", &silent]).ok();
}

#[test]
fn a_repository_of_files_is_served_by_the_cluster_as_it_was() {
    let spec = Spec::small("1.14").shard(4).pack(testkit::repo::When::After);
    let repo = build(&spec);
    let test = TestNodes::prepared(&engines().new_database(), |test| {
        test.cluster(&["import", "-q", &repo.path().to_string_lossy(), "r"])
            .expect_ok();
        open_to_all(test);
    });
    let expected = dump(Side::Theirs, repo.path());
    assert!(dump(Side::Ours, &test.repository(1, "r")) == expected);
    let exported = test.verified_export("r");
    assert!(dump(Side::Theirs, &exported) == expected);
    svn(&["mkdir", "-q", "-m", "x", &test.url("r/more")]).expect_ok();
    let again = test.verified_export("r");
    let youngest = Tool::new("svnlook").arg("youngest").arg(&again).ok().stdout;
    let before = Tool::new("svnlook").arg("youngest").arg(repo.path()).ok().stdout;
    let number = |text: &[u8]| String::from_utf8_lossy(text).trim().parse::<u64>().unwrap();
    assert_eq!(number(&youngest), number(&before) + 1);
    let checked = test.cluster(&["fsck"]);
    checked.expect_ok();
}

#[test]
fn configuration_and_hooks_reach_all_nodes() {
    let test = TestNodes::start();
    let url = test.url("r");
    let mkdir = |name: &str| svn(&["mkdir", "-q", "-m", "x", &format!("{url}/{name}")]);
    mkdir("a").expect_ok();
    let hook = "#!/bin/sh\necho 'closed for today' >&2\nexit 1\n";
    test.put("hooks/pre-commit", hook);
    test.wait_for_file("hooks/pre-commit", Some(hook));
    // Each commit reaches another node.
    for name in ["b", "c", "d"] {
        let refused = mkdir(name);
        assert!(refused.err().contains("closed for today"), "{}", refused.err());
    }
    let listed = test.cluster(&["files", "r"]).expect_ok().out();
    assert!(listed.contains("\n755        45  hooks/pre-commit\n"), "{listed}");
    assert_eq!(
        test.cluster(&["get", "r", "hooks/pre-commit"]).expect_ok().out(),
        hook
    );
    test.cluster(&["remove", "r", "hooks/pre-commit"]).expect_ok();
    test.wait_for_file("hooks/pre-commit", None);
    mkdir("b").expect_ok();
    // A whole directory. What a node has of its own stays.
    let own = test.repository(1, "r").join("conf/own");
    std::fs::write(&own, "of the node").unwrap();
    let dir = test.dir.path().join("source");
    std::fs::create_dir_all(dir.join("conf/groups")).unwrap();
    std::fs::write(dir.join("conf/svnserve.conf"), "[general]\nanon-access = read\n").unwrap();
    std::fs::write(dir.join("conf/groups/x"), "x\n").unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"conf/caf\xe9");
    std::fs::write(dir.join(odd), "not UTF-8\n").unwrap();
    test.cluster(&["push", "r", &dir.to_string_lossy()]).expect_ok();
    test.wait_for_file("conf/groups/x", Some("x\n"));
    for node in 0..3 {
        let at = test.repository(node, "r");
        wait_for("the last file", || !at.join("hooks/pre-commit.tmpl").exists());
        assert_eq!(std::fs::read(at.join(odd)).unwrap(), b"not UTF-8\n");
    }
    assert!(own.exists());
    let refused = mkdir("e");
    assert_ne!(refused.code, 0, "only reading is allowed");
    // An export has them, too.
    let exported = test.verified_export("r");
    assert_eq!(std::fs::read(exported.join(odd)).unwrap(), b"not UTF-8\n");
    // A path that leads elsewhere is refused.
    let refused = test.cluster(&["put", "r", "db/format"]);
    assert!(refused.err().contains("E125001"), "{}", refused.err());
    assert_ne!(test.cluster(&["get", "r", "conf/none"]).code, 0);
}

#[test]
fn a_load_balancer_learns_that_the_database_is_gone() {
    let proxy = FaultProxy::start(engines().postgres_address(), Framing::Bytes);
    let database = engines().new_database();
    let [direct, by_proxy] =
        [engines().postgres_address(), proxy.address()].map(|address| address.to_string());
    assert!(database.contains(&direct), "{database}");
    let test = TestNodes::prepared(&database.replace(&direct, &by_proxy), |test| {
        test.cluster(&["create", "r"]).expect_ok();
        open_to_all(test);
    });
    let page = |name: &str| {
        let url = format!("http://{}/-/{name}", test.addresses()[0]);
        let output = Tool::new("curl")
            .args(["-s", "-w", "\n%{http_code}", &url])
            .ok()
            .out();
        let (text, status) = output.rsplit_once('\n').unwrap();
        (status.to_owned(), text.to_owned())
    };
    svn(&[
        "mkdir",
        "-q",
        "-m",
        "x",
        &format!("http://{}/r/a", test.addresses()[0]),
    ])
    .expect_ok();
    assert_eq!(page("ready"), ("200".to_owned(), "ready\n".to_owned()));
    let status = test.cluster(&["status"]).expect_ok();
    assert!(status.err().contains("does not wait for its disk"), "{status:?}");
    let status = status.out();
    for part in [
        "database  ",
        "objects   ",
        "  alive  node0  ",
        "  alive  node2  ",
        "         r1  r",
    ] {
        assert!(status.contains(part), "{part} in {status}");
    }
    // The page of the metrics has each of them.
    let (_, metrics) = page("metrics");
    let documented = include_str!("../../../../docs/METRICS.md");
    let rows = documented
        .lines()
        .filter_map(|line| line.strip_prefix("| `sven_cluster_"));
    let mut documented: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    documented.sort_unstable();
    let mut exposed: Vec<String> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE sven_cluster_"))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            _ => name.to_owned(),
        })
        .collect();
    exposed.sort_unstable();
    assert_eq!(documented, exposed);
    assert!(
        metrics.contains("sven_cluster_publications_total{outcome=\"published\"} 1\n"),
        "{metrics}"
    );
    proxy.set(ProxyFault::Cut);
    wait_for("the node is not ready", || page("ready").0 == "503");
    assert_eq!(page("health").0, "200");
    let (_, metrics) = page("metrics");
    assert!(metrics.contains("sven_cluster_ready{} 0\n"), "{metrics}");
    assert_ne!(test.cluster(&["status"]).code, 0);
    proxy.set(ProxyFault::None);
    wait_for("the node is ready again", || page("ready").0 == "200");
    svn(&[
        "mkdir",
        "-q",
        "-m",
        "x",
        &format!("http://{}/r/b", test.addresses()[0]),
    ])
    .expect_ok();
}

fn node_port(config: &Path) -> u16 {
    let text = std::fs::read_to_string(config).unwrap();
    let at = text.find("http = '127.0.0.1:").unwrap();
    let rest = &text[at + "http = '127.0.0.1:".len()..];
    rest[..rest.find('\'').unwrap()].parse().unwrap()
}

impl TestNodes {
    /// Starts all nodes again, after their settings were changed.
    fn restarted(mut self) -> TestNodes {
        for node in 0..3 {
            self.nodes[node] = None;
            let port = node_port(&self.config(node));
            self.nodes[node] = Some(TestServer::sven_serve_on(&self.config(node), port));
        }
        self.proxy.set_servers(self.addresses());
        self
    }
}

/// Each block is read from the object store once, by the node that is responsible for it. No node depends on that one.
#[test]
fn nodes_fetch_from_each_other() {
    let mut test = TestNodes::prepared(&engines().new_database(), |test| {
        test.cluster(&["create", "r"]).expect_ok();
        open_to_all(test);
        for node in 0..3 {
            let text = std::fs::read_to_string(test.config(node)).unwrap();
            std::fs::write(test.config(node), text + "fetch-from-nodes = true\n").unwrap();
        }
    });
    let put = |test: &TestNodes, name: &str, length: usize| {
        let mut bytes = vec![0; length];
        let seed = name.len() as u64;
        let mut random = <rand_chacha::ChaCha8Rng as rand::SeedableRng>::seed_from_u64(seed);
        rand::Rng::fill(&mut random, &mut bytes[..]);
        let (url, source) = (test.url("r"), test.dir.path().join("source"));
        std::fs::write(&source, &bytes).unwrap();
        Tool::new("svnmucc")
            .args(["-m", "x", "-U", &url, "put"])
            .arg(&source)
            .arg(name)
            .ok();
        bytes
    };
    // Every node knows every other one before the first is asked.
    std::thread::sleep(Duration::from_secs(1));
    let length = 6 << 20;
    let first = put(&test, "first", length);
    let read_all = |test: &TestNodes, name: &str, text: &[u8]| {
        for address in test.addresses() {
            let read = svn(&["cat", &format!("http://{address}/r/{name}")]);
            assert!(read.stdout == text, "{name} of {address}");
        }
    };
    let sum = |test: &TestNodes, line: &str| -> u64 {
        let value = |address: &SocketAddr| {
            let url = format!("http://{address}/-/metrics");
            let page = Tool::new("curl").args(["-s", &url]).ok().out();
            let found = page.lines().find_map(|text| text.strip_prefix(line));
            let number = found.unwrap().rsplit(' ').next().unwrap();
            number.parse::<u64>().unwrap()
        };
        test.addresses().iter().map(value).sum()
    };
    read_all(&test, "first", &first);
    let fetched = sum(&test, "sven_cluster_fetched_bytes_total");
    let sent = sum(&test, "sven_cluster_node_blocks_total{result=\"sent\"}");
    let bounds = length as u64..length as u64 * 3 / 2;
    assert!(bounds.contains(&fetched), "{fetched} of {length}");
    // Each of the blocks was needed by three nodes, and sent to two of them.
    assert!(sent >= 2 * (length as u64 >> 20), "{sent}");
    // A request that no node has sealed finds nothing.
    let address = test.addresses()[0];
    for seal in ["", "x-sven-seal: 00ff", "x-sven-seal: no"] {
        let refused = Tool::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", seal])
            .arg(format!("http://{address}/-/block?object&0&10"))
            .ok();
        assert_eq!(refused.out(), "404", "{seal}");
    }
    // One that dies is not waited for. The text has so many blocks that it is responsible for some of them.
    let second = put(&test, "second", 12 << 20);
    drop(test.nodes[2].take());
    read_all(&test, "second", &second);
    assert!(sum(&test, "sven_cluster_node_blocks_total{result=\"failed\"}") > 0);
    let third = put(&test, "the third", 2 << 20);
    read_all(&test, "the third", &third);
}

/// Leases are measured by the database's clock, and waiting times by clocks that do not jump. The object store refuses the requests of a
/// machine whose clock is wrong by more than a quarter of an hour: then it is unreachable for that machine, until the clock is right again.
#[test]
fn clocks_that_jump_lose_nothing() {
    let mut test = TestNodes::start();
    let clock = FakeClock::new();
    test.nodes[1] = None;
    let port = node_port(&test.config(1));
    test.nodes[1] = Some(TestServer::sven_serve_with(
        &test.config(1),
        port,
        &clock.variables(),
    ));
    let (url, other) = (
        format!("http://127.0.0.1:{port}/r"),
        format!("http://127.0.0.1:{}/r", node_port(&test.config(0))),
    );
    let source = test.dir.path().join("source");
    let ready = || {
        let page = format!("http://127.0.0.1:{port}/-/ready");
        Tool::new("curl").args(["-s", &page]).ok().out()
    };
    let jumps = [
        ("+8m", true),
        ("+0", true),
        ("+3d", false),
        ("+0", true),
        ("-8m", true),
        ("+0", true),
        ("-1000d", false),
        ("-8m", true),
        ("+0", true),
    ];
    let mut youngest = 0;
    // Each round has a revision in the database, and one in the object store.
    for (round, (jump, works)) in sample(2, jumps).enumerate() {
        youngest += 2;
        clock.set(jump);
        let expected = if jump.ends_with('d') {
            "not ready: the clock of this machine is wrong\n"
        } else {
            "ready\n"
        };
        wait_for(expected, || ready() == expected);
        let mut bytes = vec![0; 200_000];
        let mut random = <rand_chacha::ChaCha8Rng as rand::SeedableRng>::seed_from_u64(round as u64);
        rand::Rng::fill(&mut random, &mut bytes[..]);
        std::fs::write(&source, &bytes).unwrap();
        let put = |url: &str, name: &str| {
            Tool::new("svnmucc")
                .args(["-m", "x", "-U", url, "put"])
                .arg(&source)
                .arg(name)
                .run()
        };
        let name = format!("f{round}");
        let long = put(&url, &name);
        assert_eq!(long.code == 0, works, "{jump}: {}", long.err());
        if !works {
            // While a revision is read, or while the new one is written: that depends on what the node has in its cache.
            let is_said = ["E200000", "E160000"]
                .iter()
                .any(|code| long.err().contains(code));
            assert!(is_said, "{}", long.err());
            // The other nodes go on.
            put(&other, &name).expect_ok();
        }
        svn(&["mkdir", "-q", "-m", "x", &format!("{other}/d{round}")]).expect_ok();
        assert!(
            svn(&["cat", &format!("{other}/{name}")]).stdout == bytes,
            "{jump}"
        );
    }
    let shown = svn(&["info", "--show-item", "revision", &url]).out();
    assert_eq!(shown.trim(), youngest.to_string());
    test.verified_export("r");
}
