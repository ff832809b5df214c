//! Asking a real `svnserve` in its own words, and seeing its raw answers.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use testkit::Side;
use testkit::server::Server;

/// One item of the protocol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    Number(u64),
    Word(String),
    Text(Vec<u8>),
    List(Vec<Item>),
}

pub fn word(word: &str) -> Item {
    Item::Word(word.into())
}

pub fn text(text: impl AsRef<[u8]>) -> Item {
    Item::Text(text.as_ref().to_vec())
}

pub fn list(items: impl IntoIterator<Item = Item>) -> Item {
    Item::List(items.into_iter().collect())
}

pub fn optional(item: Option<Item>) -> Item {
    list(item)
}

pub fn flag(value: bool) -> Item {
    word(if value { "true" } else { "false" })
}

impl Item {
    fn write(&self, out: &mut Vec<u8>) {
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

/// A conversation with an `svnserve` of its own.
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
        let to = TcpStream::connect(server.addr()).expect("because svnserve listens");
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
        probe.write(&list([word("ANONYMOUS"), list([text("")])]));
        probe.read();
        probe.read();
        probe
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
        let byte = self.from.fill_buf().ok()?.first().copied()?;
        self.from.consume(1);
        Some(byte)
    }

    /// The next item, or the word "closed" if the server went away.
    fn read(&mut self) -> Item {
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
