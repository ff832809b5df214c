//! `Require` and `Satisfy`: who may come in, as our `require`, `require-write` or `anonymous` says it.
//!
//! Apache asks what it requires twice: before a login, where conditions about users are undecided, and after it. With
//! mod_authz_svn and an access file the second question is never asked, because that module answers first: there
//! `Require user alice` lets every user in whom the access file lets in. What is written keeps to that, and says so.

use super::address::{both, by_address, either};
use super::hosts::{Layer, LocationContext, methods_of};
use super::syntax::Directive;

/// What comes of a location's requirements.
#[derive(Debug, Default)]
pub struct Access {
    /// `anonymous`, if that says all.
    pub anonymous: Option<bool>,
    pub require: Option<String>,
    pub require_write: Option<String>,
    /// Remarks for the reader of the result.
    pub remarks: Vec<String>,
}

/// A condition, as we write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Anyone,
    Nobody,
    ValidUser,
    /// `user alice`, `group dev`: about users.
    Of(String),
    /// `ip 10.0.0.0/8`
    Ip(String),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

/// What clients of Subversion read with, and what they write with.
const READING: [&str; 4] = ["GET", "PROPFIND", "OPTIONS", "REPORT"];
const WRITING: [&str; 12] = [
    "MERGE",
    "PUT",
    "POST",
    "MKACTIVITY",
    "CHECKOUT",
    "PROPPATCH",
    "LOCK",
    "UNLOCK",
    "MKCOL",
    "DELETE",
    "COPY",
    "MOVE",
];

/// Finds what holds for a location that has an access file or not.
pub fn access(place: &LocationContext<'_>, has_authz: bool) -> Access {
    let mut access = Access::default();
    let addresses = by_address(place);
    let satisfy_any = addresses.satisfies_any();
    let anonymous_off = place.last("AuthzSVNAnonymous").is_some_and(|d| !d.on());
    addresses.remarks(&mut access.remarks);
    let layer = place.requiring();
    let [reading, writing] = [&READING[..], &WRITING[..]].map(|methods| {
        let mut found: Vec<Condition> = Vec::new();
        for method in methods {
            let required = layer.map_or(Condition::Anyone, |layer| of_layer(layer, method));
            let address = addresses.condition(method);
            let condition = match (satisfy_any, has_authz) {
                (false, _) => both(address, required),
                (true, false) => either(address, required),
                // Who has not the right address must log in; the access file says the rest.
                (true, true) => address,
            };
            if !found.contains(&condition) {
                found.push(condition);
            }
        }
        if found.len() > 1 {
            access.remarks.push(format!(
                "{}: not all methods of {} need the same there; here all that one of them needs",
                place.at,
                methods.join(", ")
            ));
        }
        joined(found, Condition::All)
    });
    let asks_for_users = |condition: &Condition| {
        let condition = of_access_file(condition.clone(), false);
        condition == Condition::ValidUser
    };
    let only_users = asks_for_users(&reading) && asks_for_users(&writing);
    if has_authz && (satisfy_any || anonymous_off) && !(only_users && satisfy_any != anonymous_off) {
        access.remarks.push(format!(
            "{}: a request that needs no user there passes by the access file, because of 'Satisfy Any' or \
             'AuthzSVNAnonymous Off'; here the access file is asked in each case",
            place.at
        ));
    }
    if satisfy_any {
        // Who may come in without a name is the access file's to say, or everybody's.
        if !has_authz {
            if writing != reading {
                access.require_write = Some(shown(&writing, 0));
            }
            access.require = Some(shown(&reading, 0));
            return access;
        }
        let [read_needs, write_needs] = [&READING[..], &WRITING[..]].map(|methods| {
            let required = methods
                .iter()
                .map(|method| layer.map_or(Condition::Anyone, |layer| of_layer(layer, method)));
            let mut needs: Vec<Condition> =
                required.map(|required| of_access_file(required, false)).collect();
            needs.dedup();
            joined(needs, Condition::All)
        });
        if !(holds_after_login(&read_needs, true) && holds_after_login(&write_needs, true)) {
            access.remarks.push(format!(
                "{}: Apache asks nobody for a login there who does not fulfil what is required beside it; here they are refused, \
                 also where their address is allowed",
                place.at
            ));
            let [reading, writing] = [read_needs, write_needs].map(|needs| match anonymous_off {
                true => Condition::All(vec![needs, Condition::ValidUser]),
                false => needs,
            });
            if writing != reading {
                access.require_write = Some(shown(&writing, 0));
            }
            access.require = Some(shown(&reading, 0));
            return access;
        }
        let is_anywhere = reading == Condition::Anyone && writing == Condition::Anyone;
        if !is_anywhere {
            access.remarks.push(format!(
                "{}: Apache asks for a login there where the address is not allowed; here everybody must log in",
                place.at
            ));
        }
        access.anonymous = Some(!anonymous_off && is_anywhere);
        return access;
    }
    if let Some(layer) = layer {
        tell(layer, has_authz, &mut access.remarks);
    }
    let [reading, writing] = [reading, writing].map(|condition| match has_authz {
        true => of_access_file(condition, false),
        false => condition,
    });
    if reading == Condition::ValidUser && writing == Condition::ValidUser {
        access.anonymous = Some(false);
        return access;
    }
    if anonymous_off && has_authz && reading == Condition::Anyone && writing == Condition::Anyone {
        access.anonymous = Some(false);
        return access;
    }
    if writing != reading {
        access.require_write = Some(shown(&writing, 0));
    }
    access.require = Some(shown(&reading, 0));
    if writing == Condition::Anyone && !has_authz {
        access.remarks.push(format!(
            "{}: everybody may write there without a name, as in Apache",
            place.at
        ));
    }
    access
}

/// What a section requires of requests with this method; anyone if nothing.
fn of_layer(layer: &Layer<'_>, method: &str) -> Condition {
    let mut parts = Vec::new();
    for directive in &layer.sections {
        collect(directive, method, &mut parts);
    }
    match parts.is_empty() {
        true => Condition::Anyone,
        false => joined(parts, Condition::Any),
    }
}

/// Ends, because sections do not lie deep within each other.
fn collect(directive: &Directive, method: &str, parts: &mut Vec<Condition>) {
    let Some(inner) = &directive.inner else {
        if directive.is("Require") {
            parts.push(one(directive, method));
        }
        return;
    };
    let all = || {
        let mut parts = Vec::new();
        inner
            .iter()
            .for_each(|directive| collect(directive, method, &mut parts));
        (!parts.is_empty()).then_some(parts)
    };
    if let Some(methods) = methods_of(directive) {
        if methods.hold(method) {
            inner
                .iter()
                .for_each(|directive| collect(directive, method, parts));
        }
    } else if directive.is("RequireAny") {
        parts.extend(all().map(|parts| joined(parts, Condition::Any)));
    } else if directive.is("RequireAll") {
        parts.extend(all().map(|parts| joined(parts, Condition::All)));
    } else if directive.is("RequireNone") {
        parts.extend(all().map(|parts| Condition::Not(Box::new(joined(parts, Condition::Any)))));
    }
}

/// One `Require`.
fn one(directive: &Directive, method: &str) -> Condition {
    let (negated, words) = match directive.args.split_first() {
        Some((first, rest)) if first.eq_ignore_ascii_case("not") => (true, rest),
        _ => (false, &directive.args[..]),
    };
    let (kind, names) = match words.split_first() {
        Some((kind, names)) => (kind.to_ascii_lowercase(), names),
        None => (String::new(), words),
    };
    let listed = |kind: &str| {
        let names: Vec<String> = names.iter().map(|name| name_of(name)).collect();
        format!("{kind} {}", names.join(" "))
    };
    let condition = match kind.as_str() {
        "all"
            if names
                .first()
                .is_some_and(|name| name.eq_ignore_ascii_case("granted")) =>
        {
            Condition::Anyone
        }
        "valid-user" => Condition::ValidUser,
        "user" | "ldap-user" if !names.is_empty() => Condition::Of(listed("user")),
        "group" if !names.is_empty() => Condition::Of(listed("group")),
        "ldap-group" if !names.is_empty() => Condition::Of(format!("group {}", name_of(&group_of(names)))),
        "ip" if !names.is_empty() => Condition::Ip(listed("ip")),
        "local" => Condition::Ip("ip 127.0.0.0/8 ::1".to_owned()),
        "method" => match names.iter().any(|name| name.eq_ignore_ascii_case(method)) {
            true => Condition::Anyone,
            false => Condition::Nobody,
        },
        // A requirement without a counterpart admits no one, neither by itself nor by its negation.
        "all" => Condition::Nobody,
        _ => return Condition::Nobody,
    };
    match negated {
        true => Condition::Not(Box::new(condition)),
        false => condition,
    }
}

/// The name of a directory's group, as rules know it: `dev` of `cn=dev,ou=groups`.
pub fn group_of(words: &[String]) -> String {
    let dn = words.join(" ");
    let first = dn.split(',').next().unwrap_or_default();
    let (_, name) = first.split_once('=').unwrap_or(("", first));
    name.trim().to_owned()
}

fn name_of(name: &str) -> String {
    let plain = !["and", "or", "not"].contains(&name)
        && !name.is_empty()
        && !name.contains(|c: char| c.is_whitespace() || "()\"'".contains(c));
    match (plain, name.contains('"')) {
        (true, _) => name.to_owned(),
        (false, false) => format!("\"{name}\""),
        (false, true) => format!("'{name}'"),
    }
}

/// What is left of a condition where an access file answers for users: whether there must be one.
fn of_access_file(condition: Condition, negated: bool) -> Condition {
    let each = |parts: Vec<Condition>| {
        parts
            .into_iter()
            .map(|part| of_access_file(part, negated))
            .collect()
    };
    match condition {
        Condition::ValidUser | Condition::Of(_) if negated => Condition::Nobody,
        Condition::ValidUser | Condition::Of(_) => Condition::ValidUser,
        Condition::Not(inner) => Condition::Not(Box::new(of_access_file(*inner, !negated))),
        Condition::All(parts) => {
            let mut parts: Vec<Condition> = each(parts);
            // A negation that refuses no one adds nothing.
            let idle = |part: &Condition| *part == Condition::Not(Box::new(Condition::Nobody));
            if !negated && parts.iter().any(|part| !idle(part)) {
                parts.retain(|part| !idle(part));
            }
            parts.dedup();
            joined(parts, Condition::All)
        }
        Condition::Any(parts) => {
            let mut parts: Vec<Condition> = each(parts);
            parts.dedup();
            joined(parts, Condition::Any)
        }
        Condition::Anyone | Condition::Nobody | Condition::Ip(_) => condition,
    }
}

/// With `everywhere`, true if a condition holds for all logged-in users at every address; else, if it holds at some address.
fn holds_after_login(condition: &Condition, everywhere: bool) -> bool {
    match condition {
        Condition::Anyone | Condition::ValidUser | Condition::Of(_) => true,
        Condition::Nobody => false,
        Condition::Ip(_) => !everywhere,
        Condition::Not(inner) => !holds_after_login(inner, !everywhere),
        Condition::All(parts) => parts.iter().all(|part| holds_after_login(part, everywhere)),
        Condition::Any(parts) => parts.iter().any(|part| holds_after_login(part, everywhere)),
    }
}

fn joined(mut parts: Vec<Condition>, kind: impl Fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.len() {
        1 => parts.remove(0),
        _ => kind(parts),
    }
}

/// The condition in our words; `within` is 0 at the top, 1 in an alternative, 2 in a conjunction or negation.
fn shown(condition: &Condition, within: u8) -> String {
    let listed = |parts: &[Condition], word: &str, inner: u8| {
        let parts: Vec<String> = parts.iter().map(|part| shown(part, inner)).collect();
        parts.join(word)
    };
    let (text, strength) = match condition {
        Condition::Anyone => ("anyone".to_owned(), 3),
        Condition::Nobody => ("nobody".to_owned(), 3),
        Condition::ValidUser => ("valid-user".to_owned(), 3),
        Condition::Of(text) | Condition::Ip(text) => (text.clone(), 3),
        Condition::Not(inner) => (format!("not {}", shown(inner, 3)), 3),
        Condition::All(parts) => (listed(parts, " and ", 2), 2),
        Condition::Any(parts) => (listed(parts, " or ", 1), 1),
    };
    match strength < within {
        true => format!("({text})"),
        false => text,
    }
}

/// Says what was not carried over as it stands.
fn tell(layer: &Layer<'_>, has_authz: bool, remarks: &mut Vec<String>) {
    for directive in layer.directives.iter().filter(|held| held.is("Require")) {
        let skip = usize::from(directive.arg(0).eq_ignore_ascii_case("not"));
        let mut say = |what: &str| {
            let text = format!("{}: {}: {what}", directive.at, directive.shown());
            if !remarks.contains(&text) {
                remarks.push(text);
            }
        };
        match directive.arg(skip).to_ascii_lowercase().as_str() {
            "user" | "group" | "ldap-user" | "ldap-group" if has_authz => say(
                "beside an access file Apache asks only whether there is a user, and so it is here: say in the access file \
                 what others may not do",
            ),
            "all" | "valid-user" | "user" | "group" | "ldap-user" | "ldap-group" | "ip" | "local"
            | "method" => {}
            "host" | "forward-dns" => {
                say(
                    "names of hosts are not looked up here, so it lets nobody in: say 'ip' and the addresses",
                );
            }
            _ => say("has no counterpart here, so it lets nobody in"),
        }
    }
}
