//! Where the configuration of Cyrus SASL is.

use std::env;
use std::path::PathBuf;

/// Returns the directories that `SASL_CONF_PATH` names, or else those of the system.
pub(crate) fn sasl_folders() -> Vec<PathBuf> {
    match env::var_os("SASL_CONF_PATH").filter(|value| !value.is_empty()) {
        Some(value) => env::split_paths(&value).collect(),
        None => server::Options::default().sasl_folders,
    }
}
