//! A minimal ra_svn client: enough to request an edit from the real `svnserve` and to record its calls.
//!
//! It does not use our own codec, because it is part of the oracle.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use testkit::server::TestServer;

/// An item of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerItem {
    Number(u64),
    Text(Vec<u8>),
    Word(String),
    List(Vec<PeerItem>),
}

/// An edit as lines (see [`crate::recording`]), or the codes and messages of the failure.
pub type EditLines = Result<Vec<String>, Vec<(u64, String)>>;

pub struct SvnPeer {
    input: Box<dyn BufRead>,
    output: Box<dyn Write>,
    /// The server process of a tunnel, which ends with the connection.
    child: Option<Child>,
}

impl SvnPeer {
    /// Connects to `path` below the server's root as an anonymous user.
    pub fn connect(server: &TestServer, path: &str) -> SvnPeer {
        let output = TcpStream::connect(server.addr()).expect("because the server is up");
        output.set_nodelay(true).expect("because it is a TCP socket");
        let input = BufReader::new(output.try_clone().expect("because it is open"));
        let mut peer = SvnPeer {
            input: Box::new(input),
            output: Box::new(output),
            child: None,
        };
        peer.greet(&server.url(path), "ANONYMOUS");
        peer
    }

    /// Starts `svnserve` at the other end of a pipe, as a tunnel for the login of `user` does.
    pub fn tunnel(root: &Path, url: &str, user: Option<&str>) -> SvnPeer {
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
        let mut peer = SvnPeer {
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
        assert_eq!(command_name(&info), "success", "{info:?}");
    }

    /// Sends a request whose response is an auth-request and a result; returns the error chain if it is a failure.
    pub fn ask(&mut self, request: &[u8]) -> Result<PeerItem, Vec<(u64, String)>> {
        self.send_bytes(request);
        for _ in 0..2 {
            let answer = self.item();
            if command_name(&answer) == "failure" {
                return Err(failure(&answer));
            }
            if let [PeerItem::List(mechanisms), ..] = args(&answer)
                && mechanisms.is_empty()
                && args(&answer).len() == 2
            {
                continue;
            }
            return Ok(answer);
        }
        panic!("two auth-requests for one request")
    }

    /// Sends a commit and its whole drive at once; returns the commit-info, or the reason why there is none.
    pub fn commit(&mut self, request: &[u8], drive: &[u8]) -> Result<PeerItem, Vec<(u64, String)>> {
        self.ask(request)?;
        self.send_bytes(drive);
        let answer = self.item();
        if command_name(&answer) == "failure" {
            self.send("( abort-edit ( ) ) ");
            return Err(failure(&answer));
        }
        self.item();
        Ok(self.item())
    }

    /// Sends a request (`update`, …) and report commands, then records the calls of the edit.
    pub fn report(&mut self, request: &str, report: &[String]) -> EditLines {
        let mut all = format!("{request} ");
        for command in report {
            all.push_str(command);
            all.push(' ');
        }
        all.push_str("( finish-report ( ) ) ");
        self.send(&all);
        for _ in 0..2 {
            let auth = self.item();
            if command_name(&auth) == "failure" {
                return Err(failure(&auth));
            }
        }
        self.edit()
    }

    /// Requests a replay and records its calls.
    pub fn replay(&mut self, rev: u64, low: u64, deltas: bool) -> EditLines {
        self.send(&format!("( replay ( {rev} {low} {deltas} ) ) "));
        let auth = self.item();
        assert_eq!(command_name(&auth), "success");
        self.edit()
    }

    fn edit(&mut self) -> EditLines {
        let mut lines = Vec::new();
        let mut open: HashMap<Vec<u8>, String> = HashMap::new();
        let mut chunks = 0usize;
        loop {
            let item = self.item();
            let name = command_name(&item);
            let args = args(&item);
            let path = |at: usize| match args.get(at) {
                Some(PeerItem::Text(path)) => String::from_utf8_lossy(path).into_owned(),
                other => panic!("no path: {other:?}"),
            };
            let token = |at: usize| match args.get(at) {
                Some(PeerItem::Text(token)) => token.clone(),
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
                    assert_eq!(command_name(&answer), "success", "{answer:?}");
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
                    if let Some(PeerItem::Text(bytes)) = args.get(1) {
                        chunks += bytes.len();
                    }
                }
                "textdelta-end" => {
                    let content = if chunks > 4 { "windows" } else { "nothing" };
                    lines.push(format!("text-end {} {content}", known(0)));
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

    fn item(&mut self) -> PeerItem {
        loop {
            match self.byte() {
                b' ' | b'\n' => {}
                first => return self.item_from(first),
            }
        }
    }

    fn item_from(&mut self, first: u8) -> PeerItem {
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
                            return PeerItem::Text(text);
                        }
                        _ => return PeerItem::Number(number),
                    }
                }
            }
            b'(' => {
                let mut items = Vec::new();
                loop {
                    match self.byte() {
                        b' ' | b'\n' => {}
                        b')' => return PeerItem::List(items),
                        first => items.push(self.item_from(first)),
                    }
                }
            }
            _ => {
                let mut word = vec![first];
                self.input
                    .read_until(b' ', &mut word)
                    .expect("because the server sends it");
                PeerItem::Word(String::from_utf8_lossy(&word).trim().to_owned())
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

impl Drop for SvnPeer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // The server's end of the pipe closes with ours; it ends by itself, but its exit is not waited for.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn command_name(item: &PeerItem) -> &str {
    match item {
        PeerItem::List(items) => match items.first() {
            Some(PeerItem::Word(name)) => name,
            other => panic!("no command: {other:?}"),
        },
        other => panic!("no command: {other:?}"),
    }
}

fn args(item: &PeerItem) -> &[PeerItem] {
    match item {
        PeerItem::List(items) => match items.get(1) {
            Some(PeerItem::List(args)) => args,
            other => panic!("no arguments: {other:?}"),
        },
        other => panic!("no command: {other:?}"),
    }
}

fn failure(item: &PeerItem) -> Vec<(u64, String)> {
    assert_eq!(command_name(item), "failure", "{item:?}");
    let links = args(item).iter().map(|link| match link {
        PeerItem::List(parts) => match parts.as_slice() {
            [PeerItem::Number(code), PeerItem::Text(message), ..] => {
                (*code, String::from_utf8_lossy(message).into_owned())
            }
            other => panic!("no link: {other:?}"),
        },
        other => panic!("no link: {other:?}"),
    });
    links.collect()
}

/// An item as the recording prints it: lists without brackets, absent as `-`.
fn shown(item: &PeerItem) -> String {
    match item {
        PeerItem::Number(number) => number.to_string(),
        PeerItem::Word(word) => word.clone(),
        PeerItem::Text(text) => String::from_utf8_lossy(text).into_owned(),
        PeerItem::List(items) if items.is_empty() => "-".to_owned(),
        PeerItem::List(items) => items.iter().map(shown).collect::<Vec<_>>().join("@"),
    }
}
