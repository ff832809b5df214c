//! The program `svnserve`: argument errors, modes, signals, files.

use testkit::{Side, Spec, Tool, scratch};

/// Returns the output of both sides for the same arguments.
fn both(args: &[&str]) -> [(i32, String, String); 2] {
    Side::BOTH.map(|side| {
        let output = side.tool("svnserve").args(args).run();
        let program = testkit::tool::tool_link("svnserve").display().to_string();
        (
            output.code,
            output.out(),
            output.err().replace(&program, "svnserve"),
        )
    })
}

#[test]
fn argument_errors_equal_the_incumbents() {
    for args in [
        &[][..],
        &["-d", "-i"],
        &["-i", "-t"],
        &["--foo"],
        &["-Z"],
        &["-d", "--listen-port"],
        &["-d", "--listen-port", "x"],
        &["-d", "--listen-port", "99999"],
        &["-d", "-r", "/nonexistent"],
        &["-d", "--config-file", "/nonexistent"],
        &["-i", "--tunnel-user", "x"],
        &["-d", "-T", "--single-thread"],
        &["-d", "-M", "x"],
        &["-d", "--log-file", "/nonexistent/x"],
        &["-d", "--foreground", "--listen-host", "8.8.8.8"],
        &["-d", "--foreground", "--listen-host", "no-such-host.invalid"],
        &["extra"],
        &["-i", "extra"],
        &["--version", "-q"],
    ] {
        let [theirs, ours] = both(args);
        assert_eq!(theirs, ours, "{args:?}");
    }
}

#[test]
fn a_tunnel_gets_equal_responses() {
    let repo = testkit::build(&Spec::small("1.14").named("small-f8"));
    let root = repo.path().parent().expect("because it is in a folder");
    let name = repo
        .path()
        .file_name()
        .expect("because it has a name")
        .to_string_lossy()
        .into_owned();
    let responses = Side::BOTH.map(|side| {
        let program = match side {
            Side::Theirs => "svnserve".to_owned(),
            Side::Ours => testkit::tool::tool_link("svnserve").display().to_string(),
        };
        let tunnel = format!(
            "sh -c 'exec {program} -t -r {} --tunnel-user zed'",
            root.display()
        );
        let output = Tool::new("svn")
            .args([
                "log",
                "-v",
                "--non-interactive",
                &format!("svn+test://host/{name}"),
            ])
            .args(["--config-option", &format!("config:tunnels:test={tunnel}")])
            .run();
        (output.code, output.out(), output.err())
    });
    assert_eq!(responses[0].0, 0, "{responses:?}");
    assert_eq!(responses[0], responses[1]);
}

#[test]
fn a_daemon_detaches_writes_its_files_and_stops() {
    let dir = scratch();
    let port = testkit::server::free_port().to_string();
    let (pid, log) = (dir.path().join("pid"), dir.path().join("log"));
    let repo = testkit::build(&Spec::small("1.14").named("small-f8"));
    Side::Ours
        .tool("svnserve")
        .args(["-d", "--listen-host", "127.0.0.1", "--listen-port", &port, "-r"])
        .arg(repo.path())
        .arg("--pid-file")
        .arg(&pid)
        .arg("--log-file")
        .arg(&log)
        .ok();
    let url = format!("svn://127.0.0.1:{port}/");
    Tool::new("svn").args(["info", "--non-interactive", &url]).ok();
    let number = std::fs::read_to_string(&pid).expect("because it was written before it served");
    assert!(
        std::fs::read_to_string(&log)
            .expect("it logs")
            .contains(" get-latest-rev")
    );
    // A rotated log is reopened.
    std::fs::rename(&log, dir.path().join("old")).expect("because it is ours");
    Tool::new("kill").args(["-HUP", number.trim()]).ok();
    wait_for(|| log.exists());
    Tool::new("svn").args(["info", "--non-interactive", &url]).ok();
    assert!(
        std::fs::read_to_string(&log)
            .expect("it logs again")
            .contains(" get-latest-rev")
    );
    Tool::new("kill").args(["-TERM", number.trim()]).ok();
    wait_for(|| Tool::new("kill").args(["-0", number.trim()]).run().code != 0);
}

fn wait_for(mut done: impl FnMut() -> bool) {
    for _ in 0..500 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it does not happen");
}
