//! The cells of the matrix: one job under one set of conditions.

use std::fmt;

use clap::ValueEnum;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Job {
    /// `svnadmin dump`.
    Dump,
    /// `svnadmin load`.
    Load,
    /// `svnadmin verify`.
    Verify,
    /// `svnadmin pack`.
    Pack,
    /// `svn export` of the trunk.
    Export,
    /// `svn import` of a source tree.
    Import,
    /// `svn log -v` of the repository.
    LogAll,
    /// `svn log` of a directory.
    LogDirectory,
    /// `svn log` of a file.
    LogFile,
    /// `svn blame` of a file with at least 500 revisions.
    Blame,
    /// `svn list -R` of the trunk.
    List,
    /// `svnbench null-export`.
    NullExport,
    /// `svnbench null-log -v`.
    NullLog,
    /// `svnbench null-blame`.
    NullBlame,
    /// `svnbench null-list -R`.
    NullList,
    /// `svnbench null-info -R`.
    NullInfo,
}

impl Job {
    /// True for jobs of tools that open the repository themselves.
    pub fn is_administration(self) -> bool {
        matches!(self, Job::Dump | Job::Load | Job::Verify | Job::Pack)
    }

    /// The description in tables.
    pub fn title(self) -> &'static str {
        match self {
            Job::Dump => "svnadmin dump",
            Job::Load => "svnadmin load",
            Job::Verify => "svnadmin verify",
            Job::Pack => "svnadmin pack",
            Job::Export => "svn export of the trunk",
            Job::Import => "svn import of a source tree",
            Job::LogAll => "svn log -v of all",
            Job::LogDirectory => "svn log of a directory",
            Job::LogFile => "svn log of a file",
            Job::Blame => "svn blame of a file with 520 revisions",
            Job::List => "svn list -R of the trunk",
            Job::NullExport => "svnbench null-export of the trunk",
            Job::NullLog => "svnbench null-log -v of all",
            Job::NullBlame => "svnbench null-blame of a file with 520 revisions",
            Job::NullList => "svnbench null-list -R of the trunk",
            Job::NullInfo => "svnbench null-info -R of the trunk",
        }
    }
}

/// The back end and the format of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Format {
    /// FSFS of Subversion 1.8.
    #[value(name = "6")]
    Fsfs6,
    /// FSFS of Subversion 1.9.
    #[value(name = "7")]
    Fsfs7,
    /// FSFS of Subversion 1.10 and later.
    #[value(name = "8")]
    Fsfs8,
    /// FSX.
    #[value(name = "fsx")]
    Fsx,
}

impl Format {
    /// Returns the arguments with which `svnadmin create` makes it.
    pub fn create_args(self) -> [&'static str; 2] {
        match self {
            Format::Fsfs6 => ["--compatible-version", "1.8"],
            Format::Fsfs7 => ["--compatible-version", "1.9"],
            Format::Fsfs8 => ["--compatible-version", "1.10"],
            Format::Fsx => ["--fs-type", "fsx"],
        }
    }

    /// True if servers have an option to read it in blocks.
    pub fn has_block_read(self) -> bool {
        matches!(self, Format::Fsfs7 | Format::Fsfs8)
    }
}

/// How the client reaches the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Access {
    /// Through the file system.
    File,
    /// `svn://`.
    Svn,
    /// `http://`: Apache and Sven.
    Http,
}

/// Where the repository is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Medium {
    /// The file system of the directory of workloads.
    Disk,
    /// A RAM disk.
    Ram,
}

/// What is in memory before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Temperature {
    /// The server has just been started, and the page cache is dropped where that is allowed.
    Cold,
    /// The same job has run before.
    Hot,
}

/// The conditions of a row: everything but the implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// What is done.
    pub job: Job,
    /// The back end and the format of the repository.
    pub format: Format,
    /// Whether it is packed.
    pub is_packed: bool,
    /// The cache of the tool or the server, in MiB.
    pub cache: u32,
    /// How the client reaches it.
    pub access: Access,
    /// Where it is.
    pub medium: Medium,
    /// What is in memory.
    pub temperature: Temperature,
}

/// An implementation, client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Implementation {
    /// Sven's.
    Sven,
    /// Subversion's; its servers read items one by one.
    Subversion,
    /// Subversion's; its servers read blocks.
    SubversionBlockRead,
}

impl Implementation {
    /// All of them.
    pub const ALL: [Implementation; 3] = [
        Implementation::Sven,
        Implementation::Subversion,
        Implementation::SubversionBlockRead,
    ];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Implementation::Sven => "sven",
            Implementation::Subversion => "subversion",
            Implementation::SubversionBlockRead => "subversion with block read",
        }
    }
}

impl Row {
    /// Returns the implementations that differ under these conditions. Servers alone have the option for block reads, and
    /// only formats 7 and 8 of FSFS know blocks.
    pub fn implementations(&self) -> Vec<Implementation> {
        let mut all = vec![Implementation::Sven, Implementation::Subversion];
        if self.format.has_block_read() && self.access != Access::File {
            all.push(Implementation::SubversionBlockRead);
        }
        all
    }
}

/// The row as an identifier in files, such as `null-log/8/packed/256/svn/disk/cold`.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packed = if self.is_packed { "packed" } else { "unpacked" };
        write!(
            f,
            "{}/{}/{packed}/{}/{}/{}/{}",
            word(self.job),
            word(self.format),
            self.cache,
            word(self.access),
            word(self.medium),
            word(self.temperature)
        )
    }
}

/// Returns the word of a value on the command line and in files.
pub fn word(value: impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or(String::new(), |value| value.get_name().to_owned())
}
