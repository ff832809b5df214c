//! Translates `Redirect`, `RedirectMatch` and the like into `[[redirect]]`.

use server::config::Redirect;

use super::draft::TableDraft;
use super::hosts::{ApacheHost, ApacheServer, contains, path_of};
use super::syntax::Directive;

/// Returns the redirects of the server and of all hosts with repositories, and adds remarks about those that are not
/// translated.
pub fn redirects(server: &ApacheServer<'_>, remarks: &mut TableDraft) -> Vec<TableDraft> {
    let mut tables: Vec<TableDraft> = Vec::new();
    let serving = server.hosts.iter().filter(|host| server.serves_in(host));
    for host in std::iter::once(&server.global).chain(serving) {
        for HostRedirect { directive, why_not } in of_host(host) {
            match translated(directive).filter(|_| why_not.is_none()) {
                Some((from, to, permanent)) if Redirect::new(&from, &to, permanent).is_ok() => {
                    let mut table = TableDraft::new("[[redirect]]");
                    table.text("from", from);
                    table.text("to", to);
                    table.flag("permanent", permanent);
                    if !tables.iter().any(|other| other.same_keys(&table)) {
                        tables.push(table);
                    }
                }
                // This refuses requests: see `closed`.
                None if refused_path(directive).is_some() => {}
                None if directive.is("RedirectMatch") && is_refusal(directive.arg(0)) => {}
                _ => {
                    let why = why_not.map(|why| format!("{why}: ")).unwrap_or_default();
                    remarks.remark(format!(
                        "{}: {}: {why}write a [[redirect]] for each path",
                        directive.at,
                        directive.shown()
                    ));
                }
            }
        }
    }
    tables
}

fn is_redirect(directive: &Directive) -> bool {
    ["Redirect", "RedirectPermanent", "RedirectTemp", "RedirectMatch"]
        .iter()
        .any(|name| directive.is(name))
}

/// A redirect of a host.
struct HostRedirect<'a> {
    directive: &'a Directive,
    /// The reason not to translate it, although it has a counterpart.
    why_not: Option<&'static str>,
}

/// Returns the redirects of a host. Apache sends a redirect inside a location only for paths within it and only to
/// requests that the location admits. Redirects of Sven apply to all requests.
fn of_host<'a>(host: &ApacheHost<'a>) -> Vec<HostRedirect<'a>> {
    let mut all: Vec<HostRedirect<'a>> = Vec::new();
    for directive in host.settings.iter().copied().filter(|d| is_redirect(d)) {
        all.push(HostRedirect {
            directive,
            why_not: None,
        });
    }
    for location in &host.locations {
        let inner: Vec<&Directive> = location.inner.iter().flatten().collect();
        let is_closed = inner.iter().any(|d| !is_redirect(d));
        let path = path_of(location);
        for directive in inner.into_iter().filter(|d| is_redirect(d)) {
            let outside = translated(directive).is_some_and(|(from, ..)| !contains(&path, &from));
            let why_not = match (is_closed, outside) {
                (true, _) => Some("Apache sends it to those alone whom the location lets in"),
                (false, true) => Some("it holds for no path within the location"),
                (false, false) => None,
            };
            all.push(HostRedirect { directive, why_not });
        }
    }
    all
}

/// Returns source, target and whether it is permanent; `None` for a redirect without a counterpart.
fn translated(directive: &Directive) -> Option<(String, String, bool)> {
    let (status, from, to) = match &directive.args[..] {
        [from, to] if directive.is("RedirectPermanent") => ("permanent", from, to),
        // A status and a URL, within a location.
        [status, _] if !directive.is("RedirectMatch") && !status.starts_with('/') => return None,
        [from, to] => ("temp", from, to),
        [status, from, to] => (status.as_str(), from, to),
        _ => return None,
    };
    let permanent = match status.to_ascii_lowercase().as_str() {
        "permanent" | "301" => true,
        "temp" | "302" => false,
        _ => return None,
    };
    if !directive.is("RedirectMatch") {
        return Some((from.clone(), to.clone(), permanent));
    }
    // Only patterns that are equal to a prefix: `^/old(.*)$`, `^/old/(.*)$`, with `$1` at the end of the target.
    let path = from.strip_prefix('^')?;
    let path = path.strip_suffix('$').unwrap_or(path);
    let (path, to) = match path.strip_suffix("/(.*)") {
        Some(path) => (path, to.strip_suffix("/$1")?),
        None => {
            let path = path
                .strip_suffix("(.*)")
                .or_else(|| path.strip_suffix("(/.*)?"))?;
            (path, to.strip_suffix("$1")?)
        }
    };
    let plain = path.replace("\\.", ".");
    let literal = !path
        .replace("\\.", "")
        .contains(|c: char| "\\.^$*+?()[]{}|".contains(c));
    (literal && !to.contains('$')).then(|| (plain, to.to_owned(), permanent))
}

/// Returns the path of a `Redirect` that refuses requests: `gone`, or another status that is no redirect.
pub fn refused_path(directive: &Directive) -> Option<String> {
    let path = directive.arg(1);
    (directive.is("Redirect") && is_refusal(directive.arg(0)) && path.starts_with('/'))
        .then(|| path.trim_end_matches('/').to_owned())
}

/// True if the status of a `Redirect` refuses requests: `gone`, or a number that is no redirect.
pub fn is_refusal(status: &str) -> bool {
    let is_number = |status: u16| !(300..400).contains(&status);
    status.eq_ignore_ascii_case("gone") || status.parse().is_ok_and(is_number)
}
