//! `require`: the condition for any access to a location, as Apache's `Require` lines.
//!
//! Conditions are joined by `and`, `or` and `not`, with brackets: `group dev or (user bob and not ip 10.0.0.0/8)`. As in Apache, a
//! condition about users is undecided before a login, and so the whole may be: then the client must authenticate.

use std::net::IpAddr;
use std::str::FromStr;

/// A condition on the user and the address of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Require {
    /// `anyone`
    Anyone,
    /// `nobody`
    Nobody,
    /// `valid-user`
    ValidUser,
    /// `user NAME…`
    User(Vec<String>),
    /// `group NAME…`, of a group file or a directory.
    Group(Vec<String>),
    /// `ip NETWORK…`
    Ip(Vec<Network>),
    /// `not …`
    Not(Box<Require>),
    /// `… and …`
    All(Vec<Require>),
    /// `… or …`
    Any(Vec<Require>),
}

/// A range of addresses with the same first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

/// The result of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequireVerdict {
    Granted,
    Denied,
    /// It depends on the user, and the request has no authenticated user.
    NeedsUser,
    /// A negated condition that does not deny: it grants nothing by itself.
    Neutral,
}

/// A user who has logged in.
#[derive(Clone, Copy)]
pub(crate) struct LoggedIn<'a> {
    pub(crate) name: &'a str,
    /// Returns whether the user is in a group.
    pub(crate) is_in: &'a dyn Fn(&str) -> bool,
}

impl Require {
    /// Evaluates the condition for a request from `address`, of `user` once that is known.
    pub(crate) fn judge(&self, address: IpAddr, user: Option<LoggedIn<'_>>) -> RequireVerdict {
        let granted = |yes: bool| match yes {
            true => RequireVerdict::Granted,
            false => RequireVerdict::Denied,
        };
        match (self, user) {
            (Require::Anyone, _) => RequireVerdict::Granted,
            (Require::Nobody, _) => RequireVerdict::Denied,
            (Require::Ip(networks), _) => granted(networks.iter().any(|network| network.holds(address))),
            (Require::ValidUser | Require::User(_) | Require::Group(_), None) => RequireVerdict::NeedsUser,
            (Require::ValidUser, Some(_)) => RequireVerdict::Granted,
            (Require::User(names), Some(user)) => granted(names.iter().any(|name| name == user.name)),
            (Require::Group(names), Some(user)) => granted(names.iter().any(|name| (user.is_in)(name))),
            (Require::Not(inner), user) => match inner.judge(address, user) {
                RequireVerdict::Granted => RequireVerdict::Denied,
                RequireVerdict::Denied | RequireVerdict::NeedsUser | RequireVerdict::Neutral => {
                    RequireVerdict::Neutral
                }
            },
            (Require::All(parts), user) => {
                let mut all = RequireVerdict::Neutral;
                for part in parts {
                    match (part.judge(address, user), all) {
                        (RequireVerdict::Denied, _) => return RequireVerdict::Denied,
                        (RequireVerdict::NeedsUser, _) => all = RequireVerdict::NeedsUser,
                        (found, RequireVerdict::Neutral) => all = found,
                        _ => {}
                    }
                }
                all
            }
            (Require::Any(parts), user) => {
                let mut any = RequireVerdict::Neutral;
                for part in parts {
                    match (part.judge(address, user), any) {
                        (RequireVerdict::Granted, _) => return RequireVerdict::Granted,
                        (RequireVerdict::NeedsUser, _) => any = RequireVerdict::NeedsUser,
                        (found, RequireVerdict::Neutral) => any = found,
                        _ => {}
                    }
                }
                any
            }
        }
    }

    /// Returns whether it can grant a request, and not only deny.
    fn can_grant(&self) -> bool {
        match self {
            Require::Not(_) => false,
            Require::All(parts) | Require::Any(parts) => parts.iter().any(Require::can_grant),
            _ => true,
        }
    }

    /// Returns whether it names a group.
    pub fn names_groups(&self) -> bool {
        match self {
            Require::Group(_) => true,
            Require::Not(inner) => inner.names_groups(),
            Require::All(parts) | Require::Any(parts) => parts.iter().any(Require::names_groups),
            Require::Anyone | Require::Nobody | Require::ValidUser | Require::User(_) | Require::Ip(_) => {
                false
            }
        }
    }

    /// Returns whether it depends on the user.
    pub fn names_users(&self) -> bool {
        match self {
            Require::ValidUser | Require::User(_) | Require::Group(_) => true,
            Require::Not(inner) => inner.names_users(),
            Require::All(parts) | Require::Any(parts) => parts.iter().any(Require::names_users),
            Require::Anyone | Require::Nobody | Require::Ip(_) => false,
        }
    }
}

impl Network {
    fn holds(&self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, length: u32| {
            let rest = length.saturating_sub(self.bits);
            // Rust does not define a shift by all bits.
            a.checked_shr(rest).unwrap_or(0) == b.checked_shr(rest).unwrap_or(0)
        };
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    /// `10.1.2.3`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `10.1` (the beginning of an address), `2001:db8::/32`.
    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || format!("'{text}' is no address such as 10.1.2.3 and no network such as 10.0.0.0/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        if bits.is_none() && !address.contains(':') && address.parse::<IpAddr>().is_err() {
            let parts: Vec<&str> = address.trim_end_matches('.').split('.').collect();
            let mut whole = parts.iter().map(|part| part.parse::<u8>());
            if parts.len() > 4 || whole.any(|part| part.is_err()) {
                return Err(wrong());
            }
            let padded = [&parts[..], &["0"; 4][parts.len()..]].concat().join(".");
            return Ok(Network {
                address: padded.parse().map_err(|_| wrong())?,
                bits: parts.len() as u32 * 8,
            });
        }
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => longest,
            Some(mask) if address.is_ipv4() && mask.contains('.') => {
                let mask: std::net::Ipv4Addr = mask.parse().map_err(|_| wrong())?;
                let ones = mask.to_bits().leading_ones();
                if mask.to_bits().count_ones() != ones {
                    return Err(wrong());
                }
                ones
            }
            Some(bits) => bits.parse().map_err(|_| wrong())?,
        };
        match bits <= longest {
            true => Ok(Network { address, bits }),
            false => Err(wrong()),
        }
    }
}

impl FromStr for Require {
    type Err = String;

    fn from_str(text: &str) -> Result<Require, String> {
        let mut parser = Parser {
            words: words(text)?,
            at: 0,
        };
        let all = parser.any(0)?;
        match parser.peek() {
            None if !all.can_grant() => {
                Err("it only forbids: join it with 'valid-user and' or 'anyone and'".to_owned())
            }
            None => Ok(all),
            Some(word) => Err(format!("'{}' is out of place", word.text)),
        }
    }
}

/// The highest nesting depth of brackets and negations.
const MAX_DEPTH: usize = 16;

/// The names of conditions, for messages.
const KINDS: &str = "anyone, nobody, valid-user, user, group and ip";

#[derive(Debug)]
struct Word {
    text: String,
    /// The word was in quotes, so it is a name.
    quoted: bool,
}

impl Word {
    fn is(&self, text: &str) -> bool {
        !self.quoted && self.text == text
    }

    fn is_mark(&self) -> bool {
        ["and", "or", "not", "(", ")"].iter().any(|mark| self.is(mark))
    }
}

fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, quoted, after) = match first {
            '(' | ')' => (&rest[..1], false, &rest[1..]),
            quote @ ('"' | '\'') => {
                let end = rest[1..].find(quote).ok_or("a quote has no end")?;
                (&rest[1..=end], true, &rest[end + 2..])
            }
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')');
                let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
                (word, false, after)
            }
        };
        words.push(Word {
            text: word.to_owned(),
            quoted,
        });
        rest = after.trim_start();
    }
    Ok(words)
}

struct Parser {
    words: Vec<Word>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.at)
    }

    fn take(&mut self, mark: &str) -> bool {
        let is_there = self.peek().is_some_and(|word| word.is(mark));
        self.at += usize::from(is_there);
        is_there
    }

    fn any(&mut self, depth: usize) -> Result<Require, String> {
        let mut parts = vec![self.all(depth)?];
        while self.take("or") {
            parts.push(self.all(depth)?);
        }
        Ok(joined(parts, Require::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Require, String> {
        let mut parts = vec![self.one(depth)?];
        while self.take("and") {
            parts.push(self.one(depth)?);
        }
        Ok(joined(parts, Require::All))
    }

    fn one(&mut self, depth: usize) -> Result<Require, String> {
        if depth > MAX_DEPTH {
            return Err("there are too many brackets within each other".to_owned());
        }
        if self.take("not") {
            return Ok(Require::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.take("(") {
            let inner = self.any(depth + 1)?;
            return match self.take(")") {
                true => Ok(inner),
                false => Err("a bracket is not closed".to_owned()),
            };
        }
        let kind = match self.peek() {
            Some(word) if !word.quoted => word.text.clone(),
            Some(word) => return Err(format!("'{}' is a name; there are {KINDS}", word.text)),
            None => return Err(format!("a condition is missing: there are {KINDS}")),
        };
        self.at += 1;
        match kind.as_str() {
            "anyone" => Ok(Require::Anyone),
            "nobody" => Ok(Require::Nobody),
            "valid-user" => Ok(Require::ValidUser),
            "user" => Ok(Require::User(self.names("user")?)),
            "group" => Ok(Require::Group(self.names("group")?)),
            "ip" => {
                let networks: Result<Vec<Network>, String> =
                    self.names("ip")?.iter().map(|name| name.parse()).collect();
                Ok(Require::Ip(networks?))
            }
            _ => Err(format!("'{kind}' is no condition: there are {KINDS}")),
        }
    }

    fn names(&mut self, kind: &str) -> Result<Vec<String>, String> {
        let rest = self.words[self.at..].iter();
        let names: Vec<String> = rest
            .take_while(|word| !word.is_mark())
            .map(|word| word.text.clone())
            .collect();
        self.at += names.len();
        match names.is_empty() {
            true => Err(format!("'{kind}' needs a name behind it")),
            false => Ok(names),
        }
    }
}

fn joined(mut parts: Vec<Require>, kind: impl Fn(Vec<Require>) -> Require) -> Require {
    match parts.len() {
        1 => parts.remove(0),
        _ => kind(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(text: &str, address: &str, user: Option<&str>) -> RequireVerdict {
        let require: Require = text.parse().expect(text);
        let is_in = |group: &str| match user {
            Some("alice") => group == "dev",
            _ => group == "ops",
        };
        let address = address.parse().expect("an address");
        require.judge(address, user.map(|name| LoggedIn { name, is_in: &is_in }))
    }

    #[test]
    fn conditions_are_judged_as_apache_judges_them() {
        use RequireVerdict::{Denied, Granted, NeedsUser};
        for (text, before, alice, bob) in [
            ("anyone", Granted, Granted, Granted),
            ("nobody", Denied, Denied, Denied),
            ("valid-user", NeedsUser, Granted, Granted),
            ("user alice carol", NeedsUser, Granted, Denied),
            ("user \"or\" or group dev", NeedsUser, Granted, Denied),
            ("ip 10.0.0.0/8", Granted, Granted, Granted),
            ("ip 11.0.0.0/8 ::1", Denied, Denied, Denied),
            ("user bob and ip 11", Denied, Denied, Denied),
            ("user bob and ip 10", NeedsUser, Denied, Granted),
            ("ip 11 or user bob", NeedsUser, Denied, Granted),
            ("ip 10 or user bob", Granted, Granted, Granted),
            ("valid-user and not user bob", NeedsUser, Granted, Denied),
            ("anyone and not user bob", Granted, Granted, Denied),
            (
                "not (user bob or group dev) and valid-user",
                NeedsUser,
                Denied,
                Denied,
            ),
            ("group dev or user bob and ip 11", NeedsUser, Granted, Denied),
            ("(group dev or user bob) and ip 11", Denied, Denied, Denied),
        ] {
            let all = [None, Some("alice"), Some("bob")].map(|user| judge(text, "10.1.2.3", user));
            assert_eq!(all, [before, alice, bob], "{text}");
        }
    }

    #[test]
    fn networks_contain_their_addresses() {
        for (text, yes, no) in [
            ("10.1.2.3", "10.1.2.3", "10.1.2.4"),
            ("10.1", "10.1.255.1", "10.2.0.0"),
            ("10.1.", "::ffff:10.1.0.1", "10.2.0.0"),
            ("10.0.0.0/255.128.0.0", "10.127.0.1", "10.128.0.0"),
            ("0.0.0.0/0", "1.2.3.4", "::1"),
            ("2001:db8::/32", "2001:db8:1::", "2001:db9::"),
            ("::/0", "::1", "1.2.3.4"),
        ] {
            let network: Network = text.parse().expect(text);
            assert!(network.holds(yes.parse().expect("an address")), "{text}");
            assert!(!network.holds(no.parse().expect("an address")), "{text}");
        }
        for bad in [
            "",
            "x",
            "10.0.0.0/33",
            "10.0.0.0/x",
            "10.0.0.0/255.0.255.0",
            "::/129",
            "1.2.3.4.5",
            "256",
        ] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    #[test]
    fn malformed_conditions_are_refused() {
        let deep = format!("{}anyone{}", "(".repeat(50), ")".repeat(50));
        for bad in [
            "",
            "or",
            "user",
            "user and",
            "anyone anyone",
            "(anyone",
            "anyone)",
            "users x",
            "'anyone'",
            "ip x",
            "user \"x",
            "not",
            "anyone or",
            "not user x",
            "not user x and not (not ip 10)",
            &deep,
        ] {
            assert!(bad.parse::<Require>().is_err(), "{bad}");
        }
        assert_eq!(
            "user 'a b' \"c\"".parse(),
            Ok(Require::User(vec!["a b".into(), "c".into()]))
        );
        assert!(
            "anyone and not group x"
                .parse::<Require>()
                .is_ok_and(|r| r.names_groups() && r.names_users())
        );
    }
}
