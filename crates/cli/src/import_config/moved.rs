//! `Redirect` and its kin as `[[redirect]]`.

use server::config::Redirect;

use super::draft::Table;
use super::hosts::{Host, Server, contains, path_of};
use super::syntax::Directive;

/// The redirects of the server and of all hosts with repositories, and remarks about those that are left out.
pub fn redirects(server: &Server<'_>, remarks: &mut Table) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let serving = server.hosts.iter().filter(|host| server.serves_in(host));
    for host in std::iter::once(&server.global).chain(serving) {
        for Found { directive, why_not } in of_host(host) {
            match translated(directive).filter(|_| why_not.is_none()) {
                Some((from, to, permanent)) if Redirect::new(&from, &to, permanent).is_ok() => {
                    let mut table = Table::new("[[redirect]]");
                    table.text("from", from);
                    table.text("to", to);
                    table.flag("permanent", permanent);
                    if !tables.iter().any(|other| other.same_keys(&table)) {
                        tables.push(table);
                    }
                }
                // They refuse requests: see `closed`.
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

/// A redirect, and whether it may be translated.
struct Found<'a> {
    directive: &'a Directive,
    /// Why it may not be, although we have a word for it.
    why_not: Option<&'static str>,
}

/// The redirects of a host. Those within a location are sent to whom the location lets in, for paths within it; ours are sent to
/// everybody.
fn of_host<'a>(host: &Host<'a>) -> Vec<Found<'a>> {
    let mut all: Vec<Found<'a>> = Vec::new();
    for directive in host.settings.iter().copied().filter(|d| is_redirect(d)) {
        all.push(Found {
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
            all.push(Found { directive, why_not });
        }
    }
    all
}

/// Where it leads from and to, and whether for good; `None` if we have no word for it.
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
    // Only what says the same as a prefix: `^/old(.*)$`, `^/old/(.*)$`, with `$1` at the end of the target.
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

/// The path of a `Redirect` that sends nowhere: `gone`, or another status that is no redirect.
pub fn refused_path(directive: &Directive) -> Option<String> {
    let path = directive.arg(1);
    (directive.is("Redirect") && is_refusal(directive.arg(0)) && path.starts_with('/'))
        .then(|| path.trim_end_matches('/').to_owned())
}

/// True if the status of a `Redirect` sends nowhere: `gone`, or a number that is no redirect.
pub fn is_refusal(status: &str) -> bool {
    let is_number = |status: u16| !(300..400).contains(&status);
    status.eq_ignore_ascii_case("gone") || status.parse().is_ok_and(is_number)
}
