//! Differences that are no fault of Sven, each as narrow as possible. `docs/KNOWN-DIFFERENCES.md` has those of the
//! servers.

use testkit::server::transport::Transport;

use super::step::Run;

/// The effect of a known difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioDifference {
    /// Only the outputs differ.
    Words,
    /// The working copies differ, so the scenario ends.
    End,
}

/// Returns the reason for different outputs of the client, if it is known.
pub fn known(run: &Run, transport: Transport, [theirs, ours]: &[String; 2]) -> Option<ScenarioDifference> {
    let is_http = transport != Transport::Svn;
    // Subversion detects that the update is impossible after it has begun the response, and truncates it; Sven sends
    // the error.
    let is_refused = |output_text: &str| {
        output_text.ends_with("=> Some(1)\n") || output_text.contains("E160013: Working copy path")
    };
    if is_http && theirs.contains("E130003") && is_refused(ours) {
        return Some(ScenarioDifference::End);
    }
    // A path that is locked now did not exist in the requested revision: Subversion responds as if there were a file.
    let is_missing = |output_text: &str| output_text.contains("W170000") || output_text.contains("E160013");
    let is_there = |output_text: &str| {
        output_text.contains("Node Kind: file") || output_text.contains("' path not found")
    };
    if is_http && ["info", "copy"].contains(&run.verb()) && is_there(theirs) && is_missing(ours) {
        return Some(ScenarioDifference::Words);
    }
    if is_http && run.verb() == "proplist" && ours.contains("E145000: Unknown node kind") {
        return Some(ScenarioDifference::Words);
    }
    // Of several locks below a deleted directory Subversion reports the first in hash order.
    let refused = ["E160038", "E160039"].iter().any(|code| theirs.contains(code));
    if refused && theirs.contains("Deleting ") && without_lock(theirs) == without_lock(ours) {
        return Some(ScenarioDifference::Words);
    }
    // Subversion reports the removal of a property of a file that another user has locked, commits the rest and
    // ignores the removal.
    let is_refused = |output_text: &str| {
        output_text.contains("Could not execute PROPPATCH") && output_text.contains("E175008")
    };
    if is_http && theirs.contains("Committed revision ") && is_refused(ours) {
        return Some(ScenarioDifference::End);
    }
    // Of several texts that cannot be sent the client reports the first in hash order.
    let is_not_sent =
        |output_text: &str| output_text.contains("While preparing '") && output_text.contains("E155011");
    if is_not_sent(theirs) && is_not_sent(ours) {
        return Some(ScenarioDifference::Words);
    }
    // Subversion does the same with several locks that prevent one operation.
    if theirs.contains("E160037") && without_names(theirs) == without_names(ours) {
        return Some(ScenarioDifference::Words);
    }
    // The changes of a merge before a conflict depend on the server's order of entries, in Subversion hash order.
    let meets_conflict =
        |output_text: &str| output_text.contains("svn: E155035: Can't merge into conflicted node");
    if meets_conflict(theirs) && meets_conflict(ours) {
        return Some(ScenarioDifference::End);
    }
    // The client aborts while it sorts paths; the reported path depends on its hash order.
    let ends_itself = |output_text: &str| output_text.contains("svn_path_compare_paths: Assertion");
    if ends_itself(theirs) && ends_itself(ours) {
        return Some(ScenarioDifference::End);
    }
    None
}

/// Returns the client's output without the path, the owner and the error number of a lock.
fn without_lock(output_text: &str) -> Vec<&str> {
    let of_lock = |line: &&str| !line.contains("E160038") && !line.contains("E160039");
    output_text.lines().filter(of_lock).collect()
}

/// Returns the client's output without quoted texts.
fn without_names(output_text: &str) -> Vec<&str> {
    output_text.split('\'').step_by(2).collect()
}

/// Removes the parts of the client's output that depend on its timing and hash order: over HTTP a dot for each text
/// whose response arrived before the commit failed, and the position of messages about several externals.
pub fn without_timing(out: &str, transport: Transport) -> String {
    let without = |line: &str| match line.starts_with("Transmitting file data ") {
        true if transport != Transport::Svn => line.replace('.', ""),
        _ => line.replace("External at revision ", "Updated external to revision "),
    };
    let mut lines: Vec<_> = out.lines().map(without).collect();
    // The client updates several externals in hash order, which changes between runs.
    let is_external = |line: &&String| line.starts_with("Fetching external item");
    if lines.iter().filter(is_external).count() > 1 {
        lines.sort();
    }
    lines.join("\n")
}
