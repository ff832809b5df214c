//! `cargo xtask interop --cluster`: the scenarios that a cluster is not for, each with its reason.
//!
//! All others run as they are: `testkit::server::cluster` starts three nodes and a proxy where a scenario starts Sven's server.

/// What lets Sven's servers be clusters.
pub const VARIABLE: (&str, &str) = ("SVEN_INTEROP_CLUSTER", "1");

/// Returns the arguments of the test program that leave scenarios out.
pub fn skipped() -> impl Iterator<Item = &'static str> {
    LEFT_OUT.iter().flat_map(|(name, _)| ["--skip", name])
}

/// Scenarios, by the beginnings of their names, and why they are left out.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "crash::",
        "power cuts and kills of one machine, on its files; the tests of faults do this for clusters",
    ),
    (
        "replaced_repositories::",
        "an administrator replaces, packs or upgrades the files of a repository under the server",
    ),
    ("serve::a_replaced_repository", "as above"),
    (
        "serve::readers_continue_during_a_pack",
        "Subversion commits to the files and packs them under the server",
    ),
    (
        "model::",
        "Subversion's programs work on the files of the same repository at the same time",
    ),
    ("fsx::", "a cluster has FSFS only"),
    (
        "index::",
        "the history index is a file beside a repository of files",
    ),
    (
        "misconfiguration::",
        "damaged and unreadable files of a repository",
    ),
    (
        "hostile::",
        "the memory, threads and sockets of one process, which clients reach without a proxy",
    ),
    ("raw::many_connections", "as above"),
    ("http::unread::", "as above"),
    ("stopping::", "signals to one process"),
    (
        "hooks::hooks_that_cannot_run",
        "links and directories in the place of hooks; a cluster has files",
    ),
    (
        "hooks_change::the_tree",
        "the hook changes the transaction through Subversion's library, which does not open clusters",
    ),
    (
        "writing::other_formats",
        "repositories of formats 1 and 2 are upgraded before they are imported: new texts have SHA-1 digests then",
    ),
    ("odd_revprops::", "as below"),
    (
        "dates::",
        "the properties of revisions are changed in the files under the server",
    ),
    (
        "http::alternating_servers::",
        "Subversion's server and Sven's write to the same files in turns",
    ),
    (
        "http::interleaved::transactions_in_every_order",
        "responses before the end of a request, and the state of connections: those of the proxy",
    ),
    ("http::sequences::", "as above"),
    (
        "http::interleaved::no_request_waits_for_the_body",
        "a node that forwards a request asks for its body before the node of the transaction has the head",
    ),
    (
        "raw_commits::errors_in_the_middle_of_an_edit",
        "the length of a message with the name of a transaction, which is longer in a cluster",
    ),
    (
        "http::mounted::",
        "Subversion commits to the files under the server",
    ),
    (
        "http::proxy::",
        "the hooks copy revisions with Subversion's svnsync between the files of two repositories",
    ),
];
