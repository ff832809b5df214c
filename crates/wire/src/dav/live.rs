//! Properties that a server works out, as opposed to those that a repository stores.

use super::names;

/// A live property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    /// Collection, baseline, or nothing.
    ResourceType,
    /// Bytes of a file.
    ContentLength,
    /// Media type.
    ContentType,
    /// Entity tag.
    Etag,
    /// Date of the last change, as Subversion writes it.
    CreationDate,
    /// The same as HTTP writes it.
    LastModified,
    /// URL of a revision's tree.
    BaselineCollection,
    /// URL of a node's version, or of the youngest revision.
    CheckedIn,
    /// URL of the repository as a version-controlled thing.
    Vcc,
    /// Revision of the last change.
    VersionName,
    /// Author of the last change.
    Creator,
    /// How plain WebDAV programs write.
    AutoVersion,
    /// Path in the repository.
    BaselineRelativePath,
    /// MD5 of a file.
    Md5,
    /// UUID of the repository.
    RepositoryUuid,
    /// Whether there are stored properties.
    DeadpropCount,
    /// SHA-1 of a file.
    Sha1,
    /// Which locks there may be.
    SupportedLock,
    /// Which lock there is.
    LockDiscovery,
}

/// Prefix of `DAV:` on live properties.
pub(super) const DAV_PREFIX: &str = "lp1:";
/// Prefix of Subversion's own.
pub(super) const SVN_DAV_PREFIX: &str = "lp2:";

impl Live {
    /// All, in the order of responses.
    pub const ALL: [Live; 19] = [
        Live::ResourceType,
        Live::ContentLength,
        Live::ContentType,
        Live::Etag,
        Live::CreationDate,
        Live::LastModified,
        Live::BaselineCollection,
        Live::CheckedIn,
        Live::Vcc,
        Live::VersionName,
        Live::Creator,
        Live::AutoVersion,
        Live::BaselineRelativePath,
        Live::Md5,
        Live::RepositoryUuid,
        Live::DeadpropCount,
        Live::Sha1,
        Live::SupportedLock,
        Live::LockDiscovery,
    ];

    /// The property of a name.
    pub fn of(space: &str, local: &str) -> Option<Live> {
        Live::ALL.into_iter().find(|live| live.name() == (space, local))
    }

    /// Namespace and local name.
    pub fn name(self) -> (&'static str, &'static str) {
        let (prefix, local) = self.tag().split_once(':').unwrap_or(("", self.tag()));
        match prefix {
            "lp2" => (names::SVN_DAV, local),
            _ => (names::DAV, local),
        }
    }

    /// Returns the name as responses have it: with `lp1` for `DAV:`, `lp2` for Subversion's own, and `D` for locks.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Live::ResourceType => "lp1:resourcetype",
            Live::ContentLength => "lp1:getcontentlength",
            Live::ContentType => "lp1:getcontenttype",
            Live::Etag => "lp1:getetag",
            Live::CreationDate => "lp1:creationdate",
            Live::LastModified => "lp1:getlastmodified",
            Live::BaselineCollection => "lp1:baseline-collection",
            Live::CheckedIn => "lp1:checked-in",
            Live::Vcc => "lp1:version-controlled-configuration",
            Live::VersionName => "lp1:version-name",
            Live::Creator => "lp1:creator-displayname",
            Live::AutoVersion => "lp1:auto-version",
            Live::BaselineRelativePath => "lp2:baseline-relative-path",
            Live::Md5 => "lp2:md5-checksum",
            Live::RepositoryUuid => "lp2:repository-uuid",
            Live::DeadpropCount => "lp2:deadprop-count",
            Live::Sha1 => "lp2:sha1-checksum",
            Live::SupportedLock => "D:supportedlock",
            Live::LockDiscovery => "D:lockdiscovery",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_properties() {
        for live in Live::ALL {
            let (space, local) = live.name();
            assert_eq!(Live::of(space, local), Some(live));
        }
        assert_eq!(Live::of(names::DAV, "md5-checksum"), None);
    }
}
