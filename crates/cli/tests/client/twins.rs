//! Twin clients: Subversion's and Sven's, each with a repository, a server, a working directory and a configuration area of its own.
//!
//! All servers are Subversion's, so a difference is the client's; with `SVEN_CLIENT_SERVERS=ours` all are Sven's. Commands name the repository by
//! `{URL}`, the repository on disk by `{REPO}`, their directory by `{DIR}`. HTTP servers redirect `{MOVED}` permanently and `{ELSEWHERE}` for now to the repository.
//! Outputs are compared after the same words have replaced the URL and the directory, and masks the dates and UUIDs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::server::TestServer;
use testkit::server::http::{HttpSite, READ_FREELY};
use testkit::server::transport::{Transport, certificate};
use testkit::{Output, Repo, Side, Tool, normalize};

/// How the clients reach their repositories. With `SVEN_CLIENT_OVER=https`, [`Access::Http`] is [`Access::Https`] on the network: all tables run over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `file://`.
    Disk,
    /// `svn://`, by Subversion's svnserve. Everyone may read and write, as user `harry`.
    Svn,
    /// `http://`, by Apache. Everyone reads, and `alice` (password `secret`) writes.
    Http,
    /// As [`Access::Http`], in the older dialect.
    HttpV1,
    /// As [`Access::Http`], with TLS. The certificate is that of an authority in the configuration area.
    Https,
}

impl Access {
    /// All that differ in more than the encryption.
    pub const ALL: [Access; 4] = [Access::Disk, Access::Svn, Access::Http, Access::HttpV1];

    /// The transport; `None` for repositories on disk.
    pub fn transport(self) -> Option<Transport> {
        match self {
            Access::Disk => None,
            Access::Svn => Some(Transport::Svn),
            Access::Http if std::env::var_os("SVEN_CLIENT_OVER").is_some_and(|over| over == "https") => {
                Some(Transport::Https)
            }
            Access::Http => Some(Transport::Http),
            Access::HttpV1 => Some(Transport::HttpV1),
            Access::Https => Some(Transport::Https),
        }
    }
}

/// Makes a configuration area that trusts the certificate of the test servers.
pub fn trust_test_servers(home: &Path) {
    let area = home.join(".subversion");
    std::fs::create_dir_all(&area).expect("because the directory is ours");
    let authority = certificate().certificate.display();
    std::fs::write(
        area.join("servers"),
        format!("[global]\nssl-authority-files = {authority}\n"),
    )
    .expect("because the directory is there");
}

/// Twin clients.
pub struct TwinClients {
    theirs: OneSide,
    ours: OneSide,
    /// The access whose part of a table they run; `None` for all of it.
    part: Option<Access>,
}

/// What one of the two has.
struct OneSide {
    side: Side,
    /// Has `repo`, and `dir`.
    scratch: TempDir,
    url: String,
    /// Host and port of the server; empty for none.
    host: String,
    _server: Option<TestServer>,
}

impl TwinClients {
    /// Copies `repo` for each side and serves the copies.
    pub fn new(repo: &Repo, access: Access) -> TwinClients {
        TwinClients::with_servers(repo, access, servers())
    }

    /// As [`TwinClients::new`], with rules for access to paths; over http:// for Apache only.
    pub fn with_rules(repo: &Repo, access: Access, rules: &str) -> TwinClients {
        let [theirs, ours] = Side::BOTH.map(|side| OneSide::new(side, repo, access, servers(), Some(rules)));
        TwinClients {
            theirs,
            ours,
            part: None,
        }
    }

    /// As [`TwinClients::new`], for a table of commands that change nothing and are run over each of [`Access::ALL`]. In a plain run, each
    /// command is run over one of them, which follows from its words; the others pass over it. With a choice of servers
    /// (`cargo xtask interop`), all are run.
    pub fn for_table(repo: &Repo, access: Access) -> TwinClients {
        let all = std::env::var_os("SVEN_CLIENT_SERVERS").is_some();
        TwinClients {
            part: (!all).then_some(access),
            ..TwinClients::new(repo, access)
        }
    }

    /// True for a command of a table that is run over another access.
    fn passes_over(&self, words: &[&str]) -> bool {
        let Some(own) = self.part else { return false };
        // Merged histories of repositories on disk are left out of some tables.
        let kinds = match words.contains(&"-g") {
            true => &Access::ALL[1..],
            false => &Access::ALL[..],
        };
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        let turn = hasher.finish() % kinds.len() as u64;
        kinds.get(turn as usize) != Some(&own)
    }

    /// As [`TwinClients::new`], with the servers of one implementation.
    pub fn with_servers(repo: &Repo, access: Access, servers: Side) -> TwinClients {
        let [theirs, ours] = Side::BOTH.map(|side| OneSide::new(side, repo, access, servers, None));
        TwinClients {
            theirs,
            ours,
            part: None,
        }
    }

    /// Returns the working directory of a side.
    pub fn dir(&self, side: Side) -> PathBuf {
        self.of(side).dir()
    }

    /// Returns the URL of a side's repository.
    pub fn url(&self, side: Side) -> &str {
        &self.of(side).url
    }

    /// Returns the repository of a side.
    pub fn repository(&self, side: Side) -> PathBuf {
        self.of(side).scratch.path().join("repo")
    }

    /// Returns the home of a side's user.
    pub fn home(&self, side: Side) -> PathBuf {
        self.of(side).home().to_owned()
    }

    /// Writes a file to both working directories.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        for side in Side::BOTH {
            std::fs::write(self.dir(side).join(name), bytes.as_ref())
                .expect("because the directory is there");
        }
    }

    /// Runs a tool on both sides and compares standard output, standard error and exit code, which it returns. Words are separated by
    /// blanks.
    pub fn same(&self, line: &str) -> String {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        self.same_words(&words)
    }

    /// As [`TwinClients::same`]. The first word is the tool.
    pub fn same_words(&self, words: &[&str]) -> String {
        self.same_prepared(words, |tool| tool)
    }

    /// As [`TwinClients::same_words`], after a change of the tool's environment or input.
    pub fn same_prepared(&self, words: &[&str], prepare: impl Fn(Tool) -> Tool) -> String {
        let [theirs, ours] = self.outputs(words, prepare);
        assert!(
            ours == theirs,
            "{words:?}\n--- theirs\n{theirs}\n--- ours\n{ours}"
        );
        theirs
    }

    /// Returns a side's tool with its arguments. The first word is the tool.
    pub fn tool(&self, side: Side, words: &[&str]) -> Tool {
        self.of(side).tool(words)
    }

    /// Returns what a side's tool has printed, without what differs from run to run.
    pub fn shape(&self, side: Side, output: &Output) -> String {
        self.of(side).shape(output)
    }

    /// Runs a tool on both sides. Returns what they print and their exit codes, Subversion's first; two empty texts for a command of a
    /// table that is passed over.
    pub fn outputs(&self, words: &[&str], prepare: impl Fn(Tool) -> Tool) -> [String; 2] {
        if self.passes_over(words) {
            return Default::default();
        }
        Side::BOTH.map(|side| {
            let one = self.of(side);
            one.shape(&prepare(one.tool(words)).run())
        })
    }

    /// Runs [`TwinClients::same`] for each line, and reports all that differ.
    pub fn all_same(&self, lines: &[&str]) {
        let failed: Vec<String> = lines
            .iter()
            .filter_map(|line| {
                let outcome = std::panic::catch_unwind(|| self.same(line));
                let message = outcome.err()?;
                Some(message.downcast_ref::<String>().cloned().unwrap_or_default())
            })
            .collect();
        assert!(
            failed.is_empty(),
            "{} differ\n{}",
            failed.len(),
            failed.join("\n")
        );
    }

    /// As [`TwinClients::same`], for output without a defined order: the lines are compared in the order of their texts.
    pub fn same_unordered(&self, line: &str) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if self.passes_over(&words) {
            return;
        }
        let [theirs, ours] = Side::BOTH.map(|side| {
            let one = self.of(side);
            let shape = one.shape(&one.tool(&words).run());
            normalize::sorted_lines(&shape).join("\n")
        });
        assert!(ours == theirs, "{line}\n--- theirs\n{theirs}\n--- ours\n{ours}");
    }

    /// Compares the dumps of both repositories, without dates and UUIDs.
    pub fn same_repositories(&self) {
        let [theirs, ours] = Side::BOTH.map(|side| {
            let tool = Tool::new("svnadmin")
                .args(["dump", "-q"])
                .arg(self.repository(side));
            normalize::mask_dates(&normalize::mask_uuids(&tool.ok().out()))
        });
        let pairs = theirs.lines().zip(ours.lines());
        let difference = pairs.enumerate().find(|(_, (theirs, ours))| theirs != ours);
        assert!(ours == theirs, "the dumps differ: {difference:?}");
    }

    fn of(&self, side: Side) -> &OneSide {
        match side {
            Side::Theirs => &self.theirs,
            Side::Ours => &self.ours,
        }
    }
}

impl OneSide {
    fn new(side: Side, repo: &Repo, access: Access, servers: Side, rules: Option<&str>) -> OneSide {
        let scratch = testkit::scratch();
        let root = scratch.path();
        let copy = root.join("repo");
        Tool::new("cp").arg("-r").arg(repo.path()).arg(&copy).ok();
        std::fs::create_dir(root.join("dir")).expect("because it is new");
        let write =
            |name: &str, text: &str| std::fs::write(copy.join(name), text).expect("because it was copied");
        let mut settings =
            "[general]\nanon-access = read\nauth-access = write\npassword-db = passwd\n".to_owned();
        let mut apache = READ_FREELY.to_owned();
        if let Some(rules) = rules {
            write("conf/authz", rules);
            settings.push_str("authz-db = authz\n");
            apache.push_str(&format!(
                "AuthzSVNAccessFile \"{}\"\n",
                copy.join("conf/authz").display()
            ));
        }
        write("conf/svnserve.conf", &settings);
        write("conf/passwd", "[users]\nharry = secret\nalice = secret\n");
        let transport = access.transport();
        if transport == Some(Transport::Https) {
            trust_test_servers(root);
        }
        let server = match transport {
            None => None,
            Some(Transport::Svn) => Some(TestServer::svnserve(servers, root, &["-T"])),
            Some(transport) => {
                let site = HttpSite {
                    apache: &apache,
                    // Apache closes a connection after a few requests.
                    apache_wide: "MaxKeepAliveRequests 45\nRedirectMatch 403 refused$\nRedirectMatch permanent ^/moved/(.*)$ /repo/$1\nRedirectMatch temp ^/elsewhere/(.*)$ /repo/$1\n",
                    ours: "[location.auth]\nhtpasswd-file = 'USERS'\n\
                           [[redirect]]\nfrom = '/moved'\nto = '/repo'\npermanent = true\n\
                           [[redirect]]\nfrom = '/elsewhere'\nto = '/repo'\n",
                    transport,
                    ..HttpSite::plain(root)
                };
                Some(TestServer::http_site(servers, &site))
            }
        };
        let host = match (&server, transport) {
            (Some(server), Some(transport)) => format!("{}:{}", transport.host(), server.port()),
            _ => String::new(),
        };
        let url = match transport {
            Some(transport) => format!("{}://{host}/repo", transport.scheme()),
            None => format!("file://{}", copy.display()),
        };
        OneSide {
            side,
            scratch,
            url,
            host,
            _server: server,
        }
    }

    fn dir(&self) -> PathBuf {
        self.scratch.path().join("dir")
    }

    /// Returns the tool that the first word names, with the other words as arguments.
    fn tool(&self, words: &[&str]) -> Tool {
        let dir = self.dir();
        let args = words[1..].iter().map(|word| {
            let word = word.replace("{URL}", &self.url);
            let word = word.replace("{REPO}", &self.scratch.path().join("repo").to_string_lossy());
            let word = word.replace("{MOVED}", &self.at_root("moved"));
            let word = word.replace("{ELSEWHERE}", &self.at_root("elsewhere"));
            word.replace("{DIR}", &dir.to_string_lossy())
        });
        self.side
            .tool(words[0])
            .args(args)
            .dir(&dir)
            .env("HOME", self.home())
    }

    /// Returns the URL of a name beside the repository.
    fn at_root(&self, name: &str) -> String {
        let root = self.url.trim_end_matches("repo");
        format!("{root}{name}")
    }

    fn home(&self) -> &Path {
        self.scratch.path()
    }

    /// Returns the output of a tool without what may differ.
    fn shape(&self, output: &Output) -> String {
        let text = format!(
            "{}\n--- stderr\n{}\n--- exit {}",
            lossless(&output.stdout),
            lossless(&output.stderr),
            output.code
        );
        let scratch = self.scratch.path().to_string_lossy().into_owned();
        let text = normalize::replace(
            &text,
            &[
                (&self.url, "{URL}"),
                (&scratch, "{SCRATCH}"),
                (&self.host, "{PORT}"),
            ],
        );
        sort_attributes(&normalize::mask_dates(&normalize::mask_uuids(&text))).replace(FAILED_CLEANUP, "")
    }
}

/// What Subversion's `svnmucc` also prints, on a busy machine, after a commit that was refused for a wrong password: its own cleanup fails.
const FAILED_CLEANUP: &str = "svnmucc: E200042: Additional errors:\nsvnmucc: E120191: Error running context: The requested authentication type(s) are not supported\n";

/// Returns output as text, with the numbers of bytes that are no text.
fn lossless(bytes: &[u8]) -> String {
    let chunks = bytes.utf8_chunks();
    let shown = chunks.map(|chunk| {
        let numbers: String = chunk
            .invalid()
            .iter()
            .map(|byte| format!("<{byte:02x}>"))
            .collect();
        chunk.valid().to_owned() + &numbers
    });
    shown.collect()
}

/// Sorts the attributes of each tag: Subversion's have no defined order.
fn sort_attributes(text: &str) -> String {
    let is_attribute = |line: &str| line.starts_with("   ") && line.contains("=\"");
    let mut lines: Vec<(&str, &str)> = Vec::new();
    let mut tag = 0;
    for line in text.split('\n') {
        // The end of a tag stays where it is.
        let end = line
            .find('>')
            .filter(|_| is_attribute(line))
            .unwrap_or(line.len());
        let end = if line[..end].ends_with('/') { end - 1 } else { end };
        lines.push(line.split_at(end));
        if !is_attribute(line) {
            tag = lines.len();
        } else if end < line.len() {
            let mut attributes: Vec<&str> = lines[tag..].iter().map(|(name, _)| *name).collect();
            attributes.sort_unstable();
            for (line, attribute) in lines[tag..].iter_mut().zip(attributes) {
                line.0 = attribute;
            }
            tag = lines.len();
        }
    }
    let lines: Vec<String> = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
    lines.join("\n")
}

/// Returns whose servers the clients use.
pub fn servers() -> Side {
    let ours = std::env::var_os("SVEN_CLIENT_SERVERS").is_some_and(|whose| whose == "ours");
    if ours { Side::Ours } else { Side::Theirs }
}
