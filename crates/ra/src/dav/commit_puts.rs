//! The texts of a commit, on their way to the server.
//!
//! From the third file on, short texts and the properties that follow them go through a [`Pipeline`]. All other requests of the commit wait
//! until the server has accepted them ([`CommitEditor::settle`]), so the first error is that of the first request that fails, as if each
//! was waited for.

use std::collections::VecDeque;

use base::checksum::Md5;
use base::{Code, RelPath, Result};
use wire::dav::client::PropResponse;
use wire::dav::xml::{Element, XmlLimits};

use super::commit_edit::CommitEditor;
use super::nodes::check_md5;
use super::pipeline::{Pipeline, PipelineEnd, ResponseSink};
use super::pipeline_response::ResponseHead;
use super::request::{Request, RequestBody};

/// A request that changes a file.
pub(super) struct FileRequest {
    pub(super) request: Request,
    pub(super) path: RelPath,
    /// The digest that the text should have.
    pub(super) md5: Option<Md5>,
    /// It is the last request for its file.
    pub(super) ends_file: bool,
}

/// The files of a commit whose requests may be under way.
#[derive(Default)]
pub(super) struct FileRequests {
    pipeline: Option<Pipeline<FileRequest>>,
    /// Requests that are sent again one by one.
    repeated: VecDeque<FileRequest>,
    /// Requests that were made so far.
    made: usize,
    /// A pipeline has failed: there is none any more.
    is_slow: bool,
    /// The responses in the pipeline.
    responses: FileResponses,
}

impl FileRequests {
    /// Returns the number of files that the server has accepted, with all of their requests.
    pub(super) fn accepted(&self) -> usize {
        self.responses.accepted
    }

    /// Counts a file that needs no request.
    pub(super) fn add_accepted(&mut self) {
        self.responses.accepted += 1;
    }
}

/// Judges the responses to the requests in a pipeline.
#[derive(Default)]
struct FileResponses {
    accepted: usize,
    head: ResponseHead,
    /// The body of the current response. Those to requests that succeed are short.
    body: Vec<u8>,
    /// Nothing matters any more.
    takes_all: bool,
}

impl ResponseSink<FileRequest> for FileResponses {
    fn begin(&mut self, _: &FileRequest, head: &ResponseHead) -> bool {
        self.head = head.clone();
        self.body.clear();
        true
    }

    fn push(&mut self, _: &FileRequest, bytes: &[u8]) -> bool {
        let left = MOST_BODY - self.body.len();
        self.body.extend_from_slice(&bytes[..bytes.len().min(left)]);
        true
    }

    fn end(&mut self, request: &FileRequest) -> bool {
        let is_accepted = self.takes_all || is_accepted(request, &self.head, &self.body);
        self.accepted += usize::from(is_accepted && request.ends_file);
        is_accepted
    }
}

/// The most bytes of a response's body that are held.
const MOST_BODY: usize = 64 << 10;

/// So many files are sent one by one: a further connection costs more than it saves.
const ALONE: usize = 2;

impl CommitEditor<'_> {
    /// Sends a request of a file, now or after those before it.
    pub(super) fn send_file_request(&mut self, request: FileRequest) -> Result<()> {
        let files = &mut self.file_requests;
        files.made += 1;
        let is_short = matches!(request.request.body, RequestBody::Bytes(_));
        let is_alone = files.made <= ALONE || self.session.options.http.proxy.is_some();
        if files.is_slow || is_alone || !is_short {
            self.settle()?;
            return self.send_alone(&request);
        }
        self.push(request)?;
        self.exchange(false)
    }

    fn push(&mut self, request: FileRequest) -> Result<()> {
        let core = &self.session.client.0;
        let pipeline = match &mut self.file_requests.pipeline {
            Some(pipeline) => pipeline,
            none => match core.stream() {
                Ok(stream) => none.insert(Pipeline::new(stream, true)),
                Err(error) if error.has(Code::CANCELLED) => return Err(error),
                Err(_) => {
                    // The server takes no further connection.
                    self.file_requests.is_slow = true;
                    return self.send_alone(&request);
                }
            },
        };
        let sent = request.request.clone();
        pipeline.push(core, &sent, request)
    }

    /// Waits until the server has accepted all files.
    ///
    /// # Errors
    /// The server's, of the first file that it refuses.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.exchange(true)
    }

    fn exchange(&mut self, all: bool) -> Result<()> {
        while let Some(pipeline) = &mut self.file_requests.pipeline {
            let core = &self.session.client.0;
            let sink = &mut self.file_requests.responses;
            match all {
                true => pipeline.settle(core, 0, sink)?,
                false => pipeline.exchange(core, sink)?,
            }
            match pipeline.end() {
                None => return Ok(()),
                Some(end) => self.repeat(end)?,
            }
        }
        Ok(())
    }

    /// Sends again what an ended pipeline has left.
    fn repeat(&mut self, end: PipelineEnd) -> Result<()> {
        let files = &mut self.file_requests;
        files.repeated = files
            .pipeline
            .take()
            .map(Pipeline::into_unanswered)
            .unwrap_or_default();
        if end == PipelineEnd::Closed {
            for request in std::mem::take(&mut files.repeated) {
                self.push(request)?;
            }
            return Ok(());
        }
        files.is_slow |= end == PipelineEnd::Broken;
        while let Some(request) = self.file_requests.repeated.pop_front() {
            self.send_alone(&request)?;
        }
        Ok(())
    }

    fn send_alone(&mut self, request: &FileRequest) -> Result<()> {
        match request.request.method {
            "PROPPATCH" => self.session.proppatch(request.request.clone())?,
            _ => {
                let response = self.session.call_plain(request.request.clone(), &[201, 204])?;
                check_text(request, response.header("x-svn-result-fulltext-md5"))?;
            }
        }
        self.file_requests.responses.accepted += usize::from(request.ends_file);
        Ok(())
    }

    /// Lets the server finish with all files that it has got, whatever comes of them: an abort must be the last request.
    pub(super) fn give_up_files(&mut self) {
        self.file_requests.repeated.clear();
        if let Some(mut pipeline) = self.file_requests.pipeline.take() {
            self.file_requests.responses.takes_all = true;
            // If that fails, the abort is tried nevertheless.
            _ = pipeline.settle(&self.session.client.0, 0, &mut self.file_requests.responses);
        }
    }
}

/// # Errors
/// `CHECKSUM_MISMATCH` if the server has got another text.
fn check_text(request: &FileRequest, found: Option<&str>) -> Result<()> {
    let found = found.and_then(|hex| Md5::parse_hex(hex.as_bytes()));
    match (&request.md5, found) {
        (Some(expected), Some(found)) => check_md5(request.path.as_str(), Some(expected), &found),
        _ => Ok(()),
    }
}

fn is_accepted(request: &FileRequest, head: &ResponseHead, body: &[u8]) -> bool {
    match head.status {
        207 if request.request.method == "PROPPATCH" => {
            let root = Element::parse(body, XmlLimits::default());
            root.is_ok_and(|root| {
                let responses = root.children.iter().filter_map(PropResponse::read);
                let mut failures = responses.map(|found| found.failures.len());
                failures.all(|count| count == 0)
            })
        }
        201 | 204 if request.request.method == "PUT" => check_text(request, head.text_md5.as_deref()).is_ok(),
        _ => false,
    }
}
