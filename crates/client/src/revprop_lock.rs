//! A lock on a repository that is a property of revision 0, as `svnsync` and `svnrdump load` take it.
//!
//! The value names the owner; Subversion's programs only compare and show it. A lock whose owner is known to be dead is taken over
//! after a pause, in which requests that the dead process had sent come to their end. Where the server can change a
//! property only if it has an expected value, two processes cannot both take the lock.

use std::time::Duration;

use base::{Cancel, Code, Error, Result, Revnum};
use ra::{Capability, RevpropChange, Session};

/// How a lock is taken.
pub struct LockRequest<'a> {
    /// The property.
    pub name: &'a str,
    /// The value: it names this process.
    pub owner: &'a str,
    /// Returns true for the value of a process that is certainly dead.
    pub is_dead: &'a dyn Fn(&str) -> bool,
    /// Take the lock from its owner.
    pub steal: bool,
    /// Ends the waits.
    pub cancel: &'a Cancel,
}

/// An event while a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockEvent<'a> {
    /// The owner of the lock, who has it still.
    Held(&'a str),
    /// The owner from whom the lock was taken by request.
    Stolen(&'a str),
}

/// A lock that was taken. It must be released: a drop does not do that.
#[derive(Debug)]
#[must_use]
pub struct RevpropLock {
    name: String,
    owner: String,
}

/// Takes the lock. Tries ten times, once a second.
///
/// # Errors
/// `errno` 22 if another process has it; those of changing a property; `CANCELLED`.
pub fn take(
    session: &mut dyn Session,
    request: &LockRequest<'_>,
    event: &mut dyn FnMut(LockEvent<'_>) -> Result<()>,
) -> Result<RevpropLock> {
    let is_atomic = session.has(Capability::AtomicRevprops)?;
    let lock = || RevpropLock {
        name: request.name.to_owned(),
        owner: request.owner.to_owned(),
    };
    let mut dead: Option<Vec<u8>> = None;
    for _ in 0..ATTEMPTS {
        request.cancel.check()?;
        let current = session.revprop(Revnum::ZERO, request.name)?;
        if let Some(value) = &current {
            let shown = base::shown_bytes(value);
            if shown == request.owner {
                return Ok(lock());
            }
            let is_dead = is_atomic && (request.is_dead)(&shown);
            if is_dead && !request.steal && dead.as_ref() != Some(value) {
                dead = Some(value.clone());
                wait(request.cancel)?;
                continue;
            }
            if !request.steal && !is_dead {
                event(LockEvent::Held(&shown))?;
                wait(request.cancel)?;
                continue;
            }
            if request.steal {
                event(LockEvent::Stolen(&shown))?;
            }
        }
        match set(session, request, current.as_deref(), is_atomic) {
            // Others may have set it at the same time, unless the server prevents that.
            Ok(()) if is_atomic => return Ok(lock()),
            Ok(()) => {}
            Err(error) if error.has(Code::FS_PROP_BASEVALUE_MISMATCH) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(
        Code(22),
        format!("Couldn't get lock on destination repos after {ATTEMPTS} attempts"),
    ))
}

fn set(
    session: &mut dyn Session,
    request: &LockRequest<'_>,
    current: Option<&[u8]>,
    is_atomic: bool,
) -> Result<()> {
    session.change_revprop(&RevpropChange {
        rev: Revnum::ZERO,
        name: request.name,
        value: Some(request.owner.as_bytes()),
        expected: is_atomic.then_some(current),
    })
}

fn wait(cancel: &Cancel) -> Result<()> {
    cancel.wait(PAUSE);
    cancel.check()
}

impl RevpropLock {
    /// Releases the lock.
    ///
    /// # Errors
    /// Those of changing a property; `FS_PROP_BASEVALUE_MISMATCH` if another process has taken it.
    pub fn release(self, session: &mut dyn Session) -> Result<()> {
        let owner = self.owner.as_bytes();
        let expected = session.has(Capability::AtomicRevprops)?.then_some(Some(owner));
        session.change_revprop(&RevpropChange {
            rev: Revnum::ZERO,
            name: &self.name,
            value: None,
            expected,
        })
    }
}

/// How often the lock is tried.
const ATTEMPTS: u32 = 10;

/// The time between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
