//! `sven serve`: serves a directory of repositories (or one) without any configuration.
//!
//! What a repository's own `svnserve.conf` says holds; where it says nothing, anybody may read. `--demo` lays out a small
//! repository with some history, serves it to this machine alone and prints what to try.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use repos::{Cache, Repository, image};
use server::http::{HttpOptions, Location, Source};
use server::{Listener, Options, Server, Service, Signals, Stop, Threads};

use crate::args::help::option_line;
use crate::args::option::Memory;
use crate::args::{self, Refusal};
use crate::out::Out;

/// Serves every repository below ROOT, or ROOT itself.
#[derive(Debug, Parser)]
#[command(name = "serve")]
struct Serve {
    /// address to serve svn:// on, as HOST:PORT, HOST or :PORT; every address and port 3690 by default
    #[arg(long, value_name = "ADDR")]
    svn: Vec<String>,
    /// address to serve http:// on, as HOST:PORT, HOST or :PORT (port 8080 by default); none by default
    #[arg(long, value_name = "ADDR")]
    http: Vec<String>,
    /// make a small repository, serve it to this machine and say what to try
    #[arg(long)]
    demo: bool,
    /// nobody may write
    #[arg(short = 'R', long)]
    read_only: bool,
    #[command(flatten)]
    memory: Memory,
    /// explain this command
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    help: bool,
    #[arg(hide = true)]
    root: Vec<PathBuf>,
}

/// The demonstration, as `cargo xtask golden` made it.
const DEMO: &[u8] = include_bytes!("../data/demo.image");

/// Runs the command with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    let given = args::parse_flat(Serve::command(), argv)
        .and_then(|matches| Ok(Serve::from_arg_matches(&matches).map_err(args::unreadable)?));
    let outcome = match given {
        Ok(given) => given.run(&mut out),
        Err(refusal) => {
            let program = out.program().to_owned();
            out.complain(&format!("{program}: {refusal}\n{HINT}"));
            return ExitCode::FAILURE;
        }
    };
    match outcome {
        Ok(()) => out.finish(Ok(ExitCode::SUCCESS)),
        Err(Refusal::Failed(error)) => out.finish(Err(error)),
        Err(refusal) => {
            out.complain(&format!("{refusal}\n{HINT}"));
            ExitCode::FAILURE
        }
    }
}

const HINT: &str = "Type 'sven serve --help' for usage.\n";

impl Serve {
    fn run(&self, out: &mut Out) -> std::result::Result<(), Refusal> {
        if self.help {
            out.print(&help())?;
            return Ok(());
        }
        if self.demo {
            let folder = tempfile::Builder::new()
                .prefix("sven-demo-")
                .tempdir()
                .map_err(|e| Error::os(&e, "Can't create a temporary directory"))?;
            lay_out(folder.path())?;
            let listener = self.demo_listener()?;
            let address = listener.address()?;
            let web = self.demo_http()?;
            out.print(&what_to_try(address, web.address()?))?;
            out.flush()?;
            return Ok(self.serve(folder.path().to_owned(), vec![listener], vec![web])?);
        }
        let [root] = &self.root[..] else {
            return Err(Refusal::Plain(
                "Give the directory to serve, or --demo.".to_owned(),
            ));
        };
        let root = root
            .canonicalize()
            .map_err(|e| Error::io("Can't open directory", root, &e))?;
        let (found, all) = repositories(&root);
        let listeners: Vec<Listener> = match self.svn.is_empty() {
            true => vec![bind("", PORT)?],
            false => self
                .svn
                .iter()
                .map(|text| bind(text, PORT))
                .collect::<Result<_>>()?,
        };
        let http: Vec<Listener> = self
            .http
            .iter()
            .map(|text| bind(text, HTTP_PORT))
            .collect::<Result<_>>()?;
        let what = match Repository::is_repository(&root) {
            true => "the repository",
            false => "repositories below",
        };
        let svn_urls = listeners.iter().map(|listener| Ok(url(listener.address()?)));
        let http_urls = http.iter().map(|listener| Ok(http_url(listener.address()?)));
        for url in svn_urls.chain(http_urls).collect::<Result<Vec<String>>>()? {
            out.line(&format!("Serving {what} '{}' at {url}", root.display()))?;
            for name in found
                .iter()
                .filter(|name| !name.as_os_str().is_empty())
                .take(SHOWN)
            {
                out.line(&format!("  {url}{}", percent_encoded(name)))?;
            }
            if found.len() > SHOWN || (!all && !found.is_empty()) {
                out.line("  and more")?;
            }
        }
        out.flush()?;
        if found.is_empty() && all {
            let warning = format!(
                "There is no repository in '{}' yet. One that is made there is served at once: svnadmin create '{}'",
                root.display(),
                root.join("NAME").display()
            );
            let program = out.program().to_owned();
            out.complain(&format!("{program}: warning: {warning}\n"));
        }
        Ok(self.serve(root, listeners, http)?)
    }

    fn serve(&self, root: PathBuf, listeners: Vec<Listener>, http: Vec<Listener>) -> Result<()> {
        let source = match Repository::is_repository(&root) {
            true => Source::Repository(root.clone()),
            false => Source::Parent(root.clone()),
        };
        let mut location = Location::new("", source);
        location.read_only = self.read_only;
        let options = Options {
            root,
            read_only: self.read_only,
            ..Options::default()
        };
        let budget = match self.memory.budget() {
            0 => args::option::default_budget(),
            bytes => bytes,
        };
        let service = Service::new(options, Cache::new(budget), None);
        service.set_http(HttpOptions {
            locations: vec![location.into()],
            compression: 5,
            ..HttpOptions::default()
        });
        let stop = Stop::new()?;
        Signals::listen(&stop, None)?;
        Server::new(service, listeners, Threads::default())
            .with_http(http)
            .run(&stop)
    }

    /// The port of the protocol if nobody has it, any other if so: the demonstration always starts.
    fn demo_listener(&self) -> Result<Listener> {
        if let Some(asked) = self.svn.first() {
            return bind(asked, PORT);
        }
        Listener::bind(Some(LOOPBACK), PORT, false).or_else(|_| Listener::bind(Some(LOOPBACK), 0, false))
    }

    /// As [`Serve::demo_listener`], for browsers.
    fn demo_http(&self) -> Result<Listener> {
        if let Some(asked) = self.http.first() {
            return bind(asked, HTTP_PORT);
        }
        Listener::bind(Some(LOOPBACK), HTTP_PORT, false).or_else(|_| Listener::bind(Some(LOOPBACK), 0, false))
    }
}

const LOOPBACK: &str = "127.0.0.1";
const PORT: u16 = 3690;
const HTTP_PORT: u16 = 8080;

/// Makes the demonstration's repository in `folder`.
///
/// # Errors
/// The system's.
fn lay_out(folder: &Path) -> Result<PathBuf> {
    let repository = folder.join("demo");
    image::lay_out(DEMO, &repository)?;
    Ok(repository)
}

/// `HOST:PORT`, `HOST`, `:PORT` or nothing; an IPv6 address with a port is in brackets.
fn bind(text: &str, default_port: u16) -> Result<Listener> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.starts_with('[') => {
            let number = port
                .parse()
                .map_err(|_| Error::new(Code::CL_ARG_PARSING_ERROR, format!("Invalid port '{port}'")))?;
            (host, number)
        }
        _ => (text, default_port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let bound = match host {
        "" => Listener::everywhere(port),
        host => Listener::bind(Some(host), port, host.contains(':')),
    };
    let shown = if host.is_empty() { "every address" } else { host };
    bound.map_err(|e| e.context(format!("Can't serve on port {port} of {shown}")))
}

/// Where clients find what listens on `address`, as seen from this machine.
fn url(address: SocketAddr) -> String {
    let port = match address.port() {
        PORT => String::new(),
        port => format!(":{port}"),
    };
    match address.ip() {
        ip if ip.is_unspecified() => format!("svn://localhost{port}/"),
        IpAddr::V4(ip) => format!("svn://{ip}{port}/"),
        IpAddr::V6(ip) => format!("svn://[{ip}]{port}/"),
    }
}

/// As [`url`], for HTTP.
fn http_url(address: SocketAddr) -> String {
    let port = match address.port() {
        80 => String::new(),
        port => format!(":{port}"),
    };
    match address.ip() {
        ip if ip.is_unspecified() => format!("http://localhost{port}/"),
        IpAddr::V4(ip) => format!("http://{ip}{port}/"),
        IpAddr::V6(ip) => format!("http://[{ip}]{port}/"),
    }
}

/// The repositories below `root` (or the empty path if it is one itself), for people to see: not more of them, nor from
/// more places, than can be looked at in a moment. True if these are all.
fn repositories(root: &Path) -> (Vec<PathBuf>, bool) {
    let mut found = Vec::new();
    let mut level = vec![PathBuf::new()];
    let mut looks = LOOKS;
    for _ in 0..=DEEPEST {
        let mut next = Vec::new();
        for name in level {
            let path = root.join(&name);
            if Repository::is_repository(&path) {
                found.push(name);
                continue;
            }
            for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
                looks -= 1;
                if looks == 0 || found.len() > SHOWN {
                    return (found, false);
                }
                if entry.path().is_dir() {
                    next.push(name.join(entry.file_name()));
                }
            }
        }
        next.sort();
        level = next;
    }
    (found, level.is_empty())
}

/// A path as it stands in a URL.
fn percent_encoded(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                text.push(*byte as char)
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// How many repositories are named when the server starts.
const SHOWN: usize = 10;
/// How many folders deep they are looked for.
const DEEPEST: usize = 3;
/// How many entries of folders are looked at.
const LOOKS: usize = 10_000;

fn what_to_try(address: SocketAddr, web: SocketAddr) -> String {
    let url = format!("{}demo", url(address));
    let web = format!("{}demo", http_url(web));
    format!(
        "A small repository is being served until you press Ctrl-C. Try, in another terminal:\n\n\
         \x20   svn log -v {url}\n\
         \x20   svn list -R {url}\n\
         \x20   svn checkout {url}/trunk sven-demo\n\
         \x20   svn blame {url}/trunk/README.txt\n\
         \x20   svn diff -c 3 {url}\n\n\
         The same over HTTP, for clients and browsers: {web}\n\n"
    )
}

fn help() -> String {
    let mut text = String::from(
        "usage: sven serve [--svn ADDR]... [--http ADDR]... ROOT\n       sven serve --demo\n\
         Serves every repository below ROOT, or ROOT itself, without any configuration.\n\
         What a repository's own conf/svnserve.conf says holds.\n\nValid options:\n",
    );
    let command = Serve::command();
    for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
        text.push_str(&option_line(arg));
    }
    text.push('\n');
    text
}
