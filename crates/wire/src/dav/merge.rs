//! `MERGE`: which transaction becomes a revision, and the response that names it.

use base::{FsPath, Revnum};

use super::lock_tokens::{HeldLock, find_lock_tokens};
use super::names::DAV;
use super::uri::RepositoryUrls;
use super::xml::{self, Element};

/// The content type of the response: without a charset, unlike every other.
pub const MERGE_TYPE: &str = "text/xml";

/// The request of a `MERGE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeRequest {
    /// URL of the transaction or activity.
    pub source: String,
    /// The locks that the client holds.
    pub locks: Vec<HeldLock>,
}

impl MergeRequest {
    /// Parses a body; `None` if it is another one.
    pub fn parse(root: &Element) -> Option<MergeRequest> {
        if !root.name.is(DAV, "merge") {
            return None;
        }
        let source = root.child(DAV, "source")?.child(DAV, "href")?;
        Some(MergeRequest {
            source: source.text.trim().to_owned(),
            locks: find_lock_tokens(root),
        })
    }
}

/// The new revision, as the response shows it.
#[derive(Clone, Copy, Debug)]
pub struct MergeResponse<'a> {
    /// Its number.
    pub rev: Revnum,
    /// Its date.
    pub date: Option<&'a str>,
    /// Its author.
    pub author: Option<&'a str>,
    /// The error of what followed the revision.
    pub post_commit_error: Option<&'a str>,
}

/// Appends the beginning of the response: everything about the revision itself.
pub fn write_merged(base: &RepositoryUrls, merged: &MergeResponse<'_>, out: &mut String) {
    let more = match merged.post_commit_error {
        Some(_) => " xmlns:S=\"svn:\"",
        None => "",
    };
    out.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:merge-response xmlns:D=\"DAV:\"");
    out.push_str(more);
    out.push_str(">\n<D:updated-set>\n<D:response>\n<D:href>");
    xml::escape_text(&base.named("vcc", "default"), out);
    out.push_str("</D:href>\n<D:propstat><D:prop>\n<D:resourcetype><D:baseline/></D:resourcetype>\n");
    if let Some(error) = merged.post_commit_error {
        element("S:post-commit-err", error, out);
    }
    out.push('\n');
    element("D:version-name", &merged.rev.to_string(), out);
    out.push('\n');
    if let Some(date) = merged.date {
        element("D:creationdate", date, out);
        out.push('\n');
    }
    if let Some(author) = merged.author {
        element("D:creator-displayname", author, out);
        out.push('\n');
    }
    out.push_str(END_OF_RESPONSE);
}

/// Appends one node that the revision has changed.
pub fn write_merged_node(base: &RepositoryUrls, rev: Revnum, path: &FsPath, is_dir: bool, out: &mut String) {
    out.push_str("<D:response>\n<D:href>");
    xml::escape_text(&base.public(path), out);
    out.push_str("</D:href>\n<D:propstat><D:prop>\n");
    out.push_str(match is_dir {
        true => "<D:resourcetype><D:collection/></D:resourcetype>\n",
        false => "<D:resourcetype/>\n",
    });
    out.push_str("<D:checked-in><D:href>");
    xml::escape_text(&base.node("ver", rev, path), out);
    out.push_str("</D:href></D:checked-in>\n");
    out.push_str(END_OF_RESPONSE);
}

/// Appends the end of the response.
pub fn write_merge_end(out: &mut String) {
    out.push_str("</D:updated-set>\n</D:merge-response>\n");
}

const END_OF_RESPONSE: &str =
    "</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n</D:response>\n";

fn element(name: &str, text: &str, out: &mut String) {
    out.push('<');
    out.push_str(name);
    out.push('>');
    xml::escape_text(text, out);
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    #[test]
    fn as_svn_asks() {
        let body = br#"<?xml version="1.0" encoding="utf-8"?><D:merge xmlns:D="DAV:"><D:source><D:href>/svn/main/!svn/txn/2-2</D:href></D:source><D:no-auto-merge/><D:no-checkout/><D:prop><D:checked-in/><D:version-name/><D:resourcetype/><D:creationdate/><D:creator-displayname/></D:prop><S:lock-token-list xmlns:S="svn:"><S:lock><lock-path>a.txt</lock-path><lock-token>opaquelocktoken:1</lock-token></S:lock></S:lock-token-list></D:merge>"#;
        let root = Element::parse(body, XmlLimits::default()).expect("because it is well-formed");
        let merge = MergeRequest::parse(&root).expect("because it is well-formed");
        assert_eq!(merge.source, "/svn/main/!svn/txn/2-2");
        assert_eq!(merge.locks.len(), 1);
    }

    /// As Apache 2.4 with mod_dav_svn 1.14.2 answers.
    #[test]
    fn the_answer_is_the_incumbents_to_the_byte() {
        let base = RepositoryUrls::new("/R".into(), "!svn");
        let mut out = String::new();
        let merged = MergeResponse {
            rev: Revnum(4),
            date: Some("2026-11-21T19:31:22.137689Z"),
            author: None,
            post_commit_error: None,
        };
        write_merged(&base, &merged, &mut out);
        let path = |text| FsPath::parse(text).expect("because it is well-formed");
        write_merged_node(&base, Revnum(4), &path("/trunk/b.txt"), false, &mut out);
        write_merged_node(&base, Revnum(4), &path("/trunk"), true, &mut out);
        write_merge_end(&mut out);
        assert_eq!(
            out,
            r#"<?xml version="1.0" encoding="utf-8"?>
<D:merge-response xmlns:D="DAV:">
<D:updated-set>
<D:response>
<D:href>/R/!svn/vcc/default</D:href>
<D:propstat><D:prop>
<D:resourcetype><D:baseline/></D:resourcetype>

<D:version-name>4</D:version-name>
<D:creationdate>2026-11-21T19:31:22.137689Z</D:creationdate>
</D:prop>
<D:status>HTTP/1.1 200 OK</D:status>
</D:propstat>
</D:response>
<D:response>
<D:href>/R/trunk/b.txt</D:href>
<D:propstat><D:prop>
<D:resourcetype/>
<D:checked-in><D:href>/R/!svn/ver/4/trunk/b.txt</D:href></D:checked-in>
</D:prop>
<D:status>HTTP/1.1 200 OK</D:status>
</D:propstat>
</D:response>
<D:response>
<D:href>/R/trunk</D:href>
<D:propstat><D:prop>
<D:resourcetype><D:collection/></D:resourcetype>
<D:checked-in><D:href>/R/!svn/ver/4/trunk</D:href></D:checked-in>
</D:prop>
<D:status>HTTP/1.1 200 OK</D:status>
</D:propstat>
</D:response>
</D:updated-set>
</D:merge-response>
"#
        );
    }
}
