//! Placeholder: owned by the helper 'query' (may become a folder with mod.rs).
