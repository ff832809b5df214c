//! The log report.

use base::{Code, Error, NodeKind, Revnum, props};

use super::refusal::{Refusal, parts, path, revision};
use super::xml_writer::XmlWriter;
use crate::dav::xml::{self, Element};
use crate::svn::command::{Log, LogRevprops};

/// The request: the same as over `svn://`, and the form of the response.
#[derive(Clone, Debug)]
pub struct LogReport {
    /// The request.
    pub log: Log,
    /// Values that XML cannot hold are wanted in base64; else they are made readable somehow.
    pub encode_binary: bool,
}

impl LogReport {
    /// Reads a request.
    ///
    /// # Errors
    /// As the incumbent refuses it.
    pub fn parse(root: &Element) -> Result<LogReport, Refusal> {
        let mut encode_binary = false;
        let mut log = Log {
            paths: Vec::new(),
            start: None,
            end: None,
            changed_paths: false,
            strict: false,
            limit: 0,
            include_merged: false,
            revprops: LogRevprops::Standard,
        };
        for (name, part) in parts(root) {
            match name {
                "start-revision" => log.start = revision(&part.text),
                "end-revision" => log.end = revision(&part.text),
                "limit" => log.limit = limit(&part.text)?,
                "discover-changed-paths" => log.changed_paths = true,
                "strict-node-history" => log.strict = true,
                "include-merged-revisions" => log.include_merged = true,
                "encode-binary-props" => encode_binary = true,
                "all-revprops" => log.revprops = LogRevprops::All,
                "no-revprops" => log.revprops = LogRevprops::Some(Vec::new()),
                "revprop" => match &mut log.revprops {
                    LogRevprops::Some(names) => names.push(part.text.clone()),
                    LogRevprops::Standard => log.revprops = LogRevprops::Some(vec![part.text.clone()]),
                    LogRevprops::All => {}
                },
                "path" => log.paths.push(path(part)?.as_str().to_owned()),
                _ => {}
            }
        }
        Ok(LogReport { log, encode_binary })
    }
}

fn limit(text: &str) -> Result<u64, Refusal> {
    match text.parse::<i32>() {
        // A negative number is no limit.
        Ok(limit) => Ok(u64::try_from(limit).unwrap_or(0)),
        Err(_) => Err(Refusal::BadRequest(Error::new(
            Code::INCORRECT_PARAMS,
            format!("Could not convert '{text}' into a number"),
        ))),
    }
}

/// One changed path of an item.
#[derive(Clone, Copy, Debug)]
pub struct LoggedChange<'a> {
    /// The path, absolute.
    pub path: &'a str,
    /// `modified`, `added`, `replaced` or `deleted`.
    pub what: &'static str,
    /// Source of a copy.
    pub copyfrom: Option<(&'a str, Revnum)>,
    /// Kind of the node.
    pub kind: NodeKind,
    /// The text changed.
    pub text_mods: bool,
    /// Properties changed.
    pub prop_mods: bool,
}

/// Writes one item: changes, then the revision, then properties, then the end.
pub struct LogItem<'a>(XmlWriter<'a>);

impl<'a> LogItem<'a> {
    /// Begins.
    pub fn begin(out: &'a mut Vec<u8>) -> Self {
        let mut out = XmlWriter(out);
        out.raw("<S:log-item>\n");
        LogItem(out)
    }

    /// A changed path.
    pub fn change(&mut self, change: &LoggedChange<'_>) -> &mut Self {
        let out = &mut self.0;
        out.raw("<S:").raw(change.what).raw("-path");
        if let Some((path, rev)) = change.copyfrom {
            out.attribute("copyfrom-path", path)
                .rev_attribute("copyfrom-rev", Some(rev));
        }
        out.attribute("node-kind", change.kind.word())
            .attribute("text-mods", word(change.text_mods))
            .attribute("prop-mods", word(change.prop_mods))
            .raw(">")
            .text(change.path)
            .raw("</S:")
            .raw(change.what)
            .raw("-path>\n");
        self
    }

    /// The revision; -1 ends the items below the last one with children.
    pub fn revision(&mut self, rev: Option<Revnum>) -> &mut Self {
        self.0.raw("<D:version-name>").rev(rev).raw("</D:version-name>\n");
        self
    }

    /// A property of the revision.
    pub fn prop(&mut self, name: &str, value: &[u8], encode_binary: bool) -> &mut Self {
        let out = &mut self.0;
        let element = match name {
            props::AUTHOR => "D:creator-displayname",
            props::DATE => "S:date",
            props::LOG => "D:comment",
            _ => "S:revprop",
        };
        out.raw("<").raw(element);
        if element == "S:revprop" {
            out.attribute("name", name);
        }
        match encode_binary || xml::safe(value).is_some() {
            true => out.value(element, value),
            false => out.raw(">").fuzzy_text(value).raw("</").raw(element).raw(">\n"),
        };
        self
    }

    /// Ends.
    pub fn end(&mut self, has_children: bool, subtractive_merge: bool) {
        if has_children {
            self.0.raw("<S:has-children/>");
        }
        if subtractive_merge {
            self.0.raw("<S:subtractive-merge/>");
        }
        self.0.raw("</S:log-item>\n");
    }
}

fn word(is: bool) -> &'static str {
    if is { "true" } else { "false" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dav::xml::XmlLimits;

    fn parse(inner: &str) -> Result<LogReport, Refusal> {
        let text = format!("<S:log-report xmlns:S=\"svn:\">{inner}</S:log-report>");
        LogReport::parse(&Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed"))
    }

    #[test]
    fn a_question_is_understood() {
        let asked = parse(
            "<S:start-revision>3</S:start-revision><S:end-revision>-1</S:end-revision><S:limit>7</S:limit>\
             <S:discover-changed-paths/><S:revprop>svn:author</S:revprop><S:revprop>x</S:revprop>\
             <S:path></S:path><S:path>A/mu</S:path><S:encode-binary-props/>",
        )
        .expect("as a client sends it");
        let log = asked.log;
        assert_eq!((log.start, log.end, log.limit), (Some(Revnum(3)), None, 7));
        assert!(log.changed_paths && !log.strict && !log.include_merged && asked.encode_binary);
        assert_eq!(log.paths, ["", "A/mu"]);
        assert_eq!(
            log.revprops,
            LogRevprops::Some(vec!["svn:author".into(), "x".into()])
        );
        let revprops = |inner| parse(inner).expect("well-formed").log.revprops;
        assert_eq!(revprops(""), LogRevprops::Standard);
        assert_eq!(revprops("<S:no-revprops/>"), LogRevprops::Some(Vec::new()));
        assert_eq!(revprops("<S:all-revprops/>"), LogRevprops::All);
        assert_eq!(parse("<S:limit>-2</S:limit>").expect("no limit").log.limit, 0);
        assert!(parse("<S:limit>x</S:limit>").is_err());
        assert!(parse("<S:path>a//b</S:path>").is_err());
    }

    #[test]
    fn items_are_written_as_the_incumbent_writes_them() {
        let mut out = Vec::new();
        let mut item = LogItem::begin(&mut out);
        item.change(&LoggedChange {
            path: "/trunk/a & b",
            what: "added",
            copyfrom: Some(("/trunk/sub", Revnum(2))),
            kind: NodeKind::Dir,
            text_mods: false,
            prop_mods: true,
        });
        item.revision(Some(Revnum(3)));
        item.prop("svn:date", b"2026-11-21T19:31:22.137689Z", true);
        item.prop("svn:log", b"a <b>\r\n", true);
        item.prop("svn:author", b"\x01", true);
        item.prop("x", b"\x01", false);
        item.end(true, true);
        LogItem::begin(&mut out).revision(None).end(false, false);
        let expected = "<S:log-item>\n<S:added-path copyfrom-path=\"/trunk/sub\" copyfrom-rev=\"2\" \
             node-kind=\"dir\" text-mods=\"false\" prop-mods=\"true\">/trunk/a &amp; b</S:added-path>\n\
             <D:version-name>3</D:version-name>\n<S:date>2026-11-21T19:31:22.137689Z</S:date>\n\
             <D:comment>a &lt;b&gt;&#13;\n</D:comment>\n\
             <D:creator-displayname encoding=\"base64\">AQ==\n</D:creator-displayname>\n\
             <S:revprop name=\"x\">?\\001</S:revprop>\n<S:has-children/><S:subtractive-merge/></S:log-item>\n\
             <S:log-item>\n<D:version-name>-1</D:version-name>\n</S:log-item>\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
