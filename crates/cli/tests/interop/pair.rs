//! Two servers of one repository, and clients that record a transcript.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::server::transport::Transport;
use testkit::{Repo, Side, Spec, Tool, sample_from, scratch};

use crate::apache;

/// Subversion's server and Sven's, for the same repository.
pub struct ServerPair {
    theirs: TestServer,
    ours: TestServer,
    /// The URL path of the repository.
    name: String,
    transport: Transport,
    _root: TempDir,
}

/// One side of a scenario: runs commands and records their output.
pub struct ScenarioClient {
    /// URL of the repository.
    pub url: String,
    port: u16,
    dir: TempDir,
    transcript: String,
    options: Vec<String>,
    /// The options apply to every `options_step`-th command.
    options_step: usize,
    /// The number of `svn` commands so far.
    commands: usize,
    /// More texts to mask, with their replacements.
    masks: Vec<(String, String)>,
}

impl ServerPair {
    /// Serves a repository made from `spec`.
    pub fn of(spec: &Spec) -> ServerPair {
        ServerPair::serving(&testkit::build(spec), &[])
    }

    /// Serves `repo` with more arguments for both servers. Over HTTP `conf/svnserve.conf` is translated for Apache.
    pub fn serving(repo: &Repo, args: &[&str]) -> ServerPair {
        let transport = Transport::chosen(Transport::Svn);
        let rules = match transport {
            Transport::Svn => String::new(),
            _ => apache::rules(&repo.path().join("conf"), args),
        };
        ServerPair::over(transport, repo, &rules, args)
    }

    /// Serves a repository made from `spec` over HTTP; `location` are lines for Apache's `<Location>`.
    pub fn over_http(spec: &Spec, location: &str) -> ServerPair {
        let repo = testkit::build(spec);
        ServerPair::over(Transport::chosen_http(), &repo, location, &[])
    }

    fn over(transport: Transport, repo: &Repo, apache: &str, args: &[&str]) -> ServerPair {
        let root = scratch();
        std::os::unix::fs::symlink(repo.path(), root.path().join("repo"))
            .expect("because the folder is empty");
        let [theirs, ours] = Side::BOTH.map(|side| serve(side, transport, root.path(), apache, args));
        ServerPair {
            theirs,
            ours,
            name: "repo".to_owned(),
            transport,
            _root: root,
        }
    }

    /// Returns the port of one side.
    pub fn port(&self, side: Side) -> u16 {
        match side {
            Side::Theirs => self.theirs.port(),
            Side::Ours => self.ours.port(),
        }
    }

    /// Runs `scenario` on both sides at the same time and compares the transcripts.
    pub fn same(&self, scenario: impl Fn(&mut ScenarioClient) + Sync) {
        let run = |side| {
            let mut client = self.client(side);
            scenario(&mut client);
            client.transcript
        };
        let (theirs, ours) = thread::scope(|scope| {
            let theirs = scope.spawn(|| run(Side::Theirs));
            let ours = run(Side::Ours);
            let theirs = theirs.join();
            (
                theirs.expect("because the scenario runs against the real server"),
                ours,
            )
        });
        compare(&theirs, &self.ours.storage().with_own_paths(&ours));
    }

    fn client(&self, side: Side) -> ScenarioClient {
        let mut client = ScenarioClient::over(self.transport, self.port(side), &self.name);
        if self.transport == Transport::HttpV1 {
            // Clients generate the names of activities.
            client.mask("!svn/act/".to_owned(), "!svn/act/");
        }
        client
    }
}

/// Serves every repository below `root`.
pub fn serve(side: Side, transport: Transport, root: &Path, apache: &str, args: &[&str]) -> TestServer {
    match transport {
        Transport::Svn => {
            let more = if side == Side::Theirs { &["-T"][..] } else { &[] };
            TestServer::svnserve(side, root, &[args, more].concat())
        }
        _ => {
            let site = HttpSite {
                transport,
                apache,
                ours: "list = false\n",
                args,
                ..HttpSite::plain(root)
            };
            TestServer::http_site(side, &site)
        }
    }
}

/// Returns the URL of the repository `name` at `port`.
pub fn url(transport: Transport, port: u16, name: &str) -> String {
    format!("{}://{}:{port}/{name}", transport.scheme(), transport.host())
}

impl ScenarioClient {
    /// Returns a client of the repository `name` at `port`.
    pub fn new(port: u16, name: &str) -> ScenarioClient {
        ScenarioClient::over(Transport::Svn, port, name)
    }

    /// Returns a client of the repository `name` at `port`, over another protocol.
    pub fn over(transport: Transport, port: u16, name: &str) -> ScenarioClient {
        ScenarioClient {
            url: url(transport, port, name),
            port,
            dir: scratch(),
            transcript: String::new(),
            options: Vec::new(),
            options_step: 1,
            commands: 0,
            masks: Vec::new(),
        }
    }

    /// Replaces `text` by `shown` in the transcript. Dates and UUIDs are always masked.
    pub fn mask(&mut self, text: String, shown: &str) {
        self.masks.push((text, shown.to_owned()));
    }

    /// Returns the transcript.
    pub fn into_transcript(self) -> String {
        self.transcript
    }

    /// Returns the client's directory, in which commands run.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Sets options for all following `svn` commands.
    pub fn set_options(&mut self, options: &[&str]) {
        self.set_options_of_every(1, options);
    }

    /// As [`ScenarioClient::set_options`], for every `step`-th command only.
    pub fn set_options_of_every(&mut self, step: usize, options: &[&str]) {
        self.options = options.iter().map(|o| (*o).to_owned()).collect();
        self.options_step = step;
    }

    /// Returns every `step`-th of some independent cases, others over `svn://` than over HTTP, or all of them if the environment has
    /// `SVEN_ALL_CASES`.
    pub fn part<I: IntoIterator>(&self, step: usize, cases: I) -> impl Iterator<Item = I::Item> + use<I> {
        sample_from(usize::from(!self.url.starts_with("svn:")), step, cases)
    }

    /// Runs `svn` and records everything. `URL` in an argument stands for the repository's.
    pub fn svn(&mut self, args: &[&str]) {
        let output = self.run(args);
        self.write_down(args, &output.0, &output.1, output.2);
    }

    /// As [`ScenarioClient::svn`], with sorted lines.
    pub fn svn_sorted(&mut self, args: &[&str]) {
        let (out, err, code) = self.run(args);
        let mut lines: Vec<&str> = out.lines().collect();
        lines.sort_unstable();
        self.write_down(args, &lines.join("\n"), &err, code);
    }

    /// As [`ScenarioClient::svn`], with sorted sections (`Index: …`).
    pub fn svn_by_file(&mut self, args: &[&str]) {
        let (out, err, code) = self.run(args);
        let mut files: Vec<String> = Vec::new();
        for line in out.lines() {
            if line.starts_with("Index: ") || files.is_empty() {
                files.push(String::new());
            }
            let file = files.last_mut().expect("because one was just pushed");
            file.push_str(line);
            file.push('\n');
        }
        files.sort_unstable();
        self.write_down(args, &files.concat(), &err, code);
    }

    /// As [`ScenarioClient::svn`], with sorted paragraphs.
    pub fn svn_by_paragraph(&mut self, args: &[&str]) {
        let (out, err, code) = self.run(args);
        let paragraphs = out.split("\n\n").map(|text| text.trim_matches('\n'));
        let mut paragraphs: Vec<&str> = paragraphs.collect();
        paragraphs.sort_unstable();
        self.write_down(args, &paragraphs.join("\n\n"), &err, code);
    }

    /// Runs several commands, one a line.
    pub fn all(&mut self, lines: &[&str]) {
        for line in lines {
            let args: Vec<&str> = line.split(' ').collect();
            self.svn(&args);
        }
    }

    /// Runs a program in the client's directory and returns its output, without recording it.
    pub fn tool(&self, tool: Tool) -> testkit::Output {
        tool.dir(self.dir()).run()
    }

    /// Adds a text to the transcript.
    pub fn note(&mut self, text: &str) {
        let text = self.normal(text);
        self.transcript.push_str(&text);
        self.transcript.push('\n');
    }

    /// Records a tree: sorted names, kinds and contents, without `.svn`.
    pub fn note_tree(&mut self, top: &str) {
        let mut paths = Vec::new();
        walk(&self.dir().join(top), &mut paths);
        paths.sort();
        for path in paths {
            let shown = path
                .strip_prefix(self.dir())
                .expect("because it is below")
                .display()
                .to_string();
            let what = match std::fs::read(&path) {
                Ok(bytes) => format!("{} bytes, {:x?}", bytes.len(), base::checksum::Md5::of(&bytes)),
                Err(_) => "folder".to_owned(),
            };
            self.note(&format!("{shown}: {what}"));
        }
    }

    fn run(&mut self, args: &[&str]) -> (String, String, i32) {
        self.commands += 1;
        let has_options = self.commands.is_multiple_of(self.options_step);
        let args = args.iter().map(|arg| arg.replace("URL", &self.url));
        let output = Tool::new("svn")
            .args(args)
            .args(["--non-interactive", "--no-auth-cache"])
            .args(self.options.iter().filter(|_| has_options))
            .dir(self.dir())
            .run();
        (output.out(), output.err(), output.code)
    }

    fn write_down(&mut self, args: &[&str], out: &str, err: &str, code: i32) {
        let mut text = format!("$ svn {}\n{out}", args.join(" "));
        if !out.ends_with('\n') {
            text.push_str("~\n");
        }
        _ = write!(text, "{err}=> {code}");
        self.note(&text);
    }

    fn normal(&self, text: &str) -> String {
        let dir = self.dir().display().to_string();
        let mut text = text
            .replace(&format!(":{}", self.port), ":PORT")
            .replace(&dir, "DIR");
        if !self.masks.is_empty() {
            for (from, to) in &self.masks {
                text = text.replace(from, to);
            }
            text = testkit::normalize::mask_dates(&testkit::normalize::mask_uuids(&text));
        }
        let text = attributes_sorted(&text);
        // Dates of working copy files do not depend on the server.
        let kept = text
            .lines()
            .filter(|line| !line.starts_with("Text Last Updated: "));
        kept.collect::<Vec<_>>().join("\n")
    }
}

/// Sorts the attributes of XML elements, which the client prints in any order, one a line.
pub fn attributes_sorted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut attributes: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("   ").filter(|line| line.contains("=\"")) {
            None => out.push_str(line),
            Some(attribute) => match attribute.split_once('>') {
                None => attributes.push(attribute.trim_end()),
                Some((last, rest)) => {
                    attributes.push(last);
                    attributes.sort_unstable();
                    _ = write!(out, "   {}>{rest}", attributes.join(" "));
                    attributes.clear();
                }
            },
        }
    }
    out.push_str(&attributes.concat());
    out
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name() == ".svn" {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            walk(&path, found);
        }
        found.push(path);
    }
}

/// Panics with the first difference and the lines around it.
pub fn compare(theirs: &str, ours: &str) {
    let [theirs, ours] = &testkit::server::cluster::comparable([theirs, ours]);
    if theirs == ours {
        return;
    }
    let (theirs, ours): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    let first = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    let command = theirs[..first]
        .iter()
        .rposition(|line| line.starts_with("$ "))
        .unwrap_or(0);
    let show = |lines: &[&str]| {
        let from = first.saturating_sub(3);
        let to = (first + 12).min(lines.len());
        lines.get(from..to).unwrap_or_default().join("\n")
    };
    panic!(
        "transcripts differ at line {first}, after\n{}\n--- theirs\n{}\n--- ours\n{}\n",
        theirs.get(command).unwrap_or(&""),
        show(&theirs),
        show(&ours)
    );
}

/// Removes the line number of a configuration file from a line of Sven's log.
pub fn without_line(line: &str) -> String {
    match line.split_once(" (line ") {
        Some((before, after)) => {
            let rest = after.split_once(')').map_or("", |(_, rest)| rest);
            format!("{before}{rest}")
        }
        None => line.to_owned(),
    }
}
