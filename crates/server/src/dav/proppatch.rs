//! `PROPPATCH`: properties of nodes, transactions and revisions.
//!
//! A request makes all its changes or none: after a failure the changes before it are undone, and the response has the outcome of
//! each. The status is 207 for every well-formed request.

use base::{Error, NodeKind, Revnum};
use http::StatusCode;
use repos::change_revprop::RevpropChange;
use repos::transaction::Transaction;
use wire::dav::fault::XML_TYPE;
use wire::dav::names::{DAV, SVN_DAV};
use wire::dav::proppatch::{
    FailedChange, PropAction, PropValue, PropertyUpdate, namespaces, property_name, write_proppatch,
};
use wire::dav::uri::{Resource, encode};
use wire::dav::xml::XmlName;
use wire::text::fuzzy;

use super::Outcome;
use super::created::url_of;
use super::resource_kind::ResourceKind;
use super::txn_step::refused;
use crate::http::{Fault, ResponseWriter, status_of};
use crate::site::RequestContext;

/// The outcome of each change; `None` is success.
type Outcomes = Vec<Option<FailedChange>>;

pub(super) fn proppatch(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    check_target(context)?;
    let (root, _) = context.required_xml()?;
    let changes = PropertyUpdate::parse_all(&root).ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?;
    let (href, outcome) = match context.resource.clone() {
        Resource::Revision(rev) | Resource::Baseline(rev) => {
            context.check_unversioned_conditions(true)?;
            let outcome = all_or_none(&changes, |change| revision_prop(context, rev, change), |_, ()| ());
            (context.base().named("bln", &rev.to_string()), outcome)
        }
        resource => {
            let outcome = match context.working_path() {
                Some(path) => context.step(|context, in_use| {
                    let transaction = in_use.transaction;
                    let based_on = context.version_name();
                    let exists = transaction.kind(&path)? != NodeKind::None;
                    if !exists && based_on.is_none() {
                        return Err(Fault::html(StatusCode::NOT_FOUND));
                    }
                    // As with the incumbent, "out of date" comes before "locked".
                    transaction.check_base(&path, based_on).map_err(refused)?;
                    if exists {
                        context.check_step_conditions(&path, true)?;
                        context.check_locked(&path, &transaction.ended_lock_tokens())?;
                    }
                    let foreign = ForeignProps::of(context);
                    Ok(node_props(transaction, &path, &changes, foreign))
                })?,
                None => context.step(|context, in_use| {
                    context.check_unversioned_conditions(true)?;
                    Ok(txn_props(in_use.transaction, &changes))
                })?,
            };
            (href(context, &resource), outcome)
        }
    };
    context.is_refused = outcome.iter().any(Option::is_some);
    let mut out = String::new();
    write_proppatch(&href, &namespaces(&root), &changes, &outcome, &mut out);
    reply.head.status(StatusCode::MULTI_STATUS).content_type(XML_TYPE);
    *reply.buffer() = out.into_bytes();
    Ok(())
}

/// Refuses resources without properties that can be changed. Whether a transaction has the node is checked in the step.
fn check_target(context: &mut RequestContext<'_>) -> Outcome {
    match &context.resource {
        Resource::Txn(_)
        | Resource::Vtxn(_)
        | Resource::TxnRoot(..)
        | Resource::VtxnRoot(..)
        | Resource::Working(..)
        | Resource::WorkingBaseline(..) => Ok(()),
        _ => match context.resource_kind()? {
            ResourceKind::Baseline => Ok(()),
            ResourceKind::Regular { exists: true } if context.autoversion.is_some() => Ok(()),
            ResourceKind::Regular { exists: false } | ResourceKind::Activity { exists: false } => {
                Err(Fault::html(StatusCode::NOT_FOUND))
            }
            _ => Err(Fault::html(StatusCode::CONFLICT)),
        },
    }
}

fn href(context: &RequestContext<'_>, resource: &Resource) -> String {
    let base = context.base();
    match resource {
        Resource::Txn(name) => base.named("txn", name),
        Resource::Vtxn(name) => base.named("vtxn", name),
        Resource::WorkingBaseline(id, rev) => {
            let mut url = base.named("wbl", id);
            url.push('/');
            encode(&rev.to_string(), &mut url);
            url
        }
        other => url_of(context, other),
    }
}

/// Makes all changes, or none: after a failure the changes before it are undone.
fn all_or_none<T>(
    changes: &[PropertyUpdate],
    mut done: impl FnMut(&PropertyUpdate) -> Result<T, FailedChange>,
    mut undo: impl FnMut(&PropertyUpdate, T),
) -> Outcomes {
    let mut applied = Vec::new();
    let read_only =
        |change: &PropertyUpdate| is_live(&change.name).then(|| failed(409, "Property is read-only."));
    let mut culprit = changes
        .iter()
        .enumerate()
        .find_map(|(at, c)| Some((at, read_only(c)?)));
    if culprit.is_none() {
        for (at, change) in changes.iter().enumerate() {
            match done(change) {
                Ok(what) => applied.push((at, what)),
                Err(why) => {
                    culprit = Some((at, why));
                    break;
                }
            }
        }
    }
    let Some((culprit, why)) = culprit else {
        return changes.iter().map(|_| None).collect();
    };
    for (at, what) in applied.into_iter().rev() {
        undo(&changes[at], what);
    }
    let others = |(at, change): (usize, &PropertyUpdate)| {
        if at == culprit {
            return Some(why.clone());
        }
        let verb = if change.action == PropAction::Remove {
            "remove"
        } else {
            "set"
        };
        let text = format!("Attempted DAV:{verb} operation could not be completed due to other errors.");
        Some(read_only(change).unwrap_or_else(|| failed(424, text)))
    };
    changes.iter().enumerate().map(others).collect()
}

fn node_props(
    transaction: &mut Transaction,
    path: &base::FsPath,
    changes: &[PropertyUpdate],
    foreign: ForeignProps,
) -> Outcomes {
    let transaction = std::cell::RefCell::new(transaction);
    all_or_none(
        changes,
        |change| {
            let Some((name, value)) = new_value(change, foreign)? else {
                return Ok(None);
            };
            let step = transaction.borrow_mut().change_prop(path, &name, value);
            step.map(Some).map_err(|_| unexplained())
        },
        |_, step| {
            if let Some(step) = step {
                // The step has succeeded, so its reverse does.
                _ = transaction.borrow_mut().undo_prop(path, &step);
            }
        },
    )
}

fn txn_props(transaction: &mut Transaction, changes: &[PropertyUpdate]) -> Outcomes {
    let before = transaction.props();
    let transaction = std::cell::RefCell::new(transaction);
    all_or_none(
        changes,
        |change| {
            let Some((name, value)) = new_value(change, ForeignProps::Refused)? else {
                return Ok(None);
            };
            // The author of a commit is the request's user.
            if name == base::props::AUTHOR {
                return Err(unexplained());
            }
            let set = transaction.borrow_mut().set_prop(&name, value);
            set.map(|()| Some(name)).map_err(|_| unexplained())
        },
        |_, name| {
            if let (Some(name), Ok(before)) = (name, &before) {
                let value = before.get(&name).map(Vec::as_slice);
                // The step has succeeded, so its reverse does.
                _ = transaction.borrow_mut().set_prop(&name, value);
            }
        },
    )
}

/// The name of a property and its new value.
type NewValue<'a> = (String, Option<&'a [u8]>);

/// The handling of properties outside of Subversion's namespaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ForeignProps {
    /// The request fails.
    Refused,
    /// They are stored under their local names, without namespaces, as by the incumbent: plain WebDAV programs give up their operation
    /// after a refusal.
    Stored,
}

impl ForeignProps {
    fn of(context: &RequestContext<'_>) -> ForeignProps {
        match context.mount.location.autoversioning {
            true => ForeignProps::Stored,
            false => ForeignProps::Refused,
        }
    }
}

/// Returns the property that a change sets; `None` if there is nothing to do.
fn new_value(change: &PropertyUpdate, foreign: ForeignProps) -> Result<Option<NewValue<'_>>, FailedChange> {
    let name = match (property_name(&change.name), &change.action) {
        (Some(name), _) => name,
        (None, PropAction::Remove) => return Ok(None),
        (None, _) if foreign == ForeignProps::Stored => change.name.local.clone(),
        (None, _) => return Err(unexplained()),
    };
    match &change.action {
        PropAction::Set(PropValue::Bytes(value)) => Ok(Some((name, Some(value)))),
        PropAction::Remove => Ok(Some((name, None))),
        PropAction::SetAbsent if change.expected.is_some() => Ok(Some((name, None))),
        PropAction::SetAbsent | PropAction::Set(PropValue::Undecodable) => Err(unexplained()),
    }
}

/// Changes a revision property at once, with hooks.
fn revision_prop(
    context: &RequestContext<'_>,
    rev: Revnum,
    change: &PropertyUpdate,
) -> Result<(), FailedChange> {
    let Some((name, value)) = new_value(change, ForeignProps::Refused)? else {
        return Ok(());
    };
    let expected = match &change.expected {
        None => None,
        Some(None) => Some(None),
        Some(Some(PropValue::Bytes(old))) => Some(Some(old.as_slice())),
        Some(Some(PropValue::Undecodable)) => return Err(unexplained()),
    };
    let explained = |error: Error| {
        let status = status_of(error.code()).map_or(500, |status| status.as_u16());
        failed(status, fuzzy(error.message().as_bytes()))
    };
    let hooks = context.hooks().map_err(explained)?;
    let change = RevpropChange {
        rev,
        name: &name,
        expected,
        value,
        user: context.user.as_deref(),
    };
    let readable = context.readable();
    context.log_operation(|| {
        let mut text = format!("change-rev-prop r{rev} ");
        encode(&name, &mut text);
        text
    });
    let changed = context
        .repository()
        .change_revprop(&change, Some(&hooks), Some(&hooks), &*readable);
    changed.map_err(explained)
}

/// Returns whether the server computes the property.
fn is_live(name: &XmlName) -> bool {
    match name.space.as_str() {
        DAV => LIVE.contains(&name.local.as_str()),
        SVN_DAV => LIVE_SVN.contains(&name.local.as_str()),
        _ => false,
    }
}

const LIVE: &[&str] = &[
    "getcontentlength",
    "getcontenttype",
    "getetag",
    "creationdate",
    "getlastmodified",
    "baseline-collection",
    "checked-in",
    "version-controlled-configuration",
    "version-name",
    "creator-displayname",
    "auto-version",
    "resourcetype",
    "supportedlock",
    "lockdiscovery",
];

const LIVE_SVN: &[&str] = &[
    "baseline-relative-path",
    "md5-checksum",
    "repository-uuid",
    "deadprop-count",
    "sha1-checksum",
];

fn failed(status: u16, description: impl Into<String>) -> FailedChange {
    FailedChange {
        status,
        description: description.into(),
    }
}

/// Returns the incumbent's message for every failure but those of revision properties.
fn unexplained() -> FailedChange {
    failed(500, "Could not execute PROPPATCH.")
}
