//! File names on network file systems, whose clients cache them.
//!
//! A name from the cache may be seconds old. Locking a file refreshes what the client knows of that file, not of the other
//! names in its directory. A commit that reads an old `current` under the write lock would take the number of a revision that
//! exists. Two measures prevent it. A change of a directory is made by the server, and its reply makes the client look the names in that
//! directory up again ([`look_up_again`]). And a revision file gets a name that the server finds free ([`rename_new`]).

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use super::machine::retry_on_signal;

/// Creates a file in a directory and removes it, so that the names of the directory are looked up again. A process that may not
/// write there changes nothing: it only reads the repository.
pub(super) fn look_up_again(dir: &Path) -> io::Result<()> {
    let probe = dir.join(format!("svn-probe-{}", std::process::id()));
    match OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => {}
        // A file that a crash left is as good: its removal is a change too.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::NotFound
            ) =>
        {
            return Ok(());
        }
        Err(e) => return Err(e),
    }
    match fs::remove_file(&probe) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Renames a file to a name that is free. Where the file system cannot do that in one step, the file gets a second name by a hard
/// link and loses the first.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match retry_on_signal(|| rename_to_free(from, to)) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => link_new(from, to),
        renamed => Ok(renamed?),
    }
}

#[cfg(target_os = "linux")]
fn rename_to_free(from: &Path, to: &Path) -> rustix::io::Result<()> {
    rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)
}

#[cfg(not(target_os = "linux"))]
fn rename_to_free(_: &Path, _: &Path) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

/// Renames by a hard link, which every NFS server refuses if the name is taken.
fn link_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => {}
        // The reply to a first request was lost, and the client sent a second one.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_same(from, to) => {}
        Err(e) if has_no_links(&e) => {
            return match fs::symlink_metadata(to) {
                Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(e) if e.kind() == io::ErrorKind::NotFound => fs::rename(from, to),
                Err(e) => Err(e),
            };
        }
        Err(e) => return Err(e),
    }
    fs::remove_file(from)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    identity(one).is_some_and(|this| identity(other) == Some(this))
}

/// True for the errors of file systems without hard links.
fn has_no_links(e: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(e),
        Some(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::MLINK)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        for rename in [rename_new, link_new] {
            fs::write(&from, "new").expect("writes");
            rename(&from, &to).expect("is free");
            assert!(!from.exists());
            fs::write(&from, "other").expect("writes");
            let refused = rename(&from, &to).expect_err("is taken");
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&to).expect("reads"), "new");
            fs::remove_file(&to).expect("removes");
        }
    }

    #[test]
    fn a_repeated_link_has_succeeded() {
        let dir = tempfile::tempdir().expect("a directory");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::write(&from, "new").expect("writes");
        fs::hard_link(&from, &to).expect("links");
        link_new(&from, &to).expect("is the same file");
        assert!(!from.exists() && to.exists());
    }

    #[test]
    fn nothing_stays_of_a_probe() {
        let dir = tempfile::tempdir().expect("a directory");
        look_up_again(dir.path()).expect("probes");
        let left = dir.path().join(format!("svn-probe-{}", std::process::id()));
        fs::write(left, "").expect("writes");
        look_up_again(dir.path()).expect("probes over what a crash left");
        assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), 0);
        look_up_again(&dir.path().join("missing")).expect("passes over");
    }
}
