//! The access rules of a location: authentication and authorization.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use repos::config::{AuthzFiles, UsernameCase};

use super::Require;

/// The access rules of a location.
#[derive(Clone, Debug)]
pub struct AccessRules {
    /// The sources of user names and passwords, in the order of look-up.
    pub providers: Arc<[Provider]>,
    /// The realm: login prompts show it.
    pub realm: Option<String>,
    /// Clients may send passwords as they are (`AuthType Basic`).
    pub basic: bool,
    /// Clients may send digests of passwords (`AuthType Digest`).
    pub digest: bool,
    /// How long a verified password is not checked again: slow hashes and directories are used once in that time. Changes of files
    /// take effect at once.
    pub remember: Duration,
    /// The file with groups of users for `require`, beside those of a directory (`AuthGroupFile`).
    pub group_file: Option<PathBuf>,
    /// The condition for any access (`Require`).
    pub require: Option<Require>,
    /// In place of `require`, for methods that write (`LimitExcept GET PROPFIND OPTIONS REPORT`).
    pub require_write: Option<Require>,
    /// Requests without credentials have the rights of anonymous users (`Satisfy Any`, `AuthzSVNAnonymous On`).
    pub anonymous: bool,
    /// Requests that anonymous users may make are served without authentication (`AuthzSVNNoAuthWhenAnonymousAllowed`).
    pub no_auth_when_anonymous: bool,
    /// Path-based rules (`AuthzSVNAccessFile`).
    pub authz: Option<AuthzFiles>,
    /// As `authz`, by file name in each repository's `conf` (`AuthzSVNReposRelativeAccessFile`).
    pub repository_authz: Option<String>,
    /// The file with the groups of `repository_authz` (`AuthzSVNGroupsFile`); `authz` names its own.
    pub groups: Option<PathBuf>,
    /// `AuthzForceUsernameCase`.
    pub username_case: UsernameCase,
}

impl Default for AccessRules {
    /// Returns Basic authentication without providers; anonymous access as far as rules grant it.
    fn default() -> Self {
        AccessRules {
            providers: Arc::from([]),
            realm: None,
            basic: true,
            digest: false,
            remember: Duration::from_secs(5 * 60),
            group_file: None,
            require: None,
            require_write: None,
            anonymous: true,
            no_auth_when_anonymous: false,
            authz: None,
            repository_authz: None,
            groups: None,
            username_case: UsernameCase::AsIs,
        }
    }
}

/// A source of user names and passwords.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provider {
    /// A file of `htpasswd` or `htdigest`. Digest works with lines of the second kind, and only for their realm.
    Htpasswd(PathBuf),
    /// A file in the format of svnserve's `password-db`.
    Passwd(PathBuf),
    /// An LDAP directory.
    Ldap(Box<Ldap>),
    /// The subject of the client's certificate.
    Certificate,
}

/// An LDAP directory with users. A user's entry is searched for, then bound to with the user's password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ldap {
    /// `ldap://HOST:PORT`, `ldaps://HOST:PORT`, `ldapi://…`.
    pub url: String,
    /// The base of the search.
    pub base: String,
    /// The attribute with the login name.
    pub user_attribute: String,
    /// The depth of the search.
    pub scope: LdapScope,
    /// The filter for users, as `(objectClass=person)`; `None` is every entry.
    pub filter: Option<String>,
    /// The entry that the server binds to for searches; `None` is anonymous.
    pub bind_dn: Option<String>,
    /// The password of that entry.
    pub bind_password: Option<Secret>,
    /// Encrypt an `ldap://` connection before anything is sent.
    pub starttls: bool,
    /// The file with trusted certificates, in PEM; `None` is the system's.
    pub ca: Option<PathBuf>,
    /// The groups of the directory, which become groups in authz files.
    pub groups: Option<LdapGroups>,
    /// How long one operation of the directory may take.
    pub timeout: Duration,
}

/// The depth of a search below its base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LdapScope {
    /// All entries below.
    #[default]
    Subtree,
    /// Direct children.
    One,
}

/// The search for groups in a directory. The group `dev` there is `@dev` in authz files; its members there and in the file's own
/// definition add up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapGroups {
    /// The base of the search.
    pub base: String,
    /// The filter for groups; `None` is every entry with members.
    pub filter: Option<String>,
    /// The attributes with the members.
    pub member_attributes: Vec<String>,
    /// Members are distinguished names, not login names.
    pub members_are_dns: bool,
    /// The attribute with the name of the group.
    pub name_attribute: String,
}

/// A text that no log shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Makes a secret of `text`.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// Returns the text.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
