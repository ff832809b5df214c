//! The output of `--version`.
//!
//! Scripts read the number to learn which options a tool has. Therefore a tool prints the version of Subversion whose
//! behaviour it has, followed by its own version.

/// The version of Subversion that the tools are compatible with.
pub const COMPATIBLE: &str = "1.14.2";

/// [`COMPATIBLE`] as numbers: major, minor, patch.
pub const COMPATIBLE_NUMBERS: (u32, u32, u32) = (1, 14, 2);

/// Returns the output of `TOOL --version`; the number alone if `quiet`.
pub fn text(tool: &str, quiet: bool) -> String {
    let ours = env!("CARGO_PKG_VERSION");
    match (tool, quiet) {
        ("sven", true) => format!("{ours}\n"),
        (_, true) => format!("{COMPATIBLE}\n"),
        ("sven", false) => format!("sven, version {ours} (compatible with Subversion {COMPATIBLE})\n"),
        (tool, false) => format!(
            "{tool}, version {COMPATIBLE} (Sven {ours})\n\n\
             Sven is free software under the Apache License, version 2.0.\n\n\
             The following repository back-end (FS) modules are available:\n\n\
             * fs_fs : Module for working with a plain file (FSFS) repository.\n\n"
        ),
    }
}
