//! Reports: requests that need more than a method and a path, and their responses. One file for each.
//!
//! A report is an XML document whose root says what is asked. [`ReportKind`] knows the roots; each file turns the document
//! into a typed request, and appends the answer, piece by piece, to the buffer that is being sent. Texts travel as svndiff in
//! base64 on one line ([`Base64Text`]): windows that are stored as the client takes them pass through without being decoded.
//!
//! An error in a request is a [`Refusal`]: its description, and whether it is the client's fault.

mod base64_text;
mod history;
mod iprops;
mod list;
mod locks;
mod log;
mod mergeinfo;
mod refusal;
mod replay;
mod resource_walk;
mod revs;
mod update;
mod update_edit;
mod xml_writer;

pub use base64_text::Base64Text;
pub use history::{FILE_REV_END, write_file_rev, write_location, write_segment};
pub use history::{FileRevs, GetDeletedRev, GetLocations, LocationSegments};
pub use iprops::{InheritedProps, write_inherited};
pub use list::{ListReport, write_item};
pub use locks::{locks_depth, write_lock};
pub use log::{LogItem, LogReport, LoggedChange};
pub use mergeinfo::{MergeinfoReport, write_mergeinfo};
pub use refusal::Refusal;
pub use replay::{ReplayEditor, ReplayReport};
pub use resource_walk::ResourceWalk;
pub use revs::{FileRevHead, dated_rev, write_revision};
pub use update::{ReportedEntry, UpdateItem, UpdateRequest};
pub use update_edit::{Hrefs, UpdateEditor, UpdateForm};
pub use xml_writer::{DECLARATION, XmlWriter};

use base::Result;

use super::names;
use super::xml::XmlName;

/// Begins an answer: the declaration and the root element.
pub fn begin(out: &mut Vec<u8>, root: &str) {
    XmlWriter(out)
        .raw(DECLARATION)
        .raw("<")
        .raw(root)
        .raw(" xmlns:S=\"svn:\" xmlns:D=\"DAV:\">\n");
}

/// Ends what [`begin`] began.
pub fn end(out: &mut Vec<u8>, root: &str) {
    XmlWriter(out).raw("</").raw(root).raw(">\n");
}

/// Sends a response.
pub trait ResponseSink {
    /// Returns the buffer of bytes to send.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// Marks a point at which the buffer may be sent: sends it if it is large enough.
    ///
    /// # Errors
    /// If the connection is closed.
    fn checkpoint(&mut self) -> Result<()>;
}

/// The reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub enum ReportKind {
    Update,
    DatedRev,
    Log,
    GetLocations,
    GetLocationSegments,
    FileRevs,
    GetDeletedRev,
    GetLocks,
    Mergeinfo,
    InheritedProps,
    List,
    Replay,
}

impl ReportKind {
    /// The report with this root element.
    pub fn of(root: &XmlName) -> Option<ReportKind> {
        if root.space != names::SVN {
            return None;
        }
        Some(match root.local.as_str() {
            "update-report" => ReportKind::Update,
            "dated-rev-report" => ReportKind::DatedRev,
            "log-report" => ReportKind::Log,
            "get-locations" => ReportKind::GetLocations,
            "get-location-segments" => ReportKind::GetLocationSegments,
            "file-revs-report" => ReportKind::FileRevs,
            "get-deleted-rev-report" => ReportKind::GetDeletedRev,
            "get-locks-report" => ReportKind::GetLocks,
            "mergeinfo-report" => ReportKind::Mergeinfo,
            "inherited-props-report" => ReportKind::InheritedProps,
            "list-report" => ReportKind::List,
            "replay-report" => ReportKind::Replay,
            _ => return None,
        })
    }
}

#[cfg(test)]
impl ResponseSink for Vec<u8> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self
    }

    fn checkpoint(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::{Element, XmlLimits};

    #[test]
    fn reports_are_known_by_name_and_namespace() {
        let kind = |text: &str| {
            let root = Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed");
            ReportKind::of(&root.name)
        };
        assert_eq!(kind("<a:log-report xmlns:a='svn:'/>"), Some(ReportKind::Log));
        assert_eq!(
            kind("<get-locations xmlns='svn:'/>"),
            Some(ReportKind::GetLocations)
        );
        assert_eq!(kind("<log-report xmlns='DAV:'/>"), None);
        assert_eq!(kind("<log-report/>"), None);
        assert_eq!(kind("<x xmlns='svn:'/>"), None);
    }
}
