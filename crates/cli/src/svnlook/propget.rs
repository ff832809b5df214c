//! `svnlook propget`: prints the value of one property.

use std::ffi::OsString;

use base::{Code, Error, Result};
use fsfs::Root;

use super::lookup::{self, RootOption};
use super::props;
use crate::args::operand;
use crate::out::Out;

/// Prints the value of a property as it is stored.
///
/// With '--revprop' the property is one of the revision (or transaction), not of
/// a path.
#[derive(clap::Args)]
#[command(
    visible_aliases = ["pget", "pg"],
    override_usage = "1. propget REPOS_PATH PROPNAME PATH_IN_REPOS\n2. propget --revprop REPOS_PATH PROPNAME"
)]
pub struct PropGetArgs {
    #[command(flatten)]
    target: RootOption,
    /// print the name, too, and indent the value
    #[arg(short = 'v', long)]
    verbose: bool,
    /// print a property of the revision or the transaction
    #[arg(long)]
    revprop: bool,
    /// print what the path inherits, too
    #[arg(long)]
    show_inherited_props: bool,
    operands: Vec<OsString>,
}

impl PropGetArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        refuse_inherited_revprops(self.revprop, self.show_inherited_props)?;
        let most = if self.revprop { 2 } else { 3 };
        operand::at_most(&self.operands, most, out.program(), "Too many arguments given")?;
        let missing = match (self.revprop, self.operands.len()) {
            (true, _) => "Missing propname argument",
            (false, 1) => "Missing propname and repository path arguments",
            (false, _) => "Missing propname or repository path argument",
        };
        operand::at_least(&self.operands, most, out.program(), missing)?;
        let repository = lookup::open(out, &self.operands, most)?;
        let root = self.target.root(&repository)?;
        let name = operand::text(&self.operands[1])?;
        match self.revprop {
            true => self.of_revision(out, &root, &name),
            false => self.of_path(out, &root, &name),
        }
    }

    fn of_revision(&self, out: &mut Out, root: &Root, name: &str) -> Result<()> {
        let all = lookup::revision_props(root)?;
        let Some(value) = all.get(name) else {
            return Err(Error::new(
                Code::PROPERTY_NOT_FOUND,
                format!("Property '{name}' not found on {}", place(root)),
            ));
        };
        if !self.verbose {
            return out.raw(value);
        }
        // The incumbent prints its null pointer here.
        out.line("Properties on '(null)':")?;
        props::print(out, &[(name.to_owned(), value.clone())], true)
    }

    fn of_path(&self, out: &mut Out, root: &Root, name: &str) -> Result<()> {
        let node = lookup::existing_node(root, &self.operands[2])?;
        let path = node.path();
        let own = props::of_node(&node, Some(name))?;
        let inherited = match self.show_inherited_props {
            true => props::inherited(root, path, Some(name))?,
            false => Vec::new(),
        };
        if own.is_empty() && inherited.is_empty() {
            let or = if self.show_inherited_props {
                " or inherited from a parent"
            } else {
                ""
            };
            return Err(Error::new(
                Code::PROPERTY_NOT_FOUND,
                format!(
                    "Property '{name}' not found on path '{path}'{or} in {}",
                    place(root)
                ),
            ));
        }
        if self.verbose {
            for (from, list) in &inherited {
                // The incumbent does not convert these paths.
                out.raw(format!("Inherited properties on '{path}',\nfrom '{from}':\n").as_bytes())?;
                props::print(out, list, true)?;
            }
            if !own.is_empty() {
                out.raw(format!("Properties on '{path}':\n").as_bytes())?;
                props::print(out, &own, true)?;
            }
            return Ok(());
        }
        // A single value is printed without a line feed; several values are separated by line feeds.
        let several = inherited.len() + usize::from(!own.is_empty()) > 1;
        let last_inherited = inherited.len();
        let mut all: Vec<_> = inherited.iter().map(|(from, list)| (from, list)).collect();
        if !own.is_empty() {
            all.push((path, &own));
        }
        for (at, (from, list)) in all.into_iter().enumerate() {
            if self.show_inherited_props {
                out.print(&format!("{from} - "))?;
            }
            for (_, value) in list {
                out.raw(value)?;
            }
            if several && at < last_inherited {
                out.print("\n")?;
            }
        }
        Ok(())
    }
}

/// Checks that inherited properties are not combined with revision properties.
///
/// # Errors
/// `CL_MUTUALLY_EXCLUSIVE_ARGS` if both options were given. Revision properties are not inherited.
pub fn refuse_inherited_revprops(revprop: bool, inherited: bool) -> Result<()> {
    if revprop && inherited {
        return Err(Error::new(
            Code::CL_MUTUALLY_EXCLUSIVE_ARGS,
            "Cannot use the '--show-inherited-props' option with the '--revprop' option",
        ));
    }
    Ok(())
}

fn place(root: &Root) -> String {
    match (root.revision(), root.txn_name()) {
        (Some(rev), _) => format!("revision {rev}"),
        (None, txn) => format!("transaction {}", txn.unwrap_or_default()),
    }
}
