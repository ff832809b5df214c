//! Nodes: kinds, properties, texts, entries, mergeinfo.

use base::{Error, FsPath, NodeKind, RelPath, Result, Revnum};
use repos::config::Access;
use repos::mergeinfo::Inheritance;
use repos::{TextReader, list, mergeinfo};
use wire::svn::Writer;
use wire::svn::command::{AtRev, Fields, GetDir, GetFile, GetMergeinfo, List};
use wire::svn::response::{write_failure, write_success};

use crate::log::operation_text;
use crate::service::{dirent_fields, wire_dirent};
use crate::svn::repo_session::RepoSession;

/// A text is sent in strings of this size, bytes.
const PIECE: usize = 32 << 10;

impl RepoSession {
    pub(crate) fn check_path(&mut self, at: &AtRev) -> Result<()> {
        let path = self.access.path(&at.path);
        self.require(Access::Read, path.as_ref().ok(), false)?;
        let rev = self.access.rev(at.rev)?;
        self.access
            .log_operation(|| operation_text::at("check-path", &at.path, &path, rev));
        let kind = match path {
            Ok(path) => self.access.repo.repository.check_path(rev, &path)?,
            Err(_) => NodeKind::None,
        };
        self.conn.success(|w| _ = w.word(kind.word()));
        Ok(())
    }

    pub(crate) fn stat(&mut self, at: &AtRev) -> Result<()> {
        let path = self.access.path(&at.path);
        self.require(Access::Read, path.as_ref().ok(), false)?;
        let rev = self.access.rev(at.rev)?;
        self.access
            .log_operation(|| operation_text::at("stat", &at.path, &path, rev));
        let found = match path {
            Ok(path) => self.access.repo.repository.stat(rev, &path)?,
            Err(_) => None,
        };
        self.conn.success(|w| match &found {
            Some(dirent) => {
                w.open();
                wire_dirent(dirent).write_stat(w);
                w.close();
            }
            None => _ = w.none(),
        });
        Ok(())
    }

    pub(crate) fn get_file(&mut self, get: &GetFile) -> Result<()> {
        let path = self.access.path(&get.at.path)?;
        self.require(Access::Read, Some(&path), false)?;
        let rev = self.access.rev(get.at.rev)?;
        self.access
            .log_operation(|| operation_text::get("get-file", &path, rev, get.want_contents, get.want_props));
        let repository = self.access.repo.repository.clone();
        let file = repository.file(rev, &path)?;
        let props = if get.want_props {
            file.props()?
        } else {
            Default::default()
        };
        let inherited = self.inherited(rev, &path, get.want_iprops)?;
        let reader = match get.want_contents {
            true => Some((file.reader()?, file.size()?)),
            false => None,
        };
        self.conn.success(|w| {
            w.open()
                .string(file.md5.to_string())
                .close()
                .number(rev.0)
                .proplist(&props);
            write_inherited(w, inherited.as_deref());
        });
        match reader {
            Some((reader, size)) => self.send_text(reader, size),
            None => Ok(()),
        }
    }

    /// Sends a text, its end, and a second response, which tells whether the text could be read to its end.
    fn send_text(&mut self, mut reader: TextReader, size: u64) -> Result<()> {
        let mut left = size;
        let mut outcome = Ok(());
        while left > 0 && outcome.is_ok() {
            let piece = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
            let out = self.conn.out();
            let begin = out.len();
            Writer(out).string_head(piece);
            let text = out.len();
            out.resize(text + piece, 0);
            outcome = read_exactly(&mut reader, &mut out[text..]);
            match outcome {
                Ok(()) => out.push(b' '),
                Err(_) => out.truncate(begin),
            }
            left -= piece as u64;
            self.conn.spill()?;
        }
        let mut rest = [0];
        if outcome.is_ok() {
            // The reader compares the digest at the end.
            outcome = reader.read_some(&mut rest).map(drop);
        }
        if let Err(error) = &outcome {
            self.access.log_fault(error);
        }
        let out = self.conn.out();
        Writer(out).string("");
        match outcome {
            Ok(()) => write_success(out),
            Err(error) => write_failure(out, &error),
        }
        Ok(())
    }

    pub(crate) fn get_dir(&mut self, get: &GetDir) -> Result<()> {
        let path = self.access.path(&get.at.path)?;
        self.require(Access::Read, Some(&path), false)?;
        let rev = self.access.rev(get.at.rev)?;
        self.access
            .log_operation(|| operation_text::get("get-dir", &path, rev, get.want_contents, get.want_props));
        let repository = self.access.repo.repository.clone();
        if !get.want_props && !get.want_contents {
            // Nothing below reads the revision.
            repository.check_path(rev, &path)?;
        }
        let props = match get.want_props {
            true => repository.node_props(rev, &path)?,
            false => Default::default(),
        };
        // For a missing directory the incumbent's error names its parent.
        let inherited = match get.want_iprops {
            true => Some(repository.inherited_from_above(rev, &path, None, &*self.access.readable())?),
            false => None,
        };
        // The incumbent sends revision, date and author if one of them is requested.
        let committed = [Fields::CREATED_REV, Fields::TIME, Fields::LAST_AUTHOR];
        let mut fields = get.fields;
        if committed.iter().any(|field| fields.has(*field)) {
            fields = committed.into_iter().fold(fields, Fields::with);
        }
        let entries = match get.want_contents {
            true => repository.directory(rev, &path, dirent_fields(fields), &*self.access.readable())?,
            false => Vec::new(),
        };
        self.conn.success(|w| {
            w.number(rev.0).proplist(&props).open();
            for (name, dirent) in &entries {
                wire_dirent(dirent).write_entry(w, name, fields);
            }
            w.close();
            write_inherited(w, inherited.as_deref());
        });
        Ok(())
    }

    pub(crate) fn get_iprops(&mut self, at: &AtRev) -> Result<()> {
        let path = self.access.path(&at.path)?;
        self.require(Access::Read, Some(&path), false)?;
        self.access
            .log_operation(|| operation_text::iprops(&path, at.rev));
        let Some(rev) = at.rev else {
            return Err(Error::new(
                base::Code::FS_NO_SUCH_REVISION,
                "Invalid revision number '-1'",
            ));
        };
        let inherited = self.inherited(rev, &path, true)?;
        self.conn.success(|w| write_inherited(w, inherited.as_deref()));
        Ok(())
    }

    fn inherited(&self, rev: Revnum, path: &FsPath, wanted: bool) -> Result<Option<Inherited>> {
        if !wanted {
            return Ok(None);
        }
        let repository = &self.access.repo.repository;
        repository
            .inherited_props(rev, path, None, &*self.access.readable())
            .map(Some)
    }

    pub(crate) fn list(&mut self, request: &List) -> Result<()> {
        let path = self.access.path(&request.at.path)?;
        self.require(Access::Read, Some(&path), false)?;
        let rev = self.access.rev(request.at.rev)?;
        self.access.log_operation(|| {
            operation_text::list(&path, Some(rev), request.depth, request.patterns.as_deref())
        });
        let repository = self.access.repo.repository.clone();
        // As the incumbent, errors before the first entry are sent without the word `done`.
        repository.check_path(rev, &FsPath::root())?;
        let readable = self.access.readable();
        let options = list::ListOptions {
            depth: request.depth,
            fields: dirent_fields(request.fields),
            patterns: request.patterns.clone(),
        };
        self.entries(|session| {
            let mut sink = |path: &FsPath, dirent: &repos::Dirent| {
                let w = &mut Writer(session.conn.out());
                wire_dirent(dirent).write_listed(w, path, request.fields);
                session.conn.spill()
            };
            list::run(
                &repository,
                &path,
                rev,
                &options,
                &*readable,
                &mut sink,
                &Default::default(),
            )
        })
    }

    pub(crate) fn get_mergeinfo(&mut self, get: &GetMergeinfo) -> Result<()> {
        self.conn.write_empty_auth_request();
        let paths: Vec<FsPath> = get
            .paths
            .iter()
            .map(|path| self.access.path(path))
            .collect::<Result<_>>()?;
        let inherit = match get.inherit.as_str() {
            "inherited" => Inheritance::Inherited,
            "nearest-ancestor" => Inheritance::NearestAncestor,
            _ => Inheritance::Explicit,
        };
        self.access
            .log_operation(|| operation_text::mergeinfo(&paths, &get.inherit, get.descendants));
        let rev = self.access.rev(get.rev)?;
        let repository = &self.access.repo.repository;
        let found = mergeinfo::get(
            repository,
            &paths,
            rev,
            inherit,
            get.descendants,
            &*self.access.readable(),
        )?;
        let parent = self.access.parent.clone();
        self.conn.success(|w| {
            w.open();
            for (path, mergeinfo) in &found {
                let below = path.rel_str_below(&parent).unwrap_or(path.rel_str());
                w.open().string(below).string(mergeinfo.to_string()).close();
            }
            w.close();
        });
        Ok(())
    }

    /// Sends entries, then the word `done` in any case, then the outcome.
    pub(crate) fn entries(&mut self, send: impl FnOnce(&mut RepoSession) -> Result<()>) -> Result<()> {
        let outcome = send(self);
        if let Some(error) = self.conn.lost() {
            return Err(error.clone());
        }
        if let Err(error) = &outcome {
            self.access.log_fault(error);
        }
        let out = self.conn.out();
        Writer(out).word("done");
        match outcome {
            Ok(()) => write_success(out),
            Err(error) => write_failure(out, &error),
        }
        Ok(())
    }
}

type Inherited = Vec<(RelPath, base::Props)>;

fn write_inherited(w: &mut Writer<'_>, inherited: Option<&[(RelPath, base::Props)]>) {
    if let Some(inherited) = inherited {
        w.open();
        for (path, props) in inherited {
            w.open().string(path.as_str()).proplist(props).close();
        }
        w.close();
    }
}

fn read_exactly(reader: &mut TextReader, mut buf: &mut [u8]) -> Result<()> {
    while !buf.is_empty() {
        match reader.read_some(buf)? {
            0 => return Err(Error::bare(base::Code::STREAM_UNEXPECTED_EOF)),
            len => buf = &mut buf[len..],
        }
    }
    Ok(())
}
