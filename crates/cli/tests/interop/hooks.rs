//! Hooks: their arguments, input and environment, and the effects of their output and exit code.

use std::fs;

use testkit::normalize::sorted_lines;
use testkit::server::transport::Transport;
use testkit::{Side, Tool, sample};

use crate::pair::{ScenarioClient, compare};
use crate::twins::{CONF, Twins, closed_over_http, write_program};

const ALL: [&str; 9] = [
    "start-commit",
    "pre-commit",
    "post-commit",
    "pre-revprop-change",
    "post-revprop-change",
    "pre-lock",
    "post-lock",
    "pre-unlock",
    "post-unlock",
];

/// A hook that records its arguments, input, environment and directory, and the changes of the transaction.
const RECORDER: &str = r#"
out="$1/../record"
exec 9>>"$out"
/bin/echo "== ${0##*/} $#" >&9
for a in "$@"; do /usr/bin/printf '<%s>\n' "$a" >&9; done
/usr/bin/env | /usr/bin/sort | /bin/grep -v '^PWD=\|^_=\|^SHLVL=\|^OLDPWD=' >&9
/bin/echo '-- stdin' >&9
/bin/cat >&9
/bin/echo '-- seen' >&9
case "${0##*/}" in
pre-commit) /usr/bin/svnlook changed -t "$2" "$1" >&9 2>&1; /usr/bin/svnlook propget -t "$2" --revprop "$1" svn:log >&9 2>&1;;
start-commit) /usr/bin/svnlook proplist -v -t "$4" --revprop "$1" 2>&1 | /usr/bin/sort >&9;;
post-commit) /usr/bin/svnlook changed -r "$2" "$1" >&9 2>&1;;
esac
/bin/echo '-- end' >&9
exit 0
"#;

const SCRIPT: &str = r"
    echo x >> wc/iota; svn commit -m 'A message' wc
    svn mkdir -m 'Folder' $U/d
    svn mkdir --with-revprop a=b --with-revprop 'bell=a b' -m 'Folder' $U/e
    svn propset --revprop -r 1 svn:log 'New message' $U
    svn propset --revprop -r 1 custom value $U
    svn propset --revprop -r 1 custom other $U
    svn propset --revprop -r 1 custom '' $U
    svn propdel --revprop -r 1 custom $U
    svn propdel --revprop -r 1 custom $U
    svn lock -m 'A lock comment' wc/iota
    bob lock --force -m 'Stolen' $U/iota
    bob unlock $U/iota
    svn lock wc/iota wc/A/mu $U/nope
    svn unlock wc/iota
    bob unlock --force $U/A/mu
    bob unlock --force $U/A/mu
    svn lock -q wc/iota wc/A/mu; echo y >> wc/iota; echo y >> wc/A/mu; svn commit -m 'With tokens' wc
    svn lock -q wc/A/mu; echo z >> wc/A/mu; svn commit --no-unlock -m 'No unlock' wc/A
    svn mkdir -m 'Exists' $U/d
    svn mkdir -m 'Many
lines' $U/A/f
    printf p > 'wc/A/sp ace|x'; svn add -q 'wc/A/sp ace|x'; svn commit -q -m 'Odd name' wc; svn lock -q 'wc/A/sp ace|x'; echo o >> 'wc/A/sp ace|x'; svn commit -m 'Odd token' wc/A
    anon mkdir -m 'Nobody' $U/n
";

/// Each hook once, and the anonymous user.
const SHORT_SCRIPT: &str = r"
    echo x >> wc/iota; svn commit -m 'A message' wc
    svn propset --revprop -r 1 custom value $U
    svn lock -m 'A lock comment' wc/iota
    svn unlock wc/iota
    anon mkdir -m 'Nobody' $U/short
";

/// Runs a scenario and compares the recorded data.
fn recorded(twins: &Twins, scenario: impl Fn(&mut ScenarioClient) + Sync) {
    twins.same(scenario);
    let [theirs, ours] = twins.both().each_ref().map(|twin| {
        let text = fs::read(twin.path.join("../record")).expect("because something was recorded");
        let text = twin
            .server
            .storage()
            .with_own_paths(&String::from_utf8_lossy(&text));
        let text = text.replace(&twin.path.display().to_string(), "REPO");
        let text = text.replace(&format!("{:?}/repo", twin.side), "REPO");
        normalized(&testkit::normalize::mask_dates(&testkit::normalize::mask_uuids(
            &text,
        )))
    });
    compare(&theirs, &ours);
}

/// Sorts the parts that are in the incumbent's hash order.
fn normalized(text: &str) -> String {
    let mut calls: Vec<String> = text.split_inclusive("-- end\n").map(str::to_owned).collect();
    for call in &mut calls {
        // The paths of post-lock and post-unlock, the tokens of pre-commit.
        if let Some((before, stdin)) = call.split_once("-- stdin\n")
            && before.contains("-lock 2\n") | before.contains("-unlock 2\n") | before.contains("pre-commit")
        {
            let stdin = stdin.split_once("-- seen\n").unwrap_or((stdin, ""));
            let sorted = sorted_lines(stdin.0).join("\n");
            *call = format!("{before}-- stdin\n{sorted}\n-- seen\n{}", stdin.1);
        }
    }
    let hook = |call: &String| call.lines().next().map(str::to_owned);
    // Over HTTP every path is a separate request, with both hooks.
    let alone = Transport::chosen(Transport::Svn) != Transport::Svn;
    let is_path_by_path = |call: &String| {
        let name = call.trim_start_matches("== ");
        let names = ["pre-lock", "pre-unlock", "post-lock", "post-unlock"];
        names[..if alone { 4 } else { 2 }]
            .iter()
            .any(|known| name.starts_with(known))
    };
    let one_run =
        |a: &String, b: &String| is_path_by_path(a) && is_path_by_path(b) && (alone || hook(a) == hook(b));
    for run in calls.chunk_by_mut(|a, b| one_run(a, b)) {
        run.sort();
    }
    calls.concat()
}

#[test]
fn hooks_get_the_same_arguments_and_input() {
    for (conf, env, scripts) in [
        (CONF.to_owned(), "", &[SCRIPT][..]),
        (
            format!("{CONF}hooks-env = env\n"),
            "[default]\nLANG = C.UTF-8\nPATH = /bin:/usr/bin\nA = 1 2  3\n[pre-commit]\nB = only here\n[post-lock]\nA = other\n",
            &[SHORT_SCRIPT, SCRIPT],
        ),
        (
            "[general]\nanon-access = write\npassword-db = passwd\n".to_owned(),
            "",
            &[SHORT_SCRIPT, SCRIPT],
        ),
    ] {
        let twins = Twins::with(&[("svnserve.conf", &closed_over_http(&conf)), ("env", env)], &[]);
        for hook in ALL {
            twins.hook(hook, RECORDER);
        }
        // With other settings the short script is enough.
        for script in sample(2, scripts) {
            recorded(&twins, |c| c.lines(script));
        }
    }
}

#[test]
fn failing_hooks() {
    const COMMANDS: [(&str, &str); 9] = [
        ("start-commit", "svn mkdir -m m $U/x"),
        ("pre-commit", "svn mkdir -m m $U/x"),
        ("post-commit", "svn mkdir -m m $U/post$((N=N+1))-$R"),
        ("pre-revprop-change", "svn propset --revprop -r 1 a b $U"),
        ("post-revprop-change", "svn propset --revprop -r 1 c d $U"),
        ("pre-lock", "svn lock $U/iota $U/A/mu"),
        ("post-lock", "svn lock --force $U/iota $U/A/mu"),
        ("pre-unlock", "bob unlock --force $U/iota $U/A/mu"),
        ("post-unlock", "bob unlock --force $U/iota $U/A/mu"),
    ];
    let twins = Twins::greek();
    let failures = [
        "echo 'to stdout'; echo 'Not allowed: ä' >&2; exit 1",
        "printf opaquelocktoken:mine-$(/bin/date +%N)x; exit 0",
        "exit 17",
        "printf 'no line end' >&2; exit 255",
        "printf 'bytes \\001 \\377 <&>' >&2; exit 1",
        "kill -9 $$",
        "kill -TERM $$",
        "kill -SEGV $$",
        "echo not-a-token; exit 0",
        "echo 'said and fine' >&2; exit 0",
        "no-such-command",
    ];
    let bodies = failures.iter().enumerate();
    let cases = bodies.flat_map(|(at, body)| COMMANDS.map(|(hook, command)| (at, body, hook, command)));
    // The order of the bodies is such that the sample has both of the hook that returns a token.
    for (at, body, hook, command) in sample(7, cases) {
        if body.starts_with("printf opaque") && hook != "pre-lock" {
            continue;
        }
        if body.starts_with("kill -TERM") && Transport::chosen(Transport::Svn) != Transport::Svn {
            // Apache's child processes are not stopped by SIGTERM.
            continue;
        }
        let body = body.replace("-$(/bin/date +%N)x", "");
        if body.starts_with("printf opaque") {
            // Two equal tokens are an error.
            twins.hook(hook, "printf opaquelocktoken:of-%s \"$(/usr/bin/basename $2)\"");
        } else {
            twins.hook(hook, &body);
        }
        if hook == "post-revprop-change" {
            twins.hook("pre-revprop-change", "exit 0");
        }
        twins.same(|c| {
            c.note(&format!("{hook}: {body}"));
            if hook.ends_with("lock") {
                c.lines("svn lock -q --force $U/iota\nsvn lock -q --force $U/A/mu");
            }
            let command = match body.starts_with("printf opaque") {
                // With several paths the incumbent sometimes passes the token of another path.
                true => "svn lock --force $U/iota",
                false => command,
            };
            // Over HTTP each path is a separate request, and clients send them in any order.
            let command = match Transport::chosen(Transport::Svn) {
                Transport::Svn => command.to_owned(),
                _ => command.replace(" $U/A/mu", ""),
            };
            c.lines(&command.replace("$R", &at.to_string()));
            c.lines("svn log -q -v -r HEAD $U");
        });
        for twin in twins.both() {
            for hook in [hook, "pre-revprop-change"] {
                _ = fs::remove_file(twin.path.join("hooks").join(hook));
            }
        }
    }
}

#[test]
fn hooks_that_cannot_run() {
    const COMMANDS: [&str; 5] = [
        "svn mkdir -m m $U/x",
        "svn propset --revprop -r 1 a b $U",
        "svn lock $U/iota $U/A/mu",
        "svn unlock $U/iota",
        "svn unlock --force $U/A/mu",
    ];
    let twins = Twins::greek();
    for (nth, kind) in [
        "not executable",
        "broken link",
        "folder",
        "no interpreter",
        "empty",
        "link",
    ]
    .into_iter()
    .enumerate()
    {
        for twin in twins.both() {
            for hook in ALL {
                let path = twin.path.join("hooks").join(hook);
                _ = fs::remove_file(&path);
                _ = fs::remove_dir(&path);
                let link = |to: &str| std::os::unix::fs::symlink(to, &path);
                match kind {
                    "not executable" => fs::write(&path, "#!/bin/sh\nexit 0\n"),
                    "broken link" => link("no-such-file"),
                    "folder" => fs::create_dir(&path),
                    "no interpreter" => {
                        write_program(&path, "#!/no/such/interpreter\n");
                        Ok(())
                    }
                    "empty" => {
                        write_program(&path, "");
                        Ok(())
                    }
                    _ => link("/bin/true"),
                }
                .expect("because the folder is ours");
            }
        }
        twins.same(|c| {
            c.note(kind);
            let commands = COMMANDS.into_iter().cycle().skip(nth % 2);
            for command in sample(2, commands.take(COMMANDS.len())) {
                c.lines(command);
            }
        });
        if kind == "not executable" || kind == "no interpreter" {
            // Only the post hooks: their operation is complete.
            for twin in twins.both() {
                for hook in ALL.into_iter().filter(|hook| !hook.starts_with("post-")) {
                    _ = fs::remove_file(twin.path.join("hooks").join(hook));
                }
            }
            twins.hook("pre-revprop-change", "exit 0");
            twins.same(|c| {
                let name = kind.replace(' ', "-");
                c.lines(&format!("svn mkdir -m m $U/{name}; svn propset --revprop -r 1 a b $U; svn lock $U/iota; svn unlock --force $U/iota"));
            });
        }
    }
}

#[test]
fn hooks_that_change_the_repository() {
    let twins = Twins::greek();
    twins.hook(
        "start-commit",
        "/usr/bin/svnadmin setlog -q --bypass-hooks -r 1 /dev/stdin \"$1\" </dev/null; exit 0",
    );
    twins.hook(
        "pre-commit",
        "/usr/bin/svn mkdir -q -m inner file://$1/inner-$(/usr/bin/svnlook youngest $1) 2>/dev/null; exit 0",
    );
    twins.hook("post-commit", "/usr/bin/svnlook log -r $2 $1 >&2; exit 3");
    for twin in twins.both() {
        // The inner commit runs no hooks.
        let path = twin.path.join("hooks/pre-commit");
        let text = fs::read_to_string(&path).expect("because it is there");
        let guard = "#!/bin/sh\n[ -e \"$1/../inner\" ] && exit 0\n: > \"$1/../inner\"\n";
        let guard = twin.server.storage().own_hook(guard, &twin.path);
        write_program(&path, &text.replace("#!/bin/sh\n", &guard));
    }
    twins.same(|c| {
        c.lines(
            r"
            svn mkdir -m 'Outer' $U/outer
            echo x >> wc/iota; svn commit -m 'After it' wc
            svn log -v $U
            ",
        );
    });
    assert_eq!(twins.both()[0].side, Side::Theirs);
}

#[test]
fn hooks_for_several_locked_paths() {
    let twins = Twins::greek();
    for hook in [
        "pre-lock",
        "post-lock",
        "pre-unlock",
        "post-unlock",
        "pre-commit",
        "post-commit",
    ] {
        twins.hook(hook, RECORDER);
    }
    recorded(&twins, |c| {
        c.lines(
            r"
            svn lock -m 'Three' wc/iota wc/A/mu wc/A/B/lambda
            svn unlock wc/iota wc/A/mu wc/A/B/lambda
            svn lock -q $U/A/D/gamma $U/A/D/G/pi $U/A/D/G/rho
            bob lock --force -m 'Stolen' $U/A/D/gamma $U/A/D/G/pi
            bob unlock $U/A/D/gamma $U/A/D/G/pi
            bob unlock --force $U/A/D/G/rho
            svn lock -q wc/A/D/H/chi wc/A/D/H/psi wc/A/D/H/omega; for f in chi psi omega; do echo x >> wc/A/D/H/$f; done; svn commit -m 'Three tokens' wc
            ",
        );
    });
    // The hook returns the tokens. With several paths the incumbent sometimes passes the token of another path, so
    // only Sven is tested.
    let twins = Twins::greek();
    twins.hook(
        "pre-lock",
        "printf 'opaquelocktoken:of-%s' \"$(/usr/bin/basename \"$2\")\"",
    );
    twins.same(|c| {
        for file in sample(2, ["iota", "A/mu", "A/B/lambda"]) {
            c.lines(&format!(
                "svn lock $U/{file}\nsvn info $U/{file}\nsvn unlock --force $U/{file}"
            ));
        }
    });
    let ours = &twins.both()[1];
    let url = ours.url();
    let paths = ["iota", "A/mu", "A/B/lambda"].map(|path| format!("{url}/{path}"));
    let login = [
        "--username",
        "alice",
        "--password",
        "secret",
        "--non-interactive",
        "--no-auth-cache",
    ];
    Tool::new("svn").arg("lock").args(&paths).args(login).ok();
    let listing = ours
        .server
        .storage()
        .tool(Side::Theirs, "svnadmin", &["lslocks"], &ours.path);
    let locks = listing.ok().out();
    for name in ["iota", "A/mu", "A/B/lambda"] {
        let file = name.rsplit('/').next().unwrap_or(name);
        let wanted = format!("Path: /{name}\nUUID Token: opaquelocktoken:of-{file}\n");
        assert!(locks.contains(&wanted), "{locks}");
    }
}
