//! HTTP: the stock client, and crowds of plain ones, against our server and Apache with mod_dav_svn.
//!
//! Both servers get the same repositories, a cache of one gibibyte and the same compression level, 0 and 5 in turn; Apache has its
//! path-based checks off, ours always checks. *Cold* starts a new server for each run, *hot* leaves it running. What a
//! crowd asks for is fetched by one `curl` with 64 connections, because 64 processes of the stock client would leave no
//! CPU time to the servers. The stock client takes most of the time of hot runs for itself; so `curl` also asks what it asks, and
//! throws the answers away: those rows show the servers alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Args;

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
        let list = |url: &str| self.ask(&tree.folders, url, 1, PROPFIND);
        let crowd = |url: &str| self.ask(&tree.files, url, CROWD, &[]);
        let (cold, hot) = (Warmth::Cold, Warmth::Hot);
        let asked = Questions::of(workload)?;
        let log_alone = |url: &str| self.replay(&asked.log(url), &[]);
        let export_alone = |url: &str| self.replay(&asked.export(url), &asked.texts(url)?);
        let rows: [(_, _, Client<'_>); 8] = [
            ("null-export", cold, &export),
            ("null-export", hot, &export),
            ("null-log -v", cold, &log),
            ("null-log -v", hot, &log),
            ("list by PROPFIND", hot, &list),
            ("64 clients fetch files", hot, &crowd),
            ("log's question by curl", hot, &log_alone),
            ("export's questions by curl", hot, &export_alone),
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

    /// One `curl` that asks for all of `paths`, over so many connections.
    fn ask(
        &self,
        paths: &[String],
        url: &str,
        connections: usize,
        options: &[&str],
    ) -> Result<Command, String> {
        let mut config = String::new();
        for path in paths {
            _ = writeln!(config, "url = \"{url}/{path}\"\noutput = \"/dev/null\"");
        }
        let file = self.place.join("curl.conf");
        fs::write(&file, config).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut curl = Command::new("curl");
        curl.args(["-s", "-f", "--globoff", "--path-as-is"]).args(options);
        if connections > 1 {
            curl.args(["-Z", "--parallel-immediate", "--parallel-max"])
                .arg(connections.to_string());
        }
        curl.arg("-K").arg(&file);
        Ok(curl)
    }

    /// One `curl` that asks for a report and fetches texts meanwhile, over four connections in all as the stock client.
    fn replay(&self, report: &Question, texts: &[String]) -> Result<Command, String> {
        let mut config = report.config();
        for (at, url) in texts.iter().enumerate() {
            let next = if at == 0 {
                "next\nsilent\nfail\npath-as-is\n"
            } else {
                ""
            };
            _ = writeln!(config, "{next}url = \"{url}\"\noutput = \"/dev/null\"");
        }
        let file = self.place.join("curl.conf");
        fs::write(&file, config).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut curl = Command::new("curl");
        curl.args(["-s", "-f", "--globoff", "--path-as-is"])
            .args(["-Z", "--parallel-immediate", "--parallel-max", "4", "-K"])
            .arg(&file);
        Ok(curl)
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

/// How a directory is listed by clients that know no better.
const PROPFIND: &[&str] = &[
    "-X",
    "PROPFIND",
    "-H",
    "Depth: 1",
    "-H",
    "Content-Type: text/xml",
    "--data",
    "<?xml version=\"1.0\" encoding=\"utf-8\"?><propfind xmlns=\"DAV:\"><prop><resourcetype/><getcontentlength/>\
     <version-name/><creationdate/><creator-displayname/>\
     <deadprop-count xmlns=\"http://subversion.tigris.org/xmlns/dav/\"/></prop></propfind>",
];

/// What the stock client asks for.
struct Questions {
    youngest: String,
    trunk: String,
}

/// A report.
struct Question {
    url: String,
    body: String,
}

impl Question {
    fn config(&self) -> String {
        let body = self.body.replace('"', "\\\"");
        format!(
            "url = \"{}\"\nrequest = \"REPORT\"\nheader = \"Content-Type: text/xml\"\nuser-agent = \"{AGENT}\"\n\
             data = \"{body}\"\noutput = \"/dev/null\"\n",
            self.url
        )
    }
}

/// As whom `curl` asks.
const AGENT: &str = "SVN/1.14.2 serf/1.3.9";

impl Questions {
    fn of(workload: &Workload) -> Result<Questions, String> {
        let mut look = Command::new("svnlook");
        look.arg("youngest").arg(&workload.repository);
        let output = look.output().map_err(|e| format!("svnlook: {e}"))?;
        Ok(Questions {
            youngest: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            trunk: workload.trunk.to_owned(),
        })
    }

    fn log(&self, url: &str) -> Question {
        let youngest = &self.youngest;
        Question {
            url: format!("{url}/!svn/rvr/{youngest}"),
            body: format!(
                "<S:log-report xmlns:S=\"svn:\"><S:start-revision>{youngest}</S:start-revision><S:end-revision>0</S:end-revision>\
                 <S:discover-changed-paths/><S:revprop>svn:author</S:revprop><S:revprop>svn:date</S:revprop>\
                 <S:revprop>svn:log</S:revprop><S:path></S:path><S:encode-binary-props/></S:log-report>"
            ),
        }
    }

    fn export(&self, url: &str) -> Question {
        let (youngest, trunk) = (&self.youngest, &self.trunk);
        Question {
            url: format!("{url}/!svn/me"),
            body: format!(
                "<S:update-report xmlns:S=\"svn:\"><S:include-props>yes</S:include-props><S:src-path>{url}/{trunk}</S:src-path>\
                 <S:target-revision>{youngest}</S:target-revision><S:depth>unknown</S:depth>\
                 <S:entry rev=\"{youngest}\" depth=\"infinity\" start-empty=\"true\"></S:entry></S:update-report>"
            ),
        }
    }

    /// Where the texts of an export are, as the server itself says.
    fn texts(&self, url: &str) -> Result<Vec<String>, String> {
        let question = self.export(url);
        let mut curl = Command::new("curl");
        curl.args([
            "-s",
            "-f",
            "-X",
            "REPORT",
            "-H",
            "Content-Type: text/xml",
            "-A",
            AGENT,
            "--data",
        ])
        .arg(&question.body)
        .arg(&question.url);
        let output = curl.output().map_err(|e| format!("curl: {e}"))?;
        let answer = String::from_utf8_lossy(&output.stdout);
        let server = url.find("/svn/").map_or(url, |at| &url[..at]);
        let files = answer.split("<S:add-file ").skip(1);
        let hrefs = files.filter_map(|file| file.split("<D:href>").nth(1)?.split("</D:href>").next());
        let texts: Vec<String> = hrefs.map(|href| format!("{server}{href}")).collect();
        match texts.is_empty() {
            true => Err(format!("{}: no texts in the report", question.url)),
            false => Ok(texts),
        }
    }
}

/// What there is to ask for.
struct Tree {
    folders: Vec<String>,
    files: Vec<String>,
}

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
}
