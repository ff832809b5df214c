//! The users of Cyrus SASL in `sasldb2`, the file that `saslpasswd2` writes: a hash table of Berkeley DB.
//!
//! ```text
//! page 0          metadata: magic number at byte 12, size of pages at byte 20
//! other pages     next page (4 bytes at 16) · entries (2 bytes at 20) · bytes used (2 at 22) · type (1 at 25) · offsets of items (2 each, from 26)
//! item            type (1 byte) · bytes, up to the item before; keys and values in turns
//! key             user NUL realm NUL "userPassword"
//! ```
//!
//! The whole file is read and every page of items taken as it comes: the file is small, and so no hash function is needed. Long values
//! are in pages of their own. Source: the description of the access method in Oracle's manual, and files that `saslpasswd2` wrote on
//! Debian 12 (versions 9 and 10 of the table, of either byte order).

use std::collections::HashMap;

use base::{Code, Error, Result};

/// The users of a file.
pub struct SaslDb {
    /// By name and realm.
    passwords: HashMap<(Vec<u8>, Vec<u8>), Vec<u8>>,
}

impl SaslDb {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// `MALFORMED_FILE` if it is no hash table of Berkeley DB, or is damaged.
    pub fn parse(bytes: &[u8]) -> Result<SaslDb> {
        let table = Table::open(bytes).ok_or_else(|| malformed("it is no hash table of Berkeley DB"))?;
        let mut passwords = HashMap::new();
        for page in bytes.chunks_exact(table.page_size) {
            for (key, value) in table.items(page).ok_or_else(|| malformed("a page is damaged"))? {
                let mut parts = key.splitn(3, |byte| *byte == 0);
                if let (Some(user), Some(realm), Some(b"userPassword")) =
                    (parts.next(), parts.next(), parts.next())
                {
                    passwords.insert((user.to_vec(), realm.to_vec()), value);
                }
            }
        }
        Ok(SaslDb { passwords })
    }

    /// Returns a user's password in clear.
    pub fn password(&self, user: &str, realm: &str) -> Option<&[u8]> {
        let key = (user.as_bytes().to_vec(), realm.as_bytes().to_vec());
        self.passwords.get(&key).map(Vec::as_slice)
    }
}

/// Shows no password.
impl std::fmt::Debug for SaslDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SaslDb({} users)", self.passwords.len())
    }
}

/// The table of a file.
struct Table<'a> {
    bytes: &'a [u8],
    page_size: usize,
    is_big_endian: bool,
}

impl<'a> Table<'a> {
    fn open(bytes: &'a [u8]) -> Option<Table<'a>> {
        let is_big_endian = match bytes.get(MAGIC_AT..)?.first_chunk()? {
            magic if u32::from_le_bytes(*magic) == HASH_MAGIC => false,
            magic if u32::from_be_bytes(*magic) == HASH_MAGIC => true,
            _ => return None,
        };
        let mut table = Table {
            bytes,
            page_size: 0,
            is_big_endian,
        };
        let size = table.number(bytes, PAGE_SIZE_AT)?;
        let is_size = size.is_power_of_two() && (512..=65536).contains(&size);
        // Encrypted tables have other pages.
        if !is_size || *bytes.get(ENCRYPTION_AT)? != 0 {
            return None;
        }
        table.page_size = size as usize;
        Some(table)
    }

    /// Returns the number in the four bytes at `at`.
    fn number(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = *bytes.get(at..)?.first_chunk()?;
        Some(match self.is_big_endian {
            true => u32::from_be_bytes(four),
            false => u32::from_le_bytes(four),
        })
    }

    /// Returns the number in the two bytes at `at`.
    fn short(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let two = *bytes.get(at..)?.first_chunk()?;
        Some(usize::from(match self.is_big_endian {
            true => u16::from_be_bytes(two),
            false => u16::from_le_bytes(two),
        }))
    }

    /// Returns the keys and values of a page; none of a page of another kind. `None` if it is damaged.
    fn items(&self, page: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        if !matches!(page.get(TYPE_AT)?, HASH_UNSORTED | HASH_SORTED) {
            return Some(Vec::new());
        }
        let count = self.short(page, ENTRIES_AT)?;
        let mut end = page.len();
        let mut items = Vec::new();
        for index in 0..count {
            let start = self.short(page, ITEMS_AT + 2 * index)?;
            items.push(self.item(page.get(start..end)?)?);
            end = start;
        }
        let mut items = items.into_iter();
        Some(std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect())
    }

    /// Returns the bytes of an item.
    fn item(&self, item: &[u8]) -> Option<Vec<u8>> {
        match *item.first()? {
            KEY_OR_VALUE => Some(item[1..].to_vec()),
            // Sets of values for one key: `saslpasswd2` makes none.
            DUPLICATES | DUPLICATES_ELSEWHERE => Some(Vec::new()),
            ELSEWHERE => self.long_item(self.number(item, 4)?, self.number(item, 8)? as usize),
            _ => None,
        }
    }

    /// Returns an item that fills pages of its own.
    fn long_item(&self, mut number: u32, length: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let start = (number as usize).checked_mul(self.page_size)?;
            let page = self.bytes.get(start..start.checked_add(self.page_size)?)?;
            let used = self.short(page, USED_AT)?;
            if page[TYPE_AT] != OVERFLOW || used == 0 {
                return None;
            }
            bytes.extend_from_slice(page.get(ITEMS_AT..ITEMS_AT + used)?);
            number = self.number(page, NEXT_AT)?;
        }
        (bytes.len() == length).then_some(bytes)
    }
}

fn malformed(what: &str) -> Error {
    Error::new(
        Code::MALFORMED_FILE,
        format!("The file of SASL's users cannot be read: {what}"),
    )
}

const HASH_MAGIC: u32 = 0x0006_1561;
const MAGIC_AT: usize = 12;
const PAGE_SIZE_AT: usize = 20;
const ENCRYPTION_AT: usize = 24;

const NEXT_AT: usize = 16;
const ENTRIES_AT: usize = 20;
const USED_AT: usize = 22;
const TYPE_AT: usize = 25;
const ITEMS_AT: usize = 26;

/// Types of pages.
const HASH_UNSORTED: &u8 = &2;
const HASH_SORTED: &u8 = &13;
const OVERFLOW: u8 = 7;

/// Types of items.
const KEY_OR_VALUE: u8 = 1;
const DUPLICATES: u8 = 2;
const ELSEWHERE: u8 = 3;
const DUPLICATES_ELSEWHERE: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Both were made by Berkeley DB 5.3, with pages of 512 bytes.
    const SAMPLES: [&[u8]; 2] = [
        include_bytes!("samples/sasldb_little_endian"),
        include_bytes!("samples/sasldb_big_endian"),
    ];

    #[test]
    fn users_of_either_byte_order() {
        for sample in SAMPLES {
            let users = SaslDb::parse(sample).expect("it is a table");
            assert_eq!(users.password("alice", "here"), Some(&b"secret"[..]));
            assert_eq!(users.password("alice", "there"), Some(&b"other"[..]));
            assert_eq!(users.password("dave", "here"), Some(&b"pw"[..]));
            assert_eq!(users.password("long", "here"), Some(&[b'q'; 1500][..]));
            for (user, realm) in [("bob", "here"), ("alice", ""), ("", "here"), ("Alice", "here")] {
                assert_eq!(users.password(user, realm), None, "{user}@{realm}");
            }
        }
    }

    #[test]
    fn another_file_is_refused() {
        for bytes in [
            &b""[..],
            b"root:x:0:0:root:/root:/bin/bash\n",
            &[0; 4096],
            &SAMPLES[0][..20],
        ] {
            let error = SaslDb::parse(bytes).expect_err("it is no table");
            assert_eq!(error.code(), Code::MALFORMED_FILE);
        }
    }

    proptest! {
        #[test]
        fn damage_never_panics(which in 0..2usize, changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..9), cut: u16) {
            let mut bytes = SAMPLES[which].to_vec();
            for (at, value) in changes {
                let at = usize::from(at) % bytes.len();
                bytes[at] = value;
            }
            bytes.truncate(usize::from(cut) % 4096);
            _ = SaslDb::parse(&bytes);
        }
    }
}
