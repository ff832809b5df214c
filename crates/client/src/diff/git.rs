//! Git's extensions of the unified form: the lines between `Index:` and the labels, binary texts, and links.

use base::checksum::Sha1Stream;
use base::{Props, Result};

use super::base85;
use super::text::Text;
use super::tree::{Action, FileSide};
use crate::translate::{EXECUTABLE, SPECIAL};

/// Returns Git's header of a node with these old and new properties. `with_mode` shows the mode of an added or deleted file.
pub(super) fn header(path: &str, action: Action, props: [&Props; 2], with_mode: bool) -> String {
    let mut text = format!("diff --git a/{path} b/{path}\n");
    let [old, new] = props.map(mode);
    match action {
        Action::Added if with_mode => text.push_str(&format!("new file mode {new}\n")),
        Action::Deleted if with_mode => text.push_str(&format!("deleted file mode {old}\n")),
        _ if old != new => {
            text.push_str(&format!("old mode {old}\nnew mode {new}\n"));
        }
        _ => {}
    }
    text
}

/// Returns the mode of a file.
fn mode(props: &Props) -> &'static str {
    match (props.contains_key(SPECIAL), props.contains_key(EXECUTABLE)) {
        (true, true) => "120755",
        (true, false) => "120644",
        (false, true) => "100755",
        (false, false) => "100644",
    }
}

/// Writes the texts of a binary file.
///
/// # Errors
/// `errno`; those of `write`.
pub(super) fn binary(old: &Text, new: &Text, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    write(b"GIT binary patch\n")?;
    base85::literal(new, write)?;
    write(b"\n")?;
    base85::literal(old, write)
}

/// Returns a side of a file as Git has it: a link is its target alone, the rest of the first line, which is not empty. Returns `None` for
/// all other files.
///
/// # Errors
/// `errno` of a text in a file.
pub(super) fn link(side: &FileSide) -> Result<Option<FileSide>> {
    let is_link = side.props.contains_key(SPECIAL) && *side.text.part(0, PREFIX.len())? == *PREFIX;
    if !is_link {
        return Ok(None);
    }
    let mut text = Text::default();
    let mut prefix = PREFIX.len();
    let mut is_over = false;
    side.text.each_part(&mut |part| {
        let line = &part[std::mem::take(&mut prefix)..];
        let end = memchr::memchr2(b'\n', b'\r', line).filter(|_| !is_over);
        let line = if is_over {
            &[]
        } else {
            &line[..end.unwrap_or(line.len())]
        };
        is_over |= end.is_some();
        text.push(line)
    })?;
    let props = side.props.clone();
    Ok((!text.is_empty()).then_some(FileSide { props, text }))
}

/// Returns the line with Git's names of the targets of a link; nothing if its mode has changed.
///
/// # Errors
/// `errno` of a text in a file.
pub(super) fn link_index(old: &FileSide, new: &FileSide) -> Result<String> {
    let [old_mode, new_mode] = [old, new].map(|side| mode(&side.props));
    if old_mode != new_mode {
        return Ok(String::new());
    }
    let (old, new) = (blob_name(&old.text)?, blob_name(&new.text)?);
    Ok(format!("index {old}..{new} {new_mode}\n"))
}

/// Returns the first eight digits of the name that Git gives to a text.
fn blob_name(text: &Text) -> Result<String> {
    let mut digest = Sha1Stream::new();
    digest.update(format!("blob {}\0", text.len()).as_bytes());
    text.each_part(&mut |part| {
        digest.update(part);
        Ok(())
    })?;
    Ok(format!("{:.8}", digest.finish().to_string()))
}

/// What precedes the target in the text of a link.
const PREFIX: &[u8] = b"link ";
