//! The list of paths that the client reports.
//!
//! Entries are held in the order they came, packed into bytes; beyond a limit they go to a nameless temporary file,
//! so that a working copy with a million paths at odd revisions does not fill the server's memory. The walk reads
//! them back once, in order, through a [`Cursor`] that looks one entry ahead: clients report depth first, in the
//! order of the walk.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use base::{Code, Depth, Error, FsPath, Result, Revnum};

/// One path of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportedPath {
    /// Relative to the operand in a [`ReportedPaths`], to the edit's root in a [`Cursor`].
    pub path: Box<str>,
    /// What the client has there; `None` if nothing.
    pub reported: Option<Reported>,
}

/// What the client has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reported {
    pub rev: Revnum,
    pub depth: Depth,
    pub start_empty: bool,
    pub lock_token: Option<Box<str>>,
    /// The path to which this one is switched.
    pub link: Option<FsPath>,
}

/// The list while it is being received.
#[derive(Default)]
pub(super) struct ReportedPaths {
    /// The last entries, which are not in the file.
    held: Vec<u8>,
    file: Option<File>,
    count: u64,
    /// Bytes in the file.
    written: u64,
}

impl ReportedPaths {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns how many bytes the list takes.
    pub fn size(&self) -> u64 {
        self.written + self.held.len() as u64
    }

    pub fn push(&mut self, entry: &ReportedPath) -> Result<()> {
        pack(&mut self.held, entry)?;
        self.count += 1;
        if self.held.len() >= IN_MEMORY {
            let written = self.write();
            written.map_err(|e| Error::os(&e, "Can't write the report's temporary file"))?;
        }
        Ok(())
    }

    /// Moves the entries in memory to the file.
    fn write(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.held)?;
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }

    /// Ends the list. The paths that the cursor returns are below `operand`.
    pub fn into_cursor(self, operand: &str) -> Result<Cursor> {
        let held = io::Cursor::new(self.held);
        let entries: Box<dyn Read + Send> = match self.file {
            Some(mut file) => {
                let rewound = file.seek(SeekFrom::Start(0));
                rewound.map_err(|e| Error::os(&e, "Can't read the report's temporary file"))?;
                Box::new(BufReader::with_capacity(IN_MEMORY, file).chain(held))
            }
            None => Box::new(held),
        };
        let mut cursor = Cursor {
            entries,
            left: self.count,
            operand: operand.into(),
            next: None,
        };
        cursor.advance()?;
        Ok(cursor)
    }
}

/// Reads the list back and looks one entry ahead.
pub(super) struct Cursor {
    entries: Box<dyn Read + Send>,
    left: u64,
    operand: Box<str>,
    next: Option<ReportedPath>,
}

impl Cursor {
    /// Returns the next entry, if it is exactly `path`.
    pub fn take_exact(&mut self, path: &str) -> Result<Option<ReportedPath>> {
        if self.next.as_ref().is_some_and(|e| *e.path == *path) {
            self.take()
        } else {
            Ok(None)
        }
    }

    /// Returns the name of the child of `dir` that the next entry is about or lies below; with the entry itself if it
    /// is about that very child.
    pub fn child_of(&mut self, dir: &str) -> Result<Option<(Box<str>, Option<ReportedPath>)>> {
        let Some(rest) = self.next.as_ref().and_then(|e| below(&e.path, dir)) else {
            return Ok(None);
        };
        match rest.split_once('/') {
            Some((name, _)) => Ok(Some((name.into(), None))),
            None => {
                let name = rest.into();
                Ok(Some((name, self.take()?)))
            }
        }
    }

    /// True if the next entry lies below `path`.
    pub fn has_below(&self, path: &str) -> bool {
        self.next.as_ref().is_some_and(|e| below(&e.path, path).is_some())
    }

    /// Skips all entries below `path`.
    pub fn skip_below(&mut self, path: &str) -> Result<()> {
        while self.has_below(path) {
            self.take()?;
        }
        Ok(())
    }

    fn take(&mut self) -> Result<Option<ReportedPath>> {
        let taken = self.next.take();
        self.advance()?;
        Ok(taken)
    }

    fn advance(&mut self) -> Result<()> {
        self.next = match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                let mut entry = unpack(&mut self.entries)
                    .map_err(|e| Error::os(&e, "Can't read the report's temporary file"))?;
                if !self.operand.is_empty() {
                    entry.path = if entry.path.is_empty() {
                        self.operand.clone()
                    } else {
                        format!("{}/{}", self.operand, entry.path).into()
                    };
                }
                Some(entry)
            }
            None => None,
        };
        Ok(())
    }
}

/// Returns the part of `path` after `dir`, if `path` is strictly below it.
fn below<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    if dir.is_empty() {
        return Some(path).filter(|p| !p.is_empty());
    }
    path.strip_prefix(dir)?.strip_prefix('/')
}

fn pack(out: &mut Vec<u8>, entry: &ReportedPath) -> Result<()> {
    let text = |out: &mut Vec<u8>, text: &str| -> Result<()> {
        let length = u32::try_from(text.len())
            .map_err(|_| Error::new(Code::REPOS_BAD_ARGS, "Path in the report is too long"))?;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(text.as_bytes());
        Ok(())
    };
    let Some(reported) = &entry.reported else {
        out.push(0);
        return text(out, &entry.path);
    };
    let flags = HERE
        | if reported.start_empty { START_EMPTY } else { 0 }
        | if reported.lock_token.is_some() { TOKEN } else { 0 }
        | if reported.link.is_some() { LINK } else { 0 };
    out.push(flags);
    text(out, &entry.path)?;
    out.push(reported.depth.number().to_le_bytes()[0]);
    out.extend_from_slice(&reported.rev.0.to_le_bytes());
    for part in [
        reported.lock_token.as_deref(),
        reported.link.as_ref().map(FsPath::as_str),
    ]
    .into_iter()
    .flatten()
    {
        text(out, part)?;
    }
    Ok(())
}

/// Reads what [`pack`] wrote: the file has no other writer.
fn unpack(entries: &mut impl Read) -> io::Result<ReportedPath> {
    let [flags] = array::<1>(entries)?;
    let path = text(entries)?;
    if flags & HERE == 0 {
        return Ok(ReportedPath {
            path: path.into(),
            reported: None,
        });
    }
    let [depth] = array::<1>(entries)?;
    let rev = Revnum(u64::from_le_bytes(array::<8>(entries)?));
    let lock_token = match flags & TOKEN {
        0 => None,
        _ => Some(text(entries)?.into()),
    };
    let link = match flags & LINK {
        0 => None,
        _ => Some(FsPath::parse(&text(entries)?).map_err(io::Error::other)?),
    };
    let reported = Reported {
        rev,
        depth: depth_of(depth),
        start_empty: flags & START_EMPTY != 0,
        lock_token,
        link,
    };
    Ok(ReportedPath {
        path: path.into(),
        reported: Some(reported),
    })
}

fn array<const N: usize>(entries: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    entries.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn text(entries: &mut impl Read) -> io::Result<String> {
    let length = u32::from_le_bytes(array::<4>(entries)?);
    let mut bytes = vec![0; length as usize];
    entries.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

fn depth_of(number: u8) -> Depth {
    let all = [
        Depth::Exclude,
        Depth::Empty,
        Depth::Files,
        Depth::Immediates,
        Depth::Infinity,
    ];
    let found = all.into_iter().find(|d| d.number().to_le_bytes()[0] == number);
    found.unwrap_or(Depth::Unknown)
}

const HERE: u8 = 1;
const START_EMPTY: u8 = 2;
const TOKEN: u8 = 4;
const LINK: u8 = 8;

/// Bytes of a report that are held in memory. A session that waits for the rest of a report holds no more.
const IN_MEMORY: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(rev: u64) -> Reported {
        Reported {
            rev: Revnum(rev),
            depth: Depth::Infinity,
            start_empty: false,
            lock_token: None,
            link: None,
        }
    }

    fn cursor(paths: &[&str], operand: &str) -> Cursor {
        let mut state = ReportedPaths::default();
        for path in paths {
            let reported = Some(reported(1));
            state
                .push(&ReportedPath {
                    path: (*path).into(),
                    reported,
                })
                .expect("in memory");
        }
        state.into_cursor(operand).expect("in memory")
    }

    #[test]
    fn what_goes_in_comes_out() {
        let entries = [
            ReportedPath {
                path: "".into(),
                reported: Some(reported(7)),
            },
            ReportedPath {
                path: "a/b".into(),
                reported: None,
            },
            ReportedPath {
                path: "a/c".into(),
                reported: Some(Reported {
                    depth: Depth::Exclude,
                    start_empty: true,
                    lock_token: Some("opaquelocktoken:1".into()),
                    link: Some(FsPath::root()),
                    ..reported(u64::MAX)
                }),
            },
        ];
        let mut state = ReportedPaths::default();
        for entry in &entries {
            state.push(entry).expect("in memory");
        }
        let mut cursor = state.into_cursor("").expect("in memory");
        for entry in entries {
            assert_eq!(cursor.take().expect("readable"), Some(entry));
        }
        assert_eq!(cursor.take().expect("end"), None);
    }

    #[test]
    fn beyond_the_limit_it_is_on_disk() {
        let mut state = ReportedPaths::default();
        for n in 0..50_000u64 {
            let path = format!("directory/with/a/long/name/{n}").into();
            state
                .push(&ReportedPath {
                    path,
                    reported: Some(reported(n)),
                })
                .expect("written");
            assert!(state.held.len() < IN_MEMORY);
        }
        assert!(state.size() > 50_000 * 40, "{}", state.size());
        let mut cursor = state.into_cursor("op").expect("read back");
        for n in 0..50_000u64 {
            let entry = cursor.take().expect("readable").expect("an entry");
            assert_eq!(*entry.path, *format!("op/directory/with/a/long/name/{n}"));
            assert_eq!(entry.reported, Some(reported(n)));
        }
    }

    #[test]
    fn implied_directories_are_named_without_an_entry() {
        let mut cursor = cursor(&["", "a/b", "a.x"], "");
        assert!(cursor.take_exact("").expect("readable").is_some());
        let (name, entry) = cursor.child_of("").expect("readable").expect("ahead");
        assert!(&*name == "a" && entry.is_none() && cursor.has_below("a"));
        let (name, entry) = cursor.child_of("a").expect("readable").expect("ahead");
        assert!(&*name == "b" && entry.is_some() && !cursor.has_below("a"));
        assert!(cursor.child_of("a").expect("readable").is_none());
        assert_eq!(&*cursor.child_of("").expect("readable").expect("ahead").0, "a.x");
    }
}
