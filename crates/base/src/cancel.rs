//! A flag that asks long work to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::error_codes::Code;

/// A shared flag; cheap to clone and to read.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Returns a flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag; raising it again changes nothing.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// # Errors
    /// `CANCELLED` once the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            Err(Error::new(Code::CANCELLED, "Caught signal"))
        } else {
            Ok(())
        }
    }
}
