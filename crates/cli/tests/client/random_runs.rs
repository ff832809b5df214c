//! Runs random commands that write, one seed after the other, each with a repository of its own.
//!
//! Some runs have obstacles: hooks that refuse, locks of another user, or paths without access. Commands that fail halfway must leave the
//! same repository behind.

use testkit::history::Random;
use testkit::normalize::sorted_lines;
use testkit::{Repo, Side, Tool, branch_history, each_seed};

use crate::random_writes::Cases;
use crate::twins::{Access, TwinClients};
use crate::writing::{USER, write_hook};

/// Runs `next` commands with the seeds that `variable` names, and reports the first difference of each seed.
pub fn run(variable: &str, next: impl Fn(&mut Cases) -> Vec<String>) {
    each_seed(variable, 0..1, |seed| {
        if let Some(difference) = one(seed, &next) {
            panic!("{difference}");
        }
    });
}

/// Runs the commands of one seed. Returns the first difference.
fn one(seed: u64, next: &impl Fn(&mut Cases) -> Vec<String>) -> Option<String> {
    let history = branch_history::history(seed, 14);
    let repo = Repo::create("1.14");
    repo.load(history.stream.bytes());
    // The older dialect of HTTP checks resources out: the texts of its errors differ.
    let access = [Access::Disk, Access::Svn, Access::Http][(seed % 3) as usize];
    let obstacle = (seed / 3) % 4;
    let mut random = Random::new(seed ^ 0x0b57);
    let mut path = || history.paths[random.below(history.paths.len())].clone();
    let twins = match obstacle {
        3 => TwinClients::with_rules(&repo, access, &rules([path(), path(), path()])),
        _ => TwinClients::new(&repo, access),
    };
    prepare(&twins);
    match obstacle {
        1 => write_hooks(&twins),
        2 => lock(&twins, &[path(), path(), path()]),
        _ => {}
    }
    // Editors of revision properties get files there.
    let folder = testkit::scratch();
    let mut cases = Cases::new(seed, &history.paths, history.youngest);
    for _ in 0..16 {
        let mut words = next(&mut cases);
        words.extend(USER.split(' ').map(str::to_owned));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let [theirs, ours] = twins.outputs(&words, |tool| tool.env("TMPDIR", folder.path()));
        if words[1] == "lock" && theirs.contains("E215004") {
            // Over HTTP, Subversion's client sends several requests to lock at once and fails in the login.
            return None;
        }
        if theirs != ours && !is_known(&words, &theirs, &ours) {
            let line = words.join(" ");
            return Some(format!(
                "{access:?} {line}\n--- theirs\n{theirs}\n--- ours\n{ours}"
            ));
        }
    }
    twins.same_repositories();
    None
}

/// Makes what the commands name.
fn prepare(twins: &TwinClients) {
    twins.file("f", "new text\n");
    twins.file("edit", "#!/bin/sh\necho edited >>\"$1\"\n");
    for side in Side::BOTH {
        let dir = twins.dir(side);
        Tool::new("chmod").arg("+x").arg(dir.join("edit")).ok();
        for name in ["tree/d/f", "tree/n", "tree/m"] {
            let path = dir.join(name);
            let above = path.parent().expect("because it has a directory");
            std::fs::create_dir_all(above).expect("because it is below a directory");
            std::fs::write(path, name).expect("because the directory is there");
        }
        write_hook(twins, side, "pre-revprop-change", "#!/bin/sh\n");
    }
}

fn write_hooks(twins: &TwinClients) {
    for side in Side::BOTH {
        HOOKS
            .iter()
            .for_each(|(name, text)| write_hook(twins, side, name, text));
    }
}

/// Locks what is a file for another user.
fn lock(twins: &TwinClients, paths: &[String]) {
    for path in paths {
        for side in Side::BOTH {
            let tool = Tool::new("svnadmin").arg("lock").arg(twins.repository(side));
            // Directories and paths of the past cannot be locked.
            tool.args([path, "harry", "/dev/null"]).run();
        }
    }
}

/// Returns rules with a path that cannot be changed, one that can, and one that cannot be read.
fn rules(paths: [String; 3]) -> String {
    let [readable, writable, hidden] = paths.map(|path| path.trim_start_matches('/').to_owned());
    format!(
        "[/]\nalice = rw\n* = r\n[/{readable}]\nalice = r\n[/{writable}]\nalice = rw\n[/{hidden}]\nalice =\n* =\n"
    )
}

/// Hooks that refuse some of the changes, and explain it in several lines.
const HOOKS: &[(&str, &str)] = &[
    (
        "pre-commit",
        "#!/bin/sh\n\
         count=$(/usr/bin/svnlook changed -t $2 $1 | /usr/bin/wc -l)\n\
         test $(($count % 2)) = 1 && exit 0\n\
         echo to standard output\n\
         printf 'an even number of changes:\\n\\n  %s\\r\\n<&>\\n' $count >&2\nexit 3\n",
    ),
    (
        "post-commit",
        "#!/bin/sh\nprintf 'after\\nit' >&2\ntest $(($2 % 2)) = 0\n",
    ),
    (
        "pre-lock",
        "#!/bin/sh\ncase $2 in *n*) printf 'no lock\\non %s' $2 >&2; exit 1;; esac\n",
    ),
    ("post-lock", "#!/bin/sh\necho locked >&2\nexit 1\n"),
    (
        "pre-unlock",
        "#!/bin/sh\nread path\ncase $2 in *m*) echo no >&2; exit 1;; esac\n",
    ),
    (
        "pre-revprop-change",
        "#!/bin/sh\ncase $4 in svn:*) printf 'not\\n%s\\n' $4 >&2; exit 1;; esac\n",
    ),
    ("post-revprop-change", "#!/bin/sh\necho changed >&2\nexit 1\n"),
];

/// True for the differences that stay.
fn is_known(words: &[&str], theirs: &str, ours: &str) -> bool {
    let both = |text: &str| theirs.contains(text) && ours.contains(text);
    // The order of locks is that of a hash table.
    let is_lock = matches!(words[1], "lock" | "unlock");
    let is_other_order = words[1] == "unlock" && both("--- exit 1") && words.len() > 8;
    is_other_order
        || (is_lock && (sorted_lines(theirs) == sorted_lines(ours) || both("is not locked")))
        || both("does not own lock on path")
        // A name that XML cannot have.
        || ours.contains("is not a valid property name over HTTP")
}
