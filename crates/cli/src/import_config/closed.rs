//! What Apache keeps closed within a location and we have no word for: it is closed here as well, for everybody.
//!
//! Ours has one answer for a whole location. Another section of Apache's that holds for a part of it (a `<Location>` without `DAV`
//! below it, `Redirect gone`) becomes a location that lets nobody in. A pattern may hold for any part, so it closes the whole.

use super::draft::Table;
use super::hosts::{Host, Place, Server, contains, flatten, path_of};
use super::location::Translated;
use super::moved::refused_path;
use super::syntax::Directive;

/// Directives that may keep somebody out.
const CLOSING: &[&str] = &[
    "Require",
    "Order",
    "Allow",
    "Deny",
    "Satisfy",
    "AuthzSVNAccessFile",
    "AuthzSVNReposRelativeAccessFile",
    "AuthzSVNAnonymous",
    "AuthType",
    "AuthUserFile",
    "AuthGroupFile",
    "AuthBasicProvider",
    "AuthDigestProvider",
    "AuthLDAPURL",
    "AuthMerging",
    "DAV",
    "SSLRequire",
    "SSLRequireSSL",
    "SSLVerifyClient",
    "Redirect",
    "RedirectPermanent",
    "RedirectTemp",
    "RedirectMatch",
    "RewriteRule",
    "SetHandler",
    "SVNPath",
    "SVNParentPath",
];

/// Closes what is closed: whole locations, and new ones for parts of them.
pub fn close(server: &Server<'_>, places: &[Place<'_>], all: &mut Vec<Translated>) {
    let mut parts: Vec<Translated> = Vec::new();
    for (place, whole) in places.iter().zip(all.iter_mut()) {
        let own = place.host.map(|at| &server.hosts[at]);
        for host in [Some(&server.global), own].into_iter().flatten() {
            for section in patterns(host).filter(|section| may_hold(section, &place.path)) {
                shut(&mut whole.location);
                whole.location.remark(format!(
                    "{}: {}: a pattern that keeps somebody out of some paths is not translated, so nobody is let in here: say it in \
                     'require' or in the access file, and take the 'require' below away",
                    section.at,
                    section.shown()
                ));
            }
            for (path, directive) in inner(host, place) {
                let known = parts.iter().any(|part| part.path == path);
                let served = places.iter().any(|other| other.path == path);
                if !known && !served {
                    parts.push(part(&path, directive, whole));
                }
            }
        }
    }
    all.extend(parts);
}

/// The paths within a place for which another section says who is let in, and that section.
fn inner<'a>(host: &Host<'a>, place: &Place<'_>) -> Vec<(String, &'a Directive)> {
    let within = |path: &str| path != place.path && contains(&place.path, path);
    let mut found = Vec::new();
    for location in &host.locations {
        let path = path_of(location);
        if within(&path) && is_closing(location) {
            found.push((path, *location));
        }
    }
    for directive in &host.settings {
        if let Some(path) = refused_path(directive).filter(|path| within(path)) {
            found.push((path, *directive));
        }
    }
    found
}

/// A location for a part of `whole` that lets nobody in.
fn part(path: &str, directive: &Directive, whole: &Translated) -> Translated {
    let mut table = Table::new("[[location]]");
    table.text("path", path);
    for key in ["repository", "parent"] {
        if let Some(value) = whole.location.value(key) {
            table.set(key, value.to_owned());
        }
    }
    table.flag("list", false);
    table.text("require", "nobody");
    table.remark(format!(
        "{}: {}: holds for a part of {}, for which there is no word here: nobody is let in under this path. Say it in the access \
         file, and take this location away",
        directive.at,
        directive.shown(),
        whole.path
    ));
    Translated {
        path: path.to_owned(),
        location: table,
        auth: Table::new("[auth]"),
        ldap: Table::new("[auth.ldap]"),
    }
}

fn shut(location: &mut Table) {
    location.remove("require-write");
    location.remove("anonymous");
    location.text("require", "nobody");
}

/// Sections whose paths are patterns, and that may keep somebody out.
fn patterns<'a>(host: &Host<'a>) -> impl Iterator<Item = &'a Directive> {
    let is_pattern = |section: &&Directive| section.is("LocationMatch") || section.is("Location");
    let sections: Vec<&'a Directive> = host.settings.iter().copied().filter(is_pattern).collect();
    sections.into_iter().filter(|section| is_closing(section))
}

/// True if a pattern may fit a path at or below `path`: unless it begins with other letters.
fn may_hold(section: &Directive, path: &str) -> bool {
    let pattern = section.args.last().map_or("", String::as_str);
    let Some(rest) = pattern.strip_prefix("^/") else {
        return true;
    };
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "/-_".contains(*c);
    let mut literal: String = std::iter::once('/')
        .chain(rest.chars().take_while(is_plain))
        .collect();
    // What follows may say that the last letter need not be there.
    if rest
        .chars()
        .find(|c| !is_plain(c))
        .is_some_and(|c| "?*{".contains(c))
    {
        literal.pop();
    }
    if rest.contains('|') {
        return true;
    }
    literal.starts_with(path) || path.starts_with(&literal)
}

fn is_closing(section: &Directive) -> bool {
    let mut held = Vec::new();
    for directive in section.inner.iter().flatten() {
        flatten(directive, &mut held);
    }
    held.iter()
        .any(|directive| CLOSING.iter().any(|name| directive.is(name)))
}
