//! Random settings with random values, several at once, in either area: the values that count, and the order in which wrong ones are
//! errors.
//!
//! `SETTINGS_SEEDS=0..500` runs these seeds.

use std::fs;

use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use testkit::Side;

use super::Setting;
use super::list::SETTINGS;
use crate::context::Servers;

const VALUES: &[&str] = &[
    "yes",
    "no",
    "on",
    "False",
    "1",
    "0",
    "",
    "x",
    "auto",
    "ASK",
    "-1",
    "+5",
    "3 ",
    "99999999999",
    "99999999999999999999",
    "0x1",
    "1.5",
    "%(username)s",
    "%(x)s",
    "%(http-timeout)s",
    "basic",
    "digest;basic",
    "Basic, digest",
    "alice",
    "bob",
    "serf",
    "/nonexistent",
    "a;b",
    "alice # c",
    "\"yes\"",
];

const LINES: &[&str] = &[
    "svn ls {SVN} --username alice --password secret --non-interactive",
    "svn ls {SVN} --password pw --non-interactive",
    "svn cat {BASIC} --username alice --password secret --non-interactive",
    "svn cat {BASIC} --non-interactive",
    "svn cat {TLS} --non-interactive --trust-server-cert-failures=unknown-ca",
    "svn cat {TLS} --non-interactive",
    "svn diff -r0:1 {FILE}@1",
    "svn export -q {FILE} out",
    "svn propget a {FILE}",
    "svn cat",
    "svnrdump dump -q -r0 {FILE}",
    "svnmucc rm {BASIC} -m m --non-interactive",
    "svnsync info {FILE} --non-interactive",
];

/// Programs that would be run or hosts that would be looked up by any name.
const LEFT_OUT: &[&str] = &["http-proxy-host", "diff-cmd"];

fn line_of(rng: &mut ChaCha8Rng, setting: &Setting) -> String {
    let name = match setting.section {
        "groups" | "tunnels" | "auto-props" => "a",
        _ => setting.name,
    };
    let value = VALUES.choose(rng).expect("because there are some");
    let between = ["=", " = ", ":", " : "]
        .choose(rng)
        .expect("because there are some");
    format!("{name}{between}{value}\n")
}

/// Returns the texts of `config` and `servers`.
fn files(rng: &mut ChaCha8Rng) -> [String; 2] {
    let mut config = String::new();
    let mut servers = String::new();
    if rng.random_bool(0.5) {
        servers.push_str("[groups]\ng = 127.*, nowhere\nh = *host\n");
    }
    for _ in 0..rng.random_range(1..5) {
        let setting = SETTINGS.choose(rng).expect("because there are some");
        if LEFT_OUT.contains(&setting.name) {
            continue;
        }
        let line = line_of(rng, setting);
        if setting.file == "config" {
            let section = match rng.random_bool(0.2) {
                true => "DEFAULT",
                false => setting.section,
            };
            config.push_str(&format!("[{section}]\n{line}"));
        } else {
            let section = ["global", "global", "g", "h", "DEFAULT"]
                .choose(rng)
                .expect("because there are some");
            servers.push_str(&format!("[{section}]\n{line}"));
        }
    }
    [config, servers]
}

#[test]
fn random_settings_have_the_incumbents_effects() {
    let servers = Servers::new();
    testkit::each_seed("SETTINGS_SEEDS", 0..12, |seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let [config, server] = files(&mut rng);
        for _ in 0..2 {
            let line = LINES.choose(&mut rng).expect("because there are some");
            let mut has_crashed = false;
            servers.same(&format!("seed {seed}: {line}\n{config}{server}"), |home| {
                home.configure(&server);
                fs::write(home.area().join("config"), &config).expect("because the area is there");
                let shown = home.run(line, "");
                // Subversion's client does at a few settings; then there is nothing to compare.
                let crashes = shown.ends_with("[exit -1]");
                assert!(!crashes || home.side == Side::Theirs, "{shown}");
                has_crashed |= crashes;
                if has_crashed { String::new() } else { shown }
            });
        }
    });
}
