//! Git's extensions of the unified form: the lines between `Index:` and the labels, binary texts, and links.

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

/// Returns a side of a file as Git has it: a link is its target alone. Returns `None` for all other files.
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
    side.text.each_part(&mut |part| {
        let skipped = std::mem::take(&mut prefix);
        text.push(&part[skipped..])
    })?;
    let props = side.props.clone();
    Ok(Some(FileSide { props, text }))
}

/// What precedes the target in the text of a link.
const PREFIX: &[u8] = b"link ";
