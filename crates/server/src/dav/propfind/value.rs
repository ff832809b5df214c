//! Live properties: values that the server computes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use base::{Date, Depth, FsPath, Lock, Props, Revnum, props};
use repos::tree::TreeNode;
use wire::dav::http_date;
use wire::dav::live::LiveProperty;
use wire::dav::multistatus::{PropResponse, active_lock, supported_lock};

use super::subject::{NodeAddress, Subject};
use crate::dav::get::media;
use crate::dav::lock::seconds_left;
use crate::http::Fault;
use crate::log::OneLine;
use crate::site::RequestContext;

/// A live property's value.
pub(super) enum LiveValue<'a> {
    Text(Cow<'a, str>),
    Href(String),
    /// An empty element in WebDAV's namespace.
    Word(&'static str),
    AnyLock,
    Lock(&'a Lock),
}

/// Computes the live properties of many resources, and caches what they share.
pub(super) struct LiveProperties<'a> {
    pub(super) context: &'a RequestContext<'a>,
    uuid: String,
    svn_client: bool,
    committed: HashMap<Revnum, Rc<RevisionFacts>>,
    locks: BTreeMap<FsPath, Lock>,
    /// The revision of the youngest copy at or above the listed directory, once it is known.
    directory_copied_rev: Option<Option<Revnum>>,
}

/// The properties of a revision that the nodes which it changed last show.
#[derive(Default)]
struct RevisionFacts {
    date: Option<Date>,
    /// The date as it is stored, if it can be parsed.
    stored_date: Option<String>,
    author: Option<String>,
}

/// The highest number of cached revisions.
const MAX_CACHED: usize = 4096;

impl<'a> LiveProperties<'a> {
    pub(super) fn new(context: &'a RequestContext<'_>) -> LiveProperties<'a> {
        LiveProperties {
            uuid: context.repository().uuid(),
            svn_client: context.request.is_svn_client(),
            context,
            committed: HashMap::new(),
            locks: BTreeMap::new(),
            directory_copied_rev: None,
        }
    }

    /// Reads the locks for the response. As with Apache, an error is logged and no lock is shown: clients request locks beside the
    /// properties that they need.
    pub(super) fn find_locks(&mut self, subject: &Subject, depth: Depth) {
        let Some(node) = subject.node() else {
            return;
        };
        if let Err(error) = self.read_locks(node, depth) {
            let id = &self.context.request.id;
            tracing::error!(request = %id, "{}", OneLine(&error));
        }
    }

    fn read_locks(&mut self, node: &TreeNode, depth: Depth) -> Result<(), base::Error> {
        let repository = self.context.repository();
        if depth == Depth::Immediates && node.is_dir() {
            let locks = repository.locks(node.path(), depth, &*self.context.readable())?;
            self.locks = locks.into_iter().map(|lock| (lock.path.clone(), lock)).collect();
        // A directory of an older revision may have the path of a locked file.
        } else if let Some(lock) = repository.get_lock(node.path())? {
            self.locks.insert(lock.path.clone(), lock);
        }
        Ok(())
    }

    pub(super) fn lock_on(&self, node: &TreeNode) -> Option<&Lock> {
        self.locks.get(node.path())
    }

    /// Prepares for the entries of this directory.
    pub(super) fn enter_directory(&mut self, dir: &TreeNode) -> Result<(), Fault> {
        self.directory_copied_rev = Some(dir.copied_rev()?);
        Ok(())
    }

    /// Writes a property if the subject has it; returns whether it has.
    pub(super) fn write(
        &mut self,
        subject: &Subject,
        live: LiveProperty,
        response: &mut PropResponse<'_>,
    ) -> Result<bool, Fault> {
        let Some(value) = self.value(subject, live)? else {
            return Ok(false);
        };
        match value {
            LiveValue::Text(text) => response.live(live, &text),
            LiveValue::Href(url) => response.href(live, &url),
            LiveValue::Word(word) => response.markup(live, |out| {
                out.push_str("<D:");
                out.push_str(word);
                out.push_str("/>");
            }),
            LiveValue::AnyLock => response.markup(live, supported_lock),
            LiveValue::Lock(lock) => {
                let left = lock.expires.map(seconds_left);
                response.markup(live, |out| active_lock(lock, left, out));
            }
        }
        Ok(true)
    }

    /// Returns the value of a property, if the subject has it.
    pub(super) fn value(
        &mut self,
        subject: &Subject,
        live: LiveProperty,
    ) -> Result<Option<LiveValue<'_>>, Fault> {
        match live {
            LiveProperty::RepositoryUuid => return Ok(Some(text(self.uuid.clone()))),
            LiveProperty::SupportedLock if subject.collection().is_none() => {
                return Ok(Some(LiveValue::AnyLock));
            }
            LiveProperty::LockDiscovery => {
                let lock = subject.node().and_then(|node| self.locks.get(node.path()));
                return Ok(Some(lock.map_or(text(""), LiveValue::Lock)));
            }
            _ => {}
        }
        match subject {
            Subject::Node { kind, node, .. } => self.of_node(*kind, node, live),
            Subject::Revision { rev, props } => Ok(self.of_revision(*rev, props, live)),
            Subject::Repository => self.of_repository(live),
            Subject::Txn { .. } => Ok(None),
        }
    }

    fn of_node(
        &mut self,
        kind: NodeAddress,
        node: &TreeNode,
        live: LiveProperty,
    ) -> Result<Option<LiveValue<'_>>, Fault> {
        let (in_tree, is_file) = (kind == NodeAddress::Tree, !node.is_dir());
        Ok(Some(match live {
            LiveProperty::ResourceType if is_file => text(""),
            LiveProperty::ResourceType => LiveValue::Word("collection"),
            LiveProperty::ContentLength if is_file => text(node.size()?.to_string()),
            LiveProperty::ContentType if is_file => {
                let props = node.props()?;
                let mime = props.get(props::MIME_TYPE).map(Vec::as_slice);
                text(media::of_file(mime, node.path().basename(), self.svn_client))
            }
            LiveProperty::ContentType => text(media::of_index(&self.context.mount.location)),
            LiveProperty::Etag if kind == NodeAddress::Working => text(""),
            LiveProperty::Etag => match node.created_rev() {
                Some(rev) => text(etag(node.is_dir(), rev, node.path().as_str())),
                None => return Ok(None),
            },
            LiveProperty::CreationDate => return Ok(self.committed(node)?.stored_date.clone().map(text)),
            LiveProperty::LastModified => {
                return Ok(self.committed(node)?.date.map(|d| text(http_date::format(d))));
            }
            LiveProperty::Creator => return Ok(self.committed(node)?.author.clone().map(text)),
            LiveProperty::VersionName => match node.created_rev() {
                Some(rev) => text(rev.to_string()),
                None => return Ok(None),
            },
            LiveProperty::CheckedIn if in_tree => {
                let copied = match self.directory_copied_rev {
                    Some(copied) => copied,
                    None => node.copied_rev()?,
                };
                LiveValue::Href(
                    self.context
                        .base()
                        .node("ver", node.safe_rev(copied), node.path()),
                )
            }
            LiveProperty::Vcc if in_tree => LiveValue::Href(self.context.base().named("vcc", "default")),
            LiveProperty::AutoVersion if in_tree && self.context.mount.location.autoversioning => {
                text("DAV:checkout-checkin")
            }
            LiveProperty::BaselineRelativePath if in_tree => text(node.path().rel_str().to_owned()),
            LiveProperty::Md5 if is_file => text(node.md5()?.to_string()),
            LiveProperty::Sha1 if is_file => text(node.sha1()?.to_string()),
            LiveProperty::DeadpropCount if in_tree => text(if node.has_props() { "1" } else { "0" }),
            _ => return Ok(None),
        }))
    }

    fn of_revision(&self, rev: Revnum, props: &Props, live: LiveProperty) -> Option<LiveValue<'_>> {
        let committed = || RevisionFacts::of(props);
        Some(match live {
            LiveProperty::ResourceType => LiveValue::Word("baseline"),
            LiveProperty::Etag => text(""),
            LiveProperty::CreationDate => text(committed().stored_date?),
            LiveProperty::LastModified => text(http_date::format(committed().date?)),
            LiveProperty::Creator => text(committed().author?),
            LiveProperty::VersionName => text(rev.to_string()),
            LiveProperty::BaselineCollection => {
                LiveValue::Href(self.context.base().node("bc", rev, &FsPath::root()))
            }
            _ => return None,
        })
    }

    fn of_repository(&self, live: LiveProperty) -> Result<Option<LiveValue<'_>>, Fault> {
        Ok(match live {
            LiveProperty::CheckedIn => {
                let youngest = self.context.youngest()?.to_string();
                Some(LiveValue::Href(self.context.base().named("bln", &youngest)))
            }
            _ => None,
        })
    }

    fn committed(&mut self, node: &TreeNode) -> Result<Rc<RevisionFacts>, Fault> {
        let Some(rev) = node.created_rev() else {
            return Ok(Rc::default());
        };
        if let Some(known) = self.committed.get(&rev) {
            return Ok(known.clone());
        }
        let committed = Rc::new(RevisionFacts::of(&*self.context.repository().all_revprops(rev)?));
        if self.committed.len() >= MAX_CACHED {
            self.committed.clear();
        }
        self.committed.insert(rev, committed.clone());
        Ok(committed)
    }
}

impl RevisionFacts {
    fn of(props: &Props) -> RevisionFacts {
        let author = props.get(props::AUTHOR).map(|author| {
            let mut author = String::from_utf8_lossy(author).into_owned();
            author.retain(|c| !c.is_ascii_control() || "\t\r\n".contains(c));
            author
        });
        let stored = props.get(props::DATE);
        let date = stored.and_then(|stored| Date::parse(stored).ok());
        let stored_date = stored.filter(|_| date.is_some());
        RevisionFacts {
            date,
            stored_date: stored_date.map(|stored| String::from_utf8_lossy(stored).into_owned()),
            author,
        }
    }
}

/// Returns the entity tag of a node: path and revision of its last change.
pub(in crate::dav) fn etag(is_dir: bool, rev: Revnum, path: &str) -> String {
    let weak = if is_dir { "W/" } else { "" };
    format!("{weak}\"{rev}/{path}\"")
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> LiveValue<'a> {
    LiveValue::Text(text.into())
}
