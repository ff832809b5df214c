//! `svnserve`: serves repositories over `svn://`.
//!
//! The incumbent has a process or a thread for each connection and a cache for each process; here all connections share
//! one process, its threads and its cache, whatever `-T` says. Options that choose among the incumbent's caches and ways to
//! read are accepted and change nothing.
//!
//! [`options`] is the argument list, [`detach`] the way into the background.

mod detach;
mod options;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, FromArgMatches as _};
use repos::config::ServerConf;
use server::{MemoryBudget, OperationLog, Server, Service, Signals, Stop, Stream, Tunnel};

use crate::args::{self, Refusal};
use crate::out::Out;
use crate::version;
use options::Mode;
pub use options::Svnserve;

/// Runs the tool with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    let outcome = match read(argv.clone()) {
        Ok(given) => serve(&given, &argv, &mut out),
        Err(refusal) => {
            complain(&mut out, refusal);
            return ExitCode::FAILURE;
        }
    };
    match outcome {
        Ok(Ok(())) => out.finish(Ok(ExitCode::SUCCESS)),
        Ok(Err(refusal)) => {
            complain(&mut out, refusal);
            ExitCode::FAILURE
        }
        Err(error) => out.finish(Err(error)),
    }
}

fn read(argv: Vec<OsString>) -> std::result::Result<Svnserve, Refusal> {
    let matches = args::parse_flat(Svnserve::command(), argv)?;
    Ok(Svnserve::from_arg_matches(&matches).map_err(args::unreadable)?)
}

/// The program speaks of its help in another way than tools with subcommands do.
fn complain(out: &mut Out, refusal: Refusal) {
    let program = out.program().to_owned();
    let hint = format!("Type '{program} --help' for usage.\n");
    match refusal {
        Refusal::Nothing => out.complain(&hint),
        Refusal::Plain(text) => out.complain(&format!("{text}\n{hint}")),
        refusal if refusal.lines(&program, "").is_some() => {
            out.complain(&format!("{program}: {refusal}\n{hint}"));
        }
        refusal => {
            if let Some(error) = refusal.error() {
                out.error(&error);
            }
        }
    }
}

fn serve(given: &Svnserve, argv: &[OsString], out: &mut Out) -> Result<std::result::Result<(), Refusal>> {
    if given.help {
        let program = out.program().to_owned();
        out.print(&options::help(&program))?;
        return Ok(Ok(()));
    }
    if given.version {
        out.print(&version::text("svnserve", given.quiet))?;
        return Ok(Ok(()));
    }
    let mode = match given.mode() {
        Ok(mode) => mode,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut options = given.service()?;
    if let Some(path) = &given.config_file {
        // Read now, so that a mistake is reported to the parent process.
        ServerConf::read(path)?;
    }
    let log = match &given.log_file {
        Some(path) => Some(Arc::new(OperationLog::open(path)?)),
        None if mode == Mode::ListenOnce => Some(Arc::new(OperationLog::stderr())),
        None => None,
    };
    if mode == Mode::Daemon && !given.foreground && !given.inherited_listener {
        let listener = given.listen()?;
        let mut child = detach::hand_over(&listener, argv)?;
        // Before this process ends: its parent may read the file at once.
        if let Err(error) = write_pid(given.pid_file.as_deref(), child.id()) {
            // A server without its PID file is stopped; it may have ended already.
            _ = child.kill();
            _ = child.wait();
            return Err(error);
        }
        return Ok(Ok(()));
    }
    if mode == Mode::Tunnel {
        let user = match &given.tunnel_user {
            Some(user) => user.clone(),
            None => detach::process_owner()?,
        };
        options.tunnel = Some(Tunnel { user });
    }
    let memory = MemoryBudget::new(given.cache_budget(), false);
    let patience = options.stall_timeout;
    let service = Service::new(options, memory, log.clone());
    match mode {
        Mode::Inetd | Mode::Tunnel => converse(&service, Stream::Stdio)?,
        Mode::ListenOnce => {
            let listener = given.listen()?;
            write_pid(given.pid_file.as_deref(), std::process::id())?;
            let socket = listener.accept_one()?;
            let stream =
                Stream::tcp(socket, patience).map_err(|e| Error::os(&e, "Can't accept client connection"))?;
            converse(&service, stream)?;
        }
        Mode::Daemon => {
            let listener = match given.inherited_listener {
                true => detach::take_over()?,
                false => given.listen()?,
            };
            match given.inherited_listener {
                true => detach::leave_directory(),
                false => write_pid(given.pid_file.as_deref(), std::process::id())?,
            }
            let stop = Stop::new()?;
            let signals = Signals::listen(&stop, log)?;
            Server::new(service, vec![listener], given.threads()).run(&stop)?;
            // As the incumbent, which leaves its process file behind as well.
            signals.die_of_it();
        }
    }
    Ok(Ok(()))
}

fn converse(service: &Arc<Service>, stream: Stream) -> Result<()> {
    match server::serve_session(service, stream) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn write_pid(path: Option<&Path>, pid: u32) -> Result<()> {
    let Some(path) = path else {
        return Ok(());
    };
    let mut file = File::create(path).map_err(|e| Error::io("Can't open file", path, &e))?;
    writeln!(file, "{pid}").map_err(|e| Error::io("Can't write to file", path, &e))
}

/// Refuses a root that does not exist.
fn check_root(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            return Err(Error::io("Can't check path", path, &e));
        }
        _ => {}
    }
    Err(Error::new(
        Code::ILLEGAL_TARGET,
        format!(
            "Root path '{}' does not exist or is not a directory",
            path.display()
        ),
    ))
}
