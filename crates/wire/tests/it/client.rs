//! What the client writes, the server reads; what the server writes, the client reads.

use base::Props;
use proptest::prelude::*;
use wire::dav::client::{
    PropResponse, PropertyChange, XmlEvent, XmlEvents, checkout, create_txn, lock, merge, property_name,
    propfind, proppatch, value,
};
use wire::dav::multistatus::Multistatus;
use wire::dav::post::PostRequest;
use wire::dav::propfind::PropfindRequest;
use wire::dav::proppatch::{PropAction, PropValue, PropertyUpdate};
use wire::dav::xml::{Element, XmlLimits, escape_attribute, escape_text};

fn parse(text: &str) -> Element {
    Element::parse(text.as_bytes(), XmlLimits::default()).expect("well-formed")
}

/// Recorded from `svn` 1.14.2, without the line ends of the recording.
#[test]
fn bodies_are_those_of_the_incumbent() {
    const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>";
    let tokens = [("a.txt".to_owned(), "opaquelocktoken:a3e2".to_owned())];
    for (body, expected) in [
        (
            merge("/svn/main/!svn/txn/2-2", &tokens),
            "<D:merge xmlns:D=\"DAV:\"><D:source><D:href>/svn/main/!svn/txn/2-2</D:href></D:source><D:no-auto-merge/>\
             <D:no-checkout/><D:prop><D:checked-in/><D:version-name/><D:resourcetype/><D:creationdate/>\
             <D:creator-displayname/></D:prop><S:lock-token-list xmlns:S=\"svn:\"><S:lock><lock-path>a.txt</lock-path>\
             <lock-token>opaquelocktoken:a3e2</lock-token></S:lock></S:lock-token-list></D:merge>",
        ),
        (
            lock(Some("lock <c>")),
            "<lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>lock \
             &lt;c&gt;</owner></lockinfo>",
        ),
        (
            checkout("/v1/!svn/act/d299", true),
            "<D:checkout xmlns:D=\"DAV:\"><D:activity-set><D:href>/v1/!svn/act/d299</D:href></D:activity-set>\
             <D:apply-to-version/></D:checkout>",
        ),
        (
            propfind(&[("DAV:", "checked-in")]),
            "<propfind xmlns=\"DAV:\"><prop><checked-in xmlns=\"DAV:\"/></prop></propfind>",
        ),
    ] {
        assert_eq!(body.strip_prefix(DECLARATION), Some(expected));
    }
    let props: Props = [("svn:log".to_owned(), b"mixed commit".to_vec())].into();
    assert_eq!(
        create_txn(Some(&props)),
        b"(create-txn-with-props (7 svn:log 12 mixed commit))"
    );
}

proptest! {
    #[test]
    fn changes_of_properties_pass(
        changes in prop::collection::vec(
            (
                "(svn:)?[a-zA-Z_][a-z0-9._:-]{0,8}[a-z]",
                prop::option::of(prop::collection::vec(any::<u8>(), 0..80)),
                prop::option::of(prop::option::of(prop::collection::vec(any::<u8>(), 0..80))),
            ),
            1..6,
        )
    ) {
        let written: Vec<_> = changes
            .iter()
            .map(|(name, value, expected)| PropertyChange {
                name,
                value: value.as_deref(),
                expected: expected.as_ref().map(Option::as_deref),
            })
            .collect();
        let read = PropertyUpdate::parse_all(&parse(&proppatch(&written))).expect("an update");
        // Settings come before removals.
        let (set, removed): (Vec<_>, Vec<_>) = changes
            .iter()
            .partition(|(_, value, expected)| value.is_some() || expected.is_some());
        prop_assert_eq!(read.len(), changes.len());
        for (read, (name, value, expected)) in read.iter().zip(set.into_iter().chain(removed)) {
            let found = property_name(&read.name);
            prop_assert_eq!(found.as_ref(), Some(name));
            let action = match (value, expected) {
                (Some(value), _) => PropAction::Set(PropValue::Bytes(value.clone())),
                (None, Some(_)) => PropAction::SetAbsent,
                (None, None) => PropAction::Remove,
            };
            prop_assert_eq!(&read.action, &action);
            let old = expected.as_ref().map(|old| old.clone().map(PropValue::Bytes));
            prop_assert_eq!(&read.expected, &old);
        }
    }

    #[test]
    fn properties_of_transactions_pass(
        props in prop::collection::btree_map("[a-z:(0-9]{1,12}", prop::collection::vec(any::<u8>(), 0..120), 0..6)
    ) {
        let props: Props = props.into_iter().collect();
        prop_assert_eq!(PostRequest::parse(&create_txn(Some(&props))), Some(PostRequest::CreateTxnWithProps(props)));
    }

    #[test]
    fn properties_of_nodes_pass(
        props in prop::collection::btree_map(
            "(svn:)?[a-zA-Z_][a-z0-9._:-]{0,8}[a-z]",
            prop::collection::vec(any::<u8>(), 0..120),
            0..6,
        )
    ) {
        let form = Multistatus::new(&PropfindRequest::All);
        let mut out = String::new();
        Multistatus::open(&mut out);
        let mut response = form.response("/r/a", &mut out);
        for (name, value) in &props {
            response.stored(name, value);
        }
        response.finish();
        Multistatus::close(&mut out);
        let root = parse(&out);
        let read = PropResponse::read(&root.children[0]).expect("a response");
        let found: std::collections::BTreeMap<_, _> = read
            .found
            .iter()
            .filter_map(|prop| Some((property_name(&prop.name)?, value(prop)?)))
            .collect();
        prop_assert_eq!(found, props);
    }

    #[test]
    fn events_are_the_tree(
        parts in prop::collection::vec((0..4u8, "[ -~\\n\\té]{0,20}"), 0..40),
        capacity in 1..40usize,
    ) {
        // Random tags that fit, with texts in leaves.
        let (mut text, mut depth) = ("<r>".to_owned(), 0);
        for (kind, part) in &parts {
            match kind {
                0 => {
                    text.push_str("<a b=\"");
                    escape_attribute(part, &mut text);
                    text.push_str("\">");
                    depth += 1;
                }
                1 if depth > 0 => {
                    text.push_str("</a>");
                    depth -= 1;
                }
                2 => text.push_str("<e/>"),
                _ => {
                    text.push_str("<t>");
                    escape_text(part, &mut text);
                    text.push_str("</t>");
                }
            }
        }
        text.push_str(&"</a>".repeat(depth));
        text.push_str("</r>");
        let source = std::io::BufReader::with_capacity(capacity, text.as_bytes());
        let mut events = XmlEvents::new(source, XmlLimits::default());
        let mut shown = String::new();
        loop {
            match events.next_event().expect("well-formed") {
                XmlEvent::Start { name, attributes } => shown += &format!("<{} {attributes:?}", name.local),
                XmlEvent::End { name, text } if name.local == "t" => shown += &format!("{text:?}>"),
                XmlEvent::End { .. } => shown.push('>'),
                XmlEvent::Eof => break,
            }
        }
        let mut expected = String::new();
        // An element, or the end of one.
        let root = parse(&text);
        let mut left = vec![Some(&root)];
        let mut open = Vec::new();
        while let Some(next) = left.pop() {
            let Some(element) = next else {
                let element: &Element = open.pop().expect("it began");
                match element.name.local.as_str() {
                    "t" => expected += &format!("{:?}>", element.text),
                    _ => expected.push('>'),
                }
                continue;
            };
            expected += &format!("<{} {:?}", element.name.local, element.attributes);
            open.push(element);
            left.push(None);
            left.extend(element.children.iter().rev().map(Some));
        }
        prop_assert_eq!(shown, expected);
    }
}
