//! The options of the file `config` that commands use, with their defaults.

use base::{Code, Result};

use super::RuntimeConfig;
use super::file::parse_within;

/// The names of files that are not added by default.
const GLOBAL_IGNORES: &str = "*.o *.lo *.la *.al .libs *.so *.so.[0-9]* *.a *.pyc *.pyo __pycache__ *.rej *~ #*# .#* .*.swp .DS_Store \
                              [Tt]humbs.db";

impl RuntimeConfig {
    /// Returns the command of the editor for log messages and properties.
    ///
    /// # Errors
    /// As [`super::ConfigFile::text`]; so in all of these functions.
    pub fn editor_cmd(&self) -> Result<Option<String>> {
        self.config.text("helpers", "editor-cmd")
    }

    /// Returns the command of an external diff program.
    ///
    /// # Errors
    /// See [`RuntimeConfig::editor_cmd`].
    pub fn diff_cmd(&self) -> Result<Option<String>> {
        self.config.text("helpers", "diff-cmd")
    }

    /// Returns the options of diffs, such as `-u -p`.
    ///
    /// # Errors
    /// See [`RuntimeConfig::editor_cmd`].
    pub fn diff_extensions(&self) -> Result<Option<String>> {
        self.config.text("helpers", "diff-extensions")
    }

    /// Returns the character set of log messages in files and from editors.
    ///
    /// # Errors
    /// See [`RuntimeConfig::editor_cmd`].
    pub fn log_encoding(&self) -> Result<Option<String>> {
        self.config.text("miscellany", "log-encoding")
    }

    /// Returns the file with MIME types by file name extension; an empty name means none.
    ///
    /// # Errors
    /// See [`RuntimeConfig::editor_cmd`].
    pub fn mime_types_file(&self) -> Result<Option<String>> {
        let path = self.config.text("miscellany", "mime-types-file")?;
        Ok(path.filter(|path| !path.is_empty()))
    }

    /// Returns the patterns of names that are ignored.
    ///
    /// # Errors
    /// See [`RuntimeConfig::editor_cmd`].
    pub fn global_ignores(&self) -> Result<Vec<String>> {
        let own = self.config.text("miscellany", "global-ignores")?;
        let patterns = own.as_deref().unwrap_or(GLOBAL_IGNORES);
        Ok(patterns.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// Returns the budget of the cache of repositories on disk, in bytes.
    ///
    /// # Errors
    /// `ATOMIC_INIT_FAILURE` around `INCORRECT_PARAMS` for what is no number, as where the incumbent reads it.
    pub fn memory_cache_bytes(&self) -> Result<Option<u64>> {
        let Some(text) = self.config.text("miscellany", "memory-cache-size")? else {
            return Ok(None);
        };
        let megabytes = parse_within(&text, 0, i64::MAX, u64::MAX).map_err(|error| {
            let invalid = error.wrap(Code::INCORRECT_PARAMS, "memory-cache-size invalid");
            invalid.wrap(
                Code::ATOMIC_INIT_FAILURE,
                "Couldn't perform atomic initialization",
            )
        })?;
        Ok(Some(megabytes.unsigned_abs().saturating_mul(1 << 20)))
    }

    /// Checks the option about the resolution of conflicts. No command uses it yet.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`.
    pub fn check_interactive_conflicts(&self) -> Result<()> {
        self.config
            .flag("miscellany", "interactive-conflicts", true)
            .map(drop)
    }

    /// True if files get the times of their last commits.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`.
    pub fn use_commit_times(&self) -> Result<bool> {
        self.config.flag("miscellany", "use-commit-times", false)
    }

    /// True if a commit keeps locks.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`.
    pub fn no_unlock(&self) -> Result<bool> {
        self.config.flag("miscellany", "no-unlock", false)
    }

    /// True if new files get the properties of [`RuntimeConfig::auto_props`].
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`.
    pub fn enable_auto_props(&self) -> Result<bool> {
        self.config.flag("miscellany", "enable-auto-props", false)
    }

    /// Returns the patterns of file names, with their properties as written.
    ///
    /// # Errors
    /// See [`RuntimeConfig::editor_cmd`].
    pub fn auto_props(&self) -> Result<Vec<(String, String)>> {
        self.config.section("auto-props")
    }

    /// Returns the commands of tunnels, by their names.
    ///
    /// # Errors
    /// See [`RuntimeConfig::editor_cmd`].
    pub fn tunnels(&self) -> Result<Vec<(String, String)>> {
        let names = self.config.names("tunnels");
        let commands = names.map(|name| {
            let command = self.config.text("tunnels", &name)?;
            Ok((name, command.unwrap_or_default()))
        });
        commands.collect()
    }
}
