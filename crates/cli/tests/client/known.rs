//! The differences between Subversion's clients and Sven's that stay, each with its reason.
//!
//! Logging in and the configuration area; the tests of `context` avoid these or expect them:
//!
//! * A stored file with a password or passphrase can be read by its owner only. Subversion relies on the mode of `auth/` above it.
//! * A password of the options is not sent to another host to which a server redirects.
//! * A password of the options that was refused is not sent a second time.
//! * `svn auth` lists the credentials of a kind sorted by realm. Subversion's order changes from run to run.
//! * Client certificates may be PEM or PKCS#12 with old encryption. OpenSSL's own message about other files is not printed.
//! * The line in errors of configuration files is the right one. Subversion does not count the lines of section headers.
//! * The end of the input at the question for a certificate has no additional error about HTTP status 0.

use crate::twins::Access;

/// Differences of the commands that read.
pub fn reading(access: Access, theirs: &str, ours: &str) -> bool {
    // Over svn://, Subversion's `svn list` of a revision that does not exist cannot read the server's answer. Ours reports it.
    let cannot_read = theirs.contains("E210004: Malformed network data");
    access == Access::Svn && cannot_read && ours.contains("E160006: No such revision")
}

/// Commands that write and differ, each with its reason.
pub const WRITING: &[(&str, &str)] = &[
    (
        "svn mv -m x {URL} {URL}/x",
        "A move of the root: Subversion's client ends with a failed assertion.",
    ),
    (
        "svnmucc -m x mkdir {URL}/a/../b",
        "'..' in a URL: Subversion's svnmucc takes it for a name; here it is refused as in all other commands.",
    ),
];
