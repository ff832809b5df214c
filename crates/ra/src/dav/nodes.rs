//! Requests about nodes: files, directories, listings, inherited properties, mergeinfo.

use base::checksum::{Md5, Md5Stream};
use base::{
    Code, Date, Error, FsPath, Mergeinfo, NodeKind, Props, RelPath, Result, Revnum, is_component, props,
};
use wire::dav::client::{PropResponse, ReportBody, property_name, propfind, value};
use wire::dav::names::{DAV, SVN, SVN_DAV};
use wire::dav::uri;
use wire::dav::xml::Element;

use super::DavSession;
use super::fault::malformed;
use super::request::Request;
use super::resources::{check_success, rev_attribute};
use crate::answers::{Directory, Dirent, FileInfo};
use crate::requests::{
    DirectoryRequest, DirentFields, FileRequest, ListRequest, MergeinfoOf, MergeinfoRequest,
};

/// The property that says whether a node is a directory.
const KIND: (&str, &str) = (DAV, "resourcetype");

impl DavSession {
    pub(super) fn read_kind(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<NodeKind> {
        let target = self.node_or_public(path, rev)?;
        match self.propfind(&target, None, &[KIND]) {
            Ok(found) => Ok(kind(&found)),
            Err(error) if error.code() == Code::FS_NOT_FOUND => Ok(NodeKind::None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn read_stat(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<Option<Dirent>> {
        let target = self.node_or_public(path, rev)?;
        match self.propfind(&target, None, &wanted(DirentFields::ALL)) {
            Ok(found) => dirent(&found).map(Some),
            Err(error) if error.code() == Code::FS_NOT_FOUND => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn given_or_latest(&mut self, rev: Option<Revnum>) -> Result<Revnum> {
        match rev {
            Some(rev) => Ok(rev),
            None => self.read_latest(),
        }
    }

    pub(super) fn read_file(
        &mut self,
        request: &FileRequest<'_>,
        text: &mut dyn FnMut(&FileInfo, &[u8]) -> Result<()>,
    ) -> Result<FileInfo> {
        let rev = self.given_or_latest(request.rev)?;
        let target = self.node(request.path, rev)?;
        let wanted = [KIND, (SVN_DAV, "md5-checksum")];
        // Without a list, all properties are returned.
        let wanted = if request.props { &[][..] } else { &wanted[..] };
        let found = self.propfind(&target, None, wanted)?;
        if kind(&found) == NodeKind::Dir {
            let message = "Can't get text contents of a directory";
            return Err(Error::new(Code::FS_NOT_FILE, message));
        }
        let md5 = found
            .text(SVN_DAV, "md5-checksum")
            .map(str::trim)
            .filter(|hex| !hex.is_empty());
        let info = FileInfo {
            rev,
            md5: match md5 {
                Some(hex) => {
                    Some(Md5::parse_hex(hex.as_bytes()).ok_or_else(|| malformed("Invalid checksum"))?)
                }
                None => None,
            },
            props: match request.props {
                true => node_props(&found)?,
                false => Props::new(),
            },
        };
        if request.text {
            self.read_text(request.path, &target, &info, text)?;
        }
        Ok(info)
    }

    fn read_text(
        &self,
        path: &RelPath,
        target: &str,
        info: &FileInfo,
        text: &mut dyn FnMut(&FileInfo, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut response = check_success(self.client.call(Request::new("GET", target))?, target)?;
        let mut digest = Md5Stream::new();
        loop {
            let piece = response.body.next_piece()?;
            if piece.is_empty() {
                break;
            }
            digest.update(&piece);
            text(info, &piece)?;
        }
        check_md5(path.as_str(), info.md5.as_ref(), &digest.finish())
    }

    pub(super) fn read_directory(&mut self, request: &DirectoryRequest<'_>) -> Result<Directory> {
        let rev = self.given_or_latest(request.rev)?;
        let target = self.node(request.path, rev)?;
        let mut directory = Directory {
            rev,
            props: Props::new(),
            entries: Vec::new(),
        };
        // The response with the entries describes the directory too.
        let found = match request.entries {
            Some(_) if !request.props => None,
            _ if request.props => Some(self.propfind(&target, None, &[])?),
            _ => Some(self.propfind(&target, None, &[KIND])?),
        };
        if let Some(found) = &found {
            check_directory(kind(found), request.props)?;
            if request.props {
                directory.props = node_props(found)?;
            }
        }
        if let Some(fields) = request.entries {
            directory.entries = self.read_entries(&target, fields)?;
        }
        Ok(directory)
    }

    fn read_entries(&self, target: &str, fields: DirentFields) -> Result<Vec<(String, Dirent)>> {
        let own = decoded_href(target)?;
        let mut entries = Vec::new();
        let body = propfind(&wanted(DirentFields { kind: true, ..fields }));
        self.propfind_each(target, None, "1", body, &mut |found| {
            let href = decoded_href(&found.href)?;
            if href == own {
                return check_directory(kind(&found), false);
            }
            let name = href
                .strip_prefix(own.as_str())
                .and_then(|rest| rest.strip_prefix('/'));
            match name.filter(|name| is_component(name)) {
                Some(name) => {
                    entries.push((name.to_owned(), dirent(&found)?));
                    Ok(())
                }
                None => Err(malformed(format!("'{href}' is not an entry of '{own}'"))),
            }
        })?;
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|a, b| a.0 == b.0);
        Ok(entries)
    }

    pub(super) fn read_list(
        &mut self,
        request: &ListRequest<'_>,
        entry: &mut dyn FnMut(&RelPath, &Dirent) -> Result<()>,
    ) -> Result<()> {
        crate::check_depth(request.depth)?;
        if !self.features.names("list") {
            let message = "The server doesn't support the 'list' command";
            return Err(Error::new(Code::RA_NOT_IMPLEMENTED, message));
        }
        let rev = self.given_or_latest(request.rev)?;
        let target = self.node_at(&self.session_path(), rev)?;
        let mut body = ReportBody::new("list-report", "")
            .value("path", request.path)
            .value("revision", rev)
            .value("depth", request.depth.word());
        match request.patterns {
            None => {}
            Some([]) => body = body.flag("no-patterns", true),
            Some(patterns) => {
                for pattern in patterns {
                    body = body.value("pattern", crate::local::fold(pattern));
                }
            }
        }
        for (space, name) in wanted(DirentFields {
            kind: true,
            ..request.fields
        }) {
            body = body.value("prop", format!("{space}{name}"));
        }
        let top = self.fs_path(request.path);
        self.report_each(&target, body, &mut |child| {
            if !child.name.is(SVN, "item") {
                return Ok(());
            }
            let below = FsPath::parse(&child.text)
                .ok()
                .and_then(|path| path.relative_to(&top))
                .ok_or_else(|| malformed(format!("'{}' is not below '{top}'", child.text)))?;
            entry(&below, &listed(&child)?)
        })
    }

    pub(super) fn read_inherited(&mut self, path: &RelPath, rev: Revnum) -> Result<Vec<(RelPath, Props)>> {
        if !self.features.names("inherited-props") {
            let message = "Server doesn't support inherited properties";
            return Err(Error::new(Code::RA_NOT_IMPLEMENTED, message));
        }
        let target = self.node_at(&self.session_path(), rev)?;
        let body = ReportBody::new("inherited-props-report", "")
            .value("revision", rev)
            .value("path", path);
        let mut all = Vec::new();
        self.report_each(&target, body, &mut |child| {
            if !child.name.is(SVN, "iprop-item") {
                return Ok(());
            }
            let (mut path, mut props, mut name) = (RelPath::empty(), Props::new(), None);
            for part in &child.children {
                match part.name.local.as_str() {
                    "iprop-path" => path = RelPath::canonicalize(&part.text)?,
                    "iprop-propname" => name = Some(part.text.clone()),
                    "iprop-propval" => {
                        let name = name
                            .take()
                            .ok_or_else(|| malformed("A property without a name"))?;
                        props.insert(name, prop_value(part)?);
                    }
                    _ => {}
                }
            }
            all.push((path, props));
            Ok(())
        })?;
        Ok(all)
    }

    pub(super) fn read_mergeinfo(
        &mut self,
        request: &MergeinfoRequest<'_>,
    ) -> Result<Vec<(RelPath, Mergeinfo)>> {
        let rev = self.given_or_latest(request.rev)?;
        let target = self.node_at(&self.session_path(), rev)?;
        let inherit = match request.of {
            MergeinfoOf::Explicit => "explicit",
            MergeinfoOf::Inherited => "inherited",
            MergeinfoOf::NearestAncestor => "nearest-ancestor",
        };
        let mut body = ReportBody::new("mergeinfo-report", "")
            .value("revision", rev)
            .value("inherit", inherit);
        if request.descendants {
            body = body.value("include-descendants", "yes");
        }
        for path in request.paths {
            body = body.value("path", path);
        }
        let mut all = Vec::new();
        self.report_each(&target, body, &mut |child| {
            let (Some(path), Some(info)) = (
                child.child(SVN, "mergeinfo-path"),
                child.child(SVN, "mergeinfo-info"),
            ) else {
                return Ok(());
            };
            let path = RelPath::canonicalize(path.text.trim_start_matches('/'))?;
            all.push((path, Mergeinfo::parse(info.text.as_bytes())?));
            Ok(())
        })?;
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }
}

/// # Errors
/// `FS_NOT_DIRECTORY` for a file; its text depends on whether properties were asked for.
fn check_directory(kind: NodeKind, props: bool) -> Result<()> {
    let message = match (kind, props) {
        (NodeKind::Dir, _) => return Ok(()),
        (_, true) => "Can't get properties of non-directory",
        (_, false) => "Can't get entries of non-directory",
    };
    Err(Error::new(Code::FS_NOT_DIRECTORY, message))
}

/// # Errors
/// `CHECKSUM_MISMATCH`.
pub(super) fn check_md5(path: &str, expected: Option<&Md5>, actual: &Md5) -> Result<()> {
    match expected {
        Some(expected) if !expected.matches(actual) => Err(Error::new(
            Code::CHECKSUM_MISMATCH,
            format!("Checksum mismatch for '{path}':\n   expected:  {expected}\n     actual:  {actual}\n"),
        )),
        _ => Ok(()),
    }
}

/// Returns the value of a property.
pub(super) fn prop_value(element: &Element) -> Result<Vec<u8>> {
    value(element).ok_or_else(|| Error::bare(Code::XML_UNKNOWN_ENCODING))
}

/// Returns the properties of a node, and those of its entry.
pub(super) fn node_props(found: &PropResponse) -> Result<Props> {
    let mut out = Props::new();
    let entry = [
        (DAV, "version-name", props::ENTRY_COMMITTED_REV),
        (DAV, "creationdate", props::ENTRY_COMMITTED_DATE),
        (DAV, "creator-displayname", props::ENTRY_LAST_AUTHOR),
        (SVN_DAV, "repository-uuid", props::ENTRY_UUID),
    ];
    for prop in &found.found {
        let known = entry.iter().find(|(space, name, _)| prop.name.is(space, name));
        let name = match known {
            Some((_, _, name)) => Some((*name).to_owned()),
            None => property_name(&prop.name),
        };
        if let Some(name) = name {
            out.insert(name, prop_value(prop)?);
        }
    }
    Ok(out)
}

fn kind(found: &PropResponse) -> NodeKind {
    let is_collection = found
        .get(DAV, "resourcetype")
        .is_some_and(|kind| kind.child(DAV, "collection").is_some());
    match is_collection {
        true => NodeKind::Dir,
        false => NodeKind::File,
    }
}

/// The properties that have the fields of a description.
fn wanted(fields: DirentFields) -> Vec<(&'static str, &'static str)> {
    let all = [
        (fields.kind, KIND),
        (fields.size, (DAV, "getcontentlength")),
        (fields.has_props, (SVN_DAV, "deadprop-count")),
        (fields.created_rev, (DAV, "version-name")),
        (fields.date, (DAV, "creationdate")),
        (fields.author, (DAV, "creator-displayname")),
    ];
    let wanted = all.into_iter().filter(|(is_wanted, _)| *is_wanted);
    wanted.map(|(_, name)| name).collect()
}

fn dirent(found: &PropResponse) -> Result<Dirent> {
    let kind = kind(found);
    let number = |space, name| {
        found
            .text(space, name)
            .and_then(|text| text.trim().parse::<u64>().ok())
    };
    let author = found
        .get(DAV, "creator-displayname")
        .map(prop_value)
        .transpose()?;
    Ok(Dirent {
        kind,
        size: number(DAV, "getcontentlength").filter(|_| kind == NodeKind::File),
        has_props: number(SVN_DAV, "deadprop-count").is_some_and(|count| count > 0),
        created_rev: Revnum(number(DAV, "version-name").unwrap_or(0)),
        date: found
            .text(DAV, "creationdate")
            .and_then(|text| date(text.as_bytes())),
        author: author.map(|author| String::from_utf8_lossy(&author).into_owned()),
    })
}

/// Reads an item of a list.
fn listed(item: &Element) -> Result<Dirent> {
    let kind = item.attribute("node-kind").unwrap_or_default();
    let kind = NodeKind::from_word(kind.as_bytes()).ok_or_else(|| malformed("Unknown kind of a node"))?;
    let author = item
        .child(DAV, "creator-displayname")
        .map(prop_value)
        .transpose()?;
    let size = item.attribute("size").and_then(|size| size.parse().ok());
    Ok(Dirent {
        kind,
        size: size.filter(|_| kind != NodeKind::Dir),
        has_props: item.attribute("has-props") == Some("true"),
        created_rev: rev_attribute(item, "created-rev").unwrap_or(Revnum(0)),
        date: item.attribute("date").and_then(|text| date(text.as_bytes())),
        author: author.map(|author| String::from_utf8_lossy(&author).into_owned()),
    })
}

/// Reads a date; `None` for one that is not set.
fn date(text: &[u8]) -> Option<Date> {
    Date::parse(text).ok().filter(|date| *date != Date(0))
}

/// Decodes a path in a response, without a slash at the end.
fn decoded_href(href: &str) -> Result<String> {
    let path = uri::path_of(href.trim()).and_then(uri::decode);
    let path = path.ok_or_else(|| malformed(format!("Invalid URL '{href}' in the response")))?;
    Ok(path.trim_end_matches('/').to_owned())
}
