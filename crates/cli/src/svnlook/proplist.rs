//! `svnlook proplist`: prints the properties of a path or of a revision.

use std::ffi::OsString;

use base::Result;
use fsfs::Root;

use super::lookup::{self, RootOption};
use super::propget::refuse_inherited_revprops;
use super::props;
use crate::args::operand;
use crate::out::Out;
use crate::xml;

/// Prints the names of the properties of a path, or with '--revprop' of a
/// revision or transaction.
#[derive(clap::Args)]
#[command(
    visible_aliases = ["plist", "pl"],
    override_usage = "1. proplist REPOS_PATH PATH_IN_REPOS\n2. proplist --revprop REPOS_PATH"
)]
pub struct PropListArgs {
    #[command(flatten)]
    target: RootOption,
    /// print the values, too
    #[arg(short = 'v', long)]
    verbose: bool,
    /// print the properties of the revision or the transaction
    #[arg(long)]
    revprop: bool,
    /// print XML
    #[arg(long)]
    xml: bool,
    /// print what the path inherits, too
    #[arg(long)]
    show_inherited_props: bool,
    operands: Vec<OsString>,
}

impl PropListArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        refuse_inherited_revprops(self.revprop, self.show_inherited_props)?;
        let most = if self.revprop { 1 } else { 2 };
        operand::at_most(&self.operands, most, out.program(), "Too many arguments given")?;
        operand::at_least(&self.operands, most, out.program(), lookup::NO_PATH)?;
        if self.xml {
            out.set_xml();
        }
        let repository = lookup::open(out, &self.operands, most)?;
        let root = self.target.root(&repository)?;
        match self.revprop {
            true => self.of_revision(out, &root),
            false => self.of_path(out, &root),
        }
    }

    fn of_revision(&self, out: &mut Out, root: &Root) -> Result<()> {
        let list: props::PropertyList = lookup::revision_props(root)?.into_iter().collect();
        if !self.xml {
            return props::print(out, &list, self.verbose);
        }
        let (attribute, value) = match (root.revision(), root.txn_name()) {
            (Some(rev), _) => ("rev", rev.to_string()),
            (None, txn) => ("txn", txn.unwrap_or_default().to_owned()),
        };
        let mut text = format!("{}<properties>\n", xml::DECLARATION);
        text.push_str(&xml::tag("revprops", &[(attribute, &value)], ">\n"));
        text.push_str(&props::elements("property", &list, self.verbose));
        text.push_str("</revprops>\n</properties>\n");
        out.raw(text.as_bytes())
    }

    fn of_path(&self, out: &mut Out, root: &Root) -> Result<()> {
        let node = lookup::existing_node(root, &self.operands[1])?;
        let path = node.path();
        let own = props::of_node(&node, None)?;
        let inherited = match self.show_inherited_props {
            true => props::inherited(root, path, None)?,
            false => Vec::new(),
        };
        if !self.xml {
            for (from, list) in &inherited {
                out.print(&format!("Inherited properties on '{path}',\nfrom '{from}':\n"))?;
                props::print(out, list, self.verbose)?;
            }
            out.line(&format!("Properties on '{path}':"))?;
            return props::print(out, &own, self.verbose);
        }
        let mut text = format!("{}<properties>\n", xml::DECLARATION);
        let above = inherited
            .iter()
            .map(|(from, list)| (from, "inherited_property", list));
        for (path, element, list) in above.chain([(path, "property", &own)]) {
            text.push_str(&xml::tag("target", &[("path", path.as_str())], ">\n"));
            text.push_str(&props::elements(element, list, self.verbose));
            text.push_str("</target>\n");
        }
        text.push_str("</properties>\n");
        out.raw(text.as_bytes())
    }
}
