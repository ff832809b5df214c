//! The argument list of `svnserve`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use base::{Code, Error, Result};
use clap::{CommandFactory as _, Parser};
use server::{Listener, Options, Threads};

use crate::args::ArgumentError;
use crate::args::help::option_line;
use crate::args::option::CacheSizeOption;
use crate::sasl_folders::sasl_folders;

/// The mode of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Listens for connections until it is stopped.
    Daemon,
    /// Serves one connection on standard input and output.
    Inetd,
    /// Serves one connection on standard input and output, through a tunnel that has authenticated the user.
    Tunnel,
    /// Listens for one connection and serves it.
    ListenOnce,
}

/// Serves Subversion repositories over svn://.
#[derive(Clone, Debug, Parser)]
#[command(name = "svnserve", override_usage = "svnserve [-d | -i | -t | -X] [options]")]
pub struct SvnserveArgs {
    /// listen on a port and serve all who connect
    #[arg(short = 'd', long)]
    daemon: bool,
    /// serve one client on standard input and output
    #[arg(short = 'i', long)]
    inetd: bool,
    /// serve one client whom a tunnel has authenticated on standard input and output
    #[arg(short = 't', long)]
    tunnel: bool,
    /// listen on a port, serve the first who connects, and end
    #[arg(short = 'X', long)]
    listen_once: bool,
    /// directory that takes the place of / in URLs
    #[arg(short = 'r', long)]
    root: Option<PathBuf>,
    /// nobody may write, whatever a repository's configuration says
    #[arg(short = 'R', long)]
    read_only: bool,
    /// use the configuration in file ARG for all repositories
    #[arg(long)]
    pub config_file: Option<PathBuf>,
    /// port to listen on; 3690 by default (with -d or -X)
    #[arg(long, value_parser = port)]
    listen_port: Option<u16>,
    /// name or address to listen on; all addresses by default (with -d or -X)
    #[arg(long)]
    listen_host: Option<String>,
    /// choose IPv6 where a name has addresses of both kinds
    #[arg(short = '6', long = "prefer-ipv6")]
    prefer_ipv6: bool,
    /// how hard to compress what is sent, 0 (not at all) to 9; by default 5, as soon as the client is slower than we are
    #[arg(short = 'c', long, value_parser = count)]
    compression: Option<i64>,
    #[command(flatten)]
    memory: CacheSizeOption,
    /// accepted and without effect: deltas are always cached
    #[arg(long)]
    cache_txdeltas: Option<String>,
    /// accepted and without effect: texts are always cached
    #[arg(long)]
    cache_fulltexts: Option<String>,
    /// accepted and without effect: revision properties are always cached, and changes noticed
    #[arg(long)]
    cache_revprops: Option<String>,
    /// accepted and without effect: node properties are always cached
    #[arg(long)]
    cache_nodeprops: Option<String>,
    /// accepted and without effect: sending adapts to the client
    #[arg(long)]
    client_speed: Option<String>,
    /// accepted and without effect: reading ahead is decided from the request
    #[arg(long)]
    block_read: Option<String>,
    /// accepted and without effect: there is always one process with threads
    #[arg(short = 'T', long)]
    threads: bool,
    /// how many threads to keep when there is nothing to do; 1 by default
    #[arg(long, value_parser = count)]
    min_threads: Option<i64>,
    /// how many clients to serve at the same time; 512 by default. Clients that are connected but ask nothing do not count
    #[arg(long, value_parser = count)]
    max_threads: Option<i64>,
    /// most megabytes in one message of a client; 16 by default, 0 is no limit
    #[arg(long, value_parser = count)]
    max_request_size: Option<i64>,
    /// most megabytes in one answer; no limit by default
    #[arg(long, value_parser = count)]
    max_response_size: Option<i64>,
    /// seconds after which a client that neither reads nor writes in the middle of something is given up; 1800 by default,
    /// 0 is never
    #[arg(long, value_parser = count)]
    stall_timeout: Option<i64>,
    /// stay in the foreground (with -d)
    #[arg(long)]
    pub foreground: bool,
    /// serve one client at a time
    #[arg(long)]
    single_thread: bool,
    /// append a line to file ARG for everything a client asks
    #[arg(long)]
    pub log_file: Option<PathBuf>,
    /// write the process id to file ARG (with -d or -X)
    #[arg(long)]
    pub pid_file: Option<PathBuf>,
    /// name of the user at the other end of the tunnel; by default the owner of this process (with -t)
    #[arg(long)]
    pub tunnel_user: Option<String>,
    /// explain this program
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    pub help: bool,
    /// the host in a URL is the first directory below the root
    #[arg(long)]
    virtual_host: bool,
    /// tell the version
    #[arg(id = "version", long = "version")]
    pub version: bool,
    /// with --version: the number alone
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// standard input is the listening socket: how the program finds itself in the background
    #[arg(long, hide = true)]
    pub inherited_listener: bool,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl SvnserveArgs {
    /// Returns the mode.
    ///
    /// # Errors
    /// Unless exactly one mode was given, or for options of another mode.
    pub fn mode(&self) -> Result<Mode, ArgumentError> {
        if !self.operands.is_empty() {
            return Err(ArgumentError::Nothing);
        }
        let ways = [
            (self.daemon, Mode::Daemon),
            (self.inetd, Mode::Inetd),
            (self.tunnel, Mode::Tunnel),
            (self.listen_once, Mode::ListenOnce),
        ];
        let mut asked = ways.iter().filter(|(asked, _)| *asked);
        let mode = match (asked.next(), asked.next()) {
            (Some((_, mode)), None) => *mode,
            _ => {
                let text = "You must specify exactly one of -d, -i, -t or -X.";
                return Err(ArgumentError::Plain(text.to_owned()));
            }
        };
        if self.tunnel_user.is_some() && mode != Mode::Tunnel {
            return Err(ArgumentError::Failed(Error::new(
                Code::CL_ARG_PARSING_ERROR,
                "Option --tunnel-user is only valid in tunnel mode",
            )));
        }
        if self.threads && self.single_thread {
            let text = "You may only specify one of -T or --single-thread";
            return Err(ArgumentError::Plain(text.to_owned()));
        }
        Ok(mode)
    }

    /// Returns the options of the service.
    ///
    /// # Errors
    /// If the root does not exist.
    pub fn service(&self) -> Result<Options> {
        let root = self.root.clone().unwrap_or_else(|| PathBuf::from("/"));
        super::check_root(&root)?;
        let root = super::absolute(&root)?;
        let megabytes = |given: Option<i64>, default: u64| match given {
            Some(given) => u64::try_from(given).unwrap_or(0).saturating_mul(1 << 20),
            None => default,
        };
        let defaults = Options::default();
        Ok(Options {
            root,
            read_only: self.read_only,
            // The process leaves its directory when it detaches.
            config_file: self.config_file.as_deref().map(super::absolute).transpose()?,
            virtual_host: self.virtual_host,
            compression: match self.compression {
                Some(level) => u8::try_from(level.clamp(0, 9)).unwrap_or(0),
                None => defaults.compression,
            },
            always_compress: self.compression.is_some(),
            max_request: megabytes(self.max_request_size, defaults.max_request),
            max_response: megabytes(self.max_response_size, defaults.max_response),
            stall_timeout: match self.stall_timeout {
                None => defaults.stall_timeout,
                Some(seconds) => match u64::try_from(seconds) {
                    Ok(seconds) if seconds > 0 => Some(Duration::from_secs(seconds)),
                    _ => None,
                },
            },
            tunnel: None,
            sasl_folders: sasl_folders(),
        })
    }

    /// Opens the listening socket.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn listen(&self) -> Result<Listener> {
        let port = self.listen_port.unwrap_or(DEFAULT_PORT);
        Listener::bind(self.listen_host.as_deref(), port, self.prefer_ipv6)
    }

    /// Returns the sizes of the thread pool.
    pub fn threads(&self) -> Threads {
        let defaults = Threads::default();
        let number = |given: Option<i64>, default: usize| match given {
            Some(given) => usize::try_from(given).unwrap_or(0),
            None => default,
        };
        let max = match self.single_thread {
            true => 1,
            false => number(self.max_threads, defaults.max).max(1),
        };
        Threads {
            min: number(self.min_threads, defaults.min).min(max),
            max,
        }
    }

    /// Returns the size of the cache in bytes. 0, which the incumbent calls dynamic, selects the default.
    pub fn cache_budget(&self) -> u64 {
        match self.memory.budget() {
            0 => crate::args::option::default_budget(),
            bytes => bytes,
        }
    }
}

/// Returns the output of `--help`.
pub fn help(program: &str) -> String {
    let mut text = format!(
        "usage: {program} [-d | -i | -t | -X] [options]\n\
         Serves Subversion repositories over svn://.\n\
         Type '{program} --version' to see the program version.\n\nValid options:\n"
    );
    let command = SvnserveArgs::command();
    let shown = |arg: &&clap::Arg| !arg.is_positional() && !arg.is_hide_set();
    for arg in command.get_arguments().filter(shown) {
        text.push_str(&option_line(arg));
    }
    text.push('\n');
    text
}

/// The port of the protocol.
pub const DEFAULT_PORT: u16 = 3690;

fn port(text: &str) -> Result<u16> {
    let invalid = |cause: Error| cause.wrap(Code::CL_ARG_PARSING_ERROR, format!("Invalid port '{text}'"));
    let number: u64 = match text.parse() {
        Ok(number) => number,
        Err(_) => {
            return Err(invalid(Error::new(
                Code::INCORRECT_PARAMS,
                format!("Could not convert '{text}' into a number"),
            )));
        }
    };
    u16::try_from(number).map_err(|_| {
        invalid(Error::new(
            Code::INCORRECT_PARAMS,
            format!("Number '{text}' is out of range '[0, 65535]'"),
        ))
    })
}

/// Parses a number as C's `atoi`: a character that is no digit ends it, and text without digits is 0.
fn count(text: &str) -> Result<i64> {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number: i64 = digits[..end]
        .parse()
        .unwrap_or(if end == 0 { 0 } else { i64::from(i32::MAX) });
    Ok(sign * number.min(i64::from(i32::MAX)))
}
