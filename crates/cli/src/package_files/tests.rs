//! The pages and completions have everything that the definitions have, and the programs that read them accept them.

use std::collections::BTreeMap;
use std::process::Command as Process;

use clap::Command;

fn files() -> BTreeMap<String, String> {
    let files = super::files().expect("because they are written to memory");
    files
        .into_iter()
        .map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).into_owned()))
        .collect()
}

/// Names of subcommands and options, with their subcommands'.
fn names(command: &Command) -> Vec<String> {
    let longs = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let mut out: Vec<String> = longs
        .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
        .collect();
    for sub in command.get_subcommands() {
        out.push(sub.get_name().to_owned());
        out.extend(names(sub));
    }
    out
}

#[test]
fn pages_and_completions_have_each_subcommand_and_option() {
    let files = files();
    for program in super::programs() {
        let (name, section) = (program.name, program.section);
        let page = files[&format!("man/man{section}/{name}.{section}")].replace("\\-", "-");
        let shells = [
            format!("bash/{name}"),
            format!("zsh/_{name}"),
            format!("fish/{name}.fish"),
        ];
        for word in names(&program.command) {
            // The page of `sven` refers to the pages of Subversion's programs.
            assert!(
                name == "sven" || page.contains(&word),
                "{word} in the page of {name}"
            );
            for shell in &shells {
                let text = &files[shell];
                let word = word.trim_start_matches('-');
                assert!(text.contains(word), "{word} in {shell}");
            }
        }
    }
    let page = files["man/man8/sven.8"].replace("\\-", "-");
    for word in ["install-links", "--config", "--server-root", "svnadmin", "SIGHUP"] {
        assert!(page.contains(word), "{word} in the page of sven");
    }
}

#[test]
fn every_tool_has_a_page_and_a_link_in_the_package() {
    let links = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/debian/links");
    let files = files();
    for tool in crate::PERSONALITIES {
        let (name, section) = (tool.name, tool.section);
        assert!(
            files.contains_key(&format!("man/man{section}/{name}.{section}")),
            "{name}"
        );
        let target = std::fs::read_link(links.join(name)).ok();
        // Those without working copies must not take the place of Subversion's programs.
        let expected = (!install_links::INCOMPLETE.contains(&name)).then_some("../../../bin/sven");
        assert_eq!(target.as_deref().and_then(std::path::Path::to_str), expected, "{name}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "troff judges the pages")]
fn pages_are_laid_out_without_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text) in files() {
        if !file.starts_with("man/") {
            continue;
        }
        let path = folder.path().join("page");
        std::fs::write(&path, text).expect("written");
        let groff = Process::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-z"])
            .arg(&path)
            .output();
        // Without groff there is nothing to ask.
        let Ok(output) = groff else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{file}: {said}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "bash completes words")]
fn bash_completes_subcommands_and_options() {
    let (files, folder) = (files(), tempfile::tempdir().expect("a folder"));
    for (line, expected) in [
        (&["sven", "check"][..], "check-config"),
        (&["sven", "admin", "hot"], "hotcopy"),
        (&["sven", "svnadmin", "hotcopy", "--cl"], "--clean-logs"),
        (&["sven", "serve", "--re"], "--read-only"),
        (&["svnlook", "dirs"], "dirs-changed"),
        (&["svnserve", "--tunnel-"], "--tunnel-user"),
        (
            &["svndumpfilter", "exclude", "--skip"],
            "--skip-missing-merge-sources",
        ),
        (&["sven", "dumpfilter", "incl"], "include"),
        (&["sven", "install-links", "--exc"], "--except"),
        (&["svnversion", "--no-n"], "--no-newline"),
    ] {
        let (program, last) = (line[0], line.len() - 1);
        let file = folder.path().join(program);
        std::fs::write(&file, &files[&format!("bash/{program}")]).expect("written");
        let script = format!(
            "source {}; f=$(complete -p {program} | sed 's/.*-F \\([^ ]*\\).*/\\1/'); COMP_WORDS=({}); COMP_CWORD={last}; \
             $f {program} '{}' '{}'; echo \"${{COMPREPLY[@]}}\"",
            file.display(),
            line.join(" "),
            line[last],
            line[last - 1]
        );
        let output = Process::new("bash").args(["-c", &script]).output();
        let output = output.expect("because the hooks' tests need a shell too");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            said.split_whitespace().any(|word| word == expected),
            "{line:?}: {said} {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
