//! A property list in one piece of memory, for code that reads many lists and changes none.
//!
//! A list has a handful of entries, and code that reads thousands of lists pays for every allocation, and for parsing
//! the text form again. Code that changes lists uses [`Props`].

use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::hashdump::{self, Reader, Terminator};
use crate::props::Props;

/// A property list, sorted by name. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PropList {
    /// Entries in the order of their names, each name once and UTF-8: the lengths of name and value (8 bytes each,
    /// little-endian), name, value.
    entries: Arc<[u8]>,
}

impl PropList {
    /// Reads a property list that ends with `END`; whatever follows it is ignored.
    ///
    /// # Errors
    /// `MALFORMED_FILE` if it is no hash dump or a name is not UTF-8.
    pub fn read(input: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(input, Terminator::End, false);
        let mut entries = Vec::with_capacity(input.len().min(MAX_RESERVED));
        let mut last: Option<&[u8]> = None;
        let mut is_sorted = true;
        while let Some(entry) = reader.next_entry()? {
            is_sorted &= last.is_none_or(|last| last < entry.key);
            if str::from_utf8(entry.key).is_err() {
                return Err(hashdump::malformed());
            }
            push(&mut entries, entry.key, entry.value.unwrap_or_default());
            last = Some(entry.key);
        }
        if is_sorted {
            let entries = entries.into();
            return Ok(PropList { entries });
        }
        Ok((&hashdump::read_props(input)?).into())
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut left = &self.entries[..];
        std::iter::from_fn(move || {
            let name_length = take_length(&mut left)?;
            let value_length = take_length(&mut left)?;
            let (name, rest) = left.split_at_checked(name_length)?;
            let (value, rest) = rest.split_at_checked(value_length)?;
            left = rest;
            Some((str::from_utf8(name).ok()?, value))
        })
    }

    /// A value; `None` if the property is not set.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter()
            .take_while(|(other, _)| *other <= name)
            .find_map(|(other, value)| (other == name).then_some(value))
    }

    /// True if there is no property.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Memory that the list takes, bytes.
    pub fn bytes(&self) -> usize {
        self.entries.len()
    }

    /// The same list, to be changed.
    pub fn to_props(&self) -> Props {
        self.iter()
            .map(|(name, value)| (name.to_owned(), value.to_vec()))
            .collect()
    }
}

fn push(entries: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    entries.extend_from_slice(&(name.len() as u64).to_le_bytes());
    entries.extend_from_slice(&(value.len() as u64).to_le_bytes());
    entries.extend_from_slice(name);
    entries.extend_from_slice(value);
}

fn take_length(left: &mut &[u8]) -> Option<usize> {
    let (length, rest) = left.split_first_chunk()?;
    *left = rest;
    usize::try_from(u64::from_le_bytes(*length)).ok()
}

/// The most memory that is reserved before a list is read, bytes.
const MAX_RESERVED: usize = 4 << 10;

impl From<&Props> for PropList {
    fn from(props: &Props) -> Self {
        let mut entries = Vec::new();
        for (name, value) in props {
            push(&mut entries, name.as_bytes(), value);
        }
        let entries = entries.into();
        PropList { entries }
    }
}

impl fmt::Debug for PropList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(
                self.iter()
                    .map(|(name, value)| (name, String::from_utf8_lossy(value))),
            )
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_sorted_or_comes_twice_is_put_in_order() {
        let mut text = Vec::new();
        let entries: [(&[u8], &[u8]); 4] = [(b"b", b"1"), (b"a", b"\n\0"), (b"b", b"2"), (b"c", b"")];
        hashdump::write(&mut text, entries, Terminator::End);
        let list = PropList::read(&text).expect("a list");
        let all: Vec<_> = list.iter().collect();
        assert_eq!(all, [("a", &b"\n\0"[..]), ("b", b"2"), ("c", b"")]);
        assert_eq!(list.get("b"), Some(&b"2"[..]));
        assert_eq!((list.get("aa"), list.get("d")), (None, None));
    }

    #[test]
    fn an_empty_list_is_empty() {
        for list in [PropList::default(), PropList::read(b"END\nrest").expect("a list")] {
            assert!(list.is_empty() && list.iter().next().is_none() && list.get("a").is_none());
        }
    }

    #[test]
    fn what_is_no_list_is_refused_as_by_read_props() {
        for bad in [
            &b""[..],
            b"EN",
            b"K 1\na\nV 1\nb\n",
            b"K 1\n\xff\nV 1\nb\nEND\n",
            b"D 1\na\nEND\n",
        ] {
            let (list, props) = (PropList::read(bad), hashdump::read_props(bad));
            let text = |e: crate::Error| (e.code(), e.message());
            assert_eq!(
                list.map(|_| ()).map_err(text),
                props.map(|_| ()).map_err(text),
                "{bad:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_list_holds_what_its_props_hold(props in prop::collection::btree_map("[a-z:é]{0,5}", prop::collection::vec(any::<u8>(), 0..20), 0..6)) {
            let mut text = Vec::new();
            hashdump::write_props(&mut text, &props, Terminator::End);
            let list = PropList::read(&text).expect("a list");
            prop_assert_eq!(&list.to_props(), &props);
            prop_assert_eq!(&list, &PropList::from(&props));
            for (name, value) in &props {
                prop_assert_eq!(list.get(name), Some(&value[..]));
            }
        }
    }
}
