//! A raw svn:// client: sends any items and returns the server's items.
//!
//! It does not use the codec of `wire`, because it is part of the oracle.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::checksum::Md5;

use crate::server::TestServer;
use crate::tool::Side;

/// Reads bytes as `read` does, and repeats interrupted calls. A socket with a timeout reports an interruption when
/// its process was stopped and continues.
///
/// # Errors
/// Other errors of reading.
pub fn read_some(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// One item of the protocol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeItem {
    /// `12`
    Number(u64),
    /// `word`
    Word(String),
    /// `4:text`
    Text(Vec<u8>),
    /// `( … )`
    List(Vec<ProbeItem>),
}

/// Returns a word.
pub fn word(word: &str) -> ProbeItem {
    ProbeItem::Word(word.into())
}

/// Returns a string.
pub fn text(text: impl AsRef<[u8]>) -> ProbeItem {
    ProbeItem::Text(text.as_ref().to_vec())
}

/// Returns a list.
pub fn list(items: impl IntoIterator<Item = ProbeItem>) -> ProbeItem {
    ProbeItem::List(items.into_iter().collect())
}

/// Returns a list of one item or none.
pub fn optional(item: Option<ProbeItem>) -> ProbeItem {
    list(item)
}

/// Returns `true` or `false`.
pub fn flag(value: bool) -> ProbeItem {
    word(if value { "true" } else { "false" })
}

impl ProbeItem {
    /// Appends the encoded item.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            ProbeItem::Number(number) => out.extend(format!("{number} ").into_bytes()),
            ProbeItem::Word(word) => out.extend(format!("{word} ").into_bytes()),
            ProbeItem::Text(bytes) => {
                out.extend(format!("{}:", bytes.len()).into_bytes());
                out.extend(bytes);
                out.push(b' ');
            }
            ProbeItem::List(items) => {
                out.extend(b"( ");
                items.iter().for_each(|item| item.write(out));
                out.extend(b") ");
            }
        }
    }

    /// Returns the items of a list; an empty slice for other items.
    pub fn items(&self) -> &[ProbeItem] {
        match self {
            ProbeItem::List(items) => items,
            _ => &[],
        }
    }
}

impl fmt::Debug for ProbeItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProbeItem::Number(number) => write!(f, "{number}"),
            ProbeItem::Word(word) => f.write_str(word),
            ProbeItem::Text(bytes) => write!(f, "'{}'", String::from_utf8_lossy(bytes)),
            ProbeItem::List(items) => {
                f.write_str("(")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item:?}", if at == 0 { "" } else { " " })?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A session with a server.
#[derive(Debug)]
pub struct Probe {
    server: Arc<TestServer>,
    url: String,
    to: TcpStream,
    from: BufReader<TcpStream>,
}

impl Probe {
    /// Starts a server and opens a session at the root of `repository`.
    pub fn open(repository: &Path, args: &[&str]) -> Probe {
        let root = repository.parent().expect("because a repository is in a folder");
        let name = repository.file_name().expect("because a repository has a name");
        let server = Arc::new(TestServer::svnserve(Side::Theirs, root, args));
        let url = format!("svn://localhost/{}", name.to_string_lossy());
        Self::connect(server, url)
    }

    /// Opens another session: another process, with empty caches.
    pub fn reconnect(&self) -> Probe {
        Self::connect(Arc::clone(&self.server), self.url.clone())
    }

    fn connect(server: Arc<TestServer>, url: String) -> Probe {
        Self::connect_as(server, url, None)
    }

    /// Opens a session at a URL as a user with a password, or anonymously.
    pub fn connect_as(server: Arc<TestServer>, url: String, user: Option<(&str, &str)>) -> Probe {
        let to = TcpStream::connect(server.addr()).expect("because svnserve listens");
        to.set_nodelay(true).expect("because it is a TCP socket");
        to.set_read_timeout(Some(TIMEOUT))
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
            ProbeItem::Number(2),
            list(capabilities.map(word)),
            text(url),
            text("probe"),
            list([]),
        ]));
        probe.read();
        match user {
            None => probe.write(&list([word("ANONYMOUS"), list([text("")])])),
            Some((name, password)) => probe.log_in(name, password),
        }
        probe.read();
        probe.read();
        probe
    }

    /// Logs in with CRAM-MD5.
    fn log_in(&mut self, name: &str, password: &str) {
        self.write(&list([word("CRAM-MD5"), list([])]));
        let step = self.read();
        let challenge = match step.items() {
            [_, ProbeItem::List(params)] => match &params[..] {
                [ProbeItem::Text(challenge)] => challenge.clone(),
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

    /// Sends text without encoding.
    pub fn send_text(&mut self, text: &str) {
        // If the server has closed the connection, the next read returns it.
        _ = self.to.write_all(text.as_bytes());
    }

    /// Sends bytes without encoding. If the server has closed the connection, the next read returns it.
    pub fn send(&mut self, bytes: &[u8]) {
        _ = self.to.write_all(bytes);
    }

    /// Runs a command with a single response; returns that.
    pub fn request(&mut self, command: &str, params: Vec<ProbeItem>) -> ProbeItem {
        self.write(&list([word(command), ProbeItem::List(params)]));
        let auth = self.read();
        if auth.items().first() == Some(&word("failure")) {
            return auth;
        }
        self.read()
    }

    /// Runs a command that streams; returns the items before `done`, and the response.
    pub fn stream(&mut self, command: &str, params: Vec<ProbeItem>) -> (Vec<ProbeItem>, ProbeItem) {
        self.write(&list([word(command), ProbeItem::List(params)]));
        let mut items = Vec::new();
        let auth = self.read();
        if auth.items().first() == Some(&word("failure")) {
            return (items, auth);
        }
        loop {
            match self.read() {
                ProbeItem::Word(closed) if closed == "closed" => return (items, word("closed")),
                ProbeItem::Word(done) if done == "done" => return (items, self.read()),
                failure if failure.items().first() == Some(&word("failure")) => return (items, failure),
                item => items.push(item),
            }
        }
    }

    fn write(&mut self, item: &ProbeItem) {
        let mut bytes = Vec::new();
        item.write(&mut bytes);
        self.to.write_all(&bytes).expect("because svnserve listens");
        self.to.flush().expect("because svnserve listens");
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = loop {
            match self.from.fill_buf() {
                Ok(bytes) => break bytes.first().copied()?,
                // The process was stopped and continues.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        };
        self.from.consume(1);
        Some(byte)
    }

    /// Returns the next item, or the word "closed" if the connection is closed or after a timeout.
    pub fn read(&mut self) -> ProbeItem {
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

    fn item(&mut self, first: u8) -> Option<ProbeItem> {
        match first {
            b'(' => {
                let mut items = Vec::new();
                loop {
                    match self.skip()? {
                        b')' => return Some(ProbeItem::List(items)),
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
                        _ => return Some(ProbeItem::Number(number)),
                    }
                }
                let mut bytes = vec![0; number as usize];
                self.from.read_exact(&mut bytes).ok()?;
                Some(ProbeItem::Text(bytes))
            }
            _ => {
                let mut word = String::from(char::from(first));
                loop {
                    match self.byte()? {
                        b' ' | b'\n' => return Some(ProbeItem::Word(word)),
                        byte => word.push(char::from(byte)),
                    }
                }
            }
        }
    }
}

/// The time limit for a response.
const TIMEOUT: Duration = Duration::from_secs(20);
