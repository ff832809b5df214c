//! Compares the raw responses of a real `svnserve` and of this crate to every query about history, over random
//! histories.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base::{Cancel, Error, FsPath, Revnum};
use delta::editor::TextChunk;
use delta::svndiff::Decoder;
use delta::window::Window;
use fsfs::admin::history_index::{BuildOptions, build};
use repos::access::{Everything, Readable};
use repos::log::{LogEntry, LogOptions, Revprops};
use repos::{Cache, ChangeKind, Repository, file_revs, history, log, mergeinfo};
use testkit::branch_history;
use testkit::history::Random;
use testkit::probe::{Probe, ProbeItem, flag, list, optional, text, word};
use testkit::random_history::{self, RandomHistory};
use testkit::repo::Repo;

mod fixed;

type RawResponse = (Vec<ProbeItem>, ProbeItem);

/// Runs queries on both servers and compares the responses.
struct QueryComparison<'a> {
    repo: Repository,
    cache: Arc<Cache>,
    probe: Probe,
    /// `svnserve` without caches: with them it confuses explicit and inherited mergeinfo that are queried in one
    /// session. (But without them it fails to parse revision properties.)
    uncached: Probe,
    readable: &'a dyn Readable,
    context: String,
    /// In formats 1 and 2 clients never ask for merged revisions.
    knows_mergeinfo: bool,
}

/// Removes from a log with merged revisions the paths that come with an entry but belong to another one: the
/// incumbent sends the paths of the entries that it hides ahead of those of the next one, or with the end marker.
fn without_foreign_paths(ours: &RawResponse, mut theirs: RawResponse) -> RawResponse {
    for (our, their) in ours.0.iter().zip(&mut theirs.0) {
        let (Some(ProbeItem::List(own)), ProbeItem::List(parts)) = (our.items().first(), their) else {
            continue;
        };
        if let Some(ProbeItem::List(inherited)) = parts.first_mut()
            && inherited.ends_with(own)
        {
            inherited.drain(..inherited.len() - own.len());
        }
    }
    theirs
}

fn path(text: &str) -> FsPath {
    FsPath::parse(text).expect("canonical")
}

fn number(rev: Revnum) -> ProbeItem {
    ProbeItem::Number(rev.0)
}

fn success(items: impl IntoIterator<Item = ProbeItem>) -> ProbeItem {
    list([word("success"), list(items)])
}

fn failure(error: &Error) -> ProbeItem {
    let links = error.links().map(|link| {
        list([
            ProbeItem::Number(link.code().0 as u64),
            text(link.text()),
            text(""),
            ProbeItem::Number(0),
        ])
    });
    list([word("failure"), list(links)])
}

fn done(items: Vec<ProbeItem>, result: base::Result<()>) -> RawResponse {
    match result {
        Ok(()) => (items, success([])),
        Err(e) => (items, failure(&e)),
    }
}

fn entry_item(entry: &LogEntry<'_>) -> ProbeItem {
    let change = |change: repos::Change<'_>| {
        let action = match change.change {
            ChangeKind::Add => "A",
            ChangeKind::Delete => "D",
            ChangeKind::Replace => "R",
            ChangeKind::Modify => "M",
        };
        let copyfrom = change.copyfrom.into_iter();
        list([
            text(change.path),
            word(action),
            list(copyfrom.flat_map(|(rev, path)| [text(path), number(rev)])),
            list([
                text(change.node_kind.word()),
                flag(change.text_mod),
                flag(change.prop_mod),
            ]),
        ])
    };
    let prop = |name| optional(entry.prop(name).map(text));
    list([
        list(entry.changes.iter().map(change)),
        number(entry.rev.unwrap_or_default()),
        prop("svn:author"),
        prop("svn:date"),
        prop("svn:log"),
        flag(entry.has_children),
        flag(entry.rev.is_none()),
        ProbeItem::Number(0),
        list([]),
        flag(entry.subtractive_merge),
    ])
}

impl<'a> QueryComparison<'a> {
    fn open(repo: &Path, readable: &'a dyn Readable, context: String) -> Self {
        let cache = Cache::new(16 << 20);
        let repository = Repository::open(repo, &cache).expect("a repository");
        QueryComparison {
            probe: Probe::open(repo, &[]),
            uncached: Probe::open(repo, &["-M", "0"]),
            readable,
            context,
            knows_mergeinfo: repository.fs_info().expect("readable").format > 2,
            repo: repository,
            cache,
        }
    }

    fn check(&mut self, what: &str, ours: &RawResponse, theirs: &RawResponse) {
        if theirs.1 == word("closed") {
            // The incumbent closed the connection.
            eprintln!("{}: {what}: svnserve died", self.context);
            self.probe = self.probe.reconnect();
        } else if ours != theirs {
            let show = |answer: &RawResponse| {
                let lines: Vec<String> = answer.0.iter().map(|item| format!("    {item:?}")).collect();
                format!("{}\n    {:?}", lines.join("\n"), answer.1)
            };
            panic!(
                "{}: {what}\n  ours:\n{}\n  theirs:\n{}",
                self.context,
                show(ours),
                show(theirs)
            );
        }
    }

    fn log(&mut self, options: &LogOptions) {
        let mut items = Vec::new();
        // The rule by which the incumbent loses entries with merged revisions is known, and is applied here to our
        // response.
        let run = match options.include_merged {
            true => log::run_with_lapses,
            false => log::run,
        };
        let result = run(
            &self.repo,
            options,
            self.readable,
            &mut |entry| {
                items.push(entry_item(entry));
                Ok(())
            },
            &Cancel::new(),
        );
        let ours = done(items, result);
        let (revprops, names) = match &options.revprops {
            Revprops::All => ("all-revprops", vec![]),
            Revprops::Names(names) => ("revprops", names.iter().map(text).collect()),
        };
        self.probe = self.probe.reconnect();
        let theirs = self.probe.stream(
            "log",
            vec![
                list(options.paths.iter().map(|path| text(path.rel_str()))),
                optional(options.start.map(number)),
                optional(options.end.map(number)),
                flag(options.changed_paths),
                flag(options.strict),
                ProbeItem::Number(options.limit),
                flag(options.include_merged),
                word(revprops),
                ProbeItem::List(names),
            ],
        );
        let theirs = if options.include_merged {
            without_foreign_paths(&ours, theirs)
        } else {
            theirs
        };
        self.check(&format!("{options:?}"), &ours, &theirs);
    }

    fn locations(&mut self, path: &FsPath, peg: Revnum, revs: &[Revnum]) {
        let ours = match history::locations(&self.repo, path, peg, revs, self.readable) {
            Ok(found) => {
                let items = found
                    .iter()
                    .map(|(rev, path)| list([number(*rev), text(path.as_str())]));
                let mut items: Vec<ProbeItem> = items.collect();
                items.sort();
                (items, success([]))
            }
            Err(e) => (vec![], failure(&e)),
        };
        let mut theirs = self.probe.stream(
            "get-locations",
            vec![
                text(path.rel_str()),
                number(peg),
                list(revs.iter().copied().map(number)),
            ],
        );
        theirs.0.sort();
        self.check(&format!("locations {path}@{peg} {revs:?}"), &ours, &theirs);
    }

    fn segments(&mut self, path: &FsPath, peg: Revnum, start: Revnum, end: Revnum) {
        let mut items = Vec::new();
        let result = history::location_segments(
            &self.repo,
            path,
            Some(peg),
            Some(start),
            Some(end),
            self.readable,
            &mut |segment| {
                items.push(list([
                    number(segment.start),
                    number(segment.end),
                    optional(segment.path.map(|path| text(path.rel_str()))),
                ]));
                Ok(())
            },
        );
        let ours = done(items, result);
        let one = |rev| list([number(rev)]);
        let params = vec![text(path.rel_str()), one(peg), one(start), one(end)];
        let theirs = self.probe.stream("get-location-segments", params);
        self.check(&format!("segments {path}@{peg} {start}:{end}"), &ours, &theirs);
    }

    fn deleted_rev(&mut self, path: &FsPath, start: Revnum, end: Revnum) {
        let ours = match history::deleted_rev(&self.repo, path, start, end) {
            Ok(Some(rev)) => success([number(rev)]),
            Ok(None) => word("none"),
            Err(e) => failure(&e),
        };
        let params = vec![text(path.rel_str()), number(start), number(end)];
        let mut theirs = self.probe.request("get-deleted-rev", params);
        if format!("{theirs:?}").contains("was not deleted in") {
            theirs = word("none");
        }
        let what = format!("deleted-rev {path} {start}:{end}");
        self.check(&what, &(vec![], ours), &(vec![], theirs));
    }

    fn mergeinfo(&mut self, paths: &[FsPath], rev: Revnum, inherit: &str, descendants: bool) {
        let inherits = mergeinfo::Inheritance::from_word(inherit.as_bytes()).expect("a known word");
        let found = mergeinfo::get(&self.repo, paths, rev, inherits, descendants, self.readable);
        let ours = match found {
            Ok(found) => {
                let mut items: Vec<ProbeItem> = found
                    .iter()
                    .map(|(path, info)| list([text(path.rel_str()), text(info.to_string())]))
                    .collect();
                items.sort();
                (items, success([]))
            }
            Err(e) => (vec![], failure(&e)),
        };
        // For a missing path after an existing one the real server sends half a response: each path has a query of
        // its own.
        let mut found = BTreeMap::new();
        let mut response = success([]);
        for path in paths {
            let theirs = self.uncached.request(
                "get-mergeinfo",
                vec![
                    list([text(path.rel_str())]),
                    list([number(rev)]),
                    word(inherit),
                    flag(descendants),
                ],
            );
            if theirs.items()[0] == word("failure") {
                found.clear();
                response = theirs;
                break;
            }
            let items = theirs.items()[1].items()[0].items();
            found.extend(items.iter().map(|item| (item.items()[0].clone(), item.clone())));
        }
        let items = found.into_values().collect();
        let what = format!("mergeinfo {paths:?}@{rev} {inherit} {descendants}");
        self.check(&what, &ours, &(items, response));
    }

    fn file_revs(&mut self, path: &FsPath, start: Revnum, end: Revnum, include_merged: bool) {
        let mut collect = TextCollector::default();
        let result = file_revs::run(
            &self.repo,
            path,
            Some(start),
            Some(end),
            include_merged,
            self.readable,
            &mut collect,
            &Cancel::new(),
        );
        let ours = done(collect.items, result);
        let one = |rev| list([number(rev)]);
        let params = vec![text(path.rel_str()), one(start), one(end), flag(include_merged)];
        self.probe = self.probe.reconnect();
        let (raw, response) = self.probe.stream("get-file-revs", params);
        let theirs = (texts_of(raw), response);
        let what = format!("file-revs {path} {start}:{end} merged {include_merged}");
        if include_merged && ours.1 == success([]) && theirs.0.is_empty() {
            // A merged range ends after the youngest revision, or a source is below a file: the incumbent fails.
        } else {
            self.check(&what, &ours, &theirs);
        }
    }
}

/// Applies the deltas, and replaces them by the texts that result.
#[derive(Default)]
struct TextCollector {
    items: Vec<ProbeItem>,
    before: Vec<u8>,
    now: Vec<u8>,
}

impl TextCollector {
    fn window(&mut self, window: &Window) {
        let start = window.source_offset as usize;
        window
            .apply(&self.before[start.min(self.before.len())..], &mut self.now)
            .expect("because the delta fits");
    }

    fn end(&mut self) {
        self.items.push(text(&self.now));
        self.before = std::mem::take(&mut self.now);
    }
}

fn file_rev_item(
    path: &str,
    rev: Revnum,
    mut revprops: Vec<ProbeItem>,
    mut changes: Vec<ProbeItem>,
    merged: bool,
) -> ProbeItem {
    revprops.sort();
    changes.sort();
    list([
        text(path),
        number(rev),
        ProbeItem::List(revprops),
        ProbeItem::List(changes),
        flag(merged),
    ])
}

impl file_revs::FileRevSink for TextCollector {
    fn revision(&mut self, rev: &file_revs::FileRev<'_>) -> base::Result<()> {
        let revprops = rev
            .revprops
            .iter()
            .map(|(name, value)| list([text(name), text(value)]));
        let changes = rev
            .prop_changes
            .iter()
            .map(|(name, value)| list([text(name), optional(value.as_ref().map(text))]));
        let item = file_rev_item(
            rev.path.as_str(),
            rev.rev,
            revprops.collect(),
            changes.collect(),
            rev.merged,
        );
        self.items.push(item);
        if !rev.has_delta {
            self.items.push(word("same"));
        }
        Ok(())
    }

    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> base::Result<()> {
        match chunk {
            TextChunk::Decoded(window) => self.window(window),
            TextChunk::Encoded(_) => panic!("stored windows were not asked for"),
        }
        Ok(())
    }

    fn text_end(&mut self) -> base::Result<()> {
        self.end();
        Ok(())
    }
}

/// The raw response to get-file-revs with texts instead of deltas.
fn texts_of(raw: Vec<ProbeItem>) -> Vec<ProbeItem> {
    let mut collect = TextCollector::default();
    let mut delta: Vec<u8> = Vec::new();
    for item in raw {
        match item {
            ProbeItem::Text(bytes) if !bytes.is_empty() => delta.extend(bytes),
            ProbeItem::Text(_) if delta.is_empty() => collect.items.push(word("same")),
            ProbeItem::Text(_) => {
                let mut decoder = Decoder::new();
                let mut codec = delta::svndiff::Codec::new();
                decoder
                    .push(&std::mem::take(&mut delta), |window| {
                        collect.window(&window.decode(&mut codec).expect("because svnserve sent it"));
                        Ok(())
                    })
                    .expect("because svnserve sent it");
                collect.end();
            }
            entry => {
                let parts = entry.items().to_vec();
                let ProbeItem::Text(path) = &parts[0] else {
                    panic!("{entry:?}")
                };
                let ProbeItem::Number(rev) = &parts[1] else {
                    panic!("{entry:?}")
                };
                collect.items.push(file_rev_item(
                    &String::from_utf8_lossy(path),
                    Revnum(*rev),
                    parts[2].items().to_vec(),
                    parts[3].items().to_vec(),
                    parts[4] == word("true"),
                ));
            }
        }
    }
    collect.items
}

/// Makes `rounds` random queries of each kind.
fn run_queries(
    repo: &Path,
    history: &RandomHistory,
    readable: &dyn Readable,
    seed: u64,
    rounds: usize,
    context: String,
) {
    let mut both = QueryComparison::open(repo, readable, context);
    let is_indexed = repo.join("db/sven-history-index").exists();
    let mut random = Random::new(seed ^ 0xabcd);
    random.next();
    let only = std::env::var("QUERY_ONLY").unwrap_or_default();
    let wanted = |what: &str| only.is_empty() || only.split(',').any(|o| o == what);
    for _ in 0..rounds {
        // Some revisions do not exist.
        let mut rev = || Revnum(random.below(history.youngest as usize * 21 / 20 + 2) as u64);
        let (a, b, c) = (rev(), rev(), rev());
        let mut sorted = [a, b, c];
        sorted.sort();
        let [old, middle, young] = sorted;
        let revs: Vec<Revnum> = (0..4).map(|_| rev()).collect();
        let mut any = || path(&history.paths[random.below(history.paths.len())]);
        let (one, two, three) = (any(), any(), any());
        let bits = random.next();
        let bit = |n: u32| bits >> n & 1 == 1;
        if wanted("locations") {
            both.locations(&one, a, &revs);
        }
        if wanted("segments") {
            both.segments(&one, young, middle, old);
        }
        if wanted("deleted") {
            both.deleted_rev(&one, a, b);
        }
        if wanted("mergeinfo") {
            let inherit = ["explicit", "inherited", "nearest-ancestor"][(bits >> 20) as usize % 3];
            both.mergeinfo(&[one.clone(), two.clone()], a, inherit, bit(4));
            both.mergeinfo(&[FsPath::root(), one.clone()], a, inherit, bit(4));
        }
        if wanted("file-revs") {
            both.file_revs(&one, a, b, false);
        }
        if wanted("file-revs-g") && both.knows_mergeinfo {
            both.file_revs(&one, old, young, true);
        }
        let mut options = LogOptions {
            paths: vec![one],
            start: Some(a),
            end: Some(b),
            limit: if bit(1) { 0 } else { 1 + (bits >> 10) % 4 },
            changed_paths: bit(2),
            strict: bit(3),
            include_merged: false,
            revprops: Revprops::Names(vec!["svn:log".into()]),
        };
        if bit(5) {
            options.paths.push(two);
        }
        if bit(5) && bit(12) {
            options.paths.push(three);
        }
        match bits >> 6 & 15 {
            0 | 1 => options.paths = vec![],
            2 => options.paths[0] = FsPath::root(),
            _ => {}
        }
        if wanted("log") {
            both.log(&options);
        }
        if wanted("log-g") && both.knows_mergeinfo {
            options.include_merged = true;
            both.log(&options);
        }
    }
    let steps = both.cache.counts().index_steps;
    assert!(
        (steps > 0) == is_indexed || !only.is_empty(),
        "{steps} steps by the history index"
    );
}

/// Generates a random history, or with `branches` one of branches.
fn history_of(seed: u64, revisions: u64, branches: bool) -> RandomHistory {
    match branches {
        true => branch_history::history(seed, revisions),
        false => random_history::history(seed, revisions, seed % 2 == 1),
    }
}

fn histories_of(
    compatible: &str,
    seeds: std::ops::Range<u64>,
    branches: bool,
    revisions: u64,
    rounds: usize,
) {
    for seed in seeds {
        let history = history_of(seed, revisions, branches);
        let repo = Repo::create(compatible);
        repo.load(history.stream.bytes());
        let context = format!("seed {seed}, {compatible}");
        run_queries(repo.path(), &history, &Everything, seed, rounds, context);
        let cache = Cache::new(16 << 20);
        let indexed = Repository::open(repo.path(), &cache).expect("a repository");
        build(indexed.fs(), &BuildOptions::default(), &mut |_| {}).expect("is writable");
        let context = format!("seed {seed}, {compatible}, with a history index");
        run_queries(repo.path(), &history, &Everything, !seed, rounds, context);
    }
}

#[test]
fn random_histories_give_the_same_answers() {
    histories_of("1.14", 0..2, false, 25, 60);
}

#[test]
fn histories_of_branches_give_the_same_answers() {
    histories_of("1.14", 0..2, true, 30, 25);
}

#[test]
fn random_histories_in_old_formats_give_the_same_answers() {
    for compatible in ["1.3", "1.5", "1.8"] {
        histories_of(compatible, 10..11, false, 20, 30);
    }
}

/// More seeds, started by hand: `QUERY_SEEDS=100..200 cargo test -p sven-repos --test it by_hand`.
/// `QUERY_ONLY=log,locations` chooses queries, `QUERY_ROUNDS` and `QUERY_REVS` set their number and the length of the
/// histories, `QUERY_BRANCHES` uses histories of branches, `QUERY_COMPATIBLE=1.5` sets the format, `QUERY_OUT=FILE`
/// writes the first history as a dump stream.
#[test]
fn random_histories_by_hand() {
    let Ok(seeds) = std::env::var("QUERY_SEEDS") else {
        return;
    };
    let (first, last) = seeds.split_once("..").expect("FIRST..LAST");
    let bound = |text: &str| text.parse::<u64>().expect("a number");
    let (first, last) = (bound(first), bound(last));
    let compatible = std::env::var("QUERY_COMPATIBLE").unwrap_or("1.14".into());
    let branches = std::env::var_os("QUERY_BRANCHES").is_some();
    let revisions = std::env::var("QUERY_REVS").map_or(30, |text| bound(&text));
    if let Ok(out) = std::env::var("QUERY_OUT") {
        let history = history_of(first, revisions, branches);
        std::fs::write(out, history.stream.bytes()).expect("because the folder can be written");
    }
    let rounds = std::env::var("QUERY_ROUNDS").map_or(200, |text| bound(&text) as usize);
    histories_of(&compatible, first..last, branches, revisions, rounds);
}
