//! `cargo xtask interop --fs-type fsx`: the scenarios that repositories of FSX are not for, each with its reason.
//!
//! All others run as they are, with repositories that Subversion's `svnadmin` makes, and once more with those that Sven makes.

/// The values of `$SVEN_INTEROP_MAKER`.
pub const MAKERS: [&str; 2] = ["theirs", "ours"];

/// Returns the arguments of the test program that leave scenarios out.
pub fn skipped() -> impl Iterator<Item = &'static str> {
    LEFT_OUT.iter().flat_map(|(name, _)| ["--skip", name])
}

/// Scenarios, by the beginnings of their names, and why they are left out.
const LEFT_OUT: &[(&str, &str)] = &[
    ("cluster", "a cluster has FSFS only"),
    ("guide::", "the guide's commands make repositories of FSFS"),
    ("config::damage_is", "damages a file of FSFS"),
    ("dates::", "writes revision properties in the form of FSFS"),
    ("http::live_props::", "as above"),
    ("odd_revprops::", "as above"),
    (
        "replaced_repositories::",
        "restores the files of FSFS, such as rep-cache.db",
    ),
    (
        "random::",
        "in histories and look-ups of mergeinfo, 1.14 uses a number that it did not set: `No such revision 140077543873696`",
    ),
    ("http::random::", "as above"),
    ("merges::", "as above"),
    (
        "http::sequences::",
        "1.14 loses changes of a transaction that another connection has made: `fsx::changes_over_several_connections`",
    ),
    (
        "http::transports::",
        "1.14 writes the properties of a node in the order of a hash: an equal value is stored as a change, or not, by chance",
    ),
    (
        "stopping::an_idle_server_keeps_no_file_open",
        "of FSX, no file is kept open",
    ),
    (
        "writing::two_copies",
        "for an addition over another one of the same transaction, 1.14 stores a replacement of nothing: its dump cannot be loaded",
    ),
];
