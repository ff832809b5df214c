//! `--config-option FILE:SECTION:OPTION=VALUE`: a value of the configuration on the command line.

use base::{Code, Error, Result};

/// A value of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigOption {
    /// The file.
    pub file: OptionFile,
    /// The name of the file, as typed.
    pub file_name: String,
    /// The section.
    pub section: String,
    /// The option.
    pub option: String,
    /// The value, which may be empty.
    pub value: String,
}

/// The file of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionFile {
    /// `config`.
    Config,
    /// `servers`.
    Servers,
    /// There is no such file. The value has no effect.
    Unknown,
}

/// A name that the configuration does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name.
    pub name: String,
    /// The name that it could have been.
    pub similar: Option<&'static str>,
}

impl ConfigOption {
    /// Parses the argument of `--config-option`.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` unless there are a file, a section and an option, and an equals sign.
    pub fn parse(text: &str) -> Result<ConfigOption> {
        let (file_name, rest) = text.split_once(':').ok_or_else(invalid)?;
        let (section, rest) = rest.split_once(':').ok_or_else(invalid)?;
        let (option, value) = rest.split_once('=').ok_or_else(invalid)?;
        if file_name.is_empty() || section.is_empty() || option.is_empty() {
            return Err(invalid());
        }
        Ok(ConfigOption {
            file: match file_name {
                "config" => OptionFile::Config,
                "servers" => OptionFile::Servers,
                _ => OptionFile::Unknown,
            },
            file_name: file_name.to_owned(),
            section: section.to_owned(),
            option: option.to_owned(),
            value: value.to_owned(),
        })
    }

    /// Checks the name of the option.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` for a colon in it.
    pub fn check(&self) -> Result<()> {
        match self.option.contains(':') {
            true => Err(invalid()),
            false => Ok(()),
        }
    }

    /// Returns the first name that no section or option of any file has, if there is one. Sections with free names have any option.
    pub fn unknown_name(&self) -> Option<UnknownName> {
        let unknown = |name: &str, known| Some(UnknownName::new(name, known));
        if self.file == OptionFile::Unknown {
            unknown(&self.file_name, &FILES)
        } else if !SECTIONS.contains(&self.section.as_str()) {
            unknown(&self.section, &SECTIONS)
        } else if !FREE_SECTIONS.contains(&self.section.as_str()) && !OPTIONS.contains(&self.option.as_str())
        {
            unknown(&self.option, &OPTIONS)
        } else {
            None
        }
    }
}

fn invalid() -> Error {
    let message = "Invalid syntax of argument of --config-option";
    Error::new(Code::CL_ARG_PARSING_ERROR, message)
}

impl UnknownName {
    fn new(name: &str, known: &[&'static str]) -> UnknownName {
        // In thousandths: twice the length of the longest common subsequence, to the sum of both lengths.
        let similarity = |known: &str| 2000 * common_length(name, known) / (name.len() + known.len());
        let mut similar: Option<(usize, &'static str)> = None;
        for &known in known {
            let score = similarity(known);
            if score >= SIMILAR && similar.is_none_or(|(best, _)| score > best) {
                similar = Some((score, known));
            }
        }
        UnknownName {
            name: name.to_owned(),
            similar: similar.map(|(_, name)| name),
        }
    }
}

/// Returns the length of the longest common subsequence of two names.
fn common_length(one: &str, other: &str) -> usize {
    let mut lengths = vec![0; other.len() + 1];
    for byte in one.bytes() {
        let mut diagonal = 0;
        for (at, other) in other.bytes().enumerate() {
            let above = lengths[at + 1];
            lengths[at + 1] = match byte == other {
                true => diagonal + 1,
                false => above.max(lengths[at]),
            };
            diagonal = above;
        }
    }
    lengths[other.len()]
}

/// The least similarity of a name that the user may have meant, in thousandths.
const SIMILAR: usize = 666;
const FILES: [&str; 2] = ["config", "servers"];
const SECTIONS: [&str; 8] = [
    "auth",
    "auto-props",
    "global",
    "groups",
    "helpers",
    "miscellany",
    "tunnels",
    "working-copy",
];
const FREE_SECTIONS: [&str; 3] = ["auto-props", "groups", "tunnels"];
const OPTIONS: [&str; 50] = [
    "http-proxy-host",
    "http-proxy-port",
    "http-proxy-username",
    "http-proxy-password",
    "http-proxy-exceptions",
    "http-timeout",
    "http-compression",
    "neon-debug-mask",
    "http-auth-types",
    "ssl-authority-files",
    "ssl-trust-default-ca",
    "ssl-client-cert-file",
    "ssl-client-cert-password",
    "ssl-pkcs11-provider",
    "http-library",
    "store-passwords",
    "store-plaintext-passwords",
    "store-auth-creds",
    "store-ssl-client-cert-pp",
    "store-ssl-client-cert-pp-plaintext",
    "username",
    "http-bulk-updates",
    "http-max-connections",
    "http-chunked-requests",
    "serf-log-components",
    "serf-log-level",
    "password-stores",
    "kwallet-wallet",
    "kwallet-svn-application-name-with-pid",
    "ssl-client-cert-file-prompt",
    "editor-cmd",
    "diff-cmd",
    "diff-extensions",
    "diff3-cmd",
    "diff3-has-program-arg",
    "merge-tool-cmd",
    "global-ignores",
    "log-encoding",
    "use-commit-times",
    "no-unlock",
    "mime-types-file",
    "preserved-conflict-file-exts",
    "enable-auto-props",
    "enable-magic-file",
    "diff-ignore-content-type",
    "interactive-conflicts",
    "memory-cache-size",
    "exclusive-locking",
    "exclusive-locking-clients",
    "busy-timeout",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_four_parts() {
        let option = ConfigOption::parse("servers:global:x=a:b=c").expect("it is complete");
        assert_eq!((option.option.as_str(), option.value.as_str()), ("x", "a:b=c"));
        let empty = ConfigOption::parse("config:tunnels:x=").expect("a value may be empty");
        assert_eq!((empty.file, empty.value.as_str()), (OptionFile::Config, ""));
        for text in [
            "",
            "x",
            "servers:global:x",
            ":a:b=c",
            "servers::b=c",
            "servers:a:=c",
            "=a:b:c",
        ] {
            let error = ConfigOption::parse(text).expect_err(text);
            assert_eq!(error.code(), Code::CL_ARG_PARSING_ERROR);
        }
    }

    #[test]
    fn unknown_names_are_found_from_the_left() {
        let name = |text: &str| {
            let option = ConfigOption::parse(text).expect("it is complete");
            option.unknown_name().map(|unknown| unknown.name)
        };
        assert_eq!(name("foo:global:x=1").as_deref(), Some("foo"));
        assert_eq!(name("servers:foo:x=1").as_deref(), Some("foo"));
        assert_eq!(name("servers:global:x=1").as_deref(), Some("x"));
        assert_eq!(name("servers:groups:x=1"), None);
        assert_eq!(name("config:auto-props:*.c=x"), None);
        assert_eq!(name("config:auth:http-timeout=1"), None);
    }

    /// As `svn` 1.14.2 suggests them.
    #[test]
    fn similar_names_are_suggested() {
        for (name, similar) in [
            ("user", Some("username")),
            ("use", None),
            ("http-pro", Some("http-proxy-host")),
            ("http-p", None),
            ("store-p", None),
            ("store-ssl", Some("store-passwords")),
            ("diff-e", Some("diff-cmd")),
            ("emanresu", None),
        ] {
            assert_eq!(UnknownName::new(name, &OPTIONS).similar, similar, "{name}");
        }
        assert_eq!(UnknownName::new("co", &FILES).similar, None);
        assert_eq!(UnknownName::new("con", &FILES).similar, Some("config"));
    }
}
