//! `sven`: Subversion's server, its tools and its client programs in one program.
//!
//! The name under which it is started decides which tool it is (`svnadmin`, `svnlook`, …: links made by `sven install-links`);
//! started as `sven`, the first word does (`sven admin`, `sven svnadmin`). A tool takes the incumbent's arguments and prints
//! the incumbent's output; help texts are ours.
//!
//! [`args`] parses argument lists, [`out`] prints, [`locale`] reads the terminal's character set, [`progress`] shows
//! the progress of long operations.
//! Each tool is a folder, each subcommand a file in it.

mod args;
mod check_config;
mod client_context;
mod cluster;
mod config;
mod convert;
mod date_text;
mod diff_program;
mod fsx;
mod import_config;
mod index;
mod install_links;
mod interrupt;
mod local_path;
mod locale;
mod lock_text;
mod out;
mod own_command;
#[cfg(any(test, feature = "package-files"))]
mod package_files;
mod process_owner;
mod progress;
mod sasl_folders;
mod serve;
mod svn;
mod svnadmin;
mod svnauthz;
mod svnbench;
mod svndumpfilter;
mod svnfsfs;
mod svnlook;
mod svnmucc;
mod svnrdump;
mod svnserve;
mod svnsync;
mod svnversion;
mod temporary_directory;
mod time_zone;
mod tool_runner;
mod version;
mod xml;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use base::checksum::{self, InstructionSet};
use clap::{Command, CommandFactory as _};
use out::Out;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One of the tools that are in this program.
struct Personality {
    /// The incumbent's name: the link's name, also accepted as the first word.
    name: &'static str,
    /// The shorter first word.
    word: &'static str,
    /// The description in `sven help`.
    about: &'static str,
    /// The function that runs the tool with the words after its name.
    run: fn(Out, Vec<OsString>) -> ExitCode,
    /// The section of its man page.
    #[cfg_attr(
        not(any(test, feature = "package-files")),
        expect(dead_code, reason = "for man pages and completions")
    )]
    section: u8,
    /// The definition of its subcommands and options, for man pages and completions.
    #[cfg_attr(
        not(any(test, feature = "package-files")),
        expect(dead_code, reason = "for man pages and completions")
    )]
    command: fn() -> Command,
}

const PERSONALITIES: &[Personality] = &[
    Personality {
        name: "svn",
        word: "svn",
        about: "read and change repositories, without a working copy",
        run: svn::run,
        section: 1,
        command: svn::SvnCli::command,
    },
    Personality {
        name: "svnadmin",
        word: "admin",
        about: "administer a repository",
        run: svnadmin::run,
        section: 1,
        command: svnadmin::SvnAdminCli::command,
    },
    Personality {
        name: "svnauthz",
        word: "authz",
        about: "check an authz file, and what it grants",
        run: svnauthz::run,
        section: 1,
        command: svnauthz::SvnAuthzCli::command,
    },
    Personality {
        name: "svnauthz-validate",
        word: "authz-validate",
        about: "check an authz file",
        run: svnauthz::run_validate,
        section: 1,
        command: svnauthz::validate_command,
    },
    Personality {
        name: "svnbench",
        word: "bench",
        about: "measure the answers of a server",
        run: svnbench::run,
        section: 1,
        command: svnbench::SvnbenchCli::command,
    },
    Personality {
        name: "svndumpfilter",
        word: "dumpfilter",
        about: "leave nodes out of a dump stream",
        run: svndumpfilter::run,
        section: 1,
        command: svndumpfilter::SvnDumpFilterCli::command,
    },
    Personality {
        name: "svnfsfs",
        word: "fsfs",
        about: "examine how a repository is stored",
        run: svnfsfs::run,
        section: 1,
        command: svnfsfs::SvnFsfsCli::command,
    },
    Personality {
        name: "svnlook",
        word: "look",
        about: "look into a repository",
        run: svnlook::run,
        section: 1,
        command: svnlook::SvnLookCli::command,
    },
    Personality {
        name: "svnmucc",
        word: "mucc",
        about: "change several URLs of a repository in one commit",
        run: svnmucc::run,
        section: 1,
        command: svnmucc::SvnmuccArgs::command,
    },
    Personality {
        name: "svnrdump",
        word: "rdump",
        about: "dump and load repositories over the network",
        run: svnrdump::run,
        section: 1,
        command: svnrdump::SvnrdumpCli::command,
    },
    Personality {
        name: "svnserve",
        word: "svnserve",
        about: "serve repositories over svn://",
        run: svnserve::run,
        section: 8,
        command: svnserve::SvnserveArgs::command,
    },
    Personality {
        name: "svnsync",
        word: "sync",
        about: "mirror repositories",
        run: svnsync::run,
        section: 1,
        command: svnsync::SvnsyncCli::command,
    },
    Personality {
        name: "svnversion",
        word: "version",
        about: "identify the revisions of a working copy",
        run: svnversion::run,
        section: 1,
        command: svnversion::SvnversionArgs::command,
    },
];

fn main() -> ExitCode {
    locale::charset().set_of_process();
    temporary_directory::choose();
    // A file that reaches the limit of its size is an error of the write, as in the incumbent. Without the handler the signal ends the
    // process, which cannot remove what it began. If that fails, it is so.
    _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let mut argv = env::args_os();
    let called = argv.next().unwrap_or_default();
    let called = Path::new(&called).file_stem().unwrap_or_default().to_owned();
    let argv: Vec<OsString> = argv.collect();
    if let Err(message) = limit_instruction_set() {
        Out::new("sven").print_stderr(&format!("sven: {INSTRUCTION_SET}: {message}\n"));
        return ExitCode::FAILURE;
    }
    match PERSONALITIES.iter().find(|tool| called == tool.name) {
        Some(tool) => (tool.run)(Out::new(tool.name), argv),
        None => sven(argv),
    }
}

/// The environment variable that limits the vector instructions of digests, for measurements and tests.
const INSTRUCTION_SET: &str = "SVEN_INSTRUCTION_SET";

/// Limits the digests to the instructions that the environment names, if it does.
fn limit_instruction_set() -> Result<(), String> {
    let Some(name) = env::var_os(INSTRUCTION_SET) else {
        return Ok(());
    };
    let name = name.to_string_lossy();
    let set = InstructionSet::parse(&name)
        .ok_or_else(|| format!("'{name}' is none of portable, avx2 and avx512"))?;
    checksum::limit_instruction_set(set)
}

/// Runs the program under its own name.
fn sven(mut argv: Vec<OsString>) -> ExitCode {
    let mut out = Out::new("sven");
    if argv.is_empty() {
        out.print_stderr("Type 'sven help' for usage.\n");
        return ExitCode::FAILURE;
    }
    let word = argv.remove(0);
    let word: &OsStr = &word;
    if let Some(tool) = PERSONALITIES
        .iter()
        .find(|tool| word == tool.name || word == tool.word)
    {
        // Messages begin with what was typed, so that the command that they advise can be typed too.
        let typed = if word == tool.word { tool.word } else { tool.name };
        return (tool.run)(Out::new(format!("sven {typed}")), argv);
    }
    let outcome = match word.to_str() {
        Some("help" | "--help" | "-h" | "-?") => out.print(&usage()),
        Some("--version") => {
            let quiet = argv.iter().any(|word| word == "-q" || word == "--quiet");
            out.print(&version::text("sven", quiet))
        }
        Some("serve") => return serve::run(Out::new("sven serve"), argv),
        Some("cluster") => return cluster::run(Out::new("sven cluster"), argv),
        Some("check-config") => return check_config::run(Out::new("sven check-config"), argv),
        Some("convert") => return convert::run(Out::new("sven convert"), argv),
        Some("fsx") => return fsx::run(Out::new("sven fsx"), argv),
        Some("import-config") => return import_config::run(Out::new("sven import-config"), argv),
        Some("index") => return index::run(Out::new("sven index"), argv),
        Some("install-links") => return install_links::run(Out::new("sven install-links"), argv),
        #[cfg(feature = "package-files")]
        Some("package-files") => package_files::run(&argv),
        _ => {
            let text = format!(
                "Unknown subcommand: '{}'\nType 'sven help' for usage.\n",
                word.to_string_lossy()
            );
            out.print_stderr(&text);
            return ExitCode::FAILURE;
        }
    };
    out.finish(outcome.map(|()| ExitCode::SUCCESS))
}

fn usage() -> String {
    let mut text = String::from(
        "usage: sven COMMAND [ARGS & OPTIONS ...]\n\
         Subversion's server, its tools and its client programs in one program.\n\n\
         'sven COMMAND --help' explains a command, 'sven --version' tells the version.\n\
         Started under the name of one of Subversion's tools (see 'install-links'), sven is that tool.\n\n\
         Messages begin with the command as it was typed, otherwise they are the tool's: 'sven admin: E160013: ...',\n\
         under the link's name 'svnadmin: E160013: ...'. What reads them should start sven through a link.\n\nCommands:\n",
    );
    let mut row = |word: &str, about: &str| text.push_str(&format!("   {word:20} {about}\n"));
    row(
        "serve ROOT",
        "serve every repository below ROOT, without any configuration",
    );
    row(
        "serve --config FILE",
        "serve what a configuration file says, over svn:// and http://",
    );
    row(
        "serve --demo",
        "serve a small repository made for the occasion, and say what to try",
    );
    row(
        "check-config FILE",
        "look for mistakes in a configuration file, and say what it would serve",
    );
    row(
        "import-config",
        "write a configuration file that serves what Apache or svnserve serves",
    );
    row(
        "cluster",
        "set up and look after repositories that several machines share",
    );
    row(
        "convert",
        "make a repository of another storage engine or format from a repository",
    );
    row(
        "fsx stats",
        "print how much room the parts of a repository of FSX take",
    );
    row(
        "index REPOS_PATH",
        "build or extend the history index of a repository",
    );
    for tool in PERSONALITIES {
        let about = if tool.word == tool.name {
            format!("{}, with that tool's arguments", tool.about)
        } else {
            format!("{}, with the arguments of {}", tool.about, tool.name)
        };
        row(tool.word, &about);
    }
    row(
        "install-links DIR",
        "make links in DIR that start sven under the tools' names",
    );
    text.push('\n');
    text
}

/// Returns the names of all tools: the names of the links.
fn tool_names() -> impl Iterator<Item = &'static str> {
    PERSONALITIES.iter().map(|tool| tool.name)
}
