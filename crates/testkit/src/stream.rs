//! Writes dump streams, from which Subversion's tools make repositories.
//!
//! A [`DumpStream`] is a list of revisions with their records in order. It is not checked: the tool that loads it
//! does that. Dates, authors and the UUID are fixed, so that the same calls make the same repository.

use base::hashdump::{self, Terminator};

/// A property list in a test.
pub type PropEntries<'a> = &'a [(&'a str, &'a [u8])];

/// A dump stream under construction.
#[derive(Clone, Debug, Hash)]
pub struct DumpStream {
    uuid: String,
    revisions: Vec<Vec<u8>>,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A file.
    File,
    /// A directory.
    Dir,
}

/// The content of a node's record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Content<'a> {
    /// The new property list; `None` for no change.
    pub props: Option<PropEntries<'a>>,
    /// The new text; `None` for no change.
    pub text: Option<&'a [u8]>,
}

impl<'a> Content<'a> {
    /// Neither properties nor text.
    pub const NOTHING: Content<'static> = Content {
        props: None,
        text: None,
    };

    /// A text.
    pub fn text(text: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Content {
            props: None,
            text: Some(text.as_ref()),
        }
    }

    /// A property list.
    pub fn props(props: PropEntries<'a>) -> Self {
        Content {
            props: Some(props),
            text: None,
        }
    }

    /// Both.
    pub fn both(props: PropEntries<'a>, text: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Content {
            props: Some(props),
            text: Some(text.as_ref()),
        }
    }
}

impl DumpStream {
    /// Returns a stream with revision 0 only.
    pub fn new(uuid: &str) -> Self {
        let mut stream = DumpStream {
            uuid: uuid.to_owned(),
            revisions: Vec::new(),
        };
        let date = date(0);
        stream.rev_with(&[("svn:date", date.as_bytes())]);
        stream
    }

    /// Starts a revision with an author, a date one hour after the previous one's, and a log message.
    pub fn rev(&mut self, log: &str) -> &mut Self {
        const AUTHORS: [&str; 3] = ["alice", "bob", "cécile"];
        let number = self.revisions.len();
        let date = date(number);
        self.rev_with(&[
            ("svn:author", AUTHORS[number % AUTHORS.len()].as_bytes()),
            ("svn:date", date.as_bytes()),
            ("svn:log", log.as_bytes()),
        ])
    }

    /// Starts a revision with exactly these properties.
    pub fn rev_with(&mut self, props: PropEntries<'_>) -> &mut Self {
        let props = prop_section(props);
        let record = format!(
            "Revision-number: {}\nProp-content-length: {len}\nContent-length: {len}\n\n",
            self.revisions.len(),
            len = props.len()
        );
        let mut record = record.into_bytes();
        record.extend(props);
        record.push(b'\n');
        self.revisions.push(record);
        self
    }

    /// Adds directories, without properties.
    pub fn mkdirs<'a>(&mut self, paths: impl IntoIterator<Item = &'a str>) -> &mut Self {
        for path in paths {
            self.add(RecordKind::Dir, path, Content::props(&[]));
        }
        self
    }

    /// Adds a file with a text and no properties.
    pub fn file(&mut self, path: &str, text: impl AsRef<[u8]>) -> &mut Self {
        self.add(RecordKind::File, path, Content::both(&[], text.as_ref()))
    }

    /// Adds a node.
    pub fn add(&mut self, kind: RecordKind, path: &str, content: Content<'_>) -> &mut Self {
        self.node(path, Some(kind), "add", None, content)
    }

    /// Changes a file's text.
    pub fn edit(&mut self, path: &str, text: impl AsRef<[u8]>) -> &mut Self {
        self.change(RecordKind::File, path, Content::text(text.as_ref()))
    }

    /// Changes a node.
    pub fn change(&mut self, kind: RecordKind, path: &str, content: Content<'_>) -> &mut Self {
        self.node(path, Some(kind), "change", None, content)
    }

    /// Deletes a node.
    pub fn delete(&mut self, path: &str) -> &mut Self {
        self.node(path, None, "delete", None, Content::NOTHING)
    }

    /// Copies `from@rev` to `to`.
    pub fn copy(&mut self, kind: RecordKind, to: &str, rev: u64, from: &str) -> &mut Self {
        self.copy_with(kind, to, rev, from, Content::NOTHING)
    }

    /// Copies and changes in the same record.
    pub fn copy_with(
        &mut self,
        kind: RecordKind,
        to: &str,
        rev: u64,
        from: &str,
        content: Content<'_>,
    ) -> &mut Self {
        self.node(to, Some(kind), "add", Some((rev, from)), content)
    }

    /// Replaces a node by a new one without history.
    pub fn replace(&mut self, kind: RecordKind, path: &str, content: Content<'_>) -> &mut Self {
        self.node(path, Some(kind), "replace", None, content)
    }

    /// Replaces a node by a copy, with the records that `svnadmin dump` writes.
    pub fn replace_by_copy(&mut self, kind: RecordKind, to: &str, rev: u64, from: &str) -> &mut Self {
        self.delete(to).copy(kind, to, rev, from)
    }

    /// Returns the youngest revision.
    pub fn youngest(&self) -> u64 {
        (self.revisions.len() - 1) as u64
    }

    /// Returns the whole stream.
    pub fn bytes(&self) -> Vec<u8> {
        self.part(0, self.youngest())
    }

    /// Returns the stream of the revisions `first` to `last`, with the UUID if `first` is 0.
    pub fn part(&self, first: u64, last: u64) -> Vec<u8> {
        let mut out = b"SVN-fs-dump-format-version: 2\n\n".to_vec();
        if first == 0 {
            out.extend(format!("UUID: {}\n\n", self.uuid).into_bytes());
        }
        let all = self.revisions.iter().enumerate();
        for (_, revision) in all.filter(|(n, _)| (first..=last).contains(&(*n as u64))) {
            out.extend(revision);
        }
        out
    }

    /// Adds a record with these headers, for records that the other methods do not write.
    pub fn node(
        &mut self,
        path: &str,
        kind: Option<RecordKind>,
        action: &str,
        copyfrom: Option<(u64, &str)>,
        content: Content<'_>,
    ) -> &mut Self {
        let mut head = format!("Node-path: {path}\n");
        match kind {
            Some(RecordKind::File) => head.push_str("Node-kind: file\n"),
            Some(RecordKind::Dir) => head.push_str("Node-kind: dir\n"),
            None => {}
        }
        head.push_str(&format!("Node-action: {action}\n"));
        if let Some((rev, from)) = copyfrom {
            head.push_str(&format!("Node-copyfrom-rev: {rev}\nNode-copyfrom-path: {from}\n"));
        }
        let mut body = Vec::new();
        if let Some(props) = content.props {
            body = prop_section(props);
            head.push_str(&format!("Prop-content-length: {}\n", body.len()));
        }
        if let Some(text) = content.text {
            body.extend(text);
            head.push_str(&format!("Text-content-length: {}\n", text.len()));
        }
        if content.props.is_some() || content.text.is_some() {
            head.push_str(&format!("Content-length: {}\n", body.len()));
        }
        let revision = self
            .revisions
            .last_mut()
            .expect("because revision 0 is always there");
        revision.extend(head.into_bytes());
        revision.push(b'\n');
        revision.extend(body);
        revision.extend(b"\n\n");
        self
    }
}

/// Returns the date that [`DumpStream::rev`] gives a revision: one hour each from 2020-02-28 23:30 on, over a leap
/// day.
pub fn date(revision: usize) -> String {
    let start: i64 = 1_582_932_600_000_000;
    base::Date(start + revision as i64 * 3_600_000_000 + 123_456).to_string()
}

fn prop_section(props: PropEntries<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let entries = props.iter().map(|(name, value)| (name.as_bytes(), *value));
    hashdump::write(&mut out, entries, Terminator::PropsEnd);
    out
}
