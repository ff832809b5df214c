//! Placeholder: owned by the helper 'authz' (may become a folder with mod.rs).
