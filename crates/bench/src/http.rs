//! HTTP: the stock client, and crowds of plain ones, against our server and Apache with mod_dav_svn.
//!
//! Both servers get the same repositories, a cache of one gibibyte and the same compression level, 0 and 5 in turn; Apache has its
//! path-based checks off, ours always checks. *Cold* starts a new server for each run, *hot* leaves it running.
//!
//! The stock client takes most of the time of hot runs for itself, and 64 of its processes would leave no CPU time to the
//! servers. So what it asks is also asked by a lean client ([`crate::asker`]) that throws the answers away, over as many
//! connections, several times in a run: those rows show the servers.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use clap::Args;

use crate::asker::Questions;
use crate::cells::Cell;
use crate::measure::Cost;
use crate::rivals::servers::Running;
use crate::rivals::{Sven, apache};
use crate::serving::{Client, Job, Warmth, client};
use crate::setup::Selection;
use crate::workload::{self, Workload};

const APACHE: &str = "Apache 2.4 event, mod_dav_svn";
/// Connections of a crowd.
const CROWD: usize = 64;

/// What to measure.
#[derive(Args, Clone)]
pub struct Options {
    #[command(flatten)]
    selection: Selection,
    /// How many files of the Linux sources to import (0: none; Debian's linux-source-6.1)
    #[arg(long, default_value_t = 10_000)]
    files: usize,
    /// Compression levels of both servers
    #[arg(long, value_delimiter = ',', default_values_t = [0, 5])]
    levels: Vec<u8>,
}

/// Measures every cell and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn main(mut options: Options) -> Result<(), String> {
    if options.selection.quick {
        options.selection.revisions = vec![200];
        options.selection.runs = 0;
        options.files = 50;
        options.levels = vec![5];
    }
    let sven = options.selection.places.prepare()?;
    let selection = &options.selection;
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut cells = Vec::new();
    let bench = |level| Bench {
        selection,
        files: options.files,
        sven: &sven,
        place: scratch.path(),
        level,
    };
    for revisions in &selection.revisions {
        let workload = workload::history::workload(&selection.places.data, *revisions, selection.seed)?;
        for level in &options.levels {
            bench(*level).reading(&workload, &mut cells)?;
        }
    }
    for level in &options.levels {
        bench(*level).import(&mut cells)?;
    }
    selection.publish("http", "Apache with mod_dav_svn", &cells, "")
}

struct Bench<'a> {
    selection: &'a Selection,
    files: usize,
    sven: &'a Sven,
    place: &'a Path,
    level: u8,
}

impl Bench<'_> {
    fn start(&self, is_ours: bool, root: &Path) -> Result<Running, String> {
        match is_ours {
            true => apache::ours(self.sven, root, self.level, self.place),
            false => apache::theirs(root, self.level, self.place),
        }
    }

    fn reading(&self, workload: &Workload, cells: &mut Vec<Cell>) -> Result<(), String> {
        let export = |url: &str| Ok(client(&["svnbench", "null-export"], url, workload.trunk));
        let log = |url: &str| Ok(client(&["svnbench", "null-log", "-v"], url, ""));
        let tree = Tree::of(workload)?;
        let stock = Stock::of(workload)?;
        // A run of some tenths of a second, whatever the size.
        let rounds = (100_000 / stock.youngest.parse().unwrap_or(1)).clamp(1, 10);
        let list = |url: &str| self.ask(&tree.list(url)?, 1, rounds);
        let crowd = |url: &str| self.ask(&tree.fetch(url)?, CROWD, rounds);
        let log_alone = |url: &str| self.ask(&stock.log(url)?, 1, rounds);
        let export_alone = |url: &str| self.ask(&stock.export(url)?, 4, rounds);
        let export_crowd = |url: &str| self.ask(&stock.export(url)?, CROWD, rounds);
        let (cold, hot) = (Warmth::Cold, Warmth::Hot);
        let rows: [(_, _, Client<'_>); 9] = [
            ("null-export", cold, &export),
            ("null-export", hot, &export),
            ("null-log -v", cold, &log),
            ("null-log -v", hot, &log),
            ("list by PROPFIND", hot, &list),
            ("64 clients fetch files", hot, &crowd),
            ("64 clients share exports", hot, &export_crowd),
            ("what log -v asks, lean client", hot, &log_alone),
            ("what export asks, lean client", hot, &export_alone),
        ];
        for (name, warmth, client) in rows {
            let job = Job {
                name: format!(
                    "{name} {}, level {}, {}",
                    warmth.word(),
                    self.level,
                    workload.name
                ),
                rival: APACHE,
                goal: Some(2.0),
                warmth,
                start: &|ours, root| self.start(ours, root),
                client,
            };
            cells.extend(job.measure(workload, self.selection)?);
        }
        Ok(())
    }

    /// The lean client, asking all of `questions` so many times.
    fn ask(&self, questions: &Asked, connections: usize, rounds: usize) -> Result<Command, String> {
        let file = self.place.join("questions");
        fs::write(&file, questions.list.file()).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut asker = Command::new(std::env::current_exe().map_err(|e| e.to_string())?);
        asker.arg("ask").arg(questions.host.to_string()).arg(&file);
        asker
            .arg(format!("--connections={connections}"))
            .arg(format!("--rounds={rounds}"));
        Ok(asker)
    }

    /// `svn import` of a source tree into a new repository.
    fn import(&self, cells: &mut Vec<Cell>) -> Result<(), String> {
        let files = self.files;
        let job = format!("svn import, level {}, Linux 6.1, {files} files", self.level);
        if files == 0 || !self.selection.wanted(&job) {
            return Ok(());
        }
        let data = &self.selection.places.data;
        let tree = workload::import_tree(self.place, data, files, self.selection.quick)?;
        let run = |is_ours| -> Result<Cost, String> {
            let root = self.place.join("repositories");
            _ = fs::remove_dir_all(&root);
            fs::create_dir_all(&root).map_err(|e| e.to_string())?;
            workload::run(Command::new("svnadmin").arg("create").arg(root.join("new")))?;
            let running = self.start(is_ours, &root)?;
            let url = format!("{}/new", running.url);
            running.server.serve(&mut workload::import(&tree, &url))
        };
        let (goal, pairs) = (Some(2.0), self.selection.runs.min(1));
        cells.push(Cell::measure(
            job,
            APACHE,
            goal,
            pairs,
            || run(true),
            || run(false),
        )?);
        Ok(())
    }
}

/// Requests for a server, with the repository's path before their own.
struct Asked {
    host: SocketAddr,
    /// Path of the repository's URL.
    root: String,
    list: Questions,
}

impl Asked {
    fn of(url: &str) -> Result<Asked, String> {
        let parts = url.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
        let (host, root) = parts.ok_or_else(|| format!("{url}: not a URL of a repository"))?;
        Ok(Asked {
            host: host.parse().map_err(|e| format!("{url}: {e}"))?,
            root: format!("/{root}"),
            list: Questions::default(),
        })
    }

    /// Adds a request for `path` below the repository.
    fn add(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        self.list
            .add(method, self.host, &format!("{}/{path}", self.root), headers, body);
    }
}

/// What the stock client asks for.
struct Stock {
    youngest: String,
    trunk: String,
}

impl Stock {
    fn of(workload: &Workload) -> Result<Stock, String> {
        let mut look = Command::new("svnlook");
        look.arg("youngest").arg(&workload.repository);
        let output = look.output().map_err(|e| format!("svnlook: {e}"))?;
        Ok(Stock {
            youngest: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            trunk: workload.trunk.to_owned(),
        })
    }

    fn log(&self, url: &str) -> Result<Asked, String> {
        let youngest = &self.youngest;
        let body = format!(
            "<S:log-report xmlns:S=\"svn:\"><S:start-revision>{youngest}</S:start-revision><S:end-revision>0</S:end-revision>\
             <S:discover-changed-paths/><S:revprop>svn:author</S:revprop><S:revprop>svn:date</S:revprop>\
             <S:revprop>svn:log</S:revprop><S:path></S:path><S:encode-binary-props/></S:log-report>"
        );
        let mut asked = Asked::of(url)?;
        asked.add("REPORT", &format!("!svn/rvr/{youngest}"), XML, &body);
        Ok(asked)
    }

    /// The report of an export, and a `GET` for each text that it names.
    fn export(&self, url: &str) -> Result<Asked, String> {
        let (youngest, trunk) = (&self.youngest, &self.trunk);
        let body = format!(
            "<S:update-report xmlns:S=\"svn:\"><S:include-props>yes</S:include-props><S:src-path>{url}/{trunk}</S:src-path>\
             <S:target-revision>{youngest}</S:target-revision><S:depth>unknown</S:depth>\
             <S:entry rev=\"{youngest}\" depth=\"infinity\" start-empty=\"true\"></S:entry></S:update-report>"
        );
        let mut asked = Asked::of(url)?;
        asked.add("REPORT", "!svn/me", XML, &body);
        for href in texts(&format!("{url}/!svn/me"), &body)? {
            let path = href
                .strip_prefix(&asked.root)
                .and_then(|path| path.strip_prefix('/'));
            let path = path.ok_or_else(|| format!("{href}: outside of {url}"))?;
            asked.add("GET", path, TEXT, "");
        }
        Ok(asked)
    }
}

const XML: &str = "User-Agent: SVN/1.14.2 serf/1.3.9\r\nContent-Type: text/xml\r\nAccept-Encoding: gzip\r\n";
const TEXT: &str = "User-Agent: SVN/1.14.2 serf/1.3.9\r\nAccept-Encoding: gzip\r\n";

/// Where the texts of an export are, as the server itself says.
fn texts(url: &str, report: &str) -> Result<Vec<String>, String> {
    let mut curl = Command::new("curl");
    curl.args(["-s", "-f", "-X", "REPORT", "-H", "Content-Type: text/xml"])
        .args(["-A", "SVN/1.14.2 serf/1.3.9", "--data", report, url]);
    let output = curl.output().map_err(|e| format!("curl: {e}"))?;
    let answer = String::from_utf8_lossy(&output.stdout);
    let files = answer.split("<S:add-file ").skip(1);
    let hrefs = files.filter_map(|file| file.split("<D:href>").nth(1)?.split("</D:href>").next());
    let texts: Vec<String> = hrefs.map(str::to_owned).collect();
    match texts.is_empty() {
        true => Err(format!("{url}: no texts in the report")),
        false => Ok(texts),
    }
}

/// What there is to ask for.
struct Tree {
    folders: Vec<String>,
    files: Vec<String>,
}

/// How a directory is listed by clients that know no better.
const PROPFIND: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><propfind xmlns=\"DAV:\"><prop><resourcetype/><getcontentlength/>\
                        <version-name/><creationdate/><creator-displayname/>\
                        <deadprop-count xmlns=\"http://subversion.tigris.org/xmlns/dav/\"/></prop></propfind>";

impl Tree {
    fn of(workload: &Workload) -> Result<Tree, String> {
        let mut look = Command::new("svnlook");
        look.args(["tree", "--full-paths"])
            .arg(&workload.repository)
            .arg(workload.trunk);
        let output = look.output().map_err(|e| format!("svnlook: {e}"))?;
        let all = String::from_utf8_lossy(&output.stdout);
        let plain = |path: &&str| {
            path.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"/-_.".contains(&b))
        };
        let (folders, files): (Vec<&str>, Vec<&str>) =
            all.lines().filter(plain).partition(|path| path.ends_with('/'));
        Ok(Tree {
            folders: folders.into_iter().map(str::to_owned).collect(),
            files: files.into_iter().map(str::to_owned).collect(),
        })
    }

    fn list(&self, url: &str) -> Result<Asked, String> {
        let mut asked = Asked::of(url)?;
        for folder in &self.folders {
            asked.add("PROPFIND", folder, &format!("Depth: 1\r\n{XML}"), PROPFIND);
        }
        Ok(asked)
    }

    fn fetch(&self, url: &str) -> Result<Asked, String> {
        let mut asked = Asked::of(url)?;
        for file in &self.files {
            asked.add("GET", file, "", "");
        }
        Ok(asked)
    }
}
