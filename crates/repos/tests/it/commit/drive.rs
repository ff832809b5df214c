//! A drive of the commit editor, in a form that both our editor and the real server can be given.

use std::collections::HashMap;

use base::checksum::Md5;
use base::{Error, RelPath, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken, TextChunk};
use delta::svndiff::{Codec, write_header, write_insertion};
use delta::window::Window;

/// One call. Directories and files are named by their paths; the call for a path whose parent is not open is made on
/// the root.
#[derive(Clone, Debug)]
pub enum EditStep {
    Root(Option<u64>),
    Delete(String, Option<u64>),
    AddDir(String, Option<(String, u64)>),
    OpenDir(String, Option<u64>),
    DirProp(String, String, Option<Vec<u8>>),
    CloseDir(String),
    AddFile(String, Option<(String, u64)>),
    OpenFile(String, Option<u64>),
    FileProp(String, String, Option<Vec<u8>>),
    /// File, digest of its old text, new text (none: only `apply-textdelta`).
    Text(String, Option<Md5>, Vec<u8>),
    CloseFile(String, Option<Md5>),
    CloseEdit,
}

/// The URL of the repository, as the real server sees it.
pub const URL: &str = "svn://x/repo";

pub fn root() -> EditStep {
    EditStep::Root(None)
}

pub fn root_at(rev: u64) -> EditStep {
    EditStep::Root(Some(rev))
}

pub fn delete(path: &str, rev: impl Into<Option<u64>>) -> EditStep {
    EditStep::Delete(path.into(), rev.into())
}

pub fn add_dir(path: &str) -> EditStep {
    EditStep::AddDir(path.into(), None)
}

/// `from` is a path in the repository, or a URL.
pub fn copy_dir(path: &str, from: &str, rev: u64) -> EditStep {
    EditStep::AddDir(path.into(), Some((source(from), rev)))
}

pub fn open_dir(path: &str, rev: impl Into<Option<u64>>) -> EditStep {
    EditStep::OpenDir(path.into(), rev.into())
}

pub fn dir_prop<V: AsRef<[u8]> + ?Sized>(path: &str, name: &str, value: &V) -> EditStep {
    EditStep::DirProp(path.into(), name.into(), Some(value.as_ref().to_vec()))
}

pub fn del_dir_prop(path: &str, name: &str) -> EditStep {
    EditStep::DirProp(path.into(), name.into(), None)
}

pub fn close_dir(path: &str) -> EditStep {
    EditStep::CloseDir(path.into())
}

pub fn add_file(path: &str) -> EditStep {
    EditStep::AddFile(path.into(), None)
}

pub fn copy_file(path: &str, from: &str, rev: u64) -> EditStep {
    EditStep::AddFile(path.into(), Some((source(from), rev)))
}

pub fn open_file(path: &str, rev: impl Into<Option<u64>>) -> EditStep {
    EditStep::OpenFile(path.into(), rev.into())
}

pub fn file_prop<V: AsRef<[u8]> + ?Sized>(path: &str, name: &str, value: &V) -> EditStep {
    EditStep::FileProp(path.into(), name.into(), Some(value.as_ref().to_vec()))
}

pub fn del_file_prop(path: &str, name: &str) -> EditStep {
    EditStep::FileProp(path.into(), name.into(), None)
}

pub fn text<V: AsRef<[u8]> + ?Sized>(path: &str, text: &V) -> EditStep {
    EditStep::Text(path.into(), None, text.as_ref().to_vec())
}

pub fn text_on<B: AsRef<[u8]> + ?Sized, V: AsRef<[u8]> + ?Sized>(path: &str, base: &B, text: &V) -> EditStep {
    EditStep::Text(path.into(), Some(Md5::of(base.as_ref())), text.as_ref().to_vec())
}

pub fn close_file(path: &str) -> EditStep {
    EditStep::CloseFile(path.into(), None)
}

pub fn close_as<V: AsRef<[u8]> + ?Sized>(path: &str, text: &V) -> EditStep {
    EditStep::CloseFile(path.into(), Some(Md5::of(text.as_ref())))
}

pub fn done() -> EditStep {
    EditStep::CloseEdit
}

fn source(from: &str) -> String {
    match from.strip_prefix('/') {
        Some(path) => format!("{URL}/{path}"),
        None => from.to_owned(),
    }
}

/// The open directory on which the call for a path is made.
fn parent(path: &str, is_open: impl Fn(&str) -> bool) -> &str {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    if is_open(parent) { parent } else { "" }
}

/// The drive as the bytes of its messages.
pub fn wire(steps: &[EditStep]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut open: Vec<String> = Vec::new();
    for step in steps {
        let is_open = |path: &str| open.iter().any(|dir| dir == path);
        let up = |path: &str| string(format!("d{}", parent(path, is_open)));
        let own = |letter: &str, path: &str| string(format!("{letter}{path}"));
        let rev = |rev: &Option<u64>| rev.map_or("( )".to_owned(), |rev| format!("( {rev} )"));
        let from = |from: &Option<(String, u64)>| match from {
            Some((url, rev)) => [b"( ", &string(url)[..], format!(" {rev} )").as_bytes()].concat(),
            None => b"( )".to_vec(),
        };
        let value = |value: &Option<Vec<u8>>| match value {
            Some(value) => [b"( ", &string(value)[..], b" )"].concat(),
            None => b"( )".to_vec(),
        };
        let md5 = |md5: &Option<Md5>| value(&md5.map(|md5| md5.to_string().into_bytes()));
        let mut say = |name: &str, parts: &[&[u8]]| {
            out.extend_from_slice(format!("( {name} ( ").as_bytes());
            for part in parts {
                out.extend_from_slice(part);
                out.push(b' ');
            }
            out.extend_from_slice(b") ) ");
        };
        match step {
            EditStep::Root(base) => say("open-root", &[rev(base).as_bytes(), &own("d", "")]),
            EditStep::Delete(path, base) => {
                say("delete-entry", &[&string(path), rev(base).as_bytes(), &up(path)])
            }
            EditStep::AddDir(path, source) => say(
                "add-dir",
                &[&string(path), &up(path), &own("d", path), &from(source)],
            ),
            EditStep::OpenDir(path, base) => say(
                "open-dir",
                &[&string(path), &up(path), &own("d", path), rev(base).as_bytes()],
            ),
            EditStep::DirProp(path, name, new) => {
                say("change-dir-prop", &[&own("d", path), &string(name), &value(new)])
            }
            EditStep::CloseDir(path) => say("close-dir", &[&own("d", path)]),
            EditStep::AddFile(path, source) => say(
                "add-file",
                &[&string(path), &up(path), &own("f", path), &from(source)],
            ),
            EditStep::OpenFile(path, base) => say(
                "open-file",
                &[&string(path), &up(path), &own("f", path), rev(base).as_bytes()],
            ),
            EditStep::FileProp(path, name, new) => {
                say("change-file-prop", &[&own("f", path), &string(name), &value(new)])
            }
            EditStep::Text(path, base, text) => {
                let mut document = Vec::new();
                write_header(0, &mut document);
                let mut codec = Codec::new();
                for piece in text.chunks(PIECE) {
                    write_insertion(piece, 0, 0, &mut codec, &mut document);
                }
                say("apply-textdelta", &[&own("f", path), &md5(base)]);
                say("textdelta-chunk", &[&own("f", path), &string(&document)]);
                say("textdelta-end", &[&own("f", path)]);
            }
            EditStep::CloseFile(path, result) => say("close-file", &[&own("f", path), &md5(result)]),
            EditStep::CloseEdit => say("close-edit", &[]),
        }
        match step {
            EditStep::Root(_) => open.push(String::new()),
            EditStep::AddDir(path, _) | EditStep::OpenDir(path, _) => open.push(path.clone()),
            EditStep::CloseDir(path) => open.retain(|dir| dir != path),
            _ => {}
        }
    }
    out
}

pub fn string(text: impl AsRef<[u8]>) -> Vec<u8> {
    let text = text.as_ref();
    [format!("{}:", text.len()).as_bytes(), text].concat()
}

/// Makes the calls of the drive on an editor.
pub fn drive_editor(steps: &[EditStep], editor: &mut dyn Editor) -> Result<(), Error> {
    let mut dirs: HashMap<String, DirToken> = HashMap::new();
    let mut files: HashMap<String, FileToken> = HashMap::new();
    for step in steps {
        let up = |path: &str| dirs[parent(path, |dir| dirs.contains_key(dir))];
        let from = |from: &'_ Option<(String, u64)>| from.clone();
        match step {
            EditStep::Root(base) => {
                let token = editor.open_root(base.map(Revnum))?;
                dirs.insert(String::new(), token);
            }
            EditStep::Delete(path, base) => editor.delete_entry(&rel(path), base.map(Revnum), up(path))?,
            EditStep::AddDir(path, source) => {
                let source = from(source);
                let token = editor.add_directory(&rel(path), up(path), copyfrom(&source))?;
                dirs.insert(path.clone(), token);
            }
            EditStep::OpenDir(path, base) => {
                let token = editor.open_directory(&rel(path), up(path), base.map(Revnum))?;
                dirs.insert(path.clone(), token);
            }
            EditStep::DirProp(path, name, value) => {
                editor.change_dir_prop(dirs[path], name, value.as_deref())?
            }
            EditStep::CloseDir(path) => {
                let token = dirs.remove(path).expect("because the drive opened it");
                editor.close_directory(token)?;
            }
            EditStep::AddFile(path, source) => {
                let source = from(source);
                let token = editor.add_file(&rel(path), up(path), copyfrom(&source))?;
                files.insert(path.clone(), token);
            }
            EditStep::OpenFile(path, base) => {
                let token = editor.open_file(&rel(path), up(path), base.map(Revnum))?;
                files.insert(path.clone(), token);
            }
            EditStep::FileProp(path, name, value) => {
                editor.change_file_prop(files[path], name, value.as_deref())?;
            }
            EditStep::Text(path, base, text) => {
                editor.apply_textdelta(files[path], base.as_ref())?;
                for piece in text.chunks(PIECE) {
                    let window = Window::insertion(piece);
                    editor.text_chunk(files[path], TextChunk::Decoded(&window))?;
                }
                editor.text_end(files[path])?;
            }
            EditStep::CloseFile(path, md5) => editor.close_file(files[path], md5.as_ref())?,
            EditStep::CloseEdit => editor.close_edit()?,
        }
    }
    Ok(())
}

pub fn rel(path: &str) -> RelPath {
    RelPath::canonicalize(path).expect("because no test climbs")
}

fn copyfrom(source: &Option<(String, u64)>) -> Option<CopyFrom<'_>> {
    source.as_ref().map(|(path, rev)| CopyFrom {
        path,
        rev: Revnum(*rev),
    })
}

/// Bytes of text in each window.
const PIECE: usize = 100_000;
