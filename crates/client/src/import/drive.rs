//! Drives the commit of an import with what the walk found.
//!
//! A receiver may accept files later than they are sent. What is notified is what would be if it accepted each at once: an event is held
//! back until all files before it are accepted.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use base::{Code, Error, NodeKind, RelPath, Result};
use delta::editor::{DirToken, Editor, FileToken, TextChunk};
use delta::window::{WINDOW_SIZE, Window};

use super::walk::Found;
use super::{ImportEvent, check_entries};

/// Adds `new_entries`, each in the one before, and what is found into the last of them. With a `kind` of a file the last of them is the
/// file itself. Returns false if there is nothing to commit. The edit is not ended.
pub(super) fn drive(
    editor: &mut dyn Editor,
    new_entries: &[String],
    kind: NodeKind,
    found: &Receiver<Vec<Found>>,
    notify: &mut dyn FnMut(ImportEvent<'_>) -> Result<()>,
) -> Result<bool> {
    let mut open = vec![(RelPath::empty(), editor.open_root(None)?)];
    check_entries(new_entries, kind)?;
    let (file_name, directories) = match new_entries.split_last() {
        Some((name, above)) if kind != NodeKind::Dir => (Some(name.as_str()), above),
        _ => (None, new_entries),
    };
    let mut drive = Drive {
        editor,
        file_name,
        changed: !directories.is_empty(),
        file: None,
        closed_files: 0,
        held: VecDeque::new(),
    };
    for name in directories {
        drive.add_directory(&mut open, name)?;
    }
    let outcome = drive.tree(open, found, notify);
    drive.notify_held(drive.editor.accepted_files(), notify)?;
    outcome.map(|()| drive.changed)
}

struct Drive<'a> {
    editor: &'a mut dyn Editor,
    /// The name of the only file.
    file_name: Option<&'a str>,
    changed: bool,
    file: Option<FileToken>,
    closed_files: usize,
    /// What is to be notified, each with the number of files that were closed before it.
    held: VecDeque<(usize, HeldEvent)>,
}

enum HeldEvent {
    Skipped(PathBuf),
    Adding { path: PathBuf, is_binary: bool },
}

impl Drive<'_> {
    /// Adds everything that is found, and closes all directories.
    fn tree(
        &mut self,
        mut open: Vec<(RelPath, DirToken)>,
        found: &Receiver<Vec<Found>>,
        notify: &mut dyn FnMut(ImportEvent<'_>) -> Result<()>,
    ) -> Result<()> {
        let least = open.len();
        for found in found.iter().flatten() {
            match found {
                Found::Skipped(path) => self.hold(HeldEvent::Skipped(path)),
                Found::Dir(path, name) => {
                    self.add_directory(&mut open, &name)?;
                    let is_binary = false;
                    self.hold(HeldEvent::Adding { path, is_binary });
                }
                Found::End if open.len() > least => {
                    if let Some((_, directory)) = open.pop() {
                        self.editor.close_directory(directory)?;
                    }
                }
                Found::End => {}
                Found::Failed(error) => {
                    // It is not the receiver that ends the import.
                    self.notify_held(usize::MAX, notify)?;
                    return Err(error);
                }
                found => self.file(&open, found)?,
            }
            self.notify_held(self.editor.accepted_files(), notify)?;
        }
        while let Some((_, directory)) = open.pop() {
            self.editor.close_directory(directory)?;
        }
        Ok(())
    }

    fn hold(&mut self, event: HeldEvent) {
        self.held.push_back((self.closed_files, event));
    }

    /// Notifies what comes before and with the first file that is not accepted, if the first `accepted` files are.
    fn notify_held(
        &mut self,
        accepted: usize,
        notify: &mut dyn FnMut(ImportEvent<'_>) -> Result<()>,
    ) -> Result<()> {
        while let Some((_, event)) = self.held.pop_front_if(|(before, _)| *before <= accepted) {
            match event {
                HeldEvent::Skipped(path) => notify(ImportEvent::Skipped(&path))?,
                HeldEvent::Adding { path, is_binary } => {
                    let path = &path;
                    notify(ImportEvent::Adding { path, is_binary })?;
                }
            }
        }
        Ok(())
    }

    fn add_directory(&mut self, open: &mut Vec<(RelPath, DirToken)>, name: &str) -> Result<()> {
        let (above, parent) = last(open)?;
        let path = above.join_str(name);
        let directory = self.editor.add_directory(&path, *parent, None)?;
        open.push((path, directory));
        self.changed = true;
        Ok(())
    }

    fn file(&mut self, open: &[(RelPath, DirToken)], found: Found) -> Result<()> {
        match found {
            Found::File {
                path,
                name,
                props,
                is_binary,
            } => {
                let (above, parent) = last(open)?;
                let rel = above.join_str(self.file_name.unwrap_or(&name));
                let file = self.editor.add_file(&rel, *parent, None)?;
                self.changed = true;
                self.hold(HeldEvent::Adding { path, is_binary });
                for (name, value) in &props {
                    self.editor.change_file_prop(file, name, Some(value))?;
                }
                self.editor.apply_textdelta(file, None)?;
                self.file = Some(file);
            }
            Found::Text(text) => {
                let file = self.file.ok_or_else(out_of_order)?;
                for part in text.chunks(WINDOW_SIZE) {
                    let window = Window::insertion(part);
                    self.editor.text_chunk(file, TextChunk::Decoded(&window))?;
                }
            }
            Found::TextEnd(digest) => {
                let file = self.file.take().ok_or_else(out_of_order)?;
                self.editor.text_end(file)?;
                self.editor.close_file(file, Some(&digest))?;
                self.closed_files += 1;
            }
            _ => return Err(out_of_order()),
        }
        Ok(())
    }
}

fn last(open: &[(RelPath, DirToken)]) -> Result<&(RelPath, DirToken)> {
    open.last().ok_or_else(out_of_order)
}

fn out_of_order() -> Error {
    Error::new(Code::INCORRECT_PARAMS, "The import is out of order")
}
