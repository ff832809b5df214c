//! Values of `svn:mergeinfo` that current clients do not send: the client normalizes values, a server stores any
//! value that it can parse.

use std::sync::Arc;

use testkit::history::Random;
use testkit::probe::{Probe, ProbeItem, list, text, word};
use testkit::random_history::RandomHistory;
use testkit::stream::RecordKind;

use super::peer::MergePeer;

/// Commits a value on a random node over raw svn://; returns the response.
pub fn commit(peer: &MergePeer, random: &mut Random, history: &RandomHistory, tree: usize) -> String {
    let nodes: Vec<(&String, &RecordKind)> = history.trees[tree].iter().collect();
    let (path, kind) = nodes[random.below(nodes.len())];
    let value = value(random, history);
    let mut probe = Probe::connect_as(Arc::clone(&peer.server), peer.server.url("repo"), None);
    let props = list([list([text("svn:log"), text("raw")])]);
    let response = probe.request("commit", vec![text("raw"), list([]), word("false"), props]);
    assert_eq!(response.items().first(), Some(&word("success")), "{response:?}");
    let mut out = Vec::new();
    let mut send = |command: &str, params: Vec<ProbeItem>| {
        list([word(command), list(params)]).write(&mut out);
    };
    send("open-root", vec![list([]), text("d0")]);
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    for level in 1..=names.len() {
        let command = match (level == names.len(), kind) {
            (true, RecordKind::File) => "open-file",
            _ => "open-dir",
        };
        let (parent, token) = (format!("d{}", level - 1), format!("d{level}"));
        send(
            command,
            vec![
                text(names[..level].join("/")),
                text(parent),
                text(token),
                list([]),
            ],
        );
    }
    let kind = if *kind == RecordKind::File { "file" } else { "dir" };
    let token = format!("d{}", names.len());
    send(
        &format!("change-{kind}-prop"),
        vec![text(&token), text("svn:mergeinfo"), list([text(&value)])],
    );
    for level in (0..=names.len()).rev() {
        let is_file = level == names.len() && kind == "file";
        let token = text(format!("d{level}"));
        match is_file {
            true => send("close-file", vec![token, list([])]),
            false => send("close-dir", vec![token]),
        }
    }
    send("close-edit", vec![]);
    probe.send(&out);
    let response = probe.read();
    let output_text = match response.items().get(1).and_then(|errors| errors.items().first()) {
        // Masks the source file and line in the error.
        Some(error) => format!("{:?}", error.items().iter().take(2).collect::<Vec<_>>()),
        None => "taken".to_owned(),
    };
    format!("{path} {value:?}: {output_text}")
}

fn value(random: &mut Random, history: &RandomHistory) -> String {
    let mut source = || history.paths[random.below(history.paths.len())].clone();
    let (a, b) = (source(), source());
    let first = 1 + random.below(history.youngest as usize);
    let last = first + random.below(5);
    match random.below(20) {
        0 => format!("{a}:{last},1-2"),
        1 => format!("{a}:{first}-{last},2-{first}"),
        2 => format!("{}:{first}-{last}", a.trim_start_matches('/')),
        3 => format!("/{a}:{first}-{last}\n{b}:{first}"),
        4 => format!("{a}:{first}\n{a}:{last}"),
        5 => format!("{a}:{first}*,{first}"),
        6 => format!("{a}:{first}-{last}*,{first}"),
        7 => format!("{a}/:{first}"),
        8 => format!("{a}:"),
        9 => format!("{a}:{first}\n\n{b}:{last}"),
        10 => format!("{a}:{first}-{last}\n"),
        11 => format!("{a}: {first}"),
        12 => "no mergeinfo".to_owned(),
        13 => format!("{a}:0-{last}"),
        14 => format!("{a}:{last}-{first}"),
        15 => format!("{a}:{first},{first},{}", first + 1),
        16 => format!("{b}:{first}*,{},{}*", first + 1, first + 2),
        17 => format!("/:{first}-{last}"),
        18 => format!("{a}:{first}-99999999999"),
        _ => format!("{b}:{last}\n{a}:{first}"),
    }
}
