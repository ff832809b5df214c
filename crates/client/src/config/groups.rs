//! The values of `servers` for one host.

use base::{Code, Error, Result, glob, hash_order};

use super::file::{ConfigFile, parse_number};

/// The section that applies to every host.
const GLOBAL: &str = "global";

/// The values of `servers` for one host: the section of its group, then `[global]`.
#[derive(Clone, Debug)]
pub struct ServerConfig<'a> {
    servers: &'a ConfigFile,
    group: Option<String>,
    host: String,
}

/// A value that is yes, no, or decided elsewhere (`auto`, `ask`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tristate {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Neither.
    Unknown,
}

impl<'a> ServerConfig<'a> {
    /// Finds the group of a host: the first in the incumbent's order with a pattern that the host matches. Patterns are globs, and case
    /// matters in them.
    pub(super) fn new(servers: &'a ConfigFile, host: &str) -> ServerConfig<'a> {
        let groups = servers.section("groups").unwrap_or_default();
        let names: Vec<String> = groups.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        let order = hash_order::hash_order(names.iter().map(String::as_bytes));
        let has_host = |patterns: &str| {
            list(patterns)
                .iter()
                .any(|pattern| glob::matches(pattern.as_bytes(), host.as_bytes()))
        };
        let group = order
            .into_iter()
            .map(|at| &groups[at as usize])
            .find(|(_, patterns)| has_host(patterns))
            .map(|(name, _)| name.clone());
        ServerConfig {
            servers,
            group,
            host: host.to_owned(),
        }
    }

    /// Returns the section that has an option: the group's, or the global one.
    fn section_of(&self, option: &str) -> Result<&str> {
        if let Some(group) = &self.group
            && self.servers.text(group, option)?.is_some()
        {
            return Ok(group);
        }
        Ok(GLOBAL)
    }

    /// Returns the value of an option.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for references that expand too far.
    pub fn text(&self, option: &str) -> Result<Option<String>> {
        self.servers.text(self.section_of(option)?, option)
    }

    /// Returns the value of an option that is true or false.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for any other value.
    pub fn flag(&self, option: &str, default: bool) -> Result<bool> {
        self.servers.flag(self.section_of(option)?, option, default)
    }

    /// Returns the value of an option that is true, false or `third`, in any case. An option that is not there is [`Tristate::Unknown`].
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for any other value.
    pub fn tristate(&self, option: &str, third: &str) -> Result<Tristate> {
        match self.text(option)? {
            None => Ok(Tristate::Unknown),
            Some(value) if value.eq_ignore_ascii_case(third) => Ok(Tristate::Unknown),
            Some(_) => Ok(match self.flag(option, false)? {
                true => Tristate::Yes,
                false => Tristate::No,
            }),
        }
    }

    /// Returns the value of an option that is a number within bounds.
    ///
    /// # Errors
    /// `INCORRECT_PARAMS` for any other value.
    pub fn number(&self, option: &str, least: i64, most: i64) -> Result<Option<i64>> {
        match self.text(option)? {
            Some(text) => parse_number(&text, least, most).map(Some),
            None => Ok(None),
        }
    }

    /// Returns these values without those of the group. A wrong value in `[global]` is an error even if the group has another one.
    pub fn without_group(&self) -> ServerConfig<'a> {
        ServerConfig {
            servers: self.servers,
            group: None,
            host: self.host.clone(),
        }
    }

    /// Returns the value of an option about the proxy. `http-proxy-exceptions` of `[global]` are patterns of hosts for which its own proxy does
    /// not count. Case matters in them.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for references that expand too far.
    pub fn proxy_text(&self, option: &str) -> Result<Option<String>> {
        let section = self.section_of(option)?;
        let patterns = match section {
            GLOBAL => self.servers.text(GLOBAL, "http-proxy-exceptions")?,
            _ => None,
        };
        let is_exception = |pattern: &&str| glob::matches(pattern.as_bytes(), self.host.as_bytes());
        match list(&patterns.unwrap_or_default()).iter().any(is_exception) {
            true => Ok(None),
            false => self.servers.text(section, option),
        }
    }

    /// Returns the port of the proxy, 80 by default.
    ///
    /// # Errors
    /// `RA_ILLEGAL_URL`.
    pub fn proxy_port(&self) -> Result<u16> {
        let Some(text) = self.proxy_text("http-proxy-port")? else {
            return Ok(80);
        };
        let wrong = |what: &str| Err(Error::new(Code::RA_ILLEGAL_URL, format!("Invalid URL: {what}")));
        let trimmed = text.trim_ascii_start();
        let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number && !text.is_empty() {
            return wrong("illegal character in proxy port number");
        }
        // Nothing is 0, and -0 is not negative.
        let digits = digits.trim_start_matches('0');
        if trimmed.starts_with('-') && !digits.is_empty() {
            return wrong("negative proxy port number");
        }
        match digits.parse() {
            Ok(port) => Ok(port),
            Err(_) if digits.is_empty() => Ok(0),
            Err(_) => wrong("proxy port number greater than maximum TCP port number 65535"),
        }
    }
}

/// Splits a list at commas. Spaces around its parts and empty parts do not count.
pub fn list(text: &str) -> Vec<&str> {
    text.split(',')
        .map(str::trim_ascii)
        .filter(|part| !part.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_proxies_are_numbers() {
        let port = |text: &str| {
            let mut servers = ConfigFile::default();
            servers.set(GLOBAL, "http-proxy-port", text);
            let port = ServerConfig::new(&servers, "h").proxy_port();
            port.map_err(|error| error.to_string())
        };
        for (text, number) in [
            ("", 0),
            ("8080", 8080),
            ("+5", 5),
            ("-0", 0),
            ("00080", 80),
            ("65535", 65535),
        ] {
            assert_eq!(port(text), Ok(number), "{text}");
        }
        for (text, part) in [
            ("x", "illegal"),
            ("+", "illegal"),
            ("5 ", "illegal"),
            ("-1", "negative"),
            ("65536", "greater"),
            ("99999999999999999999", "greater"),
        ] {
            let message = port(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
