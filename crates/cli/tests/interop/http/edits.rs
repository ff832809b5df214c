//! Update reports: a random report as XML, and the edit of the response in a canonical order.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use testkit::history::Random;
use wire::dav::uri::encode;
use wire::dav::xml::Element;

use crate::random::drive::{Child, EditFacts, in_order, made};
use crate::random::report::{RandomReport, ReportOperation};

/// Returns a report as the body of a request; `PORT` stands for the server's port. Options that svn:// does not have
/// are random.
pub fn xml(report: &RandomReport, random: &mut Random) -> String {
    let source = |path: &str| format!("http://127.0.0.1:PORT{}", url(path));
    let send_all = random.below(3) > 0;
    let mut out = format!("<S:update-report xmlns:S=\"svn:\" send-all=\"{send_all}\">");
    out += &element("src-path", &source(&report.anchor));
    if let Some(target) = report.target {
        _ = write!(out, "<S:target-revision>{target}</S:target-revision>");
    }
    match report.depth {
        Some(depth) => out += &element("depth", depth),
        None if !report.recurse => out += &element("recursive", "no"),
        None => {}
    }
    if matches!(report.operation, ReportOperation::Switch | ReportOperation::Diff) {
        out += &element("dst-path", &source(&report.other));
    }
    if !report.operand.is_empty() || random.below(8) == 0 {
        out += &element("update-target", &report.operand);
    }
    for (flag, value, is_set) in [
        ("ignore-ancestry", "yes", report.ignore_ancestry),
        ("send-copyfrom-args", "yes", report.send_copyfrom),
        ("include-props", "yes", random.below(2) == 0),
        (
            "text-deltas",
            "no",
            report.operation == ReportOperation::Status || !report.text_deltas,
        ),
    ] {
        if is_set {
            out += &element(flag, value);
        }
    }
    for entry in &report.entries {
        let Some(held) = &entry.held else {
            out += &element("missing", &entry.path);
            continue;
        };
        _ = write!(out, "<S:entry rev=\"{}\"", held.rev);
        if let Some(depth) = held.depth {
            _ = write!(out, " depth=\"{depth}\"");
        }
        if held.start_empty {
            out += " start-empty=\"true\"";
        }
        if let Some(token) = &held.token {
            _ = write!(out, " lock-token=\"{}\"", text(token));
        }
        if let Some(link) = &held.link {
            let link = if link.is_empty() { "/" } else { link };
            _ = write!(out, " linkpath=\"{}\"", text(link));
        }
        _ = write!(out, ">{}</S:entry>", text(&entry.path));
    }
    out + "</S:update-report>"
}

/// Formats the response to an update report in a canonical order.
pub fn shown(element: &Element, known: &EditFacts<'_>) -> String {
    node(element, "", known)
}

fn node(element: &Element, path: &str, known: &EditFacts<'_>) -> String {
    let local = element.name.local.as_str();
    let attributes: BTreeMap<&str, &str> = element
        .attributes
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let (mut nodes, mut others) = (Vec::new(), Vec::new());
    for child in &element.children {
        let local = child.name.local.as_str();
        let name = child.attributes.iter().find(|(name, _)| name.as_str() == "name");
        match name {
            Some((_, name)) if NODES.contains(&local) => nodes.push(Child {
                name: name.as_str().to_owned(),
                gone: local == "delete-entry",
                reported: node(child, &format!("{path}/{name}"), known),
            }),
            _ => others.push(node(child, path, known)),
        }
    }
    others.sort();
    let nodes = in_order(path, nodes, &known.reported);
    let value = match (local, element.children.is_empty()) {
        ("txdelta", _) => {
            let base = attributes.get("base-checksum").copied();
            let delta = unbase64(&element.text);
            let whole = known.texts.and_then(|texts| made(base, &delta, texts));
            whole.unwrap_or_default()
        }
        (_, true) => element.text.trim().to_owned(),
        (_, false) => String::new(),
    };
    format!(
        "({} {local} {attributes:?} {value:?}\n{}{})",
        element.name.space,
        others.concat(),
        nodes.concat()
    )
}

fn unbase64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::new());
    for six in text.bytes().filter_map(value) {
        bits = (bits << 6) | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count).to_le_bytes()[0]);
        }
    }
    out
}

/// Returns the URL of a path, without scheme and host.
pub fn url(path: &str) -> String {
    let mut out = String::from("/repo");
    encode(path, &mut out);
    out
}

/// Returns an element with a text.
pub fn element(name: &str, value: &str) -> String {
    format!("<S:{name}>{}</S:{name}>", text(value))
}

/// Escapes a text for XML.
pub fn text(value: &str) -> String {
    value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

const NODES: [&str; 7] = [
    "open-directory",
    "add-directory",
    "open-file",
    "add-file",
    "delete-entry",
    "absent-directory",
    "absent-file",
];
