//! Differences that `docs/KNOWN-DIFFERENCES.md` lists.

/// The effect of a known difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeDifference {
    /// Only the outputs differ.
    Words,
    /// Subversion's server ended.
    Died,
}

/// Returns the reason for different outputs of the client, if it is known.
pub fn known(args: &[String], theirs: &str, ours: &str) -> Option<MergeDifference> {
    let verb = args.first().map_or("", String::as_str);
    if theirs.ends_with("=> 137") && !ours.ends_with("=> 137") {
        return Some(MergeDifference::Words);
    }
    let merged = args.iter().any(|arg| arg == "-g");
    match verb {
        // Ranges that end after HEAD; later ranges of several sources that end together; it sometimes crashes.
        "log" if merged => {
            let is_refused = theirs.contains("E160006");
            // It reads freed memory as revision properties.
            let is_cut = ["E210002", "E170013", "E120", "E130003", "E200002"]
                .iter()
                .any(|code| theirs.contains(code));
            (is_refused || is_cut || is_part(&revisions(theirs), &revisions(ours)))
                .then_some(MergeDifference::Words)
        }
        // A merge source beyond HEAD, and one below a file.
        "blame" if merged && ["E160006", "E160016"].iter().any(|code| theirs.contains(code)) => {
            Some(MergeDifference::Words)
        }
        _ => ENDED
            .iter()
            .any(|code| theirs.contains(code) && !ours.contains(code))
            .then_some(MergeDifference::Died),
    }
}

/// The client's errors when Subversion's server ends or has ended.
const ENDED: [&str; 3] = ["E210002", "Unable to connect", "E120"];

/// Returns the revisions in a log, in order.
fn revisions(log: &str) -> Vec<&str> {
    let plain = |line: &str| line.starts_with('r') && line.contains(" | ");
    let lines = log.lines();
    lines
        .filter(|line| plain(line) || line.trim_start().starts_with("revision=\""))
        .map(|line| line.split(" | ").next().unwrap_or_default())
        .collect()
}

/// True if `part` is `whole` with some lines left out.
fn is_part(part: &[&str], whole: &[&str]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|line| rest.any(|other| other == line))
}
