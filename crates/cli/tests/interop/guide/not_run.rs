//! The commands of the guide that cannot run in a test, and what is checked in their place.

use std::fs;

/// Commands that cannot run in a test: the command, why, and what is checked in its place.
const NOT_RUN: &[(&str, &str, Instead)] = &[
    (
        "cargo install cargo-deb --locked",
        "it needs the network",
        Instead::Nothing,
    ),
    (
        "cargo deb -p sven --strip",
        "it builds for minutes",
        Instead::Holds("crates/cli/Cargo.toml", "[package.metadata.deb]"),
    ),
    (
        "sudo apt install ./target/debian/sven_*.deb",
        "it changes the machine",
        Instead::Holds("crates/cli/Cargo.toml", "name = \"sven\""),
    ),
    (
        "docker build -f packaging/Dockerfile -t sven .",
        "it needs docker and the network",
        Instead::Holds("packaging/Dockerfile", "USER sven"),
    ),
    (
        "docker run -d --name sven -p 3690:3690 -p 8080:8080 -v svn:/srv/svn sven",
        "it needs docker",
        Instead::Holds(
            "packaging/Dockerfile",
            "CMD [\"serve\", \"--svn\", \":3690\", \"--http\", \":8080\", \"/srv/svn\"]",
        ),
    ),
    (
        "docker exec sven svnadmin create /srv/svn/project",
        "it needs docker",
        Instead::Holds("packaging/Dockerfile", "ENV PATH=/usr/lib/sven/bin:"),
    ),
    (
        "docker run -d --name sven -p 3690:3690 -p 8080:8080 -v svn:/srv/svn -v /etc/sven:/etc/sven:ro sven serve --config /etc/sven/sven.toml",
        "it needs docker",
        Instead::Holds("packaging/Dockerfile", "ENTRYPOINT [\"tini\", \"--\", \"sven\"]"),
    ),
    (
        "sudo apt install musl-tools",
        "it changes the machine",
        Instead::Nothing,
    ),
    (
        "rustup target add x86_64-unknown-linux-musl",
        "it needs the network",
        Instead::Nothing,
    ),
    (
        "CC_x86_64_unknown_linux_musl=musl-gcc cargo build --release --locked --target x86_64-unknown-linux-musl",
        "it builds for minutes",
        Instead::Holds("crates/cli/Cargo.toml", "name = \"sven\""),
    ),
    (
        "cargo build --release --locked",
        "it builds for minutes",
        Instead::Holds("crates/cli/Cargo.toml", "[[bin]]\nname = \"sven\""),
    ),
    (
        "sudo install target/release/sven /usr/local/bin/sven",
        "it changes the machine",
        Instead::Nothing,
    ),
    (
        "sudo install -d -o sven -g sven -m 0750 /srv/svn",
        "it needs the user sven",
        Instead::Holds("packaging/sven.sysusers", "u sven "),
    ),
    (
        "sven serve --svn :3691 /srv/svn",
        "its port may be taken",
        Instead::Nothing,
    ),
    (
        "sudo systemctl disable --now svnserve",
        "it changes the machine",
        Instead::Nothing,
    ),
    (
        "sudo systemctl disable --now apache2",
        "it changes the machine",
        Instead::Nothing,
    ),
];

/// What is checked of a command that is not run.
enum Instead {
    /// This file of the project holds this text.
    Holds(&'static str, &'static str),
    /// Nothing of the project is named.
    Nothing,
}

/// What is wrong with the commands of a block that is not run.
pub fn complaints(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for line in text.lines() {
        match NOT_RUN.iter().find(|(command, ..)| *command == line) {
            None => complaints.push(format!("'{line}' is not in the list of commands that cannot run")),
            Some((_, _, Instead::Nothing)) => {}
            Some((_, why, Instead::Holds(file, part))) => {
                let held = fs::read_to_string(super::project().join(file)).unwrap_or_default();
                if !held.contains(part) {
                    complaints.push(format!("'{line}' ({why}): there is no '{part}' in {file}"));
                }
            }
        }
    }
    complaints
}
