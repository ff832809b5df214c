//! Translates `Order`, `Allow`, `Deny` and `Satisfy` of mod_access_compat into conditions on the address.
//!
//! The innermost section that has any of these directives replaces those of the sections around it.

use std::net::{IpAddr, Ipv4Addr};

use super::access::RequireCondition;
use super::hosts::{Layer, LocationContext, methods_of};
use super::syntax::Directive;

/// The rules about addresses in a section; empty if no section has any.
#[derive(Default)]
pub struct AddressRules<'a>(Option<&'a Layer<'a>>);

const DIRECTIVES: [&str; 4] = ["Order", "Allow", "Deny", "Satisfy"];

/// Returns the rules that apply to a location.
pub fn address_rules<'a>(context: &'a LocationContext<'_>) -> AddressRules<'a> {
    let says = |layer: &&Layer<'_>| {
        let mut held = layer.directives.iter();
        held.any(|directive| DIRECTIVES.iter().any(|name| directive.is(name)))
    };
    AddressRules(context.layers.iter().rev().find(says))
}

impl AddressRules<'_> {
    /// True if a request needs an allowed address or a login, not both.
    pub fn satisfies_any(&self) -> bool {
        let mut held = self.0.into_iter().flat_map(|layer| &layer.directives);
        held.rfind(|directive| directive.is("Satisfy"))
            .is_some_and(|directive| directive.arg(0).eq_ignore_ascii_case("any"))
    }

    /// Returns the condition on the addresses that may send requests with `method`.
    pub fn condition(&self, method: &str) -> RequireCondition {
        let Some(layer) = self.0 else {
            return RequireCondition::Anyone;
        };
        let mut held = Vec::new();
        layer
            .sections
            .iter()
            .for_each(|section| collect(section, method, &mut held));
        let order = held.iter().rev().find(|directive| directive.is("Order"));
        let is_deny_allow = order.is_none_or(|order| order.args.join("").eq_ignore_ascii_case("deny,allow"));
        let of = |name: &str, unknown: RequireCondition| {
            let lists = held.iter().filter(|directive| directive.is(name));
            let each = lists.flat_map(|directive| directive.args.iter().skip(1));
            each.map(|word| condition_of(word).unwrap_or_else(|| unknown.clone()))
                .fold(RequireCondition::Nobody, either)
        };
        // Words that cannot be translated admit no request.
        let allowed = of("Allow", RequireCondition::Nobody);
        let not_denied = negated(of("Deny", RequireCondition::Anyone));
        match is_deny_allow {
            true => either(allowed, not_denied),
            false => both(allowed, not_denied),
        }
    }

    /// Adds remarks about words that cannot be translated.
    pub fn remarks(&self, remarks: &mut Vec<String>) {
        let held = self.0.into_iter().flat_map(|layer| &layer.directives);
        for directive in held.filter(|held| held.is("Allow") || held.is("Deny")) {
            let unknown = directive
                .args
                .iter()
                .skip(1)
                .find(|word| condition_of(word).is_none());
            let Some(word) = unknown else { continue };
            let so = match directive.is("Allow") {
                true => "it lets nobody in",
                false => "it keeps everybody out",
            };
            let text = format!(
                "{}: {}: '{word}' is not looked up here, so {so}: say 'ip' and the addresses in 'require'",
                directive.at,
                directive.shown()
            );
            if !remarks.contains(&text) {
                remarks.push(text);
            }
        }
    }
}

/// Collects the directives for a method, those in sections included. The recursion is bounded by the reader's limit
/// of nested sections.
fn collect<'a>(directive: &'a Directive, method: &str, held: &mut Vec<&'a Directive>) {
    match (&directive.inner, methods_of(directive)) {
        (None, _) => held.push(directive),
        (Some(inner), Some(methods)) if methods.hold(method) => {
            inner
                .iter()
                .for_each(|directive| collect(directive, method, held));
        }
        _ => {}
    }
}

/// Translates a word of `Allow` or `Deny`; `None` for names of hosts and for variables.
fn condition_of(word: &str) -> Option<RequireCondition> {
    if word.eq_ignore_ascii_case("all") {
        return Some(RequireCondition::Anyone);
    }
    let (address, mask) = match word.split_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (word, None),
    };
    let is_part = |text: &str| text.parse::<u8>().is_ok();
    let parts = address.split('.').count();
    let is_address = address.parse::<IpAddr>().is_ok() || parts < 4 && address.split('.').all(is_part);
    let is_mask = mask.is_none_or(|mask| is_part(mask) || mask.parse::<Ipv4Addr>().is_ok());
    (is_address && is_mask).then(|| RequireCondition::Ip(format!("ip {word}")))
}

/// Returns the conjunction of two conditions.
pub fn both(one: RequireCondition, other: RequireCondition) -> RequireCondition {
    match (one, other) {
        (RequireCondition::Anyone, only) | (only, RequireCondition::Anyone) => only,
        (RequireCondition::Nobody, _) | (_, RequireCondition::Nobody) => RequireCondition::Nobody,
        (one, other) => RequireCondition::All(vec![one, other]),
    }
}

/// Returns the alternative of two conditions.
pub fn either(one: RequireCondition, other: RequireCondition) -> RequireCondition {
    match (one, other) {
        (RequireCondition::Nobody, only) | (only, RequireCondition::Nobody) => only,
        (RequireCondition::Anyone, _) | (_, RequireCondition::Anyone) => RequireCondition::Anyone,
        (RequireCondition::Ip(one), RequireCondition::Ip(other)) => {
            RequireCondition::Ip(format!("{one}{}", &other["ip".len()..]))
        }
        (one, other) => RequireCondition::Any(vec![one, other]),
    }
}

/// Returns the negation of a condition. `Anyone` is added because a negation alone admits no request.
fn negated(condition: RequireCondition) -> RequireCondition {
    match condition {
        RequireCondition::Anyone => RequireCondition::Nobody,
        RequireCondition::Nobody => RequireCondition::Anyone,
        other => RequireCondition::All(vec![
            RequireCondition::Anyone,
            RequireCondition::Not(Box::new(other)),
        ]),
    }
}
