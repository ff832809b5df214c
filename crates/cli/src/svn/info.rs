//! `svn info`: describes nodes of a repository.

mod items;

use std::ffi::OsString;

use base::{Code, Depth, Error, Lock, NodeKind, Result};
use client::info::{self, Locks, NodeInfo};

use self::items::Item;
use super::options::{ChangelistOption, RecursiveOption, RevisionOption, TargetsOption, XmlOptions};
use super::{entry_xml, human_size, target_list};
use crate::args::revision::Revision;
use crate::client_context::target::Target;
use crate::client_context::{AccessOptions, ClientContext, OpenNode};
use crate::out::Out;
use crate::{date_text, xml};

/// Prints what is known of files and directories of a repository.
///
/// With '--show-item', one value is printed instead of all. The items are: kind, url, relative-url, repos-root-url, repos-uuid,
/// repos-size, revision, last-changed-revision, last-changed-date, last-changed-author. Others are empty without a working copy.
#[derive(clap::Args)]
#[command(override_usage = "info [TARGET[@REV]...]")]
pub struct InfoArgs {
    #[command(flatten)]
    revision: RevisionOption,
    #[command(flatten)]
    depth: RecursiveOption,
    /// print sizes with units
    #[arg(short = 'H', long)]
    human_readable: bool,
    #[command(flatten)]
    targets: TargetsOption,
    #[command(flatten)]
    xml: XmlOptions,
    #[command(flatten)]
    changelist: ChangelistOption,
    /// describe the nodes of 'svn:externals' in a working copy too
    #[arg(long)]
    include_externals: bool,
    /// print the item ARG alone
    #[arg(long)]
    show_item: Option<String>,
    /// print no line feed after the item
    #[arg(long)]
    no_newline: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

/// How nodes are printed.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Xml,
    /// One item; `is_alone` without the URL.
    Item {
        item: Item,
        is_alone: bool,
    },
}

impl InfoArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.access);
        ClientContext::run(access, out, |context, out| self.info(context, out))
    }

    fn info(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let targets = target_list::read(context, out, &self.operands, &self.targets)?;
        let depth = self.depth.depth().unwrap_or(Depth::Empty);
        let form = self.form(targets.len() > 1 || depth > Depth::Empty)?;
        let is_whole = self.xml.xml && !self.xml.incremental;
        if is_whole {
            out.print(&format!("{}<info>\n", xml::DECLARATION))?;
        }
        let mut failed = false;
        for target in &targets {
            match self.target(context, &target.parse()?, depth, form, out) {
                Ok(()) => {}
                Err(error) if [Code::RA_ILLEGAL_URL, Code::WC_PATH_NOT_FOUND].contains(&error.code()) => {
                    out.warning(&error)?;
                    out.print_stderr("\n");
                    failed = true;
                }
                Err(error) => return Err(error),
            }
        }
        if is_whole {
            out.print("</info>\n")?;
        }
        if failed {
            let message = "Could not display info for all targets because some targets don't exist";
            return Err(Error::new(Code::ILLEGAL_TARGET, message));
        }
        Ok(())
    }

    /// Returns how nodes are printed. `has_several` says whether there may be more than one.
    fn form(&self, has_several: bool) -> Result<Form> {
        let refuse = |message: &str| Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        if self.xml.xml {
            if self.show_item.is_some() {
                return refuse("--show-item is not valid in --xml mode");
            }
            if self.no_newline {
                return refuse("--no-newline is not valid in --xml mode");
            }
            if self.human_readable {
                return refuse("--human-readable is not valid in --xml mode");
            }
            return Ok(Form::Xml);
        }
        if self.xml.incremental {
            return refuse("--incremental is only valid in --xml mode");
        }
        let Some(word) = &self.show_item else {
            if self.no_newline {
                return refuse("--no-newline' is only valid with --show-item");
            }
            return Ok(Form::Text);
        };
        if self.no_newline && has_several {
            return refuse("--no-newline is only available for single-target, non-recursive info operations");
        }
        Ok(Form::Item {
            item: Item::parse(word)?,
            is_alone: !has_several,
        })
    }

    fn target(
        &self,
        context: &ClientContext,
        target: &Target,
        depth: Depth,
        form: Form,
        out: &mut Out,
    ) -> Result<()> {
        let url = target.url()?;
        let (peg, operative) = target_list::revisions(target, self.revision.range())?;
        let OpenNode { mut session, rev } = context.open_node(url, peg, operative)?;
        let locks = match target.peg {
            None | Some(Revision::Head) => Locks::All,
            Some(_) => Locks::OfFile,
        };
        info::info(&mut *session, rev, depth, locks, &mut |node| match form {
            Form::Text => out.print(&self.text(node)),
            Form::Xml => out.xml(&xml_entry(node)),
            Form::Item { item, is_alone } => self.item(node, item, is_alone, out),
        })
    }

    fn item(&self, node: &NodeInfo<'_>, item: Item, is_alone: bool, out: &mut Out) -> Result<()> {
        let Some(value) = item.value(node, self.human_readable) else {
            return Ok(());
        };
        let end = if self.no_newline { "" } else { "\n" };
        if is_alone {
            return out.print(&format!("{value}{end}"));
        }
        out.print(&format!("{value:<10} {}{end}", node.url))
    }

    fn text(&self, node: &NodeInfo<'_>) -> String {
        let is_file = node.dirent.kind == NodeKind::File;
        let mut lines = vec![format!("Path: {}", shown_path(node))];
        if is_file {
            lines.push(format!("Name: {}", node.url.basename()));
        }
        lines.extend([
            format!("URL: {}", node.url),
            format!("Relative URL: {}", items::relative_url(node)),
            format!("Repository Root: {}", node.root_url),
            format!("Repository UUID: {}", node.uuid),
            format!("Revision: {}", node.rev),
            format!("Node Kind: {}", if is_file { "file" } else { "directory" }),
        ]);
        if let Some(size) = node.dirent.size.filter(|_| is_file) {
            let size = match self.human_readable {
                true => human_size::with_long_unit(size),
                false => size.to_string(),
            };
            lines.push(format!("Size in Repository: {size}"));
        }
        if let Some(author) = &node.dirent.author {
            lines.push(format!("Last Changed Author: {author}"));
        }
        lines.push(format!("Last Changed Rev: {}", node.dirent.created_rev));
        if let Some(date) = node.dirent.date {
            lines.push(format!("Last Changed Date: {}", date_text::human(date)));
        }
        if let Some(lock) = node.lock {
            lines.extend(lock_lines(lock));
        }
        lines.push("\n".to_owned());
        lines.join("\n")
    }
}

/// Returns the path of a node as it is printed: relative to the target, or the last component of the target's URL.
fn shown_path(node: &NodeInfo<'_>) -> String {
    if node.path.is_empty() {
        return node.url.basename();
    }
    node.path.as_str().to_owned()
}

fn lock_lines(lock: &Lock) -> Vec<String> {
    let mut lines = vec![
        format!("Lock Token: {}", lock.token),
        format!("Lock Owner: {}", lock.owner),
        format!("Lock Created: {}", date_text::human(lock.created)),
    ];
    if let Some(expires) = lock.expires {
        lines.push(format!("Lock Expires: {}", date_text::human(expires)));
    }
    if let Some(comment) = &lock.comment {
        let count = comment.matches('\n').count() + 1;
        let ending = if count == 1 { "" } else { "s" };
        lines.push(format!("Lock Comment ({count} line{ending}):\n{comment}"));
    }
    lines
}

fn xml_entry(node: &NodeInfo<'_>) -> String {
    let (path, rev) = (shown_path(node), node.rev.to_string());
    let size = node.dirent.size.filter(|_| node.dirent.kind == NodeKind::File);
    let size = size.map(|size| size.to_string());
    let kind = node.dirent.kind.word();
    let mut attributes = vec![
        ("kind", kind),
        ("path", path.as_str()),
        ("revision", rev.as_str()),
    ];
    if let Some(size) = &size {
        attributes.push(("size", size));
    }
    let mut text = xml::tag("entry", &attributes, ">\n");
    text.push_str(&entry_xml::element("url", node.url.as_str()));
    text.push_str(&entry_xml::element("relative-url", &items::relative_url(node)));
    text.push_str("<repository>\n");
    text.push_str(&entry_xml::element("root", node.root_url.as_str()));
    text.push_str(&entry_xml::element("uuid", node.uuid));
    text.push_str("</repository>\n");
    let date = node.dirent.date.unwrap_or(base::Date(0));
    let author = node.dirent.author.as_deref();
    text.push_str(&entry_xml::commit(node.dirent.created_rev, author, Some(date)));
    if let Some(lock) = node.lock {
        text.push_str(&entry_xml::lock(lock));
    }
    text.push_str("</entry>\n");
    text
}
