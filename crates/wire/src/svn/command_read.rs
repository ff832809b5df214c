//! The server's half of [`super::command`]: bytes as commands.

use base::{Depth, Revnum, with_substitutes};

use super::command::{
    AtRev, ChangeRevProp, Command, Commit, Diff, ExpectedValue, Fields, GetDir, GetFile, GetMergeinfo, List,
    LockTarget, Log, LogRevprops, Named, Status, Switch, UnlockTarget, Update,
};
use super::item::{Malformed, Tuple};

impl Command {
    /// Reads a command; `None` for a name that is no main command.
    ///
    /// # Errors
    /// If the parameters have another shape.
    pub fn parse(named: Named<'_>) -> Result<Option<Self>, Malformed> {
        let mut p = named.params;
        let p = &mut p;
        Ok(Some(match named.name {
            "reparent" => Command::Reparent { url: text(p)? },
            "get-latest-rev" => Command::GetLatestRev,
            "get-dated-rev" => Command::GetDatedRev { date: text(p)? },
            "change-rev-prop" => Command::ChangeRevProp(change_rev_prop(p)?),
            "change-rev-prop2" => Command::ChangeRevProp(change_rev_prop2(p)?),
            "rev-proplist" => Command::RevPropList { rev: rev(p)? },
            "rev-prop" => rev_prop(p)?,
            "commit" => Command::Commit(commit(p)?),
            "get-file" => Command::GetFile(get_file(p)?),
            "get-dir" => Command::GetDir(get_dir(p)?),
            "check-path" => Command::CheckPath(at_rev(p)?),
            "stat" => Command::Stat(at_rev(p)?),
            "get-mergeinfo" => Command::GetMergeinfo(get_mergeinfo(p)?),
            "update" => Command::Update(update(p)?),
            "switch" => Command::Switch(switch(p)?),
            "status" => Command::Status(status(p)?),
            "diff" => Command::Diff(diff(p)?),
            "log" => Command::Log(log(p)?),
            "get-locations" => get_locations(p)?,
            "get-location-segments" => get_location_segments(p)?,
            "get-file-revs" => get_file_revs(p)?,
            "lock" => lock(p)?,
            "lock-many" => lock_many(p)?,
            "unlock" => unlock(p)?,
            "unlock-many" => unlock_many(p)?,
            "get-lock" => Command::GetLock { path: text(p)? },
            "get-locks" => get_locks(p)?,
            "replay" => replay(p)?,
            "replay-range" => replay_range(p)?,
            "get-deleted-rev" => get_deleted_rev(p)?,
            "get-iprops" => Command::GetIprops(at_rev(p)?),
            "list" => Command::List(list(p)?),
            _ => return Ok(None),
        }))
    }
}

fn change_rev_prop(p: &mut Tuple<'_>) -> Result<ChangeRevProp, Malformed> {
    Ok(ChangeRevProp {
        rev: rev(p)?,
        name: text(p)?,
        value: tail(p, None, |p| Ok(Some(p.string()?.to_vec())))?,
        expect: None,
    })
}

fn change_rev_prop2(p: &mut Tuple<'_>) -> Result<ChangeRevProp, Malformed> {
    let rev = rev(p)?;
    let name = text(p)?;
    let value = p.maybe_string()?.map(<[u8]>::to_vec);
    let mut expect = p.list()?;
    let dont_care = expect.boolean()?;
    let previous = tail(&mut expect, None, |t| Ok(Some(t.string()?.to_vec())))?;
    Ok(ChangeRevProp {
        rev,
        name,
        value,
        expect: Some(ExpectedValue { dont_care, previous }),
    })
}

fn rev_prop(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::RevProp {
        rev: rev(p)?,
        name: text(p)?,
    })
}

fn commit(p: &mut Tuple<'_>) -> Result<Commit, Malformed> {
    let message = text(p)?;
    let mut commit = Commit {
        message,
        lock_tokens: Vec::new(),
        keep_locks: true,
        revprops: None,
    };
    if p.is_empty() {
        return Ok(commit);
    }
    commit.lock_tokens = each(p, |t| Ok((text(t)?, text(t)?)))?;
    commit.keep_locks = p.boolean()?;
    commit.revprops = tail(p, None, |p| {
        each(p, |t| Ok((text(t)?, t.string()?.to_vec()))).map(Some)
    })?;
    Ok(commit)
}

fn get_file(p: &mut Tuple<'_>) -> Result<GetFile, Malformed> {
    Ok(GetFile {
        at: at_rev(p)?,
        want_props: p.boolean()?,
        want_contents: p.boolean()?,
        want_iprops: tail(p, false, Tuple::boolean)?,
    })
}

fn get_dir(p: &mut Tuple<'_>) -> Result<GetDir, Malformed> {
    Ok(GetDir {
        at: at_rev(p)?,
        want_props: p.boolean()?,
        want_contents: p.boolean()?,
        fields: tail(p, Fields::ALL, |p| Fields::parse(p.list()?))?,
        want_iprops: tail(p, false, Tuple::boolean)?,
    })
}

fn get_mergeinfo(p: &mut Tuple<'_>) -> Result<GetMergeinfo, Malformed> {
    Ok(GetMergeinfo {
        paths: texts(p)?,
        rev: maybe_rev(p)?,
        inherit: p.word()?.to_owned(),
        descendants: p.boolean()?,
    })
}

fn update(p: &mut Tuple<'_>) -> Result<Update, Malformed> {
    let mut update = Update {
        rev: maybe_rev(p)?,
        target: text(p)?,
        recurse: p.boolean()?,
        depth: None,
        send_copyfrom: false,
        ignore_ancestry: false,
    };
    if !p.is_empty() {
        update.depth = tail_depth(p)?;
        update.send_copyfrom = p.boolean()?;
        update.ignore_ancestry = tail(p, false, Tuple::boolean)?;
    }
    Ok(update)
}

fn switch(p: &mut Tuple<'_>) -> Result<Switch, Malformed> {
    let mut switch = Switch {
        rev: maybe_rev(p)?,
        target: text(p)?,
        recurse: p.boolean()?,
        url: text(p)?,
        depth: tail_depth(p)?,
        send_copyfrom: false,
        ignore_ancestry: true,
    };
    if !p.is_empty() {
        switch.send_copyfrom = p.boolean()?;
        switch.ignore_ancestry = p.boolean()?;
    }
    Ok(switch)
}

fn status(p: &mut Tuple<'_>) -> Result<Status, Malformed> {
    Ok(Status {
        target: text(p)?,
        recurse: p.boolean()?,
        rev: tail(p, None, maybe_rev)?,
        depth: tail_depth(p)?,
    })
}

fn diff(p: &mut Tuple<'_>) -> Result<Diff, Malformed> {
    Ok(Diff {
        rev: maybe_rev(p)?,
        target: text(p)?,
        recurse: p.boolean()?,
        ignore_ancestry: p.boolean()?,
        url: text(p)?,
        text_deltas: tail(p, true, Tuple::boolean)?,
        depth: tail_depth(p)?,
    })
}

fn log(p: &mut Tuple<'_>) -> Result<Log, Malformed> {
    let paths = texts(p)?;
    let start = maybe_rev(p)?;
    let end = maybe_rev(p)?;
    let changed_paths = p.boolean()?;
    let strict = p.boolean()?;
    let limit = tail(p, 0, Tuple::number)?;
    let (mut include_merged, mut revprops) = (false, LogRevprops::Standard);
    if !p.is_empty() {
        include_merged = p.boolean()?;
        let word = p.word()?;
        let names = texts(p)?;
        revprops = match word {
            "all-revprops" => LogRevprops::All,
            "revprops" => LogRevprops::Some(names),
            _ => return Err(Malformed::Word),
        };
    }
    // A limit beyond 31 bits is none.
    let limit = if limit > i32::MAX as u64 { 0 } else { limit };
    Ok(Log {
        paths,
        start,
        end,
        changed_paths,
        strict,
        limit,
        include_merged,
        revprops,
    })
}

fn get_locations(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::GetLocations {
        path: text(p)?,
        peg: rev(p)?,
        revs: revs(p)?,
    })
}

fn get_location_segments(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::GetLocationSegments {
        path: text(p)?,
        peg: maybe_rev(p)?,
        start: maybe_rev(p)?,
        end: maybe_rev(p)?,
    })
}

fn get_file_revs(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::GetFileRevs {
        path: text(p)?,
        start: maybe_rev(p)?,
        end: maybe_rev(p)?,
        include_merged: tail(p, false, Tuple::boolean)?,
    })
}

fn lock(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    let path = text(p)?;
    let comment = maybe_text(p)?;
    let steal = p.boolean()?;
    let rev = maybe_rev(p)?;
    Ok(Command::Lock {
        target: LockTarget { path, rev },
        comment,
        steal,
    })
}

fn lock_many(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::LockMany {
        comment: maybe_text(p)?,
        steal: p.boolean()?,
        targets: each(p, |t| {
            Ok(LockTarget {
                path: text(t)?,
                rev: maybe_rev(t)?,
            })
        })?,
    })
}

fn unlock(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::Unlock {
        target: unlock_target(p)?,
        force: p.boolean()?,
    })
}

fn unlock_many(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::UnlockMany {
        force: p.boolean()?,
        targets: each(p, unlock_target)?,
    })
}

fn unlock_target(p: &mut Tuple<'_>) -> Result<UnlockTarget, Malformed> {
    Ok(UnlockTarget {
        path: text(p)?,
        token: maybe_text(p)?,
    })
}

fn get_locks(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::GetLocks {
        path: text(p)?,
        depth: tail(p, None, |p| {
            // Here the depth is in a bracket, unlike everywhere else.
            let mut bracket = p.list()?;
            if bracket.is_empty() {
                return Ok(None);
            }
            Ok(Some(Depth::from_word(bracket.word()?.as_bytes())))
        })?,
    })
}

fn replay(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::Replay {
        rev: rev(p)?,
        low_water_mark: rev(p)?,
        send_deltas: p.boolean()?,
    })
}

fn replay_range(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::ReplayRange {
        start: rev(p)?,
        end: rev(p)?,
        low_water_mark: rev(p)?,
        send_deltas: p.boolean()?,
    })
}

fn get_deleted_rev(p: &mut Tuple<'_>) -> Result<Command, Malformed> {
    Ok(Command::GetDeletedRev {
        path: text(p)?,
        peg: rev(p)?,
        end: rev(p)?,
    })
}

fn list(p: &mut Tuple<'_>) -> Result<List, Malformed> {
    Ok(List {
        at: at_rev(p)?,
        depth: Depth::from_word(p.word()?.as_bytes()),
        fields: tail(p, Fields::ALL, |p| Fields::parse(p.list()?))?,
        patterns: tail(p, None, |p| texts(p).map(Some))?,
    })
}

/// Takes text. Bytes that are not UTF-8 become substitutes: no node has such a name, and a message or a name of a property that must be
/// UTF-8 is refused.
fn text(p: &mut Tuple<'_>) -> Result<String, Malformed> {
    Ok(with_substitutes(p.string()?).into_owned())
}

fn maybe_text(p: &mut Tuple<'_>) -> Result<Option<String>, Malformed> {
    Ok(p.maybe_string()?.map(|text| with_substitutes(text).into_owned()))
}

fn rev(p: &mut Tuple<'_>) -> Result<Revnum, Malformed> {
    p.number().map(Revnum)
}

fn maybe_rev(p: &mut Tuple<'_>) -> Result<Option<Revnum>, Malformed> {
    Ok(p.maybe_number()?.map(Revnum).filter(|rev| *rev <= Revnum::MAX))
}

fn at_rev(p: &mut Tuple<'_>) -> Result<AtRev, Malformed> {
    Ok(AtRev {
        path: text(p)?,
        rev: maybe_rev(p)?,
    })
}

fn tail_depth(p: &mut Tuple<'_>) -> Result<Option<Depth>, Malformed> {
    tail(p, None, |p| Ok(Some(Depth::from_word(p.word()?.as_bytes()))))
}

/// Reads an optional element: if it is absent, it and all later ones have their defaults.
fn tail<'a, T>(
    p: &mut Tuple<'a>,
    default: T,
    take: impl FnOnce(&mut Tuple<'a>) -> Result<T, Malformed>,
) -> Result<T, Malformed> {
    if p.is_empty() { Ok(default) } else { take(p) }
}

fn each<T>(
    p: &mut Tuple<'_>,
    mut take: impl FnMut(&mut Tuple<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut list = p.list()?;
    let mut all = Vec::new();
    while !list.is_empty() {
        all.push(take(&mut list.list()?)?);
    }
    Ok(all)
}

fn texts(p: &mut Tuple<'_>) -> Result<Vec<String>, Malformed> {
    let mut list = p.list()?;
    let mut all = Vec::new();
    while !list.is_empty() {
        all.push(text(&mut list)?);
    }
    Ok(all)
}

fn revs(p: &mut Tuple<'_>) -> Result<Vec<Revnum>, Malformed> {
    let mut list = p.list()?;
    let mut all = Vec::new();
    while !list.is_empty() {
        all.push(rev(&mut list)?);
    }
    Ok(all)
}
