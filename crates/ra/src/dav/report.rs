//! Edits that the server drives: the report of the caller's state goes out as one body, the edit comes back ([`super::receive`]).

use base::{Depth, RelPath, Result, Revnum, Url};
use delta::editor::Editor;
use wire::dav::client::ReportBody;

use super::DavSession;
use super::receive::Receiver;
use super::request::Spool;
use super::resources::{Resources, check_success};
use crate::options::BulkUpdates;
use crate::requests::{PathState, ReportKind, ReportRequest, Reporter};

impl DavSession {
    pub(super) fn report_and_receive(
        &mut self,
        request: &ReportRequest<'_>,
        state: &mut dyn FnMut(&mut dyn Reporter) -> Result<()>,
        editor: &mut dyn Editor,
    ) -> Result<()> {
        crate::check_depth(request.depth)?;
        if let ReportKind::Switch { url, .. } | ReportKind::Diff { url, .. } = request.kind {
            crate::check_repository(url, &self.root)?;
        }
        let rev = self.given_or_latest(request.rev)?;
        let mut reporter = SpoolReporter {
            body: self.report_head(request, rev, editor.takes_late_texts()),
            spool: Spool::default(),
            root: self.root.clone(),
            has_links: false,
        };
        state(&mut reporter)?;
        let SpoolReporter {
            body,
            mut spool,
            has_links,
            ..
        } = reporter;
        spool.write(body.finish().as_bytes())?;
        let target = self.report_target();
        let sent = DavSession::long_report(target.clone(), spool.into_body()?);
        let response = self.client.call(self.accepting_svndiff(sent))?;
        let response = check_success(response, &target)?;
        let events = self.events(response);
        let whole_texts = has_links || !is_update(&request.kind);
        let received = Receiver::new(self, editor, wants_text(&request.kind), whole_texts).receive(events);
        if received.is_err() {
            // The first error counts.
            _ = editor.abort_edit();
        }
        received
    }

    fn report_head(&self, request: &ReportRequest<'_>, rev: Revnum, late_texts: bool) -> ReportBody {
        let texts = wants_text(&request.kind);
        let is_bulk = match self.options.http.bulk_updates {
            BulkUpdates::Never => false,
            BulkUpdates::Always => true,
            BulkUpdates::Auto => !(late_texts && texts && self.prefers_fetches()),
        };
        let mut body = match is_bulk {
            true => ReportBody::new("update-report", " send-all=\"true\""),
            false => {
                let body = ReportBody::new("update-report", "");
                match self.features.names("inline-props") {
                    true => body.value("include-props", "yes"),
                    false => body,
                }
            }
        };
        body = body
            .value("src-path", Resources::path_of(&self.url))
            .value("target-revision", rev);
        let (url, copyfrom, ignore_ancestry) = match request.kind {
            ReportKind::Update {
                send_copyfrom,
                ignore_ancestry,
            } => (None, send_copyfrom, ignore_ancestry),
            ReportKind::Switch {
                url,
                send_copyfrom,
                ignore_ancestry,
            } => (Some(url), send_copyfrom, ignore_ancestry),
            ReportKind::Status => (None, false, false),
            ReportKind::Diff {
                url, ignore_ancestry, ..
            } => (Some(url), false, ignore_ancestry),
        };
        body = body.maybe("dst-path", url);
        if !request.target.is_empty() {
            body = body.value("update-target", request.target);
        }
        if ignore_ancestry {
            body = body.value("ignore-ancestry", "yes");
        }
        if copyfrom {
            body = body.value("send-copyfrom-args", "yes");
        }
        // For servers that do not know depths.
        if matches!(request.depth, Depth::Files | Depth::Empty) {
            body = body.value("recursive", "no");
        }
        if !texts {
            body = body.value("text-deltas", "no");
        }
        body.value("depth", request.depth.word())
    }
}

impl DavSession {
    /// True if requests for the texts of an edit cost less than texts within it, which Subversion's server compresses and then encodes in
    /// base64.
    fn prefers_fetches(&self) -> bool {
        let wants_bulk =
            self.features.bulk_updates.as_deref() == Some("Prefer") || self.features.sends_stored_texts;
        // Through a proxy each request would wait for the one before it.
        let has_pipeline = self.options.http.proxy.is_none();
        has_pipeline && !wants_bulk && self.features.names("inline-props")
    }
}

fn wants_text(kind: &ReportKind<'_>) -> bool {
    match kind {
        ReportKind::Update { .. } | ReportKind::Switch { .. } => true,
        ReportKind::Status => false,
        ReportKind::Diff { text_deltas, .. } => *text_deltas,
    }
}

/// True if the paths of the edit are those of the caller's tree.
fn is_update(kind: &ReportKind<'_>) -> bool {
    matches!(kind, ReportKind::Update { .. } | ReportKind::Status)
}

/// Collects the state of a working copy.
struct SpoolReporter {
    body: ReportBody,
    spool: Spool,
    root: Url,
    has_links: bool,
}

impl SpoolReporter {
    fn entry(&mut self, path: &RelPath, link: Option<&str>, state: &PathState<'_>) -> Result<()> {
        let rev = state.rev.to_string();
        let mut attributes = vec![("rev", rev.as_str()), ("depth", state.depth.word())];
        if state.start_empty {
            attributes.push(("start-empty", "true"));
        }
        if let Some(link) = link {
            attributes.push(("linkpath", link));
        }
        if let Some(token) = state.lock_token {
            attributes.push(("lock-token", token));
        }
        self.body.push("entry", &attributes, path.as_str());
        self.spool.write(self.body.take().as_bytes())
    }
}

impl Reporter for SpoolReporter {
    fn set_path(&mut self, path: &RelPath, state: &PathState<'_>) -> Result<()> {
        self.entry(path, None, state)
    }

    fn delete_path(&mut self, path: &RelPath) -> Result<()> {
        self.body.push("missing", &[], path.as_str());
        self.spool.write(self.body.take().as_bytes())
    }

    fn link_path(&mut self, path: &RelPath, url: &Url, state: &PathState<'_>) -> Result<()> {
        let Some(below) = url.relative_to(&self.root) else {
            return Err(crate::foreign_url(url, &self.root));
        };
        self.has_links = true;
        let link = format!("/{below}");
        self.entry(path, Some(&link), state)
    }
}
