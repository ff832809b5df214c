//! Reads responses completely, and sorts the parts without a defined order.

use std::collections::HashMap;

use delta::svndiff::{Codec, Decoder};
use testkit::probe::{Probe, ProbeItem, list, text, word};

use super::drive::{self, DeltaReceiver, EditFacts};

/// The structure of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseShape {
    /// One item.
    Single,
    /// One item, sometimes followed by a text.
    File,
    /// Entries until `done`, in order.
    Stream,
    /// Entries until `done`, in any order.
    Unordered,
    /// Revisions of a file until `done`, with deltas.
    FileRevs,
    /// An edit after a report; the order of siblings is partly undefined.
    Edit,
    /// Replayed revisions.
    Replay,
}

/// A response: all items.
pub type ResponseItems = Vec<ProbeItem>;

/// True if the server closed the connection or stopped responding.
pub fn is_closed(response: &ResponseItems) -> bool {
    response.last() == Some(&word("closed"))
}

/// True if an edit is complete.
pub fn is_complete(response: &ResponseItems) -> bool {
    response.iter().any(|item| is(item, "close-edit"))
}

/// Sends a request and reads the complete response.
pub fn read_response(
    probe: &mut Probe,
    words: &str,
    shape: ResponseShape,
    known: &EditFacts<'_>,
) -> ResponseItems {
    probe.send_text(words);
    let mut received = Vec::new();
    // The authentication request; there is another one after a report.
    for _ in 0..if shape == ResponseShape::Edit { 2 } else { 1 } {
        let auth = probe.read();
        let is_over = !is(&auth, "success");
        received.push(auth);
        if is_over {
            return received;
        }
    }
    match shape {
        ResponseShape::Single => received.push(tidy(probe.read())),
        ResponseShape::File => file(probe, &mut received),
        ResponseShape::Stream | ResponseShape::Unordered | ResponseShape::FileRevs => {
            let begin = received.len();
            entries(probe, &mut received);
            if shape == ResponseShape::Unordered {
                let end = received.len() - 1;
                received[begin..end].sort();
            }
            if shape == ResponseShape::FileRevs {
                received = texts_of(received);
            }
        }
        ResponseShape::Edit => {
            edit(probe, &mut received, known);
            let edit = received.split_off(2);
            received.extend(drive::canonical(edit, known));
        }
        ResponseShape::Replay => {
            edit(probe, &mut received, known);
            for run in received.chunk_by_mut(|a, b| is_prop(a) && is_prop(b)) {
                run.sort();
            }
        }
    }
    received
}

fn is(item: &ProbeItem, name: &str) -> bool {
    item.items().first() == Some(&word(name))
}

fn is_prop(item: &ProbeItem) -> bool {
    is(item, "change-dir-prop") || is(item, "change-file-prop")
}

fn file(probe: &mut Probe, received: &mut ResponseItems) {
    let response = tidy(probe.read());
    let has_text = is(&response, "success") && response.items()[1].items()[0].items().len() == 1;
    received.push(response);
    // All requests of this structure ask for contents.
    let mut whole = Vec::new();
    if !has_text {
        return;
    }
    loop {
        match probe.read() {
            ProbeItem::Text(piece) if piece.is_empty() => {
                received.push(text(&whole));
                received.push(probe.read());
                return;
            }
            ProbeItem::Text(piece) => whole.extend(piece),
            other => {
                received.push(other);
                return;
            }
        }
    }
}

fn entries(probe: &mut Probe, received: &mut ResponseItems) {
    loop {
        let item = tidy(probe.read());
        let is_over = item == word("closed") || is(&item, "failure");
        let is_done = item == word("done");
        if is_done {
            received.push(tidy(probe.read()));
        } else {
            received.push(item);
        }
        if is_over || is_done {
            return;
        }
    }
}

/// Reads one or more edits up to the final item, and replaces tokens by paths.
fn edit(probe: &mut Probe, received: &mut ResponseItems, known: &EditFacts<'_>) {
    let mut open: HashMap<ProbeItem, ProbeItem> = HashMap::new();
    let mut texts = DeltaReceiver::default();
    loop {
        let item = probe.read();
        let (Some(ProbeItem::Word(name)), Some(params)) = (item.items().first(), item.items().get(1)) else {
            // The properties of a revision of a range, or the end.
            received.push(tidy(item));
            if is_closed(received) {
                return;
            }
            continue;
        };
        let mut args = params.items().to_vec();
        let begins = match name.as_str() {
            "success" | "failure" => {
                received.push(item);
                return;
            }
            "open-root" => {
                open.insert(args[1].clone(), text("/"));
                Some(1)
            }
            "add-dir" | "open-dir" | "add-file" | "open-file" => {
                open.insert(args[2].clone(), args[0].clone());
                Some(2)
            }
            "close-edit" | "abort-edit" => {
                probe.send_text("( success ( ) ) ");
                None
            }
            "apply-textdelta" => {
                texts.begin(&args[0], &args[1]);
                None
            }
            // The windows and encoding of a delta may differ, its result may not.
            "textdelta-chunk" => {
                texts.push(&args[0], &args[1]);
                continue;
            }
            "textdelta-end" => {
                received.extend(texts.end(&args[0], known));
                None
            }
            _ => None,
        };
        if let Some(at) = begins {
            args.remove(at);
        }
        for arg in &mut args {
            if let Some(path) = open
                .get(arg)
                .filter(|_| begins.is_none() && name != "delete-entry")
            {
                *arg = path.clone();
            }
        }
        if ["add-dir", "open-dir", "add-file", "open-file"].contains(&name.as_str()) {
            // The parent's token.
            args.remove(1);
        }
        if name == "delete-entry" {
            args.remove(2);
        }
        if name == "absent-dir" || name == "absent-file" {
            args.remove(1);
        }
        received.push(tidy(list([word(name), list(args)])));
    }
}

/// Sorts lists of properties and of directory entries.
fn tidy(item: ProbeItem) -> ProbeItem {
    let ProbeItem::List(items) = item else {
        return item;
    };
    let mut items: Vec<ProbeItem> = items.into_iter().map(tidy).collect();
    if items.iter().all(is_pair) || items.iter().all(is_dir_entry) || items.iter().all(is_lock) {
        items.sort();
    }
    ProbeItem::List(items)
}

fn is_pair(item: &ProbeItem) -> bool {
    match item.items() {
        [ProbeItem::Text(_), ProbeItem::Text(_)] => true,
        // A changed or deleted property.
        [ProbeItem::Text(_), ProbeItem::List(value)] => matches!(&value[..], [] | [ProbeItem::Text(_)]),
        _ => false,
    }
}

fn is_dir_entry(item: &ProbeItem) -> bool {
    matches!(
        item.items(),
        [ProbeItem::Text(_), ProbeItem::Word(_), ProbeItem::Number(_), ..]
    )
}

fn is_lock(item: &ProbeItem) -> bool {
    matches!(
        item.items(),
        [
            ProbeItem::Text(_),
            ProbeItem::Text(_),
            ProbeItem::Text(_),
            ProbeItem::List(_),
            ProbeItem::Text(_),
            ProbeItem::List(_)
        ]
    )
}

/// Replaces the deltas of file revisions by texts.
fn texts_of(received: ResponseItems) -> ResponseItems {
    let mut reported = Vec::new();
    let mut before = Vec::new();
    let mut delta: Vec<u8> = Vec::new();
    for item in received {
        match item {
            ProbeItem::Text(bytes) if !bytes.is_empty() => delta.extend(bytes),
            ProbeItem::Text(_) if delta.is_empty() => reported.push(word("same")),
            ProbeItem::Text(_) => {
                let (mut decoder, mut codec, mut now) = (Decoder::new(), Codec::new(), Vec::new());
                let applied = decoder.push(&std::mem::take(&mut delta), |window| {
                    let window = window.decode(&mut codec)?;
                    let start = before.len().min(window.source_offset as usize);
                    window.apply(&before[start..], &mut now)?;
                    Ok(())
                });
                match applied {
                    Ok(_) => reported.push(text(&now)),
                    Err(error) => reported.push(word(&format!("{error:?}"))),
                }
                before = now;
            }
            other => reported.push(other),
        }
    }
    reported
}

/// Formats both with the first line in which they differ.
pub fn difference(theirs: &ResponseItems, ours: &ResponseItems) -> String {
    let at = theirs.iter().zip(ours).take_while(|(a, b)| a == b).count();
    let show = |response: &ResponseItems| -> String {
        let lines = response.iter().enumerate().skip(at.saturating_sub(8)).take(14);
        lines.map(|(n, item)| format!("  {n}: {item:?}\n")).collect()
    };
    format!(
        "differs at {at} ({} and {} items)\ntheirs:\n{}ours:\n{}",
        theirs.len(),
        ours.len(),
        show(theirs),
        show(ours)
    )
}
