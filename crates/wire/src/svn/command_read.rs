//! The server's half of [`super::command`]: bytes as commands.

use base::{Depth, Revnum};

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
            "change-rev-prop" => Command::ChangeRevProp(ChangeRevProp {
                rev: rev(p)?,
                name: text(p)?,
                value: if p.is_empty() {
                    None
                } else {
                    Some(p.string()?.to_vec())
                },
                expect: None,
            }),
            "change-rev-prop2" => Command::ChangeRevProp(change_rev_prop2(p)?),
            "rev-proplist" => Command::RevPropList { rev: rev(p)? },
            "rev-prop" => Command::RevProp {
                rev: rev(p)?,
                name: text(p)?,
            },
            "commit" => Command::Commit(commit(p)?),
            "get-file" => Command::GetFile(GetFile {
                at: at_rev(p)?,
                want_props: p.boolean()?,
                want_contents: p.boolean()?,
                want_iprops: tail(p, false, Tuple::boolean)?,
            }),
            "get-dir" => Command::GetDir(GetDir {
                at: at_rev(p)?,
                want_props: p.boolean()?,
                want_contents: p.boolean()?,
                fields: tail(p, Fields::ALL, |p| Fields::parse(p.list()?))?,
                want_iprops: tail(p, false, Tuple::boolean)?,
            }),
            "check-path" => Command::CheckPath(at_rev(p)?),
            "stat" => Command::Stat(at_rev(p)?),
            "get-mergeinfo" => Command::GetMergeinfo(GetMergeinfo {
                paths: texts(p)?,
                rev: maybe_rev(p)?,
                inherit: p.word()?.to_owned(),
                descendants: p.boolean()?,
            }),
            "update" => Command::Update(update(p)?),
            "switch" => Command::Switch(switch(p)?),
            "status" => Command::Status(Status {
                target: text(p)?,
                recurse: p.boolean()?,
                rev: tail(p, None, maybe_rev)?,
                depth: tail_depth(p)?,
            }),
            "diff" => Command::Diff(Diff {
                rev: maybe_rev(p)?,
                target: text(p)?,
                recurse: p.boolean()?,
                ignore_ancestry: p.boolean()?,
                url: text(p)?,
                text_deltas: tail(p, true, Tuple::boolean)?,
                depth: tail_depth(p)?,
            }),
            "log" => Command::Log(log(p)?),
            "get-locations" => Command::GetLocations {
                path: text(p)?,
                peg: rev(p)?,
                revs: revs(p)?,
            },
            "get-location-segments" => Command::GetLocationSegments {
                path: text(p)?,
                peg: maybe_rev(p)?,
                start: maybe_rev(p)?,
                end: maybe_rev(p)?,
            },
            "get-file-revs" => Command::GetFileRevs {
                path: text(p)?,
                start: maybe_rev(p)?,
                end: maybe_rev(p)?,
                include_merged: tail(p, false, Tuple::boolean)?,
            },
            "lock" => {
                let path = text(p)?;
                let comment = maybe_text(p)?;
                let steal = p.boolean()?;
                Command::Lock {
                    target: LockTarget {
                        path,
                        rev: maybe_rev(p)?,
                    },
                    comment,
                    steal,
                }
            }
            "lock-many" => Command::LockMany {
                comment: maybe_text(p)?,
                steal: p.boolean()?,
                targets: each(p, |t| {
                    Ok(LockTarget {
                        path: text(t)?,
                        rev: maybe_rev(t)?,
                    })
                })?,
            },
            "unlock" => Command::Unlock {
                target: UnlockTarget {
                    path: text(p)?,
                    token: maybe_text(p)?,
                },
                force: p.boolean()?,
            },
            "unlock-many" => Command::UnlockMany {
                force: p.boolean()?,
                targets: each(p, |t| {
                    Ok(UnlockTarget {
                        path: text(t)?,
                        token: maybe_text(t)?,
                    })
                })?,
            },
            "get-lock" => Command::GetLock { path: text(p)? },
            "get-locks" => Command::GetLocks {
                path: text(p)?,
                depth: tail(p, None, |p| {
                    // Here the depth is in a bracket, unlike everywhere else.
                    let mut bracket = p.list()?;
                    if bracket.is_empty() {
                        return Ok(None);
                    }
                    Ok(Some(Depth::from_word(bracket.word()?.as_bytes())))
                })?,
            },
            "replay" => Command::Replay {
                rev: rev(p)?,
                low_water_mark: rev(p)?,
                send_deltas: p.boolean()?,
            },
            "replay-range" => Command::ReplayRange {
                start: rev(p)?,
                end: rev(p)?,
                low_water_mark: rev(p)?,
                send_deltas: p.boolean()?,
            },
            "get-deleted-rev" => Command::GetDeletedRev {
                path: text(p)?,
                peg: rev(p)?,
                end: rev(p)?,
            },
            "get-iprops" => Command::GetIprops(at_rev(p)?),
            "list" => Command::List(List {
                at: at_rev(p)?,
                depth: Depth::from_word(p.word()?.as_bytes()),
                fields: tail(p, Fields::ALL, |p| Fields::parse(p.list()?))?,
                patterns: tail(p, None, |p| texts(p).map(Some))?,
            }),
            _ => return Ok(None),
        }))
    }
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

/// Takes text. Bytes that are not UTF-8 become replacement characters: the incumbent looks such names up and does not
/// find them, and nor do we.
fn text(p: &mut Tuple<'_>) -> Result<String, Malformed> {
    Ok(String::from_utf8_lossy(p.string()?).into_owned())
}

fn maybe_text(p: &mut Tuple<'_>) -> Result<Option<String>, Malformed> {
    Ok(p.maybe_string()?
        .map(|text| String::from_utf8_lossy(text).into_owned()))
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
