//! Runs Subversion's clients (svn, svnsync, svnrdump, git-svn) with Sven's server on repositories of every format,
//! over every transport.
//!
//! The scenarios are in `crates/cli/tests/interop`. Over svn:// the oracle is svnserve; over HTTP (with HTTPv2 and
//! without) and HTTPS it is Apache with mod_dav_svn.
//!
//! Then Sven's own client programs run beside Subversion's (`crates/cli/tests/client`): over `file://`, svn:// and both dialects of HTTP, first
//! with Subversion's servers, then with Sven's, and each once more with https:// in the place of http://. `--clients` runs these alone.
//!
//! `--fs-type fsx` lets the repositories be of FSX, made by Subversion's `svnadmin` and then by Sven's (`interop_fsx`).
//!
//! `--cluster` lets each of Sven's servers be three nodes of a cluster, with the requests of a client spread over them (`interop_cluster`).

use crate::interop_cluster;
use crate::interop_fsx;
use crate::run::{exists, run_with};

/// The checks of every submission take samples of the largest tables.
const WHOLE_TABLES: (&str, &str) = ("SVEN_ALL_CASES", "1");

/// The transports, by their names in `$SVEN_INTEROP_OVER`.
const TRANSPORTS: [&str; 4] = ["svn", "http", "http-v1", "https"];

/// The scenarios that do not depend on the protocol.
const PROTOCOL_INDEPENDENT: [&str; 18] = [
    "access::passwords",
    "access::paths",
    "access::user_names_change_case_for_authz_only",
    "checkout::",
    CONCURRENT_COMMITS,
    "history::",
    "hooks::",
    "http::counts::",
    "http::operations::",
    "http::proxy::",
    "http::report::",
    "http::write::",
    "listing::",
    "locking::",
    "mirror::",
    "scenarios::",
    "writing::",
    "writing_programs::",
];

/// A scenario that does not work without HTTPv2: there each client checks out the latest baseline first, and is
/// refused if it is out of date (E190003).
const CONCURRENT_COMMITS: &str = "raw_commits::two_hundred";

/// Runs the interop suite over all transports, or over the one after `--over`; `rest` can have filters for the names
/// of scenarios.
pub fn main(rest: &[String]) -> Result<(), String> {
    for tool in ["svn", "svnadmin", "svnserve", "svnsync", "svnrdump", "git"] {
        if !exists(tool) {
            return Err(format!("{tool} is not installed: run ./dev deps"));
        }
    }
    if let [clients, filters @ ..] = rest
        && clients == "--clients"
    {
        return clients_beside_subversions(filters);
    }
    if let [option, fs_type, rest @ ..] = rest
        && option == "--fs-type"
    {
        return with_fs_type(fs_type, rest);
    }
    let (is_cluster, rest) = match rest {
        [option, rest @ ..] if option == "--cluster" => (true, rest),
        rest => (false, rest),
    };
    let (chosen, filters) = transports(rest)?;
    for transport in chosen {
        let mut args = arguments(transport, filters);
        let mut variables = vec![("SVEN_INTEROP_OVER", *transport), WHOLE_TABLES];
        if is_cluster {
            variables.push(interop_cluster::VARIABLE);
            for word in interop_cluster::skipped() {
                args.push(word);
            }
        }
        let what = if is_cluster { ", clusters" } else { "" };
        println!("interop over {transport}{what}");
        run_with("cargo", &args, &variables)?;
    }
    match (rest, is_cluster) {
        ([], false) => clients_beside_subversions(&[]),
        _ => Ok(()),
    }
}

/// Returns the transports to run over, and the filters.
fn transports(rest: &[String]) -> Result<(&'static [&'static str], &[String]), String> {
    match rest {
        [over, name, filters @ ..] if over == "--over" => {
            let known = TRANSPORTS.iter().position(|known| known == name);
            let at = known.ok_or_else(|| format!("'{name}' is none of {}", TRANSPORTS.join(", ")))?;
            Ok((&TRANSPORTS[at..=at], filters))
        }
        filters => Ok((&TRANSPORTS, filters)),
    }
}

/// Returns the arguments of cargo. Without filters, only the first transport runs the scenarios that choose a protocol themselves.
fn arguments<'a>(transport: &str, filters: &'a [String]) -> Vec<&'a str> {
    let mut args = vec!["test", "--package", "sven", "--locked", "--test", "interop", "--"];
    match filters {
        [] if transport != "svn" => {
            let runs = |scenario: &&str| !(transport == "http-v1" && *scenario == CONCURRENT_COMMITS);
            args.extend(PROTOCOL_INDEPENDENT.iter().filter(|scenario| runs(scenario)));
        }
        filters => args.extend(filters.iter().map(String::as_str)),
    }
    args
}

/// Runs the suite on repositories with another back end, which both implementations make.
fn with_fs_type(fs_type: &str, rest: &[String]) -> Result<(), String> {
    let (chosen, filters) = transports(rest)?;
    for maker in interop_fsx::MAKERS {
        for transport in chosen {
            let mut args = arguments(transport, filters);
            for word in interop_fsx::skipped() {
                args.push(word);
            }
            println!("interop over {transport}, {fs_type}, made by {maker}");
            let variables = [
                ("SVEN_INTEROP_OVER", *transport),
                ("SVEN_INTEROP_FS_TYPE", fs_type),
                ("SVEN_INTEROP_MAKER", maker),
                WHOLE_TABLES,
            ];
            run_with("cargo", &args, &variables)?;
        }
    }
    Ok(())
}

/// Runs the tests of Sven's client programs with both kinds of servers, with and without TLS.
fn clients_beside_subversions(filters: &[String]) -> Result<(), String> {
    for (servers, over) in [
        ("theirs", "http"),
        ("ours", "http"),
        ("theirs", "https"),
        ("ours", "https"),
    ] {
        println!("client programs, servers: {servers}, over {over}");
        let mut args = vec!["test", "--package", "sven", "--locked", "--test", "client", "--"];
        args.extend(filters.iter().map(String::as_str));
        let variables = [
            ("SVEN_CLIENT_SERVERS", servers),
            ("SVEN_CLIENT_OVER", over),
            WHOLE_TABLES,
        ];
        run_with("cargo", &args, &variables)?;
    }
    Ok(())
}
