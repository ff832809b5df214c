//! `svnserve`: serves repositories over `svn://`.
//!
//! The incumbent has a process or a thread for each connection and a cache for each process. Here all connections
//! share one process, its threads and its cache, with and without `-T`. Options that choose among the incumbent's
//! caches and read strategies are accepted and have no effect.
//!
//! [`options`] is the argument list, [`detach`] starts the daemon.

mod detach;
mod options;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base::{Code, Error, Result, disk_path};
use clap::{CommandFactory as _, FromArgMatches as _};
use repos::config::ServerConf;
use server::{MemoryBudget, OperationLog, Server, Service, Signals, Stop, Stream, Tunnel};

use crate::args::{self, ArgumentError};
use crate::client_context::settings::os_user;
use crate::out::Out;
use crate::version;
use options::Mode;
pub use options::SvnserveArgs;

/// Runs the tool with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    let outcome = match read(argv.clone()) {
        Ok(given) => serve(&given, &argv, &mut out),
        Err(error) => {
            print_argument_error(&mut out, error);
            return ExitCode::FAILURE;
        }
    };
    match outcome {
        Ok(Ok(())) => out.finish(Ok(ExitCode::SUCCESS)),
        Ok(Err(error)) => {
            print_argument_error(&mut out, error);
            ExitCode::FAILURE
        }
        Err(error) => out.finish(Err(error)),
    }
}

fn read(argv: Vec<OsString>) -> std::result::Result<SvnserveArgs, ArgumentError> {
    let matches = args::parse_flat(SvnserveArgs::command(), argv)?;
    Ok(SvnserveArgs::from_arg_matches(&matches).map_err(args::definition_error)?)
}

/// Prints an error of the argument list. The hint differs from that of the tools with subcommands.
fn print_argument_error(out: &mut Out, error: ArgumentError) {
    let program = out.program().to_owned();
    let hint = format!("Type '{program} --help' for usage.\n");
    match error {
        ArgumentError::Nothing => out.print_stderr(&hint),
        ArgumentError::Plain(text) => out.print_stderr(&format!("{text}\n{hint}")),
        error if error.lines(&program, "").is_some() => {
            out.raw_stderr(&error.message_with_hint(&program, &hint));
        }
        error => {
            if let Some(error) = error.numbered() {
                out.print_error(&error);
            }
        }
    }
}

fn serve(
    given: &SvnserveArgs,
    argv: &[OsString],
    out: &mut Out,
) -> Result<std::result::Result<(), ArgumentError>> {
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
        Err(error) => return Ok(Err(error)),
    };
    let mut options = given.service()?;
    if let Some(path) = &options.config_file {
        // Read before the process detaches, so that a mistake goes to the terminal.
        ServerConf::read(path)?;
    }
    let log = match &given.log_file {
        Some(path) => Some(Arc::new(OperationLog::open(&absolute(path)?)?)),
        None if mode == Mode::ListenOnce => Some(Arc::new(OperationLog::stderr())),
        None => None,
    };
    if mode == Mode::Daemon && !given.foreground && !given.inherited_listener {
        return start_daemon(given, argv).map(Ok);
    }
    if mode == Mode::Tunnel {
        // Without a name, the peer is as anyone who has not logged in.
        let user = match &given.tunnel_user {
            Some(user) => Some(user.clone()),
            None => os_user(),
        };
        options.tunnel = user.map(|user| Tunnel { user });
    }
    let memory = MemoryBudget::new(given.cache_budget(), false);
    let stall_timeout = options.stall_timeout;
    let service = Service::new(options, memory, log.clone());
    match mode {
        Mode::Inetd | Mode::Tunnel => run_session(&service, Stream::Stdio)?,
        Mode::ListenOnce => serve_one(given, &service, stall_timeout)?,
        Mode::Daemon => run_daemon(given, service, log)?,
    }
    Ok(Ok(()))
}

/// Starts the process that serves in the background.
fn start_daemon(given: &SvnserveArgs, argv: &[OsString]) -> Result<()> {
    let listener = given.listen()?;
    let mut child = detach::hand_over(&listener, argv)?;
    // Written before this process ends, because its parent may read the file at once.
    if let Err(error) = write_pid(given.pid_file.as_deref(), child.id()) {
        // A server without its PID file is stopped. It may have ended already, so errors are ignored.
        _ = child.kill();
        _ = child.wait();
        return Err(error);
    }
    Ok(())
}

/// Serves all connections until a signal stops the server.
fn run_daemon(given: &SvnserveArgs, service: Arc<Service>, log: Option<Arc<OperationLog>>) -> Result<()> {
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
    // The incumbent leaves its PID file as well.
    signals.die_of_it();
    Ok(())
}

/// Serves the first connection.
fn serve_one(given: &SvnserveArgs, service: &Arc<Service>, stall_timeout: Option<Duration>) -> Result<()> {
    let listener = given.listen()?;
    write_pid(given.pid_file.as_deref(), std::process::id())?;
    let socket = listener.accept_one()?;
    let stream =
        Stream::tcp(socket, stall_timeout).map_err(|e| Error::os(&e, "Can't accept client connection"))?;
    run_session(service, stream)
}

fn run_session(service: &Arc<Service>, stream: Stream) -> Result<()> {
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

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| Error::io("Can't resolve path", path, &e))
}

/// Returns an error if the root does not exist.
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
            disk_path::shown(path)
        ),
    ))
}
