//! The client's half of [`super::command`]: commands as bytes.

use base::{Depth, Revnum};

use super::command::{
    AtRev, ChangeRevProp, Command, Commit, Diff, Fields, GetDir, GetFile, GetMergeinfo, List, LockTarget,
    Log, LogRevprops, Status, Switch, UnlockTarget, Update,
};
use super::write::Writer;

impl Command {
    /// The name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Reparent { .. } => "reparent",
            Command::GetLatestRev => "get-latest-rev",
            Command::GetDatedRev { .. } => "get-dated-rev",
            Command::ChangeRevProp(change) if change.expect.is_some() => "change-rev-prop2",
            Command::ChangeRevProp(_) => "change-rev-prop",
            Command::RevPropList { .. } => "rev-proplist",
            Command::RevProp { .. } => "rev-prop",
            Command::Commit(_) => "commit",
            Command::GetFile(_) => "get-file",
            Command::GetDir(_) => "get-dir",
            Command::CheckPath(_) => "check-path",
            Command::Stat(_) => "stat",
            Command::GetMergeinfo(_) => "get-mergeinfo",
            Command::Update(_) => "update",
            Command::Switch(_) => "switch",
            Command::Status(_) => "status",
            Command::Diff(_) => "diff",
            Command::Log(_) => "log",
            Command::GetLocations { .. } => "get-locations",
            Command::GetLocationSegments { .. } => "get-location-segments",
            Command::GetFileRevs { .. } => "get-file-revs",
            Command::Lock { .. } => "lock",
            Command::LockMany { .. } => "lock-many",
            Command::Unlock { .. } => "unlock",
            Command::UnlockMany { .. } => "unlock-many",
            Command::GetLock { .. } => "get-lock",
            Command::GetLocks { .. } => "get-locks",
            Command::Replay { .. } => "replay",
            Command::ReplayRange { .. } => "replay-range",
            Command::GetDeletedRev { .. } => "get-deleted-rev",
            Command::GetIprops(_) => "get-iprops",
            Command::List(_) => "list",
        }
    }

    /// Writes the command with all its optional tails, as a client of version 1.14 does.
    pub fn write(&self, out: &mut Vec<u8>) {
        let w = &mut Writer(out);
        w.open().word(self.name()).open();
        self.write_params(w);
        w.close().close();
    }

    #[expect(
        clippy::too_many_lines,
        reason = "a table of the commands and their parameters"
    )]
    fn write_params(&self, w: &mut Writer<'_>) {
        match self {
            Command::Reparent { url } => _ = w.string(url),
            Command::GetLatestRev => {}
            Command::GetDatedRev { date } => _ = w.string(date),
            Command::ChangeRevProp(change) => change_rev_prop(w, change),
            Command::RevPropList { rev } => _ = w.number(rev.0),
            Command::RevProp { rev, name } => _ = w.number(rev.0).string(name),
            Command::Commit(commit) => write_commit(w, commit),
            Command::GetFile(get) => get_file(w, get),
            Command::GetDir(get) => get_dir(w, get),
            Command::CheckPath(at) | Command::Stat(at) | Command::GetIprops(at) => at_rev(w, at),
            Command::GetMergeinfo(get) => get_mergeinfo(w, get),
            Command::Update(update) => write_update(w, update),
            Command::Switch(switch) => write_switch(w, switch),
            Command::Status(status) => write_status(w, status),
            Command::Diff(diff) => write_diff(w, diff),
            Command::Log(log) => write_log(w, log),
            Command::GetLocations { path, peg, revs } => get_locations(w, path, *peg, revs),
            Command::GetLocationSegments {
                path,
                peg,
                start,
                end,
            } => {
                w.string(path).maybe_number(number(*peg));
                w.maybe_number(number(*start)).maybe_number(number(*end));
            }
            Command::GetFileRevs {
                path,
                start,
                end,
                include_merged,
            } => {
                w.string(path).maybe_number(number(*start));
                w.maybe_number(number(*end)).boolean(*include_merged);
            }
            Command::Lock {
                target,
                comment,
                steal,
            } => {
                w.string(&target.path).maybe_string(comment.as_ref());
                w.boolean(*steal).maybe_number(number(target.rev));
            }
            Command::LockMany {
                comment,
                steal,
                targets,
            } => lock_many(w, comment.as_ref(), *steal, targets),
            Command::Unlock { target, force } => _ = unlock_target(w, target).boolean(*force),
            Command::UnlockMany { force, targets } => unlock_many(w, *force, targets),
            Command::GetLock { path } => _ = w.string(path),
            Command::GetLocks { path, depth } => get_locks(w, path, *depth),
            Command::Replay {
                rev,
                low_water_mark,
                send_deltas,
            } => {
                w.number(rev.0).number(low_water_mark.0).boolean(*send_deltas);
            }
            Command::ReplayRange {
                start,
                end,
                low_water_mark,
                send_deltas,
            } => {
                w.number(start.0).number(end.0);
                w.number(low_water_mark.0).boolean(*send_deltas);
            }
            Command::GetDeletedRev { path, peg, end } => _ = w.string(path).number(peg.0).number(end.0),
            Command::List(list) => write_list(w, list),
        }
    }
}

fn get_mergeinfo(w: &mut Writer<'_>, get: &GetMergeinfo) {
    strings(w, &get.paths);
    w.maybe_number(number(get.rev))
        .word(&get.inherit)
        .boolean(get.descendants);
}

fn get_locations(w: &mut Writer<'_>, path: &str, peg: Revnum, revs: &[Revnum]) {
    w.string(path).number(peg.0).open();
    for rev in revs {
        w.number(rev.0);
    }
    w.close();
}

fn lock_many(w: &mut Writer<'_>, comment: Option<&String>, steal: bool, targets: &[LockTarget]) {
    w.maybe_string(comment).boolean(steal).open();
    for target in targets {
        w.open()
            .string(&target.path)
            .maybe_number(number(target.rev))
            .close();
    }
    w.close();
}

fn unlock_many(w: &mut Writer<'_>, force: bool, targets: &[UnlockTarget]) {
    w.boolean(force).open();
    for target in targets {
        unlock_target(w.open(), target).close();
    }
    w.close();
}

fn unlock_target<'w, 'o>(w: &'w mut Writer<'o>, target: &UnlockTarget) -> &'w mut Writer<'o> {
    w.string(&target.path).maybe_string(target.token.as_ref())
}

fn get_locks(w: &mut Writer<'_>, path: &str, depth: Option<Depth>) {
    w.string(path);
    if let Some(depth) = depth {
        w.open().word(depth.word()).close();
    }
}

fn change_rev_prop(w: &mut Writer<'_>, change: &ChangeRevProp) {
    w.number(change.rev.0).string(&change.name);
    match &change.expect {
        None => {
            if let Some(value) = &change.value {
                w.string(value);
            }
        }
        Some(expect) => {
            w.maybe_string(change.value.as_ref())
                .open()
                .boolean(expect.dont_care);
            if let Some(previous) = &expect.previous {
                w.string(previous);
            }
            w.close();
        }
    }
}

fn write_commit(w: &mut Writer<'_>, commit: &Commit) {
    w.string(&commit.message).open();
    for (path, token) in &commit.lock_tokens {
        w.open().string(path).string(token).close();
    }
    w.close().boolean(commit.keep_locks);
    if let Some(revprops) = &commit.revprops {
        w.open();
        for (name, value) in revprops {
            w.prop(name, value);
        }
        w.close();
    }
}

fn get_file(w: &mut Writer<'_>, get: &GetFile) {
    at_rev(w, &get.at);
    w.boolean(get.want_props)
        .boolean(get.want_contents)
        .boolean(get.want_iprops);
}

fn get_dir(w: &mut Writer<'_>, get: &GetDir) {
    at_rev(w, &get.at);
    w.boolean(get.want_props).boolean(get.want_contents);
    fields(w, get.fields);
    w.boolean(get.want_iprops);
}

fn write_update(w: &mut Writer<'_>, update: &Update) {
    w.maybe_number(number(update.rev))
        .string(&update.target)
        .boolean(update.recurse);
    if let Some(depth) = update.depth {
        w.word(depth.word())
            .boolean(update.send_copyfrom)
            .boolean(update.ignore_ancestry);
    }
}

fn write_switch(w: &mut Writer<'_>, switch: &Switch) {
    w.maybe_number(number(switch.rev))
        .string(&switch.target)
        .boolean(switch.recurse);
    w.string(&switch.url);
    if let Some(depth) = switch.depth {
        w.word(depth.word())
            .boolean(switch.send_copyfrom)
            .boolean(switch.ignore_ancestry);
    }
}

fn write_status(w: &mut Writer<'_>, status: &Status) {
    w.string(&status.target)
        .boolean(status.recurse)
        .maybe_number(number(status.rev));
    write_depth(w, status.depth);
}

fn write_diff(w: &mut Writer<'_>, diff: &Diff) {
    w.maybe_number(number(diff.rev))
        .string(&diff.target)
        .boolean(diff.recurse);
    w.boolean(diff.ignore_ancestry)
        .string(&diff.url)
        .boolean(diff.text_deltas);
    write_depth(w, diff.depth);
}

fn write_log(w: &mut Writer<'_>, log: &Log) {
    strings(w, &log.paths);
    w.maybe_number(number(log.start)).maybe_number(number(log.end));
    w.boolean(log.changed_paths).boolean(log.strict).number(log.limit);
    match &log.revprops {
        LogRevprops::Standard => {}
        LogRevprops::All => _ = w.boolean(log.include_merged).word("all-revprops").none(),
        LogRevprops::Some(names) => {
            w.boolean(log.include_merged).word("revprops");
            strings(w, names);
        }
    }
}

fn write_list(w: &mut Writer<'_>, list: &List) {
    at_rev(w, &list.at);
    w.word(list.depth.word());
    fields(w, list.fields);
    if let Some(patterns) = &list.patterns {
        strings(w, patterns);
    }
}

fn at_rev(w: &mut Writer<'_>, at: &AtRev) {
    w.string(&at.path).maybe_number(number(at.rev));
}

fn fields(w: &mut Writer<'_>, fields: Fields) {
    w.open();
    for word in fields.words() {
        w.word(word);
    }
    w.close();
}

fn write_depth(w: &mut Writer<'_>, depth: Option<Depth>) {
    if let Some(depth) = depth {
        w.word(depth.word());
    }
}

fn strings(w: &mut Writer<'_>, all: &[String]) {
    w.open();
    for one in all {
        w.string(one);
    }
    w.close();
}

fn number(rev: Option<Revnum>) -> Option<u64> {
    rev.map(|rev| rev.0)
}
