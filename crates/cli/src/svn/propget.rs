//! `svn propget`: prints a property.

use base::{Code, Depth, Error, Result};
use client::props;

use super::options::TargetsOption;
use super::props::{ReadPropsOptions, print_indented, print_value, xml_element};
use super::target_list;
use crate::args::revision::Revision;
use crate::client_context::ClientContext;
use crate::client_context::target::{Target, TypedTarget};
use crate::out::Out;
use crate::xml;

/// Prints a property of files, directories and revisions.
///
/// 1. Prints a property of files and directories of a repository. With several targets, and with a depth, the URL is printed before
///    the value.
///
/// 2. Prints a property of a revision.
#[derive(clap::Args)]
#[command(
    visible_aliases = ["pget", "pg"],
    override_usage = "1. propget PROPNAME [TARGET[@REV]...]\n2. propget PROPNAME --revprop -r REV [TARGET]"
)]
pub struct PropgetArgs {
    /// the older form of '--no-newline'
    #[arg(long)]
    strict: bool,
    /// print no line feed after the value
    #[arg(long)]
    no_newline: bool,
    #[command(flatten)]
    options: ReadPropsOptions,
}

impl PropgetArgs {
    /// Runs the subcommand.
    pub fn run(mut self, out: &mut Out) -> Result<()> {
        let access = std::mem::take(&mut self.options.access);
        self.no_newline |= self.strict;
        ClientContext::run(access, out, |context, out| self.propget(context, out))
    }

    fn propget(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        if self.options.verbose && (self.options.revprop || self.no_newline || self.options.xml) {
            let message = "--verbose cannot be used with --revprop or --no-newline or --xml";
            return Err(Error::new(Code::CL_MUTUALLY_EXCLUSIVE_ARGS, message));
        }
        let Some((name, operands)) = self.options.operands.split_first() else {
            return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
        };
        let name = super::property_name(name, out)?;
        let targets = target_list::read(context, out, operands, &TargetsOption::default())?;
        if self.options.revprop {
            return self.of_revision(context, &name, &targets, out);
        }
        let depth = self.options.depth();
        if self.options.xml {
            out.print(&format!("{}<properties>\n", xml::DECLARATION))?;
        }
        let names_targets = self.options.show_inherited_props || depth > Depth::Empty || targets.len() > 1;
        if names_targets && self.no_newline {
            let message =
                "--no-newline is only available for single-target, non-recursive propget operations";
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        }
        let printer = Printer {
            args: self,
            name: &name,
            names_targets,
        };
        let mut is_missing = false;
        for target in &targets {
            let found = printer.target(context, &target.parse()?, depth, out)?;
            if !found && depth == Depth::Empty && !self.options.show_inherited_props {
                let message = format!("Property '{name}' not found on '{}'", target.as_str());
                out.warning(&Error::new(Code::PROPERTY_NOT_FOUND, message))?;
                is_missing = true;
            }
        }
        if self.options.xml {
            out.print("</properties>\n")?;
        }
        if is_missing {
            let message = "A problem occurred; see other errors for details";
            return Err(Error::new(Code::BASE, message));
        }
        Ok(())
    }

    fn of_revision(
        &self,
        context: &ClientContext,
        name: &str,
        targets: &[TypedTarget],
        out: &mut Out,
    ) -> Result<()> {
        let (mut session, rev) = self.options.open_revision(context, targets)?;
        let Some(value) = session.revprop(rev, name)? else {
            let asked = match self.options.revision.start() {
                Some(Revision::Date(date)) => date.to_string(),
                Some(Revision::Head) => "head".to_owned(),
                _ => rev.to_string(),
            };
            let message = format!("Property '{name}' not found on revision {asked}");
            return Err(Error::new(Code::PROPERTY_NOT_FOUND, message));
        };
        if self.options.xml {
            let head = xml::tag("revprops", &[("rev", &rev.to_string())], ">\n");
            let value = xml_element("property", name, Some(&value));
            let declaration = xml::DECLARATION;
            return out.xml(&format!(
                "{declaration}<properties>\n{head}{value}</revprops>\n</properties>\n"
            ));
        }
        print_value(name, &value, out)?;
        if !self.no_newline {
            out.raw(b"\n")?;
        }
        Ok(())
    }
}

/// Prints values.
struct Printer<'a> {
    args: &'a PropgetArgs,
    name: &'a str,
    /// Whether the URL is printed before the value.
    names_targets: bool,
}

impl Printer<'_> {
    /// Prints what is found at a target. Returns false if nothing is.
    fn target(&self, context: &ClientContext, target: &Target, depth: Depth, out: &mut Out) -> Result<bool> {
        let mut node = self.args.options.open_node(context, target)?;
        let (top, rev) = (node.session.url().clone(), node.rev);
        let missing = format!("'{top}' does not exist in revision {rev}");
        let kind = props::kind(&mut *node.session, rev, Code::ENTRY_NOT_FOUND, &missing)?;
        let mut is_found = false;
        self.args.options.inherited(&mut node, |ancestor, props| {
            let Some(value) = props.get(self.name) else {
                return Ok(());
            };
            let heading = format!("Inherited properties on '{top}',\nfrom '{ancestor}':");
            self.value(ancestor.as_str(), &heading, "inherited_property", value, out)
        })?;
        props::read(&mut *node.session, rev, kind, depth, &mut |node| {
            let Some(value) = node.props.get(self.name) else {
                return Ok(());
            };
            is_found = true;
            let heading = format!("Properties on '{}':", node.url);
            self.value(node.url.as_str(), &heading, "property", value, out)
        })?;
        Ok(is_found)
    }

    fn value(&self, url: &str, heading: &str, element: &str, value: &[u8], out: &mut Out) -> Result<()> {
        if self.args.options.xml {
            let head = xml::tag("target", &[("path", url)], ">\n");
            let value = xml_element(element, self.name, Some(value));
            return out.xml(&format!("{head}{value}</target>\n"));
        }
        if self.args.options.verbose {
            out.line(heading)?;
            return print_indented(self.name, value, true, out);
        }
        if self.names_targets {
            // Errors name the stream, as for the value.
            out.raw(&out.charset().show(&format!("{url} - ")))?;
        }
        print_value(self.name, value, out)?;
        if !self.args.no_newline {
            out.raw(b"\n")?;
        }
        Ok(())
    }
}
