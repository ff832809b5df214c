//! Transactions that another program has left open.

use base::{Code, NodeKind, Revnum};
use fsfs::Fs;
use fsfs::{ChangeKind, ChangedPath};
use testkit::{Tool, history};

use super::compare;
use super::repository::{FsxRepository, Settings};

#[test]
fn an_open_transaction_is_read_as_by_svnlook() {
    for packed in [false, true] {
        let repository = FsxRepository::load(&Settings::shard(3), &history::small().bytes());
        if packed {
            repository.pack();
        }
        repository.repo().open_txn();
        let fs = repository.open();
        let [txn] = &fs.list_txns().unwrap()[..] else {
            panic!("not one transaction");
        };
        compare_txn(&repository, &fs, txn);
        let props = fs.txn_props(txn).unwrap();
        let log = repository.svnlook("log", &["-t", txn]);
        assert_eq!(
            String::from_utf8_lossy(&props["svn:log"]).trim_end(),
            log.trim_end()
        );
        for (name, code) in [
            ("zz", Code::FS_NO_SUCH_TRANSACTION),
            ("A/", Code::INCORRECT_PARAMS),
        ] {
            assert_eq!(fs.txn_root(name).err().map(|e| e.code()), Some(code));
        }
    }
}

fn compare_txn(repository: &FsxRepository, fs: &Fs, txn: &str) {
    let root = fs.txn_root(txn).unwrap();
    assert_eq!((root.revision(), root.txn_name()), (None, Some(txn)));
    assert_eq!(root.base_revision(), Revnum(repository.repo().youngest()));
    let theirs = repository.svnlook("tree", &["--show-ids", "--full-paths", "-t", txn]);
    assert_eq!(compare::ids(&root), theirs);
    let mut lines: Vec<_> = root.changed_paths().unwrap().iter().map(changed_line).collect();
    let changed = repository.svnlook("changed", &["-t", txn]);
    let mut theirs: Vec<_> = changed.lines().map(str::to_owned).collect();
    lines.sort();
    theirs.sort();
    assert_eq!(lines, theirs);

    let mut nodes = vec![root.root_node().unwrap()];
    let (mut texts, mut lists) = (0, 0);
    while let Some(node) = nodes.pop() {
        let path = node.path().as_str();
        // Nodes of the base revision are for other tests.
        let is_new = node.created_rev().is_none();
        let props = node.props().unwrap();
        assert_eq!(node.has_props(), !props.is_empty());
        if is_new {
            let names = repository.svnlook("proplist", &["-t", txn, path]);
            // The first line is a heading.
            let mut names: Vec<_> = names.lines().skip(1).map(str::trim).collect();
            names.sort_unstable();
            assert_eq!(props.keys().collect::<Vec<_>>(), names, "{path}");
            for (name, value) in &*props {
                let theirs = repository.svnlook("propget", &["-t", txn, name, path]);
                assert_eq!(*value, theirs.into_bytes());
                lists += 1;
            }
        }
        if node.kind() == NodeKind::Dir {
            for entry in node.entries().unwrap().iter() {
                nodes.push(node.child_of(entry).unwrap());
            }
        } else if is_new {
            let theirs = Tool::new("svnlook")
                .arg("cat")
                .arg(repository.path())
                .args([path, "-t", txn])
                .ok();
            assert_eq!(
                node.reader().unwrap().read_all().unwrap(),
                theirs.stdout,
                "{path}"
            );
            assert_eq!(node.size().unwrap(), theirs.stdout.len() as u64);
            texts += 1;
        }
    }
    assert!(texts > 2 && lists > 1, "{texts} {lists}");
}

/// As `svnlook changed` prints it.
fn changed_line(change: &ChangedPath) -> String {
    let letters = match (change.change, change.text_mod, change.prop_mod) {
        (ChangeKind::Add | ChangeKind::Replace, ..) => "A ",
        (ChangeKind::Delete, ..) => "D ",
        (ChangeKind::Modify, true, true) => "UU",
        (ChangeKind::Modify, true, false) => "U ",
        (ChangeKind::Modify, false, _) => "_U",
    };
    let slash = if change.node_kind == NodeKind::Dir {
        "/"
    } else {
        ""
    };
    format!("{letters}  {}{slash}", change.path.rel_str())
}
