//! Translates `Require` and `Satisfy` into `require`, `require-write` or `anonymous`.
//!
//! Apache evaluates its requirements twice: before a login, when conditions about users are undecided, and after it.
//! With mod_authz_svn and an authz file the second evaluation never happens, because that module answers first: there
//! `Require user alice` admits every user that the authz file admits. The translation keeps this behaviour and adds a
//! remark about it.

use super::address::{AddressRules, address_rules, both, either};
use super::hosts::{Layer, LocationContext, methods_of};
use super::syntax::Directive;

/// The translation of a location's requirements.
#[derive(Debug, Default)]
pub struct LocationAccess {
    /// The value of `anonymous`, if it expresses all requirements.
    pub anonymous: Option<bool>,
    pub require: Option<String>,
    pub require_write: Option<String>,
    /// Remarks for the administrator.
    pub remarks: Vec<String>,
}

/// A condition of `require`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequireCondition {
    Anyone,
    Nobody,
    ValidUser,
    /// A condition about users: `user alice`, `group dev`.
    Of(String),
    /// A condition about addresses: `ip 10.0.0.0/8`.
    Ip(String),
    Not(Box<RequireCondition>),
    All(Vec<RequireCondition>),
    Any(Vec<RequireCondition>),
}

/// The methods with which Subversion clients read; [`WRITING`] has those with which they write.
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

/// Translates the requirements of a location. `has_authz` is true if it has an authz file.
pub fn access(context: &LocationContext<'_>, has_authz: bool) -> LocationAccess {
    let addresses = address_rules(context);
    let requirements = Requirements {
        context,
        has_authz,
        satisfy_any: addresses.satisfies_any(),
        anonymous_off: context.last("AuthzSVNAnonymous").is_some_and(|d| !d.on()),
        has_groups: context.last("AuthGroupFile").is_some(),
        layer: context.requiring(),
    };
    let mut access = LocationAccess::default();
    addresses.remarks(&mut access.remarks);
    let [reading, writing] = [&READING[..], &WRITING[..]]
        .map(|methods| requirements.condition(&addresses, methods, &mut access.remarks));
    requirements.remark_skipped_authz(&reading, &writing, &mut access.remarks);
    match (requirements.satisfy_any, has_authz) {
        // Without an authz file, the requirements alone decide about anonymous requests.
        (true, false) => access.require(&reading, &writing),
        (true, true) => requirements.address_or_login(&reading, &writing, &mut access),
        (false, _) => requirements.address_and_login(reading, writing, &mut access),
    }
    access
}

/// The directives that restrict a location.
struct Requirements<'a> {
    context: &'a LocationContext<'a>,
    has_authz: bool,
    /// `Satisfy Any`: an allowed address or a login is enough.
    satisfy_any: bool,
    /// `AuthzSVNAnonymous Off`: the authz file is not evaluated for anonymous requests.
    anonymous_off: bool,
    /// Something says who is in a group.
    has_groups: bool,
    /// The section whose `Require` directives apply.
    layer: Option<&'a Layer<'a>>,
}

impl Requirements<'_> {
    /// Returns the requirements for requests with `method`, without those on the address.
    fn required(&self, method: &str) -> RequireCondition {
        let of_layer = |layer| section_requirements(layer, method, self.has_groups);
        self.layer.map_or(RequireCondition::Anyone, of_layer)
    }

    /// Returns the condition for requests with any of `methods`. If the methods differ, all their conditions must
    /// hold, and a remark says so.
    fn condition(
        &self,
        addresses: &AddressRules<'_>,
        methods: &[&str],
        remarks: &mut Vec<String>,
    ) -> RequireCondition {
        let mut found: Vec<RequireCondition> = Vec::new();
        for method in methods {
            let required = self.required(method);
            let address = addresses.condition(method);
            let condition = match (self.satisfy_any, self.has_authz) {
                (false, _) => both(address, required),
                (true, false) => either(address, required),
                // Requests from other addresses need a login; the authz file has the other rules.
                (true, true) => address,
            };
            if !found.contains(&condition) {
                found.push(condition);
            }
        }
        if found.len() > 1 {
            remarks.push(format!(
                "{}: not all methods of {} need the same there; here all that one of them needs",
                self.context.at,
                methods.join(", ")
            ));
        }
        joined(found, RequireCondition::All)
    }

    /// Adds a remark if Apache does not evaluate the authz file for some requests.
    fn remark_skipped_authz(
        &self,
        reading: &RequireCondition,
        writing: &RequireCondition,
        remarks: &mut Vec<String>,
    ) {
        let needs_login = |condition: &RequireCondition| {
            reduce_to_login(condition.clone(), false) == RequireCondition::ValidUser
        };
        let only_users = needs_login(reading) && needs_login(writing);
        if self.has_authz
            && (self.satisfy_any || self.anonymous_off)
            && !(only_users && self.satisfy_any != self.anonymous_off)
        {
            remarks.push(format!(
                "{}: a request that needs no user there passes by the access file, because of 'Satisfy Any' or \
                 'AuthzSVNAnonymous Off'; here the access file is asked in each case",
                self.context.at
            ));
        }
    }

    /// Translates `Satisfy Any` beside an authz file; `reading` and `writing` are the conditions on the address.
    fn address_or_login(
        &self,
        reading: &RequireCondition,
        writing: &RequireCondition,
        access: &mut LocationAccess,
    ) {
        let [read_needs, write_needs] = [&READING[..], &WRITING[..]].map(|methods| {
            let required = methods.iter().map(|method| self.required(method));
            let mut needs: Vec<RequireCondition> = required
                .map(|required| reduce_to_login(required, false))
                .collect();
            needs.dedup();
            joined(needs, RequireCondition::All)
        });
        if !(holds_after_login(&read_needs, true) && holds_after_login(&write_needs, true)) {
            access.remarks.push(format!(
                "{}: Apache asks nobody for a login there who does not fulfil what is required beside it; here they are refused, \
                 also where their address is allowed",
                self.context.at
            ));
            let [reading, writing] = [read_needs, write_needs].map(|needs| match self.anonymous_off {
                true => RequireCondition::All(vec![needs, RequireCondition::ValidUser]),
                false => needs,
            });
            access.require(&reading, &writing);
            return;
        }
        let is_anywhere = *reading == RequireCondition::Anyone && *writing == RequireCondition::Anyone;
        if !is_anywhere {
            access.remarks.push(format!(
                "{}: Apache asks for a login there where the address is not allowed; here everybody must log in",
                self.context.at
            ));
        }
        access.anonymous = Some(!self.anonymous_off && is_anywhere);
    }

    /// Translates `Satisfy All`, the default.
    fn address_and_login(
        &self,
        reading: RequireCondition,
        writing: RequireCondition,
        access: &mut LocationAccess,
    ) {
        if let Some(layer) = self.layer {
            remark_requirements(layer, self.has_authz, &mut access.remarks);
        }
        let [reading, writing] = [reading, writing].map(|condition| match self.has_authz {
            true => reduce_to_login(condition, false),
            false => condition,
        });
        let both_are = |condition| reading == condition && writing == condition;
        if both_are(RequireCondition::ValidUser)
            || self.anonymous_off && self.has_authz && both_are(RequireCondition::Anyone)
        {
            access.anonymous = Some(false);
            return;
        }
        access.require(&reading, &writing);
        if writing == RequireCondition::Anyone && !self.has_authz {
            access.remarks.push(format!(
                "{}: everybody may write there without a name, as in Apache",
                self.context.at
            ));
        }
    }
}

impl LocationAccess {
    /// Sets `require`, and `require_write` if it differs.
    fn require(&mut self, reading: &RequireCondition, writing: &RequireCondition) {
        if writing != reading {
            self.require_write = Some(shown(writing, 0));
        }
        self.require = Some(shown(reading, 0));
    }
}

/// Returns the requirements of a section for requests with this method; [`RequireCondition::Anyone`] if it has none.
fn section_requirements(layer: &Layer<'_>, method: &str, has_groups: bool) -> RequireCondition {
    let mut parts = Vec::new();
    for directive in &layer.sections {
        collect(directive, method, has_groups, &mut parts);
    }
    match parts.is_empty() {
        true => RequireCondition::Anyone,
        false => joined(parts, RequireCondition::Any),
    }
}

/// Collects the conditions of a directive and of the sections in it. The recursion is bounded by the reader's limit
/// of nested sections.
fn collect(directive: &Directive, method: &str, has_groups: bool, parts: &mut Vec<RequireCondition>) {
    let Some(inner) = &directive.inner else {
        if directive.is("Require") {
            parts.push(requirement(directive, method, has_groups));
        }
        return;
    };
    let all = || {
        let mut parts = Vec::new();
        inner
            .iter()
            .for_each(|directive| collect(directive, method, has_groups, &mut parts));
        (!parts.is_empty()).then_some(parts)
    };
    if let Some(methods) = methods_of(directive) {
        if methods.hold(method) {
            inner
                .iter()
                .for_each(|directive| collect(directive, method, has_groups, parts));
        }
    } else if directive.is("RequireAny") {
        parts.extend(all().map(|parts| joined(parts, RequireCondition::Any)));
    } else if directive.is("RequireAll") {
        parts.extend(all().map(|parts| joined(parts, RequireCondition::All)));
    } else if directive.is("RequireNone") {
        parts
            .extend(all().map(|parts| RequireCondition::Not(Box::new(joined(parts, RequireCondition::Any)))));
    }
}

/// Translates one `Require`. Without a file of groups, Apache finds nobody in one.
fn requirement(directive: &Directive, method: &str, has_groups: bool) -> RequireCondition {
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
            RequireCondition::Anyone
        }
        "valid-user" => RequireCondition::ValidUser,
        "user" | "ldap-user" if !names.is_empty() => RequireCondition::Of(listed("user")),
        "group" if !names.is_empty() && has_groups => RequireCondition::Of(listed("group")),
        "ldap-group" if !names.is_empty() => {
            RequireCondition::Of(format!("group {}", name_of(&group_of(names))))
        }
        "ip" if !names.is_empty() => RequireCondition::Ip(listed("ip")),
        "local" => RequireCondition::Ip("ip 127.0.0.0/8 ::1".to_owned()),
        "method" => match names.iter().any(|name| name.eq_ignore_ascii_case(method)) {
            true => RequireCondition::Anyone,
            false => RequireCondition::Nobody,
        },
        // A requirement without a counterpart admits no request, neither by itself nor by its negation.
        "all" => RequireCondition::Nobody,
        _ => return RequireCondition::Nobody,
    };
    match negated {
        true => RequireCondition::Not(Box::new(condition)),
        false => condition,
    }
}

/// Returns the name of an LDAP group: `dev` of `cn=dev,ou=groups`.
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

/// Reduces the conditions about users to whether a login is needed, because the authz file has the rules about users.
fn reduce_to_login(condition: RequireCondition, negated: bool) -> RequireCondition {
    let each = |parts: Vec<RequireCondition>| {
        parts
            .into_iter()
            .map(|part| reduce_to_login(part, negated))
            .collect()
    };
    match condition {
        RequireCondition::ValidUser | RequireCondition::Of(_) if negated => RequireCondition::Nobody,
        RequireCondition::ValidUser | RequireCondition::Of(_) => RequireCondition::ValidUser,
        RequireCondition::Not(inner) => RequireCondition::Not(Box::new(reduce_to_login(*inner, !negated))),
        RequireCondition::All(parts) => {
            let mut parts: Vec<RequireCondition> = each(parts);
            // A negation that refuses no request adds nothing.
            let idle =
                |part: &RequireCondition| *part == RequireCondition::Not(Box::new(RequireCondition::Nobody));
            if !negated && parts.iter().any(|part| !idle(part)) {
                parts.retain(|part| !idle(part));
            }
            parts.dedup();
            joined(parts, RequireCondition::All)
        }
        RequireCondition::Any(parts) => {
            let mut parts: Vec<RequireCondition> = each(parts);
            parts.dedup();
            joined(parts, RequireCondition::Any)
        }
        RequireCondition::Anyone | RequireCondition::Nobody | RequireCondition::Ip(_) => condition,
    }
}

/// True if a condition holds for all logged-in users: with `everywhere` at every address, otherwise at some address.
fn holds_after_login(condition: &RequireCondition, everywhere: bool) -> bool {
    match condition {
        RequireCondition::Anyone | RequireCondition::ValidUser | RequireCondition::Of(_) => true,
        RequireCondition::Nobody => false,
        RequireCondition::Ip(_) => !everywhere,
        RequireCondition::Not(inner) => !holds_after_login(inner, !everywhere),
        RequireCondition::All(parts) => parts.iter().all(|part| holds_after_login(part, everywhere)),
        RequireCondition::Any(parts) => parts.iter().any(|part| holds_after_login(part, everywhere)),
    }
}

fn joined(
    mut parts: Vec<RequireCondition>,
    kind: impl Fn(Vec<RequireCondition>) -> RequireCondition,
) -> RequireCondition {
    match parts.len() {
        1 => parts.remove(0),
        _ => kind(parts),
    }
}

/// Formats a condition for `require`. `within` is 0 at the top, 1 in an alternative, 2 in a conjunction or negation.
fn shown(condition: &RequireCondition, within: u8) -> String {
    let listed = |parts: &[RequireCondition], word: &str, inner: u8| {
        let parts: Vec<String> = parts.iter().map(|part| shown(part, inner)).collect();
        parts.join(word)
    };
    let (text, strength) = match condition {
        RequireCondition::Anyone => ("anyone".to_owned(), 3),
        RequireCondition::Nobody => ("nobody".to_owned(), 3),
        RequireCondition::ValidUser => ("valid-user".to_owned(), 3),
        RequireCondition::Of(text) | RequireCondition::Ip(text) => (text.clone(), 3),
        RequireCondition::Not(inner) => (format!("not {}", shown(inner, 3)), 3),
        RequireCondition::All(parts) => (listed(parts, " and ", 2), 2),
        RequireCondition::Any(parts) => (listed(parts, " or ", 1), 1),
    };
    match strength < within {
        true => format!("({text})"),
        false => text,
    }
}

/// Adds remarks about requirements that are translated differently.
fn remark_requirements(layer: &Layer<'_>, has_authz: bool, remarks: &mut Vec<String>) {
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
