//! Asking a server in the protocol's own words, and seeing its raw answers.
//!
//! Independent of our own codec on purpose: it is part of the oracle.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::checksum::Md5;

use crate::server::Server;
use crate::tool::Side;

/// Reads what has come, as `read` does. Where a process was stopped and goes on, a socket with a time limit says that it was
/// interrupted, which means nothing: it is asked again.
///
/// # Errors
/// The system's, but for that one.
pub fn hear(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            heard => return heard,
        }
    }
}

/// One item of the protocol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// `12`
    Number(u64),
    /// `word`
    Word(String),
    /// `4:text`
    Text(Vec<u8>),
    /// `( … )`
    List(Vec<Item>),
}

/// A word.
pub fn word(word: &str) -> Item {
    Item::Word(word.into())
}

/// A string.
pub fn text(text: impl AsRef<[u8]>) -> Item {
    Item::Text(text.as_ref().to_vec())
}

/// A list.
pub fn list(items: impl IntoIterator<Item = Item>) -> Item {
    Item::List(items.into_iter().collect())
}

/// A list of one item or none.
pub fn optional(item: Option<Item>) -> Item {
    list(item)
}

/// `true` or `false`.
pub fn flag(value: bool) -> Item {
    word(if value { "true" } else { "false" })
}

impl Item {
    /// Appends the item as it goes over the wire.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Item::Number(number) => out.extend(format!("{number} ").into_bytes()),
            Item::Word(word) => out.extend(format!("{word} ").into_bytes()),
            Item::Text(bytes) => {
                out.extend(format!("{}:", bytes.len()).into_bytes());
                out.extend(bytes);
                out.push(b' ');
            }
            Item::List(items) => {
                out.extend(b"( ");
                items.iter().for_each(|item| item.write(out));
                out.extend(b") ");
            }
        }
    }

    /// What a list holds; nothing for anything else.
    pub fn items(&self) -> &[Item] {
        match self {
            Item::List(items) => items,
            _ => &[],
        }
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Number(number) => write!(f, "{number}"),
            Item::Word(word) => f.write_str(word),
            Item::Text(bytes) => write!(f, "'{}'", String::from_utf8_lossy(bytes)),
            Item::List(items) => {
                f.write_str("(")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item:?}", if at == 0 { "" } else { " " })?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A conversation with a server.
#[derive(Debug)]
pub struct Probe {
    server: Arc<Server>,
    url: String,
    to: TcpStream,
    from: BufReader<TcpStream>,
}

impl Probe {
    /// Starts a server and opens a session at the root of `repository`.
    pub fn open(repository: &Path, args: &[&str]) -> Probe {
        let root = repository.parent().expect("because a repository is in a folder");
        let name = repository.file_name().expect("because a repository has a name");
        let server = Arc::new(Server::svnserve(Side::Theirs, root, args));
        let url = format!("svn://localhost/{}", name.to_string_lossy());
        Self::connect(server, url)
    }

    /// Opens another session: another process, with empty caches.
    pub fn again(&self) -> Probe {
        Self::connect(Arc::clone(&self.server), self.url.clone())
    }

    fn connect(server: Arc<Server>, url: String) -> Probe {
        Self::connect_as(server, url, None)
    }

    /// Opens a session at a URL as a user with a password, or anonymously.
    pub fn connect_as(server: Arc<Server>, url: String, user: Option<(&str, &str)>) -> Probe {
        let to = TcpStream::connect(server.addr()).expect("because svnserve listens");
        to.set_nodelay(true).expect("because it is a TCP socket");
        to.set_read_timeout(Some(PATIENCE))
            .expect("because it is a TCP socket");
        let from = BufReader::new(to.try_clone().expect("because it is connected"));
        let mut probe = Probe {
            server,
            url,
            to,
            from,
        };
        probe.read();
        let capabilities = [
            "edit-pipeline",
            "svndiff1",
            "accepts-svndiff2",
            "absent-entries",
            "depth",
            "mergeinfo",
            "log-revprops",
        ];
        let url = probe.url.clone();
        probe.write(&list([
            Item::Number(2),
            list(capabilities.map(word)),
            text(url),
            text("probe"),
            list([]),
        ]));
        probe.read();
        match user {
            None => probe.write(&list([word("ANONYMOUS"), list([text("")])])),
            Some((name, password)) => probe.prove(name, password),
        }
        probe.read();
        probe.read();
        probe
    }

    /// Answers the challenge of CRAM-MD5.
    fn prove(&mut self, name: &str, password: &str) {
        self.write(&list([word("CRAM-MD5"), list([])]));
        let step = self.read();
        let challenge = match step.items() {
            [_, Item::List(params)] => match &params[..] {
                [Item::Text(challenge)] => challenge.clone(),
                other => panic!("no challenge: {other:?}"),
            },
            other => panic!("no challenge: {other:?}"),
        };
        let padded = |with: u8| -> Vec<u8> {
            let mut key = [with; 64];
            key.iter_mut().zip(password.bytes()).for_each(|(k, p)| *k ^= p);
            key.to_vec()
        };
        let inner = Md5::of(&[padded(0x36), challenge].concat());
        let digest = Md5::of(&[padded(0x5c), inner.0.to_vec()].concat());
        self.write(&text(format!("{name} {digest}")));
    }

    /// Says something as it is.
    pub fn say(&mut self, words: &str) {
        // The server may have hung up; that is seen when reading.
        _ = self.to.write_all(words.as_bytes());
    }

    /// Says bytes as they are; a server that went away is seen when reading.
    pub fn send(&mut self, bytes: &[u8]) {
        _ = self.to.write_all(bytes);
    }

    /// Runs a command with a single response; returns that.
    pub fn ask(&mut self, command: &str, params: Vec<Item>) -> Item {
        self.write(&list([word(command), Item::List(params)]));
        let auth = self.read();
        if auth.items().first() == Some(&word("failure")) {
            return auth;
        }
        self.read()
    }

    /// Runs a command that streams; returns what comes before `done`, and the response.
    pub fn stream(&mut self, command: &str, params: Vec<Item>) -> (Vec<Item>, Item) {
        self.write(&list([word(command), Item::List(params)]));
        let mut items = Vec::new();
        let auth = self.read();
        if auth.items().first() == Some(&word("failure")) {
            return (items, auth);
        }
        loop {
            match self.read() {
                Item::Word(closed) if closed == "closed" => return (items, word("closed")),
                Item::Word(done) if done == "done" => return (items, self.read()),
                failure if failure.items().first() == Some(&word("failure")) => return (items, failure),
                item => items.push(item),
            }
        }
    }

    fn write(&mut self, item: &Item) {
        let mut bytes = Vec::new();
        item.write(&mut bytes);
        self.to.write_all(&bytes).expect("because svnserve listens");
        self.to.flush().expect("because svnserve listens");
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = loop {
            match self.from.fill_buf() {
                Ok(bytes) => break bytes.first().copied()?,
                // A process that was stopped and goes on.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        };
        self.from.consume(1);
        Some(byte)
    }

    /// The next item, or the word "closed" if the server went away or says nothing for long.
    pub fn read(&mut self) -> Item {
        self.skip()
            .and_then(|first| self.item(first))
            .unwrap_or_else(|| word("closed"))
    }

    fn skip(&mut self) -> Option<u8> {
        loop {
            match self.byte()? {
                b' ' | b'\n' => {}
                byte => return Some(byte),
            }
        }
    }

    fn item(&mut self, first: u8) -> Option<Item> {
        match first {
            b'(' => {
                let mut items = Vec::new();
                loop {
                    match self.skip()? {
                        b')' => return Some(Item::List(items)),
                        first => items.push(self.item(first)?),
                    }
                }
            }
            b'0'..=b'9' => {
                let mut number = u64::from(first - b'0');
                loop {
                    match self.byte()? {
                        digit @ b'0'..=b'9' => number = number * 10 + u64::from(digit - b'0'),
                        b':' => break,
                        _ => return Some(Item::Number(number)),
                    }
                }
                let mut bytes = vec![0; number as usize];
                self.from.read_exact(&mut bytes).ok()?;
                Some(Item::Text(bytes))
            }
            _ => {
                let mut word = String::from(char::from(first));
                loop {
                    match self.byte()? {
                        b' ' | b'\n' => return Some(Item::Word(word)),
                        byte => word.push(char::from(byte)),
                    }
                }
            }
        }
    }
}

/// How long a server may think.
const PATIENCE: Duration = Duration::from_secs(20);
