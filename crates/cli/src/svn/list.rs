//! `svn list`: lists directories.

use std::ffi::OsString;

use base::{Code, Date, Depth, Error, NodeKind, Result};
use client::list::{self, ListEvent, ListOptions, ListedExternal, ListedNode};
use jiff::Timestamp;
use ra::DirentFields;

use super::entry_xml;
use super::human_size;
use super::options::{RecursiveOption, RevisionOption, TargetsOption, XmlOptions};
use super::target_list;
use crate::args::date;
use crate::client_context::target::Target;
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;
use crate::time_zone;
use crate::xml;

/// Lists files and directories of a repository.
///
/// With '--verbose', a line has the revision and the author of the last change, an 'O' if the file is locked, its size, the date
/// of the last change, and the name.
///
/// With '--search', only what matches one of the patterns is listed.
#[derive(clap::Args)]
#[command(visible_alias = "ls", override_usage = "list [TARGET[@REV]...]")]
pub struct ListArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// print revision, author, lock, size and date too
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    depth: RecursiveOption,
    /// with '--verbose', print sizes with the units B, K, M, G, T and P
    #[arg(short = 'H', long)]
    human_readable: bool,
    #[command(flatten)]
    xml: XmlOptions,
    /// list the trees of 'svn:externals' too
    #[arg(long)]
    include_externals: bool,
    /// list only nodes whose name matches the pattern ARG; case and accents do not matter
    #[arg(long, action = clap::ArgAction::Append)]
    search: Vec<String>,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl ListArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.access);
        ClientContext::run(access, out, |context, out| self.list(context, out))
    }

    fn list(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let targets = target_list::read(context, out, &self.operands, &TargetsOption::default())?;
        if self.xml.xml && self.verbose {
            return refuse("--verbose is not valid in --xml mode");
        }
        if self.xml.xml && self.human_readable {
            return refuse("--human-readable is not valid in --xml mode");
        }
        if self.xml.xml && !self.xml.incremental {
            out.print(&format!("{}<lists>\n", xml::DECLARATION))?;
        }
        if self.xml.incremental && !self.xml.xml {
            return refuse("--incremental is only valid in --xml mode");
        }
        let mut lister = Lister {
            args: self,
            author_width: if self.human_readable { 14 } else { 8 },
            external: None,
            failed_externals: false,
        };
        let mut not_found = false;
        for target in &targets {
            let target = target.parse()?;
            if self.xml.xml {
                let shown = target_list::shown(&target);
                out.xml(&xml::tag("list", &[("path", &shown)], ">\n"))?;
            }
            lister.external = None;
            let outcome = lister.target(context, &target, out);
            match outcome {
                Ok(()) => {}
                Err(error) if [Code::FS_NOT_FOUND, Code::WC_PATH_NOT_FOUND].contains(&error.code()) => {
                    out.warning(&error)?;
                    not_found = true;
                }
                Err(error) => return Err(error),
            }
            if self.xml.xml {
                let end = if lister.external.is_some() {
                    "</external>\n"
                } else {
                    ""
                };
                out.print(&format!("{end}</list>\n"))?;
            }
        }
        if self.xml.xml && !self.xml.incremental {
            out.print("</lists>\n")?;
        }
        outcome(not_found, lister.failed_externals)
    }
}

/// Returns the error at the end for targets and externals that failed.
fn outcome(not_found: bool, failed_externals: bool) -> Result<()> {
    let targets = Error::new(
        Code::ILLEGAL_TARGET,
        "Could not list all targets because some targets don't exist",
    );
    let externals = "Failure occurred processing one or more externals definitions";
    let code = Code::CL_ERROR_PROCESSING_EXTERNALS;
    match (not_found, failed_externals) {
        (false, false) => Ok(()),
        (true, false) => Err(targets),
        (false, true) => Err(Error::new(code, externals)),
        (true, true) => Err(Error::new(code, externals).compose(targets)),
    }
}

fn refuse(message: &str) -> Result<()> {
    Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
}

/// Prints what is listed.
struct Lister<'a> {
    args: &'a ListArgs,
    /// The width of the column of authors, which grows.
    author_width: usize,
    /// The external of the last node: the URL of its directory, and its target.
    external: Option<(String, String)>,
    failed_externals: bool,
}

impl Lister<'_> {
    fn target(&mut self, context: &ClientContext, target: &Target, out: &mut Out) -> Result<()> {
        let url = target.url()?;
        let args = self.args;
        let (peg, operative) = target_list::revisions(target, args.revision.range())?;
        // The columns of `-v`, or the attributes in XML.
        let shows_all = args.verbose || args.xml.xml;
        let options = ListOptions {
            depth: args.depth.depth().unwrap_or(Depth::Immediates),
            patterns: &args.search,
            fields: match shows_all {
                true => DirentFields::SHOWN,
                false => DirentFields::KIND,
            },
            locks: shows_all,
            externals: args.include_externals,
            open: &|url| context.open(url),
            parse_date: &date::parse,
            fold: &repos::list::fold,
        };
        list::list(url, peg, operative, &options, &mut |event| match event {
            ListEvent::Node(node) => self.node(&node, out),
            ListEvent::ExternalFailed(target, error) => {
                self.failed_externals = true;
                if self.args.xml.xml {
                    return Ok(());
                }
                let target = target.as_str();
                let text = format!("Error handling externals definition for '{target}':");
                out.warning(&Error::new(Code::CL_ERROR_PROCESSING_EXTERNALS, text))?;
                out.warning(error)
            }
        })
    }

    fn node(&mut self, node: &ListedNode<'_>, out: &mut Out) -> Result<()> {
        let is_dir = node.dirent.kind == NodeKind::Dir;
        let path = match node.path.is_empty() {
            false => node.path.as_str(),
            true if is_dir && self.args.verbose => ".",
            true if is_dir => return Ok(()),
            true => node.name,
        };
        self.begin_external(node.external.as_ref(), out)?;
        match self.args.xml.xml {
            true => out.xml(&xml_entry(path, node)),
            false => self.line(path, node, out),
        }
    }

    /// Prints the heading of an external if the node is the first one of it.
    fn begin_external(&mut self, external: Option<&ListedExternal<'_>>, out: &mut Out) -> Result<()> {
        let Some(external) = external else {
            return Ok(());
        };
        let (parent, target) = (external.parent.as_str(), external.target.as_str());
        let last = self.external.as_ref();
        if last.is_some_and(|(last, last_target)| last == parent && last_target == target) {
            return Ok(());
        }
        let is_first = self.external.is_none();
        self.external = Some((parent.to_owned(), target.to_owned()));
        if !self.args.xml.xml {
            return out.line(&format!("Listing external '{target}' defined on '{parent}':"));
        }
        if !is_first {
            out.print("</external>\n")?;
        }
        out.xml(&xml::tag(
            "external",
            &[("target", target), ("parent_url", parent)],
            ">\n",
        ))
    }

    fn line(&mut self, path: &str, node: &ListedNode<'_>, out: &mut Out) -> Result<()> {
        let dirent = node.dirent;
        let slash = if dirent.kind == NodeKind::Dir { "/" } else { "" };
        if !self.args.verbose {
            return out.line(&format!("{path}{slash}"));
        }
        let most = if self.args.human_readable { 22 } else { 16 };
        let author = dirent.author.as_deref().unwrap_or(" ? ");
        self.author_width = self.author_width.max(author.len().min(most));
        let size = match dirent.size.filter(|_| dirent.kind == NodeKind::File) {
            Some(size) if self.args.human_readable => human_size::with_unit(size),
            Some(size) => size.to_string(),
            None => String::new(),
        };
        let size_width = if self.args.human_readable { 4 } else { 10 };
        let lock = if node.lock.is_some() { 'O' } else { ' ' };
        let date = last_change(dirent.date.unwrap_or(Date(0)));
        // A character of which only some bytes fit is cut, as the incumbent cuts it.
        let cut = &author.as_bytes()[..author.len().min(self.author_width)];
        let mut line = format!("{:>7} ", dirent.created_rev.0).into_bytes();
        line.extend_from_slice(cut);
        line.resize(8 + self.author_width, b' ');
        let rest = format!(" {lock} {size:>size_width$} {date:>12} {path}{slash}\n");
        line.extend_from_slice(rest.as_bytes());
        out.print_bytes(&line)
    }
}

fn xml_entry(path: &str, node: &ListedNode<'_>) -> String {
    let dirent = node.dirent;
    let mut text = xml::tag("entry", &[("kind", dirent.kind.word())], ">\n");
    text.push_str(&entry_xml::element("name", path));
    if let Some(size) = dirent.size.filter(|_| dirent.kind == NodeKind::File) {
        text.push_str(&entry_xml::element("size", &size.to_string()));
    }
    text.push_str(&entry_xml::commit(
        dirent.created_rev,
        dirent.author.as_deref(),
        dirent.date,
    ));
    if let Some(lock) = node.lock {
        text.push_str(&entry_xml::lock(lock));
    }
    text.push_str("</entry>\n");
    text
}

/// Returns a date with the time of day if it is less than half a year away, else with the year.
fn last_change(date: Date) -> String {
    const HALF_A_YEAR: i64 = 365 * 86400 / 2;
    let (year, time) = date.in_zone(time_zone::local());
    let distance = Timestamp::now().as_microsecond().saturating_sub(date.0) / 1_000_000;
    match distance.abs() < HALF_A_YEAR {
        true => time.strftime("%b %d %H:%M").to_string(),
        false => format!("{}  {year:04}", time.strftime("%b %d")),
    }
}
