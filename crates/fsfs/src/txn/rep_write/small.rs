//! Short contents: directories and property lists, written at the commit.

use ::delta::window::WINDOW_SIZE;
use base::checksum::{Md5, Sha1};
use base::{NodeKind, Result, Revnum};

use super::choose::{ContentKind, delta_base};
use super::encode::Encoder;
use super::share::{NewContent, RepSharing};
use crate::format::noderev::NodeRev;
use crate::format::p2l::ItemKind;
use crate::format::rep_header::RepHeader;
use crate::format::rep_line::{Rep, RepLocation, Uniquifier};
use crate::tree::Fs;
use crate::txn::proto_rev::ProtoWriter;

/// The kind of a short content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmallRep {
    /// The entries of a directory: never shared, without uniquifier.
    Dir,
    /// A property list, of a file or a directory according to the node, with its uniquifier.
    Props(Option<Uniquifier>),
}

/// Writes `content` (in hash dump form) as the new directory or property list of `node` in revision `rev`, as a delta or plain
/// (by configuration), unless it is stored already. Returns the rep line for the committed node-revision: the address is in
/// revision `rev` or an earlier one, and the digests are those that the format records.
///
/// # Errors
/// `FS_CORRUPT` for wrong rep-cache rows, `FS_AMBIGUOUS_CHECKSUM_REP`; those of reading the base; the system's.
pub(crate) fn write_small_rep(
    fs: &Fs,
    proto: &mut ProtoWriter,
    what: SmallRep,
    content: &[u8],
    node: &NodeRev,
    rev: Revnum,
    sharing: &mut RepSharing,
) -> Result<Rep> {
    let mut rep = unstored_rep(content);
    let (content_kind, kind, is_delta) = match what {
        SmallRep::Dir => (ContentKind::Text, ItemKind::DirText, fs.conf().dir_deltification),
        SmallRep::Props(uniquifier) => {
            rep.uniquifier = uniquifier;
            if fs.conf().rep_sharing || fs.format().records_props_sha1() {
                rep.sha1 = Some(Sha1::of(content));
            }
            let kind = match node.kind {
                NodeKind::Dir => ItemKind::DirProps,
                _ => ItemKind::FileProps,
            };
            (ContentKind::Props, kind, fs.conf().props_deltification)
        }
    };
    let shared = sharing.find(
        &NewContent {
            rep,
            offset: proto.offset(),
            bytes: Some(content),
        },
        proto,
    )?;
    let mut rep = match shared {
        Some(shared) => committed_rep(shared, rev),
        None => {
            let base = match is_delta {
                true => delta_base(fs, node, content_kind, rev.prev().unwrap_or(rev))?,
                false => None,
            };
            let offset = proto.start_item();
            rep.length = match is_delta {
                true => append_delta(fs, proto, base, content)?,
                false => append_plain(proto, content)?,
            };
            proto.append(END)?;
            rep.location = RepLocation::Rev(rev, proto.end_item(kind, None)?);
            if content_kind == ContentKind::Props {
                sharing.add_props(rep, offset);
            }
            rep
        }
    };
    if !fs.format().records_props_sha1() {
        rep.sha1 = None;
    }
    Ok(rep)
}

/// Returns the rep line of a content that is not stored yet, without SHA-1.
fn unstored_rep(content: &[u8]) -> Rep {
    Rep {
        location: RepLocation::Mutable,
        length: 0,
        expanded: content.len() as u64,
        md5: Md5::of(content),
        sha1: None,
        uniquifier: None,
    }
}

/// Returns a shared rep line as it is after the commit of `rev`: the shared content may be a file's text of this transaction.
fn committed_rep(shared: Rep, rev: Revnum) -> Rep {
    let location = match shared.location {
        RepLocation::Txn(item) => RepLocation::Rev(rev, item),
        location => location,
    };
    Rep { location, ..shared }
}

fn append_delta(fs: &Fs, proto: &mut ProtoWriter, base: Option<Rep>, content: &[u8]) -> Result<u64> {
    let (mut encoder, header) = Encoder::new(fs, base.as_ref())?;
    append_header(proto, header)?;
    let start = encoder.start();
    let mut length = start.len();
    proto.append(start)?;
    for piece in content.chunks(WINDOW_SIZE) {
        let window = encoder.window(piece)?;
        length += window.len();
        proto.append(window)?;
    }
    Ok(length as u64)
}

fn append_plain(proto: &mut ProtoWriter, content: &[u8]) -> Result<u64> {
    append_header(proto, RepHeader::Plain)?;
    proto.append(content)?;
    Ok(content.len() as u64)
}

pub(super) fn append_header(proto: &mut ProtoWriter, header: RepHeader) -> Result<()> {
    let mut line = Vec::new();
    header.encode(&mut line);
    proto.append(&line)
}

/// The line after the body of every representation.
pub(super) const END: &[u8] = b"ENDREP\n";
