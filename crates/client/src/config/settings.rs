//! The options of the file `config` that commands use, with their defaults.

use base::Result;

use super::RuntimeConfig;

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

    /// Returns the file with MIME types by file name extension.
    ///
    /// # Errors
    /// See [`RuntimeConfig::editor_cmd`].
    pub fn mime_types_file(&self) -> Result<Option<String>> {
        self.config.text("miscellany", "mime-types-file")
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
        self.config.section("tunnels")
    }
}
