//! Files that options name: of targets, messages and values.

use std::fs::File;
use std::io::Read as _;

use base::{Error, Result};

/// `--targets`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TargetsOption {
    /// read further targets from file ARG, one a line
    #[arg(long, value_parser = parse_input_file)]
    pub targets: Option<InputFile>,
}

/// A file that an option names, which can be opened. `-` is standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile(String);

/// Parses the argument of `-F` and `--targets`. The file is opened, because the incumbent reads it at this point: a file that
/// cannot be opened is reported before other errors.
///
/// # Errors
/// `errno`.
pub fn parse_input_file(text: &str) -> Result<InputFile> {
    let file = InputFile(if text.is_empty() {
        ".".to_owned()
    } else {
        text.to_owned()
    });
    if text == "-" || is_pipe(text) {
        return Ok(file);
    }
    if text.is_empty() {
        let missing = std::io::Error::from_raw_os_error(2);
        return Err(Error::io("Can't open file", ".".as_ref(), &missing));
    }
    match File::open(&file.0) {
        Ok(_) => Ok(file),
        Err(error) => Err(Error::io("Can't open file", file.0.as_ref(), &error)),
    }
}

impl InputFile {
    /// Reads the file. To be called once, because standard input and pipes can be read once.
    ///
    /// # Errors
    /// `errno`.
    pub fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.0 == "-" {
            return match std::io::stdin().lock().read_to_end(&mut bytes) {
                Ok(_) => Ok(bytes),
                Err(error) => Err(Error::os(&error, "Can't read stream")),
            };
        }
        let mut file =
            File::open(&self.0).map_err(|error| Error::io("Can't open file", self.0.as_ref(), &error))?;
        match file.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(Error::io("Can't read file", self.0.as_ref(), &error)),
        }
    }
}

/// True for a named pipe, which must not be opened twice.
fn is_pipe(path: &str) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}
