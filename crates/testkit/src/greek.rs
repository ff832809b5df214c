//! The Greek tree: the sample tree of Subversion's documentation and tests.

use std::path::Path;

/// The files: path and text. [`DIRS`] has the directories.
pub const FILES: [(&str, &str); 12] = [
    ("iota", "This is the file 'iota'.\n"),
    ("A/mu", "This is the file 'mu'.\n"),
    ("A/B/lambda", "This is the file 'lambda'.\n"),
    ("A/B/E/alpha", "This is the file 'alpha'.\n"),
    ("A/B/E/beta", "This is the file 'beta'.\n"),
    ("A/D/gamma", "This is the file 'gamma'.\n"),
    ("A/D/G/pi", "This is the file 'pi'.\n"),
    ("A/D/G/rho", "This is the file 'rho'.\n"),
    ("A/D/G/tau", "This is the file 'tau'.\n"),
    ("A/D/H/chi", "This is the file 'chi'.\n"),
    ("A/D/H/psi", "This is the file 'psi'.\n"),
    ("A/D/H/omega", "This is the file 'omega'.\n"),
];

/// The directories, parents first.
pub const DIRS: [&str; 8] = ["A", "A/B", "A/B/E", "A/B/F", "A/C", "A/D", "A/D/G", "A/D/H"];

/// Writes the tree into a directory of the disk.
pub fn write(into: &Path) {
    for dir in DIRS {
        std::fs::create_dir_all(into.join(dir)).expect("because the test's folder can be written");
    }
    for (path, text) in FILES {
        std::fs::write(into.join(path), text).expect("because the test's folder can be written");
    }
}
