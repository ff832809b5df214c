//! Restrictions within a location that cannot be translated: the result refuses all requests there.
//!
//! A location of Sven has the same rules for all its paths. Another section of Apache for a part of a location (a
//! `<Location>` without `DAV` below it, `Redirect gone`) becomes a closed location. A pattern or a condition may
//! apply to any part, so it closes the whole location.

use super::draft::TableDraft;
use super::hosts::{ApacheHost, ApacheServer, LocationContext, contains, flatten, path_of};
use super::location::TranslatedLocation;
use super::redirects::{is_refusal, refused_path};
use super::server_tables;
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
    "AllowMethods",
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

/// Closes whole locations, and adds closed locations for parts of others.
pub fn add_restrictions(
    server: &ApacheServer<'_>,
    contexts: &[LocationContext<'_>],
    all: &mut Vec<TranslatedLocation>,
) {
    let mut parts: Vec<TranslatedLocation> = Vec::new();
    for (context, whole) in contexts.iter().zip(all.iter_mut()) {
        let own = context.host.map(|at| &server.hosts[at]);
        for host in [Some(&server.global), own].into_iter().flatten() {
            for directive in refusing_patterns(&host.settings) {
                if may_hold(directive, &context.path) {
                    close_location(&mut whole.location, directive);
                }
            }
            for directive in host.settings.iter().copied() {
                if refused_path(directive).is_some_and(|path| contains(&path, &context.path)) {
                    close_location(&mut whole.location, directive);
                }
            }
            for (path, directive) in restricted_paths(host, context) {
                let known = parts.iter().any(|part| part.path == path);
                let served = contexts.iter().any(|other| other.path == path);
                if !known && !served {
                    parts.push(closed_part(&path, directive, whole));
                }
            }
        }
        for directive in untranslated_refusals(server, context) {
            close_location(&mut whole.location, directive);
        }
        close_if_exposed(server, context, &mut whole.location);
        for layer in context.layers.iter().filter(|layer| layer.location) {
            let refusing = layer.directives.iter().copied();
            let refusing = refusing.filter(|d| d.is("Redirect") && is_refusal(d.arg(0)));
            for directive in refusing_patterns(&layer.directives).into_iter().chain(refusing) {
                close_location(&mut whole.location, directive);
            }
        }
    }
    all.extend(parts);
}

/// Returns the paths within a location that another directive restricts, with that directive.
fn restricted_paths<'a>(
    host: &ApacheHost<'a>,
    context: &LocationContext<'_>,
) -> Vec<(String, &'a Directive)> {
    let within = |path: &str| path != context.path && contains(&context.path, path);
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

/// Returns a closed location for a part of `whole`.
fn closed_part(path: &str, directive: &Directive, whole: &TranslatedLocation) -> TranslatedLocation {
    let mut table = TableDraft::new("[[location]]");
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
    TranslatedLocation {
        path: path.to_owned(),
        location: table,
        auth: TableDraft::new("[auth]"),
        ldap: TableDraft::new("[auth.ldap]"),
    }
}

/// Closes a location because of a directive that is not translated.
fn close_location(location: &mut TableDraft, directive: &Directive) {
    let why = format!(
        "{}: {}: keeps somebody out in a way that is not translated, so nobody is let in here: say it in 'require' or in the \
         access file, and take the 'require' below away",
        directive.at,
        directive.shown()
    );
    close(location, why);
}

/// Lets nobody into a location, for a reason.
pub fn close(location: &mut TableDraft, why: String) {
    location.remove("require-write");
    location.remove("anonymous");
    location.text("require", "nobody");
    location.remark(why);
}

/// Returns the directives of a location that refuse requests in a way that has no counterpart.
fn untranslated_refusals<'a>(server: &ApacheServer<'a>, context: &LocationContext<'a>) -> Vec<&'a Directive> {
    let last = |name: &str| context.all(true).filter(|directive| directive.is(name)).last();
    let is_word = |directive: &Directive, word: &str| directive.arg(0).eq_ignore_ascii_case(word);
    let host = context.host.map(|at| &server.hosts[at]);
    let of_host = |name: &str| {
        let own = host.and_then(|host| host.setting(name));
        own.or(server.global.setting(name))
    };
    let is_required = of_host("SSLVerifyClient").is_some_and(|directive| is_word(directive, "require"));
    let mut found: Vec<&Directive> = context.all(true).filter(|held| held.is("SSLRequire")).collect();
    found.extend(last("AllowMethods").filter(|directive| !is_word(directive, "reset")));
    found.extend(last("AuthMerging").filter(|directive| !is_word(directive, "off")));
    // If the whole host requires certificates, so does `[tls]`.
    found.extend(last("SSLVerifyClient").filter(|directive| !is_word(directive, "none") && !is_required));
    found
}

/// Closes a location that Apache serves at some of the addresses only.
fn close_if_exposed(server: &ApacheServer<'_>, context: &LocationContext<'_>, location: &mut TableDraft) {
    let elsewhere = server_tables::not_served_at(server, context);
    if elsewhere.is_empty() {
        return;
    }
    let why = format!(
        "{}: Apache does not serve this location at {}, where other hosts are; here every address serves all locations, so nobody is let \
         in: run a second server for this one, or take these addresses away, and take the 'require' below away",
        context.at,
        elsewhere.join(", ")
    );
    close(location, why);
}

/// Returns the directives that refuse requests by a pattern or a condition.
fn refusing_patterns<'a>(directives: &[&'a Directive]) -> Vec<&'a Directive> {
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

/// True if the flags of a `RewriteRule` refuse the request: `[F]`, `[gone]`, `[R=404,L]`.
fn refuses(flags: &str) -> bool {
    let flags = flags.trim_matches(['[', ']']).to_ascii_lowercase();
    flags.split(',').any(|flag| match flag.trim().split_once('=') {
        Some(("r" | "redirect", status)) => is_refusal(status),
        _ => ["f", "forbidden", "g", "gone"].contains(&flag.trim()),
    })
}

/// Returns the pattern for paths; empty for a condition, which may apply to any path.
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

/// True if a directive may apply to a path at or below `path`. False if its pattern begins with other letters.
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
    // A quantifier after the literal part makes its last letter optional.
    if rest
        .chars()
        .find(|c| !is_plain(c))
        .is_some_and(|c| "?*{".contains(c))
    {
        literal.pop();
    }
    if has_alternatives(rest) {
        return true;
    }
    literal.starts_with(path) || path.starts_with(&literal)
}

/// True if a pattern has alternatives outside of its groups: then its beginning is not that of all of them.
fn has_alternatives(pattern: &str) -> bool {
    let mut depth = 0;
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => _ = letters.next(),
            '(' => depth += 1,
            ')' => depth -= 1,
            '|' if depth <= 0 => return true,
            _ => {}
        }
    }
    false
}

fn is_closing(section: &Directive) -> bool {
    let mut held = Vec::new();
    for directive in section.inner.iter().flatten() {
        flatten(directive, &mut held);
    }
    held.iter()
        .any(|directive| CLOSING.iter().any(|name| directive.is(name)))
}
