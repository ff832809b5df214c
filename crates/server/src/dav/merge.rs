//! `MERGE`: commits a transaction. The revision is durable before the response is sent.

use std::collections::HashSet;

use base::{Code, Error, FsPath, NodeKind, Revnum};
use http::StatusCode;
use repos::ChangeKind;
use repos::commit::CommitInfo;
use repos::transaction::TransactionEnd;
use wire::dav::lock_tokens::HeldLock;
use wire::dav::merge::{self, MERGE_TYPE, MergeRequest, MergeResponse};
use wire::dav::uri::{Resource, report_path};

use super::Outcome;
use super::txn_step::clock;
use crate::http::{Fault, ResponseWriter};
use crate::site::{RequestContext, mount};

pub(super) fn merge(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let bad = || Fault::html(StatusCode::BAD_REQUEST);
    let (root, _) = context.required_xml()?;
    let asked = MergeRequest::parse(&root).ok_or_else(bad)?;
    let source = context.mount.resource_of_url(&asked.source);
    let source = source.ok_or_else(|| mount::no_resource(&asked.source))?;
    let base_path = context.resource.path().cloned().unwrap_or_else(FsPath::root);
    let is_there = context.resource_kind()?.exists();
    context.resource = source.clone();
    if !is_there {
        return Err(missing_resource(context));
    }
    let name = source_name(context)?;
    let lock_tokens = lock_tokens(&base_path, &asked.locks)?;
    if !lock_tokens.is_empty() && context.user.is_none() {
        let text = "Lock token(s) in request, but missing an user name";
        return Err(Error::new(Code::FS_LOCK_OWNER_MISMATCH, text).into());
    }
    let info = commit(context, &name, &lock_tokens)?;
    // If the name cannot be changed it names a missing transaction later, which does no harm.
    match &source {
        // The activity stays known until its client removes it.
        Resource::Activity(id) => _ = context.activities().store(id, ""),
        Resource::Vtxn(id) => _ = context.activities().remove(id),
        _ => {}
    }
    context.log_operation(|| format!("commit r{}", info.rev));
    for error in &info.unlock_errors {
        context.log_error(error);
    }
    answer(context, reply, &info)
}

/// Returns the error response for a request whose resource does not exist. An error of the transaction itself comes first.
fn missing_resource(context: &mut RequestContext<'_>) -> Fault {
    let opened = match &context.resource {
        Resource::Txn(_) | Resource::Vtxn(_) => context.step(|_, _| Ok(())),
        _ => Ok(()),
    };
    opened.err().unwrap_or_else(|| Fault::html(StatusCode::NOT_FOUND))
}

/// Returns the name of the request's transaction.
fn source_name(context: &mut RequestContext<'_>) -> Result<String, Fault> {
    let refused = |text: &str| {
        let error = Error::new(Code::INCORRECT_PARAMS, text);
        Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, error).with("cache-control", "no-cache"))
    };
    match &context.resource {
        Resource::Activity(id) => match context.activities().find(id)? {
            Some(name) => Ok(name),
            None => refused("MERGE activity or transaction resource does not exist"),
        },
        Resource::Txn(_) | Resource::Vtxn(_) => context.txn_name(),
        _ => {
            context.resource_kind()?;
            refused("MERGE can only be performed using an activity or transaction resource as the source")
        }
    }
}

fn commit(
    context: &RequestContext<'_>,
    name: &str,
    lock_tokens: &[(FsPath, String)],
) -> Result<CommitInfo, Fault> {
    let transaction = context.take(name).map_err(|error| match error.code() {
        Code::FS_NO_SUCH_TRANSACTION => Fault::hidden(StatusCode::NOT_FOUND, error),
        _ => error.into(),
    })?;
    let ending = TransactionEnd {
        lock_tokens,
        release_locks: context.has_option("release-locks"),
        user: context.user.as_deref(),
        hooks: &context.hooks()?,
    };
    let committed = transaction.commit(&ending, &clock());
    committed.map_err(|error| match error.code() {
        Code::FS_CONFLICT | Code::FS_TXN_OUT_OF_DATE => Fault::new(StatusCode::CONFLICT, error),
        _ => error.into(),
    })
}

/// Returns the client's lock tokens with their paths in the repository.
fn lock_tokens(base_path: &FsPath, held: &[HeldLock]) -> Result<Vec<(FsPath, String)>, Fault> {
    let each = held.iter().map(|held| {
        let path = report_path(&held.path).ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?;
        Ok((base_path.join(&path), held.token.clone()))
    });
    each.collect()
}

fn answer(context: &RequestContext<'_>, reply: &mut ResponseWriter, info: &CommitInfo) -> Outcome {
    reply.head.header("cache-control", "no-cache");
    reply.head.content_type(MERGE_TYPE);
    let mut out = String::new();
    let merged = MergeResponse {
        rev: info.rev,
        date: info.date.as_deref(),
        author: info.author.as_deref(),
        post_commit_error: info.post_commit_error.as_deref(),
    };
    merge::write_merged(context.base(), &merged, &mut out);
    if !context.has_option("no-merge-response") {
        for (path, is_dir) in changed_nodes(context, info.rev)? {
            merge::write_merged_node(context.base(), info.rev, &path, is_dir, &mut out);
            reply.buffer().append(&mut std::mem::take(&mut out).into_bytes());
            reply.spill()?;
        }
    }
    merge::write_merge_end(&mut out);
    reply.buffer().append(&mut out.into_bytes());
    Ok(())
}

/// Returns the nodes whose version in the client's working copy is new: changed nodes, and the parents of added and deleted ones.
fn changed_nodes(context: &RequestContext<'_>, rev: Revnum) -> Result<Vec<(FsPath, bool)>, Fault> {
    let changes = context.repository().changed_paths(rev)?;
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for change in changes.iter() {
        let path = change.to_owned().path;
        if change.change != ChangeKind::Delete && seen.insert(path.clone()) {
            all.push((path.clone(), change.node_kind == NodeKind::Dir));
        }
        if change.change != ChangeKind::Modify
            && let Some(parent) = path.parent()
            && seen.insert(parent.clone())
        {
            all.push((parent, true));
        }
    }
    Ok(all)
}
