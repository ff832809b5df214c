//! Addresses to listen on, as people write them: `HOST:PORT`, `HOST`, `:PORT`, `PORT`, `[IPv6]:PORT`, or nothing at all.

use std::fmt;

use base::{Code, Error, Result};
use server::Listener;

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// A name or an address; `None` is every address of both families.
    pub host: Option<String>,
    /// The port; 0 lets the operating system choose one.
    pub port: u16,
}

impl ListenAddress {
    /// Parses `text`; `port` is the default port.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` for an invalid port or host.
    pub fn parse(text: &str, port: u16) -> Result<ListenAddress> {
        let text = text.trim();
        let wrong = |what: String| Error::new(Code::CL_ARG_PARSING_ERROR, what);
        let (host, port) = match text.rsplit_once(':') {
            Some((host, number)) if !host.contains(':') || host.starts_with('[') && host.ends_with(']') => {
                let number = number
                    .parse()
                    .map_err(|_| wrong(format!("Invalid port '{number}'")))?;
                (host, number)
            }
            None if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
                let number = text
                    .parse()
                    .map_err(|_| wrong(format!("Invalid port '{text}'")))?;
                ("", number)
            }
            _ => (text, port),
        };
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(host);
        if bare.contains(['[', ']', '/']) || bare.contains(char::is_whitespace) {
            return Err(wrong(format!("'{text}' is no address such as HOST:PORT")));
        }
        let host = match bare {
            "" | "*" => None,
            host => Some(host.to_owned()),
        };
        Ok(ListenAddress { host, port })
    }

    /// True if only one socket can listen at both. Names of hosts are not resolved.
    pub fn excludes(&self, other: &ListenAddress) -> bool {
        let one_host = match (&self.host, &other.host) {
            (Some(own), Some(other)) => own.eq_ignore_ascii_case(other),
            _ => true,
        };
        self.port == other.port && self.port != 0 && one_host
    }

    /// Opens a listening socket.
    ///
    /// # Errors
    /// If the address cannot be bound; the error names it.
    pub fn bind(&self) -> Result<Listener> {
        let bound = match &self.host {
            None => Listener::everywhere(self.port),
            Some(host) => Listener::bind(Some(host), self.port, host.contains(':')),
        };
        let shown = self.host.as_deref().unwrap_or("every address");
        bound.map_err(|e| e.context(format!("Can't serve on port {} of {shown}", self.port)))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.as_deref() {
            None => write!(f, ":{}", self.port),
            Some(host) if host.contains(':') => write!(f, "[{host}]:{}", self.port),
            Some(host) => write!(f, "{host}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_address_parses() {
        for (text, host, port) in [
            ("", None, 80),
            ("*", None, 80),
            (":8080", None, 8080),
            ("8080", None, 8080),
            ("*:8080", None, 8080),
            ("example.org", Some("example.org"), 80),
            ("127.0.0.1:1", Some("127.0.0.1"), 1),
            ("[::1]:1", Some("::1"), 1),
            ("[::1]", Some("::1"), 80),
            ("::1", Some("::1"), 80),
        ] {
            let host = host.map(str::to_owned);
            let address = ListenAddress { host, port };
            assert_eq!(ListenAddress::parse(text, 80).as_ref(), Ok(&address), "{text}");
            assert_eq!(
                ListenAddress::parse(&address.to_string(), 80),
                Ok(address),
                "{text}"
            );
        }
        for text in [
            "host:http",
            "host:70000",
            "70000",
            "[::1",
            "a b",
            "http://x",
            ":-1",
        ] {
            assert!(ListenAddress::parse(text, 80).is_err(), "{text}");
        }
    }
}
