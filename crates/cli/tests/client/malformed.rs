//! Servers of `svn://` whose messages are malformed: every command ends soon, with an ordinary error or none, and with little memory. Where
//! Subversion's client sends the same requests, both clients refuse the same messages, with the same number.
//!
//! What Subversion's server sends for a command is recorded and changed in one place; the client gets the result, whatever it asks.
//! `MALFORMED_SEEDS=A..B` runs these seeds. A seed is one command with one change.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use testkit::history::Random;
use testkit::{Output, Side, sample};

use crate::read_repo;
use crate::twins::{Access, TwinClients};

/// Commands that open one session.
const COMMANDS: &[&str] = &[
    "svn cat {SERVED}/P/f",
    "svn info -R {SERVED}/P",
    "svn list -v {SERVED}/P",
    "svn log -v -g {SERVED}/P",
    "svn log --xml --with-all-revprops {SERVED}",
    "svn propget a {SERVED}/P",
    "svn proplist -v {SERVED}/P",
    "svn proplist --revprop -v -r1 {SERVED}",
    "svn blame {SERVED}/P/f",
    "svnrdump dump -q {SERVED}",
    "svnbench null-export -q {SERVED}",
];

/// A server between the clients and Subversion's.
struct FakeServer {
    listener: TcpListener,
    twins: TwinClients,
}

impl FakeServer {
    fn new() -> FakeServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.set_nonblocking(true).expect("it is a socket");
        FakeServer {
            listener,
            twins: TwinClients::new(&read_repo::repository(), Access::Svn),
        }
    }

    /// Runs a command of one side while `answer` answers each connection, whose number it gets.
    fn run(&self, side: Side, line: &str, answer: impl Fn(usize, TcpStream) + Sync) -> Output {
        let port = self.listener.local_addr().expect("it is bound").port();
        let line = line.replace("{SERVED}", &format!("svn://127.0.0.1:{port}/repo"));
        let words: Vec<&str> = line.split(' ').collect();
        // A client that waits for ever, or uses more memory than anyone has.
        let tool = self
            .twins
            .tool(side, &words)
            .under("prlimit", &["--as=3000000000", "timeout", "-s", "KILL", "20"]);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let (answer, is_over) = (&answer, &is_over);
            let accept = move || {
                let mut number = 0;
                while !is_over.load(Ordering::Relaxed) {
                    match self.listener.accept() {
                        Ok((peer, _)) => {
                            peer.set_nonblocking(false).expect("it is a socket");
                            scope.spawn(move || answer(number, peer));
                            number += 1;
                        }
                        Err(_) => thread::sleep(Duration::from_millis(1)),
                    }
                }
            };
            scope.spawn(accept);
            let output = tool.run();
            is_over.store(true, Ordering::Relaxed);
            output
        })
    }

    /// Returns what Subversion's server sends for a command of one side, in each of its sessions.
    fn record(&self, side: Side, line: &str) -> Vec<Vec<u8>> {
        let all = Mutex::new(BTreeMap::new());
        self.run(side, line, |number, client| {
            let address = self.twins.url(Side::Theirs).trim_start_matches("svn://");
            let address = address.trim_end_matches("/repo");
            let server = TcpStream::connect(address).expect("Subversion's server");
            thread::scope(|scope| {
                scope.spawn(|| pass(&client, &server));
                let sent = pass(&server, &client);
                let mut all = all.lock().expect("because no thread panics");
                all.insert(number, sent);
            });
        });
        let all = all.into_inner().expect("because no thread panics");
        all.into_values().collect()
    }

    /// Returns what a side makes of these messages.
    fn outcome(&self, side: Side, line: &str, sessions: &[Vec<u8>]) -> Output {
        self.run(side, line, |number, mut client| {
            let messages = sessions.get(number).map_or(&[][..], Vec::as_slice);
            // The client may have gone already.
            _ = client.write_all(messages);
            _ = client.shutdown(Shutdown::Write);
            _ = client.read_to_end(&mut Vec::new());
        })
    }
}

/// Passes bytes on until the end, and returns them.
fn pass(mut from: &TcpStream, mut to: &TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        all.extend_from_slice(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    _ = to.shutdown(Shutdown::Write);
    all
}

/// The tokens of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A parenthesis, a number or a word, as it is sent.
    Plain(Vec<u8>),
    Text(Vec<u8>),
}

fn tokens(mut bytes: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    loop {
        bytes = bytes.trim_ascii_start();
        if bytes.is_empty() {
            return tokens;
        }
        let end = bytes
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || *byte == b':');
        let end = end.unwrap_or(bytes.len());
        if bytes.get(end) != Some(&b':') {
            tokens.push(Token::Plain(bytes[..end].to_vec()));
            bytes = &bytes[end..];
            continue;
        }
        let length = str::from_utf8(&bytes[..end])
            .ok()
            .and_then(|text| text.parse().ok());
        let (text, rest) = bytes[end + 1..].split_at(length.expect("because it is a length"));
        tokens.push(Token::Text(text.to_vec()));
        bytes = rest;
    }
}

fn bytes(tokens: &[Token]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for token in tokens {
        match token {
            Token::Plain(text) => bytes.extend_from_slice(text),
            Token::Text(text) => {
                bytes.extend_from_slice(format!("{}:", text.len()).as_bytes());
                bytes.extend_from_slice(text);
            }
        }
        bytes.push(b' ');
    }
    bytes
}

/// Replaces a token.
fn change(random: &mut Random, tokens: &mut Vec<Token>) {
    let numbers = [
        "-1",
        "-5",
        "0",
        "1",
        "7",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999",
        "007",
        "1x",
        "-",
        "1:",
        "3:ab",
        "-3:abc",
        "4294967296:x",
        "18446744073709551615:x",
    ];
    let words = [
        "x",
        "true",
        "false",
        "success",
        "failure",
        "done",
        "a-word-that-is-longer-than-all-others-are",
        "(",
        ")",
        "( )",
        "( 1 )",
        "( 1:a )",
        "3:abc",
        "0:",
        "9",
        "[",
        "\u{e9}",
    ];
    let at = random.below(tokens.len());
    let plain = |text: &str| Token::Plain(text.as_bytes().to_vec());
    match random.below(6) {
        0 => drop(tokens.remove(at)),
        1 => tokens.insert(at, tokens[at].clone()),
        2 => tokens[at] = plain(numbers[random.below(numbers.len())]),
        3 => tokens[at] = plain(words[random.below(words.len())]),
        _ => {
            let token = match &tokens[at] {
                Token::Plain(text) if text[0].is_ascii_digit() => plain(numbers[random.below(numbers.len())]),
                Token::Plain(_) => plain(words[random.below(words.len())]),
                Token::Text(text) => Token::Text(changed_text(random, text.clone())),
            };
            tokens[at] = token;
        }
    }
}

fn changed_text(random: &mut Random, mut text: Vec<u8>) -> Vec<u8> {
    let ends: [&[u8]; 7] = [b"", b"\0", b"\xff", b"../x", b"/", b"a\nb", b"SVN\0\x80"];
    match random.below(4) {
        0 => ends[random.below(ends.len())].to_vec(),
        1 => {
            text.truncate(random.below(text.len() + 1));
            text
        }
        _ => {
            // Lengths of svndiff are bytes whose highest bit says that another one follows.
            if !text.is_empty() {
                let at = random.below(text.len().min(24));
                text[at] = [0, 0x7f, 0x80, 0xff, 0x81, 1][random.below(6)];
            }
            text
        }
    }
}

#[test]
fn changed_messages() {
    let server = FakeServer::new();
    let recorded: Vec<(Vec<Vec<u8>>, bool)> = COMMANDS
        .iter()
        .map(|line| {
            let [theirs, ours] = Side::BOTH.map(|side| server.record(side, line));
            // Subversion's client takes a malformed edit for one that was aborted, and `svnbench` says nothing of that.
            let is_compared = theirs == ours && !line.starts_with("svnbench");
            (ours, is_compared)
        })
        .collect();
    testkit::each_seed("MALFORMED_SEEDS", 0..sample(3, 0..50).count() as u64, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let number = random.below(COMMANDS.len());
        let (mut sessions, is_compared) = recorded[number].clone();
        let session = random.below(sessions.len());
        let before = tokens(&sessions[session]);
        let mut after = before.clone();
        change(&mut random, &mut after);
        sessions[session] = bytes(&after);
        let outcome = |side| server.outcome(side, COMMANDS[number], &sessions);
        let ours = outcome(Side::Ours);
        let theirs = match is_compared {
            true => outcome(Side::Theirs),
            false => ours.clone(),
        };
        let shape = |output: &Output| (output.code, output.error_codes().pop());
        println!(
            "seed {seed}: {} {:?} {:?}",
            COMMANDS[number],
            shape(&theirs),
            shape(&ours)
        );
        let first = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        let near = |all: &[Token]| {
            String::from_utf8_lossy(&bytes(&all[first.saturating_sub(6)..(first + 4).min(all.len())]))
                .into_owned()
        };
        assert!(matches!(ours.code, 0 | 1), "{}", ours.code);
        // Ours refuses some messages that Subversion's client does not look at, or that let it fail later or crash. It does not show dates
        // that are none.
        let is_stricter = ours.error_codes().last() == Some(&210_004);
        let is_date = theirs.error_codes() == [125_003];
        assert!(
            is_stricter || is_date || shape(&theirs) == shape(&ours),
            "{}\n{}\n{}\n--- theirs {}\n{}\n--- ours {}\n{}",
            COMMANDS[number],
            near(&before),
            near(&after),
            theirs.code,
            theirs.err(),
            ours.code,
            ours.err(),
        );
    });
}
