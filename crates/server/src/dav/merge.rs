//! `MERGE`: a transaction becomes a revision. It is durable when the client hears of it.

use std::collections::HashSet;

use base::{Code, Error, FsPath, NodeKind, Revnum};
use http::StatusCode;
use repos::ChangeKind;
use repos::commit::CommitInfo;
use repos::transaction::TransactionEnd;
use wire::dav::lock_tokens::HeldLock;
use wire::dav::merge::{self, MERGE_TYPE, Merge, Merged};
use wire::dav::uri::{Resource, report_path};

use super::Outcome;
use super::fault::Fault;
use super::place;
use super::steps::clock;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn merge(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let bad = || Fault::html(StatusCode::BAD_REQUEST);
    let (root, _) = visit.required_xml()?;
    let asked = Merge::parse(&root).ok_or_else(bad)?;
    let source = visit.place.resource_of_url(&asked.source);
    let source = source.ok_or_else(|| place::no_resource(&asked.source))?;
    let base_path = visit.resource.path().cloned().unwrap_or_else(FsPath::root);
    let is_there = visit.target()?.exists();
    visit.resource = source.clone();
    if !is_there {
        return Err(nothing_there(visit));
    }
    let name = source_name(visit)?;
    let lock_tokens = lock_tokens(&base_path, &asked.locks)?;
    if !lock_tokens.is_empty() && visit.user.is_none() {
        let text = "Lock token(s) in request, but missing an user name";
        return Err(Error::new(Code::FS_LOCK_OWNER_MISMATCH, text).into());
    }
    let info = commit(visit, &name, &lock_tokens)?;
    // Names that cannot be changed now lead nowhere later, which does no harm.
    match &source {
        // It stays known, for the client that will remove it.
        Resource::Activity(id) => _ = visit.activities().store(id, ""),
        Resource::Vtxn(id) => _ = visit.activities().remove(id),
        _ => {}
    }
    visit.log_operation(|| format!("commit r{}", info.rev));
    for error in &info.unlock_errors {
        visit.log_error(error);
    }
    answer(visit, reply, &info)
}

/// Why nothing is merged into a resource that does not exist. What is wrong with the transaction itself comes first.
fn nothing_there(visit: &mut Visit<'_>) -> Fault {
    let opened = match &visit.resource {
        Resource::Txn(_) | Resource::Vtxn(_) => visit.step(|_, _| Ok(())),
        _ => Ok(()),
    };
    opened.err().unwrap_or_else(|| Fault::html(StatusCode::NOT_FOUND))
}

/// The transaction that the request means.
fn source_name(visit: &mut Visit<'_>) -> Result<String, Fault> {
    let refused = |text: &str| {
        let error = Error::new(Code::INCORRECT_PARAMS, text);
        Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, error).with("cache-control", "no-cache"))
    };
    match &visit.resource {
        Resource::Activity(id) => match visit.activities().find(id)? {
            Some(name) => Ok(name),
            None => refused("MERGE activity or transaction resource does not exist"),
        },
        Resource::Txn(_) | Resource::Vtxn(_) => visit.txn_name(),
        _ => {
            visit.target()?;
            refused("MERGE can only be performed using an activity or transaction resource as the source")
        }
    }
}

fn commit(visit: &Visit<'_>, name: &str, lock_tokens: &[(FsPath, String)]) -> Result<CommitInfo, Fault> {
    let transaction = visit.take(name).map_err(|error| match error.code() {
        Code::FS_NO_SUCH_TRANSACTION => Fault::hidden(StatusCode::NOT_FOUND, error),
        _ => error.into(),
    })?;
    let ending = TransactionEnd {
        lock_tokens,
        release_locks: visit.has_option("release-locks"),
        user: visit.user.as_deref(),
        hooks: &visit.hooks()?,
    };
    let committed = transaction.commit(&ending, &clock());
    committed.map_err(|error| match error.code() {
        Code::FS_CONFLICT | Code::FS_TXN_OUT_OF_DATE => Fault::new(StatusCode::CONFLICT, error),
        _ => error.into(),
    })
}

/// The client's locks, by their paths in the repository.
fn lock_tokens(base_path: &FsPath, held: &[HeldLock]) -> Result<Vec<(FsPath, String)>, Fault> {
    let each = held.iter().map(|held| {
        let path = report_path(&held.path).ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?;
        Ok((base_path.join(&path), held.token.clone()))
    });
    each.collect()
}

fn answer(visit: &Visit<'_>, reply: &mut Reply, info: &CommitInfo) -> Outcome {
    reply.header("cache-control", "no-cache");
    reply.content_type(MERGE_TYPE);
    let mut out = String::new();
    let merged = Merged {
        rev: info.rev,
        date: info.date.as_deref(),
        author: info.author.as_deref(),
        post_commit_error: info.post_commit_error.as_deref(),
    };
    merge::write_merged(visit.base(), &merged, &mut out);
    if !visit.has_option("no-merge-response") {
        for (path, is_dir) in changed_nodes(visit, info.rev)? {
            merge::write_merged_node(visit.base(), info.rev, &path, is_dir, &mut out);
            reply.buffer().append(&mut std::mem::take(&mut out).into_bytes());
            reply.spill()?;
        }
    }
    merge::write_merge_end(&mut out);
    reply.buffer().append(&mut out.into_bytes());
    Ok(())
}

/// The nodes that a client's working copy has new versions of: what was changed, and the directories of what came or went.
fn changed_nodes(visit: &Visit<'_>, rev: Revnum) -> Result<Vec<(FsPath, bool)>, Fault> {
    let changes = visit.repository().changed_paths(rev)?;
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
