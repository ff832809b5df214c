//! The area of the whole system, `/etc/subversion`. The tests mount a directory over it, in a name space of their own, which needs root.

use std::fs;
use std::path::Path;

use testkit::{Side, Tool};

use crate::context::{Home, Servers};

/// Files of the system, files of the user, and the command.
struct Case {
    system: &'static [(&'static str, &'static str)],
    user: &'static [(&'static str, &'static str)],
    line: &'static str,
}

const LOGIN: &str = "svn ls {SVN} --password pw --non-interactive";
const ALICE: &str = "[global]\nusername = alice\n";
const BOB: &str = "[global]\nusername = bob\n";

const CASES: &[Case] = &[
    Case {
        system: &[],
        user: &[],
        line: LOGIN,
    },
    Case {
        system: &[("servers", BOB)],
        user: &[],
        line: LOGIN,
    },
    Case {
        system: &[("servers", ALICE)],
        user: &[("servers", BOB)],
        line: LOGIN,
    },
    Case {
        system: &[("servers", BOB)],
        user: &[("servers", ALICE)],
        line: LOGIN,
    },
    Case {
        system: &[("servers", ALICE)],
        user: &[("servers", ALICE)],
        line: "svn ls {SVN} --password pw --non-interactive --config-option servers:global:username=bob",
    },
    // A group of one area with a section of the other one.
    Case {
        system: &[("servers", "[groups]\ng = 127.*\n")],
        user: &[("servers", "[g]\nusername = bob\n")],
        line: LOGIN,
    },
    Case {
        system: &[("servers", "[groups]\ng = 127.*\n[g]\nusername = bob\n")],
        user: &[("servers", ALICE)],
        line: LOGIN,
    },
    // Names are expanded with the values of both areas.
    Case {
        system: &[("servers", "[global]\nusername = %(x)s\nx = alice\n")],
        user: &[("servers", "[global]\nx = bob\n")],
        line: LOGIN,
    },
    Case {
        system: &[("servers", "[global]\nstore-plaintext-passwords = yes\n")],
        user: &[],
        line: "svn ls {SVN} --username bob --password pw --non-interactive",
    },
    Case {
        system: &[("config", "[auth]\nstore-auth-creds = no\n")],
        user: &[],
        line: "svn ls {SVN} --username bob --password pw --non-interactive",
    },
    Case {
        system: &[("config", "[helpers]\ndiff-cmd = true\n")],
        user: &[],
        line: "svn diff -r0:1 {FILE}@1",
    },
    Case {
        system: &[("config", "[helpers]\ndiff-cmd = true\n")],
        user: &[("config", "[helpers]\ndiff-cmd = /nonexistent\n")],
        line: "svn diff --old=a --new=b",
    },
    // Errors name the file of the system.
    Case {
        system: &[("servers", "[global\n")],
        user: &[],
        line: LOGIN,
    },
    Case {
        system: &[("config", "x\n")],
        user: &[("servers", "x\n")],
        line: LOGIN,
    },
];

/// Runs a command with a directory in place of the area of the system.
fn mounted(system: &Path, tool: &Tool) -> Tool {
    let command = tool.command();
    let script = "mount --bind \"$1\" /etc/subversion && shift && exec \"$@\"";
    let mut outer = Tool::new("unshare").args(["-m", "sh", "-c", script, "sh"]);
    outer = outer
        .arg(system)
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            outer = outer.env(&name.to_string_lossy(), value);
        }
    }
    match command.get_current_dir() {
        Some(dir) => outer.dir(dir),
        None => outer,
    }
}

#[test]
fn the_systems_area_is_read_before_the_users() {
    let here = testkit::scratch();
    let probe = mounted(here.path(), &Tool::new("true")).run();
    if probe.code != 0 {
        println!("skipped: nothing can be mounted here: {}", probe.err());
        return;
    }
    let servers = Servers::new();
    let mut seen = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        servers.same(&format!("case {number}: {}", case.line), |home: &Home<'_>| {
            home.configure("");
            let system = home.dir.path().join("system");
            fs::create_dir(&system).expect("because the home is new");
            for (folder, files) in [(&system, case.system), (&home.area(), case.user)] {
                for (name, text) in files {
                    fs::write(folder.join(name), text).expect("because the directory is there");
                }
            }
            for (name, text) in [("a", "one\n"), ("b", "two\n")] {
                fs::write(home.dir.path().join(name), text).expect("because the home is new");
            }
            let output = mounted(&system, &home.tool(case.line)).run();
            let shown = format!("{}{}[exit {}]", output.out(), output.err(), output.code);
            let shown = home.shape(&shown);
            if home.side == Side::Theirs {
                seen.push(shown.clone());
            }
            shown
        });
    }
    // The system's value counts, the user's replaces it, and that of the command line replaces both.
    let is_bob = |at: usize| seen[at].ends_with("[exit 0]");
    assert_eq!(
        [0, 1, 2, 3, 4].map(is_bob),
        [false, true, true, false, true],
        "{seen:#?}"
    );
}
