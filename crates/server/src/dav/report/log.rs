//! The log report.

use std::io::Write as _;

use base::{Error, FsPath, RelPath};
use repos::{ChangeKind, log};
use wire::dav::report::{LogItem, LogReport, LoggedChange, ResponseSink as _, begin, end};
use wire::dav::xml::Element;
use wire::svn::command::LogRevprops;

use super::{Outcome, bad_request, below};
use crate::http::ResponseWriter;
use crate::log::operation_text;
use crate::site::RequestContext;

/// After these numbers of items the output is sent at once, however short: users wait for the first items.
const FLUSH_AFTER: [u64; 4] = [4, 16, 64, 256];

pub(super) fn log(context: &mut RequestContext<'_>, reply: &mut ResponseWriter, root: &Element) -> Outcome {
    super::base_path(context)?;
    let LogReport { log, encode_binary } = LogReport::parse(root)?;
    let paths: Vec<FsPath> = log
        .paths
        .iter()
        .map(|path| below(context, &RelPath::canonicalize(path)?))
        .collect::<Result<_, _>>()?;
    context.log_operation(|| operation_text::log(&paths, &log));
    let options = log::LogOptions {
        paths,
        start: log.start,
        end: log.end,
        limit: log.limit,
        changed_paths: log.changed_paths,
        strict: log.strict,
        include_merged: log.include_merged,
        revprops: match log.revprops {
            LogRevprops::All => log::Revprops::All,
            LogRevprops::Some(names) => log::Revprops::Names(names),
            LogRevprops::Standard => log::Revprops::Names(operation_text::STANDARD.map(str::to_owned).into()),
        },
    };
    begin(reply.buffer(), ROOT);
    let mut count = 0;
    let mut sink = |entry: &log::LogEntry<'_>| {
        write(reply.buffer(), entry, encode_binary);
        count += 1;
        match FLUSH_AFTER.contains(&count) {
            true => reply
                .flush()
                .map_err(|e| Error::os(&e, "Can't write to connection")),
            false => reply.checkpoint(),
        }
    };
    let readable = context.readable();
    log::run(
        context.repository(),
        &options,
        &*readable,
        &mut sink,
        &Default::default(),
    )
    .map_err(bad_request)?;
    end(reply.buffer(), ROOT);
    Ok(())
}

const ROOT: &str = "S:log-report";

fn write(out: &mut Vec<u8>, entry: &log::LogEntry<'_>, encode_binary: bool) {
    let mut item = LogItem::begin(out);
    for change in entry.changes.iter() {
        item.change(&LoggedChange {
            path: change.path,
            what: match change.change {
                ChangeKind::Add => "added",
                ChangeKind::Delete => "deleted",
                ChangeKind::Replace => "replaced",
                ChangeKind::Modify => "modified",
            },
            copyfrom: change.copyfrom.map(|(rev, path)| (path, rev)),
            kind: change.node_kind,
            text_mods: change.text_mod,
            prop_mods: change.prop_mod,
        });
    }
    item.revision(entry.rev);
    for (name, value) in entry.props() {
        item.prop(name, value, encode_binary);
    }
    item.end(entry.has_children, entry.subtractive_merge);
}
