//! `Order`, `Allow`, `Deny` and `Satisfy` of mod_access_compat, as conditions on the address.
//!
//! The last section that has any of these directives replaces what those around it say with them.

use std::net::{IpAddr, Ipv4Addr};

use super::access::Condition;
use super::hosts::{Layer, LocationContext, methods_of};
use super::syntax::Directive;

/// What a section says of addresses.
#[derive(Default)]
pub struct ByAddress<'a>(Option<&'a Layer<'a>>);

const DIRECTIVES: [&str; 4] = ["Order", "Allow", "Deny", "Satisfy"];

/// What holds for a place.
pub fn by_address<'a>(place: &'a LocationContext<'_>) -> ByAddress<'a> {
    let says = |layer: &&Layer<'_>| {
        let mut held = layer.directives.iter();
        held.any(|directive| DIRECTIVES.iter().any(|name| directive.is(name)))
    };
    ByAddress(place.layers.iter().rev().find(says))
}

impl ByAddress<'_> {
    /// True if a request needs the right address or a login, not both.
    pub fn satisfies_any(&self) -> bool {
        let mut held = self.0.into_iter().flat_map(|layer| &layer.directives);
        held.rfind(|directive| directive.is("Satisfy"))
            .is_some_and(|directive| directive.arg(0).eq_ignore_ascii_case("any"))
    }

    /// The addresses that may send requests with `method`.
    pub fn condition(&self, method: &str) -> Condition {
        let Some(layer) = self.0 else {
            return Condition::Anyone;
        };
        let mut held = Vec::new();
        layer
            .sections
            .iter()
            .for_each(|section| collect(section, method, &mut held));
        let order = held.iter().rev().find(|directive| directive.is("Order"));
        let is_deny_allow = order.is_none_or(|order| order.args.join("").eq_ignore_ascii_case("deny,allow"));
        let of = |name: &str, unknown: Condition| {
            let lists = held.iter().filter(|directive| directive.is(name));
            let each = lists.flat_map(|directive| directive.args.iter().skip(1));
            each.map(|word| condition_of(word).unwrap_or_else(|| unknown.clone()))
                .fold(Condition::Nobody, either)
        };
        // Of what cannot be asked here, nothing is let in.
        let allowed = of("Allow", Condition::Nobody);
        let not_denied = negated(of("Deny", Condition::Anyone));
        match is_deny_allow {
            true => either(allowed, not_denied),
            false => both(allowed, not_denied),
        }
    }

    /// Sentences about what cannot be asked here.
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

/// Ends, because sections do not lie deep within each other.
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

/// The addresses that a word of `Allow` or `Deny` means; `None` for names of hosts and for variables.
fn condition_of(word: &str) -> Option<Condition> {
    if word.eq_ignore_ascii_case("all") {
        return Some(Condition::Anyone);
    }
    let (address, mask) = match word.split_once('/') {
        Some((address, mask)) => (address, Some(mask)),
        None => (word, None),
    };
    let is_part = |text: &str| text.parse::<u8>().is_ok();
    let parts = address.split('.').count();
    let is_address = address.parse::<IpAddr>().is_ok() || parts < 4 && address.split('.').all(is_part);
    let is_mask = mask.is_none_or(|mask| is_part(mask) || mask.parse::<Ipv4Addr>().is_ok());
    (is_address && is_mask).then(|| Condition::Ip(format!("ip {word}")))
}

/// Both must hold.
pub fn both(one: Condition, other: Condition) -> Condition {
    match (one, other) {
        (Condition::Anyone, only) | (only, Condition::Anyone) => only,
        (Condition::Nobody, _) | (_, Condition::Nobody) => Condition::Nobody,
        (one, other) => Condition::All(vec![one, other]),
    }
}

/// One must hold.
pub fn either(one: Condition, other: Condition) -> Condition {
    match (one, other) {
        (Condition::Nobody, only) | (only, Condition::Nobody) => only,
        (Condition::Anyone, _) | (_, Condition::Anyone) => Condition::Anyone,
        (Condition::Ip(one), Condition::Ip(other)) => Condition::Ip(format!("{one}{}", &other["ip".len()..])),
        (one, other) => Condition::Any(vec![one, other]),
    }
}

/// A negation by itself admits no one.
fn negated(condition: Condition) -> Condition {
    match condition {
        Condition::Anyone => Condition::Nobody,
        Condition::Nobody => Condition::Anyone,
        other => Condition::All(vec![Condition::Anyone, Condition::Not(Box::new(other))]),
    }
}
