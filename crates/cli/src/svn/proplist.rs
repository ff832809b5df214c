//! `svn proplist`: lists properties.

use std::ffi::OsString;

use base::{Code, Depth, Error, Props, Result, Url};
use client::props;

use super::options::{ChangelistOption, RecursiveOption, RevisionOption, TargetsOption};
use super::props::{print_indented, xml_element};
use super::{revprops, target_list};
use crate::client_context::target::{Target, TypedTarget};
use crate::client_context::{AccessOptions, ClientContext, OpenNode};
use crate::out::Out;
use crate::xml;

/// Lists the properties of files, directories and revisions.
///
/// 1. Lists the properties of files and directories of a repository.
///
/// 2. Lists the properties of a revision.
#[derive(clap::Args)]
#[command(
    visible_aliases = ["plist", "pl"],
    override_usage = "1. proplist [TARGET[@REV]...]\n2. proplist --revprop -r REV [TARGET]"
)]
pub struct ProplistArgs {
    /// print values too
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    depth: RecursiveOption,
    #[command(flatten)]
    revision: RevisionOption,
    /// print no headings
    #[arg(short, long)]
    quiet: bool,
    /// list properties of the revision that '-r' names
    #[arg(long)]
    revprop: bool,
    /// print XML
    #[arg(long)]
    xml: bool,
    #[command(flatten)]
    changelist: ChangelistOption,
    /// list the properties of the directories above a target too
    #[arg(long)]
    show_inherited_props: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl ProplistArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.access);
        ClientContext::run(access, out, |context, out| self.proplist(context, out))
    }

    fn proplist(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let targets = target_list::read(context, out, &self.operands, &TargetsOption::default())?;
        if self.revprop {
            return self.of_revision(context, &targets, out);
        }
        if self.xml {
            out.print(&format!("{}<properties>\n", xml::DECLARATION))?;
        }
        for target in &targets {
            self.target(context, &target.parse()?, out)?;
        }
        if self.xml {
            out.print("</properties>\n")?;
        }
        Ok(())
    }

    fn of_revision(&self, context: &ClientContext, targets: &[TypedTarget], out: &mut Out) -> Result<()> {
        if self.show_inherited_props {
            let message = "--show-inherited-props can't be used with --revprop";
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        }
        let (mut session, rev) = revprops::open(context, targets, &self.revision)?;
        let props = session.revprops(rev)?;
        if self.xml {
            let head = xml::tag("revprops", &[("rev", &rev.to_string())], ">\n");
            out.print(&format!("{}<properties>\n{head}", xml::DECLARATION))?;
        } else {
            out.line(&format!("Unversioned properties on revision {rev}:"))?;
        }
        for (name, value) in &props {
            self.property("property", name, value, out)?;
        }
        if self.xml {
            out.print("</revprops>\n</properties>\n")?;
        }
        Ok(())
    }

    fn target(&self, context: &ClientContext, target: &Target, out: &mut Out) -> Result<()> {
        let url = target.url()?;
        let (peg, operative) = target_list::revisions_of_props(target, self.revision.range())?;
        let OpenNode { mut session, rev } = context.open_node(url, peg, operative)?;
        let top = session.url().clone();
        let missing = format!("Unknown node kind for '{top}'");
        let kind = props::kind(&mut *session, rev, Code::NODE_UNKNOWN_KIND, &missing)?;
        if self.show_inherited_props {
            for (ancestor, props) in props::inherited(&mut *session, rev)? {
                self.inherited(&top, &ancestor, &props, out)?;
            }
        }
        let depth = self.depth.depth().unwrap_or(Depth::Empty);
        props::read(&mut *session, rev, kind, depth, &mut |node| {
            let is_listed = self.xml && self.show_inherited_props && *node.url == top;
            if node.regular().next().is_none() && !is_listed {
                return Ok(());
            }
            if self.xml {
                out.print(&xml::tag("target", &[("path", node.url.as_str())], ">\n"))?;
            } else if !self.quiet {
                out.line(&format!("Properties on '{}':", node.url))?;
            }
            for (name, value) in node.regular() {
                self.property("property", name, value, out)?;
            }
            if self.xml {
                out.print("</target>\n")?;
            }
            Ok(())
        })
    }

    fn inherited(&self, url: &Url, ancestor: &Url, props: &Props, out: &mut Out) -> Result<()> {
        if self.xml {
            out.print(&xml::tag("target", &[("path", ancestor.as_str())], ">\n"))?;
        } else if !self.quiet {
            out.line(&format!("Inherited properties on '{url}',\nfrom '{ancestor}':"))?;
        }
        for (name, value) in props::regular(props) {
            self.property("inherited_property", name, value, out)?;
        }
        if self.xml {
            out.print("</target>\n")?;
        }
        Ok(())
    }

    fn property(&self, element: &str, name: &str, value: &[u8], out: &mut Out) -> Result<()> {
        if self.xml {
            return out.print(&xml_element(element, name, Some(value).filter(|_| self.verbose)));
        }
        print_indented(name, value, self.verbose, out)
    }
}
