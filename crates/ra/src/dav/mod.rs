//! http:// and https://: sessions with a server that speaks WebDAV, as mod_dav_svn does.
//!
//! [`http_client`] sends requests over connections that it keeps ([`connect`], [`tls`], [`auth`]); [`request`] and [`response`] are
//! what passes through it. [`open`] learns what the server can do, and where its resources are. Two dialects exist: servers since
//! 1.7 name their resources in headers (HTTPv2); of others each is looked up by a property of another one (HTTPv1, DeltaV).
//!
//! Every answer is read as it arrives. [`nodes`], [`history`] and [`locks`] are single requests; [`report`] sends the state of a working
//! copy and [`receive`] reads the edit, for which texts may be fetched over more connections. In a commit ([`commit`]) each call of
//! the editor is a request; texts wait in memory or in a file until their file is closed, and follow each other without waiting
//! ([`commit_puts`], [`pipeline`]).

mod auth;
mod client_key;
mod commit;
mod commit_calls;
mod commit_edit;
mod commit_puts;
mod connect;
mod fault;
mod fetch;
mod history;
mod http_client;
mod locks;
mod nodes;
mod open;
mod pipeline;
mod pipeline_response;
mod receive;
mod replay;
mod report;
mod request;
mod resources;
mod response;
mod revprops;
mod server_certificate;
mod tls;
mod transport_error;

use std::collections::HashMap;

use base::{Date, Depth, FsPath, Lock, Mergeinfo, NodeKind, Props, RelPath, Result, Revnum, Url};
use delta::editor::Editor;

use crate::answers::{
    CommitInfo, Directory, Dirent, FileInfo, FileRevSink, LocationSegment, LogEntry, ReplaySink,
};
use crate::options::OpenOptions;
use crate::requests::{
    Capability, CommitRequest, DirectoryRequest, FileRequest, FileRevsRequest, ListRequest, LockTarget,
    LogRequest, MergeinfoRequest, ReplayOptions, ReportRequest, Reporter, RevpropChange, UnlockTarget,
};
use crate::session::Session;
use fetch::TextRequest;
use http_client::HttpClient;
use open::ServerFeatures;
use pipeline::Pipeline;

/// A session over HTTP.
pub(crate) struct DavSession {
    client: HttpClient,
    options: OpenOptions,
    url: Url,
    root: Url,
    uuid: String,
    features: ServerFeatures,
    /// HTTPv1: the URLs of trees by revision.
    collections: HashMap<Revnum, String>,
    /// An idle connection for texts.
    text_pipeline: Option<Pipeline<TextRequest>>,
}

impl Session for DavSession {
    fn url(&self) -> &Url {
        &self.url
    }

    fn root_url(&self) -> &Url {
        &self.root
    }

    fn uuid(&self) -> &str {
        &self.uuid
    }

    fn is_usable(&self) -> bool {
        true
    }

    fn reparent(&mut self, url: &Url) -> Result<()> {
        crate::check_repository(url, &self.root)?;
        self.url = url.clone();
        Ok(())
    }

    fn has(&mut self, capability: Capability) -> Result<bool> {
        Ok(self.features.has(capability))
    }

    fn latest_revision(&mut self) -> Result<Revnum> {
        self.read_latest()
    }

    fn dated_revision(&mut self, date: Date) -> Result<Revnum> {
        self.read_dated(date)
    }

    fn revprops(&mut self, rev: Revnum) -> Result<Props> {
        self.read_revprops(rev)
    }

    fn revprop(&mut self, rev: Revnum, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.read_revprops(rev)?.remove(name))
    }

    fn change_revprop(&mut self, change: &RevpropChange<'_>) -> Result<()> {
        self.write_revprop(change)
    }

    fn check_path(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<NodeKind> {
        self.read_kind(path, rev)
    }

    fn stat(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<Option<Dirent>> {
        self.read_stat(path, rev)
    }

    fn file(
        &mut self,
        request: &FileRequest<'_>,
        text: &mut dyn FnMut(&FileInfo, &[u8]) -> Result<()>,
    ) -> Result<FileInfo> {
        self.read_file(request, text)
    }

    fn directory(&mut self, request: &DirectoryRequest<'_>) -> Result<Directory> {
        self.read_directory(request)
    }

    fn list(
        &mut self,
        request: &ListRequest<'_>,
        entry: &mut dyn FnMut(&RelPath, &Dirent) -> Result<()>,
    ) -> Result<()> {
        self.read_list(request, entry)
    }

    fn inherited_props(&mut self, path: &RelPath, rev: Revnum) -> Result<Vec<(RelPath, Props)>> {
        self.read_inherited(path, rev)
    }

    fn mergeinfo(&mut self, request: &MergeinfoRequest<'_>) -> Result<Vec<(RelPath, Mergeinfo)>> {
        self.check_tracks_merges()?;
        self.read_mergeinfo(request)
    }

    fn log(&mut self, request: &LogRequest, entry: &mut dyn FnMut(&LogEntry) -> Result<()>) -> Result<()> {
        if request.include_merged {
            self.check_tracks_merges()?;
        }
        self.read_log(request, entry)
    }

    fn locations(&mut self, path: &RelPath, peg: Revnum, revs: &[Revnum]) -> Result<Vec<(Revnum, FsPath)>> {
        self.read_locations(path, peg, revs)
    }

    fn location_segments(
        &mut self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        segment: &mut dyn FnMut(&LocationSegment) -> Result<()>,
    ) -> Result<()> {
        self.read_segments(path, (peg, start, end), segment)
    }

    fn deleted_revision(&mut self, path: &RelPath, peg: Revnum, end: Revnum) -> Result<Option<Revnum>> {
        self.read_deleted(path, peg, end)
    }

    fn file_revs(&mut self, request: &FileRevsRequest<'_>, sink: &mut dyn FileRevSink) -> Result<()> {
        if request.include_merged {
            self.check_tracks_merges()?;
        }
        self.read_file_revs(request, sink)
    }

    fn lock(
        &mut self,
        targets: &[LockTarget],
        comment: Option<&str>,
        steal: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<Lock>) -> Result<()>,
    ) -> Result<()> {
        self.lock_all(targets, comment, steal, outcome)
    }

    fn unlock(
        &mut self,
        targets: &[UnlockTarget],
        force: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<()>) -> Result<()>,
    ) -> Result<()> {
        self.unlock_all(targets, force, outcome)
    }

    fn get_lock(&mut self, path: &RelPath) -> Result<Option<Lock>> {
        Ok(self.read_locks(path, Depth::Empty)?.pop())
    }

    fn get_locks(&mut self, path: &RelPath, depth: Depth) -> Result<Vec<Lock>> {
        self.read_locks(path, depth)
    }

    fn report(
        &mut self,
        request: &ReportRequest<'_>,
        state: &mut dyn FnMut(&mut dyn Reporter) -> Result<()>,
        editor: &mut dyn Editor,
    ) -> Result<()> {
        self.report_and_receive(request, state, editor)
    }

    fn commit(
        &mut self,
        request: &CommitRequest,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<CommitInfo> {
        self.drive_commit(request, drive)
    }

    fn replay(&mut self, rev: Revnum, options: &ReplayOptions, editor: &mut dyn Editor) -> Result<()> {
        self.replay_one(rev, options, editor)
    }

    fn replay_range(
        &mut self,
        start: Revnum,
        end: Revnum,
        options: &ReplayOptions,
        sink: &mut dyn ReplaySink,
    ) -> Result<()> {
        self.replay_many(start, end, options, sink)
    }
}
