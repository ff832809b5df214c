//! The environment of hooks.
//!
//! A section is named after a hook and lists its environment variables. A hook without a section of its own, or with
//! an empty one, gets those of `[default]`; the two are never merged. Without a file the environment is empty.

use std::path::Path;

use base::Result;
use base::ini::{Case, Ini};

/// Environments by hook.
#[derive(Debug, Default)]
pub struct HooksEnv {
    sections: Vec<(Vec<u8>, Vec<Variable>)>,
}

/// An environment variable: name and value.
pub type Variable = (Vec<u8>, Vec<u8>);

impl HooksEnv {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The system's number, `MALFORMED_FILE`, `BAD_CONFIG_VALUE`.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_values(&crate::config_file::read_ini(path, Case::Sensitive)?)
    }

    pub(crate) fn from_values(values: &Ini) -> Result<Self> {
        let mut sections = Vec::new();
        for section in values.sections() {
            let mut variables = Vec::new();
            for (name, value) in values.options(section) {
                variables.push((name.to_vec(), value?.into_owned()));
            }
            sections.push((section.to_vec(), variables));
        }
        Ok(HooksEnv { sections })
    }

    /// Returns the environment of the hook `name`, for example `pre-commit`.
    pub fn environment(&self, name: &str) -> &[Variable] {
        let of = |wanted: &[u8]| {
            let found = self.sections.iter().find(|(section, _)| section == wanted);
            found.map_or(&[][..], |(_, variables)| variables)
        };
        match of(name.as_bytes()) {
            [] => of(b"default"),
            own => own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(text: &str) -> String {
        let values = Ini::parse(text.as_bytes(), Case::Sensitive).expect("well-formed");
        let env = HooksEnv::from_values(&values).expect("within bounds");
        let variables = env.environment("pre-revprop-change").iter();
        let shown: Vec<_> = variables
            .map(|(n, v)| format!("{}={}", String::from_utf8_lossy(n), String::from_utf8_lossy(v)))
            .collect();
        shown.join("|")
    }

    /// Each line was tried with a real hook under 1.14.2.
    #[test]
    fn as_hooks_see_it() {
        for (text, expected) in [
            ("", ""),
            ("[default]\nA=b\n", "A=b"),
            ("[DEFAULT]\nA=b\n", ""),
            ("[Default]\nA=b\n", ""),
            ("[default]\nA=b\n[pre-revprop-change]\nC=d\n", "C=d"),
            ("[default]\nA=b\n[pre-revprop-change]\n", "A=b"),
            ("[default]\nA=b\n[Pre-Revprop-Change]\nC=d\n", "A=b"),
            ("[default]\nA=%(B)s\nB=x\n", "A=x|B=x"),
            ("[default]\nA=%(B)s\n[DEFAULT]\nB=x\n", "A=%(B)s"),
            ("[pre-revprop-change]\nA=%(B)s\n[default]\nB=x\n", "A=%(B)s"),
            ("[pre-revprop-change]\nA=%(B)s\n[DEFAULT]\nB=x\n", "A=x"),
            ("[default]\na=1\nA=2\na=3\n", "a=3|A=2"),
            ("[default]\nE=\nA B=1\nC = q r\n  s\n", "E=|A B=1|C=q r s"),
        ] {
            assert_eq!(environment(text), expected, "{text}");
        }
    }
}
