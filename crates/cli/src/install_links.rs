//! `sven install-links DIR`: links in DIR that start this program under the names of its tools.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use base::{Code, Error, Result};

use crate::out::Out;

/// Makes the links. A link that points to this program already is skipped; any other file of that name is an error.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR` for a wrong number of operands, `errno` where a link cannot be made.
pub fn run(out: &mut Out, argv: &[OsString]) -> Result<()> {
    let [dir] = argv else {
        return Err(Error::new(
            Code::CL_ARG_PARSING_ERROR,
            "install-links takes exactly one directory",
        ));
    };
    let program = env::current_exe().map_err(|e| Error::os(&e, "Can't find this program's own file"))?;
    for name in crate::tool_names() {
        let link = Path::new(dir).join(name);
        match symlink(&program, &link) {
            Ok(()) => out.line(&format!("{} -> {}", link.display(), program.display()))?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let same = fs::canonicalize(&link).ok() == fs::canonicalize(&program).ok();
                if !same {
                    return Err(Error::io("Can't create symbolic link", &link, &e));
                }
            }
            Err(e) => return Err(Error::io("Can't create symbolic link", &link, &e)),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    fs::hard_link(target, link)
}
