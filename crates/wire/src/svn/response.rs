//! Responses: success and failure, and the data inside.
//!
//! An error travels as its chain, outermost link first: number, text, and a source file and line that release builds
//! leave empty. A link without a text of its own is sent with its number's default text.

use base::props::Props;
use base::{Code, Date, Error, Lock, NodeKind, Revnum, bytes_not_utf8};

use super::command::Fields;
use super::item::{Malformed, Tuple};
use super::write::Writer;
use crate::text::fuzzy;

/// A response: the result of a command, or its error.
#[derive(Clone, Debug)]
pub enum Response<'a> {
    /// It worked; the parameters.
    Success(Tuple<'a>),
    /// It did not.
    Failure(Error),
}

impl<'a> Response<'a> {
    /// Reads a response.
    ///
    /// # Errors
    /// If it has another shape; also for an error list without a usable link.
    pub fn parse(mut tuple: Tuple<'a>) -> Result<Self, Malformed> {
        match tuple.word()? {
            "success" => Ok(Response::Success(tuple.list()?)),
            "failure" => Ok(Response::Failure(parse_errors(tuple.list()?)?)),
            _ => Err(Malformed::Word),
        }
    }
}

/// Writes a success without parameters.
pub fn write_success(out: &mut Vec<u8>) {
    out.extend_from_slice(b"( success ( ) ) ");
}

/// Writes a failure.
pub fn write_failure(out: &mut Vec<u8>, error: &Error) {
    let mut w = Writer(out);
    w.open().word("failure");
    write_errors(&mut w, error);
    w.close();
}

/// Writes an error's chain as a list.
pub fn write_errors(w: &mut Writer<'_>, error: &Error) {
    w.open();
    for link in error.links() {
        // Numbers are signed in memory; on the wire there is no sign.
        let number = i64::from(link.code().0) as u64;
        let text = link.text();
        let text = bytes_not_utf8(&text).map_or(text, |bytes| fuzzy(&bytes));
        w.open().number(number).string(text).string("").number(0).close();
    }
    w.close();
}

/// Reads an error's chain. Wrapper links never reach a user and are skipped.
///
/// # Errors
/// If the list has another shape or no usable link.
pub fn parse_errors(mut list: Tuple<'_>) -> Result<Error, Malformed> {
    let mut links = Vec::new();
    while !list.is_empty() {
        let mut link = list.list()?;
        let code = Code(link.number()? as i32);
        let message = String::from_utf8_lossy(link.string()?).into_owned();
        link.string()?;
        link.number()?;
        if code != Code::RA_SVN_CMD_ERR {
            links.push((code, Some(message).filter(|m| !m.is_empty())));
        }
    }
    Error::from_links(links).ok_or(Malformed::Missing)
}

/// Reads a property list.
///
/// # Errors
/// If it has another shape.
pub fn parse_proplist(mut list: Tuple<'_>) -> Result<Props, Malformed> {
    let mut props = Props::new();
    while !list.is_empty() {
        let mut prop = list.list()?;
        props.insert(prop.text()?.to_owned(), prop.string()?.to_vec());
    }
    Ok(props)
}

/// Writes the five elements of a lock, without parentheses around them.
pub fn write_lock(w: &mut Writer<'_>, lock: &Lock) {
    w.string(lock.path.as_str())
        .string(&lock.token)
        .string(&lock.owner);
    w.maybe_string(lock.comment.as_ref())
        .string(lock.created.to_string());
    w.maybe_string(lock.expires.map(|date| date.to_string()));
}

/// Reads the elements of a lock.
///
/// # Errors
/// If they have another shape.
pub fn parse_lock(tuple: &mut Tuple<'_>) -> Result<Lock, Malformed> {
    let path = base::FsPath::canonicalize(tuple.text()?).map_err(|_| Malformed::Text)?;
    let token = tuple.text()?.to_owned();
    let owner = tuple.text()?.to_owned();
    let comment = tuple.maybe_text()?.map(str::to_owned);
    let created = date(tuple.string()?)?;
    let expires = tuple.maybe_string()?.map(date).transpose()?;
    Ok(Lock {
        path,
        token,
        owner,
        comment,
        is_dav_comment: false,
        created,
        expires,
    })
}

fn date(text: &[u8]) -> Result<Date, Malformed> {
    Date::parse(text).map_err(|_| Malformed::Text)
}

/// A node, as `get-dir`, `stat` and `list` send it in their three forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dirent<'a> {
    /// The kind.
    pub kind: NodeKind,
    /// Bytes of a file's text; `None` for a directory.
    pub size: Option<u64>,
    /// Whether there are properties.
    pub has_props: bool,
    /// The revision of the last change.
    pub created_rev: Revnum,
    /// The date of the last change, as stored.
    pub date: Option<&'a [u8]>,
    /// The author of the last change.
    pub author: Option<&'a [u8]>,
}

const EPOCH: &[u8] = b"1970-01-01T00:00:00.000000Z";
/// Where `stat` and `list` leak a size of -1.
const NO_SIZE: u64 = u64::MAX;

impl<'a> Dirent<'a> {
    /// Writes an entry of `get-dir`. Its brackets are never left out, and an empty date would crash old clients.
    pub fn write_entry(&self, w: &mut Writer<'_>, name: &str, fields: Fields) {
        let kind = if fields.has(Fields::KIND) {
            self.kind
        } else {
            NodeKind::None
        };
        let size = self.size.filter(|_| fields.has(Fields::SIZE)).unwrap_or(0);
        let rev = if fields.has(Fields::CREATED_REV) {
            self.created_rev.0
        } else {
            0
        };
        let date = self.date.filter(|_| fields.has(Fields::TIME)).unwrap_or(EPOCH);
        let author = self.author.filter(|_| fields.has(Fields::LAST_AUTHOR));
        w.open().string(name).word(kind.word()).number(size);
        w.boolean(self.has_props && fields.has(Fields::HAS_PROPS))
            .number(rev);
        w.maybe_string(Some(date)).maybe_string(author).close();
    }

    /// Writes the response of `stat`. The stock client reads the date without checking whether there is one.
    pub fn write_stat(&self, w: &mut Writer<'_>) {
        w.open()
            .word(self.kind.word())
            .number(self.size.unwrap_or(NO_SIZE));
        w.boolean(self.has_props).number(self.created_rev.0);
        let date = self.date.unwrap_or(EPOCH);
        w.maybe_string(Some(date)).maybe_string(self.author).close();
    }

    /// Writes an entry of `list`; `path` is absolute in the repository.
    pub fn write_listed(&self, w: &mut Writer<'_>, path: &str, fields: Fields) {
        let kind = if fields.has(Fields::KIND) {
            self.kind
        } else {
            NodeKind::Unknown
        };
        w.open().string(path).word(kind.word());
        if fields.with(Fields::KIND) != Fields::KIND {
            let wanted = |field| fields.has(field);
            w.maybe_number(wanted(Fields::SIZE).then(|| self.size.unwrap_or(NO_SIZE)));
            match wanted(Fields::HAS_PROPS) {
                true => w.open().boolean(self.has_props).close(),
                false => w.none(),
            };
            w.maybe_number(wanted(Fields::CREATED_REV).then_some(self.created_rev.0));
            w.maybe_string(self.date.filter(|_| wanted(Fields::TIME)));
            w.maybe_string(self.author.filter(|_| wanted(Fields::LAST_AUTHOR)));
        }
        w.close();
    }

    /// Reads an entry of `get-dir` (with its name first) or the inside of `stat`.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse(tuple: &mut Tuple<'a>) -> Result<Self, Malformed> {
        let kind = NodeKind::from_word(tuple.word()?.as_bytes()).ok_or(Malformed::Word)?;
        let size = Some(tuple.number()?).filter(|size| *size != NO_SIZE);
        let has_props = tuple.boolean()?;
        let created_rev = Revnum(tuple.number()?);
        let date = tuple.maybe_string()?;
        let author = tuple.maybe_string()?;
        Ok(Dirent {
            kind,
            size,
            has_props,
            created_rev,
            date,
            author,
        })
    }
}

/// One path of a log entry's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogChange<'a> {
    /// The path.
    pub path: &'a str,
    /// `A`, `D`, `R` or `M`.
    pub action: char,
    /// Where it was copied from.
    pub copyfrom: Option<(&'a str, Revnum)>,
    /// The kind of the node.
    pub kind: NodeKind,
    /// Its text changed.
    pub text_mods: bool,
    /// Its properties changed.
    pub prop_mods: bool,
}

impl LogChange<'_> {
    /// Writes it. The kind is a string here, unlike everywhere else.
    pub fn write(&self, w: &mut Writer<'_>) {
        let mut action = [0; 4];
        w.open()
            .string(self.path)
            .word(self.action.encode_utf8(&mut action));
        w.open();
        if let Some((path, rev)) = self.copyfrom {
            w.string(path).number(rev.0);
        }
        w.close().open();
        w.string(self.kind.word())
            .boolean(self.text_mods)
            .boolean(self.prop_mods);
        w.close().close();
    }
}

/// A log entry without its changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEntry<'a> {
    /// The revision; `None` ends the entries merged in the one before.
    pub rev: Option<Revnum>,
    /// The author.
    pub author: Option<&'a [u8]>,
    /// When.
    pub date: Option<&'a [u8]>,
    /// Why.
    pub message: Option<&'a [u8]>,
    /// Entries that were merged follow.
    pub has_children: bool,
    /// Revision properties other than those three.
    pub revprops: Vec<(&'a str, &'a [u8])>,
    /// The merge was a reverse merge.
    pub subtractive: bool,
}

impl LogEntry<'_> {
    /// Writes the entry; `changes` writes the elements of the changes' list.
    pub fn write(&self, w: &mut Writer<'_>, changes: impl FnOnce(&mut Writer<'_>)) {
        w.open().open();
        changes(w);
        w.close().number(self.rev.map_or(0, |rev| rev.0));
        w.maybe_string(self.author)
            .maybe_string(self.date)
            .maybe_string(self.message);
        w.boolean(self.has_children).boolean(self.rev.is_none());
        w.number(self.revprops.len() as u64).open();
        for (name, value) in &self.revprops {
            w.prop(name, value);
        }
        w.close().boolean(self.subtractive).close();
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::Item;
    use super::*;

    fn list(text: &[u8]) -> Tuple<'_> {
        Item::parse(text).and_then(Item::list).expect("a list")
    }

    #[test]
    fn a_failure_is_the_whole_chain_with_its_default_texts() {
        let error = Error::bare(Code::RA_NOT_AUTHORIZED).wrap(Code::FS_NOT_FOUND, "outer");
        let mut out = Vec::new();
        write_failure(&mut out, &error);
        assert_eq!(
            out,
            b"( failure ( ( 160013 5:outer 0: 0 ) ( 170001 20:Authorization failed 0: 0 ) ) ) "
        );
        match Response::parse(list(&out)) {
            Ok(Response::Failure(back)) => assert_eq!(back.to_string(), error.to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn wrappers_are_skipped_and_nothing_left_is_malformed() {
        let wrapped = b"( failure ( ( 210000 0: 0: 0 ) ( 12345 4:oops 1:f 7 ) ) ) ";
        match Response::parse(list(wrapped)) {
            Ok(Response::Failure(error)) => assert_eq!(error.code(), Code(12345)),
            other => panic!("{other:?}"),
        }
        for bad in [&b"( failure ( ) ) "[..], b"( failure ( ( 210000 0: 0: 0 ) ) ) "] {
            assert!(Response::parse(list(bad)).is_err());
        }
    }

    #[test]
    fn entries_have_three_shapes() {
        let dirent = Dirent {
            kind: NodeKind::Dir,
            size: None,
            has_props: true,
            created_rev: Revnum(6),
            date: Some(b"D"),
            author: None,
        };
        let print = |write: &dyn Fn(&mut Writer<'_>)| {
            let mut out = Vec::new();
            write(&mut Writer(&mut out));
            String::from_utf8(out).expect("ASCII")
        };
        assert_eq!(
            print(&|w| dirent.write_entry(w, "n", Fields::ALL)),
            "( 1:n dir 0 true 6 ( 1:D ) ( ) ) "
        );
        assert_eq!(
            print(&|w| dirent.write_entry(w, "n", Fields::NONE)),
            "( 1:n none 0 false 0 ( 27:1970-01-01T00:00:00.000000Z ) ( ) ) "
        );
        assert_eq!(
            print(&|w| dirent.write_stat(w)),
            "( dir 18446744073709551615 true 6 ( 1:D ) ( ) ) "
        );
        assert_eq!(
            print(&|w| dirent.write_listed(w, "/n", Fields::KIND)),
            "( 2:/n dir ) "
        );
        assert_eq!(
            print(&|w| dirent.write_listed(w, "/n", Fields::NONE)),
            "( 2:/n unknown ) "
        );
        assert_eq!(
            print(&|w| dirent.write_listed(w, "/n", Fields::SIZE)),
            "( 2:/n unknown ( 18446744073709551615 ) ( ) ( ) ( ) ( ) ) "
        );
    }

    #[test]
    fn the_end_of_merged_entries() {
        let mut out = Vec::new();
        LogEntry::default().write(&mut Writer(&mut out), |_| ());
        assert_eq!(out, b"( ( ) 0 ( ) ( ) ( ) false true 0 ( ) false ) ");
    }
}
