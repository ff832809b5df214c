//! Revision and pack files of FSX.
//!
//! | module | subject |
//! |---|---|
//! | [`indexes`] | items by revision and number |
//! | [`container`] | decoded containers |

pub(crate) mod container;
pub(crate) mod indexes;

use std::path::Path;

use base::{Code, Error, Result};

use super::Store;
use crate::format::fs_format::BackEnd;

/// Adds the path of the file to the error of a decoder.
pub(crate) fn in_file<T>(result: std::result::Result<T, impl Into<Error>>, path: &Path) -> Result<T> {
    result.map_err(|e| {
        let e: Error = e.into();
        let message = format!("{} (file '{}')", e.message(), path.display());
        Error::new(e.code(), message)
    })
}

impl Store {
    /// Refuses an operation that FSX does not have, before it changes anything.
    ///
    /// # Errors
    /// `UNSUPPORTED_FEATURE` for a filesystem of FSX.
    pub(crate) fn refuse_fsx(&self, operation: &str) -> Result<()> {
        match self.format().back_end {
            BackEnd::Fsfs => Ok(()),
            BackEnd::Fsx => Err(Error::new(
                Code::UNSUPPORTED_FEATURE,
                format!(
                    "Filesystem '{}' is of type fsx, for which this program has no {operation}",
                    self.path().display()
                ),
            )),
        }
    }

    /// Refuses an operation that no Subversion has for FSX. `operation` is as in its message.
    ///
    /// # Errors
    /// `FS_UNRECOGNIZED_IOCTL_CODE` for a filesystem of FSX.
    pub(crate) fn refuse_fsx_ioctl(&self, operation: &str) -> Result<()> {
        match self.format().back_end {
            BackEnd::Fsfs => Ok(()),
            BackEnd::Fsx => {
                let code = Code::FS_UNRECOGNIZED_IOCTL_CODE;
                let cause = Error::new(code, "Unrecognized filesystem I/O control code");
                let repository = self.path().display();
                Err(cause.context(format!(
                    "{operation} is not implemented for the filesystem type found in '{repository}'"
                )))
            }
        }
    }
}
