//! The second half of a switch for very old clients: the URL of everything in the tree that they get.
//!
//! They do not process URLs while they update, so they request a walk over the whole target. It is driven like a
//! checkout whose consumer uses only the location of each node.

use base::checksum::Md5;
use base::{RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken, NodeFacts};

use super::ResponseSink;
use super::update_edit::Hrefs;
use super::xml_writer::XmlWriter;

/// An Editor that writes the walk.
pub struct ResourceWalk<'a, O> {
    outlet: &'a mut O,
    hrefs: Hrefs,
    /// The entry that the report is about; paths begin with it.
    target: String,
    location: Option<Vec<u8>>,
}

impl<'a, O: ResponseSink> ResourceWalk<'a, O> {
    /// Writes to `outlet` a walk over the `target` of a report.
    pub fn new(outlet: &'a mut O, hrefs: Hrefs, target: String) -> Self {
        ResourceWalk {
            outlet,
            hrefs,
            target,
            location: None,
        }
    }

    fn resource(&mut self, path: &RelPath) -> Result<()> {
        let path = match (self.target.as_str(), path.as_str()) {
            (target, "") => target.to_owned(),
            ("", path) => path.to_owned(),
            (target, path) => format!("{target}/{path}"),
        };
        let location = self.location.take();
        self.write(&path, location.as_deref())
    }

    fn write(&mut self, path: &str, location: Option<&[u8]>) -> Result<()> {
        let out = self.outlet.buffer();
        XmlWriter(out)
            .raw("<S:resource")
            .attribute("path", path)
            .raw(">\n");
        if let Some(location) = location {
            self.hrefs.write_checked_in(location, out);
        }
        XmlWriter(out).raw("</S:resource>\n");
        self.outlet.checkpoint()
    }
}

impl<O: ResponseSink> Editor for ResourceWalk<'_, O> {
    fn set_target_revision(&mut self, _rev: Revnum) -> Result<()> {
        XmlWriter(self.outlet.buffer()).raw("<S:resource-walk>\n");
        match self.target.is_empty() {
            true => Ok(()),
            // The directory of the entry, without content of its own.
            false => self.write("", None),
        }
    }

    fn wants_facts(&self) -> bool {
        true
    }

    fn facts(&mut self, facts: &NodeFacts<'_>) {
        self.location = Some(Hrefs::location(facts.rev, facts.path));
    }

    fn open_root(&mut self, _base: Option<Revnum>) -> Result<DirToken> {
        self.resource(&RelPath::empty())?;
        Ok(DirToken(0))
    }

    fn delete_entry(&mut self, _path: &RelPath, _rev: Option<Revnum>, _parent: DirToken) -> Result<()> {
        Ok(())
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        _copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        self.resource(path)?;
        Ok(parent)
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        _base: Option<Revnum>,
    ) -> Result<DirToken> {
        self.resource(path)?;
        Ok(parent)
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        _parent: DirToken,
        _copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        self.resource(path)?;
        Ok(FileToken(0))
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, _base: Option<Revnum>) -> Result<FileToken> {
        self.add_file(path, parent, None)
    }

    fn close_file(&mut self, _file: FileToken, text_md5: Option<&Md5>) -> Result<()> {
        if let Some(md5) = text_md5 {
            XmlWriter(self.outlet.buffer())
                .raw("<S:prop><V:md5-checksum>")
                .hex(&md5.0)
                .raw("</V:md5-checksum></S:prop>");
        }
        Ok(())
    }

    fn close_edit(&mut self) -> Result<()> {
        XmlWriter(self.outlet.buffer()).raw("</S:resource-walk>\n");
        Ok(())
    }
}
