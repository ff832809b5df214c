//! Reading streams.
/// Takes a stream apart.
pub struct Reader;
