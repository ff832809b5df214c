//! Requests that drive an edit: reports, commits, replay.

use std::sync::Arc;

use base::{Date, Error, FsPath, RelPath, Result, Revnum, Url, percent};
use delta::editor::Editor;
use repos::access::Everything;
use repos::commit::{self, FullAccess};
use repos::config::ConfigCache;
use repos::hooks::Hooks;
use repos::replay;
use repos::report::{Report, ReportOptions};

use super::LocalSession;
use crate::answers::CommitInfo;
use crate::requests::{CommitRequest, PathState, ReplayOptions, ReportKind, ReportRequest, Reporter};

impl LocalSession {
    pub(super) fn report_and_drive(
        &mut self,
        request: &ReportRequest<'_>,
        state: &mut dyn FnMut(&mut dyn Reporter) -> Result<()>,
        editor: &mut dyn Editor,
    ) -> Result<()> {
        crate::check_depth(request.depth)?;
        let mut options = ReportOptions {
            target_rev: self.rev(request.rev)?,
            anchor: self.path.clone(),
            operand: RelPath::canonicalize(request.target)?.as_str().to_owned(),
            switch_to: None,
            text_deltas: true,
            depth: request.depth,
            ignore_ancestry: false,
            send_copyfrom: false,
        };
        match request.kind {
            ReportKind::Update {
                send_copyfrom,
                ignore_ancestry,
            } => (options.send_copyfrom, options.ignore_ancestry) = (send_copyfrom, ignore_ancestry),
            ReportKind::Switch {
                url,
                send_copyfrom,
                ignore_ancestry,
            } => {
                options.switch_to = Some(self.path_of(url)?);
                (options.send_copyfrom, options.ignore_ancestry) = (send_copyfrom, ignore_ancestry);
            }
            ReportKind::Status => options.text_deltas = false,
            ReportKind::Diff {
                url,
                ignore_ancestry,
                text_deltas,
            } => {
                options.switch_to = Some(self.path_of(url)?);
                (options.ignore_ancestry, options.text_deltas) = (ignore_ancestry, text_deltas);
            }
        }
        let report = Report::begin(&self.repository, options, Arc::new(Everything))?;
        let mut reporter = ReportState {
            report,
            root: &self.root,
            failed: None,
        };
        state(&mut reporter)?;
        let driven = match reporter.failed {
            Some(error) => Err(error),
            None => reporter
                .report
                .validate()
                .and_then(|()| reporter.report.finish(editor)),
        };
        match driven {
            Ok(_) => Ok(()),
            Err(error) => {
                // The first error counts.
                _ = editor.abort_edit();
                Err(error)
            }
        }
    }

    /// Returns the hooks, with the environment of `conf/hooks-env`.
    pub(super) fn hooks(&mut self) -> Result<Hooks> {
        if let Some(hooks) = &self.hooks {
            return Ok(hooks.clone());
        }
        let env = ConfigCache::default().hooks_env(&self.repository.conf_dir().join("hooks-env"))?;
        let hooks = Hooks::of(&self.repository, env);
        self.hooks = Some(hooks.clone());
        Ok(hooks)
    }

    pub(super) fn drive_commit(
        &mut self,
        request: &CommitRequest,
        drive: &mut dyn FnMut(&mut dyn Editor) -> Result<()>,
    ) -> Result<CommitInfo> {
        let mut revprops = request.revprops.clone();
        revprops.extend(crate::txn_props());
        let tokens = request.lock_tokens.iter();
        let options = commit::CommitOptions {
            base_url: String::from_utf8_lossy(&percent::decode(self.root.as_str().as_bytes())).into_owned(),
            base_path: self.path.clone(),
            revprops,
            author: self.user()?,
            lock_tokens: tokens
                .map(|(path, token)| (self.at(path), token.clone()))
                .collect(),
            keep_locks: request.keep_locks,
            capabilities: vec!["mergeinfo".to_owned()],
            authz: Arc::new(FullAccess),
            hooks: self.hooks()?,
        };
        let clock = self.options.clock.clone();
        let mut editor = commit::start(&self.repository, options, Arc::new(move || clock()))?;
        match drive(&mut editor) {
            Ok(()) if editor.is_done() => {}
            Ok(()) => editor.close_edit()?,
            Err(error) => {
                _ = editor.abort_edit();
                return Err(error);
            }
        }
        let info = editor.outcome()?;
        Ok(CommitInfo {
            rev: info.rev,
            date: info.date.and_then(|date| Date::parse(date.as_bytes()).ok()),
            author: info.author,
            post_commit_error: info.post_commit_error,
        })
    }

    pub(super) fn replay_one(
        &mut self,
        rev: Revnum,
        options: &ReplayOptions,
        editor: &mut dyn Editor,
    ) -> Result<()> {
        let options = replay::ReplayOptions {
            base_path: self.path.clone(),
            low_water_mark: Some(options.low_water_mark),
            send_deltas: options.send_deltas,
        };
        replay::replay(&self.repository, rev, &options, &Everything, editor).inspect_err(|_| {
            // The first error counts.
            _ = editor.abort_edit();
        })
    }
}

/// Receives the state of a working copy. After a mistake the rest is ignored; the edit fails with it.
struct ReportState<'a> {
    report: Report,
    root: &'a Url,
    failed: Option<Error>,
}

impl ReportState<'_> {
    fn add(&mut self, add: impl FnOnce(&mut Report) -> Result<()>) {
        if self.failed.is_none() {
            self.failed = add(&mut self.report).err();
        }
    }
}

impl Reporter for ReportState<'_> {
    fn set_path(&mut self, path: &RelPath, state: &PathState<'_>) -> Result<()> {
        self.add(|report| report.set_path(path, state.rev, state.depth, state.start_empty, state.lock_token));
        Ok(())
    }

    fn delete_path(&mut self, path: &RelPath) -> Result<()> {
        self.add(|report| report.delete_path(path));
        Ok(())
    }

    fn link_path(&mut self, path: &RelPath, url: &Url, state: &PathState<'_>) -> Result<()> {
        let root = self.root;
        self.add(|report| {
            let below = url
                .relative_to(root)
                .ok_or_else(|| crate::foreign_url(url, root))?;
            let to = FsPath::root().join(&below);
            report.link_path(
                path,
                &to,
                state.rev,
                state.depth,
                state.start_empty,
                state.lock_token,
            )
        });
        Ok(())
    }
}
