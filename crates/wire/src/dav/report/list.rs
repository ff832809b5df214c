//! The list report.

use base::{Code, Depth, Error, NodeKind, RelPath, Revnum};

use super::refusal::{Refusal, parts, path, revision};
use super::xml_writer::XmlWriter;
use crate::dav::xml::Element;
use crate::svn::command::Fields;
use crate::svn::response::Dirent;
use crate::text::fuzzy;

/// The question.
#[derive(Clone, Debug)]
pub struct ListReport {
    /// Where to begin.
    pub path: RelPath,
    /// The revision, if one was given.
    pub rev: Option<Revnum>,
    /// How deep.
    pub depth: Depth,
    /// The patterns of names; all match if there are none, and none match an empty list.
    pub patterns: Option<Vec<String>>,
    /// The fields to return for each node.
    pub fields: Fields,
}

impl ListReport {
    /// Reads a request.
    ///
    /// # Errors
    /// If the path is missing.
    pub fn parse(root: &Element) -> Result<Self, Refusal> {
        let mut at = None;
        let mut rev = None;
        let mut depth = Depth::Unknown;
        let mut patterns: Option<Vec<String>> = None;
        let mut fields = Fields::NONE;
        for (name, part) in parts(root) {
            match name {
                "path" => at = Some(path(part)?),
                "revision" => rev = revision(&part.text),
                "depth" => depth = Depth::from_word(part.text.as_bytes()),
                "no-patterns" => patterns = Some(patterns.unwrap_or_default()),
                "pattern" => patterns.get_or_insert_default().push(part.text.clone()),
                "prop" => fields = with(fields, &part.text),
                _ => {}
            }
        }
        let path = at.ok_or_else(|| {
            let message = "Request was missing the path argument";
            Refusal::BadRequest(Error::new(Code::RA_DAV_REQUEST_FAILED, message))
        })?;
        Ok(ListReport {
            path,
            rev,
            depth,
            patterns,
            fields,
        })
    }
}

fn with(fields: Fields, prop: &str) -> Fields {
    match prop {
        "DAV:resourcetype" => fields.with(Fields::KIND),
        "DAV:getcontentlength" => fields.with(Fields::SIZE),
        "http://subversion.tigris.org/xmlns/dav/deadprop-count" => fields.with(Fields::HAS_PROPS),
        "DAV:version-name" => fields.with(Fields::CREATED_REV),
        "DAV:creationdate" => fields.with(Fields::TIME),
        "DAV:creator-displayname" => fields.with(Fields::LAST_AUTHOR),
        "DAV:allprop" => [
            Fields::KIND,
            Fields::SIZE,
            Fields::HAS_PROPS,
            Fields::CREATED_REV,
            Fields::TIME,
            Fields::LAST_AUTHOR,
        ]
        .into_iter()
        .fold(fields, Fields::with),
        _ => fields,
    }
}

/// Writes one node.
pub fn write_item(out: &mut Vec<u8>, path: &str, dirent: &Dirent<'_>, fields: Fields) {
    let mut out = XmlWriter(out);
    let kind = match fields.has(Fields::KIND) {
        true => dirent.kind,
        false => NodeKind::Unknown,
    };
    out.raw("<S:item").attribute("node-kind", kind.word());
    if fields.has(Fields::SIZE) {
        out.raw(" size=\"");
        match dirent.size {
            Some(size) => out.number(size),
            None => out.raw("-1"),
        };
        out.raw("\"");
    }
    if fields.has(Fields::HAS_PROPS) {
        out.attribute("has-props", if dirent.has_props { "true" } else { "false" });
    }
    if fields.has(Fields::CREATED_REV) {
        out.rev_attribute("created-rev", Some(dirent.created_rev));
    }
    if let Some(date) = dirent.date.filter(|_| fields.has(Fields::TIME)) {
        out.attribute("date", &fuzzy(date));
    }
    out.raw(">").text(path);
    if let Some(author) = dirent.author.filter(|_| fields.has(Fields::LAST_AUTHOR)) {
        out.raw("<D:creator-displayname>")
            .fuzzy_text(author)
            .raw("</D:creator-displayname>");
    }
    out.raw("</S:item>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    fn parse(inner: &str) -> Result<ListReport, Refusal> {
        let text = format!("<S:list-report xmlns:S=\"svn:\">{inner}</S:list-report>");
        ListReport::parse(&Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed"))
    }

    #[test]
    fn no_patterns_and_an_empty_list_of_them_are_different() {
        let patterns = |inner: &str| {
            let text = format!("<S:path>a</S:path>{inner}");
            parse(&text).expect("complete").patterns
        };
        assert_eq!(patterns(""), None);
        assert_eq!(patterns("<S:no-patterns/>"), Some(Vec::new()));
        assert_eq!(
            patterns("<S:pattern>a*</S:pattern><S:pattern>b</S:pattern>"),
            Some(vec!["a*".to_owned(), "b".to_owned()])
        );
        assert!(parse("").is_err());
    }

    #[test]
    fn items_show_what_was_asked_for() {
        let asked = parse("<S:path/><S:prop>DAV:allprop</S:prop>").expect("complete");
        let dirent = Dirent {
            kind: NodeKind::File,
            size: Some(33),
            has_props: false,
            created_rev: Revnum(3),
            date: Some(b"2026-11-21T19:31:22.137689Z"),
            author: Some(b"<u>"),
        };
        let mut out = Vec::new();
        write_item(&mut out, "/trunk/a.txt", &dirent, asked.fields);
        write_item(&mut out, "/b", &dirent, Fields::NONE);
        let expected = "<S:item node-kind=\"file\" size=\"33\" has-props=\"false\" created-rev=\"3\" \
             date=\"2026-11-21T19:31:22.137689Z\">/trunk/a.txt<D:creator-displayname>&lt;u&gt;\
             </D:creator-displayname></S:item>\n<S:item node-kind=\"unknown\">/b</S:item>\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
