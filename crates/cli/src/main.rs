//! Placeholder while the house is laid.
fn main() {}
