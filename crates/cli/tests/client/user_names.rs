//! Odd names of users and odd passwords: in options and URLs, over svn:// and http://.

use testkit::{Spec, build, sample_from};

use crate::twins::{Access, TwinClients};

const NAMES: &[&str] = &[
    "",
    " ",
    "alice",
    "alice ",
    "\talice\n",
    "al ice",
    "é",
    "日本",
    "a\u{1}b",
    "a:b",
    "a/b",
    "a@b",
    "%",
    "\"",
    "-",
];

#[test]
fn odd_names_and_passwords() {
    let repo = build(&Spec::small("1.14"));
    for (at, access) in [Access::Svn, Access::Http].into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        let mut wrong = Vec::new();
        let mut check = |words: &[&str]| {
            let [theirs, ours] = twins.outputs(words, |tool| tool.env("LC_ALL", "C.UTF-8"));
            // The text of an older error of the system.
            let theirs = theirs.replace("username.: No such file or directory", "username.");
            if theirs != ours {
                wrong.push(format!("{words:?}\n--- theirs\n{theirs}\n--- ours\n{ours}"));
            }
        };
        let options = [
            "--password=secret --username",
            "--password= --username",
            "--username=alice --password",
        ];
        let names = NAMES.iter().enumerate();
        let all = names.flat_map(|(number, name)| options.map(|options| (number, name, options)));
        for (number, name, options) in sample_from(at, 2, all) {
            let new = format!("{{URL}}/new-{number}");
            let line = [
                "svn",
                "mkdir",
                "-m",
                "x",
                &new,
                "--non-interactive",
                "--no-auth-cache",
            ];
            let options: Vec<&str> = options.split(' ').collect();
            check(&[&line[..], &options, &[name]].concat());
        }
        assert!(
            wrong.is_empty(),
            "{access:?}: {} differ\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }
}
