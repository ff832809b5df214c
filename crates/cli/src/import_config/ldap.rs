//! Translates `AuthLDAP…` into `[auth.ldap]`.

use std::path::Path;

use super::draft::TableDraft;
use super::hosts::LocationContext;
use super::location::absolute_name;
use super::syntax::Directive;

/// Returns `[auth.ldap]` for a location.
pub fn ldap(context: &LocationContext<'_>, root: &Path) -> TableDraft {
    let mut table = TableDraft::new("[auth.ldap]");
    if let Some(directive) = context.last("AuthLDAPURL") {
        url(directive, &mut table);
    }
    bind(context, &mut table);
    groups(context, &mut table);
    for name in ["LDAPTimeout", "LDAPConnectionTimeout"] {
        if let Some(seconds) = context.last(name).and_then(|d| d.arg(0).parse::<u32>().ok()) {
            table.text("timeout", format!("{seconds}s"));
        }
    }
    if let Some(directive) = context.last("LDAPTrustedGlobalCert") {
        match directive.arg(0).eq_ignore_ascii_case("CA_BASE64") {
            true => table.text("ca", absolute_name(directive.arg(1), root)),
            false => table.remark(format!(
                "{}: {}: name a PEM file in 'ca'",
                directive.at,
                directive.shown()
            )),
        }
    }
    if let Some(directive) = context.last("LDAPVerifyServerCert").filter(|d| !d.on()) {
        let why = "the directory's certificate is always verified; name its authority in 'ca'";
        table.remark(format!("{}: {}: {why}", directive.at, directive.shown()));
    }
    table
}

/// Translates the name and password of the search user.
fn bind(context: &LocationContext<'_>, table: &mut TableDraft) {
    let password = context.last("AuthLDAPBindPassword");
    if let Some(name) = context.last("AuthLDAPBindDN") {
        match password {
            Some(directive) if directive.arg(0).starts_with("exec:") => {
                table.remark(format!(
                    "{}: a program says the password: write it into a file and name that in 'bind-password-file', beside \
                     bind-dn = \"{}\"",
                    directive.at,
                    name.arg(0)
                ));
            }
            Some(directive) => {
                table.text("bind-dn", name.arg(0));
                table.text("bind-password", directive.arg(0));
            }
            None => table.remark(format!("{}: {}: there is no password", name.at, name.shown())),
        }
    }
}

/// Translates the directives about groups.
fn groups(context: &LocationContext<'_>, table: &mut TableDraft) {
    let attributes: Vec<String> = context
        .all(false)
        .filter(|held| held.is("AuthLDAPGroupAttribute"))
        .map(|held| held.arg(0).to_owned())
        .collect();
    if !attributes.is_empty() {
        table.texts("group-attribute", &attributes);
    }
    if let Some(directive) = context.last("AuthLDAPGroupAttributeIsDN") {
        table.flag("group-attribute-is-dn", directive.on());
    }
    let by_group = context.requirements().into_iter().find(|held| {
        held.args
            .iter()
            .take(2)
            .any(|word| word.eq_ignore_ascii_case("ldap-group"))
    });
    if let Some(held) = by_group {
        // Groups are searched below the parent of the group's entry.
        let skip = usize::from(held.arg(0).eq_ignore_ascii_case("not"));
        let dn = held.args[1 + skip..].join(" ");
        let parent = dn.split_once(',').map_or("", |(_, parent)| parent).trim();
        table.text("groups-base", parent);
    }
}

/// Translates `ldap://host:port/basedn?attribute?scope?filter` and the mode of encryption.
fn url(directive: &Directive, table: &mut TableDraft) {
    let text = directive.arg(0);
    let (scheme, rest) = text.split_once("://").unwrap_or(("ldap", text));
    let (hosts, query) = rest.split_once('/').unwrap_or((rest, ""));
    let mut hosts = hosts.split_whitespace();
    let host = hosts.next().unwrap_or("localhost");
    if hosts.next().is_some() {
        table.remark(format!(
            "{}: only the first of several directories is asked here",
            directive.at
        ));
    }
    let mode = directive.arg(1).to_ascii_uppercase();
    let scheme = match (scheme, mode.as_str()) {
        (_, "SSL") => "ldaps",
        (scheme, _) => scheme,
    };
    table.text("url", format!("{scheme}://{host}"));
    let mut parts = query.split('?').map(decoded);
    table.text("base", parts.next().unwrap_or_default());
    let attributes = parts.next().unwrap_or_default();
    // Apache's default is the same. Of several attributes the first is the login name.
    if let Some(attribute) = attributes.split(',').next().filter(|name| !name.is_empty()) {
        table.text("user-attribute", attribute);
    }
    if parts
        .next()
        .is_some_and(|scope| scope.eq_ignore_ascii_case("one"))
    {
        table.text("scope", "one");
    }
    if let Some(filter) = parts.next().filter(|filter| !filter.is_empty()) {
        let bracketed = if filter.starts_with('(') {
            filter
        } else {
            format!("({filter})")
        };
        table.text("filter", bracketed);
    }
    if mode == "TLS" || mode == "STARTTLS" {
        table.flag("starttls", true);
    }
}

/// Returns a part of a URL without its percent-encoding.
fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&base::percent::decode(text.as_bytes())).into_owned()
}
