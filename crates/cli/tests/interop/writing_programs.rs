//! Other programs that write through a server: svnmucc, svnsync, svnrdump, git-svn.

use std::fs;

use testkit::{Repo, Spec, Tool, runs_all_cases};

use crate::pair::ScenarioClient;
use crate::twins::{CONF, Twins, write_program};

#[test]
fn svnmucc() {
    Twins::greek().same(sequences);
}

pub fn sequences(c: &mut ScenarioClient) {
    c.lines(
        r"
        printf 'new text' > f; printf 'other' > g
        mucc -m 'Sequence' mkdir x put f x/f cp HEAD A x/A rm iota propset p v x/A/mu
        mucc -m 'Same path twice' put f x/h put g x/f
        mucc -m 'Move and edit' mv x/A y put g y/mu propset -- colour red y
        mucc -m 'Replace' rm y cp HEAD A y
        mucc -m 'Replace a file' rm x/f put g x/f
        mucc -m 'Props' propsetf text f y propdel colour y
        mucc -m 'Nothing there' rm nope
        mucc -m 'Exists' mkdir x
        mucc -m 'Old copy' cp 1 iota iota cp 1 A/mu A/old
        mucc -m 'Root' propset top yes .
        mucc -r 1 -m 'Out of date' put g x/f
        mucc -r 1 -m 'Out of date props' propset a b A
        mucc --with-revprop k=v -m 'Revprop' mkdir z
        mucc -m 'No such revision' cp 99 A B
        mucc -m 'Folder as a file' put f A
        svn log -v $U
        ",
    );
}

#[test]
fn svnsync_into_it() {
    sync_into(&Twins::of(&Repo::create("1.14"), &[("svnserve.conf", CONF)], &[]));
}

pub fn sync_into(twins: &Twins) {
    let source = testkit::build(&match runs_all_cases() {
        true => Spec::new("1.14").busy().named("f8"),
        false => Spec::small("1.14").named("small-f8"),
    });
    twins.hook("pre-revprop-change", "exit 0");
    twins.same(|c| {
        c.mask(source.url(), "SOURCE");
        let from = source.url();
        c.lines(&format!(
            "sync init $U {from}\n sync sync -q $U\n sync info $U\n sync copy-revprops -q $U\n svn log -v -r 1:HEAD $U"
        ));
    });
}

#[test]
fn svnrdump_load_into_it() {
    rdump_into(&Twins::of(&Repo::create("1.14"), &[("svnserve.conf", CONF)], &[]));
}

pub fn rdump_into(twins: &Twins) {
    let source = testkit::build(&Spec::new("1.14").busy().named("f8"));
    let revisions = if runs_all_cases() { "0:HEAD" } else { "0:45" };
    let dump = Tool::new("svnadmin")
        .args(["dump", "-q", "--deltas", "-r", revisions])
        .arg(source.path())
        .ok();
    let folder = testkit::scratch();
    let path = folder.path().join("dump");
    fs::write(&path, dump.stdout).expect("because the folder is ours");
    twins.hook("pre-revprop-change", "exit 0");
    twins.same(|c| {
        c.mask(path.display().to_string(), "DUMP");
        let path = path.display();
        c.lines(&format!(
            "svnrdump load $U --username alice --password secret --non-interactive --no-auth-cache < {path}\n svn log -q -r 1:HEAD $U"
        ));
    });
}

#[test]
fn git_svn_dcommit() {
    dcommit(&Twins::with(
        &[("svnserve.conf", "[general]\nanon-access = write\n")],
        &[],
    ));
}

pub fn dcommit(twins: &Twins) {
    let home = testkit::scratch();
    let config = home.path().join("gitconfig");
    write_program(&config, "[user]\n name = A\n email = a@b\n");
    twins.same(|c| {
        let git = format!("export GIT_CONFIG_GLOBAL={}; cd git", config.display());
        for step in [
            "git svn clone -q $U git >/dev/null 2>&1".to_owned(),
            format!("{git}; echo x >> iota; git mv A/mu A/nu; git commit -qam 'Edit and rename from git'; mkdir n; echo 1 > n/f; git add n; git rm -q A/D/H/chi; git commit -qm 'More from git'; git svn dcommit -q >/dev/null 2>&1"),
            format!("{git}; git log --format=%s; git status --short"),
        ] {
            let output = Tool::new("sh").args(["-c", &step]).env("U", &c.url).dir(c.dir()).run();
            c.note(&format!("$ {}\n=> {}", output.out(), output.code));
        }
        c.lines("svn log -v $U");
    });
}

#[test]
fn into_subfolders() {
    let source = testkit::build(&Spec::small("1.14").named("small-f8"));
    let folder = testkit::scratch();
    let file = |name: &str, args: &[&str]| {
        let dump = Tool::new("svnrdump")
            .args(["dump", "-q", "--non-interactive"])
            .args(args)
            .ok();
        let path = folder.path().join(name);
        fs::write(&path, dump.stdout).expect("because the folder is ours");
        path.display().to_string()
    };
    let whole = file("whole", &[&source.url()]);
    let part = file("part", &[&format!("{}/A", source.url()), "-r1:4"]);
    let twins = Twins::greek();
    twins.hook("pre-revprop-change", "exit 0");
    twins.same(|c| {
        for (path, shown) in [(&whole, "WHOLE"), (&part, "PART")] {
            c.mask(path.clone(), shown);
        }
        c.mask(source.url(), "SOURCE");
        let login = "--username alice --password secret --non-interactive --no-auth-cache";
        let from = source.url();
        c.lines(&format!(
            "svn mkdir -q -m 'A place' $U/place $U/other
             svnrdump load -q $U/place {login} < {whole}
             svnrdump load -q $U/other {login} < {part}
             svnrdump load -q $U/nope {login} < {part}
             svn ls -R $U
             svn log -q -v $U
             svnrdump dump -q $U/place {login} | grep -a '^Node-path\\|^Node-copyfrom' | sort | uniq -c
             sync init $U/place {from}
             sync init --allow-non-empty $U/place {from}
             sync init --allow-non-empty $U {from}/A
             sync sync $U
             sync info $U"
        ));
    });
}
