//! Differences that `docs/KNOWN-DIFFERENCES.md` lists.

/// What follows from a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The answers differ, what is left behind does not.
    Words,
    /// Their server ended.
    Died,
}

/// The reason why the client shows one thing with theirs and another with ours.
pub fn known(args: &[String], theirs: &str, ours: &str) -> Option<Known> {
    let verb = args.first().map_or("", String::as_str);
    if theirs.ends_with("=> 137") && !ours.ends_with("=> 137") {
        return Some(Known::Words);
    }
    let merged = args.iter().any(|arg| arg == "-g");
    match verb {
        // Ranges that end after HEAD; later ranges of several sources that end together; it dies now and then.
        "log" if merged => {
            let is_refused = theirs.contains("E160006");
            // With memory that it gave back it reads revision properties that are none.
            let is_cut = ["E210002", "E170013", "E120", "E130003", "E200002"]
                .iter()
                .any(|code| theirs.contains(code));
            (is_refused || is_cut || is_part(&revisions(theirs), &revisions(ours))).then_some(Known::Words)
        }
        // A merge source beyond HEAD, and one below a file.
        "blame" if merged && ["E160006", "E160016"].iter().any(|code| theirs.contains(code)) => {
            Some(Known::Words)
        }
        _ => ENDED
            .iter()
            .any(|code| theirs.contains(code) && !ours.contains(code))
            .then_some(Known::Died),
    }
}

/// What the client says when their server ends, or has ended.
const ENDED: [&str; 3] = ["E210002", "Unable to connect", "E120"];

/// The revisions that a log shows, in order.
fn revisions(log: &str) -> Vec<&str> {
    let plain = |line: &str| line.starts_with('r') && line.contains(" | ");
    let lines = log.lines();
    lines
        .filter(|line| plain(line) || line.trim_start().starts_with("revision=\""))
        .map(|line| line.split(" | ").next().unwrap_or_default())
        .collect()
}

/// True if `part` comes of `whole` by leaving lines out.
fn is_part(part: &[&str], whole: &[&str]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|line| rest.any(|other| other == line))
}
