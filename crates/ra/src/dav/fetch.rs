//! The texts of an edit that are not within it: each is the response to a request of its own.
//!
//! The requests follow each other in a [`Pipeline`], while the edit is read on another connection. The editor gets the texts in the
//! order of the edit, as they arrive: nothing of a text is held. A request that is refused, and all of them where there can be no
//! pipeline, is sent alone, so that it is authenticated, or fails, like any other request. So is one whose connection is lost within the
//! response: what the editor has is left out then.

use base::checksum::Md5;
use base::{Code, Error, Result};
use delta::editor::{Editor, FileToken, TextChunk};
use delta::svndiff::{Codec, Decoder};
use delta::window::{WINDOW_SIZE, Window};

use super::DavSession;
use super::pipeline::{Pipeline, PipelineEnd, ResponseSink};
use super::pipeline_response::ResponseHead;
use super::receive::push_windows;
use super::request::Request;
use super::resources::check_success;
use super::response::{COMPRESSED, Inflater, Response};
use super::transport_error::closed;

/// Requests that are sent together: each would wake the server.
const SENT_AT_ONCE: usize = 8;

/// The request for a text.
pub(super) struct TextRequest {
    pub(super) request: Request,
    pub(super) token: FileToken,
    pub(super) base_md5: Option<Md5>,
    pub(super) md5: Option<Md5>,
}

/// The texts of one edit.
pub(super) struct TextFetches {
    pipeline: Option<Pipeline<TextRequest>>,
    /// Requests in the pipeline that are not sent yet.
    unsent: usize,
    /// A pipeline has failed: there is none any more.
    is_slow: bool,
    /// The text that is arriving.
    text: Option<IncomingText>,
    codec: Codec,
}

impl TextFetches {
    /// Returns no texts, with an idle connection if there is one.
    pub(super) fn new(pipeline: Option<Pipeline<TextRequest>>) -> TextFetches {
        TextFetches {
            pipeline,
            unsent: 0,
            is_slow: false,
            text: None,
            codec: Codec::new(),
        }
    }

    /// Requests a text, now or after some others. Texts that have arrived meanwhile go to the editor.
    ///
    /// # Errors
    /// Those of the connection, of the server and of the editor.
    pub(super) fn add(
        &mut self,
        session: &DavSession,
        editor: &mut dyn Editor,
        request: TextRequest,
    ) -> Result<()> {
        self.push(session, editor, request)?;
        self.unsent += 1;
        match self.unsent < SENT_AT_ONCE {
            true => Ok(()),
            false => self.exchange(session, editor, false),
        }
    }

    /// Waits for all texts.
    ///
    /// # Errors
    /// As of [`TextFetches::add`].
    pub(super) fn finish(&mut self, session: &mut DavSession, editor: &mut dyn Editor) -> Result<()> {
        self.exchange(session, editor, true)?;
        session.text_pipeline = self.pipeline.take();
        Ok(())
    }

    fn push(&mut self, session: &DavSession, editor: &mut dyn Editor, request: TextRequest) -> Result<()> {
        let core = &session.client.0;
        if self.is_slow || session.options.http.proxy.is_some() {
            return self.fetch_alone(session, editor, &request);
        }
        let pipeline = match &mut self.pipeline {
            Some(pipeline) => pipeline,
            none => match core.stream() {
                Ok(stream) => none.insert(Pipeline::new(stream, false)),
                Err(error) if error.has(Code::CANCELLED) => return Err(error),
                Err(_) => {
                    // The server takes no further connection.
                    self.is_slow = true;
                    return self.fetch_alone(session, editor, &request);
                }
            },
        };
        let sent = request.request.clone();
        pipeline.push(core, &sent, request)
    }

    fn exchange(&mut self, session: &DavSession, editor: &mut dyn Editor, all: bool) -> Result<()> {
        self.unsent = 0;
        let core = &session.client.0;
        while let Some(pipeline) = &mut self.pipeline {
            let mut sink = TextSink {
                editor,
                codec: &mut self.codec,
                text: &mut self.text,
                failed: None,
            };
            let waited = match all {
                true => pipeline.settle(core, 0, &mut sink),
                false => pipeline.exchange(core, &mut sink),
            };
            if let Some(error) = sink.failed {
                return Err(error);
            }
            waited?;
            match pipeline.end() {
                None => return Ok(()),
                Some(end) => self.repeat(session, editor, end)?,
            }
        }
        Ok(())
    }

    /// Requests again what an ended pipeline has left.
    fn repeat(&mut self, session: &DavSession, editor: &mut dyn Editor, end: PipelineEnd) -> Result<()> {
        let mut left = self
            .pipeline
            .take()
            .map(Pipeline::into_unanswered)
            .unwrap_or_default();
        if let Some(text) = self.text.take()
            && let Some(request) = left.pop_front()
        {
            self.fetch_rest(session, editor, &request, text)?;
        }
        match end {
            PipelineEnd::Closed => {}
            PipelineEnd::Broken => self.is_slow = true,
            // The others are not to blame.
            PipelineEnd::Refused => {
                if let Some(refused) = left.pop_front() {
                    self.fetch_alone(session, editor, &refused)?;
                }
            }
        }
        left.into_iter()
            .try_for_each(|request| self.push(session, editor, request))
    }

    fn fetch_alone(
        &mut self,
        session: &DavSession,
        editor: &mut dyn Editor,
        request: &TextRequest,
    ) -> Result<()> {
        let (response, is_delta) = call(session, request)?;
        let text = IncomingText::begin(request, editor, is_delta, false)?;
        self.pass_body(response, editor, request, text)
    }

    /// Requests a text once more whose beginning the editor has already.
    fn fetch_rest(
        &mut self,
        session: &DavSession,
        editor: &mut dyn Editor,
        request: &TextRequest,
        mut text: IncomingText,
    ) -> Result<()> {
        let (mut response, is_delta) = call(session, request)?;
        if is_delta != text.decoder.is_some() {
            return Err(closed());
        }
        // The body of this response is expanded already.
        text.inflater = None;
        let mut known = text.passed;
        while known > 0 {
            let piece = response.body.next_piece()?;
            if piece.is_empty() {
                return Err(closed());
            }
            let length = piece.len() as u64;
            if length > known {
                let skipped = usize::try_from(known).unwrap_or(piece.len());
                text.push(&piece[skipped..], request.token, editor, &mut self.codec)?;
            }
            known = known.saturating_sub(length);
        }
        self.pass_body(response, editor, request, text)
    }

    fn pass_body(
        &mut self,
        mut response: Response,
        editor: &mut dyn Editor,
        request: &TextRequest,
        mut text: IncomingText,
    ) -> Result<()> {
        loop {
            let piece = response.body.next_piece()?;
            if piece.is_empty() {
                return text.finish(request, editor, &mut self.codec);
            }
            text.push(&piece, request.token, editor, &mut self.codec)?;
        }
    }
}

/// Sends a request alone. Returns the response, and whether it is a difference.
fn call(session: &DavSession, request: &TextRequest) -> Result<(Response, bool)> {
    let response = session.client.call(request.request.clone())?;
    let response = check_success(response, &request.request.target)?;
    let media = response.header("content-type").unwrap_or_default();
    let is_svndiff = media.starts_with("application/vnd.svn-svndiff");
    let is_delta = is_svndiff && response.headers.contains_key("x-svn-vr-base");
    Ok((response, is_delta))
}

/// Passes the texts in a pipeline to the editor.
struct TextSink<'a> {
    editor: &'a mut dyn Editor,
    codec: &'a mut Codec,
    text: &'a mut Option<IncomingText>,
    /// The error that ends the edit.
    failed: Option<Error>,
}

impl TextSink<'_> {
    fn check(&mut self, outcome: Result<()>) -> bool {
        match outcome {
            Ok(()) => true,
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }
}

impl ResponseSink<TextRequest> for TextSink<'_> {
    fn begin(&mut self, request: &TextRequest, head: &ResponseHead) -> bool {
        if head.status != 200 {
            return false;
        }
        let begun = IncomingText::begin(request, self.editor, head.is_delta, head.is_gzip);
        let outcome = begun.map(|text| *self.text = Some(text));
        self.check(outcome)
    }

    fn push(&mut self, request: &TextRequest, bytes: &[u8]) -> bool {
        let outcome = match self.text {
            Some(text) => text.push(bytes, request.token, self.editor, self.codec),
            None => Ok(()),
        };
        self.check(outcome)
    }

    fn end(&mut self, request: &TextRequest) -> bool {
        let outcome = match self.text.take() {
            Some(text) => text.finish(request, self.editor, self.codec),
            None => Ok(()),
        };
        self.check(outcome)
    }
}

/// A text on its way to the editor.
struct IncomingText {
    /// For a difference; a whole text becomes insertions, which fit any base.
    decoder: Option<Decoder>,
    inflater: Option<Inflater>,
    /// The bytes that the decoder, or else the editor, has got.
    passed: u64,
}

impl IncomingText {
    fn begin(
        request: &TextRequest,
        editor: &mut dyn Editor,
        is_delta: bool,
        is_gzip: bool,
    ) -> Result<IncomingText> {
        editor.apply_textdelta(request.token, request.base_md5.as_ref())?;
        Ok(IncomingText {
            decoder: is_delta.then(Decoder::new),
            inflater: is_gzip.then(Inflater::new),
            passed: 0,
        })
    }

    fn push(
        &mut self,
        bytes: &[u8],
        token: FileToken,
        editor: &mut dyn Editor,
        codec: &mut Codec,
    ) -> Result<()> {
        if self.inflater.is_none() {
            return self.pass(bytes, token, editor, codec);
        }
        for compressed in bytes.chunks(COMPRESSED) {
            if let Some(inflater) = &mut self.inflater {
                let expanded = inflater.expand(compressed)?;
                self.pass(&expanded, token, editor, codec)?;
            }
        }
        Ok(())
    }

    fn pass(
        &mut self,
        bytes: &[u8],
        token: FileToken,
        editor: &mut dyn Editor,
        codec: &mut Codec,
    ) -> Result<()> {
        self.passed += bytes.len() as u64;
        match &mut self.decoder {
            Some(decoder) => push_windows(decoder, bytes, token, editor, codec),
            None => bytes.chunks(WINDOW_SIZE).try_for_each(|part| {
                let window = Window::insertion(part);
                editor.text_chunk(token, TextChunk::Decoded(&window))
            }),
        }
    }

    /// Ends the text, and closes its file.
    fn finish(mut self, request: &TextRequest, editor: &mut dyn Editor, codec: &mut Codec) -> Result<()> {
        let token = request.token;
        if let Some(inflater) = self.inflater.take() {
            let expanded = inflater.finish()?;
            self.pass(&expanded, token, editor, codec)?;
        }
        if let Some(decoder) = self.decoder {
            decoder.finish()?;
        }
        editor.text_end(token)?;
        editor.close_file(token, request.md5.as_ref())
    }
}
