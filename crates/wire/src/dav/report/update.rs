//! The update report: the state of the client's working copy, and the requested target.
//!
//! Its root's children are options first and then the client's paths, of which there may be very many: they are taken one by
//! one ([`UpdateRequest::take`]), and only the options are kept.

use base::{Code, Depth, Error, RelPath, Revnum};

use super::refusal::{Refusal, path_of, revision};
use crate::dav::names;
use crate::dav::uri;
use crate::dav::xml::Element;

/// Everything in an update report but the client's paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateRequest {
    /// The response must contain texts and properties.
    pub send_all: bool,
    /// The response must contain the properties of added nodes.
    pub include_props: bool,
    /// Path of the URL that the report is about.
    pub source: Option<String>,
    /// The revision that is wanted; `None` is the youngest.
    pub target_rev: Option<Revnum>,
    /// Path of the URL to switch to.
    pub destination: Option<String>,
    /// The one entry that the report is about, or nothing.
    pub target: String,
    /// Unrelated nodes are compared.
    pub ignore_ancestry: bool,
    /// Sources of copies are wanted.
    pub send_copyfrom: bool,
    /// Texts are not wanted.
    pub no_text: bool,
    /// The depth; `None` if it was not sent.
    pub depth: Option<Depth>,
    /// Sent by old clients without a depth: whether to descend.
    recursive: Option<bool>,
    /// Old clients request the URLs of all nodes that they get.
    pub resource_walk: bool,
}

/// One path of the client's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedEntry {
    /// Relative to the anchor of the report.
    pub path: RelPath,
    /// The revision that the client has there.
    pub rev: Revnum,
    /// How deep it has it.
    pub depth: Depth,
    /// It has none of the entries.
    pub start_empty: bool,
    /// Where the path is switched to, in the repository.
    pub link: Option<String>,
    /// Its lock.
    pub lock_token: Option<String>,
}

/// The meaning of a child of the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateItem {
    /// An option, which was stored, or an unknown element.
    Option,
    /// A path that the client has.
    Entry(ReportedEntry),
    /// A path that the client does not have.
    Missing(RelPath),
}

impl UpdateRequest {
    /// Begins with the root.
    pub fn new(root: &Element) -> Self {
        let send_all = root.attribute("send-all") == Some("true");
        UpdateRequest {
            send_all,
            ..UpdateRequest::default()
        }
    }

    /// How deep to go.
    pub fn depth(&self) -> Depth {
        match (self.depth, self.recursive) {
            (Some(depth), _) => depth,
            (None, Some(false)) => Depth::Files,
            (None, _) => Depth::Infinity,
        }
    }

    /// Reads the next child of the root.
    ///
    /// # Errors
    /// As the incumbent refuses such a child.
    pub fn take(&mut self, child: Element) -> Result<UpdateItem, Refusal> {
        if child.name.space != names::SVN {
            return Ok(UpdateItem::Option);
        }
        let text = child.text.as_str();
        match child.name.local.as_str() {
            "src-path" => self.source = Some(url_path(text, "src-path")?),
            "dst-path" => self.destination = Some(url_path(text, "dst-path")?),
            "target-revision" => self.target_rev = revision(text),
            "update-target" => self.target = path_of(text)?.as_str().to_owned(),
            "ignore-ancestry" => self.ignore_ancestry = is_not_no(text),
            "send-copyfrom-args" => self.send_copyfrom = is_not_no(text),
            "recursive" => self.recursive = Some(is_not_no(text)),
            "depth" => self.depth = Some(Depth::from_word(text.as_bytes())),
            "text-deltas" => self.no_text = !is_not_no(text),
            "include-props" => self.include_props = is_not_no(text),
            "resource-walk" => self.resource_walk = is_not_no(text),
            "entry" => return entry(&child).map(UpdateItem::Entry),
            "missing" => return Ok(UpdateItem::Missing(path_of(text)?)),
            _ => {}
        }
        Ok(UpdateItem::Option)
    }
}

fn is_not_no(text: &str) -> bool {
    text != "no"
}

fn url_path(text: &str, element: &str) -> Result<String, Refusal> {
    match uri::path_of(text) {
        Some(path) => Ok(path.to_owned()),
        None => Err(Refusal::BadRequest(Error::new(
            Code::RA_DAV_REQUEST_FAILED,
            format!("The request's '{element}' element is malformed; there is a problem with the client."),
        ))),
    }
}

/// The error for an entry without a revision, as the incumbent's.
fn invalid_top() -> Refusal {
    let message = "Invalid report for top level of working copy";
    Refusal::Failed(Error::new(Code::REPOS_BAD_REVISION_REPORT, message))
}

fn entry(element: &Element) -> Result<ReportedEntry, Refusal> {
    let Some(rev) = element.attribute("rev") else {
        let error = Error::new(Code::XML_ATTRIB_NOT_FOUND, "Missing XML attribute: rev");
        return Err(Refusal::Failed(error));
    };
    let depth = element.attribute("depth");
    Ok(ReportedEntry {
        path: path_of(&element.text)?,
        rev: revision(rev).ok_or_else(invalid_top)?,
        depth: depth.map_or(Depth::Infinity, |word| Depth::from_word(word.as_bytes())),
        start_empty: element.attribute("start-empty").is_some(),
        link: element.attribute("linkpath").map(str::to_owned),
        lock_token: element.attribute("lock-token").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::{Element, XmlLimits};

    fn read(text: &str) -> Result<(UpdateRequest, Vec<UpdateItem>), Refusal> {
        let root = Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed");
        let mut request = UpdateRequest::new(&root);
        let items = root.children.into_iter().map(|child| request.take(child));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        Ok((request, items))
    }

    #[test]
    fn what_a_client_sends_is_understood() {
        // As svn 1.14 writes it.
        let (request, items) = read(
            "<S:update-report\n   xmlns:S=\"svn:\">\n<S:include-props>yes</S:include-props>\n\
             <S:src-path>/svn/main/trunk</S:src-path>\n<S:target-revision>2</S:target-revision>\n\
             <S:dst-path>http://h/svn/main/b%20c</S:dst-path>\n<S:depth>unknown</S:depth>\n\
             <S:entry\n   rev=\"2\"\n   depth=\"infinity\"\n   start-empty=\"true\"></S:entry>\n\
             <S:entry rev=\"39\" linkpath=\"/x\" lock-token=\"t\">f2</S:entry>\n<S:missing>g</S:missing>\n\
             </S:update-report>\n",
        )
        .expect("as a client sends it");
        assert_eq!(request.source.as_deref(), Some("/svn/main/trunk"));
        assert_eq!(request.destination.as_deref(), Some("/svn/main/b%20c"));
        assert_eq!(
            (request.target_rev, request.depth()),
            (Some(Revnum(2)), Depth::Unknown)
        );
        assert!(request.include_props && !request.send_all);
        let paths: Vec<_> = items
            .into_iter()
            .filter(|item| *item != UpdateItem::Option)
            .collect();
        let [
            UpdateItem::Entry(top),
            UpdateItem::Entry(f2),
            UpdateItem::Missing(g),
        ] = &paths[..]
        else {
            panic!("{paths:?}");
        };
        assert!(top.path.is_empty() && top.start_empty && top.rev == Revnum(2));
        assert_eq!(
            (f2.link.as_deref(), f2.lock_token.as_deref()),
            (Some("/x"), Some("t"))
        );
        assert_eq!(g.as_str(), "g");
    }

    #[test]
    fn old_clients_say_how_deep_by_one_word() {
        let depth = |inner: &str| {
            let text = format!("<S:update-report xmlns:S=\"svn:\">{inner}</S:update-report>");
            read(&text).expect("well-formed").0.depth()
        };
        assert_eq!(depth(""), Depth::Infinity);
        assert_eq!(depth("<S:recursive>no</S:recursive>"), Depth::Files);
        assert_eq!(
            depth("<S:depth>empty</S:depth><S:recursive>no</S:recursive>"),
            Depth::Empty
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in [
            "<S:entry/>",
            "<S:entry rev='-1'/>",
            "<S:entry rev='1'>a//b</S:entry>",
            "<S:missing>a/</S:missing>",
            "<S:missing>../a</S:missing>",
            "<S:src-path>trunk</S:src-path>",
            "<S:dst-path/>",
            "<S:update-target>a//b</S:update-target>",
        ] {
            let text = format!("<S:update-report xmlns:S=\"svn:\">{bad}</S:update-report>");
            assert!(read(&text).is_err(), "{bad}");
        }
    }
}
