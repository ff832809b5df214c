//! Writes records as `svnadmin dump` does: its headers, its order, its empty lines.

use std::fmt::Display;
use std::io::Write as _;

use crate::dumpfile::headers::{NodeHeaders, name};
use crate::hashdump::{self, Terminator};
use crate::{PropList, Revnum};

/// Appends the start of a stream: the format version and the repository's UUID.
pub fn write_start(out: &mut Vec<u8>, version: u32, uuid: &str) {
    header(out, name::VERSION, version);
    out.push(b'\n');
    header(out, name::UUID, uuid);
    out.push(b'\n');
}

/// Appends a whole revision record.
pub fn write_revision(out: &mut Vec<u8>, rev: Revnum, props: &PropList) {
    let mut section = Vec::with_capacity(props.bytes() + 8);
    let entries = props.iter().map(|(name, value)| (name.as_bytes(), value));
    hashdump::write(&mut section, entries, Terminator::PropsEnd);
    header(out, name::REVISION, rev);
    header(out, name::PROP_LENGTH, section.len());
    header(out, name::CONTENT_LENGTH, section.len());
    out.push(b'\n');
    out.extend_from_slice(&section);
    out.push(b'\n');
}

impl NodeHeaders<'_> {
    /// Appends the header lines. The caller appends the empty line after them, the content and the empty lines after
    /// that.
    pub fn write(&self, out: &mut Vec<u8>) {
        header(out, name::PATH, &self.path);
        if let Some(kind) = self.kind {
            header(out, name::KIND, kind.word());
        }
        if let Some(action) = self.action {
            header(out, name::ACTION, action.word());
        }
        if let Some((rev, path)) = &self.copyfrom {
            header(out, name::COPYFROM_REV, rev);
            header(out, name::COPYFROM_PATH, path);
        }
        optional(out, name::COPY_SOURCE_MD5, self.copy_source_md5);
        optional(out, name::COPY_SOURCE_SHA1, self.copy_source_sha1);
        optional(out, name::PROP_DELTA, self.prop_delta.then_some(true));
        optional(out, name::TEXT_DELTA, self.text_delta.then_some(true));
        optional(out, name::DELTA_BASE_MD5, self.delta_base_md5);
        optional(out, name::DELTA_BASE_SHA1, self.delta_base_sha1);
        optional(out, name::CONTENT_MD5, self.content_md5);
        optional(out, name::CONTENT_SHA1, self.content_sha1);
        optional(out, name::PROP_LENGTH, self.prop_length);
        optional(out, name::TEXT_LENGTH, self.text_length);
        optional(out, name::CONTENT_LENGTH, self.content_length);
    }
}

fn optional(out: &mut Vec<u8>, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        header(out, name, value);
    }
}

fn header(out: &mut Vec<u8>, name: &str, value: impl Display) {
    writeln!(out, "{name}: {value}").expect("because a Vec takes everything");
}
