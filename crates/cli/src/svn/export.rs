//! `svn export`: writes a tree of a repository to the disk, without a working copy.

use std::ffi::OsString;
use std::num::NonZero;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use base::{Code, Depth, Error, Result, Url};
use client::export::{ExportEvent, ExportOptions, Source, export};
use client::translate::LineEnd;
use rustix::time::ClockId;

use super::options::{NonRecursiveOption, RevisionOption, TargetsOption};
use crate::args::date;
use crate::args::revision::Revision;
use crate::client_context::target::{self, TypedTarget};
use crate::client_context::{AccessOptions, ClientContext, hosts};
use crate::date_text;
use crate::local_path;
use crate::out::Out;
use crate::progress::{Lines, Progress, ProgressOption};
use base::charset::Charset;

/// Writes the tree at URL to PATH, as it is in a revision. PATH is the last component of the URL if it is left out. The
/// tree has no `.svn`, so later changes cannot be committed from it.
#[derive(clap::Args)]
#[command(override_usage = "export [-r REV] URL[@PEGREV] [PATH]")]
pub struct ExportArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// print nothing but warnings and errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    depth: NonRecursiveOption,
    /// write into directories that exist, and replace files
    #[arg(long)]
    force: bool,
    /// the line end of files with the svn:eol-style 'native': 'LF', 'CR' or 'CRLF'
    #[arg(long, value_parser = parse_line_end)]
    native_eol: Option<LineEnd>,
    /// leave externals out
    #[arg(long)]
    ignore_externals: bool,
    /// leave keywords without values
    #[arg(long)]
    ignore_keywords: bool,
    #[command(flatten)]
    progress: ProgressOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

/// What to export, and to where.
struct Request {
    url: Url,
    peg: Option<Revision>,
    target: PathBuf,
}

impl ExportArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        ClientContext::run(self.access.clone(), out, |context, out| {
            let targets = target::read_targets(context, out, &self.operands, &TargetsOption::default())?;
            out.set_output_optional();
            self.export(context, &request(&targets)?, out)
        })
    }

    fn export(&self, context: &ClientContext, request: &Request, out: &mut Out) -> Result<()> {
        let source = self.source(request).or_else(|error| {
            // A repository that cannot be opened is the first error.
            context.open(&request.url).and(Err(error))
        })?;
        let begun = Instant::now();
        let received = Arc::new(AtomicU64::new(0));
        let progress = Progress::of_input(
            self.progress,
            self.quiet,
            Lines::OnStdout,
            "Exported",
            &received,
            None,
        );
        // A wrong value is an error of the session, which reads it too.
        let connections =
            hosts::http_options(context.config(), &request.url).map_or(0, |http| http.connections);
        let charset = out.charset();
        let here = std::env::current_dir().unwrap_or_default();
        let absolute_target = local_path::without_parents(here.join(&request.target));
        let options = ExportOptions {
            depth: self.depth.depth().unwrap_or(Depth::Infinity),
            force: self.force,
            ignore_externals: self.ignore_externals,
            ignore_keywords: self.ignore_keywords,
            native_line_end: self.native_eol.unwrap_or(LineEnd::Lf),
            sessions: sessions(&request.url, cores(), connections),
            writers: match request.url.scheme() {
                "file" => 1,
                _ => cores().clamp(2, MOST_WRITERS),
            },
            alone_for: match request.url.scheme() {
                "file" => Duration::ZERO,
                "svn" => ALONE,
                _ => ALONE_HTTP,
            },
            has_time: &|| has_time(begun.elapsed(), cores()),
            open: &|url| context.open(url),
            long_date: &date_text::human,
            parse_date: &date::parse,
            file_name: &|name, directory| file_name(charset, name, directory),
            absolute_target: &absolute_target,
            received: &received,
            cancel: context.cancel(),
        };
        let has_lines = progress.has_lines();
        let outcome = export(&source, &request.target, &options, &mut |event| match event {
            ExportEvent::ExternalFailed(error) if !self.quiet => {
                progress.suspend(|| out.print_warning(error));
                Ok(())
            }
            event if has_lines => print(&event, &here, out),
            _ => Ok(()),
        });
        progress.finish(outcome.is_ok());
        outcome
    }

    fn source(&self, request: &Request) -> Result<Source> {
        let peg = request.peg.unwrap_or(Revision::Head).of_url()?;
        Ok(Source {
            url: request.url.clone(),
            peg,
            rev: match self.revision.start() {
                Some(start) => start.of_url()?,
                None => peg,
            },
        })
    }
}

/// Checks the operands in the incumbent's order.
fn request(targets: &[TypedTarget]) -> Result<Request> {
    let (from, to) = match targets {
        [] => return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS)),
        [from] => (from, None),
        [from, to] => (from, Some(to)),
        _ => return Err(Error::bare(Code::CL_ARG_PARSING_ERROR)),
    };
    let from = from.parse()?;
    let to = to.map(export_target).transpose()?;
    let url = from.url()?.clone();
    Ok(Request {
        target: match to {
            Some(to) => to,
            None => base::disk_path::of_text(&url.basename())?,
        },
        url,
        peg: from.peg,
    })
}

/// Returns the path of the second operand.
fn export_target(to: &TypedTarget) -> Result<PathBuf> {
    let to = to.without_peg()?;
    if to.is_url() {
        let message = format!("'{}' is not a local path", to.as_str());
        return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    }
    Ok(local_path::of_text(to.as_str()))
}

/// Returns how many sessions share an export at most. A tunnel may ask for a password each time, so there is one. Over HTTP each session has a
/// second connection for texts, and `connections` is the most that the user allows.
fn sessions(url: &Url, cores: usize, connections: usize) -> usize {
    let most = (cores / 2).clamp(1, MOST_SESSIONS);
    match url.scheme() {
        "file" => cores.min(8),
        scheme if scheme.contains('+') => 1,
        "svn" => most,
        _ => most.min(connections / 2).max(1),
    }
}

/// Returns whether this process has used less than half of the cores in the time since it began. If it has used more, a server on the same
/// machine has none left, and if the server is elsewhere, this machine is what is slow: another session would only add reports.
fn has_time(since: Duration, cores: usize) -> bool {
    let used = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    let used = Duration::try_from(used).unwrap_or_default();
    used.as_secs_f64() < since.as_secs_f64() * cores as f64 / 2.0
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// The most connections to a server. Each part of a tree costs the server a report more, and each session has two threads here: on two cores
/// a second one makes exports slower, but for the largest trees.
const MOST_SESSIONS: usize = 4;

/// The most threads that write what a session receives: by then they wait for the session.
const MOST_WRITERS: usize = 4;

/// For how long an export over svn:// uses one connection. Subversion's `svnserve -T` makes each further one wait for half a second, and
/// the export ends only when the last one was opened.
const ALONE: Duration = Duration::from_secs(2);

/// The same for HTTP, where servers have a thread for each of a few connections. A smaller tree is exported before another session helps.
const ALONE_HTTP: Duration = Duration::from_secs(1);

/// Returns a name of the repository as a name of the file system, whose character set is that of the locale.
fn file_name(charset: Charset, name: &str, directory: &Path) -> Result<OsString> {
    if let Some(name) = charset.encode(name) {
        return Ok(OsString::from_vec(name.into_owned()));
    }
    let path = match directory.as_os_str().is_empty() {
        true => name.to_owned(),
        false => format!("{}/{name}", local_path::shown(directory)),
    };
    charset.write(&path).map(|_| name.into())
}

fn print(event: &ExportEvent<'_>, here: &Path, out: &mut Out) -> Result<()> {
    match event {
        ExportEvent::Added(path) => out.line(&format!("A    {}", local_path::shown_from(here, path))),
        ExportEvent::External(path) => {
            let path = local_path::shown_from(here, path);
            out.line(&format!("\nFetching external item into '{path}':"))
        }
        ExportEvent::ExternalFailed(_) => Ok(()),
        ExportEvent::Completed { rev, is_external } => out.line(&match (rev, is_external) {
            (None, false) => "Export complete.".to_owned(),
            (None, true) => "External export complete.".to_owned(),
            (Some(rev), false) => format!("Exported revision {rev}."),
            (Some(rev), true) => format!("Exported external at revision {rev}."),
        }),
        ExportEvent::ExternalEnd => out.line(""),
    }
}

fn parse_line_end(name: &str) -> Result<LineEnd> {
    LineEnd::parse(name.as_bytes()).ok_or_else(|| {
        let message = format!("Syntax error in native-eol argument '{name}'");
        Error::new(Code::CL_ARG_PARSING_ERROR, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_as_many_as_the_server_and_the_user_allow() {
        let sessions = |url: &str, cores, connections| {
            sessions(
                &Url::canonicalize(url).expect("because it is a URL"),
                cores,
                connections,
            )
        };
        for (connections, most) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (8, 4)] {
            assert_eq!(sessions("https://h/r", 64, connections), most);
        }
        assert_eq!(sessions("svn://h/r", 2, 4), 1);
        assert_eq!(sessions("http://h/r", 2, 4), 1);
        assert_eq!(sessions("svn://h/r", 64, 4), MOST_SESSIONS);
        assert_eq!(sessions("svn+ssh://h/r", 64, 4), 1);
        assert_eq!(sessions("file:///r", 3, 4), 3);
    }
}
