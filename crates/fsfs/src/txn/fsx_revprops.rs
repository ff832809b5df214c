//! Changing revision properties of FSX.
//!
//! As in FSFS, a list of its own file is replaced by rename, and a packed list is written together with its neighbours. Other
//! processes of the incumbent cache lists with the number in `revprop-generation`: it is odd while files are replaced.
//!
//! A pack that has become larger than the configured size is split. The incumbent would split it at its next change, and then
//! write a manifest that it cannot read.

use std::path::{Path, PathBuf};

use base::{Code, Error, Props, Result, ResultExt as _, Revnum};

use super::revprops_write::{split, write_new};
use crate::format::fsx::revprops_pack::{self, PackedLists, RevpropsManifest};
use crate::format::fsx::{prop_list, small_files};
use crate::store::disk::{read_replaced, write_atomic};
use crate::store::fsx::in_file;
use crate::store::guard::WriteLock;
use crate::store::no_such_revision;
use crate::tree::Fs;

/// The file with a revision's list.
pub(super) struct FsxRevpropsFile {
    path: PathBuf,
    content: RevpropsContent,
}

enum RevpropsContent {
    /// The list alone, with its checksum.
    List(Vec<u8>),
    /// The lists of several revisions, from `start` on, and the manifest that names the file.
    Pack {
        start: Revnum,
        lists: PackedLists,
        manifest: RevpropsManifest,
    },
}

impl FsxRevpropsFile {
    /// Reads the file.
    pub(super) fn find(fs: &Fs, rev: Revnum, lock: &WriteLock) -> Result<Self> {
        let is_packed = rev < lock.min_unpacked_rev();
        let (size, dir) = (
            fs.format().shard_size,
            fs.layout().revprops_pack_dir(rev.0 / fs.format().shard_size),
        );
        if !is_packed || rev == Revnum::ZERO {
            let path = match is_packed {
                true => dir.join("p0"),
                false => fs.layout().revprops(rev),
            };
            if let Some(dir) = path.parent() {
                fs.refresh_names(dir)?;
            }
            let content = RevpropsContent::List(read_replaced(fs.disk(), &path)?);
            return Ok(FsxRevpropsFile { path, content });
        }
        fs.refresh_names(&dir)?;
        let manifest = read_replaced(fs.disk(), &dir.join("manifest"))?;
        let manifest = RevpropsManifest::decode(&manifest, Revnum(rev.0 / size * size), size);
        let manifest = manifest.context(|| format!("Revprop manifest file for r{rev} is corrupt"))?;
        let (start, name) = manifest.pack_of(rev).ok_or_else(|| no_such_revision(rev))?;
        let path = dir.join(name);
        let lists = revprops_pack::lists_in_pack(&read_replaced(fs.disk(), &path)?);
        let lists = lists.context(|| corrupt(rev))?;
        // The files of a split pack must have the revisions that the manifest names them for.
        if rev.0 - start.0 >= lists.lists().count() as u64 {
            return Err(Error::new(Code::FS_CORRUPT, corrupt(rev)));
        }
        let content = RevpropsContent::Pack {
            start,
            lists,
            manifest,
        };
        Ok(FsxRevpropsFile { path, content })
    }

    /// The list of a revision.
    pub(super) fn props(&self, rev: Revnum) -> Result<Props> {
        match &self.content {
            RevpropsContent::List(file) => {
                let list = prop_list::check_file(file).and_then(|list| Ok(prop_list::decode(list)?));
                list.context(|| format!("Revprop file for r{rev} is corrupt"))
            }
            RevpropsContent::Pack { start, lists, .. } => {
                lists.props(rev.0 - start.0).context(|| corrupt(rev))
            }
        }
    }

    /// Replaces the list of a revision. New files get the permissions of `permissions`.
    pub(super) fn write(&self, fs: &Fs, rev: Revnum, props: &Props, permissions: &Path) -> Result<()> {
        let mut list = Vec::new();
        prop_list::encode(props, &mut list);
        let generation = Generation::begin(fs)?;
        match &self.content {
            RevpropsContent::List(_) => {
                prop_list::push_checksum(&mut list);
                write_atomic(fs.disk(), &self.path, &list, permissions)?;
            }
            RevpropsContent::Pack {
                start,
                lists,
                manifest,
            } => {
                let mut lists: Vec<&[u8]> = lists.lists().collect();
                let changed = (rev.0 - start.0) as usize;
                lists[changed] = &list;
                self.write_pack(fs, *start, &lists, changed, manifest, permissions)?;
            }
        }
        generation.end()
    }

    fn write_pack(
        &self,
        fs: &Fs,
        start: Revnum,
        lists: &[&[u8]],
        changed: usize,
        manifest: &RevpropsManifest,
        permissions: &Path,
    ) -> Result<()> {
        let sizes: Vec<u64> = lists.iter().map(|list| list.len() as u64).collect();
        let Some(parts) = split(&sizes, changed, fs.conf().revprop_pack_size) else {
            let file = revprops_pack::encode_pack(lists);
            return write_atomic(fs.disk(), &self.path, &file, permissions);
        };
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let mut manifest = manifest.clone();
        let starts: Vec<Revnum> = parts
            .iter()
            .map(|part| Revnum(start.0 + part.start as u64))
            .collect();
        let names = manifest.split(&starts);
        for (part, name) in parts.into_iter().zip(names) {
            // Until the manifest is replaced, a crash leaves files that no manifest names.
            write_new(
                fs.disk(),
                &dir.join(name),
                &revprops_pack::encode_pack(&lists[part]),
            )?;
        }
        let synced = fs.disk().sync_dir(dir);
        synced.map_err(|e| Error::io("Can't flush directory", dir, &e))?;
        write_atomic(fs.disk(), &dir.join("manifest"), &manifest.encode(), permissions)?;
        // From here on no reader looks for the old file. One that stays is harmless.
        _ = fs.disk().remove_file(&self.path);
        Ok(())
    }
}

/// The number in `revprop-generation` while files are replaced. If that fails, the number stays odd: other processes then cache
/// nothing, until one of them makes it even.
struct Generation<'a> {
    fs: &'a Fs,
    path: PathBuf,
    odd: u64,
}

impl<'a> Generation<'a> {
    fn begin(fs: &'a Fs) -> Result<Self> {
        let path = fs.layout().file("revprop-generation");
        let number = in_file(small_files::generation(&read_replaced(fs.disk(), &path)?), &path)?;
        // A number that is odd already is that of a writer that was killed.
        let odd = number | 1;
        let generation = Generation { fs, path, odd };
        if odd != number {
            generation.set(odd)?;
        }
        Ok(generation)
    }

    fn end(self) -> Result<()> {
        self.set(self.odd.wrapping_add(1))
    }

    fn set(&self, number: u64) -> Result<()> {
        write_atomic(
            self.fs.disk(),
            &self.path,
            format!("{number}\n").as_bytes(),
            &self.path,
        )
    }
}

fn corrupt(rev: Revnum) -> String {
    format!("Revprop pack file for r{rev} is corrupt")
}
