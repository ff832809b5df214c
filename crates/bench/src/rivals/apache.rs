//! HTTP servers: Sven, and Apache with mod_dav_svn, with the same repositories, cache and compression.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::SvenBinary;
use super::servers::{StartedServer, free_port, launch};

/// Debian's directory of Apache's modules.
const MODULES: &str = "/usr/lib/apache2/modules";
/// The modules to load.
const LOADED: [&str; 6] = ["mpm_event", "authn_core", "authz_core", "mime", "dav", "dav_svn"];

/// The settings that both servers have.
#[derive(Clone, Copy, Debug)]
pub struct HttpSettings {
    /// The level of compression of texts, 0 to 9.
    pub level: u8,
    /// The cache, in MiB.
    pub cache: u32,
    /// Whether Apache reads blocks; Sven decides itself.
    pub block_read: bool,
}

impl HttpSettings {
    /// Returns the settings of the measurements with a large cache.
    pub fn large_cache(level: u8) -> HttpSettings {
        HttpSettings {
            level,
            cache: 1024,
            block_read: false,
        }
    }
}

/// Starts Sven for the repositories below `root`, with write access for everyone.
///
/// # Errors
/// If it does not listen within ten seconds.
pub fn start_sven(
    sven: &SvenBinary,
    root: &Path,
    settings: HttpSettings,
    scratch: &Path,
) -> Result<StartedServer, String> {
    let port = free_port()?;
    let HttpSettings { level, cache, .. } = settings;
    let text = format!(
        "[listen]\nhttp = \"127.0.0.1:{port}\"\n[compression]\nlevel = {level}\ngzip = false\n[cache]\nmemory = \"{cache} MiB\"\n\
         [[location]]\npath = \"/svn\"\nparent = {:?}\nanonymous = true\n",
        root.display().to_string()
    );
    // Anonymous users may only read by default, and the benchmark's clients are anonymous.
    let rules = "[/]\n* = rw\n";
    write(&scratch.join("authz"), rules)?;
    let text = format!(
        "{text}authz = {:?}\n",
        scratch.join("authz").display().to_string()
    );
    let config = scratch.join("sven.toml");
    write(&config, &text)?;
    let mut command = sven.command("serve");
    command.arg("--config").arg(&config);
    launch(command, port, format!("http://127.0.0.1:{port}/svn"))
}

/// Starts Apache (event MPM, one process of many threads) for the repositories below `root`.
///
/// # Errors
/// If it does not listen within ten seconds.
pub fn start_apache(root: &Path, settings: HttpSettings, scratch: &Path) -> Result<StartedServer, String> {
    let port = free_port()?;
    let HttpSettings {
        level,
        cache,
        block_read,
    } = settings;
    let (cache, block_read) = (cache * 1024, if block_read { "on" } else { "off" });
    let modules: String = LOADED
        .iter()
        .map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n"))
        .collect();
    let scratch_text = scratch.display();
    let text = format!(
        "ServerName localhost\nServerRoot \"{scratch_text}\"\nPidFile \"{scratch_text}/pid\"\nListen 127.0.0.1:{port}\n{modules}\
         TypesConfig /etc/mime.types\nErrorLog \"{scratch_text}/error.log\"\nLogLevel crit\n\
         StartServers 1\nServerLimit 1\nThreadLimit 128\nThreadsPerChild 128\nMaxRequestWorkers 128\n\
         MinSpareThreads 128\nMaxSpareThreads 128\nKeepAlive On\nMaxKeepAliveRequests 0\n\
         LimitXMLRequestBody 0\nSVNInMemoryCacheSize {cache}\nSVNCompressionLevel {level}\n\
         <Location /svn>\nDAV svn\nSVNParentPath \"{}\"\nSVNCacheFullTexts on\nSVNCacheTextDeltas on\nSVNCacheRevProps on\n\
         SVNPathAuthz off\nSVNBlockRead {block_read}\n</Location>\n",
        root.display()
    );
    let config = scratch.join("apache.conf");
    write(&config, &text)?;
    let mut command = Command::new("/usr/sbin/apache2");
    // `-X` runs one process with many threads in the foreground, so its CPU time is that of the server.
    command.arg("-X").arg("-f").arg(&config);
    launch(command, port, format!("http://127.0.0.1:{port}/svn"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
