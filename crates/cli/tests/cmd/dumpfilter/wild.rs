//! Random streams that need not make sense as a repository: any node anywhere, any copy source, any mergeinfo, odd names,
//! gaps in the numbers, properties and texts as differences.

use testkit::history::Random;

use crate::mergeinfo;
use crate::random::one_of;
use crate::streams::record::StreamRecord;

/// Returns a stream.
pub fn stream(random: &mut Random) -> Vec<u8> {
    let mut out = format!(
        "SVN-fs-dump-format-version: {}\n\n",
        one_of(random, &["2", "2", "3"])
    )
    .into_bytes();
    if random.below(2) == 0 {
        out.extend_from_slice(b"UUID: 11111111-2222-3333-4444-555555555555\n\n");
    }
    let mut number = one_of(random, &[0, 0, 0, 1, 1, 2, 4, 7]);
    for _ in 0..random.below(12) {
        revision(random, number).write(&mut out);
        for _ in 0..one_of(random, &[0, 1, 1, 1, 2, 2, 3, 5]) {
            node(random, number).write(&mut out);
        }
        number += match random.below(24) {
            0 => random.below(5),
            _ => 1,
        };
    }
    out
}

fn revision(random: &mut Random, number: usize) -> StreamRecord {
    let date = format!("2020-01-{:02}T00:00:00.000000Z", number % 28 + 1);
    let mut props = vec![("svn:log", Some("l"))];
    if random.below(8) > 0 {
        props.push(("svn:date", Some(date.as_str())));
    }
    if random.below(3) == 0 {
        props.push((one_of(random, &["aa", "zz", "é", "svn:author"]), Some("v\nw")));
    }
    let number = number.to_string();
    let headers = [("Revision-number", number.as_str())];
    let shown = match random.below(16) {
        0 => Some(&[][..]),
        1 => None,
        _ => Some(&props[..]),
    };
    let mut record = StreamRecord::new(&headers, shown, None);
    record.end = b"\n".to_vec();
    record
}

fn node(random: &mut Random, number: usize) -> StreamRecord {
    let (path, source) = (path(random), path(random));
    let action = one_of(random, &["add", "add", "change", "change", "replace", "delete"]);
    let mut headers = vec![("Node-path", path.as_str())];
    match action {
        "delete" => {}
        _ => headers.push(("Node-kind", one_of(random, &["file", "dir"]))),
    }
    headers.push(("Node-action", action));
    let from = number.saturating_sub(random.below(6)).to_string();
    if action != "delete" && random.below(4) == 0 {
        headers.extend([
            ("Node-copyfrom-rev", from.as_str()),
            ("Node-copyfrom-path", source.as_str()),
        ]);
    }
    let value = mergeinfo(random, number);
    let is_delta = random.below(4) == 0;
    let mut props: Vec<(&str, Option<&str>)> = Vec::new();
    for _ in 0..random.below(3) {
        match random.below(4) {
            0 if is_delta => props.push((one_of(random, &["a", "svn:mergeinfo"]), None)),
            0..=1 => props.push(("svn:mergeinfo", Some(value.as_str()))),
            2 => props.push((one_of(random, &["z", "é", "svnmerge-integrated"]), Some("/a:1-3"))),
            _ => props.push(("svn:executable", Some("*"))),
        }
    }
    let text = one_of(
        random,
        &[&b""[..], b"text\n", b"SVN\0\x01\n\nNode-path: x\n", b"\xff"],
    );
    let has_content = action != "delete" && random.below(5) > 0;
    if is_delta && random.below(3) > 0 {
        headers.push(("Prop-delta", "true"));
    } else if is_delta {
        props.retain(|(_, value)| value.is_some() || random.below(8) == 0);
    }
    if random.below(4) == 0 {
        headers.push(("Text-delta", "true"));
    }
    if random.below(4) == 0 {
        headers.extend([
            ("Text-content-md5", "d41d8cd98f00b204e9800998ecf8427e"),
            ("Text-content-sha1", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ]);
    }
    let props = (has_content && random.below(3) > 0).then_some(&props[..]);
    let text = (has_content && random.below(2) > 0).then_some(text);
    StreamRecord::new(&headers, props, text)
}

/// Returns a path of few names, mostly without a slash before it.
pub fn path(random: &mut Random) -> String {
    let mut path = String::from(one_of(random, &["", "", "", "", "", "", "", "/"]));
    for at in 0..=random.below(3) {
        if at > 0 {
            path.push('/');
        }
        path.push_str(one_of(
            random,
            &["a", "a", "b", "b", "c", "a.b", "a b", "é", "trunk"],
        ));
    }
    match random.below(40) {
        0 => String::new(),
        1 => path + "/",
        _ => path,
    }
}

fn mergeinfo(random: &mut Random, number: usize) -> String {
    if random.below(8) == 0 {
        return mergeinfo::value(random, number + 2);
    }
    let mut lines = Vec::new();
    for _ in 0..random.below(4) {
        let mut ranges = Vec::new();
        let mut start = one_of(random, &[1, 1, 2, 3]);
        while start <= number + random.below(8) / 7 && ranges.len() < 4 {
            let end = start + one_of(random, &[0, 0, 1, 2]);
            let star = one_of(random, &["", "", "", "*"]);
            ranges.push(match end > start {
                true => format!("{start}-{end}{star}"),
                false => format!("{start}{star}"),
            });
            start = end + 1 + random.below(3);
        }
        if !ranges.is_empty() {
            let path = path(random);
            lines.push(format!("/{}:{}", path.trim_matches('/'), ranges.join(",")));
        }
    }
    lines.join("\n")
}
