//! A property list as it was read: one piece of memory, for code that reads many lists and changes none.
//!
//! The text form is kept and parsed again for each look-up: a list has a handful of entries, and code that reads
//! thousands of lists pays for every allocation. Code that changes lists uses [`Props`].

use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::hashdump::{self, Reader, Terminator};
use crate::props::Props;

/// A property list, sorted by name. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PropList {
    /// Entries in the order of their names, each name once and UTF-8; what follows the terminator is not kept.
    text: Arc<[u8]>,
}

impl PropList {
    /// Reads a property list that ends with `END`; whatever follows it is ignored.
    ///
    /// # Errors
    /// `MALFORMED_FILE` if it is no hash dump or a name is not UTF-8.
    pub fn read(input: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(input, Terminator::End, false);
        let mut last: Option<&[u8]> = None;
        let mut is_sorted = true;
        while let Some(entry) = reader.next_entry()? {
            is_sorted &= last.is_none_or(|last| last < entry.key);
            if str::from_utf8(entry.key).is_err() {
                return Err(hashdump::malformed());
            }
            last = Some(entry.key);
        }
        if is_sorted {
            let text = input[..reader.consumed()].into();
            return Ok(PropList { text });
        }
        Ok((&hashdump::read_props(input)?).into())
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut reader = Reader::new(&self.text, Terminator::End, false);
        std::iter::from_fn(move || {
            // An empty list may have no text at all; all other texts were read before.
            let entry = reader.next_entry().ok()??;
            Some((str::from_utf8(entry.key).ok()?, entry.value.unwrap_or_default()))
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
        self.iter().next().is_none()
    }

    /// Bytes of its text form.
    pub fn text_len(&self) -> usize {
        self.text.len()
    }

    /// The same list, to be changed.
    pub fn to_props(&self) -> Props {
        self.iter()
            .map(|(name, value)| (name.to_owned(), value.to_vec()))
            .collect()
    }
}

impl From<&Props> for PropList {
    fn from(props: &Props) -> Self {
        let mut text = Vec::new();
        hashdump::write_props(&mut text, props, Terminator::End);
        PropList { text: text.into() }
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
