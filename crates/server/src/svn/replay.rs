//! Replay: revisions as edits, for `svnsync` and `svnrdump`.

use base::{Error, Result, Revnum};
use delta::editor::Editor;
use repos::replay::{self, ReplayOptions};
use wire::svn::response::write_success;
use wire::svn::{EditDriver, write_revprops};

use crate::percent_encoding::encoded;
use crate::svn::repo_session::RepoSession;

impl RepoSession {
    pub(crate) fn replay(&mut self, rev: Revnum, low_water_mark: Revnum, send_deltas: bool) -> Result<()> {
        self.access
            .log_operation(|| format!("replay {} r{rev}", encoded(&self.access.parent)));
        self.conn.write_empty_auth_request();
        self.replay_one(rev, low_water_mark, send_deltas)?;
        write_success(self.conn.out());
        Ok(())
    }

    pub(crate) fn replay_range(
        &mut self,
        start: Revnum,
        end: Revnum,
        low_water_mark: Revnum,
        send_deltas: bool,
    ) -> Result<()> {
        self.conn.write_empty_auth_request();
        let readable = self.access.readable();
        let mut rev = start;
        while rev <= end {
            self.access
                .log_operation(|| format!("replay {} r{rev}", encoded(&self.access.parent)));
            let props = self.access.repo.repository.revprops(rev, &*readable)?;
            write_revprops(self.conn.out(), &props);
            self.replay_one(rev, low_water_mark, send_deltas)?;
            rev = rev.next();
        }
        write_success(self.conn.out());
        Ok(())
    }

    fn replay_one(&mut self, rev: Revnum, low_water_mark: Revnum, send_deltas: bool) -> Result<()> {
        let options = ReplayOptions {
            base_path: self.access.parent.clone(),
            low_water_mark: Some(low_water_mark).filter(|rev| *rev <= Revnum::MAX),
            send_deltas,
        };
        let repository = self.access.repo.repository.clone();
        let readable = self.access.readable();
        let level = self.access.service.context.options().compression;
        let driver = EditDriver::new(&mut self.conn, self.capabilities, level, &mut self.codec);
        let mut editor = driver.replay();
        let told: Result<(), Error> = replay::replay(&repository, rev, &options, &*readable, &mut editor);
        match told.and_then(|()| editor.close_edit()) {
            Ok(()) => Ok(()),
            Err(error) => {
                editor.give_up()?;
                Err(error)
            }
        }
    }
}
