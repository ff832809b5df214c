//! Imports while the repository is changed in the cluster: nothing that a node has acknowledged is lost.

use base::{Cancel, Code, Date, FsPath, Revnum};
use cluster::transfer::{self, OwnChanges};
use fsfs::Fs;
use fsfs::admin::verify::{self, VerifyOptions};
use testkit::repo::{Repo, Spec, build};

use crate::transfer::{Fixture, NoFailures, commit, fixture};

/// Commits to the cluster.
fn commit_to(fs: &Fs, name: &str) -> Revnum {
    let mut txn = fs
        .begin_txn(fs.youngest().unwrap(), fsfs::TxnOptions::default(), Date(0))
        .unwrap();
    let path = FsPath::parse(name).unwrap();
    txn.make_file(&path).unwrap();
    let mut writer = txn.apply_text(&path, None).unwrap();
    writer.write(b"important\n").unwrap();
    writer.finish(&mut txn).unwrap();
    txn.set_prop("svn:log", Some(b"of the cluster")).unwrap();
    txn.commit(&|| Date(7)).unwrap().rev
}

/// Imports, and takes a step after the first group of revisions.
fn import_with(
    f: &Fixture,
    repo: &Repo,
    own_changes: OwnChanges,
    step: impl FnOnce(),
) -> base::Result<Revnum> {
    let mut step = Some(step);
    let mut done = |_| {
        if let Some(step) = step.take() {
            step();
        }
    };
    transfer::import(
        &f.cluster,
        repo.path(),
        "r",
        own_changes,
        &mut done,
        &Cancel::new(),
    )
}

#[test]
fn commits_during_a_later_import_stay() {
    for (new_in_source, own_changes) in [
        (0, OwnChanges::Refuse),
        (1, OwnChanges::Overwrite),
        (3, OwnChanges::Refuse),
    ] {
        let f = fixture();
        let repo = build(&Spec::small("1.14").shard(4)).copy();
        let before = f.import(&repo, "r").unwrap();
        for number in 0..new_in_source {
            commit(&repo, &format!("source-{number}"), "text");
        }
        let fs = f.open("r");
        let mut made = None;
        let refused = import_with(&f, &repo, own_changes, || {
            made = Some(commit_to(&fs, "/cluster-only"))
        });
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::FS_ALREADY_EXISTS, "{refused:?}");
        assert!(refused.message().contains("were committed"), "{refused:?}");
        assert_eq!(made, Some(before.next()));
        // Another node sees the revision, and the cluster goes on.
        let fresh = f.open("r");
        assert_eq!(fresh.youngest().unwrap(), before.next(), "{new_in_source}");
        let log = fresh.revprops(before.next()).unwrap();
        assert_eq!(log.get("svn:log").unwrap(), b"of the cluster");
        assert_eq!(commit_to(&fresh, "/next"), before.next().next());
        let all = VerifyOptions::range(Revnum(0), before.next().next());
        verify::run(&f.open("r"), &all, &mut NoFailures).unwrap();
    }
}

/// The source has other properties of the same revision.
#[test]
fn properties_that_change_during_a_later_import_stay() {
    let f = fixture();
    let repo = build(&Spec::small("1.14").shard(4)).copy();
    let youngest = f.import(&repo, "r").unwrap();
    repo.set_revprop(youngest.0, "svn:log", b"of the source");
    let fs = f.open("r");
    let change = || {
        let mut props = fs.revprops(youngest).unwrap().to_props();
        _ = props.insert("svn:log".to_owned(), b"of the cluster".to_vec());
        fs.set_revprops(youngest, &props).unwrap();
    };
    let refused = import_with(&f, &repo, OwnChanges::Refuse, change).unwrap_err();
    assert_eq!(refused.code(), Code::FS_ALREADY_EXISTS, "{refused:?}");
    let log = || {
        f.open("r")
            .revprops(youngest)
            .unwrap()
            .get("svn:log")
            .map(<[u8]>::to_vec)
    };
    assert_eq!(log().as_deref(), Some(&b"of the cluster"[..]));
    import_with(&f, &repo, OwnChanges::Overwrite, || {}).unwrap();
    assert_eq!(log().as_deref(), Some(&b"of the source"[..]));
}

/// A copy of the source that is older does not take the revisions away that another import has brought meanwhile.
#[test]
fn an_import_does_not_take_back_what_a_later_one_has_brought() {
    let f = fixture();
    let repo = build(&Spec::small("1.14").shard(4)).copy();
    f.import(&repo, "r").unwrap();
    let old = repo.copy();
    commit(&repo, "new", "text");
    let refused =
        import_with(&f, &old, OwnChanges::Refuse, || _ = f.import(&repo, "r").unwrap()).unwrap_err();
    assert_eq!(refused.code(), Code::FS_ALREADY_EXISTS, "{refused:?}");
    assert_eq!(f.open("r").youngest().unwrap().0, repo.youngest());
    // Imports of the same source that run at the same time do not disturb each other.
    commit(&repo, "more", "text");
    import_with(&f, &repo, OwnChanges::Refuse, || {
        _ = f.import(&repo, "r").unwrap()
    })
    .unwrap();
}
