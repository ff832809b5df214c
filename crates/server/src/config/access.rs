//! Who may come in, and how they prove who they are.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use repos::config::{AuthzFiles, UsernameCase};

use super::Require;

/// Who may come in, and as whom.
#[derive(Clone, Debug)]
pub struct AccessRules {
    /// Where names and passwords are looked up, in this order.
    pub providers: Arc<[Provider]>,
    /// Shown to people who are asked for a password.
    pub realm: Option<String>,
    /// Passwords may be sent in the clear (`AuthType Basic`).
    pub basic: bool,
    /// Digests of passwords may be sent (`AuthType Digest`).
    pub digest: bool,
    /// How long a password that was found right counts as right without looking again: slow hashes and directories are
    /// asked once in that time. Files that change count at once.
    pub remember: Duration,
    /// Groups of users beside those of a directory, for `require` (`AuthGroupFile`).
    pub group_file: Option<PathBuf>,
    /// Who may come in at all (`Require`).
    pub require: Option<Require>,
    /// In place of `require`, for methods that do not only look (`LimitExcept GET PROPFIND OPTIONS REPORT`).
    pub require_write: Option<Require>,
    /// Who has not said a name may do what the rules grant to anybody (`Satisfy Any`, `AuthzSVNAnonymous On`).
    pub anonymous: bool,
    /// Who says a name is not asked to prove it where anybody may do the same (`AuthzSVNNoAuthWhenAnonymousAllowed`).
    pub no_auth_when_anonymous: bool,
    /// Path-based rules (`AuthzSVNAccessFile`).
    pub authz: Option<AuthzFiles>,
    /// As `authz`, by file name in each repository's `conf` (`AuthzSVNReposRelativeAccessFile`).
    pub repository_authz: Option<String>,
    /// Groups beside `repository_authz` (`AuthzSVNGroupsFile`); those of `authz` stand in it.
    pub groups: Option<PathBuf>,
    /// `AuthzForceUsernameCase`.
    pub username_case: UsernameCase,
}

impl Default for AccessRules {
    /// Basic and nobody whom it would let in; anonymous as far as there are rules.
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

/// A place where names and passwords are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// A file as `htpasswd` or `htdigest` writes it; only lines of the second kind, and only for their realm, serve Digest.
    Htpasswd(PathBuf),
    /// A file as svnserve's `password-db`.
    Passwd(PathBuf),
    /// A directory.
    Ldap(Box<Ldap>),
    /// The subject of the client's certificate.
    Certificate,
}

/// A directory that knows users: one is searched for, then bound as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ldap {
    /// `ldap://HOST:PORT`, `ldaps://HOST:PORT`, `ldapi://…`.
    pub url: String,
    /// Where to search from.
    pub base: String,
    /// Holds the name that people log in with.
    pub user_attribute: String,
    /// How deep to search.
    pub scope: LdapScope,
    /// Who is a user at all, as `(objectClass=person)`; `None` is everything.
    pub filter: Option<String>,
    /// Who we are while we search; anonymous without.
    pub bind_dn: Option<String>,
    /// The password for that.
    pub bind_password: Option<Secret>,
    /// Encrypt an `ldap://` connection before anything is said.
    pub starttls: bool,
    /// Certificates to trust, in PEM; those of the system without.
    pub ca: Option<PathBuf>,
    /// Groups there become groups of the access file.
    pub groups: Option<LdapGroups>,
    /// How long the directory may take for one answer.
    pub timeout: Duration,
}

/// How deep below the base of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LdapScope {
    /// Everything below.
    #[default]
    Subtree,
    /// Direct children.
    One,
}

/// How groups are found in a directory. A group called `dev` there is `@dev` in the access file, with whom that file itself puts
/// in it, if it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapGroups {
    /// Where to search from.
    pub base: String,
    /// What is a group at all; `None` is everything that has members.
    pub filter: Option<String>,
    /// Hold the members.
    pub member_attributes: Vec<String>,
    /// Members are named by their distinguished name, not by their login.
    pub members_are_dns: bool,
    /// Holds the name of the group.
    pub name_attribute: String,
}

/// What no log may show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    pub(crate) fn shown(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
