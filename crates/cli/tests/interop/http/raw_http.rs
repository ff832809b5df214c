//! Raw HTTP requests, and responses in a form in which those of both servers can be compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use wire::dav::xml::{Element, XmlLimits};

/// A response.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The header lines by name in lower case.
    pub headers: BTreeMap<String, Vec<String>>,
    /// The body, without chunk sizes.
    pub body: Vec<u8>,
}

/// Sends a request over a new connection.
pub fn send_request(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> HttpResponse {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("because the server is there");
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n");
    for (name, value) in headers {
        _ = write!(request, "{name}: {value}\r\n");
    }
    if !body.is_empty() {
        _ = write!(request, "Content-Length: {}\r\n", body.len());
    }
    request += "\r\n";
    request += body;
    stream
        .write_all(request.as_bytes())
        .expect("because the server reads");
    let mut all = Vec::new();
    stream
        .read_to_end(&mut all)
        .expect("because the server ends its answer");
    let end = all.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer to {method} {path}"));
    let (status, headers) = head(&all[..end], port);
    let mut body = all[end + 4..].to_vec();
    if headers.contains_key("transfer-encoding") {
        body = unchunked(&body);
    }
    HttpResponse {
        status,
        headers,
        body: without_port(body, port),
    }
}

fn head(head: &[u8], port: u16) -> (u16, BTreeMap<String, Vec<String>>) {
    let head = String::from_utf8_lossy(head).into_owned();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let values = headers.entry(name.to_ascii_lowercase()).or_default();
        values.push(value.trim().replace(&format!(":{port}"), ":PORT"));
    }
    (status.unwrap_or(0), headers)
}

fn without_port(body: Vec<u8>, port: u16) -> Vec<u8> {
    match std::str::from_utf8(&body) {
        Ok(text) => text.replace(&format!(":{port}"), ":PORT").into_bytes(),
        Err(_) => body,
    }
}

/// A connection for many requests, which is reopened if the server has closed it.
#[derive(Debug)]
pub struct HttpConnection {
    port: u16,
    stream: Option<BufReader<TcpStream>>,
}

impl HttpConnection {
    /// Returns a connection to a server on this machine, opened by the first request.
    pub fn new(port: u16) -> HttpConnection {
        HttpConnection { port, stream: None }
    }

    /// True if the server keeps the connection open for the next request.
    pub fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// Sends a request. If the body of the response is truncated, returns the received part.
    pub fn send_request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpResponse {
        let port = self.port;
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n");
        for (name, value) in headers {
            _ = write!(request, "{name}: {value}\r\n");
        }
        if !body.is_empty() {
            _ = write!(request, "Content-Length: {}\r\n", body.len());
        }
        request += "\r\n";
        request += body;
        if let Some(stream) = self.stream.take()
            && let Some(response) = self.response(stream, &request)
        {
            return response;
        }
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("because the server is there");
        stream.set_nodelay(true).expect("because it is a TCP socket");
        self.response(BufReader::new(stream), &request)
            .unwrap_or_else(|| panic!("no answer to {method} {path}"))
    }

    /// Sends a request and reads the response; `None` if there is none.
    fn response(&mut self, mut stream: BufReader<TcpStream>, request: &str) -> Option<HttpResponse> {
        stream.get_mut().write_all(request.as_bytes()).ok()?;
        let mut lines = Vec::new();
        while !lines.ends_with(b"\r\n\r\n") {
            if stream.read_until(b'\n', &mut lines).ok()? == 0 {
                return None;
            }
        }
        let (status, headers) = head(&lines, self.port);
        let first = |name: &str| headers.get(name).map_or("", |values| values[0].as_str());
        let mut body = Vec::new();
        let is_whole = if first("transfer-encoding") == "chunked" {
            chunks(&mut stream, &mut body).is_some()
        } else {
            let length: u64 = first("content-length").parse().unwrap_or(0);
            let read = stream.by_ref().take(length).read_to_end(&mut body);
            read.is_ok_and(|read| read as u64 == length)
        };
        if is_whole && !first("connection").eq_ignore_ascii_case("close") {
            self.stream = Some(stream);
        }
        Some(HttpResponse {
            status,
            headers,
            body: without_port(body, self.port),
        })
    }
}

/// Reads a chunked body; `None` if it is truncated.
fn chunks(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let size = u64::from_str_radix(line.trim(), 16).ok()?;
        let read = stream.by_ref().take(size).read_to_end(body).ok()?;
        line.clear();
        stream.read_line(&mut line).ok()?;
        if read as u64 != size || line != "\r\n" {
            return None;
        }
        if size == 0 {
            return Some(());
        }
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        rest = &rest[end + 2..];
        if size == 0 || rest.len() < size {
            break;
        }
        out.extend_from_slice(&rest[..size]);
        rest = rest.get(size + 2..).unwrap_or_default();
    }
    out
}

impl HttpResponse {
    /// Returns the parts that clients use: status, these header lines, and the body. XML is normalized: order of
    /// properties, prefixes. Pages that only repeat the status are omitted.
    pub fn shown(&self, headers: &[&str]) -> String {
        let mut out = format!("{}\n", self.status);
        for name in headers {
            if let Some(values) = self.headers.get(*name) {
                _ = writeln!(out, "{name}: {}", values.join(" | "));
            }
        }
        let kind = self
            .headers
            .get("content-type")
            .map_or("", |kind| kind[0].as_str());
        if kind.starts_with("text/xml; charset=") {
            match Element::parse(&self.body, XmlLimits::default()) {
                Ok(root) => out += &tree(&root),
                Err(error) => _ = writeln!(out, "{error:?}"),
            }
        } else if self.status < 300 {
            out += &String::from_utf8_lossy(&self.body);
        }
        out
    }
}

/// Formats an element, with sorted properties and responses.
fn tree(element: &Element) -> String {
    let mut children: Vec<String> = element.children.iter().map(tree).collect();
    if ["prop", "multistatus"].contains(&element.name.local.as_str()) {
        children.retain(|child| !child.starts_with("(DAV: getcontenttype"));
        children.sort();
    }
    let text = match element.children.is_empty() {
        true => element.text.as_str(),
        false => "",
    };
    let mut out = format!("({} {}", element.name.space, element.name.local);
    for (name, value) in &element.attributes {
        _ = write!(out, " {name}={value}");
    }
    _ = write!(out, " {text:?}");
    for child in children {
        out.push('\n');
        out += &child;
    }
    out + ")"
}
