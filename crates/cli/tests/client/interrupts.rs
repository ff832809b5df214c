//! Signals while an editor runs, and while a server does not answer.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use testkit::{Side, Spec, Tool, build};

use crate::twins::{Access, TwinClients};

/// The editor sends the signal to its parent. SIGINT has no effect then; by the others the client ends once its work is done.
#[test]
fn signals_while_an_editor_runs() {
    let twins = TwinClients::new(&build(&Spec::small("1.14")), Access::Disk);
    for side in Side::BOTH {
        let hook = twins.repository(side).join("hooks/pre-revprop-change");
        Tool::new("ln").args(["-s", "/bin/true"]).arg(hook).ok();
    }
    for (signal, is_ended) in [("INT", false), ("TERM", true), ("HUP", true)] {
        for then in ["echo text >>", "false"] {
            let words = ["svn", "propedit", "--revprop", "-r1", "p", "{URL}"];
            let editor = format!("kill -{signal} $PPID; {then}");
            let shown = twins.same_prepared(&words, |tool| tool.env("SVN_EDITOR", &editor));
            assert_eq!(shown.ends_with("--- exit -1"), is_ended, "{editor}: {shown}");
        }
        twins.same("svn propget --revprop -r1 p {URL}");
    }
    // The editor itself can be ended by signals.
    let words = ["svn", "propedit", "--revprop", "-r1", "p", "{URL}"];
    let editor = "grep SigBlk /proc/self/status; echo text >>";
    let shown = twins.same_prepared(&words, |tool| tool.env("SVN_EDITOR", editor));
    assert!(shown.contains("SigBlk:\t0000000000000000"), "{shown}");
}

/// A shell starts simple commands with an empty mask, and what a hook stops with `kill` must not ignore that.
#[test]
fn hooks_and_tunnels_can_be_stopped() {
    const MASK: &str =
        "while read -r line; do case $line in SigBlk*) echo \"$line\";; esac; done < /proc/self/status";
    let twins = TwinClients::new(&build(&Spec::small("1.14")), Access::Disk);
    for side in Side::BOTH {
        let repository = twins.repository(side);
        let seen = twins.dir(side).join("seen");
        for name in ["pre-commit", "post-commit", "pre-revprop-change", "pre-lock"] {
            let hook = repository.join("hooks").join(name);
            let text = format!("#!/bin/bash\n{MASK} >> {}\n", seen.display());
            std::fs::write(&hook, text).expect("because the repository is ours");
            Tool::new("chmod").arg("+x").arg(&hook).ok();
        }
        let tunnel = format!("#!/bin/bash\n{MASK} >> {}\nexec svnserve -t\n", seen.display());
        let path = twins.dir(side).join("tunnel");
        std::fs::write(&path, tunnel).expect("because the directory is ours");
        Tool::new("chmod").arg("+x").arg(&path).ok();
    }
    for line in [
        "svn mkdir -m m {URL}/masked",
        "svnmucc -m m mkdir {URL}/masked2",
        "svn propset --revprop -r1 p v {URL}",
        "svn ls --config-option config:tunnels:x={DIR}/tunnel svn+x://localhost/nowhere",
    ] {
        twins.outputs(&line.split(' ').collect::<Vec<_>>(), |tool| tool);
    }
    for side in Side::BOTH {
        let seen = std::fs::read_to_string(twins.dir(side).join("seen")).expect("because hooks have run");
        assert!(seen.lines().count() > 5, "{side:?}: {seen}");
        for line in seen.lines() {
            assert!(line.ends_with("\t0000000000000000"), "{side:?}: {seen}");
        }
    }
}

/// Subversion's client waits for ever over svn://, and its `svnsync` in any case.
#[test]
fn a_signal_ends_the_wait_for_a_server() {
    let folder = testkit::scratch();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("because the loopback has ports left");
    let port = listener.local_addr().expect("because it is bound").port();
    for scheme in ["svn", "http"] {
        let url = format!("{scheme}://127.0.0.1:{port}/r");
        for words in [
            "svn list URL",
            "svn mkdir -m m URL/x",
            "svnmucc -m m mkdir URL/x",
            "svnrdump dump URL",
            "svnrdump load URL",
            "svnsync sync URL",
        ] {
            let words = words.replace("URL", &url);
            let (tool, args) = words.split_once(' ').expect("because there are operands");
            let tool = Side::Ours
                .tool(tool)
                .args(args.split(' '))
                .env("HOME", folder.path());
            let mut command = tool.command();
            let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
            let child = child.expect("because the program is there");
            // The client connects, and waits for what the listener never sends.
            let connection = listener.accept().expect("because the client connects");
            std::thread::sleep(Duration::from_millis(50));
            let began = Instant::now();
            Tool::new("kill").arg("-INT").arg(child.id().to_string()).ok();
            let output = child.wait_with_output().expect("because it is our child");
            assert!(began.elapsed() < Duration::from_secs(8), "{words}");
            let shown = String::from_utf8_lossy(&output.stderr);
            assert!(shown.ends_with("E200015: Caught signal\n"), "{words}: {shown}");
            assert_eq!(output.status.code(), None, "{words}");
            drop(connection);
        }
    }
}
