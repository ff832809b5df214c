//! Placeholder.
/// Placeholder.
pub fn main(_rest: &[String]) -> Result<(), String> {
    Ok(())
}
