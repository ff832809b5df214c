//! The output of differences, and the options that say how texts are compared.

use std::borrow::Cow;
use std::cell::RefCell;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;

use base::Result;
use client::config::RuntimeConfig;
use client::diff::{ExternalTexts, PrintOptions, Text, Write};

use crate::diff_program::{self, DiffProgram};
use crate::out::Out;
use base::charset::Charset;

/// How texts are compared.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TextOptions {
    /// let the program ARG compare files
    #[arg(long)]
    pub diff_cmd: Option<OsString>,
    /// compare files without a program, whatever the configuration says
    #[arg(long)]
    pub internal_diff: bool,
    /// options for comparing files, separated by blanks. Without '--diff-cmd':
    ///   -u, --unified: 3 lines of context (default)
    ///   -U ARG, --context ARG: ARG lines of context
    ///   -b, --ignore-space-change: how much white
    ///     space there is does not count
    ///   -w, --ignore-all-space: white space does
    ///     not count
    ///   --ignore-eol-style: how lines end does not
    ///     count
    ///   -p, --show-c-function: name the C function
    ///     around each change
    #[arg(short = 'x', long, verbatim_doc_comment)]
    pub extensions: Option<String>,
}

impl TextOptions {
    /// Returns the options, with those of the configuration area that were not given.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`.
    pub fn with_config(&self, config: &RuntimeConfig) -> Result<TextOptions> {
        let mut options = self.clone();
        if !options.internal_diff && options.diff_cmd.is_none() {
            options.diff_cmd = config.diff_cmd()?.map(OsString::from);
        }
        if options.extensions.is_none() {
            options.extensions = config.diff_extensions()?;
        }
        Ok(options)
    }
}

/// How differences are printed.
#[derive(Clone, Copy, Debug)]
pub struct DiffOutput<'a> {
    /// The options of texts without a program.
    pub texts: diff::DiffOptions,
    /// The program that compares texts.
    pub program: Option<DiffProgram<'a>>,
    /// See [`PrintOptions::git`], as for the other fields.
    pub git: bool,
    pub no_added: bool,
    pub no_deleted: bool,
    pub ignore_properties: bool,
    pub properties_only: bool,
    pub force: bool,
}

impl<'a> DiffOutput<'a> {
    /// Returns the output with these options of texts.
    ///
    /// # Errors
    /// `INVALID_DIFF_OPTION` and `INCORRECT_PARAMS` for a wrong `-x`, if there is no program that it is for.
    pub fn new(options: &'a TextOptions) -> Result<DiffOutput<'a>> {
        let extensions = options.extensions.as_deref();
        let program = options.diff_cmd.as_deref().map(|name| DiffProgram {
            name,
            extensions: extensions.map(OsStr::new),
        });
        let words = match program {
            Some(_) => "",
            None => extensions.unwrap_or_default(),
        };
        Ok(DiffOutput {
            texts: diff::DiffOptions::parse(words.split_ascii_whitespace())?,
            program,
            git: false,
            no_added: false,
            no_deleted: false,
            ignore_properties: false,
            properties_only: false,
            force: false,
        })
    }

    /// Calls `compare` with the options of the library and a function that writes to `out`.
    ///
    /// # Errors
    /// Those of `compare`.
    pub fn print(
        &self,
        out: &mut Out,
        compare: impl FnOnce(&PrintOptions<'_>, Write<'_>) -> Result<()>,
    ) -> Result<()> {
        let charset = out.charset();
        let out = RefCell::new(out);
        let run = |texts: &ExternalTexts<'_>| match self.program {
            Some(program) => run_program(program, texts, *out.borrow_mut()),
            None => Ok(()),
        };
        let encode = |text: &str| encoded(charset, text);
        let options = PrintOptions {
            texts: &self.texts,
            external: self.program.is_some().then_some(&run),
            git: self.git,
            no_added: self.no_added,
            no_deleted: self.no_deleted,
            ignore_properties: self.ignore_properties,
            properties_only: self.properties_only,
            force: self.force,
            encode: &encode,
        };
        compare(&options, &mut |bytes| out.borrow_mut().raw(bytes))
    }
}

/// Returns header text in the character set of the terminal.
///
/// # Errors
/// `errno` 22 if that is not possible: a patch must not have other names than the repository.
fn encoded(charset: Charset, text: &str) -> Result<Vec<u8>> {
    charset.write(text).map(Cow::into_owned)
}

fn run_program(program: DiffProgram<'_>, texts: &ExternalTexts<'_>, out: &mut Out) -> Result<()> {
    let copy = |text: &Text| {
        let made = diff_program::temporary_file(|file| {
            text.each_part(&mut |part| {
                let outcome = file.write_all(part);
                outcome.map_err(|e| diff_program::write_failed(&e))
            })
        });
        made.map(Some)
    };
    // A file of the user's is compared itself: the program may show its name.
    let copies = texts.texts.map(|text| match text.source() {
        Some(_) => Ok(None),
        None => copy(text),
    });
    let [old, new] = copies;
    let copies = [old?, new?];
    let path = |side: usize| match &copies[side] {
        Some(copy) => copy.path(),
        None => texts.texts[side].source().unwrap_or(Path::new("")),
    };
    program.run(texts.labels, [path(0), path(1)], out)
}
