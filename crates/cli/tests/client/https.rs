//! Commands over https: each kind that there is, with the servers of both implementations.
//!
//! With `SVEN_CLIENT_OVER=https`, all tables of the other modules that run over http:// run over https://.

use testkit::{Side, Spec, build, normalize, sample, sample_from};

use crate::mirrors::Mirrors;
use crate::twins::{Access, TwinClients};
use crate::{read_repo, requests, svnsync, writing};

/// Commands beside those of [`requests`].
const MORE: &[&str] = &[
    "svn info {URL}/nosuch",
    "svn cat -r99 {URL}/P/f",
    "svn mkdir -m again {URL}/new",
    "svn log --xml -v -r1:4 {URL}",
    "svn diff --summarize --xml -c5 {URL}",
    "svn blame --xml {URL}/P/f",
    "svn propdel --revprop -r3 svn:log {URL}",
    "svnmucc -m refused mkdir {URL}/new",
    "svn unlock {URL}/P/d/g",
];

#[test]
fn each_command_works() {
    let repo = read_repo::repository();
    let rev = (repo.youngest() - 1).to_string();
    let mut wrong = Vec::new();
    for (number, servers) in Side::BOTH.into_iter().enumerate() {
        let twins = TwinClients::with_servers(&repo, Access::Https, servers);
        requests::prepare(&twins);
        let writing = sample_from(number, 2, requests::WRITING).copied().flatten();
        // The results of `svnbench` have times.
        let lines = sample(4, requests::READING)
            .chain(writing)
            .chain(sample(2, MORE))
            .filter(|line| !line.starts_with("svnbench"))
            // Reading is a matter of the client alone.
            .filter(|line| servers == Side::Theirs || line.contains(" -m"));
        for line in lines {
            let line = format!("{} {}", line.replace("{REV}", &rev), writing::USER);
            let words: Vec<&str> = line.split(' ').collect();
            // The order of what has none is another one in each run; that of the rest is compared over http://.
            let [theirs, ours] = twins
                .outputs(&words, |tool| tool)
                .map(|text| normalize::sorted_lines(&text).join("\n"));
            if theirs != ours {
                wrong.push(format!(
                    "servers of {servers:?}: {line}\n--- theirs\n{theirs}\n--- ours\n{ours}"
                ));
            }
        }
        twins.same_repositories();
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn mirrors_are_made() {
    let branches = testkit::branch_history::history(5, 15).stream;
    let mirrors = Mirrors::new(&build(&Spec::new("1.14").with(branches)), Access::Https);
    svnsync::begin(&mirrors, "{source}");
    svnsync::same(&mirrors, "sync {M}");
    svnsync::same_mirrors(&mirrors);
}
