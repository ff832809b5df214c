//! The file-revs report, for `svn blame`.

use base::{Error, Result};
use delta::editor::{EncodedVersions, TextChunk};
use delta::svndiff::Codec;
use repos::file_revs::{self, FileRev};
use wire::dav::report::{
    Base64Text, FILE_REV_END, FileRevHead, FileRevs, ResponseSink, XmlWriter, begin, end, write_file_rev,
};
use wire::dav::xml::Element;

use super::{Outcome, below, svndiff};
use crate::http::ResponseWriter;
use crate::log::operation_text;
use crate::site::RequestContext;

pub(super) fn file_revs(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    root: &Element,
) -> Outcome {
    let request = FileRevs::parse(root)?;
    let path = below(context, &request.path)?;
    let FileRevs {
        start,
        end: last,
        include_merged,
        ..
    } = request;
    let (version, level) = svndiff(context);
    begin(reply.buffer(), ROOT);
    let readable = context.readable();
    let mut sink = FileRevsWriter {
        reply,
        text: Base64Text::new(version, level),
        codec: Codec::default(),
    };
    file_revs::run(
        context.repository(),
        &path,
        start,
        last,
        include_merged,
        &*readable,
        &mut sink,
        &Default::default(),
    )?;
    context.log_operation(|| operation_text::file_revs(&path, start, last, include_merged));
    end(reply.buffer(), ROOT);
    Ok(())
}

const ROOT: &str = "S:file-revs-report";

/// Writes revisions and deltas to the response.
struct FileRevsWriter<'a> {
    reply: &'a mut ResponseWriter,
    text: Base64Text,
    codec: Codec,
}

impl file_revs::FileRevSink for FileRevsWriter<'_> {
    fn revision(&mut self, rev: &FileRev<'_>) -> Result<()> {
        let head = FileRevHead {
            path: rev.path.as_str(),
            rev: rev.rev,
            revprops: &rev.revprops.to_props(),
            prop_changes: rev.prop_changes,
            merged: rev.merged,
            has_text: rev.has_delta,
        };
        write_file_rev(self.reply.buffer(), &head);
        self.reply.checkpoint()
    }

    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        self.text.chunk(chunk, &mut self.codec, self.reply.buffer())?;
        self.reply.checkpoint()
    }

    fn text_end(&mut self) -> Result<(), Error> {
        self.text.end(self.reply.buffer());
        XmlWriter(self.reply.buffer()).raw(FILE_REV_END);
        self.reply.checkpoint()
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(self.text.version())
    }
}
