//! `svn import`: commits a tree of the local file system.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use base::{Code, Depth, Error, Result, Url};
use client::import::{AutoProps, ImportEvent, ImportOptions, MimeTypes, import};

use super::commit_output::{print_committed, print_finalizing};
use super::options::{NonRecursiveOption, TargetsOption};
use crate::client_context::log_message::{LogMessage, LogMessageOptions, revprops_with};
use crate::client_context::target::{self, TypedTarget};
use crate::client_context::{AccessOptions, ClientContext};
use crate::local_path;
use crate::out::Out;

/// Commits a copy of PATH to URL. PATH is the current directory if it is left out. What is in the directory PATH comes into the
/// directory URL, which is made if it does not exist, with those above it.
#[derive(clap::Args)]
#[command(override_usage = "import [PATH] URL")]
pub struct ImportArgs {
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    depth: NonRecursiveOption,
    /// set the properties that the section 'auto-props' of the configuration has for new files
    #[arg(long)]
    auto_props: bool,
    /// set no such properties, not even those of 'svn:auto-props'
    #[arg(long)]
    no_auto_props: bool,
    /// leave out nodes that are neither files, directories nor symbolic links
    #[arg(long)]
    force: bool,
    /// import files that would be ignored
    #[arg(long)]
    no_ignore: bool,
    #[command(flatten)]
    log: LogMessageOptions,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

/// What to import, and to where.
struct Request {
    path: PathBuf,
    url: Url,
}

impl ImportArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        if self.auto_props && self.no_auto_props {
            let message = "--auto-props and --no-auto-props are mutually exclusive";
            return Err(Error::new(Code::CL_MUTUALLY_EXCLUSIVE_ARGS, message));
        }
        let mut message = LogMessage::new(&self.log, &self.access, out)?;
        ClientContext::run(self.access.clone(), out, |context, out| {
            let targets = target::read_targets(context, out, &self.operands, &TargetsOption::default())?;
            let request = request(&targets)?;
            let outcome = self.import(context, &request, &mut message, out);
            message.finish(outcome)
        })
    }

    fn import(
        &self,
        context: &ClientContext,
        request: &Request,
        message: &mut LogMessage,
        out: &mut Out,
    ) -> Result<()> {
        let config = context.config();
        let mime_types = match config.mime_types_file()? {
            Some(path) => mime_types(&path)?,
            None => MimeTypes::default(),
        };
        let ignores = match self.no_ignore {
            true => None,
            false => Some(config.global_ignores()?),
        };
        let mut auto_props = AutoProps::default();
        // An option replaces that of the configuration, which is not read then.
        let wants_auto_props = match (self.auto_props, self.no_auto_props) {
            (_, true) => false,
            (true, false) => true,
            (false, false) => config.enable_auto_props()?,
        };
        if wants_auto_props {
            for (pattern, props) in config.auto_props()? {
                auto_props.add(&pattern, &props);
            }
        }
        let here = std::env::current_dir().unwrap_or_default();
        let mut path = request.path.clone();
        if path.components().any(|part| part == Component::ParentDir) {
            path = local_path::without_parents(here.join(path));
        }
        let options = ImportOptions {
            depth: self.depth.depth().unwrap_or(Depth::Infinity),
            force: self.force,
            ignores: ignores.as_deref(),
            auto_props: &auto_props,
            repository_auto_props: !self.no_auto_props,
            mime_types: &mime_types,
            current_dir: &here,
            revprops: &|text| revprops_with(&self.log.with_revprop, text),
            cancel: context.cancel(),
        };
        let open = |url: &Url| context.open_without_redirects(url);
        let quiet = self.quiet;
        message.use_context(context)?;
        let mut describe = |items: &[client::commit_item::CommitItem]| message.message(items);
        import(
            &path,
            &request.url,
            &options,
            &open,
            &mut describe,
            &mut |event| match event {
                _ if quiet => Ok(()),
                event => print(&event, &here, out),
            },
        )
    }
}

/// Checks the operands in the incumbent's order. They have no peg revisions: an `@` is a part of the name.
fn request(targets: &[TypedTarget]) -> Result<Request> {
    let wrong = |message: String| Error::new(Code::CL_ARG_PARSING_ERROR, message);
    let (path, url) = match targets {
        [] => {
            let message = "Repository URL required when importing";
            return Err(Error::new(Code::CL_INSUFFICIENT_ARGS, message));
        }
        [url] => (&TypedTarget::current_directory(), url),
        [path, url] => (path, url),
        _ => return Err(wrong("Too many arguments to import command".to_owned())),
    };
    if path.is_url() {
        return Err(wrong(format!("'{}' is not a local path", path.as_str())));
    }
    if !url.is_url() {
        return Err(wrong(format!("Invalid URL '{}'", url.as_str())));
    }
    Ok(Request {
        path: local_path::of_text(path.as_str()),
        url: url.url()?,
    })
}

fn mime_types(path: &str) -> Result<MimeTypes> {
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|error| Error::io("Can't open file", Path::new(path), &error))?;
    Ok(MimeTypes::parse(&text))
}

fn print(event: &ImportEvent<'_>, here: &Path, out: &mut Out) -> Result<()> {
    let shown = |path: &Path| local_path::shown_from(here, &here.join(path));
    match event {
        ImportEvent::Adding { path, is_binary } => {
            let kind = if *is_binary { " (bin)" } else { "" };
            out.progress_line(&format!("Adding {kind:6}  {}", shown(path)));
        }
        ImportEvent::Skipped(path) => out.progress_line(&format!("Skipped '{}'", shown(path))),
        ImportEvent::Finalizing => print_finalizing(out),
        ImportEvent::Committed(info) => return print_committed(out, info),
    }
    Ok(())
}
