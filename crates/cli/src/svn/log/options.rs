//! The options of `svn log` that have rules of their own: the limit, and the revision properties.

use base::{Code, Error, Result, props};
use ra::LogRevprops;

use crate::svn::options::parse_int;

/// Which revision properties are printed.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RevpropNames {
    /// read all revision properties; 'svn log' needs '--xml' for it
    #[arg(long)]
    with_all_revprops: bool,
    /// read no revision properties; 'svn log' needs '--xml' for it
    #[arg(long)]
    with_no_revprops: bool,
    /// read the revision property ARG; 'svn log' needs '--xml' for it. May be repeated
    #[arg(long, value_parser = property)]
    with_revprop: Vec<RevpropArg>,
}

/// The argument of `--with-revprop`.
#[derive(Clone, Debug)]
struct RevpropArg {
    name: String,
    /// It has a value, as for the commands that set properties.
    has_value: bool,
}

impl RevpropNames {
    /// Checks that there are none of the options without `--xml`.
    pub fn check_mode(&self, is_xml: bool) -> Result<()> {
        let given = [
            (self.with_all_revprops, "with-all-revprops"),
            (self.with_no_revprops, "with-no-revprops"),
            (!self.with_revprop.is_empty(), "with-revprop"),
        ];
        match given.iter().find(|(is_given, _)| *is_given && !is_xml) {
            None => Ok(()),
            Some((_, name)) => {
                let message = format!("'{name}' option only valid in XML mode");
                Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
            }
        }
    }

    /// Checks that no name has a value.
    pub fn check_names(&self) -> Result<()> {
        if self.with_all_revprops || !self.with_revprop.iter().any(|arg| arg.has_value) {
            return Ok(());
        }
        let message = "cannot assign with 'with-revprop' option (drop the '=')";
        Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
    }

    /// Returns the properties to read; without options those that are shown.
    pub fn wanted(&self, quiet: bool) -> LogRevprops {
        if self.with_all_revprops {
            return LogRevprops::All;
        }
        if self.with_no_revprops {
            return LogRevprops::Names(Vec::new());
        }
        let mut names: Vec<String> = self.with_revprop.iter().map(|arg| arg.name.clone()).collect();
        if names.is_empty() {
            names.extend([props::AUTHOR.to_owned(), props::DATE.to_owned()]);
            if !quiet {
                names.push(props::LOG.to_owned());
            }
        }
        LogRevprops::Names(names)
    }
}

fn property(text: &str) -> Result<RevpropArg> {
    if text.is_empty() {
        let message = "Revision property pair is empty";
        return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    }
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let is_first = |letter: char| letter.is_ascii_alphabetic() || ":_".contains(letter);
    let is_next = |letter: char| is_first(letter) || letter.is_ascii_digit() || "-.".contains(letter);
    if !name.starts_with(is_first) || !name.chars().all(is_next) {
        let message = format!("'{name}' is not a valid Subversion property name");
        return Err(Error::new(Code::CLIENT_PROPERTY_NAME, message));
    }
    Ok(RevpropArg {
        name: name.to_owned(),
        has_value: value.is_some_and(|value| !value.is_empty()),
    })
}

/// Parses the argument of `--limit`.
pub fn limit(text: &str) -> Result<u64> {
    let outer = "Non-numeric limit argument given";
    match parse_int(text).map_err(|error| error.wrap(Code::CL_ARG_PARSING_ERROR, outer))? {
        limit if limit > 0 => Ok(u64::from(limit.unsigned_abs())),
        _ => Err(Error::new(
            Code::INCORRECT_PARAMS,
            "Argument to --limit must be positive",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_positive_numbers() {
        for (text, expected) in [("1", 1), (" +3", 3), ("2147483647", 2_147_483_647)] {
            assert_eq!(limit(text).expect("a limit"), expected);
        }
        for text in ["0", "-1", "x", "3 ", "", "2147483648"] {
            assert!(limit(text).is_err(), "{text}");
        }
    }
}
