//! The options about storage that `config` and `servers` both have: which file counts. A mistake here stores a password in plain text against
//! the user's setting.

use std::fs;

use crate::context::Servers;

/// `[auth]` of `config`, and `[global]` and a group of `servers`. An empty value is no line.
const CASES: &[[&str; 3]] = &[
    ["", "", ""],
    ["", "yes", ""],
    ["", "no", ""],
    ["", "no", "yes"],
    ["", "yes", "no"],
    ["yes", "", ""],
    ["yes", "no", ""],
    ["yes", "no", "yes"],
    ["yes", "", "no"],
    ["no", "", ""],
    ["no", "yes", ""],
    ["no", "", "yes"],
    ["no", "yes", "yes"],
    ["no", "no", "yes"],
    ["x", "no", "no"],
    ["no", "x", "no"],
    ["no", "yes", "x"],
];

#[test]
fn a_no_in_config_is_final() {
    let servers = Servers::new();
    for option in ["store-passwords", "store-auth-creds"] {
        for values in CASES {
            let [config, global, group] = values.map(|value| match value {
                "" => String::new(),
                _ => format!("{option} = {value}\n"),
            });
            let config = format!("[auth]\n{config}");
            let text = format!(
                "[groups]\nh = 127.*\n[global]\nstore-plaintext-passwords = yes\n{global}[h]\n{group}"
            );
            servers.same(&format!("{option} {values:?}"), |home| {
                home.configure(&text);
                fs::write(home.area().join("config"), &config).expect("because the area is there");
                home.run(
                    "svn ls {SVN} --username alice --password secret --non-interactive",
                    "",
                )
            });
        }
    }
}
