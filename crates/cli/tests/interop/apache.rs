//! Translates a repository's `svnserve.conf` into Apache's directives.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The methods that do not write, as in the Subversion book.
const READING: &str = "GET PROPFIND OPTIONS REPORT";

/// Returns the lines of a `<Location>` for a repository with this `conf` directory, and for a server with these
/// arguments.
pub fn rules(conf: &Path, args: &[&str]) -> String {
    let text = fs::read_to_string(conf.join("svnserve.conf")).unwrap_or_default();
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let found = lines.find(|(key, _)| key.trim() == name);
        found.map(|(_, value)| value.trim().to_owned())
    };
    let read_only = args.contains(&"-R");
    let users = value("password-db").is_some();
    let anonymous = value("anon-access").unwrap_or("read".to_owned());
    let authenticated = value("auth-access").unwrap_or("write".to_owned());
    let mut out = String::new();
    if anonymous == "none" && authenticated == "none" {
        return "Require all denied\n".to_owned();
    }
    if users {
        let realm = value("realm").unwrap_or("repository".to_owned());
        _ = writeln!(out, "AuthType Basic\nAuthName \"{realm}\"\nAuthUserFile USERS");
    }
    if let Some(file) = value("hooks-env") {
        _ = writeln!(out, "SVNHooksEnv \"{}\"", conf.join(file).display());
    }
    if let Some(authz) = value("authz-db") {
        let file = match authz.starts_with('^') {
            true => format!(
                "file://{}{}",
                conf.parent().unwrap_or(conf).display(),
                &authz[1..]
            ),
            false => conf.join(authz).display().to_string(),
        };
        _ = writeln!(out, "AuthzSVNAccessFile \"{file}\"");
        if let Some(groups) = value("groups-db") {
            _ = writeln!(out, "AuthzSVNGroupsFile \"{}\"", conf.join(groups).display());
        }
        if let Some(case) = value("force-username-case") {
            _ = writeln!(out, "AuthzForceUsernameCase {case}");
        }
        if users && anonymous != "none" {
            out.push_str("Satisfy Any\n");
        }
        if users {
            out.push_str("Require valid-user\n");
        }
    } else if anonymous == "none" {
        out.push_str(if users {
            "Require valid-user\n"
        } else {
            "Require all denied\n"
        });
    }
    let nobody_writes = read_only || (authenticated != "write" && anonymous != "write");
    let writing = match (nobody_writes, users) {
        (true, _) => "Require all denied",
        (false, true) => "Require valid-user",
        (false, false) => "Require all denied",
    };
    if nobody_writes && out.contains("Require ") {
        // One of several `Require` lines for a request is enough.
        out = out.replace(
            "Require valid-user\n",
            &format!("<Limit {READING}>\nRequire valid-user\n</Limit>\n"),
        );
    }
    if nobody_writes || (anonymous == "read" && value("authz-db").is_none()) {
        _ = writeln!(out, "<LimitExcept {READING}>\n{writing}\n</LimitExcept>");
    }
    if users && !out.contains("Require ") {
        // Without any `Require` Apache responds with 500.
        out.push_str("Require all granted\n");
    }
    out
}
