//! Commits: a transaction is begun, each call of the editor changes it, `MERGE` makes it a revision.
//!
//! In HTTPv2 the transaction and its nodes have URLs of a known form. In HTTPv1 there is an activity, and every node that exists must
//! be checked out before it is changed; the response names its working copy in the activity.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base::{Code, Date, Error, Props, RelPath, Result, Revnum};
use delta::editor::Editor;
use delta::svndiff::Codec;
use wire::dav::client::{PropertyChange, checkout, create_txn, merge, proppatch};
use wire::dav::names::{DAV, SVN};
use wire::dav::uri;
use wire::dav::xml::{Element, XmlLimits};

use super::DavSession;
use super::commit_edit::CommitEditor;
use super::commit_puts::FileRequests;
use super::fault::{malformed, refusal};
use super::request::{Request, RequestBody};
use super::resources::{Resources, href_of};
use super::revprops::check_name;
use crate::answers::CommitInfo;
use crate::requests::CommitRequest;

/// How often the properties of an activity are checked out while other commits come between.
const MOST_CHECKOUTS: u32 = 5;
/// The longest response to `MERGE` that is read, in bytes.
const MOST_MERGED: usize = 16 << 20;

/// A transaction that has begun.
pub(super) enum Txn {
    /// HTTPv2.
    Named {
        /// Its URL path.
        txn: String,
        /// The URL path of its root.
        root: String,
    },
    /// HTTPv1.
    Activity {
        /// Its URL path.
        activity: String,
        /// The URL paths of nodes that were checked out.
        working: BTreeMap<RelPath, String>,
    },
}

impl Txn {
    /// The resource that `MERGE` makes a revision, and that is deleted to abort.
    fn resource(&self) -> &str {
        match self {
            Txn::Named { txn, .. } => txn,
            Txn::Activity { activity, .. } => activity,
        }
    }
}

impl DavSession {
    pub(super) fn drive_commit(
        &mut self,
        request: &CommitRequest,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<CommitInfo> {
        request.revprops.keys().try_for_each(|name| check_name(name))?;
        let mut revprops = request.revprops.clone();
        if self.features.names("ephemeral-txnprops") {
            revprops.extend(crate::txn_props());
        }
        let txn = self.begin_txn(&revprops)?;
        let mut editor = CommitEditor {
            session: self,
            txn,
            tokens: request.lock_tokens.iter().cloned().collect(),
            keep_locks: request.keep_locks,
            deleted: BTreeSet::new(),
            dirs: HashMap::new(),
            files: HashMap::new(),
            tokens_given: 0,
            codec: Codec::new(),
            window: Vec::new(),
            info: None,
            has_ended: false,
            failed: None,
            file_requests: FileRequests::default(),
        };
        let driven = match drive(&mut editor) {
            Ok(()) if !editor.has_ended => editor.close_edit(),
            driven => driven,
        };
        match (driven, editor.info.take()) {
            (Ok(()), Some(info)) => Ok(info),
            (Ok(()), None) => Err(Error::bare(Code::RA_SVN_EDIT_ABORTED)),
            (Err(error), _) => {
                if !editor.has_ended {
                    editor.abort();
                }
                Err(error)
            }
        }
    }

    fn begin_txn(&mut self, revprops: &Props) -> Result<Txn> {
        let Some(stubs) = self.features.stubs.clone() else {
            return self.begin_activity(revprops);
        };
        let with_props = self.features.posts_props;
        let body = create_txn(with_props.then_some(revprops));
        let request =
            Request::new("POST", &stubs.me).body("application/vnd.svn-skel", RequestBody::Bytes(body.into()));
        let response = self.client.finishing(|| self.call_plain(request, &[200, 201]))?;
        let name = response
            .header("svn-txn-name")
            .filter(|name| base::is_component(name))
            .ok_or_else(|| {
                let message = "POST request did not return transaction information";
                Error::new(Code::RA_DAV_REQUEST_FAILED, message)
            })?;
        let name: String = base::percent::encode(name.as_bytes(), base::percent::URL_PATH).collect();
        let txn = Txn::Named {
            txn: format!("{}/{name}", stubs.txn),
            root: format!("{}/{name}", stubs.txn_root),
        };
        if !with_props && !revprops.is_empty() {
            let target = txn.resource().to_owned();
            self.or_abort(&txn, |session| session.set_txn_props(&target, revprops))?;
        }
        Ok(txn)
    }

    fn set_txn_props(&self, target: &str, revprops: &Props) -> Result<()> {
        let changes: Vec<_> = revprops
            .iter()
            .map(|(name, value)| PropertyChange {
                name,
                value: Some(value),
                expected: None,
            })
            .collect();
        self.proppatch(Request::new("PROPPATCH", target).xml(proppatch(&changes)))
    }

    /// Begins an activity of HTTPv1, and sets the properties of its revision.
    fn begin_activity(&mut self, revprops: &Props) -> Result<Txn> {
        let Some(activities) = &self.features.activities else {
            let message = "The OPTIONS response did not include the requested activity-collection-set value";
            return Err(Error::new(Code::RA_DAV_OPTIONS_REQ_FAILED, message));
        };
        let activity = format!("{activities}/{}", uuid::Uuid::new_v4());
        let make = Request::new("MKACTIVITY", &activity);
        self.client.finishing(|| self.call_plain(make, &[201]))?;
        let txn = Txn::Activity {
            activity: activity.clone(),
            working: BTreeMap::new(),
        };
        self.or_abort(&txn, |session| {
            let baseline = session.check_out_baseline(&activity)?;
            match revprops.is_empty() {
                true => Ok(()),
                false => session.set_txn_props(&baseline, revprops),
            }
        })?;
        Ok(txn)
    }

    /// Checks out the baseline: the properties of the coming revision. Another commit may make it outdated in between.
    fn check_out_baseline(&self, activity: &str) -> Result<String> {
        for attempt in 1.. {
            let request =
                Request::new("CHECKOUT", &self.features.configuration).xml(checkout(activity, true));
            match self.call_plain(request, &[201]) {
                Ok(response) => return location(response.header("location")),
                Err(error) if error.code() == Code::APMOD_BAD_BASELINE && attempt < MOST_CHECKOUTS => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::bare(Code::APMOD_BAD_BASELINE))
    }

    /// Returns the working resource of a node that exists.
    pub(super) fn check_out(
        &mut self,
        activity: &str,
        path: &RelPath,
        base: Option<Revnum>,
    ) -> Result<String> {
        let node = self.node_or_public(path, base)?;
        let found = self.propfind(&node, None, &[(DAV, "checked-in")])?;
        let version = found.get(DAV, "checked-in").and_then(href_of);
        let version = version.ok_or_else(|| {
            let message = "The CHECKED-IN property was not found";
            Error::new(Code::RA_DAV_PROPS_NOT_FOUND, message)
        })?;
        let request = Request::new("CHECKOUT", version).xml(checkout(activity, false));
        let response = self
            .call_plain(request, &[201])
            .map_err(|error| match error.code() {
                Code::FS_CONFLICT => {
                    let message = format!("'{}' is out of date", self.fs_path(path));
                    error.wrap(Code::FS_TXN_OUT_OF_DATE, message)
                }
                _ => error,
            })?;
        location(response.header("location"))
    }

    fn or_abort<T>(&mut self, txn: &Txn, step: impl FnOnce(&mut DavSession) -> Result<T>) -> Result<T> {
        step(self).inspect_err(|_| self.abort_txn(txn))
    }

    /// Deletes a transaction. A failed `MERGE` has done that already, so that the outcome does not matter.
    pub(super) fn abort_txn(&self, txn: &Txn) {
        // An error has ended the commit; connections may be in any state.
        self.client.close_idle();
        self.client.finishing(|| {
            if let Ok(mut response) = self.client.call(Request::new("DELETE", txn.resource())) {
                _ = response.body.read_up_to(MOST_MERGED);
            }
        });
    }

    /// Makes a transaction a revision.
    pub(super) fn merge_txn(
        &mut self,
        txn: &Txn,
        tokens: &[(String, String)],
        keep_locks: bool,
    ) -> Result<CommitInfo> {
        let target = Resources::path_of(&self.url);
        let options = match keep_locks {
            true => "no-merge-response",
            false => "release-locks no-merge-response",
        };
        let request = Request::new("MERGE", &target)
            .header("x-svn-options", options)
            .xml(merge(txn.resource(), tokens));
        let mut response = self.client.call(request)?;
        if response.status != 200 {
            return Err(refusal(response, &target));
        }
        let body = response.body.read_up_to(MOST_MERGED)?;
        let info = read_merged(&body)?;
        if let Txn::Activity { activity, .. } = txn {
            // The activity has no transaction any more. If it stays, that changes nothing.
            _ = self.call_plain(Request::new("DELETE", activity), &[204, 404]);
        }
        Ok(info)
    }
}

/// Reads the path of a header `Location`.
pub(super) fn location(header: Option<&str>) -> Result<String> {
    let path = header
        .and_then(uri::path_of)
        .map(|path| path.trim_end_matches('/').to_owned());
    path.ok_or_else(|| {
        let message = "No Location header received";
        Error::new(Code::RA_DAV_MALFORMED_DATA, message)
    })
}

/// Reads the response to `MERGE`.
fn read_merged(body: &[u8]) -> Result<CommitInfo> {
    let limits = XmlLimits {
        bytes: MOST_MERGED as u64,
        ..XmlLimits::default()
    };
    let root = Element::parse(body, limits).map_err(|what| malformed(what.0))?;
    let responses = root.children.iter().flat_map(|set| set.all(DAV, "response"));
    for response in responses {
        let Some(prop) = response
            .child(DAV, "propstat")
            .and_then(|stat| stat.child(DAV, "prop"))
        else {
            continue;
        };
        let kind = prop.child(DAV, "resourcetype");
        if kind.and_then(|kind| kind.child(DAV, "baseline")).is_none() {
            continue;
        }
        let text = |name: &str| prop.child(DAV, name).map(|child| child.text.clone());
        let rev = text("version-name").and_then(|rev| Revnum::parse(rev.trim().as_bytes()));
        return Ok(CommitInfo {
            rev: rev.ok_or_else(|| malformed("The MERGE response did not contain a revision"))?,
            date: text("creationdate").and_then(|date| Date::parse(date.as_bytes()).ok()),
            author: text("creator-displayname"),
            post_commit_error: prop.child(SVN, "post-commit-err").map(|child| child.text.clone()),
        });
    }
    Err(malformed("The MERGE response did not contain a revision"))
}
