//! Golden bytes: what Subversion's tools have written is decoded, and encoded to the same bytes.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]
#![expect(clippy::disallowed_methods, reason = "a test may read files as it likes")]

use std::cell::RefCell;
use std::fs;

use base::checksum::fnv1a_32x4;
use base::{NodeKind, Result, Revnum};
use testkit::history::Random;
use testkit::{Repo, Tool, history, scratch};

use crate::format::fsx::changes_container::ChangesContainer;
use crate::format::fsx::dir::FsxDirEntries;
use crate::format::fsx::noderev::FsxNodeRev;
use crate::format::fsx::noderev_container::NodeRevContainer;
use crate::format::fsx::p2l::ItemType;
use crate::format::fsx::rep_container::RepContainer;
use crate::format::fsx::rep_line::FsxRep;
use crate::format::fsx::{changes, prop_list, proto_index, small_files};
use crate::format::rep_header::RepHeader;
use crate::format::rep_line::Rep;
use crate::store::cache::Cache;
use crate::store::fsx::indexes::FsxItem;
use crate::store::rev_file::RevFile;
use crate::tree::Fs;
use crate::tree::node::Node;
use crate::tree::rep::TextReader;

fn open(repo: &Repo) -> Fs {
    Fs::open(&repo.db(), &Cache::new(16 << 20)).unwrap()
}

/// Makes a repository with the history of `history::small`, whose names are ASCII: the incumbent escapes other bytes in
/// paths, and the encoders do not.
fn repository() -> (tempfile::TempDir, Repo) {
    let folder = scratch();
    let path = folder.path().join("repo");
    Tool::new("svnadmin")
        .args(["create", "--fs-type", "fsx"])
        .arg(&path)
        .ok();
    let format = path.join("db/format");
    fs::remove_file(&format).unwrap();
    fs::write(format, "2\nlayout sharded 2\n").unwrap();
    let repo = Repo::at(&path);
    repo.load(history::small().bytes());
    (folder, repo)
}

/// Calls `each` with all items of the file that holds `rev`.
fn each_item(fs: &Fs, rev: Revnum, each: impl Fn(&RevFile, &FsxItem, &[u8])) {
    let file = fs.rev_file(rev).unwrap();
    let items = file.fsx(fs.cache()).unwrap();
    let mut end = 0;
    let pages = (0..items.page_count().unwrap()).map(|page| items.page_entries(page).unwrap());
    for entry in pages.flat_map(|page| page.to_vec()) {
        assert_eq!(entry.offset, end);
        end = entry.end();
        if entry.items.is_empty() {
            continue;
        }
        let bytes = file.bytes().read_vec(entry.offset, entry.size).unwrap();
        assert_eq!(fnv1a_32x4(&bytes), entry.checksum);
        for (at, &(rev, number)) in entry.items.iter().enumerate() {
            let item = items.item(rev, number).unwrap();
            assert_eq!((item.offset, item.sub_item), (entry.offset, at as u64));
            each(&file, &item, &bytes);
        }
    }
}

#[test]
fn items_of_unpacked_revisions() {
    let (_folder, repo) = repository();
    let fs = open(&repo);
    for rev in 0..=repo.youngest() {
        each_item(&fs, Revnum(rev), |_, item, bytes| {
            let mut out = Vec::new();
            match item.item_type {
                ItemType::NodeRev => FsxNodeRev::parse(bytes).unwrap().encode(&mut out),
                ItemType::Changes => changes::encode(&changes::parse(bytes).unwrap(), &mut out),
                _ => {
                    let (header, length) = RepHeader::parse(bytes).unwrap().unwrap();
                    header.encode(&mut out);
                    assert_ne!(header, RepHeader::Plain);
                    assert_eq!(&bytes[length..length + 4], b"SVN\x01");
                    assert!(bytes.ends_with(b"ENDREP\n"));
                    out.extend_from_slice(&bytes[length..]);
                }
            }
            assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(bytes));
        });
    }
}

#[test]
fn records_of_containers() {
    let (_folder, repo) = repository();
    let unpacked = open(&repo);
    let youngest = Revnum(repo.youngest());
    let packed = repo.copy();
    Tool::new("svnadmin").args(["pack", "-q"]).arg(packed.path()).ok();
    let fs = open(&packed);
    each_item(&fs, Revnum(0), |file, item, _| {
        assert!(item.item_type.is_container(), "{item:?}");
        let count = file.container(fs.cache(), item).unwrap().len();
        assert!(item.sub_item < count as u64);
    });
    for rev in 0..=youngest.0 {
        let rev = Revnum(rev);
        let nodes = |fs: &Fs| {
            every_node(fs, rev)
                .iter()
                .map(|node| node.noderev().clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(nodes(&unpacked), nodes(&fs));
        let changes = |fs: &Fs| -> Result<_> { fs.root(rev)?.changed_paths() };
        assert_eq!(changes(&unpacked).unwrap(), changes(&fs).unwrap());
    }
}

#[test]
fn damaged_containers_are_refused_or_decoded() {
    let (_folder, repo) = repository();
    Tool::new("svnadmin").args(["pack", "-q"]).arg(repo.path()).ok();
    let fs = open(&repo);
    let containers = RefCell::new(Vec::new());
    for shard in [0, 2, 4] {
        each_item(&fs, Revnum(shard), |_, item, bytes| {
            if item.sub_item == 0 {
                containers.borrow_mut().push((item.item_type, bytes.to_vec()));
            }
        });
    }
    let mut random = Random::new(17);
    for (item_type, bytes) in containers.into_inner() {
        // Without damage, everything is there.
        assert_eq!(failures(item_type, &bytes), 0);
        for _ in 0..500 {
            let mut damaged = bytes.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(damaged.len());
                damaged[at] = random.next() as u8;
            }
            failures(item_type, &damaged);
            failures(item_type, &bytes[..random.below(bytes.len())]);
        }
    }
}

/// Decodes a container and its records; returns the number of errors.
fn failures(item_type: ItemType, bytes: &[u8]) -> usize {
    match item_type {
        ItemType::NodeRevContainer => NodeRevContainer::decode(bytes).map_or(1, |container| {
            let all = 0..container.len() as u64;
            all.filter(|&at| container.get(at).is_err()).count()
        }),
        ItemType::ChangesContainer => ChangesContainer::decode(bytes).map_or(1, |container| {
            let all = 0..container.len() as u64;
            all.filter(|&at| container.get(at).is_err()).count()
        }),
        _ => RepContainer::decode(bytes).map_or(1, |container| {
            let all = 0..container.len() as u64;
            all.filter(|&at| container.read(at, 0, 1 << 20).is_err()).count()
        }),
    }
}

fn every_node(fs: &Fs, rev: Revnum) -> Vec<Node> {
    let mut nodes = vec![fs.root(rev).unwrap().root_node().unwrap()];
    let mut at = 0;
    while let Some(node) = nodes.get(at).cloned() {
        if node.kind() == NodeKind::Dir {
            let entries = node.entries().unwrap();
            nodes.extend(entries.iter().map(|entry| node.child_of(entry).unwrap()));
        }
        at += 1;
    }
    nodes
}

#[test]
fn directories_and_property_lists() {
    let (_folder, repo) = repository();
    let fs = open(&repo);
    let text = |rep: &Rep| TextReader::new(&fs, Some(rep), None).unwrap().read_all().unwrap();
    for rev in 0..=repo.youngest() {
        for node in every_node(&fs, Revnum(rev)) {
            let noderev = node.noderev();
            if let (NodeKind::Dir, Some(rep)) = (noderev.kind, &noderev.text) {
                let stored = text(rep);
                let mut out = Vec::new();
                FsxDirEntries::decode(&stored).unwrap().encode(&mut out);
                assert_eq!(out, stored);
            }
            if let Some(rep) = &noderev.props {
                let stored = text(rep);
                let mut out = Vec::new();
                prop_list::encode(&prop_list::decode(&stored).unwrap(), &mut out);
                // The order of the incumbent is that of its hash table.
                assert_eq!(out.len(), stored.len());
            }
        }
    }
}

#[test]
fn files_of_a_transaction() {
    let (_folder, repo) = repository();
    repo.open_txn();
    let db = repo.db();
    let txns: Vec<_> = fs::read_dir(db.join("transactions")).unwrap().collect();
    let [txn] = &txns[..] else {
        panic!("{} transactions", txns.len())
    };
    let folder = txn.as_ref().unwrap().path();
    let name = folder.file_stem().unwrap().to_str().unwrap().to_owned();
    let proto_rev = fs::read(db.join(format!("txn-protorevs/{name}.rev"))).unwrap();
    assert!(small_files::txn_current(&fs::read(db.join("txn-current")).unwrap()).unwrap() > 0);

    let (mut node_revs, mut directories, mut lists, mut digests) = (0, 0, 0, 0);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        match path.file_name().unwrap().to_str().unwrap() {
            "props" => assert!(prop_list::decode(&bytes).unwrap().contains_key("svn:log")),
            "changes" => {
                let mut list = changes::parse_log(&bytes).unwrap();
                assert!(list.len() > 5);
                list.retain(|change| change.path.as_str() == "/open");
                assert!(!list.is_empty());
            }
            "next-ids" => assert!(small_files::next_ids(&bytes).unwrap() > (0, 0)),
            "itemidx" => assert!(small_files::next_item(&bytes).unwrap() > 3),
            "index.l2p" => {
                assert_eq!(bytes.len() % 24, 0);
                assert_eq!(proto_index::find_l2p(&bytes, 0), Ok(None));
            }
            "index.p2l" => {
                check_proto_items(&bytes, &fs::read(folder.join("index.l2p")).unwrap(), &proto_rev)
            }
            name if name.ends_with(".props") => {
                lists += usize::from(!prop_list::decode(&bytes).unwrap().is_empty());
            }
            name if name.ends_with(".children") => {
                directories += usize::from(FsxDirEntries::decode_children(&bytes).unwrap().iter().len() > 0);
            }
            name if name.starts_with("node.") => {
                let mut out = Vec::new();
                let noderev = FsxNodeRev::parse(&bytes).unwrap();
                noderev.encode(&mut out);
                assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&bytes));
                assert_eq!(format!("node.{}", noderev.id), name);
                node_revs += 1;
            }
            name => {
                assert_eq!(name.len(), 40, "{name}");
                let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
                let rep = FsxRep::parse(line).unwrap();
                assert_eq!(rep.sha1.unwrap().to_string(), name);
                digests += 1;
            }
        }
    }
    assert!(node_revs > 4 && directories > 1 && lists > 1 && digests > 1);
}

/// Both indexes of a transaction agree with each other and with the items.
fn check_proto_items(p2l: &[u8], l2p: &[u8], proto_rev: &[u8]) {
    let (items, end) = proto_index::parse_p2l(p2l).unwrap();
    assert_eq!(end, proto_rev.len() as u64);
    for item in items {
        let stored = &proto_rev[item.offset as usize..][..item.size as usize];
        assert_eq!(u64::from(fnv1a_32x4(stored)), item.checksum);
        let number = item.items[0].1;
        assert_eq!(proto_index::find_l2p(l2p, number), Ok(Some(item.offset)));
    }
}

#[test]
fn the_small_files_of_a_new_repository() {
    let (_folder, repo) = repository();
    let read = |name: &str| fs::read(repo.db().join(name)).unwrap();
    assert_eq!(small_files::shard_size(&read("format")), Ok(2));
    let generation = small_files::generation(&read("revprop-generation"));
    assert_eq!(generation.map(|number| number % 2), Ok(0));
    // Revision 0 is the same in every repository but for the sizes of pages.
    let r0 = fs::read(repo.db().join("revs/0/r0")).unwrap();
    assert!(r0.starts_with(b"id: 2+0\nnode: 0+0\ncopy: 0+0\ntype: dir\ncount: 0\ncpath: /\n\n\nL2P-INDEX\n"));
    let p0 = fs::read(repo.db().join("revs/0/p0")).unwrap();
    let props = prop_list::decode(prop_list::check_file(&p0).unwrap()).unwrap();
    assert_eq!(props.into_keys().collect::<Vec<_>>(), ["svn:date"]);
}
