//! `sven cluster files`, `get`, `put`, `push` and `remove`: the configuration and the hooks of a repository, which all nodes have.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base::{Code, Error, Result, disk_path};
use cluster::{RepositoryFile, read_files};

use super::{ConfigOption, operands, os_operands, text};
use crate::local_path;
use crate::out::Out;

/// Lists the configuration and the hooks of a repository: version,
/// then permissions, bytes and path of each file.
#[derive(clap::Args)]
#[command(override_usage = "files [--config FILE] NAME")]
pub(super) struct FilesArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl FilesArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        let [name] = operands::<1>(&self.operands, out)?;
        let cluster = self.config.connect()?;
        let all = cluster.repository_files(&cluster.repository(&name)?)?;
        out.line(&format!("version {}", all.version))?;
        for file in &all.files {
            let (mode, length) = (file.mode, file.content.len());
            out.line(&format!(
                "{mode:03o} {length:>9}  {}",
                disk_path::shown(&file.path)
            ))?;
        }
        Ok(())
    }
}

/// Prints a file of the configuration or a hook. PATH begins with 'conf/' or
/// 'hooks/'.
#[derive(clap::Args)]
#[command(override_usage = "get [--config FILE] NAME PATH")]
pub(super) struct GetArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl GetArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        let [name, path] = os_operands::<2>(&self.operands)?;
        let (name, path) = (text(&name, out)?, PathBuf::from(path));
        let cluster = self.config.connect()?;
        let all = cluster.repository_files(&cluster.repository(&name)?)?;
        match all.get(&path) {
            Some(file) => out.raw(&file.content),
            None => Err(no_file(&name, &path)),
        }
    }
}

/// Replaces a file of the configuration or a hook by standard input, or adds
/// it. PATH begins with 'conf/' or 'hooks/'. Each node has the new file within
/// a second; hooks that run and sessions that have begun go on with the old one.
#[derive(clap::Args)]
#[command(override_usage = "put [--config FILE] [--mode MODE] NAME PATH < FILE")]
pub(super) struct PutArgs {
    #[command(flatten)]
    config: ConfigOption,
    /// permissions of the file, octal; by default those that it has, or 755 for a hook and 644 for another file
    #[arg(long, value_parser = mode)]
    mode: Option<u32>,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl PutArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        let [name, path] = os_operands::<2>(&self.operands)?;
        let (name, path) = (text(&name, out)?, PathBuf::from(path));
        let cluster = self.config.connect()?;
        let repository = cluster.repository(&name)?;
        let mut content = Vec::new();
        io::stdin()
            .lock()
            .take(MOST_CONTENT + 1)
            .read_to_end(&mut content)
            .map_err(|e| Error::os(&e, "Can't read standard input"))?;
        if content.len() as u64 > MOST_CONTENT {
            let text = format!("A file of the configuration has at most {MOST_CONTENT} bytes");
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, text));
        }
        let default = || {
            let known = cluster.repository_files(&repository)?;
            Ok::<u32, Error>(match known.get(&path) {
                Some(file) => file.mode,
                None if path.starts_with("hooks") => 0o755,
                None => 0o644,
            })
        };
        let mode = self.mode.map_or_else(default, Ok)?;
        let file = RepositoryFile { path, mode, content };
        let version = cluster.put_file(&repository, &file)?;
        out.line(&format!(
            "Version {version} of the files of '{name}' has the new '{}'.",
            disk_path::shown(&file.path)
        ))
    }
}

/// Makes the files below 'conf' and 'hooks' of DIR the configuration and the
/// hooks of a repository. What is not there is removed from it.
#[derive(clap::Args)]
#[command(override_usage = "push [--config FILE] NAME DIR")]
pub(super) struct PushArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl PushArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        let [name, dir] = os_operands::<2>(&self.operands)?;
        let name = text(&name, out)?;
        let dir = local_path::canonical(&dir);
        let cluster = self.config.connect()?;
        let repository = cluster.repository(&name)?;
        if !dir.join("conf").is_dir() && !dir.join("hooks").is_dir() {
            let text = format!("'{}' has no 'conf' and no 'hooks'", disk_path::shown(&dir));
            return Err(Error::new(Code::BAD_FILENAME, text));
        }
        let version = cluster.replace_files(&repository, &read_files(&dir)?)?;
        out.line(&format!(
            "The files of '{name}' are those of '{}' (version {version}).",
            disk_path::shown(&dir)
        ))
    }
}

/// Removes a file from the configuration and the hooks of a repository.
#[derive(clap::Args)]
#[command(override_usage = "remove [--config FILE] NAME PATH")]
pub(super) struct RemoveArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl RemoveArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        let [name, path] = os_operands::<2>(&self.operands)?;
        let (name, path) = (text(&name, out)?, PathBuf::from(path));
        let cluster = self.config.connect()?;
        let version = cluster.remove_file(&cluster.repository(&name)?, &path)?;
        out.line(&format!(
            "Version {version} of the files of '{name}' is without '{}'.",
            disk_path::shown(&path)
        ))
    }
}

fn no_file(name: &str, path: &Path) -> Error {
    let text = format!("'{name}' has no file '{}'", disk_path::shown(path));
    Error::new(Code::BAD_FILENAME, text)
}

fn mode(text: &str) -> std::result::Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err(format!("'{text}' is not between 000 and 777")),
    }
}

/// Bytes of a file that `put` accepts.
const MOST_CONTENT: u64 = 64 << 20;
