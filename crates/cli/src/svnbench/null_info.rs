//! `svnbench null-info`: receives the descriptions of nodes.

use std::ffi::OsString;

use base::{Code, Depth, Error, NodeKind, RelPath, Result};
use ra::{Capability, DirectoryRequest, DirentFields, ListRequest, Session};

use super::measure;
use super::report::StatisticsOption;
use crate::args::revision::Revision;
use crate::client_context::target::Target;
use crate::client_context::{AccessOptions, ClientContext, OpenNode};
use crate::out::Out;
use crate::svn::options::{RecursiveOption, RevisionOption, TargetsOption};
use crate::svn::target_list;

/// Receives the descriptions of nodes, and counts them.
#[derive(clap::Args)]
#[command(override_usage = "null-info [TARGET[@REV]...]")]
pub struct NullInfoArgs {
    #[command(flatten)]
    revision: RevisionOption,
    #[command(flatten)]
    depth: RecursiveOption,
    #[command(flatten)]
    targets: TargetsOption,
    #[command(flatten)]
    statistics: StatisticsOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl NullInfoArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        measure(&self.access, false, self.statistics, out, |context, out| {
            let targets = target_list::read(context, out, &self.operands, &self.targets)?;
            let mut has_missing = false;
            for target in &targets {
                context.cancel().check()?;
                match self.info(context, &target.parse()?) {
                    Ok(count) => out.line(&format!("Number of status notifications received: {count}"))?,
                    Err(error) if error.code() == Code::RA_ILLEGAL_URL => {
                        out.warning(&error)?;
                        out.print_stderr("\n");
                        has_missing = true;
                    }
                    Err(error) => return Err(error),
                }
            }
            if has_missing {
                let message = "Could not display info for all targets because some targets don't exist";
                return Err(Error::new(Code::ILLEGAL_TARGET, message));
            }
            Ok(())
        })
    }

    fn info(&self, context: &ClientContext, target: &Target) -> Result<u64> {
        let url = target.url()?;
        let peg = target.peg.unwrap_or(Revision::Head);
        let operative = self.revision.start().unwrap_or(peg);
        let mut node = context.open_node(url, peg.of_url()?, operative.of_url()?)?;
        let path = RelPath::empty();
        let Some(found) = node.session.stat(&path, Some(node.rev))? else {
            let message = format!(
                "URL '{}' non-existent in revision {}",
                node.session.url(),
                node.rev
            );
            return Err(Error::new(Code::RA_ILLEGAL_URL, message));
        };
        let depth = self.depth.depth().unwrap_or(Depth::Empty);
        if found.kind == NodeKind::File {
            _ = node.session.get_lock(&path)?;
            return Ok(1);
        }
        if depth == Depth::Empty {
            return Ok(1);
        }
        _ = node.session.get_locks(&path, depth)?;
        match node.session.has(Capability::List)? {
            true => list(&mut node, depth),
            false => walk(&mut *node.session, node.rev, depth),
        }
    }
}

fn list(node: &mut OpenNode, depth: Depth) -> Result<u64> {
    let request = ListRequest {
        path: &RelPath::empty(),
        rev: Some(node.rev),
        depth,
        fields: DirentFields::ALL,
        patterns: None,
    };
    let mut count = 0;
    node.session.list(&request, &mut |_, _| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

/// Counts the nodes of a tree on a server that does not list trees.
fn walk(session: &mut dyn Session, rev: base::Revnum, depth: Depth) -> Result<u64> {
    let mut count = 1;
    let mut directories = vec![RelPath::empty()];
    while let Some(path) = directories.pop() {
        let request = DirectoryRequest {
            path: &path,
            rev: Some(rev),
            props: false,
            entries: Some(DirentFields::ALL),
        };
        for (name, entry) in session.directory(&request)?.entries {
            let is_dir = entry.kind == NodeKind::Dir;
            count += u64::from(!is_dir || depth > Depth::Files);
            if is_dir && depth == Depth::Infinity {
                directories.push(path.join_str(&name));
            }
        }
    }
    Ok(count)
}
