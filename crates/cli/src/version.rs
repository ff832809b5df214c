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
        // These open no repository.
        ("svndumpfilter" | "svnversion", false) => format!(
            "{tool}, version {COMPATIBLE} (Sven {ours})\n\n\
             Sven is free software under the Apache License, version 2.0.\n\n"
        ),
        (tool, false) => format!(
            "{tool}, version {COMPATIBLE} (Sven {ours})\n\n\
             Sven is free software under the Apache License, version 2.0.\n\n\
             The following repository back-end (FS) modules are available:\n\n\
             * fs_fs : Module for working with a plain file (FSFS) repository.\n\n"
        ),
    }
}

/// Returns the output of `TOOL --version` of a client program: the version, and how it accesses repositories. `verbose` adds the system.
pub fn of_client(tool: &str, quiet: bool, verbose: bool) -> String {
    if quiet {
        return format!("{COMPATIBLE}\n");
    }
    let ours = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "{tool}, version {COMPATIBLE} (Sven {ours})\n\n\
         Sven is free software under the Apache License, version 2.0.\n\n\
         The following repository access (RA) modules are available:\n\n\
         * ra_svn : Module for accessing a repository using the svn network protocol.\n\
         \u{20} - handles 'svn' scheme\n\
         * ra_local : Module for accessing a repository on local disk.\n\
         \u{20} - handles 'file' scheme\n\
         * ra_serf : Module for accessing a repository via WebDAV protocol.\n\
         \u{20} - handles 'http' scheme\n\
         \u{20} - handles 'https' scheme\n\n"
    );
    if let Some(home) = std::env::var_os("HOME").filter(|_| tool == "svn") {
        let area = std::path::Path::new(&home).join(".subversion");
        text.push_str(&format!(
            "The following authentication credential caches are available:\n\n\
             * Plaintext cache in {}\n\n",
            area.display()
        ));
    }
    if verbose {
        let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
        text.push_str(&format!(
            "System information:\n\n* running on {machine}-{system}\n\n"
        ));
    }
    text
}
