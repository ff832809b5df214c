//! Commits an edit: over raw svn://, or with `svnmucc`.

use std::sync::Arc;

use base::checksum::Md5;
use testkit::probe::{Probe, ProbeItem, list, optional, text, word};
use testkit::server::TestServer;
use testkit::{Tool, scratch};

use super::edit::{ModelEdit, MuccStep, PathChange, join};

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It became this revision.
    Committed(u64),
    /// It failed with these errors.
    Refused(Vec<(u64, String)>),
    /// The server closed the connection.
    Gone,
}

/// Options of a client that do not change the resulting revision.
#[derive(Clone, Copy)]
pub struct CommitStyle {
    /// True if all texts are sent after the tree, as by `svn commit`.
    pub texts_late: bool,
    /// True if deletions have the base revision.
    pub named_revisions: bool,
}

/// A running commit.
pub struct RunningCommit {
    probe: Probe,
    refused: Option<CommitOutcome>,
}

impl RunningCommit {
    /// Sends everything except the end.
    pub fn begin(
        server: &Arc<TestServer>,
        name: &str,
        edit: &ModelEdit,
        manner: CommitStyle,
    ) -> RunningCommit {
        let url = server.url(name);
        let mut probe = Probe::connect_as(Arc::clone(server), url.clone(), None);
        let log = || text(&edit.log);
        let props = list([list([text("svn:log"), log()])]);
        let response = probe.request("commit", vec![log(), list([]), word("false"), props]);
        if !is(&response, "success") {
            let refused = Some(refusal(&response));
            return RunningCommit { probe, refused };
        }
        let mut drive = Drive {
            out: Vec::new(),
            late: Vec::new(),
            url,
            base: edit.base,
            manner,
            tokens: 0,
        };
        drive.edit(&edit.root);
        probe.send(&drive.out);
        RunningCommit { probe, refused: None }
    }

    /// Sends the end and reads the result.
    pub fn finish(mut self) -> CommitOutcome {
        if let Some(refused) = self.refused {
            return refused;
        }
        self.probe.send(b"( close-edit ( ) ) ");
        let response = self.probe.read();
        if !is(&response, "success") {
            return refusal(&response);
        }
        // An empty authentication request, then the result of the commit.
        self.probe.read();
        match self.probe.read().items().first() {
            Some(ProbeItem::Number(rev)) => CommitOutcome::Committed(*rev),
            _ => CommitOutcome::Gone,
        }
    }
}

/// Commits over raw svn://.
pub fn commit(server: &Arc<TestServer>, name: &str, edit: &ModelEdit, manner: CommitStyle) -> CommitOutcome {
    RunningCommit::begin(server, name, edit, manner).finish()
}

/// Commits with `svnmucc`.
pub fn svnmucc(url: &str, edit: &ModelEdit) -> CommitOutcome {
    let dir = scratch();
    let mut tool =
        Tool::new("svnmucc").args(["--non-interactive", "--no-auth-cache", "-U", url, "-m", &edit.log]);
    let file = |number: usize, bytes: &[u8]| {
        let path = dir.path().join(number.to_string());
        std::fs::write(&path, bytes).expect("because the folder is ours");
        path
    };
    for (number, step) in edit.steps().iter().enumerate() {
        tool = match step {
            MuccStep::Mkdir(path) => tool.arg("mkdir").arg(escape(path)),
            MuccStep::Put(path, text) => tool.arg("put").arg(file(number, text)).arg(escape(path)),
            MuccStep::Copy(rev, from, to) => tool
                .arg("cp")
                .arg(rev.to_string())
                .args([escape(from), escape(to)]),
            MuccStep::Remove(path) => tool.arg("rm").arg(escape(path)),
            MuccStep::Prop(path, (name, Some(value))) => tool
                .args(["propsetf", name])
                .arg(file(number, value))
                .arg(escape(path)),
            MuccStep::Prop(path, (name, None)) => tool.args(["propdel", name]).arg(escape(path)),
        };
    }
    let output = tool.run();
    if output.code == 0 {
        let out = output.out();
        let rev = out.strip_prefix('r').and_then(|rest| rest.split(' ').next());
        return match rev.and_then(|rev| rev.parse().ok()) {
            Some(rev) => CommitOutcome::Committed(rev),
            None => panic!("no revision: {output:?}"),
        };
    }
    let codes = output.error_codes();
    CommitOutcome::Refused(codes.into_iter().map(|c| (c as u64, String::new())).collect())
}

/// Returns a path as an argument of `svnmucc`; the root is `.`.
fn escape(path: &str) -> String {
    // There are no peg revisions here: an @ is a part of the name.
    match path {
        "" => ".".to_owned(),
        path => encoded(path),
    }
}

fn encoded(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/.-_@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn is(item: &ProbeItem, name: &str) -> bool {
    item.items().first() == Some(&word(name))
}

/// Returns numbers and texts of a failure, without source file and line.
fn refusal(item: &ProbeItem) -> CommitOutcome {
    if !is(item, "failure") {
        return CommitOutcome::Gone;
    }
    let errors = item.items().get(1).map(ProbeItem::items).unwrap_or_default();
    let error = |error: &ProbeItem| match error.items() {
        [ProbeItem::Number(code), ProbeItem::Text(text), ..] => {
            (*code, String::from_utf8_lossy(text).into_owned())
        }
        other => panic!("no error: {other:?}"),
    };
    CommitOutcome::Refused(errors.iter().map(error).collect())
}

/// The writer of the commands of an edit.
struct Drive {
    out: Vec<u8>,
    late: Vec<u8>,
    url: String,
    base: u64,
    manner: CommitStyle,
    tokens: u32,
}

impl Drive {
    fn edit(&mut self, root: &PathChange) {
        let token = self.token("d");
        let base = ProbeItem::Number(self.base);
        self.send("open-root", [optional(Some(base)), text(&token)]);
        self.inside(root, "", &token);
        let late = std::mem::take(&mut self.late);
        self.out.extend(late);
    }

    fn send(&mut self, command: &str, params: impl IntoIterator<Item = ProbeItem>) {
        list([word(command), list(params)]).write(&mut self.out);
    }

    fn token(&mut self, kind: &str) -> String {
        self.tokens += 1;
        format!("{kind}{}", self.tokens)
    }

    fn inside(&mut self, change: &PathChange, path: &str, token: &str) {
        for (name, value) in &change.props {
            let value = optional(value.as_ref().map(text));
            self.send("change-dir-prop", [text(token), text(name), value]);
        }
        for (name, child) in &change.children {
            self.child(child, &join(path, name), token);
        }
        self.send("close-dir", [text(token)]);
    }

    fn child(&mut self, change: &PathChange, path: &str, parent: &str) {
        if change.delete {
            let seen = self
                .manner
                .named_revisions
                .then_some(ProbeItem::Number(self.base));
            self.send("delete-entry", [text(path), optional(seen), text(parent)]);
            if change.add.is_none() {
                return;
            }
        }
        let token = self.token(if change.is_dir { "d" } else { "f" });
        let (command, more) = match &change.add {
            None => ("open", list([ProbeItem::Number(self.base)])),
            Some(None) => ("add", list([])),
            Some(Some((from, rev))) => {
                let source = format!("{}/{}", self.url, encoded(from));
                let source = source.trim_end_matches('/');
                ("add", list([text(source), ProbeItem::Number(*rev)]))
            }
        };
        let kind = if change.is_dir { "dir" } else { "file" };
        self.send(
            &format!("{command}-{kind}"),
            [text(path), text(parent), text(&token), more],
        );
        if change.is_dir {
            self.inside(change, path, &token);
            return;
        }
        let before = self.out.len();
        for (name, value) in &change.props {
            let value = optional(value.as_ref().map(text));
            self.send("change-file-prop", [text(&token), text(name), value]);
        }
        let mut sum = None;
        if let Some((old, new)) = &change.text {
            let base =
                (change.add.as_ref().is_none_or(Option::is_some)).then(|| text(Md5::of(old).to_string()));
            self.send("apply-textdelta", [text(&token), optional(base)]);
            for chunk in svndiff(old, new) {
                self.send("textdelta-chunk", [text(&token), text(chunk)]);
            }
            self.send("textdelta-end", [text(&token)]);
            sum = Some(text(Md5::of(new).to_string()));
        }
        self.send("close-file", [text(&token), optional(sum)]);
        if self.manner.texts_late {
            let late = self.out.split_off(before);
            self.late.extend(late);
        }
    }
}

/// Returns a svndiff of version 0, without the encoder of `delta`: a common beginning and end of the texts are
/// copied.
fn svndiff(old: &[u8], new: &[u8]) -> Vec<Vec<u8>> {
    const WINDOW: usize = 100 * 1024;
    let mut chunks = vec![b"SVN\0".to_vec()];
    for (nth, target) in new.chunks(WINDOW).enumerate() {
        let from = (nth * WINDOW).min(old.len());
        let source = &old[from..old.len().min(from + WINDOW)];
        let head = source.iter().zip(target).take_while(|(a, b)| a == b).count();
        let rest = (&source[head..], &target[head..]);
        let tail = (rest.0.iter().rev().zip(rest.1.iter().rev()))
            .take_while(|(a, b)| a == b)
            .count();
        let middle = &rest.1[..rest.1.len() - tail];
        let mut steps = Vec::new();
        let mut step = |kind: u8, length: usize, offset: Option<usize>| {
            if length > 0 {
                steps.push(kind << 6);
                number(&mut steps, length);
                offset.inspect(|offset| number(&mut steps, *offset));
            }
        };
        step(0, head, Some(0));
        step(2, middle.len(), None);
        step(0, tail, Some(source.len() - tail));
        let mut chunk = Vec::new();
        for value in [from, source.len(), target.len(), steps.len(), middle.len()] {
            number(&mut chunk, value);
        }
        chunk.extend(steps);
        chunk.extend(middle);
        chunks.push(chunk);
    }
    chunks
}

fn number(out: &mut Vec<u8>, value: usize) {
    let mut shift = (usize::BITS - value.leading_zeros()).saturating_sub(1) / 7 * 7;
    while shift > 0 {
        out.push(0x80 | (value >> shift) as u8);
        shift -= 7;
    }
    out.push(value as u8 & 0x7f);
}
