//! Digest files: the files of `db/locks`, one for each locked path and for each directory above one.
//!
//! The file of a path is `db/locks/<first 3 digits>/<digest>`, where the digest is the MD5 of the path in
//! hexadecimal. It is a hash dump with these keys, the same in all formats:
//!
//! | key | value | present |
//! |---|---|---|
//! | `path` | the locked path | if the path itself is locked |
//! | `token` | lock token | with `path` |
//! | `owner` | user name | with `path` |
//! | `comment` | text | if there is one |
//! | `is_dav_comment` | `1` if the comment is from a generic WebDAV client, else `0` | with `path` |
//! | `creation_date` | date | with `path` |
//! | `expiration_date` | date | if the lock expires |
//! | `children` | MD5 digests of all locked paths anywhere below, one on each line | if there are any |
//!
//! Other keys are ignored.

use base::checksum::Md5;
use base::hashdump::{Reader, Terminator};
use base::{Date, Error, FsPath, Lock, Result};

use super::decode_error;

decode_error! {
    /// Why a digest file is not usable.
    LockDigestError {
        Corrupt => FS_CORRUPT, "Corrupt lockfile";
    }
}

/// The content of a digest file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockDigest {
    /// The lock on the path itself.
    pub(crate) lock: Option<Lock>,
    /// The digests of all locked paths below.
    pub(crate) children: Vec<Md5>,
}

impl LockDigest {
    /// Parses a file.
    ///
    /// # Errors
    /// `MALFORMED_FILE` if it is not a hash dump, `BAD_DATE`, `FS_CORRUPT` for a missing or malformed field.
    pub(crate) fn decode(file: &[u8]) -> Result<Self> {
        let mut fields = LockFields::default();
        let mut reader = Reader::new(file, Terminator::End, false);
        while let Some(entry) = reader.next_entry()? {
            fields.set(entry.key, entry.value.unwrap_or_default());
        }
        fields.finish()
    }

    /// Appends the text of the file, keys in sorted order.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let children: String = self.children.iter().map(|digest| format!("{digest}\n")).collect();
        let mut entries: Vec<(&str, String)> = Vec::new();
        if !children.is_empty() {
            entries.push(("children", children));
        }
        if let Some(lock) = &self.lock {
            entries.extend(lock.comment.clone().map(|comment| ("comment", comment)));
            entries.push(("creation_date", lock.created.to_string()));
            entries.extend(lock.expires.map(|date| ("expiration_date", date.to_string())));
            entries.push((
                "is_dav_comment",
                if lock.is_dav_comment { "1" } else { "0" }.to_owned(),
            ));
            entries.push(("owner", lock.owner.clone()));
            entries.push(("path", lock.path.to_string()));
            entries.push(("token", lock.token.clone()));
        }
        let entries = entries
            .iter()
            .map(|(key, value)| (key.as_bytes(), value.as_bytes()));
        base::hashdump::write(out, entries, Terminator::End);
    }
}

/// The folder and name of a digest file below `db/locks`.
pub(crate) fn file_name(digest: &Md5) -> (String, String) {
    let name = digest.to_string();
    (name[..3].to_owned(), name)
}

#[derive(Default)]
struct LockFields<'a> {
    path: Option<&'a [u8]>,
    token: Option<&'a [u8]>,
    owner: Option<&'a [u8]>,
    created: Option<&'a [u8]>,
    dav: Option<&'a [u8]>,
    comment: Option<&'a [u8]>,
    expires: Option<&'a [u8]>,
    children: Option<&'a [u8]>,
}

impl<'a> LockFields<'a> {
    fn set(&mut self, key: &[u8], value: &'a [u8]) {
        let field = match key {
            b"path" => &mut self.path,
            b"token" => &mut self.token,
            b"owner" => &mut self.owner,
            b"creation_date" => &mut self.created,
            b"is_dav_comment" => &mut self.dav,
            b"comment" => &mut self.comment,
            b"expiration_date" => &mut self.expires,
            b"children" => &mut self.children,
            // Keys that a later format may add are ignored.
            _ => return,
        };
        *field = Some(value);
    }

    fn finish(self) -> Result<LockDigest> {
        let children = self.children.map_or(Ok(Vec::new()), parse_children)?;
        let lock = match self.path {
            Some(path) => Some(self.lock(path)?),
            None => None,
        };
        Ok(LockDigest { lock, children })
    }

    fn lock(&self, path: &[u8]) -> Result<Lock> {
        Ok(Lock {
            path: FsPath::parse_bytes(path).map_err(|_| corrupt())?,
            token: text(self.token.ok_or_else(corrupt)?)?,
            owner: text(self.owner.ok_or_else(corrupt)?)?,
            comment: self.comment.map(text).transpose()?,
            is_dav_comment: self.dav.ok_or_else(corrupt)?.starts_with(b"1"),
            created: Date::parse(self.created.ok_or_else(corrupt)?)?,
            expires: self.expires.map(Date::parse).transpose()?,
        })
    }
}

fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| corrupt())
}

fn parse_children(lines: &[u8]) -> Result<Vec<Md5>> {
    let lines = lines.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| Md5::parse_hex(line).ok_or_else(corrupt))
        .collect()
}

fn corrupt() -> Error {
    LockDigestError::Corrupt.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Code;
    use proptest::prelude::*;

    const LOCK: &[u8] = b"K 7\ncomment\nV 19\nEditing\nthe big one\nK 13\ncreation_date\nV 27\n\
        2026-11-21T21:46:47.198777Z\nK 14\nis_dav_comment\nV 1\n0\nK 5\nowner\nV 5\nalice\nK 4\npath\nV 14\n\
        /trunk/big.txt\nK 5\ntoken\nV 52\nopaquelocktoken:00000000-1111-4222-8333-000000000001\nEND\n";

    #[test]
    fn a_real_lock_round_trips() {
        let digest = LockDigest::decode(LOCK).expect("a real file");
        let lock = digest.lock.as_ref().expect("it has a path");
        assert_eq!(lock.path.as_str(), "/trunk/big.txt");
        assert_eq!(lock.comment.as_deref(), Some("Editing\nthe big one"));
        let mut out = Vec::new();
        digest.encode(&mut out);
        assert_eq!(out, LOCK);
    }

    #[test]
    fn a_real_directory_round_trips() {
        let file = b"K 8\nchildren\nV 66\n8a1ee933525e75c91754c692682ea3f9\nb2bc694005706cc210828abecfce9d3c\n\nEND\n";
        let digest = LockDigest::decode(file).expect("a real file");
        assert!(digest.lock.is_none());
        assert_eq!(digest.children[1], Md5::of(b"/trunk/big.txt"));
        assert_eq!(file_name(&digest.children[1]).0, "b2b");
        let mut out = Vec::new();
        digest.encode(&mut out);
        assert_eq!(out, file);
    }

    #[test]
    fn missing_and_malformed_fields_are_errors() {
        let text = String::from_utf8_lossy(LOCK).into_owned();
        for (from, to, code) in [
            ("owner", "ownex", Code::FS_CORRUPT),
            ("token\n", "tokex\n", Code::FS_CORRUPT),
            ("creation_date", "creation_datx", Code::FS_CORRUPT),
            ("is_dav_comment", "is_dav_commenx", Code::FS_CORRUPT),
            ("/trunk/big", "trunk//big", Code::FS_CORRUPT),
            ("2026-", "20xx-", Code::BAD_DATE),
            ("END\n", "", Code::MALFORMED_FILE),
        ] {
            let file = text.replace(from, to);
            assert_eq!(LockDigest::decode(file.as_bytes()).expect_err(from).code(), code);
        }
        let file = b"K 8\nchildren\nV 4\nzzzz\nEND\n";
        assert_eq!(
            LockDigest::decode(file).expect_err("no digest").code(),
            Code::FS_CORRUPT
        );
    }

    proptest! {
        #[test]
        fn flipped_bytes_never_panic(at in 0..LOCK.len(), byte: u8) {
            let mut file = LOCK.to_vec();
            file[at] = byte;
            let _ = LockDigest::decode(&file);
        }
    }
}
