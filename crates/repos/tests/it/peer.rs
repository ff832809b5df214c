//! A bare ra_svn client: enough to ask the real `svnserve` for an edit and to write down what it drives.
//!
//! Independent of our own codec on purpose: it is part of the oracle.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use testkit::server::TestServer;

/// An item of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Number(u64),
    Text(Vec<u8>),
    Word(String),
    List(Vec<Item>),
}

/// An edit as lines (see [`crate::recording`]), or the codes and messages of the failure.
pub type Edit = Result<Vec<String>, Vec<(u64, String)>>;

pub struct Peer {
    input: Box<dyn BufRead>,
    output: Box<dyn Write>,
    /// The server of a tunnel, which ends with it.
    child: Option<Child>,
}

impl Peer {
    /// Connects to `path` below the server's root as nobody in particular.
    pub fn connect(server: &TestServer, path: &str) -> Peer {
        let output = TcpStream::connect(server.addr()).expect("because the server is up");
        output.set_nodelay(true).expect("because it is a TCP socket");
        let input = BufReader::new(output.try_clone().expect("because it is open"));
        let mut peer = Peer {
            input: Box::new(input),
            output: Box::new(output),
            child: None,
        };
        peer.greet(&server.url(path), "ANONYMOUS");
        peer
    }

    /// Starts `svnserve` at the other end of a pipe, as if `user` had logged in where it runs.
    pub fn tunnel(root: &Path, url: &str, user: Option<&str>) -> Peer {
        let mut child = Command::new("svnserve")
            .args(["-t", "-r"])
            .arg(root)
            .arg(format!("--tunnel-user={}", user.unwrap_or("nobody")))
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("because svnserve is installed");
        let input = BufReader::new(child.stdout.take().expect("because it is a pipe"));
        let output = child.stdin.take().expect("because it is a pipe");
        let mut peer = Peer {
            input: Box::new(input),
            output: Box::new(output),
            child: Some(child),
        };
        peer.greet(url, if user.is_some() { "EXTERNAL" } else { "ANONYMOUS" });
        peer
    }

    fn greet(&mut self, url: &str, mechanism: &str) {
        let peer = self;
        peer.item();
        peer.send(&format!(
            "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo ) {}:{url} ) ",
            url.len()
        ));
        peer.item();
        peer.send(&format!("( {mechanism} ( 0: ) ) "));
        peer.item();
        let info = peer.item();
        assert_eq!(word(&info), "success", "{info:?}");
    }

    /// Sends a request that is answered by an auth-request and a response; the failure's links if it is one.
    pub fn ask(&mut self, request: &[u8]) -> Result<Item, Vec<(u64, String)>> {
        self.send_bytes(request);
        for _ in 0..2 {
            let answer = self.item();
            if word(&answer) == "failure" {
                return Err(failure(&answer));
            }
            if let [Item::List(mechanisms), ..] = args(&answer)
                && mechanisms.is_empty()
                && args(&answer).len() == 2
            {
                continue;
            }
            return Ok(answer);
        }
        panic!("two auth-requests for one request")
    }

    /// Sends a commit and its whole drive at once; the commit-info, or why there is none.
    pub fn commit(&mut self, request: &[u8], drive: &[u8]) -> Result<Item, Vec<(u64, String)>> {
        self.ask(request)?;
        self.send_bytes(drive);
        let answer = self.item();
        if word(&answer) == "failure" {
            self.send("( abort-edit ( ) ) ");
            return Err(failure(&answer));
        }
        self.item();
        Ok(self.item())
    }

    /// Sends a request (`update`, …) and report commands, then follows the edit.
    pub fn report(&mut self, request: &str, report: &[String]) -> Edit {
        let mut all = format!("{request} ");
        for command in report {
            all.push_str(command);
            all.push(' ');
        }
        all.push_str("( finish-report ( ) ) ");
        self.send(&all);
        for _ in 0..2 {
            let auth = self.item();
            if word(&auth) == "failure" {
                return Err(failure(&auth));
            }
        }
        self.edit()
    }

    /// Asks for a replay and follows it.
    pub fn replay(&mut self, rev: u64, low: u64, deltas: bool) -> Edit {
        self.send(&format!("( replay ( {rev} {low} {deltas} ) ) "));
        let auth = self.item();
        assert_eq!(word(&auth), "success");
        self.edit()
    }

    fn edit(&mut self) -> Edit {
        let mut lines = Vec::new();
        let mut open: HashMap<Vec<u8>, String> = HashMap::new();
        let mut chunks = 0usize;
        loop {
            let item = self.item();
            let name = word(&item);
            let args = args(&item);
            let path = |at: usize| match args.get(at) {
                Some(Item::Text(path)) => String::from_utf8_lossy(path).into_owned(),
                other => panic!("no path: {other:?}"),
            };
            let token = |at: usize| match args.get(at) {
                Some(Item::Text(token)) => token.clone(),
                other => panic!("no token: {other:?}"),
            };
            let known = |at: usize| open[&token(at)].clone();
            match name {
                "failure" => return Err(failure(&item)),
                "success" => return Ok(lines),
                "abort-edit" => {
                    self.send("( success ( ) ) ");
                    let answer = self.item();
                    return Err(failure(&answer));
                }
                "close-edit" => {
                    lines.push("close-edit".to_owned());
                    self.send("( success ( ) ) ");
                    let answer = self.item();
                    assert_eq!(word(&answer), "success", "{answer:?}");
                    return Ok(lines);
                }
                "finish-replay" => {}
                "target-rev" => lines.push(format!("target-rev {}", shown(&args[0]))),
                "open-root" => {
                    lines.push(format!("open-root {}", shown(&args[0])));
                    open.insert(token(1), String::new());
                }
                "delete-entry" => lines.push(format!("delete {} {}", path(0), shown(&args[1]))),
                "add-dir" | "add-file" => {
                    lines.push(format!("{name} {} {}", path(0), shown(&args[3])));
                    open.insert(token(2), path(0));
                }
                "open-dir" | "open-file" => {
                    lines.push(format!("{name} {} {}", path(0), shown(&args[3])));
                    open.insert(token(2), path(0));
                }
                "absent-dir" | "absent-file" => lines.push(format!("{name} {}", path(0))),
                "change-dir-prop" | "change-file-prop" => {
                    lines.push(format!(
                        "prop {} {} {}",
                        known(0),
                        shown(&args[1]),
                        shown(&args[2])
                    ));
                }
                "apply-textdelta" => {
                    chunks = 0;
                    lines.push(format!("text {} {}", known(0), shown(&args[1])));
                }
                "textdelta-chunk" => {
                    if let Some(Item::Text(bytes)) = args.get(1) {
                        chunks += bytes.len();
                    }
                }
                "textdelta-end" => {
                    let told = if chunks > 4 { "windows" } else { "nothing" };
                    lines.push(format!("text-end {} {told}", known(0)));
                }
                "close-file" => lines.push(format!("close-file {} {}", known(0), shown(&args[1]))),
                "close-dir" => lines.push(format!("close-dir {}", known(0))),
                other => panic!("unexpected {other}"),
            }
        }
    }

    fn send(&mut self, text: &str) {
        self.send_bytes(text.as_bytes());
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        let sent = self.output.write_all(bytes).and_then(|()| self.output.flush());
        sent.expect("because the server listens");
    }

    fn item(&mut self) -> Item {
        loop {
            match self.byte() {
                b' ' | b'\n' => {}
                first => return self.item_from(first),
            }
        }
    }

    fn item_from(&mut self, first: u8) -> Item {
        match first {
            b'0'..=b'9' => {
                let mut number = u64::from(first - b'0');
                loop {
                    match self.byte() {
                        digit @ b'0'..=b'9' => number = number * 10 + u64::from(digit - b'0'),
                        b':' => {
                            let mut text = vec![0; usize::try_from(number).expect("because it is short")];
                            self.input
                                .read_exact(&mut text)
                                .expect("because the server sends it");
                            self.byte();
                            return Item::Text(text);
                        }
                        _ => return Item::Number(number),
                    }
                }
            }
            b'(' => {
                let mut items = Vec::new();
                loop {
                    match self.byte() {
                        b' ' | b'\n' => {}
                        b')' => return Item::List(items),
                        first => items.push(self.item_from(first)),
                    }
                }
            }
            _ => {
                let mut word = vec![first];
                self.input
                    .read_until(b' ', &mut word)
                    .expect("because the server sends it");
                Item::Word(String::from_utf8_lossy(&word).trim().to_owned())
            }
        }
    }

    fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.input
            .read_exact(&mut byte)
            .expect("because the server does not hang up");
        byte[0]
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Its end of the pipe closes with ours; it would see that, but nobody waits for it.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn word(item: &Item) -> &str {
    match item {
        Item::List(items) => match items.first() {
            Some(Item::Word(word)) => word,
            other => panic!("no command: {other:?}"),
        },
        other => panic!("no command: {other:?}"),
    }
}

fn args(item: &Item) -> &[Item] {
    match item {
        Item::List(items) => match items.get(1) {
            Some(Item::List(args)) => args,
            other => panic!("no arguments: {other:?}"),
        },
        other => panic!("no command: {other:?}"),
    }
}

fn failure(item: &Item) -> Vec<(u64, String)> {
    assert_eq!(word(item), "failure", "{item:?}");
    let links = args(item).iter().map(|link| match link {
        Item::List(parts) => match parts.as_slice() {
            [Item::Number(code), Item::Text(message), ..] => {
                (*code, String::from_utf8_lossy(message).into_owned())
            }
            other => panic!("no link: {other:?}"),
        },
        other => panic!("no link: {other:?}"),
    });
    links.collect()
}

/// An item as the recording prints it: lists without brackets, absent as `-`.
fn shown(item: &Item) -> String {
    match item {
        Item::Number(number) => number.to_string(),
        Item::Word(word) => word.clone(),
        Item::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Item::List(items) if items.is_empty() => "-".to_owned(),
        Item::List(items) => items.iter().map(shown).collect::<Vec<_>>().join("@"),
    }
}
