//! Settings of a group of hosts beside those of all hosts: which one counts, and which one is the error if several are wrong.

use crate::context::Servers;

/// Settings of `[global]`, and of the group `h`, which has the host. No server listens there.
const CASES: &[&str] = &[
    "global:http-chunked-requests=x h:http-compression=x",
    "global:http-max-connections=x h:http-compression=x",
    "global:ssl-trust-default-ca=x h:http-compression=x",
    "h:http-compression=x h:ssl-trust-default-ca=x h:http-bulk-updates=x h:http-max-connections=x h:http-chunked-requests=x h:http-timeout=x h:http-proxy-port=x h:http-auth-types=x",
    "h:ssl-trust-default-ca=x h:http-bulk-updates=x h:http-max-connections=x h:http-chunked-requests=x h:http-timeout=x h:http-proxy-port=x h:http-auth-types=x",
    "h:http-bulk-updates=x h:http-max-connections=x h:http-chunked-requests=x h:http-timeout=x h:http-proxy-port=x h:http-auth-types=x",
    "h:http-max-connections=x h:http-chunked-requests=x h:http-timeout=x h:http-proxy-port=x h:http-auth-types=x",
    "h:http-chunked-requests=x h:http-timeout=x h:http-proxy-port=x h:http-auth-types=x",
    "h:http-timeout=x h:http-proxy-port=x h:http-auth-types=x",
    "h:http-proxy-port=x h:http-auth-types=x",
    "global:http-timeout=x h:http-compression=x",
    "global:http-proxy-port=x h:http-compression=x",
    "global:http-auth-types=x h:http-compression=x",
    "global:http-auth-types=x h:http-timeout=x",
    "global:store-auth-creds=x h:store-passwords=x",
    "global:store-passwords=yes h:store-passwords=",
    "global:http-max-connections= h:http-max-connections=3",
    "global:http-max-connections=3 h:http-max-connections=",
    "global:http-proxy-exceptions=local* h:http-proxy-port=x h:http-timeout=x",
    "global:http-proxy-exceptions=local* h:http-proxy-host=localhost h:http-proxy-port=x",
    "h:http-proxy-exceptions=local* h:http-proxy-host=localhost h:http-proxy-port=x",
    "global:http-proxy-exceptions=local* global:http-proxy-port=x",
    "h:http-proxy-exceptions=local* global:http-proxy-port=x",
    "global:http-proxy-exceptions=local* h:http-proxy-host=localhost h:http-proxy-port=1",
    "h:http-proxy-exceptions=local* global:http-proxy-host=localhost global:http-proxy-port=1",
    "global:http-proxy-exceptions=local* global:http-proxy-host=localhost h:http-proxy-port=x",
];

#[test]
fn groups_and_all_hosts_together() {
    let servers = Servers::new();
    let mut seen = Vec::new();
    for case in CASES {
        let settings = case.split(' ').map(|setting| {
            let (section, line) = setting.split_once(':').expect("because each has a section");
            format!("[{section}]\n{line}\n")
        });
        let text = format!("[groups]\nh = local*\n{}", settings.collect::<String>());
        servers.same(&text, |home| {
            home.configure(&text);
            let shown = home.run("svn ls http://localhost:1/r --non-interactive", "");
            seen.push(shown.clone());
            shown
        });
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 10, "{seen:#?}");
}
