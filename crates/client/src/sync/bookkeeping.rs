//! The properties of a mirror's revision 0.

use base::{Code, Error, Props, Result, Revnum, Url, shown_bytes};
use ra::{RevpropChange, Session};

use super::{Connect, invalid, open_mirror};

/// The prefix of all of them. Properties of the source with it are not copied.
pub const PREFIX: &str = "svn:sync-";
/// The URL of the source.
pub const FROM_URL: &str = "svn:sync-from-url";
/// The UUID of the source.
pub const FROM_UUID: &str = "svn:sync-from-uuid";
/// The last revision that is complete.
pub const LAST_MERGED: &str = "svn:sync-last-merged-rev";
/// The revision that is being copied: the last complete one, or the next.
pub const CURRENTLY_COPYING: &str = "svn:sync-currently-copying";
/// The lock.
pub const LOCK: &str = "svn:sync-lock";

/// What a mirror says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorInfo {
    /// The URL of the source.
    pub source_url: String,
    /// The UUID of the source.
    pub source_uuid: Option<String>,
    /// The last revision that is complete, as written.
    pub last_merged: Option<String>,
}

/// Describes a mirror.
///
/// # Errors
/// `BAD_URL` if it is none; `errno` 22 for a URL that is not the root of a repository.
pub fn info(mirror: &Url, connect: &dyn Connect) -> Result<MirrorInfo> {
    let mut session = open_mirror(|url| connect.mirror(url), mirror)?;
    let props = session.revprops(Revnum::ZERO)?;
    let text = |name: &str| props.get(name).map(|value| shown_bytes(value));
    match text(FROM_URL) {
        Some(source_url) => Ok(MirrorInfo {
            source_url,
            source_uuid: text(FROM_UUID),
            last_merged: text(LAST_MERGED),
        }),
        None => Err(Error::new(
            Code::BAD_URL,
            format!("Repository '{mirror}' is not initialized for synchronization"),
        )),
    }
}

/// The properties of a mirror.
pub struct MirrorState {
    /// The URL of the source, as written.
    source_url: String,
    source_uuid: String,
    /// The last revision that is complete.
    pub last_merged: Revnum,
    /// The revision that was being copied when the last run was interrupted.
    pub copying: Option<Revnum>,
}

impl MirrorState {
    /// Reads the properties.
    ///
    /// # Errors
    /// `errno` 22 if the repository is not a mirror.
    pub fn read(session: &mut dyn Session) -> Result<MirrorState> {
        let props = session.revprops(Revnum::ZERO)?;
        let text = |name: &str| props.get(name).map(|value| shown_bytes(value));
        let number = |name: &str| props.get(name).map(|value| revision(value));
        match (text(FROM_URL), text(FROM_UUID), number(LAST_MERGED)) {
            (Some(source_url), Some(source_uuid), Some(last_merged)) => Ok(MirrorState {
                source_url,
                source_uuid,
                last_merged,
                copying: number(CURRENTLY_COPYING),
            }),
            _ => Err(invalid("Destination repository has not been initialized")),
        }
    }

    /// Opens a session with the source, at `url` or where the mirror says.
    ///
    /// # Errors
    /// `RA_UUID_MISMATCH` if another repository is there; those of opening a session.
    pub fn open_source(&self, url: Option<&Url>, connect: &dyn Connect) -> Result<Box<dyn Session>> {
        let session = match url {
            Some(url) => connect.source(url)?,
            None => connect.source(&Url::canonicalize(&self.source_url)?)?,
        };
        match session.uuid() == self.source_uuid {
            true => Ok(session),
            false => Err(Error::new(
                Code::RA_UUID_MISMATCH,
                format!(
                    "Repository UUID '{}' doesn't match expected UUID '{}'",
                    session.uuid(),
                    self.source_uuid
                ),
            )),
        }
    }
}

/// Returns the URL of the source from which a repository is mirrored, if it is a mirror.
pub fn source_url(props: &Props) -> Option<String> {
    props.get(FROM_URL).map(|value| shown_bytes(value))
}

/// Sets a property of revision 0.
pub fn set(session: &mut dyn Session, name: &str, value: &str) -> Result<()> {
    change(session, name, Some(value.as_bytes()))
}

/// Deletes a property of revision 0.
pub fn delete(session: &mut dyn Session, name: &str) -> Result<()> {
    change(session, name, None)
}

fn change(session: &mut dyn Session, name: &str, value: Option<&[u8]>) -> Result<()> {
    session.change_revprop(&RevpropChange {
        rev: Revnum::ZERO,
        name,
        value,
        expected: None,
    })
}

/// Parses a number as C does: what follows the digits is ignored, and without any it is 0.
fn revision(value: &[u8]) -> Revnum {
    let digits = value.trim_ascii_start();
    let digits = digits.strip_prefix(b"+").unwrap_or(digits);
    let number = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0u64, |number, digit| {
            number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
        });
    Revnum(number)
}
