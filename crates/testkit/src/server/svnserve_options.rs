//! The options of svnserve as a configuration file of `sven serve`, for nodes of a cluster.

/// Translates the arguments of svnserve into the configuration of `sven serve`.
///
/// # Panics
/// For an argument that is not known here: its scenario has to be left out, or the argument added.
pub(super) fn svnserve_configuration(args: &[&str]) -> String {
    let (mut serve, mut limits) = (String::new(), String::new());
    let (mut cache, mut log, mut compression) = (String::new(), String::new(), String::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || *args.next().expect("because the option has a value");
        match *arg {
            "-T" | "--threads" => {}
            "-R" | "--read-only" => serve.push_str("read-only = true\n"),
            "--virtual-host" => serve.push_str("virtual-host = true\n"),
            "--config-file" => serve.push_str(&format!("svnserve-config = '{}'\n", value())),
            "--log-file" => log.push_str(&format!("operational = '{}'\n", value())),
            "--max-threads" => limits.push_str(&format!("threads = {}\n", value())),
            "--max-request-size" => limits.push_str(&format!("request = '{} MiB'\n", value())),
            "--max-response-size" => limits.push_str(&format!("response = '{} MiB'\n", value())),
            "--stall-timeout" => limits.push_str(&format!("stall-timeout = '{}s'\n", value())),
            "-M" | "--memory-cache-size" => cache.push_str(&format!("memory = '{} MiB'\n", value())),
            "-c" | "--compression" => compression.push_str(&format!("level = {}\n", value())),
            other => panic!("svnserve's argument '{other}' is not known for clusters"),
        }
    }
    format!(
        "[serve]\nroot = '@ROOT'\n{serve}[limits]\n{limits}[cache]\n{cache}[log]\n{log}[compression]\n{compression}"
    )
}
