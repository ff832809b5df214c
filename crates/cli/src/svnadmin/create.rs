//! `svnadmin create`: a new repository.

use std::ffi::OsString;

use base::{Code, Error, Result};
use repos::CreateOptions;

use super::locks::now;
use crate::args::operand::{at_most, misuse};
use crate::local_path;
use crate::out::Out;
use crate::version;

/// Creates an empty repository.
#[derive(clap::Args)]
#[command(override_usage = "create REPOS_PATH")]
pub struct CreateArgs {
    /// accepted, and of no use: it is about Berkeley DB
    #[arg(long)]
    bdb_txn_nosync: bool,
    /// accepted, and of no use: it is about Berkeley DB
    #[arg(long)]
    bdb_log_keep: bool,
    /// accepted, and of no use: nothing in a user's configuration counts here
    #[arg(long)]
    config_dir: Option<OsString>,
    /// the storage engine: 'fsfs', or 'fsx', which is an experiment
    #[arg(long)]
    fs_type: Option<String>,
    /// make a repository that Subversion ARG can use, such as '1.8'; of this option and the next three, the last one counts
    #[arg(long, overrides_with_all = ["pre_1_4", "pre_1_5", "pre_1_6"])]
    compatible_version: Option<String>,
    /// the same as '--compatible-version=1.3'
    #[arg(long = "pre-1.4-compatible", overrides_with_all = ["compatible_version", "pre_1_5", "pre_1_6"])]
    pre_1_4: bool,
    /// the same as '--compatible-version=1.4'
    #[arg(long = "pre-1.5-compatible", overrides_with_all = ["compatible_version", "pre_1_4", "pre_1_6"])]
    pre_1_5: bool,
    /// the same as '--compatible-version=1.5'
    #[arg(long = "pre-1.6-compatible", overrides_with_all = ["compatible_version", "pre_1_4", "pre_1_5"])]
    pre_1_6: bool,
    operands: Vec<OsString>,
}

impl CreateArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 1, out.program(), "Too many arguments")?;
        let compatible = match &self.compatible_version {
            Some(text) => compatible_minor(out.program(), text)?,
            None if self.pre_1_4 => 3,
            None if self.pre_1_5 => 4,
            None if self.pre_1_6 => 5,
            None => version::COMPATIBLE_NUMBERS.1,
        };
        if compatible < 9 && self.fs_type.as_deref() == Some("fsx") {
            let text = "Repositories compatible with 1.8.x or earlier cannot use --fs-type=fsx";
            return Err(misuse(
                out.program(),
                Error::new(Code::CL_ARG_PARSING_ERROR, text),
            ));
        }
        let options = CreateOptions {
            compatible,
            fs_type: self.fs_type.clone(),
        };
        let path = local_path::canonical(self.operands.first().map(OsString::as_os_str).unwrap_or_default());
        repos::create(&path, &options, now())
    }
}

/// Returns the minor number of the release that `--compatible-version` names.
///
/// # Errors
/// `MALFORMED_VERSION_STRING`; `UNSUPPORTED_FEATURE` and `CL_ARG_PARSING_ERROR` for a release for which nothing can be made.
pub fn compatible_minor(program: &str, text: &str) -> Result<u32> {
    let version = parse(text)?;
    let refused = |text: &str| Err(Error::new(Code::UNSUPPORTED_FEATURE, text));
    if version.0 < 1 {
        return refused("Cannot create pre-1.0-compatible repositories");
    }
    let (major, minor, patch) = version::COMPATIBLE_NUMBERS;
    if version > (i64::from(major), i64::from(minor), i64::from(patch)) {
        return refused(&format!(
            "Cannot guarantee compatibility beyond the current running version ({major}.{minor}.{patch})"
        ));
    }
    if version.1 < 1 {
        let text = "Repositories compatible with 1.0.x must use --fs-type=bdb";
        return Err(misuse(program, Error::new(Code::CL_ARG_PARSING_ERROR, text)));
    }
    Ok(u32::try_from(version.1).unwrap_or(minor))
}

/// Parses `major.minor[.patch[-tag]]`.
fn parse(text: &str) -> Result<(i64, i64, i64)> {
    let bad = || {
        Error::new(
            Code::MALFORMED_VERSION_STRING,
            format!("Failed to parse version number string '{text}'"),
        )
    };
    let number = |part: &str| number(part).map_err(|e| e.wrap(bad().code(), bad().message()));
    // Empty parts do not count.
    let parts: Vec<&str> = text.split('.').filter(|part| !part.is_empty()).collect();
    let (major, minor, patch) = match parts[..] {
        [major, minor] => (number(major)?, number(minor)?, 0),
        [major, minor, patch] => {
            let patch = patch.split_once('-').map_or(patch, |(patch, _tag)| patch);
            (number(major)?, number(minor)?, number(patch)?)
        }
        _ => return Err(bad()),
    };
    match major < 0 || minor < 0 || patch < 0 {
        true => Err(bad()),
        false => Ok((major, minor, patch)),
    }
}

/// Parses a number as C does, with spaces and a sign before it.
fn number(text: &str) -> Result<i64> {
    let trimmed = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let wrong = |text: String| Error::new(Code::INCORRECT_PARAMS, text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong(format!("Could not convert '{text}' into a number")));
    }
    trimmed
        .parse::<i64>()
        .ok()
        .filter(|number| i32::try_from(*number).is_ok())
        .ok_or_else(|| {
            wrong(format!(
                "Number '{text}' is out of range '[{}, {}]'",
                i32::MIN,
                i32::MAX
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_numbers_parse() {
        assert_eq!(parse("1.5.2-dev").expect("works"), (1, 5, 2));
        assert_eq!(parse(" 1.+05").expect("works"), (1, 5, 0));
        for bad in ["", "1", "1.x", "1.-1", "1.5-x", "1.2.3.4", "1.999999999999"] {
            assert_eq!(
                parse(bad).expect_err("refused").code(),
                Code::MALFORMED_VERSION_STRING,
                "{bad}"
            );
        }
    }
}
