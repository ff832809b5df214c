//! Properties that a server works out, as opposed to those that a repository stores.

use super::names;

/// A live property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveProperty {
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

impl LiveProperty {
    /// All, in the order of responses.
    pub const ALL: [LiveProperty; 19] = [
        LiveProperty::ResourceType,
        LiveProperty::ContentLength,
        LiveProperty::ContentType,
        LiveProperty::Etag,
        LiveProperty::CreationDate,
        LiveProperty::LastModified,
        LiveProperty::BaselineCollection,
        LiveProperty::CheckedIn,
        LiveProperty::Vcc,
        LiveProperty::VersionName,
        LiveProperty::Creator,
        LiveProperty::AutoVersion,
        LiveProperty::BaselineRelativePath,
        LiveProperty::Md5,
        LiveProperty::RepositoryUuid,
        LiveProperty::DeadpropCount,
        LiveProperty::Sha1,
        LiveProperty::SupportedLock,
        LiveProperty::LockDiscovery,
    ];

    /// The property of a name.
    pub fn of(space: &str, local: &str) -> Option<LiveProperty> {
        LiveProperty::ALL
            .into_iter()
            .find(|live| live.name() == (space, local))
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
            LiveProperty::ResourceType => "lp1:resourcetype",
            LiveProperty::ContentLength => "lp1:getcontentlength",
            LiveProperty::ContentType => "lp1:getcontenttype",
            LiveProperty::Etag => "lp1:getetag",
            LiveProperty::CreationDate => "lp1:creationdate",
            LiveProperty::LastModified => "lp1:getlastmodified",
            LiveProperty::BaselineCollection => "lp1:baseline-collection",
            LiveProperty::CheckedIn => "lp1:checked-in",
            LiveProperty::Vcc => "lp1:version-controlled-configuration",
            LiveProperty::VersionName => "lp1:version-name",
            LiveProperty::Creator => "lp1:creator-displayname",
            LiveProperty::AutoVersion => "lp1:auto-version",
            LiveProperty::BaselineRelativePath => "lp2:baseline-relative-path",
            LiveProperty::Md5 => "lp2:md5-checksum",
            LiveProperty::RepositoryUuid => "lp2:repository-uuid",
            LiveProperty::DeadpropCount => "lp2:deadprop-count",
            LiveProperty::Sha1 => "lp2:sha1-checksum",
            LiveProperty::SupportedLock => "D:supportedlock",
            LiveProperty::LockDiscovery => "D:lockdiscovery",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_properties() {
        for live in LiveProperty::ALL {
            let (space, local) = live.name();
            assert_eq!(LiveProperty::of(space, local), Some(live));
        }
        assert_eq!(LiveProperty::of(names::DAV, "md5-checksum"), None);
    }
}
