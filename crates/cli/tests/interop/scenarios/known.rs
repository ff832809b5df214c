//! Differences that are no fault of ours, each as narrow as it can be. `docs/KNOWN-DIFFERENCES.md` has those that stay.

use testkit::server::transport::Transport;

use super::step::Run;

/// What follows from a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The answers differ, what is left behind does not.
    Words,
    /// The working copies are not the same any more: the scenario ends.
    End,
}

/// The reason why the client may say one thing with theirs and another with ours.
pub fn known(run: &Run, transport: Transport, [theirs, ours]: &[String; 2]) -> Option<Known> {
    let is_http = transport != Transport::Svn;
    // Theirs has begun an answer when it finds out that the update cannot be, and cuts it off; ours refuses with the number.
    let is_refused =
        |said: &str| said.ends_with("=> Some(1)\n") || said.contains("E160013: Working copy path");
    if is_http && theirs.contains("E130003") && is_refused(ours) {
        return Some(Known::End);
    }
    // A path that is locked now was not there in the revision asked for: theirs answers as if there were a file.
    let is_missing = |said: &str| said.contains("W170000") || said.contains("E160013");
    let is_there = |said: &str| said.contains("Node Kind: file") || said.contains("' path not found");
    if is_http && ["info", "copy"].contains(&run.verb()) && is_there(theirs) && is_missing(ours) {
        return Some(Known::Words);
    }
    if is_http && run.verb() == "proplist" && ours.contains("E145000: Unknown node kind") {
        return Some(Known::Words);
    }
    // Of several locks below a deleted directory theirs names the first in the order of a hash.
    let refused = ["E160038", "E160039"].iter().any(|code| theirs.contains(code));
    if refused && theirs.contains("Deleting ") && without_lock(theirs) == without_lock(ours) {
        return Some(Known::Words);
    }
    // Theirs says that it has removed the property of a file that another user has locked, commits the rest and loses the removal.
    let is_refused = |said: &str| said.contains("Could not execute PROPPATCH") && said.contains("E175008");
    if is_http && theirs.contains("Committed revision ") && is_refused(ours) {
        return Some(Known::End);
    }
    // Of several texts that cannot be sent the client names the first in the order of a hash, and says what is wrong with it.
    let is_not_sent = |said: &str| said.contains("While preparing '") && said.contains("E155011");
    if is_not_sent(theirs) && is_not_sent(ours) {
        return Some(Known::Words);
    }
    // So does theirs of several locks that are in the way of one operation.
    if theirs.contains("E160037") && without_names(theirs) == without_names(ours) {
        return Some(Known::Words);
    }
    // What a merge has done before it meets a conflict is the order in which the server tells entries: theirs has that of a hash.
    let meets_conflict = |said: &str| said.contains("svn: E155035: Can't merge into conflicted node");
    if meets_conflict(theirs) && meets_conflict(ours) {
        return Some(Known::End);
    }
    // The client ends itself while it sorts paths; which of two it complains of is its own hash's order.
    let ends_itself = |said: &str| said.contains("svn_path_compare_paths: Assertion");
    if ends_itself(theirs) && ends_itself(ours) {
        return Some(Known::End);
    }
    None
}

/// What the client says, without the path, the owner and the code of a lock that is in the way.
fn without_lock(said: &str) -> Vec<&str> {
    let of_lock = |line: &&str| !line.contains("E160038") && !line.contains("E160039");
    said.lines().filter(of_lock).collect()
}

/// What the client says, without what stands in quotes.
fn without_names(said: &str) -> Vec<&str> {
    said.split('\'').step_by(2).collect()
}

/// The client's words without what its own timing and the order of its hashes say: over HTTP a dot for each text whose answer
/// had come when the commit failed; of several externals, after which of them it speaks of a change.
pub fn without_timing(out: &str, transport: Transport) -> String {
    let without = |line: &str| match line.starts_with("Transmitting file data ") {
        true if transport != Transport::Svn => line.replace('.', ""),
        _ => line.replace("External at revision ", "Updated external to revision "),
    };
    let mut lines: Vec<_> = out.lines().map(without).collect();
    // The client updates several externals in the order of a hash, which changes between runs.
    let is_external = |line: &&String| line.starts_with("Fetching external item");
    if lines.iter().filter(is_external).count() > 1 {
        lines.sort();
    }
    lines.join("\n")
}
