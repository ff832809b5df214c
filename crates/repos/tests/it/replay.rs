//! Replays, compared call by call with those of the real `svnserve`.

use base::{FsPath, Revnum};
use delta::editor::EncodedVersions;
use repos::access::Readable;
use repos::dump::{Filter, FilterRule};
use repos::replay::{self, ReplayOptions};
use repos::{Cache, Repository};
use testkit::server::TestServer;
use testkit::{Repo, Side, Spec, build};

use crate::peer::{EditLines, SvnPeer};
use crate::recording::{EVERYTHING, RecordingEditor, RepositoryTexts};

/// Sorts the calls for properties: the incumbent sends them in the order of a hash table.
fn normalized(edit: EditLines) -> EditLines {
    let mut lines = edit?;
    for run in lines.chunk_by_mut(|a, b| a.starts_with("prop ") && b.starts_with("prop ")) {
        run.sort();
    }
    Ok(lines)
}

fn ours(
    repo: &Repository,
    texts: &RepositoryTexts,
    rev: u64,
    options: &ReplayOptions,
    readable: &dyn Readable,
    accepts: EncodedVersions,
) -> EditLines {
    let mut recording = RecordingEditor::new(texts, accepts);
    match replay::replay(repo, Revnum(rev), options, readable, &mut recording) {
        Ok(()) => Ok(recording.finish()),
        Err(error) => Err(error
            .links()
            .map(|link| (u64::from(link.code().0.unsigned_abs()), link.text()))
            .collect()),
    }
}

fn options(base: &str, low: u64, send_deltas: bool) -> ReplayOptions {
    ReplayOptions {
        base_path: FsPath::canonicalize(base).expect("a path"),
        low_water_mark: Some(Revnum(low)),
        send_deltas,
    }
}

fn serve(repo: &Repo) -> (TestServer, String) {
    let root = repo.path().parent().expect("because a repository has a folder");
    let name = repo.path().file_name().expect("because it has a name");
    let server = TestServer::svnserve(Side::Theirs, root, &["-T"]);
    (server, name.to_string_lossy().into_owned())
}

fn compare(name: &str, repo: &Repo, bases: &[&str], readable: &dyn Readable) {
    let (server, served) = serve(repo);
    let opened = Repository::open(repo.path(), &Cache::new(64 << 20)).expect("a repository");
    let texts = RepositoryTexts::of(&opened);
    let youngest = opened.youngest().expect("readable").0;
    for base in bases {
        let mut peer = SvnPeer::connect(&server, &format!("{served}{base}"));
        for rev in 0..=youngest {
            for (low, deltas) in [(0, true), (0, false), (youngest / 2, true)] {
                let theirs = normalized(peer.replay(rev, low, deltas));
                let options = options(base, low, deltas);
                for accepts in [EncodedVersions::NONE, EncodedVersions::up_to(2)] {
                    let ours = normalized(ours(&opened, &texts, rev, &options, readable, accepts));
                    if theirs != ours {
                        show(&theirs, &ours);
                        panic!("{name}: r{rev} of '{base}', low {low}, deltas {deltas}");
                    }
                }
            }
        }
    }
}

pub fn show(theirs: &EditLines, ours: &EditLines) {
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => {
            for line in theirs.iter().filter(|line| !ours.contains(line)) {
                eprintln!("only theirs: {line}");
            }
            for line in ours.iter().filter(|line| !theirs.contains(line)) {
                eprintln!("only ours:   {line}");
            }
            let at = theirs.iter().zip(ours).take_while(|(a, b)| a == b).count();
            eprintln!(
                "first difference at {at}: {:?} / {:?}",
                theirs.get(at),
                ours.get(at)
            );
        }
        _ => eprintln!("theirs: {theirs:#?}\nours: {ours:#?}"),
    }
}

#[test]
fn every_revision_of_the_rich_history() {
    for compatible in ["1.4", "1.14"] {
        let repo = build(&Spec::new(compatible));
        compare(compatible, &repo, &["", "/trunk", "/branches/b2"], &EVERYTHING);
    }
}

#[test]
fn expanded_copies() {
    for compatible in ["1.6", "1.14"] {
        let repo = build(
            &Spec::new(compatible)
                .named("expanded")
                .with(crate::dump::expanded_copies_stream()),
        );
        compare(compatible, &repo, &["", "/to", "/other", "/from"], &EVERYTHING);
    }
}

#[test]
fn unreadable_paths() {
    let repo = build(
        &Spec::new("1.14")
            .named("expanded")
            .with(crate::dump::expanded_copies_stream()),
    )
    .copy();
    for hidden in ["/from", "/from/d1", "/to/c2/d1", "/other", "/from/a"] {
        let conf = repo.path().join("conf");
        std::fs::write(conf.join("svnserve.conf"), "[general]\nauthz-db = authz\n").expect("written");
        std::fs::write(conf.join("authz"), format!("[/]\n* = r\n[{hidden}]\n* =\n")).expect("written");
        let filter = Filter {
            rule: FilterRule::Exclude,
            patterns: vec![hidden.to_owned()],
            glob: false,
        };
        compare(hidden, &repo, &[""], &filter);
    }
}
