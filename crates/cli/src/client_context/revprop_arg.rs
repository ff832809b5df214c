//! The argument of `--with-revprop`: a revision property, `NAME[=VALUE]`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use base::{Code, Error, Props, Result};
use client::prop_rules;

use base::charset::Charset;

/// A revision property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevpropArg {
    pub name: String,
    pub value: Vec<u8>,
}

/// The value parser of the option.
pub fn parser() -> impl clap::builder::TypedValueParser<Value = RevpropArg> {
    use clap::builder::TypedValueParser as _;
    clap::builder::OsStringValueParser::new().try_map(|word: OsString| parse(&word))
}

/// Parses the argument.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for an empty one, `CLIENT_PROPERTY_NAME` for a malformed name.
pub fn parse(word: &OsStr) -> Result<RevpropArg> {
    let bytes = word.as_bytes();
    if bytes.is_empty() {
        return Err(Error::new(
            Code::CL_ARG_PARSING_ERROR,
            "Revision property pair is empty",
        ));
    }
    let at = bytes.iter().position(|byte| *byte == b'=');
    let name = OsStr::from_bytes(&bytes[..at.unwrap_or(bytes.len())]);
    let name = Charset::of_process().read_word(name)?;
    prop_rules::check_name(&name)?;
    Ok(RevpropArg {
        name: name.into_owned(),
        value: at.map_or(Vec::new(), |at| bytes[at + 1..].to_vec()),
    })
}

/// Returns the properties; the last of equal names counts.
///
/// # Errors
/// `CLIENT_PROPERTY_NAME` for a property of Subversion's own.
pub fn to_props(args: &[RevpropArg]) -> Result<Props> {
    if args.iter().any(|arg| arg.name.starts_with("svn:")) {
        let message = "Standard properties can't be set explicitly as revision properties";
        return Err(Error::new(Code::CLIENT_PROPERTY_NAME, message));
    }
    Ok(args
        .iter()
        .map(|arg| (arg.name.clone(), arg.value.clone()))
        .collect())
}
