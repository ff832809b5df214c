//! `Require`, `Satisfy` and who else says who may come in, boiled down to two questions: may the anonymous read, and may they
//! write? Whatever is finer than that belongs into the access file, and is said so.

use super::hosts::{Held, Place};

/// The answers, and what they leave out.
#[derive(Debug, Default)]
pub struct Access {
    pub anonymous_read: bool,
    pub anonymous_write: bool,
    /// Sentences for whoever reads the result.
    pub remarks: Vec<String>,
}

/// One `Require`, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    /// Everybody fulfils it.
    Nothing,
    /// Some user.
    Login,
    /// Nobody fulfils it.
    Never,
    /// What we cannot ask for.
    Other,
}

/// What `git` and clients of Subversion read with, and what they write with.
const READING: [&str; 4] = ["GET", "PROPFIND", "OPTIONS", "REPORT"];
const WRITING: [&str; 7] = [
    "MERGE",
    "PUT",
    "POST",
    "MKACTIVITY",
    "CHECKOUT",
    "PROPPATCH",
    "LOCK",
];

/// Finds the answers for a location that has an access file or not.
pub fn access(place: &Place<'_>, has_authz: bool) -> Access {
    let mut access = Access::default();
    let mut demands: Vec<(&Held<'_>, Demand)> = Vec::new();
    for held in place.requirements() {
        if held
            .within
            .iter()
            .any(|name| name.eq_ignore_ascii_case("RequireNone"))
        {
            access.remarks.push(told(held, "nobody is kept out by this here"));
            continue;
        }
        demands.push((held, demand(held, &mut access.remarks)));
    }
    let open = |method: &str| {
        let holding: Vec<_> = demands
            .iter()
            .filter(|(held, _)| held.methods.hold(method))
            .collect();
        let all_of = |held: &Held<'_>| {
            held.within
                .iter()
                .any(|name| name.eq_ignore_ascii_case("RequireAll"))
        };
        let opened = holding
            .iter()
            .any(|(held, demand)| *demand == Demand::Nothing && !all_of(held));
        opened || !holding.iter().any(|(_, demand)| *demand != Demand::Nothing)
    };
    let satisfy_any = place
        .last("Satisfy")
        .is_some_and(|d| d.arg(0).eq_ignore_ascii_case("any"));
    access.anonymous_read = READING.iter().all(|method| open(method)) || satisfy_any;
    access.anonymous_write = WRITING.iter().all(|method| open(method)) || satisfy_any;
    let never = |method: &str| {
        let mut holding = demands.iter().filter(|(held, _)| held.methods.hold(method));
        holding.any(|(_, demand)| *demand == Demand::Never)
    };
    if !access.anonymous_read && READING.iter().any(|method| never(method)) {
        let text = format!(
            "{}: nobody may come in there, here everybody who logs in",
            place.at
        );
        access.remarks.push(text);
    }
    if place.last("AuthzSVNAnonymous").is_some_and(|d| !d.on()) {
        access.anonymous_read = false;
        access.anonymous_write = false;
    }
    by_address(place, &mut access);
    match (access.anonymous_read, access.anonymous_write, has_authz) {
        (_, true, false) => access.remarks.push(format!(
            "{}: everybody may write there without a name, here only read. Give the location an access file to let them: \
             'authz' with the lines [/] and * = rw",
            place.at
        )),
        (true, false, true) => access.remarks.push(format!(
            "{}: who writes must log in there. Here the access file says it: see that it grants w to nobody without a name \
             (*, $anonymous)",
            place.at
        )),
        (false, true, true) => access.remarks.push(format!(
            "{}: who reads must log in there and who writes need not; here everybody must log in",
            place.at
        )),
        _ => {}
    }
    access
}

fn demand(held: &Held<'_>, remarks: &mut Vec<String>) -> Demand {
    let directive = held.directive;
    match directive.arg(0).to_ascii_lowercase().as_str() {
        "all" if directive.arg(1).eq_ignore_ascii_case("granted") => Demand::Nothing,
        "all" => Demand::Never,
        "valid-user" => Demand::Login,
        "user" | "group" | "ldap-user" | "ldap-group" | "ldap-dn" | "ldap-attribute" | "ldap-filter" => {
            let users =
                "here every user may come in: say in the access file what those may do and others not";
            remarks.push(told(held, users));
            Demand::Login
        }
        "ip" | "host" | "local" | "forward-dns" => {
            remarks.push(told(
                held,
                "addresses of clients are not looked at here: a firewall's job",
            ));
            Demand::Other
        }
        _ => {
            remarks.push(told(held, "has no counterpart here"));
            Demand::Other
        }
    }
}

/// `Order`, `Allow` and `Deny` of older versions.
fn by_address(place: &Place<'_>, access: &mut Access) {
    for held in place.all(true) {
        let directive = held.directive;
        let harmless = directive.arg(1).eq_ignore_ascii_case("all") && directive.is("Allow");
        if (directive.is("Allow") || directive.is("Deny")) && !harmless {
            access.remarks.push(told(
                held,
                "addresses of clients are not looked at here: a firewall's job",
            ));
        }
    }
}

fn told(held: &Held<'_>, what: &str) -> String {
    format!("{}: {}: {what}", held.directive.at, held.directive.shown())
}
