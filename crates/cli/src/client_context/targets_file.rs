//! The file of `--targets`.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::Path;

use base::{Error, Result};

use base::charset::Charset;

/// `--targets`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TargetsOption {
    /// read further targets from file ARG, one a line
    #[arg(long, value_parser = parse_targets_file)]
    pub targets: Option<TargetsFile>,
}

/// A file with targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetsFile {
    /// The text of a file, up to its first NUL.
    Text(String),
    /// A pipe, which can be read once and is read later. `-` is standard input.
    Pipe(String),
}

/// Parses the argument of `--targets`. The file is read, as the incumbent reads it at this point: an error is reported before other
/// errors.
///
/// # Errors
/// `errno`; 22 for text in another character set.
pub fn parse_targets_file(name: &str) -> Result<TargetsFile> {
    if name == "-" || is_pipe(name) {
        return Ok(TargetsFile::Pipe(name.to_owned()));
    }
    if name.is_empty() {
        let missing = std::io::Error::from_raw_os_error(2);
        return Err(Error::io("Can't open file", ".".as_ref(), &missing));
    }
    text_of(&read(Path::new(name))?).map(TargetsFile::Text)
}

impl TargetsFile {
    /// Returns the targets. To be called once, because pipes can be read once.
    ///
    /// # Errors
    /// As [`parse_targets_file`].
    pub fn read(&self) -> Result<Vec<String>> {
        let text = match self {
            TargetsFile::Text(text) => text.clone(),
            TargetsFile::Pipe(name) if name == "-" => {
                let mut bytes = Vec::new();
                let read = std::io::stdin().lock().read_to_end(&mut bytes);
                read.map_err(|error| Error::os(&error, "Can't read stream"))?;
                text_of(&bytes)?
            }
            TargetsFile::Pipe(name) => text_of(&read(Path::new(name))?)?,
        };
        let is_blank = |letter: char| letter.is_ascii_whitespace() || letter == '\x0b';
        let lines = text.split(['\n', '\r']).map(|line| line.trim_matches(is_blank));
        Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut file = std::fs::File::open(path).map_err(|error| Error::io("Can't open file", path, &error))?;
    let mut bytes = Vec::new();
    match file.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Error::io("Can't read file", path, &error)),
    }
}

fn text_of(bytes: &[u8]) -> Result<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Charset::of_process().read(&bytes[..end]).map(Cow::into_owned)
}

/// True for a named pipe, which must not be opened twice.
fn is_pipe(path: &str) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}
