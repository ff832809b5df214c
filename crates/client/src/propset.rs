//! Changes properties of nodes and of revisions in a repository.

use base::{Code, Error, NodeKind, Props, RelPath, Result, Revnum, Url, props};
use ra::{Capability, CommitInfo, CommitRequest, DirectoryRequest, FileRequest, RevpropChange, Session};

use crate::commit_item::{CommitItem, DescribeCommit, ItemChange};
use crate::externals::ParseDate;
use crate::prop_rules;

/// A node of the youngest revision, whose property is going to change.
pub struct PropTarget {
    session: Box<dyn Session>,
    url: Url,
    kind: NodeKind,
    rev: Revnum,
    props: Props,
}

/// A change of a property.
#[derive(Clone, Copy)]
pub struct PropChange<'a> {
    /// The property.
    pub name: &'a str,
    /// The new value.
    pub value: &'a [u8],
    /// Whether the values of line ends and media types are not checked.
    pub skip_checks: bool,
    /// Parses dates in externals.
    pub parse_date: ParseDate<'a>,
}

impl PropTarget {
    /// Reads the properties of the node that the session is at.
    ///
    /// # Errors
    /// `ENTRY_NOT_FOUND` if there is none; `CLIENT_PROPERTY_NAME` for a property that clients do not see.
    pub fn open(mut session: Box<dyn Session>, name: &str) -> Result<PropTarget> {
        if name.starts_with("svn:wc:") {
            let message = format!("'{name}' is a wcprop, thus not accessible to clients");
            return Err(Error::new(Code::CLIENT_PROPERTY_NAME, message));
        }
        let url = session.url().clone();
        let rev = session.latest_revision()?;
        let path = &RelPath::empty();
        let kind = session.check_path(path, Some(rev))?;
        let props = match kind {
            NodeKind::File => {
                let request = FileRequest {
                    path,
                    rev: Some(rev),
                    props: true,
                    text: false,
                };
                session.file(&request, &mut |_, _| Ok(()))?.props
            }
            NodeKind::Dir => {
                let request = DirectoryRequest {
                    path,
                    rev: Some(rev),
                    props: true,
                    entries: None,
                };
                session.directory(&request)?.props
            }
            _ => {
                let message = format!("'{url}' does not exist in revision {rev}");
                return Err(Error::new(Code::ENTRY_NOT_FOUND, message));
            }
        };
        Ok(PropTarget {
            session,
            url,
            kind,
            rev,
            props,
        })
    }

    /// The value of a property.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.props.get(name).map(Vec::as_slice)
    }

    /// Commits a change of a property. `None` if the caller gives up.
    ///
    /// # Errors
    /// `CLIENT_PROPERTY_NAME` for a property of revisions; those of [`prop_rules::canonical_value`]; `UNSUPPORTED_FEATURE` for a property
    /// on which the text of a file depends; those of the commit.
    pub fn set(
        mut self,
        change: PropChange<'_>,
        describe: &mut DescribeCommit<'_>,
    ) -> Result<Option<CommitInfo>> {
        let name = change.name;
        if prop_rules::is_revision_prop(name) {
            let message = format!("Revision property '{name}' not allowed in this context");
            return Err(Error::new(Code::CLIENT_PROPERTY_NAME, message));
        }
        if !props::is_regular(name) {
            let message = format!("Property '{name}' is not a regular property");
            return Err(Error::new(Code::BAD_PROP_KIND, message));
        }
        if matches!(name, "svn:eol-style" | "svn:keywords") {
            let message = format!("Setting property '{name}' on non-local targets is not supported");
            return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
        }
        let value = prop_rules::canonical_value(
            name,
            change.value,
            self.url.as_str(),
            self.kind,
            change.skip_checks,
            change.parse_date,
        )?;
        let mut item = CommitItem::new(self.url.as_str(), ItemChange::None);
        item.has_prop_changes = true;
        let Some(revprops) = describe(&[item])? else {
            return Ok(None);
        };
        let request = CommitRequest {
            revprops,
            ..CommitRequest::default()
        };
        let rev = Some(self.rev);
        if self.kind == NodeKind::Dir {
            return self
                .session
                .commit(&request, &mut |editor| {
                    let root = editor.open_root(rev)?;
                    editor.change_dir_prop(root, name, Some(&value))?;
                    editor.close_directory(root)
                })
                .map(Some);
        }
        let above = self.url.parent().unwrap_or_else(|| self.url.clone());
        self.session.reparent(&above)?;
        let path = RelPath::empty().join_str(&self.url.basename());
        self.session
            .commit(&request, &mut |editor| {
                let root = editor.open_root(rev)?;
                let file = editor.open_file(&path, root, rev)?;
                editor.change_file_prop(file, name, Some(&value))?;
                editor.close_file(file, None)?;
                editor.close_directory(root)
            })
            .map(Some)
    }
}

/// A change of a property of a revision.
#[derive(Clone, Copy, Debug)]
pub struct RevpropEdit<'a> {
    /// The property.
    pub name: &'a str,
    /// The new value; `None` deletes.
    pub value: Option<&'a [u8]>,
    /// The value that the property must have now; `None` accepts any.
    pub expected: Option<Option<&'a [u8]>>,
    /// Whether author names may have line feeds.
    pub force: bool,
}

/// Changes a property of a revision.
///
/// # Errors
/// `CLIENT_REVISION_AUTHOR_CONTAINS_NEWLINE`; `CLIENT_PROPERTY_NAME`; `RA_OUT_OF_DATE` if the value is not the expected one; those of
/// [`Session::change_revprop`].
pub fn set_revprop(session: &mut dyn Session, rev: Revnum, edit: &RevpropEdit<'_>) -> Result<()> {
    let name = edit.name;
    let has_line_feed = |value: &[u8]| value.contains(&b'\n');
    if name == props::AUTHOR && edit.value.is_some_and(has_line_feed) && !edit.force {
        let message = "Author name should not contain a newline; value will not be set unless forced";
        return Err(Error::new(Code::CLIENT_REVISION_AUTHOR_CONTAINS_NEWLINE, message));
    }
    if edit.value.is_some() && !prop_rules::is_name(name) {
        let message = format!("Bad property name: '{name}'");
        return Err(Error::new(Code::CLIENT_PROPERTY_NAME, message));
    }
    let mut change = RevpropChange {
        rev,
        name,
        value: edit.value,
        expected: edit.expected,
    };
    if let Some(expected) = edit.expected
        && !session.has(Capability::AtomicRevprops)?
    {
        if session.revprop(rev, name)?.as_deref() != expected {
            let message = format!("revprop '{name}' in r{rev} is unexpectedly changed in the repository");
            return Err(Error::new(Code::RA_OUT_OF_DATE, message));
        }
        change.expected = None;
    }
    session.change_revprop(&change)
}
