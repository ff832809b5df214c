//! HTTP: the stock client and the lean client with Sven and with Apache with mod_dav_svn.
//!
//! Both servers have the same repositories, a cache of 1 GiB and the same compression level, 0 and 5 in turn. Apache
//! does no path-based checks, Sven does. *Cold* starts a new server for each run, *hot* leaves it running.
//!
//! In hot runs the stock client needs most of the time, and 64 of its processes would leave no CPU time for the
//! servers. Therefore the lean client ([`crate::lean_client`]) sends the same requests, over as many connections,
//! several times in a run: those rows show the servers.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use clap::Args;

use crate::cells::{Goal, TableCell};
use crate::lean_client::RequestList;
use crate::measure::RunCost;
use crate::rivals::SvenBinary;
use crate::rivals::apache::{self, HttpSettings};
use crate::rivals::servers::StartedServer;
use crate::serving::{ClientFactory, ServerJob, Warmth, client};
use crate::setup::Selection;
use crate::workload::{self, RepositoryForm, Workload};

const APACHE: &str = "Apache 2.4 event, mod_dav_svn";
/// The number of connections of the rows with 64 clients.
const MANY_CONNECTIONS: usize = 64;

/// The options of the HTTP measurements.
#[derive(Args, Clone)]
pub struct HttpOptions {
    #[command(flatten)]
    selection: Selection,
    /// How many files of the Linux sources to import (0: none; Debian's linux-source-6.1)
    #[arg(long, default_value_t = 10_000)]
    files: usize,
    /// Compression levels of both servers
    #[arg(long, value_delimiter = ',', default_values_t = [0, 5])]
    levels: Vec<u8>,
}

/// Measures all cells and prints, stores and draws the table.
///
/// # Errors
/// The first thing that could not be made or run.
pub fn main(mut options: HttpOptions) -> Result<(), String> {
    if options.selection.quick {
        options.selection.history.revisions = vec![200];
        options.selection.runs = 0;
        options.files = 50;
        options.levels = vec![5];
    }
    let sven = options.selection.directories.prepare()?;
    let selection = &options.selection;
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut cells = Vec::new();
    let bench = |level| HttpBench {
        selection,
        files: options.files,
        sven: &sven,
        scratch: scratch.path(),
        level,
    };
    for history in selection.history.histories()? {
        let workload = history.workload(&selection.directories.data, RepositoryForm::Unpacked)?;
        for level in &options.levels {
            bench(*level).reading(&workload, &mut cells)?;
        }
    }
    for level in &options.levels {
        bench(*level).import(&mut cells)?;
    }
    selection.publish("http", "Apache with mod_dav_svn", &cells, "")
}

struct HttpBench<'a> {
    selection: &'a Selection,
    files: usize,
    sven: &'a SvenBinary,
    scratch: &'a Path,
    level: u8,
}

impl HttpBench<'_> {
    fn start(&self, is_ours: bool, root: &Path) -> Result<StartedServer, String> {
        match is_ours {
            true => apache::start_sven(
                self.sven,
                root,
                HttpSettings::large_cache(self.level),
                self.scratch,
            ),
            false => apache::start_apache(root, HttpSettings::large_cache(self.level), self.scratch),
        }
    }

    fn reading(&self, workload: &Workload, cells: &mut Vec<TableCell>) -> Result<(), String> {
        let export = |url: &str| Ok(client(&["svnbench", "null-export"], url, workload.trunk));
        let log = |url: &str| Ok(client(&["svnbench", "null-log", "-v"], url, ""));
        let tree = WorkloadPaths::of(workload)?;
        let stock = StockRequests::of(workload)?;
        // The number of rounds makes a run last some tenths of a second for every size.
        let rounds = (100_000 / stock.youngest.parse().unwrap_or(1)).clamp(1, 10);
        let list = |url: &str| self.lean_client(&tree.list(url)?, 1, rounds);
        let crowd = |url: &str| self.lean_client(&tree.fetch(url)?, MANY_CONNECTIONS, rounds);
        let log_alone = |url: &str| self.lean_client(&stock.log(url)?, 1, rounds);
        let export_alone = |url: &str| self.lean_client(&stock.export(url)?, 4, rounds);
        let export_crowd = |url: &str| self.lean_client(&stock.export(url)?, MANY_CONNECTIONS, rounds);
        let (cold, hot) = (Warmth::Cold, Warmth::Hot);
        let rows: [(_, _, ClientFactory<'_>); 9] = [
            ("null-export", cold, &export),
            ("null-export", hot, &export),
            ("null-log -v", cold, &log),
            ("null-log -v", hot, &log),
            ("list by PROPFIND", hot, &list),
            ("64 clients fetch files", hot, &crowd),
            ("64 clients, one export", hot, &export_crowd),
            ("requests of log -v, lean client", hot, &log_alone),
            ("requests of export, lean client", hot, &export_alone),
        ];
        for (name, warmth, client) in rows {
            let job = ServerJob {
                name: format!(
                    "{name} {}, level {}, {}",
                    warmth.word(),
                    self.level,
                    workload.name
                ),
                rival: APACHE,
                goal: Goal::wall(2.0),
                warmth,
                start: &|ours, root| self.start(ours, root),
                client,
            };
            cells.extend(job.measure(workload, self.selection)?);
        }
        Ok(())
    }

    /// Returns the lean client for these requests.
    fn lean_client(
        &self,
        requests: &RepositoryRequests,
        connections: usize,
        rounds: usize,
    ) -> Result<Command, String> {
        let file = self.scratch.join("requests");
        fs::write(&file, requests.list.file()).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut client = Command::new(std::env::current_exe().map_err(|e| e.to_string())?);
        client
            .arg("send-requests")
            .arg(requests.host.to_string())
            .arg(&file);
        client
            .arg(format!("--connections={connections}"))
            .arg(format!("--rounds={rounds}"));
        Ok(client)
    }

    /// `svn import` of a source tree into a new repository.
    fn import(&self, cells: &mut Vec<TableCell>) -> Result<(), String> {
        let files = self.files;
        let job = format!("svn import, level {}, Linux 6.1, {files} files", self.level);
        if files == 0 || !self.selection.wanted(&job) {
            return Ok(());
        }
        let data = &self.selection.directories.data;
        let tree = workload::import_tree(self.scratch, data, files, self.selection.quick)?;
        let run = |is_ours| -> Result<RunCost, String> {
            let root = self.scratch.join("repositories");
            _ = fs::remove_dir_all(&root);
            fs::create_dir_all(&root).map_err(|e| e.to_string())?;
            workload::run(Command::new("svnadmin").arg("create").arg(root.join("new")))?;
            let running = self.start(is_ours, &root)?;
            let url = format!("{}/new", running.url);
            running.server.measure_client(&mut workload::import(&tree, &url))
        };
        let (goal, pairs) = (Goal::wall(2.0), self.selection.runs.min(1));
        cells.push(TableCell::measure(
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

/// Requests for a repository.
struct RepositoryRequests {
    host: SocketAddr,
    /// The path of the repository's URL.
    root: String,
    list: RequestList,
}

impl RepositoryRequests {
    fn of(url: &str) -> Result<RepositoryRequests, String> {
        let parts = url.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
        let (host, root) = parts.ok_or_else(|| format!("{url}: not a URL of a repository"))?;
        Ok(RepositoryRequests {
            host: host.parse().map_err(|e| format!("{url}: {e}"))?,
            root: format!("/{root}"),
            list: RequestList::default(),
        })
    }

    /// Adds a request for `path` below the repository.
    fn add(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        self.list
            .add(method, self.host, &format!("{}/{path}", self.root), headers, body);
    }
}

/// The requests of the stock client.
struct StockRequests {
    youngest: String,
    trunk: String,
}

impl StockRequests {
    fn of(workload: &Workload) -> Result<StockRequests, String> {
        let mut look = Command::new("svnlook");
        look.arg("youngest").arg(&workload.repository);
        let output = look.output().map_err(|e| format!("svnlook: {e}"))?;
        Ok(StockRequests {
            youngest: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            trunk: workload.trunk.to_owned(),
        })
    }

    fn log(&self, url: &str) -> Result<RepositoryRequests, String> {
        let youngest = &self.youngest;
        let body = format!(
            "<S:log-report xmlns:S=\"svn:\"><S:start-revision>{youngest}</S:start-revision><S:end-revision>0</S:end-revision>\
             <S:discover-changed-paths/><S:revprop>svn:author</S:revprop><S:revprop>svn:date</S:revprop>\
             <S:revprop>svn:log</S:revprop><S:path></S:path><S:encode-binary-props/></S:log-report>"
        );
        let mut requests = RepositoryRequests::of(url)?;
        requests.add("REPORT", &format!("!svn/rvr/{youngest}"), XML, &body);
        Ok(requests)
    }

    /// Returns the report of an export, and a `GET` for each text in its response.
    fn export(&self, url: &str) -> Result<RepositoryRequests, String> {
        let (youngest, trunk) = (&self.youngest, &self.trunk);
        let body = format!(
            "<S:update-report xmlns:S=\"svn:\"><S:include-props>yes</S:include-props><S:src-path>{url}/{trunk}</S:src-path>\
             <S:target-revision>{youngest}</S:target-revision><S:depth>unknown</S:depth>\
             <S:entry rev=\"{youngest}\" depth=\"infinity\" start-empty=\"true\"></S:entry></S:update-report>"
        );
        let mut requests = RepositoryRequests::of(url)?;
        requests.add("REPORT", "!svn/me", XML, &body);
        for href in texts(&format!("{url}/!svn/me"), &body)? {
            let path = href
                .strip_prefix(&requests.root)
                .and_then(|path| path.strip_prefix('/'));
            let path = path.ok_or_else(|| format!("{href}: outside of {url}"))?;
            requests.add("GET", path, TEXT, "");
        }
        Ok(requests)
    }
}

const XML: &str = "User-Agent: SVN/1.14.2 serf/1.3.9\r\nContent-Type: text/xml\r\nAccept-Encoding: gzip\r\n";
const TEXT: &str = "User-Agent: SVN/1.14.2 serf/1.3.9\r\nAccept-Encoding: gzip\r\n";

/// Returns the URLs of the texts in the response to a report.
fn texts(url: &str, report: &str) -> Result<Vec<String>, String> {
    let mut curl = Command::new("curl");
    curl.args(["-s", "-f", "-X", "REPORT", "-H", "Content-Type: text/xml"])
        .args(["-A", "SVN/1.14.2 serf/1.3.9", "--data", report, url]);
    let output = curl.output().map_err(|e| format!("curl: {e}"))?;
    let response = String::from_utf8_lossy(&output.stdout);
    let files = response.split("<S:add-file ").skip(1);
    let hrefs = files.filter_map(|file| file.split("<D:href>").nth(1)?.split("</D:href>").next());
    let texts: Vec<String> = hrefs.map(str::to_owned).collect();
    match texts.is_empty() {
        true => Err(format!("{url}: no texts in the report")),
        false => Ok(texts),
    }
}

/// The paths of a workload.
struct WorkloadPaths {
    folders: Vec<String>,
    files: Vec<String>,
}

/// The body of a PROPFIND that lists a directory.
const PROPFIND: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><propfind xmlns=\"DAV:\"><prop><resourcetype/><getcontentlength/>\
                        <version-name/><creationdate/><creator-displayname/>\
                        <deadprop-count xmlns=\"http://subversion.tigris.org/xmlns/dav/\"/></prop></propfind>";

impl WorkloadPaths {
    fn of(workload: &Workload) -> Result<WorkloadPaths, String> {
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
        Ok(WorkloadPaths {
            folders: folders.into_iter().map(str::to_owned).collect(),
            files: files.into_iter().map(str::to_owned).collect(),
        })
    }

    fn list(&self, url: &str) -> Result<RepositoryRequests, String> {
        let mut requests = RepositoryRequests::of(url)?;
        for folder in &self.folders {
            requests.add("PROPFIND", folder, &format!("Depth: 1\r\n{XML}"), PROPFIND);
        }
        Ok(requests)
    }

    fn fetch(&self, url: &str) -> Result<RepositoryRequests, String> {
        let mut requests = RepositoryRequests::of(url)?;
        for file in &self.files {
            requests.add("GET", file, "", "");
        }
        Ok(requests)
    }
}
