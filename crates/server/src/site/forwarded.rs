//! The user of a request that another machine of the cluster has authorized and passed on.
//!
//! The header line has three parts, with spaces between: the user, the user's groups, and the seal over both, method and target.
//! Names are encoded as in URLs; `-` is an anonymous user, or no groups.

use base::Result;
use repos::SharedNodes;
use wire::dav::uri;

use super::RequestContext;
use crate::auth::User;
use crate::http::Request;

/// The name of the header line.
pub(crate) const FORWARDED: &str = "x-sven-forwarded";

/// The user whom another machine has authenticated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ForwardedUser {
    /// `None` is anonymous.
    user: Option<User>,
}

impl ForwardedUser {
    /// Returns the user of a request that was authorized here.
    pub(crate) fn of(context: &RequestContext<'_>) -> ForwardedUser {
        let user = context.user.clone().map(|name| User {
            name,
            groups: context.groups.clone(),
        });
        ForwardedUser { user }
    }

    /// Returns the header line for a request.
    ///
    /// # Errors
    /// Those of the shared storage.
    pub(crate) fn seal(&self, nodes: &dyn SharedNodes, request: &Request) -> Result<String> {
        let text = self.text();
        let seal = nodes.seal(&message(&text, request))?;
        Ok(format!("{text} {seal}"))
    }

    /// Returns the parts of the header line that name the user and the groups.
    fn text(&self) -> String {
        let Some(user) = &self.user else {
            return "- -".to_owned();
        };
        let groups: Vec<String> = user.groups.iter().map(|group| encoded(group)).collect();
        let groups = if groups.is_empty() {
            "-".to_owned()
        } else {
            groups.join(",")
        };
        format!("{} {groups}", encoded(&user.name))
    }

    /// Returns the user of a request that another machine has passed on; `None` if it has not, or the seal is not valid.
    ///
    /// # Errors
    /// Those of the shared storage.
    pub(crate) fn of_request(nodes: &dyn SharedNodes, request: &Request) -> Result<Option<ForwardedUser>> {
        let Some((text, seal)) = request.header(FORWARDED).and_then(|line| line.rsplit_once(' ')) else {
            return Ok(None);
        };
        if !nodes.is_sealed(&message(text, request), seal)? {
            return Ok(None);
        }
        Ok(parse(text))
    }

    /// The user; `None` is anonymous.
    pub(crate) fn into_user(self) -> Option<User> {
        self.user
    }
}

fn message(text: &str, request: &Request) -> Vec<u8> {
    let query = request.query.as_deref().unwrap_or_default();
    format!("{}\n{}\n{query}\n{text}", request.method, request.path).into_bytes()
}

fn parse(text: &str) -> Option<ForwardedUser> {
    let (name, groups) = text.split_once(' ')?;
    if name == "-" {
        return Some(ForwardedUser { user: None });
    }
    let groups: Vec<String> = match groups {
        "-" => Vec::new(),
        groups => groups.split(',').map(decode).collect::<Option<_>>()?,
    };
    Some(ForwardedUser {
        user: Some(User {
            name: decode(name)?,
            groups: groups.into(),
        }),
    })
}

/// Encodes a name so that it has no space, no comma, and is not `-`: the first letter tells the name `-` from none.
fn encoded(name: &str) -> String {
    let mut out = "=".to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn decode(text: &str) -> Option<String> {
    uri::decode(text.strip_prefix('=')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_groups_are_encoded() {
        for (name, groups) in [
            ("jane", vec![]),
            ("-", vec!["-".to_owned()]),
            ("j o,e%=ü", vec![String::new(), "a,b".to_owned(), "c".to_owned()]),
        ] {
            let user = User {
                name: name.to_owned(),
                groups: groups.into(),
            };
            let forwarded = ForwardedUser { user: Some(user) };
            let text = forwarded.text();
            assert!(text.is_ascii() && text.split(' ').count() == 2, "{text}");
            assert_eq!(parse(&text), Some(forwarded));
        }
        let anonymous = ForwardedUser { user: None };
        assert_eq!(parse(&anonymous.text()), Some(anonymous));
        for damaged in ["", "jane -", "=jane", "=ja%2 -", "=jane b", "=jane ,"] {
            assert_eq!(parse(damaged), None, "{damaged}");
        }
    }
}
