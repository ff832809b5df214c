//! `svn cat`: prints the texts of files.

use std::ffi::OsString;

use base::{Code, Error, RelPath, Result};
use ra::FileRequest;

use super::misuse;
use super::options::RevisionOption;
use crate::args::revision::Revision;
use crate::client_context::target::{self, Target, TargetPath};
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Prints the texts of files in a repository.
#[derive(clap::Args)]
#[command(override_usage = "cat TARGET[@REV]...")]
pub struct CatArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// leave keywords without values
    #[arg(long)]
    ignore_keywords: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl CatArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        if self.operands.is_empty() {
            return Err(misuse(out, "cat", Error::bare(Code::CL_INSUFFICIENT_ARGS)));
        }
        let (operands, revision) = (self.operands, self.revision.start());
        let props = !self.ignore_keywords;
        ClientContext::run(self.access, out, |context, out| {
            for target in target::parse_targets(&operands)? {
                print(context, &target, revision, props, out)?;
            }
            Ok(())
        })
    }
}

fn print(
    context: &ClientContext,
    target: &Target,
    revision: Option<Revision>,
    props: bool,
    out: &mut Out,
) -> Result<()> {
    let TargetPath::Url(url) = &target.path else {
        return Err(Error::bare(Code::WC_NOT_WORKING_COPY));
    };
    let peg = target.peg.unwrap_or(Revision::Head).of_url()?;
    let operative = match revision {
        Some(revision) => revision.of_url()?,
        None => peg,
    };
    let mut node = context.open_node(url, peg, operative)?;
    let request = FileRequest {
        path: &RelPath::empty(),
        rev: Some(node.rev),
        props,
        text: true,
    };
    node.session.file(&request, &mut |_, piece| out.raw(piece))?;
    Ok(())
}
