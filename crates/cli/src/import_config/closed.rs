//! What Apache keeps closed within a location and we have no word for: it is closed here as well, for everybody.
//!
//! Ours has one answer for a whole location. Another section of Apache's that holds for a part of it (a `<Location>` without `DAV`
//! below it, `Redirect gone`) becomes a closed location. A pattern or a condition may hold for any part, so it closes
//! the whole.

use super::draft::Table;
use super::hosts::{Host, LocationContext, Server, contains, flatten, path_of};
use super::location::Translated;
use super::moved::{is_refusal, refused_path};
use super::syntax::Directive;

/// Directives that may refuse requests.
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
pub fn close(server: &Server<'_>, places: &[LocationContext<'_>], all: &mut Vec<Translated>) {
    let mut parts: Vec<Translated> = Vec::new();
    for (place, whole) in places.iter().zip(all.iter_mut()) {
        let own = place.host.map(|at| &server.hosts[at]);
        for host in [Some(&server.global), own].into_iter().flatten() {
            for directive in patterns(&host.settings) {
                if may_hold(directive, &place.path) {
                    shut(&mut whole.location, directive);
                }
            }
            for directive in host.settings.iter().copied() {
                if refused_path(directive).is_some_and(|path| contains(&path, &place.path)) {
                    shut(&mut whole.location, directive);
                }
            }
            for (path, directive) in inner(host, place) {
                let known = parts.iter().any(|part| part.path == path);
                let served = places.iter().any(|other| other.path == path);
                if !known && !served {
                    parts.push(part(&path, directive, whole));
                }
            }
        }
        for layer in place.layers.iter().filter(|layer| layer.location) {
            let refusing = layer.directives.iter().copied();
            let refusing = refusing.filter(|d| d.is("Redirect") && is_refusal(d.arg(0)));
            for directive in patterns(&layer.directives).into_iter().chain(refusing) {
                shut(&mut whole.location, directive);
            }
        }
    }
    all.extend(parts);
}

/// The paths within a place for which another section says who is let in, and that section.
fn inner<'a>(host: &Host<'a>, place: &LocationContext<'_>) -> Vec<(String, &'a Directive)> {
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

/// A closed location for a part of `whole`.
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

/// Closes a location because of a directive that is not translated.
fn shut(location: &mut Table, directive: &Directive) {
    location.remove("require-write");
    location.remove("anonymous");
    location.text("require", "nobody");
    location.remark(format!(
        "{}: {}: keeps somebody out in a way that is not translated, so nobody is let in here: say it in 'require' or in the \
         access file, and take the 'require' below away",
        directive.at,
        directive.shown()
    ));
}

/// Directives that refuse requests to which a pattern or a condition applies.
fn patterns<'a>(directives: &[&'a Directive]) -> Vec<&'a Directive> {
    let rewrites = directives.iter().rev().find(|d| d.is("RewriteEngine"));
    let rewrites = rewrites.is_some_and(|d| d.arg(0).eq_ignore_ascii_case("on"));
    let keeps_out = |directive: &&&'a Directive| match directive {
        section
            if ["LocationMatch", "Location", "If", "ElseIf", "Else"]
                .iter()
                .any(|name| section.is(name)) =>
        {
            is_closing(section)
        }
        directive if directive.is("RedirectMatch") => is_refusal(directive.arg(0)),
        directive if directive.is("RewriteRule") => rewrites && refuses(directive.arg(2)),
        _ => false,
    };
    directives.iter().filter(keeps_out).copied().collect()
}

/// True if the flags of a `RewriteRule` say that the request is refused: `[F]`, `[gone]`, `[R=404,L]`.
fn refuses(flags: &str) -> bool {
    let flags = flags.trim_matches(['[', ']']).to_ascii_lowercase();
    flags.split(',').any(|flag| match flag.trim().split_once('=') {
        Some(("r" | "redirect", status)) => is_refusal(status),
        _ => ["f", "forbidden", "g", "gone"].contains(&flag.trim()),
    })
}

/// The pattern for paths; empty for a condition, which may hold for any.
fn pattern_of(directive: &Directive) -> &str {
    match directive {
        directive if directive.is("RedirectMatch") => directive.arg(1),
        directive if directive.is("RewriteRule") => directive.arg(0),
        section if section.is("LocationMatch") || section.is("Location") => {
            section.args.last().map_or("", String::as_str)
        }
        _ => "",
    }
}

/// True if a directive may hold for a path at or below `path`: unless its pattern begins with other letters.
fn may_hold(directive: &Directive, path: &str) -> bool {
    let pattern = pattern_of(directive);
    if directive.is("Location") && directive.args.len() == 1 {
        let literal = pattern.split(['*', '?', '[']).next().unwrap_or_default();
        return literal.starts_with(path) || path.starts_with(literal);
    }
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
