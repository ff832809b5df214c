//! Packed property lists of a shard, in files as FSFS has them (formats 6 and later).
//!
//! A pack file is a number, the length of the rest, and the rest: the first revision, the number of lists, the length of each, an empty
//! line, and the lists. The manifest has the name of the pack file of each revision. Revision 0 is never in a pack.

/// The files of a shard: names and contents, the manifest last.
pub(super) fn files(first: u64, lists: &[impl AsRef<[u8]>]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut manifest = String::new();
    let mut at = 0;
    while at < lists.len() {
        let mut end = at + 1;
        let mut total = 2 * OVERHEAD + cost(&lists[at]);
        while end < lists.len()
            && cost(&lists[end]) <= MOST
            && total + cost(&lists[end]) <= MOST
            && total <= MOST
        {
            total += cost(&lists[end]);
            end += 1;
        }
        let rev = first + at as u64;
        let name = format!("{rev}.0");
        for _ in at..end {
            manifest.push_str(&name);
            manifest.push('\n');
        }
        files.push((name, encode(rev, &lists[at..end])));
        at = end;
    }
    files.push(("manifest".to_owned(), manifest.into_bytes()));
    files
}

fn cost(list: &impl AsRef<[u8]>) -> usize {
    list.as_ref().len() + OVERHEAD
}

fn encode(first: u64, lists: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut content = format!("{first}\n{}\n", lists.len()).into_bytes();
    for list in lists {
        content.extend_from_slice(format!("{}\n", list.as_ref().len()).as_bytes());
    }
    content.push(b'\n');
    for list in lists {
        content.extend_from_slice(list.as_ref());
    }
    let mut out = Vec::with_capacity(content.len() + 10);
    push_number(&mut out, content.len());
    // As long as the number says: it is not compressed.
    out.extend_from_slice(&content);
    out
}

/// Appends a number in groups of 7 bits, the highest first; all but the last have bit 7 set.
fn push_number(out: &mut Vec<u8>, number: usize) {
    let groups = (usize::BITS - number.leading_zeros()).div_ceil(7).max(1);
    for group in (0..groups).rev() {
        let bits = (number >> (7 * group)) as u8 & 0x7f;
        out.push(if group > 0 { bits | 0x80 } else { bits });
    }
}

/// Bytes that a list costs in a pack beside its own.
const OVERHEAD: usize = 21;

/// Bytes of a pack: nine tenths of the default of `revprop-pack-size`.
const MOST: usize = (16 << 10) / 10 * 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_has_the_form_of_fsfs() {
        let files = files(1, &[b"END\n", b"END\n", b"END\n"]);
        let content = b"1\n3\n4\n4\n4\n\nEND\nEND\nEND\n";
        let mut pack = vec![content.len() as u8];
        pack.extend_from_slice(content);
        assert_eq!(files[0], ("1.0".to_owned(), pack));
        assert_eq!(files[1], ("manifest".to_owned(), b"1.0\n1.0\n1.0\n".to_vec()));
    }

    #[test]
    fn long_lists_have_packs_of_their_own() {
        let lists = [
            vec![b'x'; 20_000],
            vec![b'y'; 10],
            vec![b'z'; 10],
            vec![b'x'; 20_000],
        ];
        let names: Vec<String> = files(8, &lists).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["8.0", "9.0", "11.0", "manifest"]);
    }

    #[test]
    fn numbers_have_the_highest_group_first() {
        let encoded = |number| {
            let mut out = Vec::new();
            push_number(&mut out, number);
            out
        };
        assert_eq!(encoded(0), [0]);
        assert_eq!(encoded(127), [127]);
        assert_eq!(encoded(331), [0x82, 0x4b]);
        assert_eq!(encoded(16384), [0x81, 0x80, 0]);
    }
}
