//! From header lines to values.

use base::checksum::{Md5, Sha1};
use base::{Code, Error, NodeKind, Result, Revnum};

use crate::dumpfile::headers::{Action, NodeHeaders, name};

/// Headers before it is known what they belong to.
#[derive(Default)]
pub(super) struct Raw {
    pub version: Option<u32>,
    pub uuid: Option<String>,
    pub revision: Option<Revnum>,
    pub has_path: bool,
    copyfrom_rev: Option<Revnum>,
    copyfrom_path: Option<String>,
    pub node: NodeHeaders<'static>,
}

impl Raw {
    /// Takes one header; a later one of the same name wins, unknown ones are ignored.
    pub fn set(&mut self, header: &[u8], value: &[u8]) -> Result<()> {
        let Ok(header) = std::str::from_utf8(header) else {
            return Ok(());
        };
        let node = &mut self.node;
        match header {
            name::VERSION => self.version = Some(supported_version(value)?),
            name::UUID => self.uuid = Some(String::from_utf8_lossy(value).into_owned()),
            name::REVISION => self.revision = Some(revision(value)?),
            name::PATH => {
                self.has_path = true;
                node.path = path(value)?.into();
            }
            name::KIND => {
                let kind = NodeKind::from_word(value);
                node.kind = kind.filter(|kind| matches!(kind, NodeKind::File | NodeKind::Dir));
            }
            name::ACTION => node.action = Action::from_word(value),
            name::COPYFROM_REV => self.copyfrom_rev = Some(revision(value)?),
            name::COPYFROM_PATH => self.copyfrom_path = Some(path(value)?),
            name::COPY_SOURCE_MD5 => node.copy_source_md5 = Some(md5(value)?),
            name::COPY_SOURCE_SHA1 => node.copy_source_sha1 = Some(sha1(value)?),
            name::PROP_DELTA => node.prop_delta = value == b"true",
            name::TEXT_DELTA => node.text_delta = value == b"true",
            name::DELTA_BASE_MD5 => node.delta_base_md5 = Some(md5(value)?),
            name::DELTA_BASE_SHA1 => node.delta_base_sha1 = Some(sha1(value)?),
            name::CONTENT_MD5 => node.content_md5 = Some(md5(value)?),
            name::CONTENT_SHA1 => node.content_sha1 = Some(sha1(value)?),
            name::PROP_LENGTH => node.prop_length = Some(number(value)?),
            name::TEXT_LENGTH => node.text_length = Some(number(value)?),
            name::CONTENT_LENGTH => node.content_length = Some(number(value)?),
            _ => {}
        }
        if let (Some(rev), Some(path)) = (self.copyfrom_rev, &self.copyfrom_path) {
            node.copyfrom = Some((rev, path.clone().into()));
        }
        Ok(())
    }
}

pub(super) fn supported_version(value: &[u8]) -> Result<u32> {
    let version = number(value.trim_ascii())?;
    match u32::try_from(version) {
        Ok(version @ 0..=NEWEST) => Ok(version),
        _ => Err(Error::new(
            Code::STREAM_MALFORMED_DATA,
            format!("Unsupported dumpfile version: {version}"),
        )),
    }
}

pub(super) fn number(value: &[u8]) -> Result<u64> {
    revision(value).map(|number| number.0)
}

fn revision(value: &[u8]) -> Result<Revnum> {
    Revnum::parse(value).ok_or_else(|| {
        let shown = String::from_utf8_lossy(&value[..value.len().min(SHOWN)]).into_owned();
        Error::new(
            Code::INCORRECT_PARAMS,
            format!("Could not convert '{shown}' into a number"),
        )
    })
}

fn path(value: &[u8]) -> Result<String> {
    String::from_utf8(value.to_vec()).map_err(|_| {
        let shown = String::from_utf8_lossy(value);
        Error::new(Code::FS_PATH_SYNTAX, format!("Path '{shown}' is not in UTF-8"))
    })
}

fn md5(value: &[u8]) -> Result<Md5> {
    Md5::parse_hex(value).ok_or_else(bad_checksum)
}

fn sha1(value: &[u8]) -> Result<Sha1> {
    Sha1::parse_hex(value).ok_or_else(bad_checksum)
}

fn bad_checksum() -> Error {
    Error::new(Code::BAD_CHECKSUM_PARSE, "Invalid character in hex checksum")
}

/// The newest version of the format.
const NEWEST: u32 = 3;
/// How much of a bad line an error shows, bytes.
pub(super) const SHOWN: usize = 20;
