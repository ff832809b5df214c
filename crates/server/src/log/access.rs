//! The access log: one line for each HTTP request, in the combined format that log analysers read.
//!
//! `ADDRESS - USER [TIME] "METHOD TARGET VERSION" STATUS BYTES "REFERER" "USER-AGENT" MICROSECONDS REQUEST "OPERATION"`: the last
//! three are ours. Times are in UTC.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use base::Result;
use http::{HeaderValue, StatusCode, Version};
use jiff::Timestamp;

use super::file::LogFile;

/// The access log.
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

    /// Opens the file again. If that fails the old one stays.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn reopen(&self) -> Result<()> {
        self.0.reopen()
    }

    /// Adds a line.
    pub(crate) fn add(&self, line: &AccessLine<'_>) {
        self.0.add(&line.text(Timestamp::now()));
    }
}

/// The line of a request.
pub(crate) struct AccessLine<'a> {
    pub(crate) address: IpAddr,
    pub(crate) user: Option<&'a str>,
    pub(crate) method: &'a str,
    /// Path and query as they were sent.
    pub(crate) target: &'a str,
    pub(crate) version: Version,
    pub(crate) status: StatusCode,
    /// The bytes of the response's body.
    pub(crate) bytes: u64,
    pub(crate) referer: Option<&'a HeaderValue>,
    pub(crate) agent: Option<&'a HeaderValue>,
    pub(crate) took: Duration,
    /// The request ID.
    pub(crate) id: &'a str,
    /// The operation in Subversion's terms.
    pub(crate) operation: Option<&'a str>,
}

impl AccessLine<'_> {
    fn text(&self, now: Timestamp) -> String {
        let mut line = format!("{} - ", self.address.to_canonical());
        match self.user {
            // Programs split the line at spaces.
            Some(user) if !user.is_empty() => escape(&user.replace(' ', "%20"), &mut line),
            _ => line.push('-'),
        }
        let time = now.strftime("%d/%b/%Y:%H:%M:%S +0000");
        _ = write!(line, " [{time}] \"{} ", self.method);
        escape(self.target, &mut line);
        _ = write!(line, " {:?}\" {} ", self.version, self.status.as_u16());
        match self.bytes {
            0 => line.push('-'),
            bytes => _ = write!(line, "{bytes}"),
        }
        for value in [self.referer, self.agent] {
            line.push_str(" \"");
            match value {
                Some(value) => escape(&String::from_utf8_lossy(value.as_bytes()), &mut line),
                None => line.push('-'),
            }
            line.push('"');
        }
        _ = write!(line, " {} {} \"", self.took.as_micros(), self.id);
        match self.operation {
            Some(operation) => escape(operation, &mut line),
            None => line.push('-'),
        }
        line.push_str("\"\n");
        line
    }
}

/// Appends text from a client, so that it neither ends the line nor its quotes.
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

    #[test]
    fn lines_have_the_combined_format_and_are_escaped() {
        let plain = AccessLine {
            address: [127, 0, 0, 1].into(),
            user: None,
            method: "GET",
            target: "/svn/a%20b?p=3",
            version: Version::HTTP_11,
            status: StatusCode::OK,
            bytes: 0,
            referer: None,
            agent: None,
            took: Duration::from_micros(42),
            id: "sample",
            operation: None,
        };
        let now: Timestamp = "2026-11-22T04:05:06Z".parse().expect("a time");
        assert_eq!(
            plain.text(now),
            "127.0.0.1 - - [22/Nov/2026:04:05:06 +0000] \"GET /svn/a%20b?p=3 HTTP/1.1\" 200 - \"-\" \"-\" 42 sample \"-\"\n"
        );
        let evil = HeaderValue::from_bytes(b"x\" \\ \xff\t").expect("may be sent");
        let full = AccessLine {
            user: Some("a \"b\"\n"),
            status: StatusCode::NOT_FOUND,
            bytes: 12,
            agent: Some(&evil),
            operation: Some("log (/a%20b) r1:1"),
            ..plain
        };
        let full = full.text(now);
        assert!(full.starts_with("127.0.0.1 - a%20\\\"b\\\"\\x0a ["), "{full}");
        assert!(
            full.contains(" 404 12 \"-\" \"x\\\" \\\\ \u{fffd}\\x09\" "),
            "{full}"
        );
        assert!(full.ends_with(" sample \"log (/a%20b) r1:1\"\n"), "{full}");
    }
}
