//! The samples in a new repository's `hooks` directory: the arguments of each hook, and the effect of its failure.
//!
//! A sample is a shell script that does nothing until an administrator removes `.tmpl` from its name. It is assembled
//! from the parts that differ between hooks and those that all share.

use crate::hooks::Hook;

/// The parts of a sample that differ between hooks.
struct Sample {
    hook: Hook,
    /// When it runs.
    when: &'static str,
    /// Arguments after the repository.
    args: &'static [(&'static str, &'static str)],
    /// Its standard input.
    stdin: &'static str,
    /// The effect of its exit code.
    effect: &'static str,
    /// An example.
    script: &'static str,
}

/// File name and text of each sample.
pub(super) fn samples() -> impl Iterator<Item = (String, String)> {
    SAMPLES
        .iter()
        .map(|sample| (format!("{}.tmpl", sample.hook.name()), sample.text()))
}

impl Sample {
    fn text(&self) -> String {
        let name = self.hook.name();
        let mut text = format!("#!/bin/sh\n#\n# {name}: {}\n#\n# Arguments:\n", self.when);
        let repository = ("REPOS", "path of the repository");
        for (number, (arg, what)) in std::iter::once(&repository).chain(self.args).enumerate() {
            text.push_str(&format!("#   ${} {arg:<13} {what}\n", number + 1));
        }
        for part in [
            "#\n# Standard input: ",
            self.stdin,
            "\n#\n# ",
            self.effect,
            "\n#\n",
        ] {
            text.push_str(part);
        }
        text.push_str(&IN_COMMON.replace("NAME", name));
        text.push_str("\nset -e\n");
        for (number, (arg, _)) in std::iter::once(&repository).chain(self.args).enumerate() {
            text.push_str(&format!("{}=\"${}\"\n", arg.replace('-', "_"), number + 1));
        }
        text.push('\n');
        text.push_str(self.script);
        text
    }
}

const IN_COMMON: &str = "\
# To use it, save it as NAME (without .tmpl) and make it executable
# for everybody through whom the repository is served. Any program will do.
#
# It runs with an empty environment: not even PATH is set, unless
# conf/hooks-env says so. Name programs by their full paths. The working
# directory may be any. What a user has typed arrives in the arguments as it
# is: quote them, and put -- before those that could look like an option.
# A process that stays in the background must close standard output and
# standard error, or the user will wait for it.
";

const SAMPLES: [Sample; 9] = [
    Sample {
        hook: Hook::StartCommit,
        when: "runs when a commit has begun, before it contains anything.",
        args: &[
            ("USER", "who commits; empty if anonymous"),
            (
                "CAPABILITIES",
                "what the client says it can do, with colons between",
            ),
            ("TXN", "name of the transaction, for 'svnlook -t'"),
        ],
        stdin: "nothing.",
        effect: "If it exits with another code than 0 the commit is given up, and the\n\
                 # user is shown what it wrote to standard error.",
        script: "case \":$CAPABILITIES:\" in\n    *:mergeinfo:*) exit 0 ;;\nesac\n\
                 echo \"Please commit with Subversion 1.5 or newer.\" >&2\nexit 1\n",
    },
    Sample {
        hook: Hook::PreCommit,
        when: "runs before a commit becomes a revision.",
        args: &[("TXN", "name of the transaction, for 'svnlook -t'")],
        stdin: "if the client holds locks, the line LOCK-TOKENS: and then a line\n\
                # for each, PATH|TOKEN with the path escaped as in a URL, and an empty line.",
        effect: "If it exits with another code than 0 there is no revision, and the user\n\
                 # is shown what it wrote to standard error. It must not change the transaction.",
        script: "if ! /usr/bin/svnlook log -t \"$TXN\" -- \"$REPOS\" | /usr/bin/grep -q '[[:alnum:]]'; then\n    \
                 echo \"Please say in the log message what the change is for.\" >&2\n    exit 1\nfi\n",
    },
    Sample {
        hook: Hook::PostCommit,
        when: "runs after a commit has become a revision.",
        args: &[
            ("REV", "number of the new revision"),
            ("TXN", "name that the transaction had"),
        ],
        stdin: "nothing.",
        effect: "The revision stays whatever it does; if it exits with another code than 0\n\
                 # the user is shown a warning with what it wrote to standard error.",
        script: "/usr/bin/logger -t svn -- \"$REPOS: revision $REV\"\n",
    },
    Sample {
        hook: Hook::PreRevpropChange,
        when: "runs before a property of a revision changes.\n\
               # The old value is lost then, so without this hook no such change is allowed.",
        args: &[
            ("REV", "the revision"),
            ("USER", "who changes it; empty if anonymous"),
            ("PROPNAME", "the property"),
            (
                "ACTION",
                "A if it is added, M if it is modified, D if it is deleted",
            ),
        ],
        stdin: "the new value.",
        effect: "If it exits with another code than 0 nothing changes, and the user is\n\
                 # shown what it wrote to standard error.",
        script: "if [ \"$ACTION\" = M ] && [ \"$PROPNAME\" = svn:log ]; then\n    exit 0\nfi\n\
                 echo \"Only log messages may be corrected.\" >&2\nexit 1\n",
    },
    Sample {
        hook: Hook::PostRevpropChange,
        when: "runs after a property of a revision has changed.",
        args: &[
            ("REV", "the revision"),
            ("USER", "who changed it; empty if anonymous"),
            ("PROPNAME", "the property"),
            (
                "ACTION",
                "A if it was added, M if it was modified, D if it was deleted",
            ),
        ],
        stdin: "the old value: this is the place to keep it.",
        effect: "The change stays whatever it does; if it exits with another code than 0\n\
                 # the user is shown what it wrote to standard error.",
        script: "{\n    echo \"r$REV $PROPNAME was changed ($ACTION) by $USER; before:\"\n    /bin/cat\n    echo\n\
                 } >> \"$REPOS/changed-revprops.txt\"\n",
    },
    Sample {
        hook: Hook::PreLock,
        when: "runs before a path is locked.",
        args: &[
            ("PATH-IN-REPOS", "the path"),
            ("USER", "who locks it"),
            ("COMMENT", "what they say about it"),
            ("STEAL", "1 if another user's lock may be taken over, else 0"),
        ],
        stdin: "nothing.",
        effect: "If it exits with another code than 0 the path is not locked, and the user\n\
                 # is shown what it wrote to standard error. What it writes to standard output,\n\
                 # if anything, becomes the lock's token: 'opaquelocktoken:' and something that\n\
                 # no other lock has, without a newline.",
        script: "if [ \"$STEAL\" = 1 ]; then\n    \
                 echo \"Please ask the owner of the lock, or an administrator.\" >&2\n    exit 1\nfi\n",
    },
    Sample {
        hook: Hook::PostLock,
        when: "runs after paths were locked, once for all of a request.",
        args: &[("USER", "who locked them")],
        stdin: "the paths, one a line.",
        effect: "The locks stay whatever it does; if it exits with another code than 0\n\
                 # the user is shown what it wrote to standard error.",
        script: "while IFS= read -r path; do\n    /usr/bin/logger -t svn -- \"$USER locked $path\"\ndone\n",
    },
    Sample {
        hook: Hook::PreUnlock,
        when: "runs before a path is unlocked.",
        args: &[
            ("PATH-IN-REPOS", "the path"),
            ("USER", "who unlocks it; empty if anonymous"),
            ("TOKEN", "the lock's token; may be empty if it is broken"),
            ("BREAK", "1 if another user's lock may be broken, else 0"),
        ],
        stdin: "nothing.",
        effect: "If it exits with another code than 0 the lock stays, and the user is shown\n\
                 # what it wrote to standard error.",
        script: "if [ \"$BREAK\" = 1 ] && [ \"$USER\" != admin ]; then\n    \
                 echo \"Only the administrator breaks locks.\" >&2\n    exit 1\nfi\n",
    },
    Sample {
        hook: Hook::PostUnlock,
        when: "runs after paths were unlocked, once for all of a request.",
        args: &[("USER", "who unlocked them; empty if anonymous")],
        stdin: "the paths, one a line.",
        effect: "The locks are gone whatever it does; if it exits with another code than 0\n\
                 # the user is shown what it wrote to standard error.",
        script: "while IFS= read -r path; do\n    /usr/bin/logger -t svn -- \"$USER unlocked $path\"\ndone\n",
    },
];

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the shell judges its own syntax")]
    fn samples_are_shell_scripts() {
        for (name, text) in samples() {
            let mut child = Command::new("sh")
                .arg("-n")
                .stdin(Stdio::piped())
                .spawn()
                .expect("because there is a shell");
            let mut stdin = child.stdin.take().expect("because it is a pipe");
            std::io::Write::write_all(&mut stdin, text.as_bytes()).expect("because sh reads it");
            drop(stdin);
            assert!(
                child.wait().expect("because it runs").success(),
                "{name}:\n{text}"
            );
            assert!(text.lines().all(|line| line.len() <= 100), "{name}:\n{text}");
        }
    }
}
