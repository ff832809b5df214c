//! The access log: one line for each request over HTTP, in the combined format that programs for such logs read.
//!
//! `ADDRESS - USER [TIME] "METHOD TARGET VERSION" STATUS BYTES "REFERER" "USER-AGENT" MICROSECONDS REQUEST "OPERATION"`: the last
//! three are ours. Times are in UTC.

use std::fmt::Write as _;
use std::path::Path;

use base::Result;
use http::StatusCode;
use jiff::Timestamp;

use crate::http::Request;
use crate::log_file::LogFile;

/// Where lines go.
#[derive(Debug)]
pub struct AccessLog(LogFile);

impl AccessLog {
    /// Appends to the file at `path`.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn open(path: &Path) -> Result<AccessLog> {
        LogFile::open(path).map(AccessLog)
    }

    /// Opens the file anew; if that fails the old one stays.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn reopen(&self) -> Result<()> {
        self.0.reopen()
    }

    pub(crate) fn request(&self, request: &Request, status: StatusCode, bytes: u64) {
        self.0.add(&line(request, status, bytes, Timestamp::now()));
    }
}

fn line(request: &Request, status: StatusCode, bytes: u64, now: Timestamp) -> String {
    let mut line = format!("{} - ", request.peer.address.ip().to_canonical());
    match &request.user {
        // Whoever reads the line counts words.
        Some(user) if !user.is_empty() => escape(&user.replace(' ', "%20"), &mut line),
        _ => line.push('-'),
    }
    _ = write!(
        line,
        " [{}] \"{} ",
        now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        request.method
    );
    escape(&request.path, &mut line);
    if let Some(query) = &request.query {
        line.push('?');
        escape(query, &mut line);
    }
    _ = write!(line, " {:?}\" {} ", request.version, status.as_u16());
    match bytes {
        0 => line.push('-'),
        bytes => _ = write!(line, "{bytes}"),
    }
    for name in ["referer", "user-agent"] {
        line.push_str(" \"");
        match request.headers.get(name) {
            Some(value) => escape(&String::from_utf8_lossy(value.as_bytes()), &mut line),
            None => line.push('-'),
        }
        line.push('"');
    }
    _ = write!(line, " {} {} \"", request.begun.elapsed().as_micros(), request.id);
    match &request.operation {
        Some(operation) => escape(&operation.text, &mut line),
        None => line.push('-'),
    }
    line.push_str("\"\n");
    line
}

/// What a client sends must not break lines nor leave its quotes.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => _ = write!(out, "\\x{:02x}", c as u32),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Operation;

    #[test]
    fn lines_are_of_the_combined_format_and_unbreakable() {
        let mut request = Request::sample("GET", "/svn/a%20b");
        request.query = Some("p=3".into());
        let now: Timestamp = "2026-11-22T04:05:06Z".parse().expect("a time");
        let plain = line(&request, StatusCode::OK, 0, now);
        let start =
            "127.0.0.1 - - [22/Nov/2026:04:05:06 +0000] \"GET /svn/a%20b?p=3 HTTP/1.1\" 200 - \"-\" \"-\" ";
        assert!(plain.starts_with(start), "{plain}");
        assert!(plain.ends_with(" sample \"-\"\n"), "{plain}");
        request.user = Some("a \"b\"\n".into());
        let evil = http::HeaderValue::from_bytes(b"x\" \\ \xff\t").expect("may be sent");
        request.headers.insert("user-agent", evil);
        request.operation = Some(Operation {
            repository: "r".into(),
            text: "log (/a%20b) r1:1".into(),
        });
        let full = line(&request, StatusCode::NOT_FOUND, 12, now);
        assert!(full.starts_with("127.0.0.1 - a%20\\\"b\\\"\\x0a ["), "{full}");
        assert!(
            full.contains(" 404 12 \"-\" \"x\\\" \\\\ \u{fffd}\\x09\" "),
            "{full}"
        );
        assert!(full.ends_with(" sample \"log (/a%20b) r1:1\"\n"), "{full}");
    }
}
