//! Configuration and hooks of a repository: the files below `conf/` and `hooks/`.
//!
//! The database has them, with a version that grows with each change. A node compares the version with that of its directory when it
//! is notified of a change, and each time that it renews its lease. Then it replaces the files that differ, each by a rename, and
//! removes those that a version before had and this one lacks, with directories that become empty. Files that only the node has stay. If one of them is
//! in the way of a file of the cluster, the others are replaced all the same.
//!
//! The file `db/sven-files` of a directory says what it has: the version in the first line, then the path of each file, percent-encoded.
//!
//! A path that is not UTF-8 has a column of its own. Programs that do not know that column see a name with replacement characters.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use base::{Code, Error, Result, percent};
use rustix::io::Errno;
use tokio_postgres::{Row, Transaction};

use crate::cluster::{Cluster, RepositoryInfo};
use crate::database::sql_error;
use crate::node_dir::{make_dirs, remove, replace, write};

/// A file of the configuration or a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFile {
    /// Its path below the repository's directory: `conf/authz`.
    pub path: PathBuf,
    /// Its permissions, the lower nine bits.
    pub mode: u32,
    /// Its content.
    pub content: Vec<u8>,
}

/// All files of a repository, in a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryFiles {
    /// Grows with each change.
    pub version: u64,
    /// In the order of their paths.
    pub files: Vec<RepositoryFile>,
}

impl RepositoryFiles {
    /// Returns the file with this path.
    pub fn get(&self, path: &Path) -> Option<&RepositoryFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl Cluster {
    /// Returns the configuration and the hooks of a repository.
    ///
    /// # Errors
    /// `FS_GENERAL` if the database cannot be reached.
    pub fn repository_files(&self, repository: &RepositoryInfo) -> Result<RepositoryFiles> {
        let id = repository.id;
        let rows = self
            .0
            .database
            .run("read the files of a repository", |client| async move {
                client.query(SELECT_FILES, &[&id]).await
            })?;
        let mut all = RepositoryFiles::default();
        for row in &rows {
            let version: i64 = row.try_get(0).map_err(sql_error)?;
            all.version = version.cast_unsigned();
            all.files.extend(file_of(row)?);
        }
        all.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    /// Makes these files the configuration and the hooks of a repository. Nodes bring their directories up to date. Returns the version; it
    /// does not grow if the files are these already.
    ///
    /// # Errors
    /// `BAD_FILENAME` for a path that leads elsewhere; `FS_GENERAL` if the database cannot be reached.
    pub fn replace_files(&self, repository: &RepositoryInfo, files: &[RepositoryFile]) -> Result<u64> {
        files.iter().try_for_each(|file| check_path(&file.path))?;
        let mut files = files.to_vec();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        check_tree(files.iter().map(|file| &*file.path))?;
        let known = self.repository_files(repository)?;
        if known.files == files {
            return Ok(known.version);
        }
        self.change_files(repository, true, &files, &[])
    }

    /// Adds a file to the configuration and the hooks of a repository, or replaces it. Returns the version.
    ///
    /// # Errors
    /// As [`Cluster::replace_files`]; `BAD_FILENAME` for a path that is above or below that of another file.
    pub fn put_file(&self, repository: &RepositoryInfo, file: &RepositoryFile) -> Result<u64> {
        check_path(&file.path)?;
        let known = self.repository_files(repository)?;
        let others = known.files.iter().filter(|known| known.path != file.path);
        let mut paths: Vec<&Path> = others.map(|known| &*known.path).collect();
        paths.push(&file.path);
        paths.sort();
        check_tree(paths.into_iter())?;
        self.change_files(repository, false, std::slice::from_ref(file), &[])
    }

    /// Removes a file from the configuration and the hooks of a repository. Returns the version.
    ///
    /// # Errors
    /// `BAD_FILENAME` without such a file; `FS_GENERAL` if the database cannot be reached.
    pub fn remove_file(&self, repository: &RepositoryInfo, path: &Path) -> Result<u64> {
        if self.repository_files(repository)?.get(path).is_none() {
            let text = format!("'{}' has no file '{}'", repository.name, path.display());
            return Err(Error::new(Code::BAD_FILENAME, text));
        }
        self.change_files(repository, false, &[], &[path])
    }

    /// Removes `gone`, or all files, and adds `files`, in one transaction.
    fn change_files(
        &self,
        repository: &RepositoryInfo,
        all: bool,
        files: &[RepositoryFile],
        gone: &[&Path],
    ) -> Result<u64> {
        let id = repository.id;
        let rows = FileRows::new(files);
        let gone: Vec<String> = gone.iter().map(|path| name_and_bytes(path).0).collect();
        let version = self
            .0
            .database
            .run("store the files of a repository", |mut client| {
                let (rows, gone) = (rows.clone(), gone.clone());
                async move {
                    let transaction = client.transaction().await?;
                    // This row is the lock of its files.
                    let version: i64 = transaction.query_one(RAISE_VERSION, &[&id]).await?.try_get(0)?;
                    if all {
                        transaction.execute(DELETE_FILES, &[&id]).await?;
                    }
                    transaction.execute(DELETE_SOME, &[&id, &gone]).await?;
                    rows.insert(&transaction, id).await?;
                    transaction.execute(NOTIFY, &[&id]).await?;
                    transaction.commit().await?;
                    Ok(version)
                }
            })?;
        Ok(version.cast_unsigned())
    }
}

/// Files as columns.
#[derive(Clone)]
struct FileRows {
    names: Vec<String>,
    raw: Vec<Option<Vec<u8>>>,
    modes: Vec<i32>,
    contents: Vec<Vec<u8>>,
}

impl FileRows {
    fn new(files: &[RepositoryFile]) -> FileRows {
        let (names, raw) = files.iter().map(|file| name_and_bytes(&file.path)).unzip();
        FileRows {
            names,
            raw,
            modes: files.iter().map(|file| file.mode.cast_signed()).collect(),
            contents: files.iter().map(|file| file.content.clone()).collect(),
        }
    }

    async fn insert(
        &self,
        transaction: &Transaction<'_>,
        id: i64,
    ) -> std::result::Result<u64, tokio_postgres::Error> {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&id, &self.names, &self.raw, &self.modes, &self.contents];
        transaction.execute(INSERT_FILES, &values).await
    }
}

/// The column `path` of a file, and the column `raw_path`.
fn name_and_bytes(path: &Path) -> (String, Option<Vec<u8>>) {
    let bytes = path.as_os_str().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(name) => (name.to_owned(), None),
        Err(_) => {
            // The escapes make the name unique.
            let escapes: String = percent::encode(bytes, percent::FILE_PATH)
                .filter(|part| part.starts_with('%'))
                .collect();
            let name = format!("{} ({escapes})", String::from_utf8_lossy(bytes));
            (name, Some(bytes.to_vec()))
        }
    }
}

/// Reads a row of [`SELECT_FILES`], which has no file if the repository has none.
fn file_of(row: &Row) -> Result<Option<RepositoryFile>> {
    let path: Option<String> = row.try_get(1).map_err(sql_error)?;
    let raw: Option<Vec<u8>> = row.try_get(2).map_err(sql_error)?;
    let Some(path) = path else { return Ok(None) };
    let mode: i32 = row.try_get(3).map_err(sql_error)?;
    Ok(Some(RepositoryFile {
        path: raw.map_or_else(
            || PathBuf::from(path),
            |raw| std::ffi::OsString::from_vec(raw).into(),
        ),
        mode: mode.cast_unsigned() & 0o777,
        content: row.try_get(4).map_err(sql_error)?,
    }))
}

/// Returns the configuration and the hooks in the directory of a repository. Links are followed. What is neither a file nor a directory, such as a
/// FIFO or a link to nothing, is left out.
///
/// # Errors
/// `BAD_FILENAME` for a link to a directory that it is in; the system's.
pub fn read_files(repository: &Path) -> Result<Vec<RepositoryFile>> {
    let mut files = Vec::new();
    // Each with the directories that its links were in, by their canonical paths.
    let mut dirs: Vec<(PathBuf, Vec<PathBuf>)> =
        ["conf", "hooks"].map(|name| (name.into(), Vec::new())).into();
    while let Some((dir, links)) = dirs.pop() {
        let path = repository.join(&dir);
        let failed = |e: io::Error| Error::io("Can't read directory", &path, &e);
        let entries = match fs::read_dir(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let (below, path) = (dir.join(entry.file_name()), entry.path());
            let failed = |e: io::Error| Error::io("Can't open file", &path, &e);
            let meta = match fs::metadata(&path) {
                Err(e) if is_link_to_nothing(&path, &e) => continue,
                meta => meta.map_err(failed)?,
            };
            if meta.is_dir() {
                let mut links = links.clone();
                if entry.file_type().map_err(failed)?.is_symlink() {
                    let target = fs::canonicalize(&path).map_err(failed)?;
                    links.push(fs::canonicalize(repository.join(&dir)).map_err(failed)?);
                    if links.iter().any(|above| above.starts_with(&target)) {
                        let text = format!("'{}' is a link to a directory that it is in", path.display());
                        return Err(Error::new(Code::BAD_FILENAME, text));
                    }
                }
                dirs.push((below, links));
            } else if meta.is_file() {
                files.push(RepositoryFile {
                    path: below,
                    mode: meta.permissions().mode() & 0o777,
                    content: fs::read(&path).map_err(failed)?,
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// True for a link whose target is missing, or that leads to itself. `e` is the error of following it.
fn is_link_to_nothing(path: &Path, e: &io::Error) -> bool {
    let leads_nowhere = e.kind() == io::ErrorKind::NotFound || Errno::from_io_error(e) == Some(Errno::LOOP);
    leads_nowhere && fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

/// The version that a directory of a node has; `None` if it does not say.
pub(crate) fn version_in(dir: &Path) -> Option<u64> {
    Some(DeliveredFiles::read(dir)?.version)
}

/// Gives the directory of a repository these files. One that cannot be given does not keep the others from it: access rules are among them.
///
/// # Errors
/// The system's, for the first file with an error.
pub(crate) fn deliver(files: &RepositoryFiles, dir: &Path) -> Result<()> {
    let before = DeliveredFiles::read(dir);
    let mut outcome = Ok(());
    // Removed first: a file may have become a directory, or a directory a file.
    for path in before.iter().flat_map(|before| &before.paths) {
        if files.get(path).is_none() && check_path(path).is_ok() {
            outcome = outcome.and(remove_delivered(dir, path));
        }
    }
    for file in &files.files {
        outcome = outcome.and(deliver_file(file, dir));
    }
    outcome?;
    let delivered = DeliveredFiles {
        version: files.version,
        paths: files.files.iter().map(|file| file.path.clone()).collect(),
    };
    delivered.write(dir)
}

fn deliver_file(file: &RepositoryFile, dir: &Path) -> Result<()> {
    check_path(&file.path)?;
    let path = dir.join(&file.path);
    if has_file(&path, file) {
        return Ok(());
    }
    // An empty directory in the way goes, another one stays.
    _ = fs::remove_dir(&path);
    make_dirs(path.parent().unwrap_or(dir))?;
    replace_with_mode(&path, file)
}

/// Removes a file that an earlier version had, and directories that are empty then. What has become a directory is not that file.
fn remove_delivered(dir: &Path, path: &Path) -> Result<()> {
    match fs::symlink_metadata(dir.join(path)) {
        Ok(meta) if !meta.is_dir() => remove(&dir.join(path))?,
        _ => {}
    }
    // `conf` and `hooks` themselves stay.
    let above = path
        .ancestors()
        .skip(1)
        .filter(|above| above.components().count() > 1);
    for above in above {
        if fs::remove_dir(dir.join(above)).is_err() {
            break;
        }
    }
    Ok(())
}

/// True if the file is there, with its content and permissions.
fn has_file(path: &Path, file: &RepositoryFile) -> bool {
    let read = || -> io::Result<bool> {
        let meta = fs::symlink_metadata(path)?;
        if !meta.is_file()
            || meta.len() != file.content.len() as u64
            || meta.permissions().mode() & 0o777 != file.mode
        {
            return Ok(false);
        }
        let mut content = Vec::with_capacity(file.content.len());
        fs::File::open(path)?
            .take(meta.len() + 1)
            .read_to_end(&mut content)?;
        Ok(content == file.content)
    };
    read().unwrap_or(false)
}

/// Replaces a file by a rename. The new one has its permissions before it has its name.
fn replace_with_mode(path: &Path, file: &RepositoryFile) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    remove(&new)?;
    let replaced = write(&new, &file.content, 0o600).and_then(|()| {
        fs::set_permissions(&new, fs::Permissions::from_mode(file.mode))
            .map_err(|e| Error::io("Can't set permissions on file", &new, &e))?;
        fs::rename(&new, path)
            .map_err(|e| Error::io(&format!("Can't move to '{}'", path.display()), &new, &e))
    });
    replaced.inspect_err(|_| _ = fs::remove_file(&new))
}

/// The file `db/sven-files`.
struct DeliveredFiles {
    version: u64,
    paths: Vec<PathBuf>,
}

impl DeliveredFiles {
    fn read(dir: &Path) -> Option<DeliveredFiles> {
        let text = fs::read(dir.join(DELIVERED)).ok()?;
        let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let version = std::str::from_utf8(lines.next()?).ok()?.parse().ok()?;
        let paths = lines.map(|line| PathBuf::from(OsStr::from_bytes(&percent::decode(line))));
        Some(DeliveredFiles {
            version,
            paths: paths.collect(),
        })
    }

    fn write(&self, dir: &Path) -> Result<()> {
        let mut text = format!("{}\n", self.version);
        for path in &self.paths {
            text.extend(percent::encode(path.as_os_str().as_bytes(), percent::FILE_PATH));
            text.push('\n');
        }
        replace(&dir.join(DELIVERED), text.as_bytes(), 0o666)
    }
}

/// Checks the path of a file within a repository.
///
/// # Errors
/// `BAD_FILENAME` if it is not below `conf` or `hooks`.
pub(crate) fn check_path(path: &Path) -> Result<()> {
    let mut parts = path.components();
    let top = parts.next();
    let is_top = |name: &str| top == Some(Component::Normal(OsStr::new(name)));
    let count = parts.clone().count();
    match (is_top("conf") || is_top("hooks"))
        && count > 0
        && parts.all(|part| matches!(part, Component::Normal(_)))
    {
        true => Ok(()),
        false => Err(Error::new(
            Code::BAD_FILENAME,
            format!("'{}' is not below 'conf' or 'hooks'", path.display()),
        )),
    }
}

/// Checks sorted paths of files: none may be a directory of another one.
///
/// # Errors
/// `BAD_FILENAME`.
fn check_tree<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<()> {
    let mut last: Option<&Path> = None;
    for path in paths {
        if let Some(last) = last
            && path.starts_with(last)
        {
            let text = format!(
                "'{}' cannot be a file and the directory of '{}'",
                last.display(),
                path.display()
            );
            return Err(Error::new(Code::BAD_FILENAME, text));
        }
        last = Some(path);
    }
    Ok(())
}

const DELIVERED: &str = "db/sven-files";

const SELECT_FILES: &str = "SELECT r.files_version, f.path, f.raw_path, f.mode, f.content \
     FROM sven_repository r LEFT JOIN sven_file f ON f.repository = r.id WHERE r.id = $1";
const RAISE_VERSION: &str =
    "UPDATE sven_repository SET files_version = files_version + 1 WHERE id = $1 RETURNING files_version";
const DELETE_FILES: &str = "DELETE FROM sven_file WHERE repository = $1";
const DELETE_SOME: &str = "DELETE FROM sven_file WHERE repository = $1 AND path = ANY ($2)";
const INSERT_FILES: &str = "INSERT INTO sven_file (repository, path, raw_path, mode, content) \
     SELECT $1, p, b, m, c FROM unnest($2::text[], $3::bytea[], $4::integer[], $5::bytea[]) AS new (p, b, m, c) \
     ON CONFLICT (repository, path) DO UPDATE SET raw_path = excluded.raw_path, mode = excluded.mode, content = excluded.content";
const NOTIFY: &str = "SELECT pg_notify('sven_files', $1::bigint::text)";

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &[u8], mode: u32, content: &str) -> RepositoryFile {
        RepositoryFile {
            path: OsStr::from_bytes(path).into(),
            mode,
            content: content.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_directory_gets_what_is_new_and_loses_what_is_gone() {
        let dir = tempfile::tempdir().expect("because there is room");
        make_dirs(&dir.path().join("db")).expect("because it is ours");
        assert_eq!(version_in(dir.path()), None);
        let first = RepositoryFiles {
            version: 3,
            files: vec![
                file(b"conf/authz", 0o600, "[/]\n"),
                file(b"conf/caf\xe9", 0o644, "x"),
                file(b"hooks/lib", 0o644, "a file"),
                file(b"hooks/pre-commit", 0o755, "#!/bin/sh\n"),
            ],
        };
        deliver(&first, dir.path()).expect("because it is ours");
        assert_eq!(version_in(dir.path()), Some(3));
        fs::write(dir.path().join("hooks/own"), "of the node").expect("because it is ours");
        let second = RepositoryFiles {
            version: 4,
            files: vec![
                file(b"conf/authz", 0o640, "[/]\n* = r\n"),
                file(b"hooks/lib/part", 0o644, "now a directory"),
            ],
        };
        deliver(&second, dir.path()).expect("because it is ours");
        assert_eq!(version_in(dir.path()), Some(4));
        let found = read_files(dir.path()).expect("because it is ours");
        let own = file(
            b"hooks/own",
            found
                .iter()
                .find(|file| file.path.ends_with("own"))
                .map_or(0, |file| file.mode),
            "of the node",
        );
        let mut expected = second.files.clone();
        expected.push(own);
        expected.sort_by(|a, b| a.path.cmp(&b.path));
        assert_eq!(found, expected);
        // A file that was changed by hand is repaired with the next version.
        fs::write(dir.path().join("conf/authz"), "[/]\n* = rw\n").expect("because it is ours");
        deliver(&second, dir.path()).expect("because it is ours");
        assert!(has_file(&dir.path().join("conf/authz"), &second.files[0]));
    }

    #[test]
    fn directories_in_the_way_keep_no_other_file_back() {
        let dir = tempfile::tempdir().expect("because there is room");
        make_dirs(&dir.path().join("db")).expect("because it is ours");
        let lib_dir = RepositoryFiles {
            version: 4,
            files: vec![
                file(b"conf/authz", 0o640, "[/]\n* = r\n"),
                file(b"hooks/lib/part", 0o644, ""),
            ],
        };
        deliver(&lib_dir, dir.path()).expect("because it is ours");
        // What was a directory becomes a file, also where an earlier attempt has removed what was in it.
        fs::remove_file(dir.path().join("hooks/lib/part")).expect("because it is ours");
        let lib_file = RepositoryFiles {
            version: 5,
            files: vec![file(b"hooks/lib", 0o644, "a file")],
        };
        deliver(&lib_file, dir.path()).expect("because it is ours");
        assert!(has_file(&dir.path().join("hooks/lib"), &lib_file.files[0]));
        assert!(dir.path().join("conf").exists());
        deliver(&lib_dir, dir.path()).expect("because it is ours");
        // A directory of the node is in the way: the files after it are delivered all the same, and nothing else is left.
        fs::create_dir_all(dir.path().join("conf/authz.d")).expect("because it is ours");
        fs::write(dir.path().join("conf/authz.d/own"), "").expect("because it is ours");
        let blocked = RepositoryFiles {
            version: 6,
            files: vec![
                file(b"conf/authz.d", 0o600, ""),
                file(b"conf/passwd", 0o600, "[users]\n"),
            ],
        };
        assert!(deliver(&blocked, dir.path()).is_err());
        assert_eq!(version_in(dir.path()), Some(4));
        assert!(has_file(&dir.path().join("conf/passwd"), &blocked.files[1]));
        let entries = fs::read_dir(dir.path().join("conf")).expect("because it is ours");
        let mut left: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["authz.d", "passwd"]);
        fs::remove_dir_all(dir.path().join("conf/authz.d")).expect("because it is ours");
        deliver(&blocked, dir.path()).expect("because it is ours");
        assert_eq!(version_in(dir.path()), Some(6));
    }

    #[test]
    fn links_are_followed() {
        let dir = tempfile::tempdir().expect("because there is room");
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, dir.path().join(name)).expect("because it is ours");
        };
        for name in ["conf/a", "hooks", "other/b"] {
            make_dirs(&dir.path().join(name)).expect("because it is ours");
        }
        fs::write(dir.path().join("other/b/file"), "").expect("because it is ours");
        link("../../other", "conf/a/linked");
        link("other/b/file", "hooks/none");
        fs::remove_file(dir.path().join("hooks/none")).expect("because it is ours");
        link("../other/b/file", "hooks/linked");
        let paths = |dir: &Path| -> Result<Vec<PathBuf>> {
            Ok(read_files(dir)?.into_iter().map(|f| f.path).collect())
        };
        let found = paths(dir.path()).expect("because it is ours");
        assert_eq!(
            found,
            [Path::new("conf/a/linked/b/file"), Path::new("hooks/linked")]
        );
        // To nothing, and to itself: left out.
        link("/nonexistent", "hooks/old");
        link("self", "conf/self");
        assert_eq!(paths(dir.path()).expect("because the others are read"), found);
        // Back by another link.
        link("../../conf", "other/b/back");
        assert_eq!(paths(dir.path()).map_err(|e| e.code()), Err(Code::BAD_FILENAME));
    }

    #[test]
    fn no_path_is_a_file_and_a_directory() {
        let check = |paths: &[&str]| check_tree(paths.iter().map(Path::new)).is_ok();
        assert!(check(&["conf/a", "conf/a.b", "conf/b/c", "conf/b/d"]));
        assert!(!check(&["conf/a", "conf/a/b"]));
    }

    #[test]
    fn paths_lead_nowhere_else() {
        for good in ["conf/authz", "hooks/a/b", "conf/.x"] {
            assert!(check_path(Path::new(good)).is_ok(), "{good}");
        }
        for bad in [
            "conf",
            "hooks/../db/format",
            "/conf/x",
            "db/format",
            "",
            "../conf/x",
            "Conf/x",
        ] {
            assert!(check_path(Path::new(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_that_are_not_utf_8_have_a_unique_text() {
        let names: Vec<(String, Option<Vec<u8>>)> = [&b"conf/\xe9"[..], b"conf/\xe8", b"conf/e"]
            .iter()
            .map(|bytes| name_and_bytes(Path::new(OsStr::from_bytes(bytes))))
            .collect();
        assert_ne!(names[0].0, names[1].0);
        assert_eq!(names[0].1.as_deref(), Some(&b"conf/\xe9"[..]));
        assert_eq!(names[2], ("conf/e".to_owned(), None));
    }
}
