//! Sends a sequence to one server and records the responses.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rustix::net::sockopt;

use super::super::plain::ALICE;
use super::super::served::{AGENT, LONGEST, Served};
use super::generator::{Cut, Request, Sequence, Step};

/// The URLs of a transaction.
#[derive(Clone)]
struct Names {
    /// The root of its tree.
    tree: String,
    /// The transaction, or the activity.
    txn: String,
    /// The resource with its properties.
    props: String,
}

/// The compared parts of a response.
struct Said {
    status: u16,
    number: String,
    text: Option<String>,
    ends: bool,
}

impl Said {
    fn shown(&self) -> String {
        let mut out = format!("{} {}", self.status, self.number);
        if let Some(text) = &self.text {
            _ = write!(out, " {text:?}");
        }
        if self.ends {
            out += " ends";
        }
        out
    }
}

/// The responses of a sequence, and its slowest request.
pub struct Outcome {
    pub told: String,
    pub slowest: (Duration, String),
}

struct Driver<'a> {
    served: &'a Served,
    names: Names,
    kept: Option<BufReader<TcpStream>>,
    slowest: (Duration, String),
}

/// Sends a sequence.
pub fn drive(served: &Served, seed: u64, sequence: &Sequence) -> Outcome {
    let mut told = format!("seed {seed}{}\n", if sequence.is_v1 { " (v1)" } else { "" });
    restore(served);
    let mut driver = Driver {
        served,
        names: begin(served, sequence.is_v1, &format!("s{seed}")),
        kept: None,
        slowest: (Duration::ZERO, String::new()),
    };
    for (nth, step) in sequence.steps.iter().enumerate() {
        driver.step(step, sequence.is_v1, &format!("s{seed}-{nth}"), &mut told);
    }
    if sequence.is_merged {
        let merged = driver.one(&merge(&driver.names));
        _ = writeln!(told, "  MERGE: {}", merged.shown());
    }
    let gone = served.ask("DELETE", &driver.names.txn, &[ALICE], "");
    _ = writeln!(told, "  DELETE: {}", gone.status);
    Outcome {
        told,
        slowest: driver.slowest,
    }
}

/// Commits a revision with the tree of the first one.
fn restore(served: &Served) {
    let names = begin(served, false, "");
    let port = served.server.port();
    for path in ["f", "a", "new"] {
        served.ask("DELETE", &format!("{}/{path}", names.tree), &[ALICE], "");
    }
    for path in ["f", "a"] {
        let to = format!("http://127.0.0.1:{port}{}/{path}", names.tree);
        let from = format!("/r/!svn/rvr/1/{path}");
        let copied = served.ask("COPY", &from, &[ALICE, ("Destination", &to)], "");
        assert_eq!(copied.status, 201);
    }
    let name = names.txn.rsplit('/').next().unwrap_or_default();
    assert_eq!(served.merge(name).status, 200);
}

/// Begins a transaction.
fn begin(served: &Served, is_v1: bool, name: &str) -> Names {
    if !is_v1 {
        let name = served.begin();
        return Names {
            tree: format!("/r/!svn/txr/{name}"),
            txn: format!("/r/!svn/txn/{name}"),
            props: format!("/r/!svn/txn/{name}"),
        };
    }
    let txn = format!("/r/!svn/act/{name}");
    assert_eq!(served.ask("MKACTIVITY", &txn, &[ALICE], "").status, 201);
    let body = format!(
        "<D:checkout xmlns:D='DAV:'><D:activity-set><D:href>{txn}</D:href></D:activity-set></D:checkout>"
    );
    let mut options = served.ask(
        "OPTIONS",
        "/r",
        &[ALICE],
        "<D:options xmlns:D='DAV:'><D:activity-collection-set/></D:options>",
    );
    let youngest = options
        .headers
        .remove("svn-youngest-rev")
        .expect("because it says so");
    let baseline = format!("/r/!svn/bln/{}", youngest[0]);
    let mut answer = served.ask("CHECKOUT", &baseline, &[ALICE], &body);
    assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
    let place = answer
        .headers
        .remove("location")
        .expect("because it names the baseline");
    let props = place[0]
        .split_once("/r/")
        .expect("because it is in the repository")
        .1
        .to_owned();
    Names {
        tree: format!("/r/!svn/wrk/{name}"),
        txn,
        props: format!("/r/{props}"),
    }
}

fn merge(names: &Names) -> Request {
    Request {
        method: "MERGE",
        url: "/r".to_owned(),
        headers: Vec::new(),
        body: format!(
            "<D:merge xmlns:D='DAV:'><D:source><D:href>{}</D:href></D:source></D:merge>",
            names.txn
        ),
        chunks: None,
    }
}

impl Driver<'_> {
    fn step(&mut self, step: &Step, is_v1: bool, name: &str, told: &mut String) {
        let mut say = |what: &str, request: &Request, said: &str| {
            _ = writeln!(told, "  {what}{} {}: {said}", request.method, request.url);
        };
        match step {
            Step::One(request) => say("", request, &self.one(request).shown()),
            Step::Kept(request) => say("kept: ", request, &self.over_kept(request).shown()),
            Step::Pipelined(requests) => {
                for (request, said) in requests.iter().zip(self.pipelined(requests)) {
                    say("pipelined: ", request, &said.shown());
                }
            }
            Step::Expecting(request) => say("expecting: ", request, &self.expecting(request)),
            Step::Cut {
                request,
                in_body,
                part,
                how,
            } => {
                let said = self.cut(request, *in_body, *part, *how);
                say(&format!("cut at {in_body} {part} {how:?}: "), request, &said);
            }
            Step::Parallel(lists) => {
                let names: Vec<Names> = (0..lists.len())
                    .map(|nth| begin(self.served, is_v1, &format!("{name}-{nth}")))
                    .collect();
                let said: Vec<Vec<Said>> = thread::scope(|scope| {
                    let all: Vec<_> = lists
                        .iter()
                        .zip(&names)
                        .map(|(list, names)| {
                            let mut other = Driver {
                                served: self.served,
                                names: names.clone(),
                                kept: None,
                                slowest: (Duration::ZERO, String::new()),
                            };
                            scope.spawn(move || {
                                let said = list.iter().map(|request| other.over_kept(request)).collect();
                                (said, other.slowest)
                            })
                        })
                        .collect();
                    let all = all
                        .into_iter()
                        .map(|thread| thread.join().expect("because it only asks"));
                    all.map(|(said, slowest)| {
                        self.slowest = std::mem::take(&mut self.slowest).max(slowest);
                        said
                    })
                    .collect()
                });
                for (list, said) in lists.iter().zip(&said) {
                    for (request, said) in list.iter().zip(said) {
                        say("parallel: ", request, &said.shown());
                    }
                }
                for names in &names {
                    let request = merge(names);
                    let said = self.one(&request);
                    _ = writeln!(told, "  MERGE of a parallel one: {}", said.shown());
                    self.served.ask("DELETE", &names.txn, &[ALICE], "");
                }
            }
            Step::Meanwhile(path) => {
                let names = begin(self.served, false, "");
                let text = format!("meanwhile {name}\n");
                let put = self
                    .served
                    .ask("PUT", &format!("{}/{path}", names.tree), &[ALICE], &text);
                let said = self.one(&merge(&names));
                self.served.ask("DELETE", &names.txn, &[ALICE], "");
                _ = writeln!(told, "  meanwhile {path}: {} {}", put.status, said.shown());
            }
        }
    }

    /// Returns the bytes of the head and the body.
    fn bytes(&self, request: &Request, more: &str) -> (Vec<u8>, Vec<u8>) {
        let port = self.served.server.port();
        let full = |text: &str| {
            text.replace("{W}", &self.names.tree)
                .replace("{T}", &self.names.txn)
                .replace("{P}", &self.names.props)
                .replace("{H}", &format!("http://127.0.0.1:{port}"))
        };
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{more}",
            request.method,
            full(&request.url)
        );
        for (name, value) in [AGENT, ALICE] {
            _ = write!(head, "{name}: {value}\r\n");
        }
        for (name, value) in &request.headers {
            _ = write!(head, "{name}: {}\r\n", full(value));
        }
        let mut body = full(&request.body).into_bytes();
        match request.chunks {
            Some(size) => {
                head += "Transfer-Encoding: chunked\r\n";
                let mut chunked = Vec::new();
                for chunk in body.chunks(size) {
                    chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    chunked.extend_from_slice(chunk);
                    chunked.extend_from_slice(b"\r\n");
                }
                chunked.extend_from_slice(b"0\r\n\r\n");
                body = chunked;
            }
            None if !body.is_empty() => _ = write!(head, "Content-Length: {}\r\n", body.len()),
            None => {}
        }
        head += "\r\n";
        (head.into_bytes(), body)
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(self.served.server.addr()).expect("because it listens");
        stream
            .set_read_timeout(Some(LONGEST))
            .expect("because the time is not zero");
        stream.set_nodelay(true).expect("because it is a TCP socket");
        BufReader::new(stream)
    }

    /// Sends a request over a new connection.
    fn one(&mut self, request: &Request) -> Said {
        let mut stream = self.connect();
        let said = self.ask(&mut stream, request);
        said.unwrap_or_else(|| panic!("no answer to {request:?}"))
    }

    /// Sends a request over the persistent connection, which is reopened if the server has closed it.
    fn over_kept(&mut self, request: &Request) -> Said {
        if let Some(mut stream) = self.kept.take()
            && let Some(said) = self.ask(&mut stream, request)
        {
            self.kept = (!said.ends).then_some(stream);
            return said;
        }
        let mut stream = self.connect();
        let said = self.ask(&mut stream, request);
        let said = said.unwrap_or_else(|| panic!("no answer to {request:?}"));
        self.kept = (!said.ends).then_some(stream);
        said
    }

    fn ask(&mut self, stream: &mut BufReader<TcpStream>, request: &Request) -> Option<Said> {
        let (head, body) = self.bytes(request, "");
        // A server that has refused the request may have closed the connection.
        stream.get_mut().write_all(&[head, body].concat()).ok()?;
        self.timed(request, |_| read_answer(stream, request.method))
    }

    fn timed<T>(&mut self, request: &Request, ask: impl FnOnce(&mut Self) -> T) -> T {
        let begun = Instant::now();
        let said = ask(self);
        let took = begun.elapsed();
        if took > self.slowest.0 {
            self.slowest = (took, format!("{} {}", request.method, request.url));
        }
        said
    }

    fn pipelined(&mut self, requests: &[Request]) -> Vec<Said> {
        let mut all = Vec::new();
        for request in requests {
            let (head, body) = self.bytes(request, "");
            all.extend_from_slice(&head);
            all.extend_from_slice(&body);
        }
        let mut stream = self.connect();
        // A server that has refused a request may not read the others.
        _ = stream.get_mut().write_all(&all);
        let mut said = Vec::new();
        for request in requests {
            let Some(next) = self.timed(request, |_| read_answer(&mut stream, request.method)) else {
                break;
            };
            let ends = next.ends;
            said.push(next);
            if ends {
                break;
            }
        }
        said
    }

    fn expecting(&mut self, request: &Request) -> String {
        let (head, body) = self.bytes(request, "Expect: 100-continue\r\n");
        let mut stream = self.connect();
        stream
            .get_mut()
            .write_all(&head)
            .expect("because the server reads");
        let first = self.timed(request, |_| read_answer(&mut stream, request.method));
        let first = first.unwrap_or_else(|| panic!("no answer to {request:?}"));
        if first.status != 100 {
            return format!("at once {} {}", first.status, first.number);
        }
        stream
            .get_mut()
            .write_all(&body)
            .expect("because the server has asked for it");
        let said = self.timed(request, |_| read_answer(&mut stream, request.method));
        let said = said.unwrap_or_else(|| panic!("no answer to {request:?}"));
        format!("100, then {}", said.shown())
    }

    /// Sends the beginning of a request. A text is sent again later, so that no partial text remains.
    fn cut(&mut self, request: &Request, in_body: bool, part: usize, how: Cut) -> String {
        let is_asked = in_body && how == Cut::Reset;
        let more = if is_asked { "Expect: 100-continue\r\n" } else { "" };
        let (head, body) = self.bytes(request, more);
        let mut stream = self.connect();
        if is_asked {
            // The server does not get the bytes that it has not read before the reset.
            stream
                .get_mut()
                .write_all(&head)
                .expect("because the server reads");
            let first = read_answer(&mut stream, request.method).expect("because it answers");
            if first.status != 100 {
                return format!("at once {} {}", first.status, first.number);
            }
        }
        let bytes = match (in_body, is_asked) {
            (false, _) => head[..head.len() * part / 1000].to_vec(),
            (true, true) => body[..body.len() * part / 1000].to_vec(),
            (true, false) => [&head, &body[..body.len() * part / 1000]].concat(),
        };
        _ = stream.get_mut().write_all(&bytes);
        match how {
            Cut::Finished => {
                _ = stream.get_mut().shutdown(Shutdown::Write);
                // The response to a partial request is not compared.
                let mut rest = Vec::new();
                self.timed(request, |_| _ = stream.read_to_end(&mut rest));
            }
            Cut::Reset => {
                let linger = sockopt::set_socket_linger(stream.get_ref(), Some(Duration::ZERO));
                linger.expect("because it is a socket");
                drop(stream);
            }
        }
        if !in_body || request.method != "PUT" {
            return String::new();
        }
        self.wait_until_free();
        let again = self.one(&Request {
            body: "again\n".to_owned(),
            chunks: None,
            ..request.clone()
        });
        format!("again {}", again.shown())
    }

    /// Waits until the server has noticed that a text was aborted.
    fn wait_until_free(&mut self) {
        let begun = Instant::now();
        let probe = Request {
            method: "PUT",
            url: "{W}/probe".to_owned(),
            headers: Vec::new(),
            body: "probe".to_owned(),
            chunks: None,
        };
        while self.one(&probe).number == "160044" {
            assert!(
                begun.elapsed() < LONGEST,
                "a text that was broken off is still being written"
            );
            sleep(Duration::from_millis(10));
        }
        // Subversion writes the node after it has released the file, which breaks concurrent requests (E160004).
        sleep(Duration::from_millis(30));
    }
}

/// Reads a response; `None` if there is none.
fn read_answer(stream: &mut BufReader<TcpStream>, method: &str) -> Option<Said> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    let value = |name: &str| {
        let line = head.lines().find(|line| {
            line.split_once(':')
                .is_some_and(|(found, _)| found.eq_ignore_ascii_case(name))
        })?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let mut body = Vec::new();
    let is_bare = method == "HEAD" || status < 200 || status == 204 || status == 304;
    if is_bare {
    } else if value("transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok()?;
            let size = u64::from_str_radix(line.trim(), 16).ok()?;
            stream.by_ref().take(size).read_to_end(&mut body).ok()?;
            stream.read_line(&mut line).ok()?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = value("content-length") {
        let length = length.parse().ok()?;
        stream.by_ref().take(length).read_to_end(&mut body).ok()?;
    } else {
        stream.read_to_end(&mut body).ok()?;
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    let number = body
        .split_once("errcode=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let is_text = method == "GET" && status == 200 && !body.starts_with("<html>");
    Some(Said {
        status,
        number: number.map_or(String::new(), |(number, _)| number.to_owned()),
        text: is_text.then_some(body.clone()),
        ends: value("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")),
    })
}
