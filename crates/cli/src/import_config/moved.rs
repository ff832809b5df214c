//! `Redirect` and its kin as `[[redirect]]`.

use server::http::Redirect;

use super::draft::Table;
use super::hosts::{Host, Server};
use super::syntax::Directive;

/// The redirects of the server and of all hosts with repositories, and remarks about those that are left out.
pub fn redirects(server: &Server<'_>, remarks: &mut Table) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let serving = server.hosts.iter().filter(|host| server.serves_in(host));
    for host in std::iter::once(&server.global).chain(serving) {
        for directive in of_host(host) {
            match translated(directive) {
                Some((from, to, permanent)) if Redirect::new(&from, &to, permanent).is_ok() => {
                    let mut table = Table::new("[[redirect]]");
                    table.text("from", from);
                    table.text("to", to);
                    table.flag("permanent", permanent);
                    if !tables.iter().any(|other| other.same_keys(&table)) {
                        tables.push(table);
                    }
                }
                _ => remarks.remark(format!(
                    "{}: {}: write a [[redirect]] for each path",
                    directive.at,
                    directive.shown()
                )),
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

/// The redirects of a host; those within a location have no path of their own, and are not translated.
fn of_host<'a>(host: &Host<'a>) -> impl Iterator<Item = &'a Directive> {
    let inner = host
        .locations
        .iter()
        .flat_map(|location| location.inner.iter().flatten());
    let all: Vec<&'a Directive> = host.settings.iter().copied().chain(inner).collect();
    all.into_iter().filter(|directive| is_redirect(directive))
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
