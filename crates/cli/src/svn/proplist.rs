//! `svn proplist`: lists properties.

use base::{Code, Props, Result, Url};
use client::props;

use super::options::TargetsOption;
use super::props::{ReadPropsOptions, print_indented, xml_element};
use super::target_list;
use crate::client_context::ClientContext;
use crate::client_context::target::{Target, TypedTarget};
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
    /// print no headings
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    options: ReadPropsOptions,
}

impl ProplistArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.options.access);
        ClientContext::run(access, out, |context, out| self.proplist(context, out))
    }

    fn proplist(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let targets = target_list::read(context, out, &self.options.operands, &TargetsOption::default())?;
        if self.options.revprop {
            return self.of_revision(context, &targets, out);
        }
        if self.options.xml {
            out.print(&format!("{}<properties>\n", xml::DECLARATION))?;
        }
        for target in &targets {
            self.target(context, &target.parse()?, out)?;
        }
        if self.options.xml {
            out.print("</properties>\n")?;
        }
        Ok(())
    }

    fn of_revision(&self, context: &ClientContext, targets: &[TypedTarget], out: &mut Out) -> Result<()> {
        let (mut session, rev) = self.options.open_revision(context, targets)?;
        let props = session.revprops(rev)?;
        if self.options.xml {
            let head = xml::tag("revprops", &[("rev", &rev.to_string())], ">\n");
            out.print(&format!("{}<properties>\n{head}", xml::DECLARATION))?;
        } else {
            out.line(&format!("Unversioned properties on revision {rev}:"))?;
        }
        for (name, value) in &props {
            match self.options.xml {
                // In the character set of the terminal, unlike other XML.
                true => out.print(&self.xml_property("property", name, value))?,
                false => print_indented(name, value, self.options.verbose, out)?,
            }
        }
        if self.options.xml {
            out.print("</revprops>\n</properties>\n")?;
        }
        Ok(())
    }

    fn target(&self, context: &ClientContext, target: &Target, out: &mut Out) -> Result<()> {
        let mut node = self.options.open_node(context, target)?;
        let (top, rev) = (node.session.url().clone(), node.rev);
        let missing = format!("Unknown node kind for '{top}'");
        let kind = props::kind(&mut *node.session, rev, Code::NODE_UNKNOWN_KIND, &missing)?;
        self.options.inherited(&mut node, |ancestor, props| {
            self.inherited(&top, ancestor, props, out)
        })?;
        let depth = self.options.depth();
        props::read(&mut *node.session, rev, kind, depth, &mut |node| {
            let is_listed = self.options.xml && self.options.show_inherited_props && *node.url == top;
            if node.regular().next().is_none() && !is_listed {
                return Ok(());
            }
            if self.options.xml {
                out.xml(&xml::tag("target", &[("path", node.url.as_str())], ">\n"))?;
            } else if !self.quiet {
                out.line(&format!("Properties on '{}':", node.url))?;
            }
            for (name, value) in node.regular() {
                self.property("property", name, value, out)?;
            }
            if self.options.xml {
                out.print("</target>\n")?;
            }
            Ok(())
        })
    }

    fn inherited(&self, url: &Url, ancestor: &Url, props: &Props, out: &mut Out) -> Result<()> {
        if self.options.xml {
            out.xml(&xml::tag("target", &[("path", ancestor.as_str())], ">\n"))?;
        } else if !self.quiet {
            out.line(&format!("Inherited properties on '{url}',\nfrom '{ancestor}':"))?;
        }
        for (name, value) in props::regular(props) {
            self.property("inherited_property", name, value, out)?;
        }
        if self.options.xml {
            out.print("</target>\n")?;
        }
        Ok(())
    }

    fn property(&self, element: &str, name: &str, value: &[u8], out: &mut Out) -> Result<()> {
        match self.options.xml {
            true => out.xml(&self.xml_property(element, name, value)),
            false => print_indented(name, value, self.options.verbose, out),
        }
    }

    fn xml_property(&self, element: &str, name: &str, value: &[u8]) -> String {
        xml_element(element, name, Some(value).filter(|_| self.options.verbose))
    }
}
