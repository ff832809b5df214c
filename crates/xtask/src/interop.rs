//! Runs the real clients (svn, svnsync, svnrdump, git-svn) against our server on repositories of every format, over every
//! transport.
//!
//! The scenarios live in `crates/cli/tests/interop`; this chore only names them and shows their progress. Over svn:// the
//! rival is svnserve, over HTTP (with the newer protocol and without it) and HTTPS it is Apache with mod_dav_svn.

use crate::run::{exists, run_with};

/// Over which each scenario runs, as `$SVEN_INTEROP_OVER` knows them.
const TRANSPORTS: [&str; 4] = ["svn", "http", "http-v1", "https"];

/// The scenarios that say nothing in the words of one protocol.
const OVER_HTTP: [&str; 18] = [
    "access::passwords",
    "access::paths",
    "access::user_names_are_folded_for_authz_alone",
    "checkout::",
    RACING,
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

/// In the old dialect each client checks out the latest baseline first, and who is too late is refused (E190003).
const RACING: &str = "drained::two_hundred";

/// Runs the interop suite over all transports, or over the one after `--over`; `rest` may hold filters for the names of
/// scenarios.
pub fn main(rest: &[String]) -> Result<(), String> {
    for tool in ["svn", "svnadmin", "svnserve", "svnsync", "svnrdump", "git"] {
        if !exists(tool) {
            return Err(format!("{tool} is not installed: run ./dev deps"));
        }
    }
    let (chosen, filters): (&[&str], _) = match rest {
        [over, name, filters @ ..] if over == "--over" => {
            let known = TRANSPORTS.iter().position(|known| known == name);
            let at = known.ok_or_else(|| format!("'{name}' is none of {}", TRANSPORTS.join(", ")))?;
            (&TRANSPORTS[at..=at], filters)
        }
        filters => (&TRANSPORTS, filters),
    };
    for transport in chosen {
        let mut args = vec!["test", "--package", "sven", "--locked", "--test", "interop", "--"];
        match filters {
            [] if *transport != "svn" => {
                let here = |scenario: &&str| !(*transport == "http-v1" && *scenario == RACING);
                args.extend(OVER_HTTP.iter().filter(|scenario| here(scenario)));
            }
            filters => args.extend(filters.iter().map(String::as_str)),
        }
        println!("interop over {transport}");
        run_with("cargo", &args, &[("SVEN_INTEROP_OVER", transport)])?;
    }
    Ok(())
}
