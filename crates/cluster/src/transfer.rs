//! x
use base::{Cancel, Result, Revnum};
use std::path::Path;
/// x
pub fn import(
    _: &crate::Cluster,
    _: &Path,
    _: &str,
    _: &mut dyn FnMut(Revnum),
    _: &Cancel,
) -> Result<Revnum> {
    Ok(Revnum(0))
}
/// x
pub fn export(
    _: &crate::Cluster,
    _: &str,
    _: &Path,
    _: &mut dyn FnMut(Revnum),
    _: &Cancel,
) -> Result<Revnum> {
    Ok(Revnum(0))
}
