//! Tunnels: the programs of `svn+NAME://`, beside Subversion's client. A script takes their place, writes down its arguments, and starts
//! `svnserve -t` or does what a broken connection does.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use testkit::{Repo, Side, Spec, build, sample, sample_from};

use crate::twins::{Access, TwinClients};

/// Writes each argument in angle brackets to the file `words`, a line for each run.
const RECORD: &str =
    "#!/bin/sh\nfor word in \"$@\"; do printf '<%s>' \"$word\"; done >> words\necho >> words\n";
/// The end of a script that serves.
const SERVE: &str = "exec svnserve -t\n";

/// Twins whose tunnel programs are scripts.
pub struct Tunnels {
    twins: TwinClients,
}

impl Tunnels {
    /// Makes the scripts.
    pub fn new(repo: &Repo) -> Tunnels {
        let twins = TwinClients::new(repo, Access::Disk);
        for side in Side::BOTH {
            let tools = twins.dir(side).join("tools");
            fs::create_dir(&tools).expect("because the directory is new");
            write_script(&tools, SERVE);
        }
        Tunnels { twins }
    }

    /// Runs a command on both sides; `config` is the text of the section of tunnels. Returns what is different.
    pub fn run(&self, words: &[&str], config: &str, variable: Option<(&str, &str)>) -> Option<String> {
        let [theirs, ours] = Side::BOTH.map(|side| {
            let dir = self.twins.dir(side);
            let area = dir.join("area");
            fs::create_dir_all(&area).expect("because the directory is there");
            fs::write(area.join("config"), format!("[tunnels]\n{config}\n"))
                .expect("because it can be written");
            let repository = self.twins.repository(side).display().to_string();
            let words: Vec<String> = words
                .iter()
                .map(|word| word.replace("{REPO}", &repository))
                .collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let path = std::env::var("PATH").unwrap_or_default();
            let mut tool = self
                .twins
                .tool(side, &words)
                .arg("--config-dir=area")
                .env("PATH", format!("{}:{path}", dir.join("tools").display()));
            if let Some((name, value)) = variable {
                tool = tool.env(name, value);
            }
            let output = tool.run();
            let recorded = fs::read_to_string(dir.join("words")).unwrap_or_default();
            _ = fs::remove_file(dir.join("words"));
            let text = format!(
                "{}{}[exit {}]\n{recorded}",
                output.out(),
                output.err(),
                output.code
            );
            text.replace(&repository, "{REPO}")
        });
        let message = || format!("{words:?} {config:?} {variable:?}\n--- theirs\n{theirs}\n--- ours\n{ours}");
        (theirs != ours).then(message)
    }

    /// Replaces what the scripts do after they have written down their words.
    pub fn set_script(&self, rest: &str) {
        for side in Side::BOTH {
            write_script(&self.twins.dir(side).join("tools"), rest);
        }
    }
}

fn write_script(tools: &Path, rest: &str) {
    for name in ["ssh", "my ssh", "other"] {
        let path = tools.join(name);
        fs::write(&path, format!("{RECORD}{rest}")).expect("because the directory is there");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("because it is there");
    }
}

/// Reports all that differ.
pub fn check(failed: impl IntoIterator<Item = Option<String>>) {
    let failed: Vec<String> = failed.into_iter().flatten().collect();
    assert!(
        failed.is_empty(),
        "{} differ\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[test]
fn hosts_are_checked_and_passed_on() {
    let tunnels = Tunnels::new(&build(&Spec::small("1.14")));
    let hosts = [
        "h",
        "u@h:22",
        "H.Example.COM",
        "h:3690",
        "-h",
        "u@-h",
        "-u@h",
        "h-",
        "h;x",
        "h%20x",
        "%2dh",
        "u%20x@h",
        "u:p@h",
        "[::1]:22",
        "h_x",
        "h%c3%a9",
        "u$x@h",
        "a@b@h",
        "@h",
        "h:",
        "",
        "u@",
        "-oProxyCommand=x",
        "u%40x@h",
        "h.",
        "h!",
        "h*",
        "u+v@h",
        "u.v@h",
        "u=v@h",
        "u~v@h",
    ];
    check(hosts.iter().enumerate().flat_map(|(number, host)| {
        let ssh = format!("svn+ssh://{host}{{REPO}}/iota");
        let other = format!("svn+x://{host}{{REPO}}/iota");
        let ways = sample_from(number, 2, [(ssh, ""), (other, "x = other -a")]);
        ways.map(|(url, config)| tunnels.run(&["svn", "cat", &url], config, None))
    }));
}

/// Differences on purpose: a variable without a word is not a command, so that no program with the name of the host is started.
#[test]
fn commands_are_split_into_words() {
    let tunnels = Tunnels::new(&build(&Spec::small("1.14")));
    let url = "svn+ssh://h{REPO}/iota";
    let cat = ["svn", "cat", url];
    let variables = [
        "other",
        "'my ssh' -l \"a b\"",
        "  other  a   b ",
        "other 'a\"b' \"c'd\" e\\ f \\\"g",
        "nosuchprogram",
        "other \"unclosed x",
        "other \"a\\\"b\" 'a\\b' \"c\\d\"",
        "$HOME/other",
        "other a;b|c >d",
        "/",
        "other ''",
        "other a''b",
        "other a\tb",
        "other a\nb",
        "'other",
        "other \\",
        "\"\"",
        "other e\"f g\"",
        "other 'a'b",
        "other 'a''b' \\\"a b\"",
        "other \"a\\\\\" b\"",
    ];
    check(sample(3, variables).map(|value| tunnels.run(&cat, "", Some(("SVN_SSH", value)))));
    let cat = ["svn", "cat", "svn+x://u@h:1{REPO}/iota"];
    let configs = [
        ("x=", None),
        ("x=$", None),
        ("x=$ other", None),
        ("x=$FOO", None),
        ("x=$FOO", Some("other a")),
        ("x=$FOO other -z", None),
        ("x=$FOO other -z", Some("other -y")),
        ("X=other", None),
        ("x=$FOO\tother", None),
        ("x=$FOO  other  -z", None),
        ("x=nosuchprogram a", None),
        ("x=/etc/passwd", None),
        ("x=other $HOME \"$HOME\"", None),
        ("x=other a\n  b", None),
        ("y=other", None),
        ("x=%(z)s q\nz=other", None),
        ("x=other %%", None),
        ("x=other # c", None),
    ];
    check(
        sample(3, configs)
            .map(|(config, value)| tunnels.run(&cat, config, value.map(|value| ("FOO", value)))),
    );
    let schemes = ["svn+", "svn+x+y", "SVN+SSH", "svn+X", "svn+.", "svn+-", "svn+1"];
    let config = "x+y=other xy\nx=other x\n.=other dot\n-=other dash\n1=other one";
    check(sample(2, schemes).map(|scheme| {
        let url = format!("{scheme}://h{{REPO}}/iota");
        tunnels.run(&["svn", "cat", &url], config, None)
    }));
}

#[test]
fn tunnels_that_fail_have_the_incumbents_errors() {
    let tunnels = Tunnels::new(&build(&Spec::small("1.14")));
    let scripts = [
        "echo garbage\n",
        "exit 3\n",
        "kill -9 $$\n",
        "echo to stderr >&2; exec svnserve -t\n",
        "echo banner; exec svnserve -t\n",
        "printf '( success ( 3 3 ( ) ( ) ) ) '; cat > /dev/null\n",
        "printf '( failure ( ( 210004 3:abc 0: 0 ) ) ) '; cat > /dev/null\n",
        "echo 'Permission denied (publickey).' >&2; exit 255\n",
        "exec 1>&-; sleep 0.2\n",
    ];
    check(scripts.iter().map(|script| {
        tunnels.set_script(script);
        tunnels.run(&["svn", "ls", "svn+ssh://h{REPO}"], "", None)
    }));
    tunnels.set_script(SERVE);
    check([tunnels.run(&["svn", "mkdir", "-m", "m", "svn+ssh://h{REPO}/new"], "", None)]);
}

/// The shell runs it.
#[test]
fn a_script_without_a_first_line() {
    let tunnels = Tunnels::new(&build(&Spec::small("1.14")));
    for side in Side::BOTH {
        let path = tunnels.twins.dir(side).join("tools/ssh");
        let script = format!("{RECORD}{SERVE}").replace("#!/bin/sh\n", "");
        fs::write(&path, script).expect("because it is there");
    }
    check([tunnels.run(&["svn", "mkdir", "-m", "m", "svn+ssh://h{REPO}/new"], "", None)]);
}
