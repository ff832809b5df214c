//! Elements of XML that several subcommands print: the last change of a node, and its lock.

use base::{Date, Lock, Revnum};

use crate::xml;

/// Returns the element `<commit>`.
pub fn commit(rev: Revnum, author: Option<&str>, date: Option<Date>) -> String {
    let mut text = xml::tag("commit", &[("revision", &rev.to_string())], ">\n");
    if let Some(author) = author {
        text.push_str(&element("author", author));
    }
    if let Some(date) = date {
        text.push_str(&element("date", &date.to_string()));
    }
    text.push_str("</commit>\n");
    text
}

/// Returns the element `<lock>`.
pub fn lock(lock: &Lock) -> String {
    let mut text = String::from("<lock>\n");
    text.push_str(&element("token", &lock.token));
    text.push_str(&element("owner", &lock.owner));
    if let Some(comment) = &lock.comment {
        text.push_str(&element("comment", comment));
    }
    text.push_str(&element("created", &lock.created.to_string()));
    if let Some(expires) = lock.expires {
        text.push_str(&element("expires", &expires.to_string()));
    }
    text.push_str("</lock>\n");
    text
}

/// Returns an element with text, in one line.
pub fn element(name: &str, text: &str) -> String {
    format!("<{name}>{}</{name}>\n", xml::text(text))
}
