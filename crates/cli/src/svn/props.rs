//! What the commands that read properties share: their options, where properties are, and how they are printed.

use std::ffi::OsString;

use base::charset::Charset;
use base::{Code, Depth, Error, Result, Revnum};
use client::props;
use ra::Session;

use super::options::{ChangelistOption, RecursiveOption, RevisionOption};
use super::{revprops, target_list};
use crate::client_context::target::{Target, TypedTarget};
use crate::client_context::{AccessOptions, ClientContext, OpenNode};
use crate::out::Out;
use crate::xml;

/// The options and operands that `svn propget` and `svn proplist` share.
#[derive(clap::Args)]
pub struct ReadPropsOptions {
    /// print values, with headings and an indent
    #[arg(short, long)]
    pub verbose: bool,
    #[command(flatten)]
    depth: RecursiveOption,
    #[command(flatten)]
    pub revision: RevisionOption,
    /// print properties of the revision that '-r' names
    #[arg(long)]
    pub revprop: bool,
    /// print XML
    #[arg(long)]
    pub xml: bool,
    #[command(flatten)]
    changelist: ChangelistOption,
    /// print properties of the directories above a target too
    #[arg(long)]
    pub show_inherited_props: bool,
    #[command(flatten)]
    pub access: AccessOptions,
    pub operands: Vec<OsString>,
}

impl ReadPropsOptions {
    /// How deep properties are read.
    pub fn depth(&self) -> Depth {
        self.depth.depth().unwrap_or(Depth::Empty)
    }

    /// Opens a session for the properties of the revision that `-r` names.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` with `--show-inherited-props`; those of [`revprops::open`].
    pub fn open_revision(
        &self,
        context: &ClientContext,
        targets: &[TypedTarget],
    ) -> Result<(Box<dyn Session>, Revnum)> {
        if self.show_inherited_props {
            let message = "--show-inherited-props can't be used with --revprop";
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        }
        revprops::open(context, targets, &self.revision)
    }

    /// Opens the node that a target names.
    ///
    /// # Errors
    /// `WC_NOT_WORKING_COPY` for a path; `CLIENT_VERSIONED_PATH_REQUIRED`; those of [`ClientContext::open_node`].
    pub fn open_node(&self, context: &ClientContext, target: &Target) -> Result<OpenNode> {
        let url = target.url()?;
        let (peg, operative) = target_list::revisions_of_props(target, self.revision.range())?;
        context.open_node(url, peg, operative)
    }

    /// Calls `found` for the directories above the session's URL that have properties, if they are to be shown.
    ///
    /// # Errors
    /// Those of the session and of `found`.
    pub fn inherited(
        &self,
        node: &mut OpenNode,
        mut found: impl FnMut(&base::Url, &base::Props) -> Result<()>,
    ) -> Result<()> {
        if !self.show_inherited_props {
            return Ok(());
        }
        for (ancestor, props) in props::inherited(&mut *node.session, node.rev)? {
            found(&ancestor, &props)?;
        }
        Ok(())
    }
}

/// Prints a value as it is. Values of Subversion's own properties are text, and converted to the terminal's character set.
pub fn print_value(name: &str, value: &[u8], out: &mut Out) -> Result<()> {
    match name.starts_with("svn:") {
        true => out.raw(&out.charset().show(&Charset::show_bytes(value))),
        false => out.raw(value),
    }
}

/// Prints the name of a property, indented, and if `with_value` its value, indented more. The value ends at a NUL byte.
pub fn print_indented(name: &str, value: &[u8], with_value: bool, out: &mut Out) -> Result<()> {
    out.line(&format!("  {name}"))?;
    if !with_value {
        return Ok(());
    }
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    for line in value[..end].split(|byte| *byte == b'\n') {
        out.raw(b"    ")?;
        print_value(name, line, out)?;
        out.raw(b"\n")?;
    }
    Ok(())
}

/// Returns the element of a property; without a value if it is `None`.
pub fn xml_element(element: &str, name: &str, value: Option<&[u8]>) -> String {
    let Some(value) = value else {
        return xml::tag(element, &[("name", name)], "/>\n");
    };
    let (attributes, text) = match std::str::from_utf8(value) {
        Ok(text) if xml::is_safe(value) => (vec![("name", name)], xml::text(text)),
        _ => (vec![("name", name), ("encoding", "base64")], xml::base64(value)),
    };
    format!("{}{text}</{element}>\n", xml::tag(element, &attributes, ">"))
}
