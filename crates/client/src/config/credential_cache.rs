//! The cache of credentials: the directory `auth/` of the configuration area.
//!
//! There is a directory for each kind of credentials, and in it a file for each realm, whose name is the MD5 of the realm. A file is a
//! hash dump (`K`, `V`, `END`). The attribute `svn:realmstring` is the realm; the others depend on the kind. `passtype` says where a
//! password is: `simple` is in this file; a password in another store counts as absent here ([`gpg_agent`](super::gpg_agent) asks for those
//! it keeps).
//!
//! A file is replaced as a whole, by a rename: readers see the old or the new one.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base::checksum::Md5;
use base::hashdump::{self, Terminator};
use base::{Code, Error, Result, shown_bytes};

/// The largest file that is read, in bytes.
const MOST: u64 = 1 << 20;
/// The attribute with the realm.
const REALM: &str = "svn:realmstring";

/// The attributes of credentials, by name.
pub type Attributes = BTreeMap<String, Vec<u8>>;

/// A kind of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// A user name and a password.
    Simple,
    /// A user name alone, for repositories on disk.
    Username,
    /// The file of a client certificate. Only other programs store it.
    ClientCertificate,
    /// The passphrase of a client certificate.
    ClientPassphrase,
    /// A server's certificate that the user trusts.
    ServerCertificate,
}

impl CredentialKind {
    /// All kinds, in the order of `svn auth`.
    pub const ALL: [CredentialKind; 5] = [
        CredentialKind::Simple,
        CredentialKind::Username,
        CredentialKind::ClientCertificate,
        CredentialKind::ClientPassphrase,
        CredentialKind::ServerCertificate,
    ];

    /// Returns the name, which is that of the directory.
    pub fn name(self) -> &'static str {
        match self {
            CredentialKind::Simple => "svn.simple",
            CredentialKind::Username => "svn.username",
            CredentialKind::ClientCertificate => "svn.ssl.client-cert",
            CredentialKind::ClientPassphrase => "svn.ssl.client-passphrase",
            CredentialKind::ServerCertificate => "svn.ssl.server",
        }
    }

    /// True if a new area has its directory.
    pub(super) fn is_made(self) -> bool {
        self != CredentialKind::ClientCertificate
    }
}

/// Credentials of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedCredentials {
    /// Their kind.
    pub kind: CredentialKind,
    /// Their realm.
    pub realm: String,
    /// Their attributes, without the realm.
    pub attributes: Attributes,
    /// Their file.
    pub path: PathBuf,
}

impl CachedCredentials {
    /// Removes the file.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(&self) -> Result<()> {
        fs::remove_file(&self.path).map_err(|error| Error::io("Can't remove file", &self.path, &error))
    }

    /// Returns an attribute as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        let value = self.attributes.get(name)?;
        std::str::from_utf8(value).ok()
    }

    /// Returns the secret in an attribute, if it is in the file itself.
    pub fn secret(&self, name: &str) -> Option<&str> {
        match self.text("passtype") {
            Some("simple") => self.text(name),
            _ => None,
        }
    }
}

/// The cache in a configuration area.
#[derive(Clone, Debug)]
pub struct CredentialCache {
    auth: PathBuf,
}

impl CredentialCache {
    /// Returns the cache of a configuration area.
    pub fn of_area(area: &Path) -> CredentialCache {
        CredentialCache {
            auth: area.join("auth"),
        }
    }

    /// Returns the attributes for a realm. A file that is missing, damaged, of another realm or not readable has none.
    pub fn read(&self, kind: CredentialKind, realm: &str) -> Option<CachedCredentials> {
        read_credentials(kind, self.path(kind, realm)).filter(|found| found.realm == realm)
    }

    /// Stores attributes for a realm, in place of those that are stored.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, kind: CredentialKind, realm: &str, attributes: &Attributes) -> Result<()> {
        let path = self.path(kind, realm);
        let failed = |error: &io::Error| Error::io("Unable to open auth file for writing:", &path, error);
        let mut all = attributes.clone();
        all.insert(REALM.to_owned(), realm.as_bytes().to_vec());
        let mut text = Vec::new();
        let entries = all
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_slice()));
        hashdump::write(&mut text, entries, Terminator::End);
        let has_password = all.contains_key("password") || all.contains_key("passphrase");
        replace(&path, &text, has_password).map_err(|error| failed(&error))
    }

    /// Returns all credentials of a kind, sorted by realm. Damaged files are left out.
    ///
    /// # Errors
    /// The system's, for the directory.
    pub fn list(&self, kind: CredentialKind) -> Result<Vec<CachedCredentials>> {
        let dir = self.auth.join(kind.name());
        let failed = |error: &io::Error| Error::io("Can't open directory", &dir, error);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Vec::new());
            }
            Err(error) => return Err(failed(&error)),
        };
        let mut all = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed(&error))?;
            all.extend(read_credentials(kind, entry.path()));
        }
        all.sort_by(|one, other| (&one.realm, &one.path).cmp(&(&other.realm, &other.path)));
        Ok(all)
    }

    fn path(&self, kind: CredentialKind, realm: &str) -> PathBuf {
        self.auth.join(kind.name()).join(file_name(realm))
    }
}

fn file_name(realm: &str) -> String {
    Md5::of(realm.as_bytes()).to_string()
}

fn read_credentials(kind: CredentialKind, path: PathBuf) -> Option<CachedCredentials> {
    let mut attributes = parse(&read(&path).ok()?).ok()?;
    let realm = shown_bytes(&attributes.remove(REALM)?);
    Some(CachedCredentials {
        kind,
        realm,
        attributes,
        path,
    })
}

/// Parses the text of a file.
///
/// # Errors
/// `MALFORMED_FILE`.
pub fn parse(text: &[u8]) -> Result<Attributes> {
    let mut reader = hashdump::Reader::new(text, Terminator::End, false);
    let mut attributes = Attributes::new();
    while let Some(entry) = reader.next_entry()? {
        let name = std::str::from_utf8(entry.key)
            .map_err(|_| Error::new(Code::MALFORMED_FILE, "The name of an attribute is not UTF-8"))?;
        attributes.insert(name.to_owned(), entry.value.unwrap_or_default().to_vec());
    }
    Ok(attributes)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path)?.take(MOST).read_to_end(&mut text)?;
    Ok(text)
}

/// Writes a file beside `path` and renames it. A file with a secret can be read by its owner only.
fn replace(path: &Path, text: &[u8], is_secret: bool) -> io::Result<()> {
    let dir = path.parent().unwrap_or(path);
    let mode = if is_secret { 0o600 } else { 0o666 };
    let mut file = tempfile::Builder::new()
        .prefix("svn-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(dir)?;
    file.write_all(text)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::area;
    use super::*;

    fn cache() -> (tempfile::TempDir, CredentialCache) {
        let dir = tempfile::tempdir().expect("a directory");
        area::create(dir.path());
        let cache = CredentialCache::of_area(dir.path());
        (dir, cache)
    }

    #[test]
    fn what_is_written_is_read() {
        let (_dir, cache) = cache();
        let kind = CredentialKind::Simple;
        let attributes: Attributes = [("username", "x"), ("passtype", "simple"), ("password", "é\n")]
            .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
            .into();
        cache
            .write(kind, "<svn://h:1> r", &attributes)
            .expect("the area is new");
        let found = cache.read(kind, "<svn://h:1> r").expect("it was written");
        assert_eq!(
            (found.text("username"), found.secret("password")),
            (Some("x"), Some("é\n"))
        );
        assert_eq!(cache.read(kind, "other"), None);
        assert_eq!(cache.read(CredentialKind::Username, "<svn://h:1> r"), None);
        let all = cache.list(kind).expect("it can be read");
        assert_eq!(all[..], [found]);
        all[0].remove().expect("it is there");
        assert_eq!(cache.list(kind).expect("it can be read"), []);
    }

    /// Any bytes are attributes or an error; attributes survive being written and read.
    #[test]
    fn any_file_can_be_read() {
        use rand::{Rng as _, SeedableRng as _};
        for seed in 0..200 {
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            let mut attributes = Attributes::new();
            for _ in 0..rng.random_range(0..5) {
                let name: String = (0..rng.random_range(0..6))
                    .map(|_| rng.random::<char>())
                    .collect();
                let value = (0..rng.random_range(0..20)).map(|_| rng.random()).collect();
                attributes.insert(name, value);
            }
            let mut text = Vec::new();
            let entries = attributes
                .iter()
                .map(|(name, value)| (name.as_bytes(), value.as_slice()));
            hashdump::write(&mut text, entries, Terminator::End);
            assert_eq!(parse(&text).expect("it was written"), attributes, "seed {seed}");
            for _ in 0..50 {
                let at = rng.random_range(0..text.len());
                match rng.random_range(0..3) {
                    0 => text[at] = rng.random(),
                    1 => text.insert(at, rng.random_range(b'0'..=b'9')),
                    _ => drop(text.remove(at)),
                }
                if text.is_empty() {
                    break;
                }
                _ = parse(&text);
            }
        }
    }

    #[test]
    fn passwords_in_other_stores_are_absent() {
        let (dir, cache) = cache();
        let text = "K 8\npasstype\nV 9\ngpg-agent\nK 8\npassword\nV 1\np\nK 15\nsvn:realmstring\nV 1\nr\nK 8\nusername\n\
                    V 1\nx\nEND\n";
        let path = dir.path().join("auth/svn.simple").join(file_name("r"));
        fs::write(path, text).expect("the directory is there");
        let found = cache
            .read(CredentialKind::Simple, "r")
            .expect("it is well formed");
        assert_eq!(
            (found.text("username"), found.secret("password")),
            (Some("x"), None)
        );
    }
}
