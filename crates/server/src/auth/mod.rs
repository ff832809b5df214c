//! Who sends a request, as far as names and passwords tell.
//!
//! A request says who sends it in its `Authorization` line, by its certificate, or not at all; [`Keeper::identify`] looks
//! the name up where the location's rules say: in files as `htpasswd` and `htdigest` write them ([`htpasswd`]), in svnserve's,
//! in a directory ([`ldap`]). Passwords come as they are (Basic) or as hashes that nobody can use again ([`digest`]).
//! What was found right is known for a while ([`remembered`]).
//!
//! What is absent: what a user may do. `dav::access` answers that.

mod des_crypt;
mod digest;
mod files;
mod groups;
mod htpasswd;
mod ldap;
mod md5_crypt;
mod remembered;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use repos::read_mode::check_may_wait;

use self::digest::{Answer, Asked, Nonces, Verdict};
use self::files::Files;
use self::groups::Groups;
use self::htpasswd::Htpasswd;
use self::ldap::{Directories, Found};
use self::remembered::Remembered;
use crate::http::{Ldap, LoggedIn, Provider, Request, Require, RequireVerdict, Secret};
use crate::service::Service;

/// How users of one place prove who they are.
pub(crate) struct Door {
    /// Where names are looked up, in this order. The first that knows a name says whether the password is right.
    pub(crate) providers: Arc<[Provider]>,
    /// Without quotes and backslashes: see [`plain_realm`].
    pub(crate) realm: String,
    pub(crate) basic: bool,
    pub(crate) digest: bool,
    /// How long a right password is not checked again.
    pub(crate) remember: Duration,
}

/// Somebody who has proved a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    /// Groups that a directory puts the user in.
    pub(crate) groups: Arc<[String]>,
}

/// What a request proves.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// It says no name.
    Nothing,
    /// The name is right; the text is for `Authentication-Info`.
    Name(User, Option<String>),
    /// The name or the password is wrong, or (`stale`) the number that was answered is too old.
    Wrong { stale: bool },
    /// Too many passwords wait to be checked: the client may try again later.
    Busy,
}

/// Knows who knows whom, for the whole process.
#[derive(Default)]
pub(crate) struct Keeper {
    files: Files<Htpasswd>,
    remembered: Remembered,
    nonces: Nonces,
    directories: Directories,
    groups: Files<Groups>,
}

impl Keeper {
    /// Forgets which passwords were right, and closes connections to directories: their settings may have changed.
    pub(crate) fn forget(&self) {
        self.remembered.forget();
        self.directories.close();
    }

    /// Judges whether a request that comes from `address` fulfils `require`, as `user` if it is known who sends it. `file` names
    /// groups beside those of a directory.
    ///
    /// # Errors
    /// If the file of groups cannot be read.
    pub(crate) fn judge(
        &self,
        require: &Require,
        address: IpAddr,
        user: Option<&User>,
        file: Option<&Path>,
    ) -> Result<RequireVerdict> {
        let wanted = file.filter(|_| user.is_some() && require.names_groups());
        let groups = wanted
            .map(|path| self.groups.get(path, Groups::parse))
            .transpose()?;
        let Some(user) = user else {
            return Ok(require.judge(address, None));
        };
        let is_in = |group: &str| {
            let in_file = groups
                .as_ref()
                .is_some_and(|groups| groups.has(group, &user.name));
            in_file || user.groups.iter().any(|name| name == group)
        };
        let user = LoggedIn {
            name: &user.name,
            is_in: &is_in,
        };
        Ok(require.judge(address, Some(user)))
    }

    /// Finds out who sends a request.
    ///
    /// # Errors
    /// If that cannot be found out: a file or a directory fails us.
    pub(crate) fn identify(&self, service: &Service, door: &Door, request: &Request) -> Result<Proof> {
        if door.providers.is_empty() {
            // Whatever a client says, nobody could check it: it is nobody, as far as we know.
            return Ok(Proof::Nothing);
        }
        let header = request.header_utf8("authorization");
        if let Some(name) = certified(door, request)
            && (header.is_none() || door.providers.len() == 1)
        {
            return Ok(name);
        }
        let Some(header) = header else {
            return Ok(Proof::Nothing);
        };
        if door.basic
            && let Some((user, password)) = basic(header)
            && is_plain(&user)
        {
            return self.by_password(service, door, user, &password, request);
        }
        if door.digest
            && let Some(answer) = digest::parse(header)
            && is_plain(&answer.user)
        {
            return self.by_digest(service, door, &answer, request);
        }
        Ok(Proof::Wrong { stale: false })
    }

    /// What clients are asked for, the better first.
    pub(crate) fn challenges(&self, door: &Door, request: &Request, stale: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let realm = &door.realm;
        if door.providers.iter().all(|p| *p == Provider::Certificate) {
            return lines;
        }
        if door.digest {
            let stale = if stale { ", stale=true" } else { "" };
            let nonce = self.nonces.make(&door.realm);
            let mut line = |algorithm: &str| {
                lines.push(format!(
                    "Digest realm=\"{realm}\", nonce=\"{nonce}\", algorithm={algorithm}, qop=\"auth\"{stale}"
                ));
            };
            // Subversion's clients know one algorithm and stumble over another.
            if !request.is_svn_client() && knows_plain_text(door) {
                line("SHA-256");
            }
            line("MD5");
        }
        if door.basic {
            lines.push(format!("Basic realm=\"{realm}\""));
        }
        lines
    }

    fn by_password(
        &self,
        service: &Service,
        door: &Door,
        user: String,
        password: &[u8],
        request: &Request,
    ) -> Result<Proof> {
        for provider in door.providers.iter() {
            let right = match provider {
                Provider::Certificate => continue,
                Provider::Htpasswd(path) => {
                    let file = self.files.get(path, Htpasswd::parse)?;
                    match (file.hash(&user), file.ha1(&user, &door.realm)) {
                        (Some(hash), _) => {
                            let question = Asking {
                                door,
                                user: &user,
                                password,
                                request,
                            };
                            match self.verify(service, question, path, hash)? {
                                Some(right) => right,
                                None => return Ok(Proof::Busy),
                            }
                        }
                        (None, Some(ha1)) => {
                            let made = digest::md5_ha1(&user, &door.realm, password);
                            same(made.as_bytes(), ha1.as_bytes())
                        }
                        (None, None) => continue,
                    }
                }
                Provider::Passwd(path) => {
                    let file = service.config.passwords(path)?;
                    match file.as_ref().and_then(|file| file.password(user.as_bytes())) {
                        Some(known) => same(known, password),
                        None => continue,
                    }
                }
                Provider::Ldap(ldap) => {
                    let question = Asking {
                        door,
                        user: &user,
                        password,
                        request,
                    };
                    match self.ask(service, question, ldap)? {
                        Some(Found::Nobody) => continue,
                        Some(Found::WrongPassword) => false,
                        Some(Found::User(user)) => return Ok(Proof::Name(user, None)),
                        None => return Ok(Proof::Busy),
                    }
                }
            };
            return Ok(match right {
                true => Proof::Name(User::plain(user), None),
                false => Proof::Wrong { stale: false },
            });
        }
        Ok(Proof::Wrong { stale: false })
    }

    /// Returns whether the password has the hash, `None` if too many others wait for that.
    fn verify(&self, service: &Service, asking: Asking<'_>, file: &Path, hash: &str) -> Result<Option<bool>> {
        let Asking { user, password, .. } = asking;
        let against = format!("hash {hash}");
        let found = self.remember(asking, &against, || {
            // A good hash takes long by design: many wrong passwords must not take all processors.
            let _turn = asking.request.turn(&service.password_turns)?;
            let right = htpasswd::verify(password, hash).unwrap_or_else(|what| {
                let file = file.display();
                tracing::warn!("'{file}' has {what} for {user:?}, who can't log in: try 'htpasswd -B'");
                false
            });
            Some(Ok(match right {
                true => Found::User(User::plain(user.to_owned())),
                false => Found::WrongPassword,
            }))
        })?;
        Ok(found.map(|found| matches!(found, Found::User(_))))
    }

    /// Asks a directory; returns `None` if too many others wait for that.
    fn ask(&self, service: &Service, asking: Asking<'_>, ldap: &Ldap) -> Result<Option<Found>> {
        // Every setting: groups and the spelling of the name depend on all of them.
        let secret = ldap.bind_password.as_ref().map(Secret::shown);
        let against = format!("ldap {ldap:?} {secret:?}");
        self.remember(asking, &against, || {
            // A directory may be slow, or not answer at all: those who wait for it must not hold all threads.
            asking.request.patience.while_blocked(|| {
                let turn = service.directory_turns.wait(asking.request.peer.address.ip())?;
                let found = self.directories.ask(ldap, asking.user, asking.password);
                drop(turn);
                Some(found)
            })
        })
    }

    /// The user whose password was right a moment ago, or else what `find` finds; `None` if it had to wait for too many others.
    /// `against` is all that the answer depends on but the name and the password.
    fn remember(
        &self,
        asking: Asking<'_>,
        against: &str,
        find: impl FnOnce() -> Option<Result<Found>>,
    ) -> Result<Option<Found>> {
        let question = self
            .remembered
            .question(against.as_bytes(), asking.user, asking.password);
        if let Some(known) = self.remembered.recall(question, asking.door.remember) {
            return Ok(Some(Found::User(known)));
        }
        check_may_wait()?;
        let Some(found) = find().transpose()? else {
            return Ok(None);
        };
        if let Found::User(user) = &found {
            self.remembered.keep(question, asking.door.remember, user);
        }
        Ok(Some(found))
    }

    fn by_digest(&self, service: &Service, door: &Door, answer: &Answer, request: &Request) -> Result<Proof> {
        // An answer counts once: it must not be looked at a second time.
        check_may_wait()?;
        let target = match &request.query {
            Some(query) => format!("{}?{query}", request.path),
            None => request.path.clone(),
        };
        let asked = Asked {
            method: request.method.as_str(),
            target: &target,
            realm: &door.realm,
        };
        if !answer.fits(&asked) {
            return Ok(Proof::Wrong { stale: false });
        }
        for provider in door.providers.iter() {
            let ha1 = match provider {
                // Neither has what a digest is made of.
                Provider::Certificate | Provider::Ldap(_) => None,
                Provider::Htpasswd(path) => {
                    let file = self.files.get(path, Htpasswd::parse)?;
                    let known = file.ha1(&answer.user, &door.realm).filter(|_| answer.is_md5());
                    known.map(str::to_owned)
                }
                Provider::Passwd(path) => {
                    let file = service.config.passwords(path)?;
                    let known = file.as_ref().and_then(|f| f.password(answer.user.as_bytes()));
                    known.map(|password| answer.ha1_of(password))
                }
            };
            let Some(ha1) = ha1 else { continue };
            return Ok(match answer.judge(&self.nonces, &asked, &ha1) {
                Verdict::Right(info) => Proof::Name(User::plain(answer.user.clone()), Some(info)),
                Verdict::Stale => Proof::Wrong { stale: true },
                Verdict::Wrong => Proof::Wrong { stale: false },
            });
        }
        Ok(Proof::Wrong { stale: false })
    }
}

/// A name and a password that a client has sent.
#[derive(Clone, Copy)]
struct Asking<'a> {
    door: &'a Door,
    user: &'a str,
    password: &'a [u8],
    request: &'a Request,
}

impl User {
    fn plain(name: String) -> User {
        User {
            name,
            groups: Arc::from([]),
        }
    }
}

/// Who the client's certificate says it is.
fn certified(door: &Door, request: &Request) -> Option<Proof> {
    let asked = door.providers.contains(&Provider::Certificate);
    let name = request.peer.certificate.as_ref().filter(|_| asked)?;
    Some(Proof::Name(User::plain(name.clone()), None))
}

/// Only from these can a digest of another kind than a file holds be made.
fn knows_plain_text(door: &Door) -> bool {
    door.providers
        .iter()
        .any(|provider| matches!(provider, Provider::Passwd(_)))
}

/// User name and password of `Authorization: Basic`.
pub(crate) fn basic(header: &str) -> Option<(String, Vec<u8>)> {
    let (scheme, rest) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(rest.trim()).ok()?;
    let colon = decoded.iter().position(|b| *b == b':')?;
    let user = String::from_utf8(decoded[..colon].to_vec()).ok()?;
    Some((user, decoded[colon + 1..].to_vec()))
}

/// True for a name that can stand in a line of a log: one with control characters is nobody's.
pub(crate) fn is_plain(user: &str) -> bool {
    !user.contains(char::is_control)
}

/// Compares secrets in time that does not tell where they differ.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

/// A realm that needs no escapes, which clients read in different ways.
pub(crate) fn plain_realm(realm: &str) -> String {
    realm.replace(['"', '\\'], "'")
}

/// Bytes that nobody can guess.
fn random<const LEN: usize>() -> [u8; LEN] {
    let mut bytes = [0; LEN];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(got, Ok(LEN), "the system gives so few random bytes at once");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials_are_cut_at_the_first_colon() {
        assert_eq!(basic("Basic YTpiOmM="), Some(("a".into(), b"b:c".to_vec())));
        assert_eq!(basic("basic  YTpiOmM= "), Some(("a".into(), b"b:c".to_vec())));
        for bad in ["", "Basic", "Basic !", "Basic YWJj", "Digest YTpi"] {
            assert_eq!(basic(bad), None, "{bad}");
        }
    }
}
