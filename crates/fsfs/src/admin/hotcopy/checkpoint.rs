//! How far a first copy has got: a file in the destination, with which an interrupted copy is continued.
//!
//! After a power cut, a file may have its length and not its bytes. So the next run takes only files for copies that were
//! durable before the checkpoint was written. It replaces all others.
//!
//! Revisions are copied in order, and a checkpoint says up to which one all files are durable. A file that the next run adds
//! below that point, because a shard was packed or a property changed, is made durable before it gets its name.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::hashdump::{self, Terminator};
use base::{Code, Error, Result, Revnum};

use crate::store::disk::{Create, Disk, Volumes, is_missing, write_atomic};
use crate::tree::Fs;

/// The contents of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// The text that identifies the source; empty if the file was damaged, which makes nothing durable.
    source: String,
    /// The revisions before this one are durable.
    next: Revnum,
}

impl Checkpoint {
    /// Parses the file; `None` if it is damaged.
    pub(crate) fn parse(text: &[u8]) -> Option<Checkpoint> {
        let mut props = hashdump::read_props(text).ok()?;
        let mut value = |name: &str| props.remove(name);
        Some(Checkpoint {
            source: String::from_utf8(value("source")?).ok()?,
            next: Revnum::parse(&value("next")?)?,
        })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let next = self.next.to_string();
        let entries = [("source", self.source.as_str()), ("next", &next)];
        let mut out = Vec::new();
        let entries = entries.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        hashdump::write(&mut out, entries, Terminator::End);
        out
    }
}

/// The checkpoint of a copy that is running.
pub(super) struct CheckpointFile<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
    /// The contents of the file.
    stored: Checkpoint,
    /// The revisions before this one are copied.
    copied: Revnum,
    interval: Duration,
    saved: Instant,
}

impl<'a> CheckpointFile<'a> {
    /// Creates the checkpoint of a new copy in the empty directory `db`.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn create(src: &'a Fs, db: &'a Path, interval: Duration) -> Result<Self> {
        let stored = Checkpoint {
            source: src.identity()?,
            ..Checkpoint::default()
        };
        let path = db.join(NAME);
        let failed = |e| Error::io("Can't write to file", &path, &e);
        let mut file = src.disk().write(&path, Create::Replace).map_err(failed)?;
        file.append(&stored.encode()).map_err(failed)?;
        file.sync().map_err(failed)?;
        sync_dir(src.disk(), db)?;
        Ok(Self::of(src, db, stored, interval))
    }

    /// Opens the checkpoint of an interrupted copy; `None` if there is none.
    ///
    /// # Errors
    /// `INCORRECT_PARAMS` if that was a copy of another source; the system's.
    pub(super) fn open(src: &'a Fs, db: &'a Path, interval: Duration) -> Result<Option<Self>> {
        let path = db.join(NAME);
        let read = src.disk().read_small(&path);
        let text = match read.map_err(|e| Error::io("Can't open file", &path, &e)) {
            Err(e) if is_missing(&e) => return Ok(None),
            text => text?,
        };
        let source = src.identity()?;
        let stored = Checkpoint::parse(&text).unwrap_or_else(|| Checkpoint {
            source: source.clone(),
            ..Checkpoint::default()
        });
        if stored.source != source {
            let message = format!(
                "'{}' is an interrupted copy of another repository, or of one that was in this place before; remove it to begin \
                 a new copy",
                db.display()
            );
            return Err(Error::new(Code::INCORRECT_PARAMS, message));
        }
        Ok(Some(Self::of(src, db, stored, interval)))
    }

    fn of(src: &'a Fs, db: &'a Path, stored: Checkpoint, interval: Duration) -> Self {
        CheckpointFile {
            disk: src.disk(),
            path: db.join(NAME),
            copied: Revnum::ZERO,
            stored,
            interval,
            saved: Instant::now(),
        }
    }

    /// Returns the revision before which everything is durable.
    pub(super) fn next(&self) -> Revnum {
        self.stored.next
    }

    /// Notes that the revisions before `next` are copied. Now and then, makes them durable and stores that.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn copied(&mut self, next: Revnum, volumes: &Volumes) -> Result<()> {
        self.copied = next;
        match self.saved.elapsed() < self.interval {
            true => Ok(()),
            false => self.save(volumes),
        }
    }

    /// Makes what is copied durable, and stores that.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn save(&mut self, volumes: &Volumes) -> Result<()> {
        if self.copied > self.stored.next {
            let start = Instant::now();
            volumes.sync()?;
            let new = Checkpoint {
                next: self.copied,
                ..self.stored.clone()
            };
            write_atomic(self.disk, &self.path, &new.encode(), &self.path)?;
            self.stored = new;
            if !self.interval.is_zero() {
                // At most a tenth of the time is spent on this.
                self.interval = self.interval.max(10 * start.elapsed());
            }
        }
        self.saved = Instant::now();
        Ok(())
    }
}

/// Removes the checkpoint of a complete copy, if there is one.
///
/// # Errors
/// The system's.
pub(super) fn remove(disk: &dyn Disk, db: &Path) -> Result<()> {
    let path = db.join(NAME);
    let removed = disk.remove_file(&path);
    match removed.map_err(|e| Error::io("Can't remove file", &path, &e)) {
        Err(e) if is_missing(&e) => Ok(()),
        Err(e) => Err(e),
        Ok(()) => sync_dir(disk, db),
    }
}

fn sync_dir(disk: &dyn Disk, dir: &Path) -> Result<()> {
    let synced = disk.sync_dir(dir);
    synced.map_err(|e| Error::io("Can't flush directory", dir, &e))
}

/// The name of the file in `db`.
pub(super) const NAME: &str = "hotcopy-checkpoint";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_format_stays() {
        let text = b"K 6\nsource\nV 17\nuuid instance 1 2\nK 4\nnext\nV 2\n10\nEND\n";
        let checkpoint = Checkpoint {
            source: "uuid instance 1 2".to_owned(),
            next: Revnum(10),
        };
        assert_eq!(checkpoint.encode(), text);
        assert_eq!(Checkpoint::parse(text), Some(checkpoint));
        for length in 0..text.len() - 1 {
            assert_eq!(Checkpoint::parse(&text[..length]), None, "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(source: String, next in 0..1u64 << 40) {
            let written = Checkpoint { source, next: Revnum(next) };
            prop_assert_eq!(Checkpoint::parse(&written.encode()), Some(written));
        }

        #[test]
        fn any_bytes_are_parsed_or_refused(bytes: Vec<u8>) {
            _ = Checkpoint::parse(&bytes);
        }
    }
}
