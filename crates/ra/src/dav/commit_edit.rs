//! The steps of a commit: changes of nodes in the transaction. The text of a file waits until the file is closed, because its digest is
//! known then.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base::checksum::Md5;
use base::{Code, Error, RelPath, Result, Revnum, Url};
use delta::editor::{CopyFrom, DirToken, FileToken, TextChunk};
use delta::svndiff::{Codec, DEFAULT_LEVEL, write_window};
use wire::dav::client::{PropertyChange, lock_tokens, proppatch};

use super::DavSession;
use super::commit::Txn;
use super::commit_puts::{FileRequest, FileRequests};
use super::fault::refusal;
use super::request::{Request, RequestBody, Spool};
use super::resources::Resources;
use crate::answers::CommitInfo;

/// The media type of svndiff.
const SVNDIFF: &str = "application/vnd.svn-svndiff";

/// Changes a transaction.
pub(super) struct CommitEditor<'a> {
    pub(super) session: &'a mut DavSession,
    pub(super) txn: Txn,
    /// Lock tokens by path.
    pub(super) tokens: BTreeMap<RelPath, String>,
    pub(super) keep_locks: bool,
    /// Paths that were deleted by this commit.
    pub(super) deleted: BTreeSet<RelPath>,
    /// The open directories and files, by token.
    pub(super) dirs: HashMap<u32, CommitDir>,
    pub(super) files: HashMap<u32, CommitFile>,
    pub(super) tokens_given: u32,
    pub(super) codec: Codec,
    pub(super) window: Vec<u8>,
    pub(super) info: Option<CommitInfo>,
    pub(super) has_ended: bool,
    /// The error that ended the edit: every later call returns it.
    pub(super) failed: Option<Error>,
    pub(super) file_requests: FileRequests,
}

/// A directory of the edit.
#[derive(Debug)]
pub(super) struct CommitDir {
    pub(super) path: RelPath,
    pub(super) base: Option<Revnum>,
    pub(super) is_added: bool,
    /// It is a copy, or in one.
    pub(super) is_copied: bool,
    pub(super) props: Vec<(String, Option<Vec<u8>>)>,
}

/// A file of the edit.
pub(super) struct CommitFile {
    pub(super) path: RelPath,
    pub(super) base: Option<Revnum>,
    pub(super) is_added: bool,
    pub(super) is_copied: bool,
    pub(super) props: Vec<(String, Option<Vec<u8>>)>,
    pub(super) text: Option<Spool>,
    pub(super) base_md5: Option<Md5>,
}

impl CommitEditor<'_> {
    /// Aborts the transaction.
    pub(super) fn abort(&mut self) {
        self.has_ended = true;
        self.give_up_files();
        self.session.abort_txn(&self.txn);
    }

    /// Makes one step, and aborts the transaction if it fails.
    pub(super) fn step<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.has_ended {
            return Err(Error::bare(Code::RA_SVN_EDIT_ABORTED));
        }
        step(self).inspect_err(|error| {
            self.failed = Some(error.clone());
            self.abort();
        })
    }

    pub(super) fn dir(&self, token: DirToken) -> Result<&CommitDir> {
        self.dirs.get(&token.0).ok_or_else(unknown)
    }

    pub(super) fn file(&mut self, token: FileToken) -> Result<&mut CommitFile> {
        self.files.get_mut(&token.0).ok_or_else(unknown)
    }

    fn next_token(&mut self) -> u32 {
        self.tokens_given = self.tokens_given.wrapping_add(1);
        self.tokens_given
    }

    pub(super) fn push_dir(&mut self, dir: CommitDir) -> DirToken {
        let token = self.next_token();
        self.dirs.insert(token, dir);
        DirToken(token)
    }

    pub(super) fn push_file(&mut self, file: CommitFile) -> FileToken {
        let token = self.next_token();
        self.files.insert(token, file);
        FileToken(token)
    }

    /// The escaped path, in the transaction, of an existing node.
    pub(super) fn existing(&mut self, path: &RelPath, base: Option<Revnum>, is_new: bool) -> Result<String> {
        let whole = self.session.session_path().join(path);
        match &mut self.txn {
            Txn::Named { root, .. } => Ok(Resources::below(root, &whole)),
            Txn::Activity { working, .. } => {
                if let Some(known) = working.get(path) {
                    return Ok(known.clone());
                }
                // What is in a new directory needs no checkout: that directory is known, or one between it and the node.
                let mut above = path.parent().filter(|_| is_new);
                let mut found = None;
                while let Some(dir) = above {
                    let below = path.relative_to(&dir).unwrap_or_default();
                    found = working.get(&dir).map(|known| Resources::below(known, &below));
                    above = dir.parent().filter(|_| found.is_none());
                }
                if let Some(found) = found {
                    working.insert(path.clone(), found.clone());
                    return Ok(found);
                }
                self.check_out(path, base)
            }
        }
    }

    fn check_out(&mut self, path: &RelPath, base: Option<Revnum>) -> Result<String> {
        self.settle()?;
        let Txn::Activity { activity, working } = &mut self.txn else {
            return Err(unknown());
        };
        let found = self.session.check_out(activity, path, base)?;
        working.insert(path.clone(), found.clone());
        Ok(found)
    }

    /// The escaped path, in the transaction, of an entry of a directory.
    pub(super) fn entry(&mut self, path: &RelPath, parent: DirToken) -> Result<String> {
        let dir = self.dir(parent)?;
        let (above, base, is_new) = (dir.path.clone(), dir.base, dir.is_added);
        let resource = self.existing(&above, base, is_new)?;
        let target = match above == *path {
            // A second node with the name of the directory: see `drive_paths` of the crate `client`.
            true => resource,
            false => Resources::below(&resource, &last(path)),
        };
        if let Txn::Activity { working, .. } = &mut self.txn {
            working.insert(path.clone(), target.clone());
        }
        Ok(target)
    }

    /// True if this commit has deleted a path, or a directory above it.
    fn is_deleted(&self, path: &RelPath) -> bool {
        let mut at = Some(path.clone());
        while let Some(current) = at {
            if self.deleted.contains(&current) {
                return true;
            }
            at = current.parent();
        }
        false
    }

    /// The locks at and below a path that the caller holds, and that this commit has not deleted.
    fn tokens_below(&self, path: &RelPath) -> Vec<(&RelPath, &String)> {
        let held = self.tokens.iter();
        held.filter(|(locked, _)| locked.relative_to(path).is_some() && !self.is_deleted(locked))
            .collect()
    }

    /// Adds the tokens of a path, and of what is below it, to a request.
    pub(super) fn with_locks(&self, request: Request, path: &RelPath, is_recursive: bool) -> Request {
        let mut tokens = self.tokens_below(path);
        tokens.retain(|(locked, _)| is_recursive || *locked == path);
        if tokens.is_empty() {
            return request;
        }
        let mut value = String::new();
        for (locked, token) in tokens {
            if !value.is_empty() {
                value.push(' ');
            }
            let url = self.session.client.url_of(&self.session.public(locked));
            value.push_str(&format!("<{url}> (<{token}>)"));
        }
        request.header("if", value)
    }

    pub(super) fn delete(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.settle()?;
        let target = self.entry(path, parent)?;
        let shown_rev = rev.map_or("-1".to_owned(), |rev| rev.to_string());
        let mut request = Request::new("DELETE", &target).header("x-svn-version-name", shown_rev);
        let tokens: Vec<_> = self
            .tokens_below(path)
            .into_iter()
            .map(|(path, token)| (path.clone(), token.clone()))
            .collect();
        if self.keep_locks && !tokens.is_empty() {
            request = request.header("x-svn-options", "keep-locks");
        }
        let plain = request.clone();
        let mut response = self.session.client.call(self.with_locks(request, path, true))?;
        if response.status == 400 && !tokens.is_empty() {
            // The header is too long for the server: the tokens go into the body.
            let listed: Vec<_> = tokens
                .iter()
                .map(|(path, token)| (path.to_string(), token.clone()))
                .collect();
            let body = format!(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?>{}",
                lock_tokens(&listed)
            );
            response = self
                .session
                .client
                .call(self.with_locks(plain, path, false).xml(body))?;
        }
        match response.status {
            204 | 200 => {}
            404 if rev.is_some() => {
                let message = format!("'{}' is out of date", self.session.fs_path(path));
                return Err(refusal(response, &target).wrap(Code::FS_TXN_OUT_OF_DATE, message));
            }
            _ => return Err(refusal(response, &target)),
        }
        response.body.read_up_to(64 << 10)?;
        self.deleted.insert(path.clone());
        if let Txn::Activity { working, .. } = &mut self.txn {
            working.retain(|known, _| known.relative_to(path).is_none());
        }
        Ok(())
    }

    /// Copies a node into the transaction.
    pub(super) fn copy(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        from: CopyFrom<'_>,
        is_dir: bool,
    ) -> Result<()> {
        self.settle()?;
        let source = Url::canonicalize(from.path)?;
        let Some(below) = source.relative_to(&self.session.root) else {
            return Err(crate::foreign_url(&source, &self.session.root));
        };
        let source = self.session.node_at(&below, from.rev)?;
        let target = self.entry(path, parent)?;
        let mut request = Request::new("COPY", source)
            .header("destination", self.session.client.url_of(&target))
            .header("overwrite", "F");
        if is_dir {
            request = request.header("depth", "infinity");
        }
        let request = self.with_locks(request, path, true);
        self.session.call_plain(request, &[201, 204]).map(drop)
    }

    pub(super) fn change_props(
        &mut self,
        path: &RelPath,
        target: &str,
        base: Option<Revnum>,
        props: &[(String, Option<Vec<u8>>)],
    ) -> Result<()> {
        self.settle()?;
        let request = self.props_request(path, target, base, props);
        self.session.proppatch(request)
    }

    fn props_request(
        &self,
        path: &RelPath,
        target: &str,
        base: Option<Revnum>,
        props: &[(String, Option<Vec<u8>>)],
    ) -> Request {
        let changes: Vec<_> = props
            .iter()
            .map(|(name, value)| PropertyChange {
                name,
                value: value.as_deref(),
                expected: None,
            })
            .collect();
        let mut request = Request::new("PROPPATCH", target).xml(proppatch(&changes));
        if let Some(base) = base {
            request = request.header("x-svn-version-name", base.to_string());
        }
        self.with_locks(request, path, false)
    }

    /// # Errors
    /// `FS_ALREADY_EXISTS` if the youngest revision has a node where a file is added.
    pub(super) fn check_absent(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        let dir = self.dir(parent)?;
        if self.is_deleted(path) || dir.is_added || dir.is_copied {
            return Ok(());
        }
        self.settle()?;
        let target = self.session.public(path);
        let response = self.session.client.call(Request::new("HEAD", &target))?;
        match response.status {
            404 => Ok(()),
            200 => {
                let message = format!("File '{path}' already exists");
                Err(Error::new(Code::FS_ALREADY_EXISTS, message))
            }
            _ => Err(refusal(response, &target)),
        }
    }

    fn put_request(
        &self,
        file: &CommitFile,
        target: &str,
        text: Option<Spool>,
        md5: Option<&Md5>,
    ) -> Result<Request> {
        let mut request = Request::new("PUT", target);
        request = match text {
            Some(text) => request.body(SVNDIFF, text.into_body()?),
            None => request.body("text/plain", RequestBody::Bytes(bytes::Bytes::new())),
        };
        if let Some(base) = file.base.filter(|_| !file.is_added) {
            request = request.header("x-svn-version-name", base.to_string());
        }
        if let Some(md5) = &file.base_md5 {
            request = request.header("x-svn-base-fulltext-md5", md5.to_string());
        }
        if let Some(md5) = md5 {
            request = request.header("x-svn-result-fulltext-md5", md5.to_string());
        }
        Ok(self.with_locks(request, &file.path, false))
    }

    pub(super) fn finish_file(&mut self, token: FileToken, md5: Option<&Md5>) -> Result<()> {
        let mut file = self.files.remove(&token.0).ok_or_else(unknown)?;
        let text = file.text.take();
        let must_put = text.is_some() || (file.is_added && !file.is_copied);
        if !must_put && file.props.is_empty() {
            self.settle()?;
            self.file_requests.add_accepted();
            return Ok(());
        }
        let target = self.existing(&file.path.clone(), file.base, file.is_added)?;
        if must_put {
            let request = FileRequest {
                request: self.put_request(&file, &target, text, md5)?,
                path: file.path.clone(),
                md5: md5.copied(),
                ends_file: file.props.is_empty(),
            };
            self.send_file_request(request)?;
        }
        if file.props.is_empty() {
            return Ok(());
        }
        // A text that was put has made the node mutable: its revision says nothing any more.
        let base = file.base.filter(|_| !file.is_added && !must_put);
        let request = self.props_request(&file.path, &target, base, &file.props);
        self.send_file_request(FileRequest {
            request,
            path: file.path,
            md5: None,
            ends_file: true,
        })
    }

    pub(super) fn write(&mut self, token: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        let version = self.session.svndiff_version();
        let mut window = std::mem::take(&mut self.window);
        window.clear();
        match chunk {
            TextChunk::Encoded(encoded) if encoded.version == version => {
                window.extend_from_slice(encoded.raw)
            }
            TextChunk::Encoded(encoded) => {
                encoded.write_as(version, DEFAULT_LEVEL, &mut self.codec, &mut window)?;
            }
            TextChunk::Decoded(decoded) => {
                write_window(decoded, version, DEFAULT_LEVEL, &mut self.codec, &mut window);
            }
        }
        let text = self.file(token)?.text.as_mut().ok_or_else(unknown)?;
        text.write(&window)?;
        self.window = window;
        Ok(())
    }
}

/// The last component of a path, as a path.
fn last(path: &RelPath) -> RelPath {
    RelPath::empty().join_str(path.basename())
}

pub(super) fn unknown() -> Error {
    Error::new(Code::INCORRECT_PARAMS, "A node of the edit that is not open")
}

pub(super) fn already_exists(path: &RelPath) -> Error {
    Error::new(Code::FS_ALREADY_EXISTS, format!("Path '{path}' already exists"))
}
