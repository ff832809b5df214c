//! Changing revision properties: SKELETON (agreed signatures; the bodies are being written).

use base::{Code, Error, Props, Result, Revnum};

use crate::fs::Fs;

impl Fs {
    /// Sets (or with `None` deletes) one property of a revision and returns the value that it had. With `expected`, the change is
    /// made only if the property has that value now (`Some(None)`: only if it is not set). An unchanged value writes nothing.
    ///
    /// # Errors
    /// `FS_PROP_BASEVALUE_MISMATCH`, `FS_NO_SUCH_REVISION`; what reading the list may say; the system's.
    pub fn change_revprop(
        &self,
        rev: Revnum,
        name: &str,
        expected: Option<Option<&[u8]>>,
        value: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let _ = (rev, name, expected, value);
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }

    /// Replaces the whole property list of a revision (`load`, `load-revprops`). An unchanged list writes nothing.
    ///
    /// # Errors
    /// As [`Fs::change_revprop`].
    pub fn set_revprops(&self, rev: Revnum, props: &Props) -> Result<()> {
        let _ = (rev, props);
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }
}
