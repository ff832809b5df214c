//! Writes the properties of revisions of a mirror.

use base::{Props, Result, Revnum};
use ra::{RevpropChange, Session};

use super::bookkeeping;
use super::normalize::RevisionProps;

/// Which properties are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// All.
    All,
    /// Those with other values.
    Changed,
}

/// Sets the properties of a revision that are in `wanted`, and deletes the others, except for those of a mirror.
///
/// # Errors
/// Those of changing a property.
pub fn write(
    session: &mut dyn Session,
    rev: Revnum,
    wanted: &RevisionProps,
    existing: &Props,
    mode: WriteMode,
) -> Result<()> {
    for (name, value) in &wanted.props {
        if mode == WriteMode::All || existing.get(name) != Some(value) {
            change(session, rev, name, Some(value))?;
        }
    }
    delete_others(session, rev, wanted, existing)
}

/// Deletes the properties that are not in `wanted`, except for those of a mirror.
///
/// # Errors
/// Those of changing a property.
pub fn delete_others(
    session: &mut dyn Session,
    rev: Revnum,
    wanted: &RevisionProps,
    existing: &Props,
) -> Result<()> {
    for name in existing.keys() {
        if !wanted.props.contains_key(name) && !name.starts_with(bookkeeping::PREFIX) {
            change(session, rev, name, None)?;
        }
    }
    Ok(())
}

/// Sets or deletes a property.
///
/// # Errors
/// Those of changing a property.
pub fn change(session: &mut dyn Session, rev: Revnum, name: &str, value: Option<&[u8]>) -> Result<()> {
    session.change_revprop(&RevpropChange {
        rev,
        name,
        value,
        expected: None,
    })
}
