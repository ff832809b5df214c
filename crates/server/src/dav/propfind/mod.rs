//! `PROPFIND`: properties of resources.
//!
//! The resource of the request is a [`Subject`]. Its properties are read one by one (`value`) and written at once: the response for a
//! directory with a million entries is sent while it is made.

mod subject;
mod value;

use base::Depth;
use http::StatusCode;
use wire::dav::fault::XML_TYPE;
use wire::dav::live::LiveProperty;
use wire::dav::multistatus::{Multistatus, PropResponse, stored_name};
use wire::dav::propfind::PropfindRequest;
use wire::dav::uri::encode_lower;
use wire::dav::xml::XmlName;

use self::subject::{NodeAddress, Subject};
pub(super) use self::subject::{without_slash, working_tree};
use self::value::LiveProperties;
pub(super) use self::value::etag;
use super::Outcome;
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;

pub(super) fn propfind(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    if context.request.headers.contains_key("label") {
        reply.head.header("vary", "Label");
    }
    // As in Apache, a body that is no XML comes before a missing resource, and its meaning after a refused depth.
    let body = context.xml()?;
    let subject = subject::find(context)?;
    let depth = depth(context, &subject)?;
    let wanted = match body {
        Some((root, _)) => PropfindRequest::parse(&root)?,
        None => PropfindRequest::All,
    };
    let properties = PropertyRequest::new(wanted);
    log(context, &subject, depth, &properties);
    let mut values = LiveProperties::new(context);
    if properties.asks_for(LiveProperty::LockDiscovery) {
        context.request.check_may_wait()?;
        values.find_locks(&subject, depth);
        if let Some(lock) = subject.node().and_then(|node| values.lock_on(node)) {
            reply.head.header("x-svn-lock-owner", &lock.owner);
            reply
                .head
                .header("x-svn-creation-date", &lock.created.to_string());
        }
    }
    reply.head.status(StatusCode::MULTI_STATUS).content_type(XML_TYPE);
    let mut text = String::new();
    Multistatus::open(&mut text);
    properties.write(&mut values, &subject, &mut text)?;
    if let (Depth::Immediates, Some(node)) = (depth, subject.collection()) {
        let (href, readable) = (subject.href(context), context.readable());
        let children = node.children(&*readable)?;
        if properties.asks_for(LiveProperty::CheckedIn) {
            values.enter_directory(node)?;
        }
        for child in children.nodes() {
            let child = child?;
            let mut href = href.clone();
            encode_lower(child.path().basename(), &mut href);
            if child.is_dir() {
                href.push('/');
            }
            let child = Subject::Node {
                kind: NodeAddress::Tree,
                node: child,
                href,
            };
            properties.write(&mut values, &child, &mut text)?;
            reply.buffer().extend_from_slice(text.as_bytes());
            reply.spill()?;
            text.clear();
        }
    }
    Multistatus::close(&mut text);
    reply.buffer().extend_from_slice(text.as_bytes());
    Ok(())
}

/// Returns the depth of the request. Whole trees are refused.
fn depth(context: &RequestContext<'_>, subject: &Subject) -> Result<Depth, Fault> {
    match context.request.header("depth").map_or("infinity", str::trim) {
        "0" => Ok(Depth::Empty),
        "1" => Ok(Depth::Immediates),
        word if !word.eq_ignore_ascii_case("infinity") => Err(Fault::html(StatusCode::BAD_REQUEST)),
        _ if subject.is_dir() => Err(Fault::html(StatusCode::FORBIDDEN)),
        _ => Ok(Depth::Empty),
    }
}

/// Logs the request if it is for a listing or for all properties of one resource.
fn log(context: &RequestContext<'_>, subject: &Subject, depth: Depth, properties: &PropertyRequest) {
    let encoded = |path: &str| {
        let mut out = String::new();
        wire::dav::uri::encode(path, &mut out);
        out
    };
    let all = !matches!(properties.wanted, PropfindRequest::Props(_));
    match subject {
        Subject::Revision { rev, .. } if all => context.log_operation(|| format!("rev-proplist r{rev}")),
        Subject::Node { node, .. } => {
            let Some(rev) = subject.revision() else { return };
            let path = encoded(node.path().as_str());
            match (depth, subject.collection()) {
                (Depth::Immediates, Some(_)) => {
                    let slash = if node.path().is_root() { "" } else { "/" };
                    context.log_operation(|| format!("get-dir {path}{slash} r{rev} text"));
                }
                _ if all => {
                    let what = if node.is_dir() { "get-dir" } else { "get-file" };
                    context.log_operation(|| format!("{what} {path} r{rev} props"));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// The properties that are requested for each resource.
struct PropertyRequest {
    wanted: PropfindRequest,
    /// The kind of each requested name.
    kinds: Vec<RequestedProperty>,
    form: Multistatus,
}

/// A requested property.
enum RequestedProperty {
    /// A live property.
    LiveProperty(LiveProperty),
    /// A stored property, by Subversion's name.
    Stored(String),
    /// A property that no resource has.
    Unknown,
}

impl PropertyRequest {
    fn new(wanted: PropfindRequest) -> PropertyRequest {
        let kind_of = |name: &XmlName| match LiveProperty::of(&name.space, &name.local) {
            Some(live) => RequestedProperty::LiveProperty(live),
            None => stored_name(name).map_or(RequestedProperty::Unknown, RequestedProperty::Stored),
        };
        let kinds = match &wanted {
            PropfindRequest::Props(names) => names.iter().map(kind_of).collect(),
            PropfindRequest::All | PropfindRequest::Names => Vec::new(),
        };
        let form = Multistatus::new(&wanted);
        PropertyRequest { wanted, kinds, form }
    }

    /// Returns whether this property is requested.
    fn asks_for(&self, live: LiveProperty) -> bool {
        let (space, local) = live.name();
        self.wanted.asks_for(space, local)
    }

    /// Appends the response for one resource.
    fn write(&self, values: &mut LiveProperties<'_>, subject: &Subject, out: &mut String) -> Outcome {
        let href = subject.href(values.context);
        let mut response = self.form.response(&href, out);
        match &self.wanted {
            PropfindRequest::All => all(values, subject, &mut response)?,
            PropfindRequest::Names => names(values, subject, &mut response)?,
            PropfindRequest::Props(names) => {
                for (name, kind) in names.iter().zip(&self.kinds) {
                    let found = match kind {
                        RequestedProperty::LiveProperty(live) => {
                            values.write(subject, *live, &mut response)?
                        }
                        RequestedProperty::Stored(stored) => match subject.props()?.get(stored) {
                            Some(value) => {
                                response.stored(stored, value);
                                true
                            }
                            None => false,
                        },
                        RequestedProperty::Unknown => false,
                    };
                    if !found {
                        response.missing(name);
                    }
                }
            }
        }
        response.finish();
        Ok(())
    }
}

fn all(values: &mut LiveProperties<'_>, subject: &Subject, response: &mut PropResponse<'_>) -> Outcome {
    for (name, value) in subject.props()?.iter() {
        response.stored(name, value);
    }
    for live in LiveProperty::ALL {
        values.write(subject, live, response)?;
    }
    Ok(())
}

fn names(values: &mut LiveProperties<'_>, subject: &Subject, response: &mut PropResponse<'_>) -> Outcome {
    for name in subject.props()?.keys() {
        response.stored_name(name);
    }
    for live in LiveProperty::ALL {
        if values.value(subject, live)?.is_some() {
            response.live(live, "");
        }
    }
    Ok(())
}
