//! Sends a sequence to one server and records the responses.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rustix::net::sockopt;

use super::super::served::{AGENT, LONGEST, Served};
use super::super::webdav_clients::ALICE;
use super::generator::{Cut, RequestSequence, SequenceRequest, SequenceStep};

/// The URLs of a transaction.
#[derive(Clone)]
struct TransactionUrls {
    /// The root of its tree.
    tree: String,
    /// The transaction, or the activity.
    txn: String,
    /// The resource with its properties.
    props: String,
}

/// The compared parts of a response.
struct RecordedResponse {
    status: u16,
    number: String,
    text: Option<String>,
    ends: bool,
}

impl RecordedResponse {
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
pub struct SequenceResult {
    pub reported: String,
    pub slowest: (Duration, String),
}

struct Driver<'a> {
    served: &'a Served,
    names: TransactionUrls,
    kept: Option<BufReader<TcpStream>>,
    slowest: (Duration, String),
}

/// Sends a sequence.
pub fn drive(served: &Served, seed: u64, sequence: &RequestSequence) -> SequenceResult {
    let mut reported = format!("seed {seed}{}\n", if sequence.is_v1 { " (v1)" } else { "" });
    restore(served);
    let mut driver = Driver {
        served,
        names: begin(served, sequence.is_v1, &format!("s{seed}")),
        kept: None,
        slowest: (Duration::ZERO, String::new()),
    };
    for (nth, step) in sequence.steps.iter().enumerate() {
        driver.step(step, sequence.is_v1, &format!("s{seed}-{nth}"), &mut reported);
    }
    if sequence.is_merged {
        let merged = driver.one(&merge(&driver.names));
        _ = writeln!(reported, "  MERGE: {}", merged.shown());
    }
    let gone = served.send_request("DELETE", &driver.names.txn, &[ALICE], "");
    _ = writeln!(reported, "  DELETE: {}", gone.status);
    SequenceResult {
        reported,
        slowest: driver.slowest,
    }
}

/// Commits a revision with the tree of the first one.
fn restore(served: &Served) {
    let names = begin(served, false, "");
    let port = served.server.port();
    for path in ["f", "a", "new"] {
        served.send_request("DELETE", &format!("{}/{path}", names.tree), &[ALICE], "");
    }
    for path in ["f", "a"] {
        let to = format!("http://127.0.0.1:{port}{}/{path}", names.tree);
        let from = format!("/r/!svn/rvr/1/{path}");
        let copied = served.send_request("COPY", &from, &[ALICE, ("Destination", &to)], "");
        assert_eq!(copied.status, 201);
    }
    let name = names.txn.rsplit('/').next().unwrap_or_default();
    assert_eq!(served.merge(name).status, 200);
}

/// Begins a transaction.
fn begin(served: &Served, is_v1: bool, name: &str) -> TransactionUrls {
    if !is_v1 {
        let name = served.begin();
        return TransactionUrls {
            tree: format!("/r/!svn/txr/{name}"),
            txn: format!("/r/!svn/txn/{name}"),
            props: format!("/r/!svn/txn/{name}"),
        };
    }
    let txn = format!("/r/!svn/act/{name}");
    assert_eq!(served.send_request("MKACTIVITY", &txn, &[ALICE], "").status, 201);
    let body = format!(
        "<D:checkout xmlns:D='DAV:'><D:activity-set><D:href>{txn}</D:href></D:activity-set></D:checkout>"
    );
    let mut options = served.send_request(
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
    let mut response = served.send_request("CHECKOUT", &baseline, &[ALICE], &body);
    assert_eq!(
        response.status,
        201,
        "{}",
        String::from_utf8_lossy(&response.body)
    );
    let place = response
        .headers
        .remove("location")
        .expect("because it names the baseline");
    let props = place[0]
        .split_once("/r/")
        .expect("because it is in the repository")
        .1
        .to_owned();
    TransactionUrls {
        tree: format!("/r/!svn/wrk/{name}"),
        txn,
        props: format!("/r/{props}"),
    }
}

fn merge(names: &TransactionUrls) -> SequenceRequest {
    SequenceRequest {
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
    fn step(&mut self, step: &SequenceStep, is_v1: bool, name: &str, reported: &mut String) {
        let mut send = |what: &str, request: &SequenceRequest, output_text: &str| {
            _ = writeln!(
                reported,
                "  {what}{} {}: {output_text}",
                request.method, request.url
            );
        };
        match step {
            SequenceStep::One(request) => send("", request, &self.one(request).shown()),
            SequenceStep::OnOpenConnection(request) => {
                send("kept: ", request, &self.over_open_connection(request).shown())
            }
            SequenceStep::Pipelined(requests) => {
                for (request, output_text) in requests.iter().zip(self.pipelined(requests)) {
                    send("pipelined: ", request, &output_text.shown());
                }
            }
            SequenceStep::Expecting(request) => send("expecting: ", request, &self.expecting(request)),
            SequenceStep::Cut {
                request,
                in_body,
                part,
                how,
            } => {
                let output_text = self.cut(request, *in_body, *part, *how);
                send(
                    &format!("cut at {in_body} {part} {how:?}: "),
                    request,
                    &output_text,
                );
            }
            SequenceStep::Parallel(lists) => {
                let names: Vec<TransactionUrls> = (0..lists.len())
                    .map(|nth| begin(self.served, is_v1, &format!("{name}-{nth}")))
                    .collect();
                let output_text: Vec<Vec<RecordedResponse>> = thread::scope(|scope| {
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
                                let output_text = list
                                    .iter()
                                    .map(|request| other.over_open_connection(request))
                                    .collect();
                                (output_text, other.slowest)
                            })
                        })
                        .collect();
                    let all = all
                        .into_iter()
                        .map(|thread| thread.join().expect("because it only asks"));
                    all.map(|(output_text, slowest)| {
                        self.slowest = std::mem::take(&mut self.slowest).max(slowest);
                        output_text
                    })
                    .collect()
                });
                for (list, output_text) in lists.iter().zip(&output_text) {
                    for (request, output_text) in list.iter().zip(output_text) {
                        send("parallel: ", request, &output_text.shown());
                    }
                }
                for names in &names {
                    let request = merge(names);
                    let output_text = self.one(&request);
                    _ = writeln!(reported, "  MERGE of a parallel one: {}", output_text.shown());
                    self.served.send_request("DELETE", &names.txn, &[ALICE], "");
                }
            }
            SequenceStep::Meanwhile(path) => {
                let names = begin(self.served, false, "");
                let text = format!("meanwhile {name}\n");
                let put = self
                    .served
                    .send_request("PUT", &format!("{}/{path}", names.tree), &[ALICE], &text);
                let output_text = self.one(&merge(&names));
                self.served.send_request("DELETE", &names.txn, &[ALICE], "");
                _ = writeln!(
                    reported,
                    "  meanwhile {path}: {} {}",
                    put.status,
                    output_text.shown()
                );
            }
        }
    }

    /// Returns the bytes of the head and the body.
    fn bytes(&self, request: &SequenceRequest, more: &str) -> (Vec<u8>, Vec<u8>) {
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
    fn one(&mut self, request: &SequenceRequest) -> RecordedResponse {
        let mut stream = self.connect();
        let output_text = self.send_request(&mut stream, request);
        output_text.unwrap_or_else(|| panic!("no answer to {request:?}"))
    }

    /// Sends a request over the persistent connection, which is reopened if the server has closed it.
    fn over_open_connection(&mut self, request: &SequenceRequest) -> RecordedResponse {
        if let Some(mut stream) = self.kept.take()
            && let Some(output_text) = self.send_request(&mut stream, request)
        {
            self.kept = (!output_text.ends).then_some(stream);
            return output_text;
        }
        let mut stream = self.connect();
        let output_text = self.send_request(&mut stream, request);
        let output_text = output_text.unwrap_or_else(|| panic!("no answer to {request:?}"));
        self.kept = (!output_text.ends).then_some(stream);
        output_text
    }

    fn send_request(
        &mut self,
        stream: &mut BufReader<TcpStream>,
        request: &SequenceRequest,
    ) -> Option<RecordedResponse> {
        let (head, body) = self.bytes(request, "");
        // A server that has refused the request may have closed the connection.
        stream.get_mut().write_all(&[head, body].concat()).ok()?;
        self.timed(request, |_| read_answer(stream, request.method))
    }

    fn timed<T>(&mut self, request: &SequenceRequest, send_request: impl FnOnce(&mut Self) -> T) -> T {
        let begun = Instant::now();
        let output_text = send_request(self);
        let took = begun.elapsed();
        if took > self.slowest.0 {
            self.slowest = (took, format!("{} {}", request.method, request.url));
        }
        output_text
    }

    fn pipelined(&mut self, requests: &[SequenceRequest]) -> Vec<RecordedResponse> {
        let mut all = Vec::new();
        for request in requests {
            let (head, body) = self.bytes(request, "");
            all.extend_from_slice(&head);
            all.extend_from_slice(&body);
        }
        let mut stream = self.connect();
        // A server that has refused a request may not read the others.
        _ = stream.get_mut().write_all(&all);
        let mut output_text = Vec::new();
        for request in requests {
            let Some(next) = self.timed(request, |_| read_answer(&mut stream, request.method)) else {
                break;
            };
            let ends = next.ends;
            output_text.push(next);
            if ends {
                break;
            }
        }
        output_text
    }

    fn expecting(&mut self, request: &SequenceRequest) -> String {
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
        let output_text = self.timed(request, |_| read_answer(&mut stream, request.method));
        let output_text = output_text.unwrap_or_else(|| panic!("no answer to {request:?}"));
        format!("100, then {}", output_text.shown())
    }

    /// Sends the beginning of a request. A text is sent again later, so that no partial text remains.
    fn cut(&mut self, request: &SequenceRequest, in_body: bool, part: usize, how: Cut) -> String {
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
        let again = self.one(&SequenceRequest {
            body: "again\n".to_owned(),
            chunks: None,
            ..request.clone()
        });
        format!("again {}", again.shown())
    }

    /// Waits until the server has noticed that a text was aborted.
    fn wait_until_free(&mut self) {
        let begun = Instant::now();
        let probe = SequenceRequest {
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
fn read_answer(stream: &mut BufReader<TcpStream>, method: &str) -> Option<RecordedResponse> {
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
    Some(RecordedResponse {
        status,
        number: number.map_or(String::new(), |(number, _)| number.to_owned()),
        text: is_text.then_some(body.clone()),
        ends: value("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")),
    })
}
