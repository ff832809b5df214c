//! Properties on their way in: what is refused, and mergeinfo, whose revisions and paths are others here.

use base::mergeinfo::Source;
use base::{Code, Mergeinfo, RelPath, Result, props};

use crate::load::commits::Told;
use crate::load::renumber::Renumbering;
use crate::load::{Event, Options};
use crate::props_rules;

/// Refuses what clients may not set, with advice.
pub(super) fn validate(name: &str, value: &[u8]) -> Result<()> {
    props_rules::validate(name, Some(value)).map_err(|error| {
        if error.has(Code::IO_INCONSISTENT_EOL) || error.has(Code::BAD_PROPERTY_VALUE_EOL) {
            let advice = "A property with invalid line ending found in dumpstream; consider using --normalize-props while loading.";
            return error.wrap(Code::BAD_PROPERTY_VALUE, advice);
        }
        match error.code() {
            Code::BAD_PROPERTY_VALUE => {
                let advice = "Invalid property value found in dumpstream; consider repairing the source or using --bypass-prop-validation while loading.";
                error.wrap(Code::BAD_PROPERTY_VALUE, advice)
            }
            _ => error,
        }
    })
}

/// The value of a node's property as it is stored here.
///
/// # Errors
/// `MERGEINFO_PARSE_ERROR` for mergeinfo that cannot be read, unless properties are not validated; those of
/// [`validate`].
pub(super) fn translate(
    name: &str,
    value: Vec<u8>,
    options: &Options,
    numbers: &Renumbering,
    told: &mut Told<'_>,
) -> Result<Vec<u8>> {
    let value = match name == props::MERGEINFO {
        true => mergeinfo(value, options, numbers, told)?,
        false => value,
    };
    let value = match options.normalize_props {
        true => props_rules::normalize(name, &value).into_owned(),
        false => value,
    };
    if options.validate_props {
        validate(name, &value)?;
    }
    Ok(value)
}

fn mergeinfo(
    mut value: Vec<u8>,
    options: &Options,
    numbers: &Renumbering,
    told: &mut Told<'_>,
) -> Result<Vec<u8>> {
    if value.contains(&b'\r') {
        value.retain(|byte| *byte != b'\r');
        told.tell(Event::NormalizedMergeinfo)?;
    }
    let parsed = match Mergeinfo::parse(&value) {
        Ok(parsed) => parsed,
        Err(error) if options.validate_props => {
            return Err(error.context("Invalid svn:mergeinfo value"));
        }
        Err(_) => {
            told.tell(Event::Warning(
                BAD_MERGEINFO,
                "Invalid svn:mergeinfo value; leaving unchanged",
            ))?;
            return Ok(value);
        }
    };
    let mut translated = Mergeinfo::new();
    for (source, ranges) in parsed.iter() {
        let ranges = numbers.ranges(ranges);
        if !ranges.is_empty() {
            translated.add(below(source, &options.parent_dir), &ranges);
        }
    }
    Ok(translated.to_string().into_bytes())
}

fn below(source: &Source, parent: &RelPath) -> Source {
    match parent.is_empty() {
        true => source.clone(),
        false => Source::new(&format!("{parent}/{source}")),
    }
}

/// The number of the warning of mergeinfo that cannot be read.
const BAD_MERGEINFO: u16 = 5;
