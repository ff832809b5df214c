//! The parsers that fuzz targets call. Not part of the public API.
//!
//! Each function takes any bytes. It panics if a value that was read differs from the value that is read after writing it.

use base::Revnum;

use crate::admin::hotcopy::checkpoint::Checkpoint;
use crate::format::fs_format::FsFormat;
use crate::format::lock_digest::LockDigest;
use crate::format::revprops_pack::{RevpropsManifest, RevpropsPack};
use crate::store::conf::FsConf;

pub use crate::format::fsx::fuzz_api as fsx;
pub use crate::format::fuzz_api::*;

/// A pack file of revision properties, and a manifest.
pub fn revprops_pack(data: &[u8]) {
    if let Ok(pack) = RevpropsPack::decode(data) {
        let lists: Vec<&[u8]> = pack
            .revisions()
            .filter_map(|rev| pack.list(Revnum(rev)))
            .collect();
        assert_eq!(lists.len() as u64, pack.revisions().end - pack.revisions().start);
        for compress in [false, true] {
            let mut out = Vec::new();
            RevpropsPack::encode(&mut out, Revnum(pack.revisions().start), &lists, compress);
            let decoded = RevpropsPack::decode(&out).expect("what was written");
            assert!(decoded.revisions() == pack.revisions());
            assert!(
                decoded
                    .revisions()
                    .all(|rev| decoded.list(Revnum(rev)) == pack.list(Revnum(rev)))
            );
        }
    }
    let lines = memchr::memchr_iter(b'\n', data).count() as u64;
    if let Ok(manifest) = RevpropsManifest::parse(data, lines) {
        let mut out = Vec::new();
        manifest.encode(&mut out);
        assert_eq!(RevpropsManifest::parse(&out, lines), Ok(manifest));
    }
}

/// A digest file of user locks.
pub fn lock_digest(data: &[u8]) {
    if let Ok(digest) = LockDigest::decode(data) {
        let mut out = Vec::new();
        digest.encode(&mut out);
        assert_eq!(LockDigest::decode(&out).expect("what was written"), digest);
    }
}

/// `fsfs.conf`, for the format that the first byte chooses.
pub fn fsfs_conf(data: &[u8]) {
    if let Some((number, text)) = data.split_first() {
        let format = FsFormat {
            number: u32::from(number % 9),
            ..FsFormat::MISSING_FILE
        };
        let _ = FsConf::parse(text, &format);
    }
}

/// The checkpoint of a copy.
pub fn hotcopy_checkpoint(data: &[u8]) {
    if let Some(checkpoint) = Checkpoint::parse(data) {
        assert_eq!(Checkpoint::parse(&checkpoint.encode()), Some(checkpoint));
    }
}
