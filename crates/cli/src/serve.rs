//! `sven serve`: serves a directory of repositories (or one) without any configuration.
//!
//! What a repository's own `svnserve.conf` says holds; where it says nothing, anybody may read. `--demo` lays out a small
//! repository with some history, serves it to this machine alone and prints what to try.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use repos::{Cache, Repository, image};
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
            out.print(&what_to_try(address))?;
            out.flush()?;
            return Ok(self.serve(folder.path().to_owned(), vec![listener])?);
        }
        let [root] = &self.root[..] else {
            return Err(Refusal::Plain(
                "Give the directory to serve, or --demo.".to_owned(),
            ));
        };
        let root = root
            .canonicalize()
            .map_err(|e| Error::io("Can't open directory", root, &e))?;
        let asked: Vec<String> = match self.svn.is_empty() {
            true => vec![String::new()],
            false => self.svn.clone(),
        };
        let listeners: Vec<Listener> = asked.iter().map(|text| bind(text)).collect::<Result<_>>()?;
        let what = match Repository::is_repository(&root) {
            true => "the repository",
            false => "repositories below",
        };
        for listener in &listeners {
            let url = format!("svn://{}/", listener.address()?);
            out.line(&format!("Serving {what} '{}' at {url}", root.display()))?;
        }
        out.flush()?;
        Ok(self.serve(root, listeners)?)
    }

    fn serve(&self, root: PathBuf, listeners: Vec<Listener>) -> Result<()> {
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
        let stop = Stop::new()?;
        Signals::listen(&stop, None)?;
        Server::new(service, listeners, Threads::default()).run(&stop)
    }

    /// The port of the protocol if nobody has it, any other if so: the demonstration always starts.
    fn demo_listener(&self) -> Result<Listener> {
        if let Some(asked) = self.svn.first() {
            return bind(asked);
        }
        Listener::bind(Some(LOOPBACK), PORT, false).or_else(|_| Listener::bind(Some(LOOPBACK), 0, false))
    }
}

const LOOPBACK: &str = "127.0.0.1";
const PORT: u16 = 3690;

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
fn bind(text: &str) -> Result<Listener> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.starts_with('[') => {
            let number = port
                .parse()
                .map_err(|_| Error::new(Code::CL_ARG_PARSING_ERROR, format!("Invalid port '{port}'")))?;
            (host, number)
        }
        _ => (text, PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Listener::bind(
        Some(host).filter(|host| !host.is_empty()),
        port,
        host.contains(':'),
    )
}

fn what_to_try(address: SocketAddr) -> String {
    let url = match address.port() {
        PORT => format!("svn://{LOOPBACK}/demo"),
        port => format!("svn://{LOOPBACK}:{port}/demo"),
    };
    format!(
        "A small repository is being served until you press Ctrl-C. Try, in another terminal:\n\n\
         \x20   svn log -v {url}\n\
         \x20   svn list -R {url}\n\
         \x20   svn checkout {url}/trunk sven-demo\n\
         \x20   svn blame {url}/trunk/README.txt\n\
         \x20   svn diff -c 3 {url}\n\n"
    )
}

fn help() -> String {
    let mut text = String::from(
        "usage: sven serve [--svn ADDR]... ROOT\n       sven serve --demo\n\
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
