//! The functions behind `svnfsfs` and `svnadmin build-repcache`, compared with the incumbent's.

use base::{Cancel, Code, Revnum};
use fsfs::admin::indexes::{self, IndexEntry};
use fsfs::admin::{rep_cache, stats};
use fsfs::{Cache, Fs};
use testkit::Tool;
use testkit::repo::{Repo, Spec, When, build, matrix};

fn open(repo: &Repo) -> Fs {
    Fs::open(&repo.db(), &Cache::new(1 << 20)).unwrap()
}

#[test]
fn statistics_equal_the_incumbents() {
    let more = [
        Spec::new("1.14").shard(50).pack(When::After),
        Spec::small("1.14"),
        Spec::small("1.5").shard(2),
    ];
    for spec in matrix().into_iter().chain(more) {
        let repo = build(&spec);
        let theirs = Tool::new("svnfsfs").arg("stats").arg(repo.path()).ok().out();
        let (progress, theirs) = theirs.split_once("Global statistics").unwrap();
        let theirs = format!("Global statistics{theirs}");
        let mut starts = Vec::new();
        let ours = stats::run(
            &open(&repo),
            &mut |rev| starts.push(rev.0.to_string()),
            &Cancel::new(),
        );
        let ours = ours.unwrap().to_string();
        for (at, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
            assert_eq!(ours, theirs, "{} line {at}", spec.name);
        }
        assert_eq!(ours.len(), theirs.len(), "{}", spec.name);
        let printed: Vec<&str> = progress.split_ascii_whitespace().skip(2).collect();
        assert_eq!(starts, printed, "{}", spec.name);
    }
}

/// All rows of the rep-cache.
fn rows(repo: &Repo) -> Vec<(String, i64, i64, i64, i64)> {
    let connection = rusqlite::Connection::open(repo.db().join("rep-cache.db")).unwrap();
    let mut statement = connection
        .prepare("SELECT * FROM rep_cache ORDER BY hash")
        .unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
    statement
        .query_map([], row)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

#[test]
fn a_rebuilt_rep_cache_equals_the_incumbents() {
    for spec in matrix() {
        let (ours, theirs) = (build(&spec).copy(), build(&spec).copy());
        let youngest = Revnum(ours.youngest());
        let mut done = Vec::new();
        let mut build_ours = |first: u64, last: Revnum| {
            let first = Revnum(first);
            rep_cache::build(
                &open(&ours),
                first,
                last,
                &mut |rev| done.push(rev.0),
                &Cancel::new(),
            )
        };
        let printed = Tool::new("svnadmin")
            .arg("build-repcache")
            .arg(theirs.path())
            .run();
        if printed.code != 0 {
            let error = build_ours(1, youngest).unwrap_err();
            assert_eq!(
                format!("svnadmin: {error}"),
                printed.err().trim_end(),
                "{}",
                spec.name
            );
            continue;
        }
        for repo in [&ours, &theirs] {
            _ = std::fs::remove_file(repo.db().join("rep-cache.db"));
        }
        Tool::new("svnadmin")
            .args(["build-repcache", "-q"])
            .arg(theirs.path())
            .ok();
        build_ours(1, Revnum(20)).unwrap();
        build_ours(15, youngest).unwrap();
        assert_eq!(done, (1..=20).chain(15..=youngest.0).collect::<Vec<_>>());
        assert_eq!(rows(&ours), rows(&theirs), "{}", spec.name);
        Tool::new("svnadmin").args(["verify", "-q"]).arg(ours.path()).ok();
    }
    let repo = Repo::create("1.14");
    std::fs::write(
        repo.db().join("fsfs.conf"),
        "[rep-sharing]\nenable-rep-sharing = no\n",
    )
    .unwrap();
    let off = rep_cache::build(&open(&repo), Revnum(0), Revnum(0), &mut |_| {}, &Cancel::new()).unwrap_err();
    assert_eq!(off.code(), Code::FS_REP_SHARING_NOT_ALLOWED);
}

fn dump(fs: &Fs, rev: u64) -> base::Result<Vec<IndexEntry>> {
    let mut entries = Vec::new();
    indexes::dump(fs, Revnum(rev), &mut |entry| {
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

fn text(entries: &[IndexEntry]) -> String {
    let mut text = String::from("       Start       Length Type   Revision     Item Checksum\n");
    for entry in entries {
        let kind = IndexEntry::KINDS[usize::from(entry.kind)];
        text.push_str(&format!(
            "{:12x} {:12x} {kind:<5} {:9} {:8} {:08x}\n",
            entry.offset, entry.size, entry.rev.0, entry.item, entry.checksum
        ));
    }
    text
}

#[test]
fn index_dumps_equal_the_incumbents_and_load_again() {
    let spec = Spec::new("1.14").shard(16).pack(When::Halfway);
    let repo = build(&spec).copy();
    let fs = open(&repo);
    for rev in [0, 5, 20, 33, 70] {
        let entries = dump(&fs, rev).unwrap();
        let theirs = Tool::new("svnfsfs")
            .args(["dump-index", "-r", &rev.to_string()])
            .arg(repo.path())
            .ok()
            .out();
        assert_eq!(text(&entries), theirs, "r{rev}");
        let path = match rev < fs.info().unwrap().min_unpacked_rev.0 {
            true => repo.db().join(format!("revs/{}.pack/pack", rev / 16)),
            false => repo.db().join(format!("revs/{}/{rev}", rev / 16)),
        };
        let before = std::fs::read(&path).unwrap();
        let mut shuffled = entries.clone();
        shuffled.reverse();
        indexes::load(&fs, Revnum(rev), &shuffled).unwrap();
        assert!(std::fs::read(&path).unwrap() == before, "r{rev}");
        // Both the incumbent and we find a wrong checksum.
        let mut wrong = entries.clone();
        wrong[0].checksum ^= 1;
        indexes::load(&fs, Revnum(rev), &wrong).unwrap();
        assert!(dump(&fs, rev).unwrap() == wrong, "r{rev}");
        assert_ne!(
            Tool::new("svnadmin")
                .args(["verify", "-q"])
                .arg(repo.path())
                .run()
                .code,
            0
        );
        indexes::load(&open(&repo), Revnum(rev), &entries).unwrap();
        // Indexes and footer are replaced by garbage.
        let end = entries.last().map(|last| last.offset + last.size).unwrap() as usize;
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, [&before[..end], &b"garbage"[..]].concat()).unwrap();
        indexes::load(&open(&repo), Revnum(rev), &entries).unwrap();
        assert!(std::fs::read(&path).unwrap() == before, "r{rev}");
    }
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}

#[test]
fn invalid_index_lists_have_the_incumbents_errors() {
    let repo = build(&Spec::small("1.14")).copy();
    let fs = open(&repo);
    let entries = dump(&fs, 5).unwrap();
    let refused = |entries: &[IndexEntry]| {
        let error = indexes::load(&fs, Revnum(5), entries).unwrap_err();
        let theirs = Tool::new("svnfsfs")
            .arg("load-index")
            .arg(repo.path())
            .stdin(text(entries))
            .run();
        assert_eq!(format!("svnfsfs: {error}"), theirs.err().trim_end());
    };
    refused(&entries[1..]);
    refused(&entries[..2]);
    refused(&[&entries[..2], &entries[1..]].concat());
    refused(&[&entries[..2], &entries[3..]].concat());
    let mut impossible = entries.clone();
    impossible[0].item = 1 << 30;
    assert!(indexes::load(&fs, Revnum(5), &impossible).is_err());
    assert!(indexes::load(&fs, Revnum(5), &[]).is_err());
    assert_eq!(dump(&fs, 99).unwrap_err().code(), Code::FS_NO_SUCH_REVISION);
    let physical = open(&build(&Spec::small("1.8")));
    assert_eq!(
        dump(&physical, 1).unwrap_err().code(),
        Code::FS_UNSUPPORTED_FORMAT
    );
    Tool::new("svnadmin").args(["verify", "-q"]).arg(repo.path()).ok();
}
