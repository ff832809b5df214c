//! Placeholder: owned by the helper 'report' (may become a folder with mod.rs).
