//! The same edits to a repository of Subversion with its server, and to one of Sven with its server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::{Side, Tool, sample, scratch};

use super::drive::{CommitOutcome, CommitStyle, RunningCommit, commit, svnmucc};
use super::edit::{EditGenerator, ModelEdit};
use super::{admin, create, examine, hotcopy, paths, same, seeds, serve, steps, without_dates};

/// One of the two repositories, with its server.
struct ModelTwin {
    side: Side,
    root: TempDir,
    repository: PathBuf,
    server: Arc<TestServer>,
}

impl ModelTwin {
    fn new(side: Side, seed: u64) -> ModelTwin {
        let root = scratch();
        let repository = create(side, root.path(), seed);
        let server = serve(side, root.path());
        admin_uuid(side, &repository);
        ModelTwin {
            side,
            root,
            repository,
            server,
        }
    }

    fn url(&self) -> String {
        self.server.url("repo")
    }

    /// Begins a commit and waits until the server has its transaction.
    fn begin(&self, edit: &ModelEdit, manner: CommitStyle) -> RunningCommit {
        let folder = self.repository.join("db/transactions");
        let count = || std::fs::read_dir(&folder).map_or(0, Iterator::count);
        let before = count();
        let commit = RunningCommit::begin(&self.server, "repo", edit, manner);
        let begun = Instant::now();
        while count() == before && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(2));
        }
        commit
    }
}

fn admin_uuid(side: Side, repository: &std::path::Path) {
    let uuid = "5ba3b1f0-5f44-4b39-9a7d-4f6ba4c9a7d2";
    side.tool("svnadmin")
        .arg("setuuid")
        .arg(repository)
        .arg(uuid)
        .ok();
}

/// Runs a function for both; the results must be equal.
fn both<T: PartialEq + std::fmt::Debug + Send>(
    twins: &[ModelTwin; 2],
    act: impl Fn(&ModelTwin) -> T + Sync,
) -> T {
    let [theirs, ours] = std::thread::scope(|scope| {
        let ours = scope.spawn(|| act(&twins[1]));
        let theirs = act(&twins[0]);
        [theirs, ours.join().expect("because our side runs")]
    });
    if theirs != ours && std::env::var_os("MODEL_KEEP").is_some() {
        for twin in twins {
            let kept = std::env::temp_dir().join(format!("model-kept-{:?}", twin.side));
            Tool::new("cp").arg("-a").arg(&twin.repository).arg(kept).ok();
        }
    }
    assert_eq!(theirs, ours, "theirs and ours");
    ours
}

#[test]
fn two_repositories_get_the_same_edits() {
    seeds("two repositories", sample(3, 1..=7), |seed| run(seed, steps(14)));
}

fn run(seed: u64, rounds: usize) {
    let twins = Side::BOTH.map(|side| ModelTwin::new(side, seed));
    let mut maker = EditGenerator::new(seed, "edit");
    for _ in 0..rounds {
        let manner = CommitStyle {
            texts_late: maker.one_in(2),
            named_revisions: maker.one_in(2),
        };
        let youngest = maker.youngest();
        match maker.random.below(20) {
            0..=9 => {
                let edit = maker.edit(youngest);
                let outcome = both(&twins, |twin| commit(&twin.server, "repo", &edit, manner));
                apply_outcome_at_head(&mut maker, &edit, &outcome);
            }
            10 | 11 => {
                let mut edit = maker.edit(youngest);
                if !edit.fit_for_svnmucc() {
                    continue;
                }
                let outcome = both(&twins, |twin| svnmucc(&twin.url(), &edit));
                apply_outcome_at_head(&mut maker, &edit, &outcome);
            }
            12 | 13 => {
                // Based on an older revision: out of date, or merged.
                let back = maker.random.below(4) as u64;
                let edit = maker.edit(youngest.saturating_sub(back));
                let outcome = both(&twins, |twin| commit(&twin.server, "repo", &edit, manner));
                apply_outcome(&mut maker, &edit, &outcome);
            }
            14..=17 => race(&twins, &mut maker, manner),
            _ => administer(&twins, &mut maker),
        }
    }
    for twin in &twins {
        let found = paths(&twin.repository, maker.youngest());
        maker.check(&found, &format!("{:?}", twin.side));
    }
    let [theirs, ours] = twins
        .each_ref()
        .map(|twin| without_dates(examine(&twin.repository)));
    same(&theirs, &ours, "dumps of both");
    load(&twins);
}

/// Records a commit based on the youngest revision, which cannot be refused.
fn apply_outcome_at_head(maker: &mut EditGenerator, edit: &ModelEdit, outcome: &CommitOutcome) {
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{}: {outcome:?}\n{edit:?}",
        edit.log
    );
    apply_outcome(maker, edit, outcome);
}

fn apply_outcome(maker: &mut EditGenerator, edit: &ModelEdit, outcome: &CommitOutcome) {
    match outcome {
        CommitOutcome::Committed(rev) => {
            maker.committed(edit);
            assert_eq!(*rev, maker.youngest());
        }
        CommitOutcome::Refused(_) => {}
        CommitOutcome::Gone => panic!("the servers went away"),
    }
}

/// Begins two or three commits on the same revision and ends them one after the other.
fn race(twins: &[ModelTwin; 2], maker: &mut EditGenerator, manner: CommitStyle) {
    let count = 2 + maker.random.below(2);
    let base = maker.youngest();
    let edits: Vec<ModelEdit> = (0..count).map(|_| maker.edit(base)).collect();
    let outcomes = both(twins, |twin| {
        let begun: Vec<RunningCommit> = edits.iter().map(|edit| twin.begin(edit, manner)).collect();
        begun.into_iter().map(RunningCommit::finish).collect::<Vec<_>>()
    });
    for (edit, outcome) in edits.iter().zip(&outcomes) {
        apply_outcome(maker, edit, outcome);
    }
}

/// Runs administration commands, on each side with its own tools.
fn administer(twins: &[ModelTwin; 2], maker: &mut EditGenerator) {
    let rev = maker.random.below(maker.youngest() as usize + 1).to_string();
    match maker.random.below(4) {
        0 => {
            both(twins, |twin| {
                admin(twin.side, &["pack", "-q"], &twin.repository).error_codes()
            });
        }
        1 => {
            both(twins, |twin| {
                let args = ["propset", "--revprop", "-r", &rev, "note", "over the wire\n"];
                let svn = Tool::new("svn").args(args).arg(twin.url());
                svn.arg("--non-interactive").run().error_codes()
            });
        }
        2 => {
            both(twins, |twin| {
                let file = twin.root.path().join("value");
                std::fs::write(&file, format!("changed in {rev}\n")).expect("because the folder is ours");
                let tool = twin.side.tool("svnadmin").args(["setrevprop", "-r", &rev]);
                let tool = tool.arg(&twin.repository).arg("svn:log").arg(file);
                tool.run().error_codes()
            });
        }
        _ => {
            let dumps = twins.each_ref().map(|twin| {
                let copy = twin.root.path().join("copy");
                let code = hotcopy(twin.side, &["--incremental"], &twin.repository, &copy).error_codes();
                // Before format 4 there is no incremental copy.
                code.is_empty().then(|| without_dates(examine(&copy)))
            });
            assert_eq!(dumps[0].is_some(), dumps[1].is_some(), "incremental hotcopy");
            let [theirs, ours] = dumps.map(Option::unwrap_or_default);
            same(&theirs, &ours, "dumps of the copies");
        }
    }
}

/// Loads Subversion's dumps, with and without deltas, with Sven.
fn load(twins: &[ModelTwin; 2]) {
    for args in [&["dump", "-q"][..], &["dump", "-q", "--deltas"]] {
        let dump = admin(Side::Theirs, args, &twins[0].repository).expect_ok().stdout;
        let loaded = twins.each_ref().map(|twin| {
            let root = scratch();
            let path = root.path().join("loaded");
            testkit::create_by(twin.side, "1.14", &path);
            let tool = twin.side.tool("svnadmin").args(["load", "-q"]).arg(&path);
            tool.stdin(dump.clone()).ok();
            examine(&path)
        });
        same(&loaded[0], &loaded[1], "loaded repositories");
    }
}
