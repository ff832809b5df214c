//! `gpg-agent` as the store of passwords: an agent of the test's answers both clients and notes what they ask.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use testkit::{Side, Spec, build};

use crate::terminal;
use crate::twins::{Access, TwinClients};

/// An agent. Its threads end with the test program.
struct FakeAgent {
    socket: PathBuf,
    script: Arc<Mutex<Script>>,
}

/// What the agent answers, and what it was asked.
#[derive(Default)]
struct Script {
    socket: PathBuf,
    /// Answers to lines with these beginnings, instead of the usual ones. The empty beginning is the greeting.
    special: Vec<(&'static str, &'static str)>,
    /// The answers to requests for passwords.
    passwords: VecDeque<&'static str>,
    asked: Vec<String>,
}

impl FakeAgent {
    fn start(folder: &Path) -> FakeAgent {
        let socket = folder.join("agent");
        let listener = UnixListener::bind(&socket).expect("because the directory is there");
        let script = Arc::new(Mutex::new(Script {
            socket: socket.clone(),
            ..Script::default()
        }));
        let shared = Arc::clone(&script);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                _ = serve(stream, &shared);
            }
        });
        FakeAgent { socket, script }
    }

    fn prepare(&self, case: &Case) {
        let mut script = self.script.lock().expect("because no thread panics");
        script.special = case.special.to_vec();
        script.passwords = case.passwords.iter().copied().collect();
        script.asked.clear();
    }

    /// Returns the requests, without the port of the server and the identifier of its realm.
    fn asked(&self) -> Vec<String> {
        let script = self.script.lock().expect("because no thread panics");
        script.asked.iter().map(|line| masked(line)).collect()
    }
}

fn serve(stream: UnixStream, script: &Mutex<Script>) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let greeting = script.lock().expect("because no thread panics").answer("");
    writer.write_all(greeting.as_bytes())?;
    for line in BufReader::new(stream).lines() {
        let answer = script.lock().expect("because no thread panics").answer(&line?);
        writer.write_all(answer.as_bytes())?;
    }
    Ok(())
}

impl Script {
    fn answer(&mut self, line: &str) -> String {
        // Subversion's client also looks for the agent where that has no effect.
        if ["OPTION", "GET_PASS", "CLEAR"]
            .iter()
            .any(|noted| line.starts_with(noted))
        {
            self.asked.push(line.to_owned());
        }
        let special = self.special.iter().find(|(begin, _)| match line {
            "" => begin.is_empty(),
            line => !begin.is_empty() && line.starts_with(begin),
        });
        match special {
            Some((_, answer)) => format!("{answer}\n"),
            None if line.starts_with("GETINFO") => format!("D {}\nOK\n", self.socket.display()),
            None if line.starts_with("GET_PASS") => {
                let answer = self.passwords.pop_front().unwrap_or("ERR 67108922 No data");
                format!("{answer}\n")
            }
            None => "OK\n".to_owned(),
        }
    }
}

fn masked(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let is_id = word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let host = word.split_once("127.0.0.1:").or(word.split_once("localhost:"));
        match host {
            _ if is_id => "ID".to_owned(),
            Some((before, rest)) => format!(
                "{before}HOST{}",
                rest.trim_start_matches(|c: char| c.is_ascii_digit())
            ),
            None => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A command with what the agent answers.
#[derive(Default)]
struct Case {
    options: &'static str,
    special: &'static [(&'static str, &'static str)],
    passwords: &'static [&'static str],
    /// Answers on a terminal; without it there is none.
    answers: Option<&'static [&'static str]>,
}

#[test]
fn passwords_are_kept_by_an_agent() {
    let repo = build(&Spec::small("1.14")).copy();
    let twins = TwinClients::new(&repo, Access::Http);
    let agents = Side::BOTH.map(|side| FakeAgent::start(&twins.dir(side)));
    let with = |passwords| Case {
        passwords,
        ..Case::default()
    };
    let cases = [
        // Stored without a question: the agent asks for it the next time.
        Case {
            options: "--username alice --password secret",
            ..Case::default()
        },
        with(&["D secret\nOK"]),
        with(&["D se%63ret\nOK"]),
        with(&["D wrong\nOK"]),
        with(&["OK"]),
        with(&[]),
        Case {
            special: &[("", "ERR no")],
            ..with(&["D secret"])
        },
        Case {
            special: &[("GETINFO", "OK")],
            ..with(&["D secret"])
        },
        Case {
            special: &[("OPTION ttytype", "ERR 1 no")],
            ..with(&["D secret"])
        },
        Case {
            special: &[("OPTION display", "ERR 1 no")],
            ..with(&["D secret\nOK"])
        },
        Case {
            options: "--config-option config:auth:password-stores=",
            ..with(&["D secret\nOK"])
        },
        Case {
            options: "--config-option config:auth:password-stores=kwallet,gpg-agent",
            ..with(&["D secret\nOK"])
        },
        Case {
            answers: Some(&[]),
            ..with(&["D wrong\nOK", "D secret\nOK"])
        },
        Case {
            answers: Some(&["secret"]),
            ..with(&["ERR 1 cancelled"])
        },
        Case {
            options: "--username bob",
            ..with(&["D secret\nOK"])
        },
    ];
    let mut failed = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let [theirs, ours] = [0, 1].map(|which| {
            let side = Side::BOTH[which];
            agents[which].prepare(case);
            let interaction = if case.answers.is_some() {
                ""
            } else {
                "--non-interactive"
            };
            let line = format!(
                "svn mkdir -m made {{URL}}/new{number} {} {interaction}",
                case.options
            );
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let info = format!("{}:1:1", agents[which].socket.display());
            let tool = twins
                .tool(side, &words)
                .env("GPG_AGENT_INFO", info)
                .env("TERM", "xterm one")
                .env("GPG_TTY", "/dev/pts/9")
                .env("DISPLAY", ":0");
            let output = match case.answers {
                Some(answers) => terminal::run(&tool, answers),
                None => tool.run(),
            };
            let text = format!(
                "{}{}[exit {}]\n{}",
                output.out(),
                output.err(),
                output.code,
                agents[which].asked().join("\n")
            );
            masked(&text.replace(twins.url(side), "URL"))
        });
        if theirs != ours {
            failed.push(format!(
                "{line}: {}\n--- theirs\n{theirs}\n--- ours\n{ours}",
                case.options,
                line = number
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
