//! Dates and numbers of revisions, and the head of a file's revision.

use base::props::PropChange;
use base::{Date, Props, Revnum};

use super::begin;
use super::refusal::Refusal;
use super::xml_writer::XmlWriter;
use crate::dav::names;
use crate::dav::xml::Element;

/// The date of a `dated-rev-report`, in a form that is stored.
///
/// # Errors
/// If it is missing or in another form.
pub fn dated_rev(root: &Element) -> Result<Date, Refusal> {
    let date = root.child(names::DAV, "creationdate").ok_or(Refusal::Bad)?;
    Date::parse(date.text.trim_ascii().as_bytes()).map_err(|_| Refusal::Bad)
}

/// Writes a response that is only a revision's number; -1 if there is none.
pub fn write_revision(out: &mut Vec<u8>, root: &str, rev: Option<Revnum>) {
    begin(out, root);
    XmlWriter(out)
        .raw("<D:version-name>")
        .rev(rev)
        .raw("</D:version-name></")
        .raw(root)
        .raw(">");
}

/// The data about one revision of a file that precedes its text.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields are the parts of the answer")]
pub struct FileRevHead<'a> {
    pub path: &'a str,
    pub rev: Revnum,
    pub revprops: &'a Props,
    pub prop_changes: &'a [PropChange],
    pub merged: bool,
    /// A text follows.
    pub has_text: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    #[test]
    fn only_stored_forms_of_dates_are_taken() {
        let date = |text: &str| {
            let text =
                format!("<S:r xmlns:S='svn:' xmlns:D='DAV:'><D:creationdate>{text}</D:creationdate></S:r>");
            dated_rev(&Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed"))
        };
        for good in [
            "2026-11-21T19:31:22.137689Z",
            " 10000-01-01T00:00:00.000000Z\n",
            "2026-11-21T19:31:22.137689Z and more",
            "Sat 5 Aug 2000 13:07:22.123456 (day 217, dst 1, gmt_off -25200)",
        ] {
            assert!(date(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "2030-01-01T00:00:00Z",
            "2030-01-01",
            "2026-11-21T19:31:22.137689é",
        ] {
            assert!(date(bad).is_err(), "{bad}");
        }
        let mut out = Vec::new();
        write_revision(&mut out, "S:x", None);
        assert!(out.ends_with(b"xmlns:D=\"DAV:\">\n<D:version-name>-1</D:version-name></S:x>"));
    }
}
