//! Tables of scenarios, each run by the stock client with both servers, over each protocol: locks (owner and path of
//! the lock, change, kind of commit), and out-of-date commits (other commit, own change).
//!
//! The default run has a few cells of each, each over one of the protocols, or over all with `SVEN_ALL_CASES`;
//! `TABLES=all cargo test -p sven --test interop tables` runs all, `TABLES=WORD` those whose names contain the word.

use std::fmt::Write as _;

use testkit::runs_all_cases;
use testkit::server::http::READ_FREELY;
use testkit::server::transport::Transport;

use crate::twins::{CONF, Twins, greek_repo};

const PROTOCOLS: [Transport; 3] = [Transport::Svn, Transport::Http, Transport::HttpV1];

/// A cell: its name, and a script that runs in the directory of a working copy `w` of `$C`, a copy of the Greek
/// tree's `A`.
struct ScenarioCell {
    name: String,
    lines: String,
}

/// Runs cells over one protocol, each in its own directory of one repository.
fn run(transport: Transport, cells: &[ScenarioCell]) {
    let twins = match transport {
        // Independent of `$SVEN_INTEROP_OVER`.
        Transport::Svn => Twins::greek(),
        over => Twins::over(over, &greek_repo(), &[("svnserve.conf", CONF)], READ_FREELY),
    };
    let mut script = "mucc -m 'Cells'".to_owned();
    for at in 0..cells.len() {
        _ = write!(script, " cp 1 A c{at}");
    }
    script.push('\n');
    for (at, cell) in cells.iter().enumerate() {
        eprintln!("{transport:?} c{at} {}", cell.name);
        _ = writeln!(script, "svn checkout -q $U/c{at} w");
        script += &cell.lines.replace("$C", &format!("$U/c{at}"));
        script += "svn status w\nsvn update -q w; svn status w; rm -rf w\n";
    }
    twins.same(|client| {
        // Clients generate the names of activities and transactions.
        client.mask("!svn/act/".to_owned(), "!svn/act/");
        client.lines(&script);
    });
}

/// Runs the cells over all protocols, or those of the default run over the protocols in turn.
fn run_chosen(cells: impl Fn() -> Vec<ScenarioCell>, first: usize, every: usize) {
    let is_in_turn = !runs_all_cases() && std::env::var_os("TABLES").is_none();
    for (at, transport) in PROTOCOLS.into_iter().enumerate() {
        let cells = chosen(cells(), first, every).into_iter().enumerate();
        let cells = cells.filter(|(number, _)| !is_in_turn || number % PROTOCOLS.len() == at);
        run(transport, &cells.map(|(_, cell)| cell).collect::<Vec<_>>());
    }
}

/// Returns the cells of this run: the first ones, which have found faults, and some others.
fn chosen(mut cells: Vec<ScenarioCell>, first: usize, every: usize) -> Vec<ScenarioCell> {
    match std::env::var("TABLES").as_deref() {
        Ok("all") => {}
        Ok(word) => cells.retain(|cell| cell.name.contains(word)),
        Err(_) => {
            let mut at = 0;
            cells.retain(|_| {
                at += 1;
                at <= first || at % every == 0
            });
        }
    }
    cells
}

/// The locks. `svn` is alice, who commits.
const LOCKS: [(&str, &str); 7] = [
    ("own", "svn lock w/mu"),
    ("own below", "svn lock w/B/lambda w/B/E/alpha"),
    ("own all", "svn lock w/mu w/B/lambda"),
    ("others", "bob lock $C/mu"),
    ("others below", "bob lock $C/B/lambda"),
    ("stolen", "svn lock w/mu; bob lock --force $C/mu"),
    ("broken", "svn lock w/mu w/B/lambda; bob unlock --force $C/mu"),
];

/// The changes.
const CHANGES: [(&str, &str); 17] = [
    (
        "replace, propset",
        "svn rm -q --keep-local w/mu; svn add -q w/mu; svn propset -q p v w/mu",
    ),
    ("delete", "svn rm -q --force w/mu w/B/lambda"),
    (
        "replace by text",
        "svn rm -q w/mu; echo new > w/mu; svn add -q w/mu",
    ),
    (
        "replace by folder",
        "svn rm -q w/mu; svn mkdir -q w/mu; svn propset -q p v w/mu",
    ),
    ("replace by copy", "svn rm -q w/mu; svn cp -q w/D/gamma w/mu"),
    (
        "replace by changed copy",
        "svn rm -q w/mu; svn cp -q w/D/gamma w/mu; echo more >> w/mu; svn propset -q p v w/mu",
    ),
    ("text", "echo more >> w/mu; echo more >> w/B/lambda"),
    ("property", "svn propset -q p v w/mu w/B/lambda"),
    ("move", "svn mv -q --force w/mu w/nu"),
    ("delete folder", "svn rm -q --force w/B"),
    (
        "replace folder",
        "svn rm -q --force w/B; svn mkdir -q w/B; echo new > w/B/lambda; svn add -q w/B/lambda",
    ),
    (
        "replace folder by copy",
        "svn rm -q --force w/B; svn cp -q w/D w/B",
    ),
    (
        "replace folder by text",
        "svn rm -q --force w/B; echo new > w/B; svn add -q w/B",
    ),
    (
        "replace folder by changed copy of file",
        "svn rm -q --force w/B; svn cp -q w/mu w/B; echo more >> w/B; svn propset -q p v w/B",
    ),
    ("property of folder", "svn propset -q p v w/B w"),
    ("move folder", "svn mv -q w/B w/N"),
    ("copy, delete", "svn cp -q w/mu w/nu; svn rm -q --force w/mu"),
];

fn lock_cells() -> Vec<ScenarioCell> {
    let mut cells = Vec::new();
    for (lock, lines) in LOCKS {
        for (change, edit) in CHANGES {
            for option in ["", " --no-unlock"] {
                cells.push(ScenarioCell {
                    name: format!("{lock}: {change}{option}"),
                    lines: format!("{lines}\n{edit}; svn commit -m m w{option}\n"),
                });
            }
        }
    }
    cells
}

/// Commits of other users since the checkout.
const SITUATIONS: [(&str, &str); 18] = [
    ("file is a folder", "mucc -m o rm $C/mu mkdir $C/mu"),
    ("folder is a file", "mucc -m o rm $C/B put text $C/B"),
    ("nothing", "true"),
    ("file changed", "mucc -m o put text $C/mu"),
    ("property of file", "mucc -m o propset p other $C/mu"),
    ("file deleted", "mucc -m o rm $C/mu"),
    ("file replaced", "mucc -m o rm $C/mu put text $C/mu"),
    ("file moved", "mucc -m o mv $C/mu $C/moved"),
    ("property of folder", "mucc -m o propset p other $C/B"),
    ("folder deleted", "mucc -m o rm $C/B"),
    ("folder replaced", "mucc -m o rm $C/B mkdir $C/B"),
    ("folder replaced by copy", "mucc -m o rm $C/B cp HEAD $C/D $C/B"),
    ("folder moved", "mucc -m o mv $C/B $C/moved"),
    ("entry added", "mucc -m o put text $C/B/other"),
    ("name taken by file", "mucc -m o put text $C/B/new"),
    ("name taken by folder", "mucc -m o mkdir $C/B/new"),
    ("file below changed", "mucc -m o put text $C/B/E/alpha"),
    ("folder below deleted", "mucc -m o rm $C/B/E"),
];

/// The changes that are committed then.
const COMMITS: [(&str, &str); 18] = [
    ("text", "echo more >> w/mu"),
    ("text below", "echo more >> w/B/lambda"),
    ("property", "svn propset -q p v w/mu"),
    ("property of folder", "svn propset -q p v w/B"),
    ("delete", "svn rm -q w/mu"),
    ("delete folder", "svn rm -q w/B"),
    ("replace", "svn rm -q w/mu; echo new > w/mu; svn add -q w/mu"),
    ("replace by folder", "svn rm -q w/mu; svn mkdir -q w/mu"),
    ("replace folder", "svn rm -q w/B; svn mkdir -q w/B"),
    ("add", "echo new > w/B/new; svn add -q w/B/new"),
    (
        "add folder",
        "svn mkdir -q w/B/new; echo x > w/B/new/x; svn add -q w/B/new/x",
    ),
    ("copy", "svn cp -q w/D/gamma w/B/new"),
    ("copy folder", "svn cp -q w/D w/B/new"),
    (
        "changed copy",
        "svn cp -q w/D/gamma w/B/new; echo more >> w/B/new",
    ),
    (
        "changed copy of folder",
        "svn cp -q w/D w/B/new; echo more >> w/B/new/gamma",
    ),
    ("move", "svn mv -q w/mu w/B/new"),
    ("deep text", "echo more >> w/B/E/alpha"),
    ("text and property", "echo more >> w/mu; svn propset -q p v w/mu"),
];

fn stale_cells() -> Vec<ScenarioCell> {
    let mut cells = Vec::new();
    for (situation, other) in SITUATIONS {
        for (what, edit) in COMMITS {
            cells.push(ScenarioCell {
                name: format!("{situation}: {what}"),
                lines: format!("echo other > text; {other}\n{edit}; svn commit -m m w\n"),
            });
        }
    }
    cells
}

#[test]
fn tables_of_locks() {
    run_chosen(lock_cells, 4, 70);
}

#[test]
fn tables_of_out_of_date_commits() {
    run_chosen(stale_cells, 2, 90);
}
