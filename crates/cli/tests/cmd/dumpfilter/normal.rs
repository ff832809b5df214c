//! Compares the results of both filters.
//!
//! The order of the headers in the middle of a record changes from run to run of the incumbent, so headers are compared
//! sorted. All other differences that are allowed are in [`difference`], each with its reason.

use testkit::Output;

/// Returns the kind of a difference that is not known.
pub fn difference(theirs: &Output, ours: &Output, input: &[u8]) -> Option<String> {
    let first = |output: &Output| output.err().lines().last().unwrap_or_default().to_owned();
    if ours.code == -1 || ours.err().contains("panicked") {
        return Some(format!("ours died: {}", first(ours)));
    }
    let (their_stream, our_stream) = (normal(&theirs.stdout), normal(&ours.stdout));
    // The incumbent cannot sort the list of dropped nodes if one of them ends with a slash.
    if theirs.err().contains("Assertion `is_canonical(") {
        return (their_stream != our_stream || ours.code != 0).then(|| "before a bad path".to_owned());
    }
    // A node before any revision, a text of a revision, and a copy with a text and without a kind crash the incumbent.
    if theirs.code == -1 {
        return (ours.code != 1).then(|| format!("theirs died, ours exits {}", ours.code));
    }
    // The incumbent fails on ranges of which all revisions were left out.
    if theirs.err().contains("bad range {start=") {
        return (!our_stream.starts_with(&their_stream)).then(|| "before a bad range".to_owned());
    }
    if theirs.code != ours.code {
        return Some(format!(
            "exit {} and {}: {} | {}",
            theirs.code,
            ours.code,
            first(theirs),
            first(ours)
        ));
    }
    // With --skip-missing-merge-sources, the first of several missing revisions is a random one.
    let missing = "No valid revision range '";
    let is_any_missing = theirs.err().contains(missing) && ours.err().contains(missing);
    if theirs.stderr != ours.stderr && !is_any_missing {
        return Some(format!("stderr: {} | {}", first(theirs), first(ours)));
    }
    let is_same = match has_oldest_content(input) {
        // Where the lengths differ, records cannot be told from contents.
        true => loose(&theirs.stdout) == loose(&ours.stdout),
        false => their_stream == our_stream,
    };
    (!is_same).then(|| "stdout".to_owned())
}

/// The incumbent does not announce the texts of the oldest streams.
fn has_oldest_content(input: &[u8]) -> bool {
    let oldest = b"SVN-fs-dump-format-version: 1";
    input.windows(oldest.len()).any(|window| window == oldest)
}

/// Returns the lines without lengths and ends of properties, sorted.
fn loose(stream: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = stream
        .split(|byte| *byte == b'\n')
        .filter(|line| {
            !line.is_empty()
                && *line != b"PROPS-END"
                && !line.windows(14).any(|part| part == b"ontent-length:")
        })
        .collect();
    lines.sort_unstable();
    lines
}

/// Returns the stream with the headers of each record sorted, and with the property list that the incumbent omits from a
/// revision that has none.
pub fn normal(stream: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(stream.len());
    let mut rest = stream;
    while !rest.is_empty() {
        if rest[0] == b'\n' {
            out.push(b'\n');
            rest = &rest[1..];
            continue;
        }
        let end = rest
            .windows(2)
            .position(|pair| pair == b"\n\n")
            .map_or(rest.len(), |at| at + 2);
        let (head, after) = rest.split_at(end);
        rest = after;
        let mut headers: Vec<&[u8]> = head
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .collect();
        let is_revision = headers
            .first()
            .is_some_and(|line| line.starts_with(b"Revision-number: "));
        let length = |name: &[u8], headers: &[&[u8]]| {
            let line = headers.iter().find_map(|line| line.strip_prefix(name))?;
            Some(leading_number(line))
        };
        let props = length(b"Prop-content-length: ", &headers);
        let mut content = usize::try_from(length(b"Content-length: ", &headers).unwrap_or(0)).unwrap_or(0);
        let has_list = rest.starts_with(b"K ") || rest.starts_with(b"PROPS-END\n");
        let mut inserted: &[u8] = b"";
        if is_revision && !has_list {
            headers.retain(|line| !line.starts_with(b"Prop-content-length: "));
            let is_zero = |line: &&[u8]| *line == b"Content-length: 0";
            headers.retain(|line| !line.starts_with(b"Content-length: ") || is_zero(line));
            if props.is_some() {
                headers.retain(|line| !is_zero(line));
                headers.extend([&b"Prop-content-length: 10"[..], b"Content-length: 10"]);
                inserted = b"PROPS-END\n";
            }
            content = 0;
        }
        headers.sort_unstable();
        for header in headers {
            out.extend_from_slice(header);
            out.push(b'\n');
        }
        out.push(b'\n');
        out.extend_from_slice(inserted);
        let (body, after) = rest.split_at(content.min(rest.len()));
        out.extend_from_slice(body);
        rest = after;
    }
    out
}

fn leading_number(text: &[u8]) -> i64 {
    let text = String::from_utf8_lossy(text);
    text.trim().parse().unwrap_or(0)
}

/// Returns a report of both results.
pub fn shown(theirs: &Output, ours: &Output) -> String {
    let mut text = String::new();
    for (name, side) in [("theirs", theirs), ("ours", ours)] {
        text.push_str(&format!("{name} exit {}: {}\n", side.code, side.err()));
    }
    let (theirs, ours) = (normal(&theirs.stdout), normal(&ours.stdout));
    if theirs != ours {
        let equal = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
        for (name, stream) in [("theirs", &theirs), ("ours", &ours)] {
            let piece = &stream[equal.saturating_sub(300)..(equal + 200).min(stream.len())];
            text.push_str(&format!(
                "{name}, {} bytes: {}\n",
                stream.len(),
                piece.escape_ascii()
            ));
        }
    }
    text
}
