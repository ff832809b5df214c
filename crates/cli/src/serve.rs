//! `sven serve`: serves a directory of repositories (or one repository), or what a configuration file describes.
//!
//! Without a configuration file, the `svnserve.conf` of each repository applies; without that all users may read.
//! Options override the configuration file. `--demo` makes a small repository with some history, serves it to this
//! machine alone and prints commands to try.
//!
//! [`listeners`] opens the sockets, [`activation`] takes those that systemd passes, [`running`] runs the server and
//! reloads its settings, [`shared_storage`] tells it the state of a cluster, [`error_log`] writes the log, [`notify`] reports the state to systemd, [`discovery`] lists
//! the served repositories for the terminal.

mod activation;
mod discovery;
mod error_log;
mod listeners;
mod notify;
mod running;
mod shared_storage;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Cancel, Date, Error, Result};
use clap::{CommandFactory as _, Parser};
use cluster::{Cluster, ClusterSettings};
use repos::{Cache, CreateOptions, Repository, load};
use rustix::io::Errno;
use server::config::Source;
use server::{Listener, Stop};

use crate::args::ArgumentError;
use crate::args::help::options;
use crate::args::option::CacheSizeOption;
use crate::config::Config;
use crate::config::address::ListenAddress;
use crate::config::file::{ConfigFile, ListenTable};
use crate::config::resolve::Settings;
use crate::config::value::{OneOrMany, Size};
use crate::out::Out;
use crate::own_command;
use listeners::Listeners;

/// Serves every repository below ROOT, or ROOT itself.
#[derive(Clone, Debug, Parser)]
#[command(name = "serve")]
pub struct ServeArgs {
    /// address to serve svn:// on, as HOST:PORT, HOST, :PORT or PORT; every address and port 3690 if no other address is given
    #[arg(long, value_name = "ADDR")]
    svn: Vec<String>,
    /// address to serve http:// on; port 8080 unless it says another
    #[arg(long, value_name = "ADDR")]
    http: Vec<String>,
    /// address to serve https:// on; port 8443 unless it says another. The certificate is named in the configuration file
    #[arg(long, value_name = "ADDR")]
    https: Vec<String>,
    /// serve as file ARG says; SIGHUP reads it again
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// make a small repository, serve it to this machine and say what to try
    #[arg(long)]
    demo: bool,
    /// nobody may write
    #[arg(short = 'R', long)]
    read_only: bool,
    #[command(flatten)]
    memory: CacheSizeOption,
    /// explain this command
    #[arg(id = "help", short = 'h', short_alias = '?', long = "help")]
    help: bool,
    #[arg(hide = true)]
    root: Vec<PathBuf>,
}

/// The dump stream of the demonstration's repository.
const DEMO: &[u8] = include_bytes!("../data/demo.dump");

/// Runs the command with the words after its name.
pub fn run(out: Out, argv: Vec<OsString>) -> ExitCode {
    own_command::run(out, argv, |given: ServeArgs, out| {
        given.run(out).map(|()| ExitCode::SUCCESS)
    })
}

impl ServeArgs {
    fn run(&self, out: &mut Out) -> std::result::Result<(), ArgumentError> {
        if self.help {
            out.print(&help())?;
            return Ok(());
        }
        if self.demo {
            let folder = tempfile::Builder::new()
                .prefix("sven-demo-")
                .tempdir()
                .map_err(|e| Error::os(&e, "Can't create a temporary directory"))?;
            return Ok(self.run_demo(folder.path(), out)?);
        }
        let passed = activation::take_passed_sockets()?;
        if self.root.len() > 1 || (self.root.is_empty() && self.config.is_none()) {
            return Err(ArgumentError::Plain(
                "Give the directory to serve, or --config FILE, or --demo.".to_owned(),
            ));
        }
        let config = self.config()?;
        // Repositories of the cluster are served from the directory of this node, which is made ready first: it may be the root.
        let cluster = serve_cluster(&config)?;
        let settings = resolve(&config)?;
        let listeners = Listeners::open(&settings, passed)?;
        self.print_served(&settings, &listeners, out)?;
        let (this, started) = (self.clone(), settings.cluster.clone());
        let reload: Option<running::ReloadSettings> = match self.config {
            Some(_) => Some(Box::new(move || this.settings_of_reload(started.as_ref()))),
            None => None,
        };
        let storage = cluster.clone().map(shared_storage::of_cluster);
        let stop = Stop::new()?;
        if let Some(cluster) = &cluster {
            let stop = stop.clone();
            cluster.on_restored_database(move || stop.stop());
        }
        running::run(settings, listeners, storage, reload, &stop)?;
        cluster.map_or(Ok(()), |cluster| Ok(cluster.check_database()?))
    }

    /// Returns the settings of the configuration file and the command line together.
    fn settings(&self) -> Result<Settings> {
        resolve(&self.config()?)
    }

    /// As [`ServeArgs::settings`], for a server that has begun to serve as the node `started` of a cluster: it goes on to serve the repositories of that one.
    fn settings_of_reload(&self, started: Option<&ClusterSettings>) -> Result<Settings> {
        let mut config = self.config()?;
        if let Some(started) = started {
            let root = &mut config.file.serve.root;
            root.get_or_insert_with(|| started.repositories());
        }
        resolve(&config)
    }

    /// Returns the configuration file with what the command line changes.
    fn config(&self) -> Result<Config> {
        let many = |texts: &[String], port: u16| -> Result<Option<OneOrMany>> {
            let addresses = texts.iter().map(|text| ListenAddress::parse(text, port));
            let addresses: Result<Vec<String>> = addresses.map(|a| a.map(|a| a.to_string())).collect();
            Ok((!texts.is_empty()).then_some(OneOrMany(addresses?)))
        };
        let listen = ListenTable {
            svn: many(&self.svn, PORT)?,
            http: many(&self.http, HTTP_PORT)?,
            https: many(&self.https, HTTPS_PORT)?,
        };
        let mut root = None;
        if let Some(given) = self.root.first() {
            let whole = given.canonicalize();
            root = Some(whole.map_err(|e| Error::io("Can't open directory", given, &e))?);
        }
        let (read_only, memory) = (self.read_only, self.memory.given());
        let change = |file: &mut ConfigFile| {
            let ListenTable { svn, http, https } = listen;
            file.listen.svn = svn.or(file.listen.svn.take());
            file.listen.http = http.or(file.listen.http.take());
            file.listen.https = https.or(file.listen.https.take());
            file.serve.root = root.or(file.serve.root.take());
            if read_only {
                file.serve.read_only = Some(true);
            }
            // 0 means that the machine's memory is unknown: then the default applies.
            if let Some(bytes) = memory.filter(|bytes| *bytes > 0) {
                file.cache.memory = Some(Size(bytes));
            }
        };
        Ok(match &self.config {
            Some(path) => Config::read_with(path, change)?,
            None => Config::without_file(change)?,
        })
    }

    /// Prints one line for each URL, followed by the repositories there.
    fn print_served(&self, settings: &Settings, listeners: &Listeners, out: &mut Out) -> Result<()> {
        for (scheme, listeners) in listeners.public() {
            let default = default_port(scheme);
            for listener in listeners {
                let url = discovery::url(scheme, listener.address()?, default);
                if let ("svn", Some(root)) = (scheme, &settings.root) {
                    print_location(out, &url, root)?;
                    continue;
                }
                for location in &settings.web.locations {
                    let (Source::Repository(path) | Source::Parent(path)) = &location.source;
                    let prefix =
                        discovery::percent_encoded(Path::new(location.prefix.trim_start_matches('/')));
                    let slash = if prefix.is_empty() { "" } else { "/" };
                    print_location(out, &format!("{url}{prefix}{slash}"), path)?;
                }
            }
        }
        out.flush()?;
        if let (Some(root), true) = (&settings.root, self.config.is_none())
            && let (found, true) = discovery::repositories(root)
            && found.is_empty()
        {
            let warning = format!(
                "There is no repository in '{}' yet. One that is made there is served at once: svnadmin create '{}'",
                root.display(),
                root.join("NAME").display()
            );
            let program = out.program().to_owned();
            out.print_stderr(&format!("{program}: warning: {warning}\n"));
        }
        Ok(())
    }

    /// Makes the demonstration in `folder`, prints what to try, and serves it.
    fn run_demo(&self, folder: &Path, out: &mut Out) -> Result<()> {
        make_demo_repository(folder)?;
        let listeners = Listeners {
            svn: vec![self.demo_listener(&self.svn, PORT)?],
            http: vec![self.demo_listener(&self.http, HTTP_PORT)?],
            ..Listeners::default()
        };
        let address = |list: &[Listener]| list.iter().map(Listener::address).collect::<Result<Vec<_>>>();
        let svn = discovery::url("svn", address(&listeners.svn)?[0], PORT);
        let web = discovery::url("http", address(&listeners.http)?[0], 80);
        out.print(&demo_text(&svn, &web))?;
        out.flush()?;
        let this = ServeArgs {
            root: vec![folder.to_owned()],
            config: None,
            ..self.clone()
        };
        running::run(this.settings()?, listeners, None, None, &Stop::new()?)
    }

    /// Returns a listener on the protocol's port, or on a free port if that one is in use, so that the demonstration
    /// always starts.
    fn demo_listener(&self, asked: &[String], port: u16) -> Result<Listener> {
        if let Some(asked) = asked.first() {
            return ListenAddress::parse(asked, port)?.bind();
        }
        Listener::bind(Some(LOOPBACK), port, false).or_else(|_| Listener::bind(Some(LOOPBACK), 0, false))
    }
}

/// Begins to serve as a node of the cluster that the configuration names, if it names one.
fn serve_cluster(config: &Config) -> Result<Option<Cluster>> {
    let Some(settings) = config.cluster()? else {
        return Ok(None);
    };
    let cluster = Cluster::connect(&settings)?;
    cluster.serve()?;
    Ok(Some(cluster))
}

fn resolve(config: &Config) -> Result<Settings> {
    let settings = config.resolve()?;
    settings.root.as_deref().map_or(Ok(()), check_directory)?;
    Ok(settings)
}

/// Returns an error if `path` is no directory.
fn check_directory(path: &Path) -> Result<()> {
    let is_dir = path.metadata().and_then(|meta| match meta.is_dir() {
        true => Ok(()),
        false => Err(Errno::NOTDIR.into()),
    });
    is_dir.map_err(|e| Error::io("Can't open directory", path, &e))
}

/// Prints a URL at which repositories are served, and the first of them.
fn print_location(out: &mut Out, url: &str, root: &Path) -> Result<()> {
    let what = match Repository::is_repository(root) {
        true => "the repository",
        false => "repositories below",
    };
    out.line(&format!("Serving {what} '{}' at {url}", root.display()))?;
    let (found, all) = discovery::repositories(root);
    let named = found.iter().filter(|name| !name.as_os_str().is_empty());
    for name in named.take(discovery::SHOWN) {
        out.line(&format!("  {url}{}", discovery::percent_encoded(name)))?;
    }
    if found.len() > discovery::SHOWN || (!all && !found.is_empty()) {
        out.line("  and more")?;
    }
    Ok(())
}

/// Returns the port that a URL of this scheme can omit.
fn default_port(scheme: &str) -> u16 {
    match scheme {
        "http" => 80,
        "https" => 443,
        _ => PORT,
    }
}

const LOOPBACK: &str = "127.0.0.1";
const PORT: u16 = 3690;
/// The default ports of `sven serve`: only root may bind the standard ports 80 and 443.
const HTTP_PORT: u16 = 8080;
const HTTPS_PORT: u16 = 8443;

/// Makes the demonstration's repository in `folder`.
///
/// # Errors
/// Errors of the file system.
fn make_demo_repository(folder: &Path) -> Result<PathBuf> {
    let repository = folder.join("demo");
    repos::create(&repository, &CreateOptions::default(), now())?;
    let made = Repository::open(&repository, &Cache::new(1 << 20))?;
    let clock: load::Clock = Arc::new(now);
    load::run(
        &made,
        DEMO,
        &load::LoadOptions::default(),
        &mut SilentObserver,
        &Cancel::new(),
        &clock,
    )?;
    Ok(repository)
}

fn now() -> Date {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Date(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Ignores the progress of making the demonstration.
struct SilentObserver;

impl load::LoadObserver for SilentObserver {
    fn event(&mut self, _event: load::LoadEvent) -> Result<()> {
        Ok(())
    }
}

fn demo_text(svn: &str, web: &str) -> String {
    let (url, web) = (format!("{svn}demo"), format!("{web}demo"));
    format!(
        "A small repository is being served until you press Ctrl-C. Try, in another terminal:\n\n\
         \x20   svn log -v {url}\n\
         \x20   svn list -R {url}\n\
         \x20   svn checkout {url}/trunk sven-demo\n\
         \x20   svn blame {url}/trunk/README.txt\n\
         \x20   svn diff -c 3 {url}\n\n\
         The same over HTTP, for clients and browsers: {web}\n\n"
    )
}

fn help() -> String {
    let mut text = String::from(
        "usage: sven serve [--svn ADDR]... [--http ADDR]... ROOT\n       sven serve --config FILE [ROOT]\n       sven serve --demo\n\
         Serves every repository below ROOT, or ROOT itself, without any configuration:\n\
         what a repository's own conf/svnserve.conf says holds. With --config, FILE says\n\
         what is served, how and to whom; options win over it. 'sven check-config' looks\n\
         for mistakes in it, 'sven import-config' makes one from Apache's or svnserve's.\n\n",
    );
    text.push_str(&options(&ServeArgs::command()));
    text
}
