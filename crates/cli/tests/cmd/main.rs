//! The outputs of Sven's tools, compared with those of the incumbent's tools byte by byte.

#![expect(clippy::print_stdout, reason = "a generator prints its seeds")]
#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod arguments;
mod branches;
mod configuration;
mod convert;
mod convert_incremental;
mod damage;
mod damaged_files;
mod dumpfilter;
mod fsx;
mod fsx_stats;
mod ignorable_output;
mod index;
mod install_links;
mod loading;
mod long_runs;
mod mergeinfo;
mod odd_states;
mod ordinary_user;
mod random;
mod script;
mod streams;
mod svnadmin;
mod svnadmin_write;
mod svnauthz;
mod svnfsfs;
mod svnlook;
mod svnversion;
