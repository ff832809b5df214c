//! Values that the real 1.14.2 accepts, prints and refuses (recorded), and the laws of the operations.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::error_codes::Code;
use crate::revnum::Revnum;

fn parsed(text: &str) -> Mergeinfo {
    Mergeinfo::parse(text.as_bytes()).expect("valid mergeinfo")
}

#[test]
fn values_print_as_the_incumbent_prints_them() {
    for (input, output) in [
        ("", ""),
        ("/a:1\n", "/a:1"),
        ("a/b:1", "/a/b:1"),
        ("/a:1,2,3", "/a:1-3"),
        ("/a:3,1", "/a:1,3"),
        ("/a:1-3,2-5", "/a:1-5"),
        ("/a:1-3*,2-5*", "/a:1-5*"),
        ("/a:1-3,4-5*", "/a:1-3,4-5*"),
        ("/a:1-3,5-7,2-6", "/a:1-7"),
        ("/a:5*,4-5*,3*,2,1", "/a:1-2,3-5*"),
        ("/a: \t\x0b1,5", "/a:1,5"),
        ("/a:1,\n/b:2", "/a:1\n/b:2"),
        ("/a:b:1", "/a:b:1"),
        ("/a::1", "/a::1"),
        (":1", "/:1"),
        ("/a:1\0x", "/a:1"),
        ("//a/./b/:1", "/a/b:1"),
        (" /a:1", "/ /a:1"),
        ("/a/../b:01", "/a/../b:1"),
        ("/a:1-2147483647", "/a:1-2147483647"),
        ("/a:0000000001", "/a:1"),
        ("/a:1\n/a:1*", "/a:1"),
        ("/a:1-5*\n/a:3", "/a:1-2*,3,4-5*"),
        ("/A:1-5,7-9\n/A:3-8*", "/A:1-5,6*,7-9"),
        ("/A:1,5*,9\n/A:2-4*,6-8", "/A:1,2-5*,6-9"),
        ("/A:1-10*\n/A:3,5,7*,20-22", "/A:1-2*,3,4*,5,6-10*,20-22"),
        (
            "/A:1\n/A b:2\n/A/b:3\n/A/:4\n/:5\n/AA:5",
            "/:5\n/A:1,4\n/A/b:3\n/A b:2\n/AA:5",
        ),
    ] {
        assert_eq!(parsed(input).to_string(), output, "{input:?}");
    }
}

#[test]
fn refusals_have_the_incumbents_texts() {
    for (input, text) in [
        ("/a", "Pathname not terminated by ':'"),
        ("/a:1\n\n", "Pathname not terminated by ':'"),
        ("/a:1,\n2", "Pathname not terminated by ':'"),
        (
            "/a:3-3",
            "Unable to parse revision range '3-3' with same start and end revisions",
        ),
        ("/a:5-3*", "Unable to parse reversed revision range '5-3'"),
        ("/a:1-0", "Unable to parse reversed revision range '1-0'"),
        ("/a:0-0", "Invalid revision number '0' found in range list"),
        ("/a:0x", "Invalid character 'x' found in revision list"),
        ("/a:0-x", "Invalid revision number '0' found in range list"),
        ("/a:\t,1", "Could not parse mergeinfo string '\t,1'"),
        ("/a:\r1,x", "Could not parse mergeinfo string '\r1,x'"),
        ("/a/:\n/b:1", "Mergeinfo for '/a' maps to an empty revision range"),
        ("/a: ", "Mergeinfo for '/a' maps to an empty revision range"),
        ("/a:1,", "Range list parsing ended before hitting newline"),
        ("/a:1 ,2", "Invalid character ' ' found in revision list"),
        ("/a:1x\n/b:1", "Invalid character 'x' found in revision list"),
        ("/a:1*2", "Invalid character '2' found in range list"),
        ("/a:1-2-3", "Invalid character '-' found in range list"),
        (
            "/a:2-5*,1-3",
            "Unable to parse overlapping revision ranges '1-3' and '2-5*' with different inheritance types",
        ),
        (
            "/a:1-3,5-7*,2-6",
            "Unable to parse overlapping revision ranges '1-6' and '5-7*' with different inheritance types",
        ),
        (
            "/a:1,1*",
            "Unable to parse overlapping revision ranges '1' and '1*' with different inheritance types",
        ),
    ] {
        let error = Mergeinfo::parse(input.as_bytes()).expect_err(input);
        assert_eq!(error.code(), Code::MERGEINFO_PARSE_ERROR);
        assert_eq!(error.message(), text, "{input:?}");
    }
}

#[test]
fn numbers_are_refused_with_two_links() {
    for (input, quoted, text) in [
        (
            "/a:x\n/b:2",
            "x\n/b:2",
            "Invalid revision number found parsing 'x\n/b:2'",
        ),
        ("/a:1-x,3", "1-x,3", "Invalid revision number found parsing 'x,3'"),
        ("/a:1, 2", "1, 2", "Invalid revision number found parsing ' 2'"),
        ("/a:-1,2", "-1,2", "Negative revision number found parsing '-1,2'"),
        ("/a:+1", "+1", "Invalid revision number found parsing '+1'"),
        ("/a:*", "*", "Invalid revision number found parsing '*'"),
        (
            "/a:00000000000",
            "00000000000",
            "Revision number longer than 10 digits '00000000000'",
        ),
        (
            "/a:1-2147483648",
            "1-2147483648",
            "Revision number too large '2147483648'",
        ),
    ] {
        let error = Mergeinfo::parse(input.as_bytes()).expect_err(input);
        assert_eq!(
            error.message(),
            format!("Could not parse mergeinfo string '{quoted}'")
        );
        assert_eq!(error.code(), Code::MERGEINFO_PARSE_ERROR);
        assert_eq!(error.root_cause().code(), Code::REVNUM_PARSE_FAILURE);
        assert_eq!(error.root_cause().text(), text);
    }
}

#[test]
fn children_inherit_with_extended_sources() {
    let rel = RelPath::parse("x/y").expect("canonical");
    let info = parsed("/:2\n/A:1,3*,5\n/B:7*");
    assert_eq!(info.inherited_by(&rel).to_string(), "/A/x/y:1,5\n/x/y:2");
}

/// The state of revisions 1 to 20 in a list.
type Table = [Option<bool>; 20];

fn table(list: &Rangelist) -> Table {
    std::array::from_fn(|at| list.at(Revnum(at as u64 + 1)))
}

fn list_of(table: &[Option<bool>]) -> Rangelist {
    let mut list = Rangelist::new();
    for (at, state) in (0u64..).zip(table) {
        if let Some(inheritable) = *state {
            let (start, end) = (Revnum(at), Revnum(at + 1));
            list.push(Range {
                start,
                end,
                inheritable,
            });
        }
    }
    list
}

fn lists() -> impl Strategy<Value = Rangelist> {
    vec(any::<Option<bool>>(), 20).prop_map(|table| list_of(&table))
}

fn infos() -> impl Strategy<Value = Mergeinfo> {
    vec(("/[ab](/[c-])?", lists()), 0..5).prop_map(|lines| {
        let mut info = Mergeinfo::new();
        for (source, ranges) in lines {
            info.add(Source::new(&source), &ranges);
        }
        info
    })
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(info in infos()) {
        prop_assert_eq!(parsed(&info.to_string()), info);
    }

    #[test]
    fn parsing_never_panics_and_prints_what_it_parses(text in "[/ab:,*0-9\n -]{0,24}") {
        if let Ok(info) = Mergeinfo::parse(text.as_bytes()) {
            let printed = info.to_string();
            prop_assert_eq!(parsed(&printed), info);
        }
    }

    #[test]
    fn operations_are_pointwise(a in lists(), b in lists()) {
        use Inheritance::{Consider, Ignore};
        let (ta, tb) = (table(&a), table(&b));
        let each = |f: &dyn Fn(Option<bool>, Option<bool>) -> Option<bool>| -> Table {
            std::array::from_fn(|at| f(ta[at], tb[at]))
        };
        prop_assert_eq!(table(&a.merge(&b)), each(&|x, y| x.max(y)));
        prop_assert_eq!(table(&a.remove(&b, Ignore)), each(&|x, y| if y.is_some() { None } else { x }));
        prop_assert_eq!(table(&a.remove(&b, Consider)), each(&|x, y| if x == y { None } else { x }));
        prop_assert_eq!(
            table(&a.intersect(&b, Ignore)),
            each(&|x, y| if x.is_none() || y.is_none() { None } else { x.max(y) })
        );
        prop_assert_eq!(table(&a.intersect(&b, Consider)), each(&|x, y| if x == y { x } else { None }));
        prop_assert_eq!(list_of(&table(&a)), a, "canonical");
    }

    #[test]
    fn merging_what_is_missing_gives_all(a in infos(), b in infos()) {
        let (deleted, added) = a.diff(&b, Inheritance::Consider);
        prop_assert_eq!(a.remove(&deleted, Inheritance::Ignore).merge(&added), b.clone());
        prop_assert_eq!(a.merge(&b), b.merge(&a));
        prop_assert_eq!(a.merge(&a), a.clone());
        prop_assert!(a.remove(&a, Inheritance::Ignore).is_empty());
        prop_assert_eq!(a.intersect(&a, Inheritance::Consider), a);
    }
}
