//! What happened to properties.
