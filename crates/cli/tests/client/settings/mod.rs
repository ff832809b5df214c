//! The settings of the configuration area, one by one.
//!
//! [`SETTINGS`] has every setting that the files describe which Subversion's client writes into a new area. Each one has a case, or the name of
//! the test that holds it, or the reason why it means nothing to a program without working copies. A case runs a command with
//! several values of the setting, in the file of the area: both clients must do the same with each value, and Subversion's must not do the
//! same with all of them, so a client that ignores the setting fails. A setting without a meaning must have none for either client.

mod cases;
mod groups;
mod list;
mod not_opened;
mod random_values;
mod recorder;
mod storage;
mod system_area;

use std::fs;
use std::path::Path;

use testkit::server::transport::Transport;
use testkit::{Side, Tool, runs_all_cases, scratch};

use crate::context::{Home, Servers};
use cases::World;
use list::SETTINGS;
use recorder::{Recorder, RelayMode};

/// A setting.
struct Setting {
    /// `config` or `servers`.
    file: &'static str,
    section: &'static str,
    /// The name; an example in a section with names of the user's choice.
    name: &'static str,
    held: Held,
}

/// What notices if Sven's client ignores a setting.
enum Held {
    /// A case.
    By(Case),
    /// Another test, `module::function`.
    Elsewhere(&'static str),
    /// Nothing: it has no meaning here.
    Meaningless(&'static str),
}

/// A command with some values of a setting. Without a value the setting is missing.
struct Case {
    values: &'static [Option<&'static str>],
    /// Runs the command and returns what the setting may change.
    shows: fn(&World, &Home<'_>) -> String,
}

/// Runs a case with this text of one of the files for one side. Without a text, the file is that of a new area.
fn observe(
    world: &World,
    side: Side,
    (file, text): (&str, &str),
    shows: fn(&World, &Home<'_>) -> String,
) -> String {
    let home = Home::new(&world.servers, side);
    home.configure("");
    if !text.is_empty() {
        fs::write(home.area().join(file), text).expect("because the area is there");
    }
    shows(world, &home)
}

impl Setting {
    /// Returns the lines of a file that set a value.
    fn text(&self, value: &str) -> String {
        format!("[{}]\n{} = {value}\n", self.section, self.name)
    }

    /// Returns what is wrong.
    fn check(&self, world: &World) -> Vec<String> {
        let (values, shows, has_effect) = match &self.held {
            Held::By(case) => (case.values, case.shows, true),
            Held::Elsewhere(_) => return Vec::new(),
            Held::Meaningless(_) => (
                &[None, Some("nonsense")][..],
                cases::any_work as fn(&World, &Home<'_>) -> String,
                false,
            ),
        };
        let mut wrong = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for value in values {
            let text = value.map(|value| self.text(value)).unwrap_or_default();
            let [theirs, ours] = Side::BOTH.map(|side| observe(world, side, (self.file, &text), shows));
            if theirs != ours {
                let name = self.name;
                wrong.push(format!(
                    "{name} = {value:?}\n--- theirs\n{theirs}\n--- ours\n{ours}"
                ));
            }
            seen.push(theirs);
        }
        let differs = seen.iter().any(|shown| *shown != seen[0]);
        if differs != has_effect {
            let name = self.name;
            let reason = match self.held {
                Held::Meaningless(reason) => reason,
                _ => "it has a case",
            };
            wrong.push(format!(
                "{name} ({reason}): with Subversion's client the values differ: {differs}\n{seen:#?}"
            ));
        }
        wrong
    }
}

fn check(settings: impl Iterator<Item = &'static Setting>) {
    let world = World::new(Servers::new());
    let (meaningless, others): (Vec<&Setting>, Vec<&Setting>) =
        settings.partition(|setting| matches!(setting.held, Held::Meaningless(_)));
    let mut wrong: Vec<String> = others.iter().flat_map(|setting| setting.check(&world)).collect();
    let together = check_together(&world, &meaningless);
    // One by one, if the result of all of them is wrong.
    if runs_all_cases() || together.is_some() {
        wrong.extend(meaningless.iter().flat_map(|setting| setting.check(&world)));
    }
    wrong.extend(together);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks settings of a file without a meaning, all of them at once. Returns what is wrong.
fn check_together(world: &World, settings: &[&Setting]) -> Option<String> {
    let file = settings.first()?.file;
    let text: String = settings.iter().map(|setting| setting.text("nonsense")).collect();
    let seen =
        ["", &text].map(|text| Side::BOTH.map(|side| observe(world, side, (file, text), cases::any_work)));
    let is_same = seen.as_flattened().iter().all(|shown| *shown == seen[0][0]);
    (!is_same).then(|| format!("settings without a meaning\n{seen:#?}"))
}

#[test]
fn settings_of_config_have_the_incumbents_effects() {
    check(SETTINGS.iter().filter(|setting| setting.file == "config"));
}

#[test]
fn settings_of_servers_have_the_incumbents_effects() {
    check(SETTINGS.iter().filter(|setting| setting.file == "servers"));
}

/// Returns the sections and names in the files of a new area.
fn described(side: Side) -> Vec<(String, String)> {
    let dir = scratch();
    let home = dir.path().join("home");
    side.tool("svn").arg("auth").arg("--config-dir").arg(&home).ok();
    let mut names = Vec::new();
    let mut section = String::new();
    let is_name = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    for file in ["config", "servers"] {
        section.clear();
        let text = fs::read_to_string(home.join(file)).expect("because it was made");
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                name.clone_into(&mut section);
            } else if let Some((name, _)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(" =")) {
                names.push((section.clone(), name.to_owned()));
            } else if let Some(rest) = line.strip_prefix("###   ") {
                // The list of names at the top of `servers`.
                let (name, text) = rest.split_once(' ').unwrap_or((rest, "  "));
                if file == "servers" && section.is_empty() && is_name(name) && text.starts_with(' ') {
                    names.push(("global".to_owned(), name.to_owned()));
                }
            }
        }
    }
    names
}

#[test]
fn every_setting_is_in_the_list() {
    // The names in these sections are the user's.
    let is_free = |section: &str| ["auto-props", "tunnels", "groups"].contains(&section);
    let names = described(Side::Theirs);
    assert!(names.len() > 50, "{names:?}");
    for (section, name) in &names {
        let is_listed = SETTINGS.iter().any(|setting| {
            // What is in a group may be in [global] too.
            let is_section = setting.section == section || section.ends_with("group");
            is_section && (setting.name == name || is_free(section))
        });
        assert!(is_listed, "[{section}] {name}");
    }
    for setting in SETTINGS.iter().filter(|setting| !is_free(setting.section)) {
        let is_described = names.iter().any(|(_, name)| name == setting.name);
        assert!(is_described, "{} is not Subversion's", setting.name);
    }
}

#[test]
fn every_setting_that_matters_is_described() {
    let dir = scratch();
    let tool = Side::Ours.tool("svn").arg("auth").arg("--config-dir");
    tool.arg(dir.path()).ok();
    let text = ["config", "servers"]
        .map(|name| fs::read_to_string(dir.path().join(name)).expect("because it was made"))
        .concat();
    for setting in SETTINGS {
        let is_free = ["auto-props", "tunnels", "groups"].contains(&setting.section);
        if !is_free && !matches!(setting.held, Held::Meaningless(_)) {
            assert!(text.contains(setting.name), "{} is not described", setting.name);
        }
    }
}

#[test]
fn the_named_tests_exist() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client");
    for setting in SETTINGS {
        let Held::Elsewhere(test) = setting.held else {
            continue;
        };
        let (module, function) = test.split_once("::").expect("because it has both parts");
        let text = fs::read_to_string(tests.join(format!("{module}.rs"))).expect("because it is a module");
        let head = format!("#[test]\nfn {function}() {{");
        assert!(text.contains(&head), "{test} is no test");
        assert!(text.contains(setting.name), "{test} has no {}", setting.name);
    }
}

/// A server or proxy that takes no chunks, and servers that are silent at one request, with the settings about them.
#[test]
fn servers_that_do_not_answer_have_the_incumbents_errors() {
    const TIMEOUT: &str = "http-timeout=1";
    const CHUNKS: &str = "http-chunked-requests=yes";
    let servers = Servers::new();
    let server = servers.site(Transport::Http, "", "");
    for (mode, option, line) in [
        (RelayMode::RefusesChunks, CHUNKS, "svn ls {URL}"),
        (RelayMode::RefusesChunks, CHUNKS, "svn export -q {URL} out"),
        (RelayMode::RefusesChunks, CHUNKS, "svn mkdir -m m {URL}/new"),
        (RelayMode::RefusesChunks, CHUNKS, "svnmucc -m m mkdir {URL}/new"),
        (RelayMode::SilentAt("report "), TIMEOUT, "svn log {URL}"),
        (RelayMode::SilentAt("merge "), TIMEOUT, "svn mkdir -m m {URL}/new"),
    ] {
        let recorder = Recorder::new(server.port(), mode);
        let url = format!("http://127.0.0.1:{}/r", recorder.port());
        let line = format!(
            "{} --non-interactive --config-option servers:global:{option}",
            line.replace("{URL}", &url)
        );
        let mut seen = String::new();
        servers.same(&format!("{mode:?}: {line}"), |home| {
            seen = home.run(&line, "");
            seen.clone()
        });
        assert!(seen.contains("[exit 1]"), "{line}: {seen}");
    }
}

#[test]
fn programs_make_an_area_as_the_incumbents_do() {
    let servers = Servers::new();
    for line in [
        "svn ls {FILE}",
        "svnbench null-list {FILE}",
        "svnrdump dump -q -r0 {FILE}",
        "svnmucc -m m rm {FILE}/none",
        "svnmucc -m m rm {FILE}/none --config-dir area",
        "svnsync info {FILE}",
    ] {
        servers.same(line, |home| home.run(line, "").ends_with("[exit 0]").to_string());
    }
}

/// The numbers differ, as the clients divide their work in other ways: `http-max-connections` is the most for both. Subversion's client
/// exports, and Sven's dumps, over more than two if it may.
#[test]
fn no_more_connections_are_made_than_the_user_allows() {
    let world = World::new(Servers::new());
    for side in Side::BOTH {
        let mut is_in_use = false;
        for line in [
            "svn export -q {RECORDED}/s/d out",
            "svnrdump dump -q {RECORDED}/many",
        ] {
            let [few, many] = [2, 8].map(|most| {
                let home = Home::new(&world.servers, side);
                cases::connections(&world, &home, line, most)
            });
            println!("{side:?}: {few} and {many}: {line}");
            assert!(few <= 2 && many <= 8, "{side:?}: {few}, {many}: {line}");
            is_in_use |= few < many;
        }
        assert!(is_in_use, "{side:?} has few connections even if it may have many");
    }
}

/// A server that accepts connections and is silent. The setting is the time that the client waits for it; without it, for longer than
/// the test does.
#[test]
fn a_silent_server_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("because there are free ports");
    let url = format!("http://{}/r", listener.local_addr().expect("because it is bound"));
    let run = |side: Side, option: &[&str]| {
        let dir = scratch();
        let command = side.tool("svn").args(["ls", &url]).args(option).command();
        let tool = Tool::new("timeout").arg("2").arg(command.get_program());
        let output = tool.args(command.get_args()).env("HOME", dir.path()).run();
        format!("{}{}[exit {}]", output.out(), output.err(), output.code)
    };
    let option = ["--config-option", "servers:global:http-timeout=1"];
    let [theirs, ours] = Side::BOTH.map(|side| run(side, &option));
    assert_eq!(theirs, ours);
    assert!(theirs.contains("E175012"), "{theirs}");
    // Killed by `timeout`, after which Subversion's client prints that it was interrupted.
    for side in Side::BOTH {
        let shown = run(side, &[]);
        assert!(shown.contains("[exit 124]"), "{side:?}: {shown}");
    }
}
