//! An editor that records its calls, checks their order, and applies every text delta.

use std::collections::HashMap;

use base::checksum::Md5;
use base::{RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, EncodedVersions, FileToken, TextChunk, WindowForm};
use delta::svndiff::Codec;
use repos::{Repository, access};

/// Every text of a repository by digest: the bases of deltas.
#[derive(Default)]
pub struct RepositoryTexts(HashMap<Md5, Vec<u8>>);

impl RepositoryTexts {
    /// Reads all texts of all revisions.
    pub fn of(repo: &Repository) -> RepositoryTexts {
        let mut texts = HashMap::from([(Md5::EMPTY, Vec::new())]);
        for rev in 1..=repo.youngest().expect("readable").0 {
            let changes = repo
                .fs()
                .root(Revnum(rev))
                .expect("readable")
                .changed_paths()
                .expect("readable");
            for change in changes.iter() {
                let root = repo.fs().root(Revnum(rev)).expect("readable");
                if root.kind(&change.path).expect("readable") != base::NodeKind::File {
                    continue;
                }
                let node = root.node(&change.path).expect("readable");
                let md5 = node.md5().expect("readable");
                texts.entry(md5).or_insert_with(|| {
                    let reader = node.reader().expect("readable");
                    reader.read_all().expect("readable")
                });
            }
        }
        RepositoryTexts(texts)
    }
}

/// Makes every path readable; most tests use it.
pub const EVERYTHING: access::Everything = access::Everything;

pub struct RecordingEditor<'t> {
    /// The calls, in the notation of [`crate::peer`].
    pub lines: Vec<String>,
    texts: &'t RepositoryTexts,
    accepts: EncodedVersions,
    dirs: Vec<Option<String>>,
    files: Vec<Option<RecordedFile>>,
    codec: Codec,
}

struct RecordedFile {
    path: String,
    source: Option<Vec<u8>>,
    target: Vec<u8>,
    windows: usize,
}

impl<'t> RecordingEditor<'t> {
    pub fn new(texts: &'t RepositoryTexts, accepts: EncodedVersions) -> Self {
        RecordingEditor {
            lines: Vec::new(),
            texts,
            accepts,
            dirs: Vec::new(),
            files: Vec::new(),
            codec: Codec::new(),
        }
    }

    /// Checks that every file and directory was closed.
    pub fn finish(self) -> Vec<String> {
        assert!(self.dirs.iter().all(Option::is_none), "a directory is open");
        assert!(self.files.iter().all(Option::is_none), "a file is open");
        self.lines
    }

    fn dir(&self, token: DirToken) -> &str {
        self.dirs[token.0 as usize]
            .as_deref()
            .expect("because the driver opened it")
    }

    fn file(&mut self, token: FileToken) -> &mut RecordedFile {
        self.files[token.0 as usize]
            .as_mut()
            .expect("because the driver opened it")
    }

    fn entry(&self, path: &RelPath, parent: DirToken) {
        let expected = path.parent().expect("because the root is no entry");
        assert_eq!(
            expected.as_str(),
            self.dir(parent),
            "{path} in the wrong directory"
        );
    }

    fn new_dir(&mut self, path: &RelPath) -> DirToken {
        self.dirs.push(Some(path.as_str().to_owned()));
        DirToken(u32::try_from(self.dirs.len() - 1).expect("because tests are small"))
    }

    fn new_file(&mut self, path: &RelPath) -> FileToken {
        self.files.push(Some(RecordedFile {
            path: path.as_str().to_owned(),
            source: None,
            target: Vec::new(),
            windows: 0,
        }));
        FileToken(u32::try_from(self.files.len() - 1).expect("because tests are small"))
    }

    fn prop(&mut self, path: &str, name: &str, value: Option<&[u8]>) {
        let value = value.map_or("-".into(), String::from_utf8_lossy);
        self.lines.push(format!("prop {path} {name} {value}"));
    }
}

fn rev_shown(rev: Option<Revnum>) -> String {
    rev.map_or("-".to_owned(), |rev| rev.to_string())
}

fn copy_shown(from: Option<CopyFrom<'_>>) -> String {
    from.map_or("-".to_owned(), |from| format!("{}@{}", from.path, from.rev))
}

fn md5_shown(md5: Option<&Md5>) -> String {
    md5.map_or("-".to_owned(), Md5::to_string)
}

impl Editor for RecordingEditor<'_> {
    fn set_target_revision(&mut self, rev: Revnum) -> Result<()> {
        self.lines.push(format!("target-rev {rev}"));
        Ok(())
    }

    fn open_root(&mut self, base: Option<Revnum>) -> Result<DirToken> {
        self.lines.push(format!("open-root {}", rev_shown(base)));
        Ok(self.new_dir(&RelPath::empty()))
    }

    fn delete_entry(&mut self, path: &RelPath, rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.entry(path, parent);
        self.lines.push(format!("delete {path} {}", rev_shown(rev)));
        Ok(())
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        self.entry(path, parent);
        self.lines
            .push(format!("add-dir {path} {}", copy_shown(copyfrom)));
        Ok(self.new_dir(path))
    }

    fn open_directory(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<DirToken> {
        self.entry(path, parent);
        self.lines.push(format!("open-dir {path} {}", rev_shown(base)));
        Ok(self.new_dir(path))
    }

    fn change_dir_prop(&mut self, dir: DirToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        let path = self.dir(dir).to_owned();
        self.prop(&path, name, value);
        Ok(())
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        let path = self.dirs[dir.0 as usize].take().expect("because it is open");
        self.lines.push(format!("close-dir {path}"));
        Ok(())
    }

    fn absent_directory(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        self.entry(path, parent);
        self.lines.push(format!("absent-dir {path}"));
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        self.entry(path, parent);
        self.lines
            .push(format!("add-file {path} {}", copy_shown(copyfrom)));
        Ok(self.new_file(path))
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, base: Option<Revnum>) -> Result<FileToken> {
        self.entry(path, parent);
        self.lines.push(format!("open-file {path} {}", rev_shown(base)));
        Ok(self.new_file(path))
    }

    fn apply_textdelta(&mut self, file: FileToken, base_md5: Option<&Md5>) -> Result<()> {
        let base = base_md5.unwrap_or(&Md5::EMPTY);
        let source = self.texts.0.get(base).cloned().unwrap_or_default();
        let file = self.file(file);
        assert!(file.source.is_none(), "a second text");
        file.source = Some(source);
        let line = format!("text {} {}", file.path, md5_shown(base_md5));
        self.lines.push(line);
        Ok(())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        self.accepts
    }

    fn window_form(&self) -> Option<WindowForm> {
        let version = (0..=2).rev().find(|version| self.accepts.contains(*version))?;
        Some(WindowForm::new(version, 5))
    }

    fn text_chunk(&mut self, file: FileToken, chunk: TextChunk<'_>) -> Result<()> {
        let decoded;
        let window = match chunk {
            TextChunk::Decoded(window) => window,
            TextChunk::Encoded(window) => {
                assert!(self.accepts.contains(window.version), "not what was asked for");
                decoded = window.decode(&mut self.codec)?;
                &decoded
            }
        };
        let file = self.file(file);
        let source = file.source.as_ref().expect("because the text was begun");
        let from = usize::try_from(window.source_offset).expect("because tests are small");
        let view = &source[from..from + window.source_len as usize];
        window.apply(view, &mut file.target)?;
        file.windows += 1;
        Ok(())
    }

    fn text_end(&mut self, file: FileToken) -> Result<()> {
        let file = self.file(file);
        let content = if file.windows > 0 { "windows" } else { "nothing" };
        let line = format!("text-end {} {content}", file.path);
        self.lines.push(line);
        Ok(())
    }

    fn change_file_prop(&mut self, file: FileToken, name: &str, value: Option<&[u8]>) -> Result<()> {
        let path = self.file(file).path.clone();
        self.prop(&path, name, value);
        Ok(())
    }

    fn close_file(&mut self, file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        let file = self.files[file.0 as usize].take().expect("because it is open");
        if file.windows > 0 {
            assert_eq!(
                Some(&Md5::of(&file.target)),
                text_md5,
                "the text of {}",
                file.path
            );
        }
        self.lines
            .push(format!("close-file {} {}", file.path, md5_shown(text_md5)));
        Ok(())
    }

    fn absent_file(&mut self, path: &RelPath, parent: DirToken) -> Result<()> {
        self.entry(path, parent);
        self.lines.push(format!("absent-file {path}"));
        Ok(())
    }

    fn close_edit(&mut self) -> Result<()> {
        self.lines.push("close-edit".to_owned());
        Ok(())
    }

    fn abort_edit(&mut self) -> Result<()> {
        self.lines.push("abort-edit".to_owned());
        Ok(())
    }
}
