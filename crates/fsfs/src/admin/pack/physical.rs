//! Writing the pack file of a shard with physical addressing: the revision files one after the other, and a manifest.

use std::path::{Path, PathBuf};

use base::{Cancel, Error, Result, Revnum};

use super::source::{PIECE, SourceFile};
use crate::format::manifest;
use crate::store::disk::{Create, Disk, DiskWriter};
use crate::tree::Fs;

/// Writes pack file and manifest of the shard that begins with `first`; neither is made durable.
pub(super) fn write(
    fs: &Fs,
    first: Revnum,
    pack: &Path,
    manifest: &Path,
    cancel: &Cancel,
) -> Result<Vec<(PathBuf, Box<dyn DiskWriter>)>> {
    let mut file = create(fs.disk(), pack)?;
    let failed = |e| Error::io("Can't write to file", pack, &e);
    let mut starts = Vec::new();
    let mut position = 0;
    // Small revisions are written together.
    let mut buffer: Vec<u8> = Vec::new();
    for rev in first.0..first.0 + fs.format().shard_size {
        cancel.check()?;
        starts.push(position);
        let source = SourceFile::open(fs, Revnum(rev))?;
        let mut at = 0;
        while at < source.len {
            let length = (source.len - at).min(PIECE);
            buffer.extend_from_slice(&source.read(at, length)?);
            at += length;
            if buffer.len() as u64 >= PIECE {
                file.append(&buffer).map_err(failed)?;
                buffer.clear();
            }
        }
        position += source.len;
    }
    file.append(&buffer).map_err(failed)?;
    let mut text = Vec::new();
    manifest::encode(&mut text, &starts);
    let mut list = create(fs.disk(), manifest)?;
    list.append(&text)
        .map_err(|e| Error::io("Can't write to file", manifest, &e))?;
    Ok(vec![(pack.to_owned(), file), (manifest.to_owned(), list)])
}

fn create(disk: &dyn Disk, path: &Path) -> Result<Box<dyn DiskWriter>> {
    disk.write(path, Create::New)
        .map_err(|e| Error::io("Can't create file", path, &e))
}
