//! Every written message is read back unchanged; arbitrary bytes never cause a panic.

use base::{Depth, Revnum};
use proptest::prelude::*;
use wire::svn::command::{
    AtRev, ChangeRevProp, Command, Commit, Diff, ExpectedValue, Fields, GetDir, GetFile, List, LockTarget,
    Log, LogRevprops, Named, Switch, UnlockTarget, Update,
};
use wire::svn::report::{ReportCommand, ReportedAt};
use wire::svn::{Item, Scanner};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), ".{0,20}", "[a-z/]{1,30}"]
}

fn rev() -> impl Strategy<Value = Revnum> {
    (0..=Revnum::MAX.0).prop_map(Revnum)
}

fn at() -> impl Strategy<Value = AtRev> {
    (text(), proptest::option::of(rev())).prop_map(|(path, rev)| AtRev { path, rev })
}

fn depth() -> impl Strategy<Value = Depth> {
    prop_oneof![
        Just(Depth::Unknown),
        Just(Depth::Exclude),
        Just(Depth::Empty),
        Just(Depth::Files),
        Just(Depth::Immediates),
        Just(Depth::Infinity)
    ]
}

fn fields() -> impl Strategy<Value = Fields> {
    proptest::collection::vec(
        prop_oneof![
            Just(Fields::KIND),
            Just(Fields::SIZE),
            Just(Fields::TIME),
            Just(Fields::LAST_AUTHOR)
        ],
        0..4,
    )
    .prop_map(|all| all.into_iter().fold(Fields::NONE, Fields::with))
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..30)
}

fn command() -> impl Strategy<Value = Command> {
    let maybe = || proptest::option::of(rev());
    let texts = || proptest::collection::vec(text(), 0..4);
    prop_oneof![
        text().prop_map(|url| Command::Reparent { url }),
        Just(Command::GetLatestRev),
        text().prop_map(|date| Command::GetDatedRev { date }),
        (rev(), text(), proptest::option::of(bytes())).prop_map(|(rev, name, value)| {
            Command::ChangeRevProp(ChangeRevProp {
                rev,
                name,
                value,
                expect: None,
            })
        }),
        (
            rev(),
            text(),
            proptest::option::of(bytes()),
            any::<bool>(),
            proptest::option::of(bytes())
        )
            .prop_map(|(rev, name, value, dont_care, previous)| {
                let expect = Some(ExpectedValue { dont_care, previous });
                Command::ChangeRevProp(ChangeRevProp {
                    rev,
                    name,
                    value,
                    expect,
                })
            }),
        (
            text(),
            proptest::collection::vec((text(), text()), 0..3),
            any::<bool>(),
            proptest::option::of(proptest::collection::vec((text(), bytes()), 0..3))
        )
            .prop_map(|(message, lock_tokens, keep_locks, revprops)| {
                Command::Commit(Commit {
                    message,
                    lock_tokens,
                    keep_locks,
                    revprops,
                })
            }),
        (at(), any::<[bool; 3]>()).prop_map(|(at, [want_props, want_contents, want_iprops])| {
            Command::GetFile(GetFile {
                at,
                want_props,
                want_contents,
                want_iprops,
            })
        }),
        (at(), any::<[bool; 3]>(), fields()).prop_map(
            |(at, [want_props, want_contents, want_iprops], fields)| {
                Command::GetDir(GetDir {
                    at,
                    want_props,
                    want_contents,
                    fields,
                    want_iprops,
                })
            }
        ),
        at().prop_map(Command::CheckPath),
        at().prop_map(Command::Stat),
        at().prop_map(Command::GetIprops),
        (maybe(), text(), any::<[bool; 3]>(), depth()).prop_map(|(rev, target, [recurse, a, b], depth)| {
            let depth = Some(depth);
            Command::Update(Update {
                rev,
                target,
                recurse,
                depth,
                send_copyfrom: a,
                ignore_ancestry: b,
            })
        }),
        (maybe(), text(), any::<[bool; 3]>(), text(), depth()).prop_map(
            |(rev, target, [recurse, a, b], url, depth)| {
                let depth = Some(depth);
                Command::Switch(Switch {
                    rev,
                    target,
                    recurse,
                    url,
                    depth,
                    send_copyfrom: a,
                    ignore_ancestry: b,
                })
            }
        ),
        (maybe(), text(), any::<[bool; 3]>(), text(), depth()).prop_map(
            |(rev, target, [recurse, ignore_ancestry, text_deltas], url, depth)| {
                let depth = Some(depth);
                Command::Diff(Diff {
                    rev,
                    target,
                    recurse,
                    ignore_ancestry,
                    url,
                    text_deltas,
                    depth,
                })
            }
        ),
        (texts(), maybe(), maybe(), any::<[bool; 3]>(), 0..1000u64, texts()).prop_map(
            |(paths, start, end, [changed_paths, strict, include_merged], limit, names)| {
                let revprops = LogRevprops::Some(names);
                Command::Log(Log {
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
        ),
        (text(), rev(), proptest::collection::vec(rev(), 0..5))
            .prop_map(|(path, peg, revs)| Command::GetLocations { path, peg, revs }),
        (text(), maybe(), maybe(), maybe()).prop_map(|(path, peg, start, end)| {
            Command::GetLocationSegments {
                path,
                peg,
                start,
                end,
            }
        }),
        (proptest::option::of(text()), any::<bool>(), at()).prop_map(|(comment, steal, at)| {
            let targets = vec![LockTarget {
                path: at.path,
                rev: at.rev,
            }];
            Command::LockMany {
                comment,
                steal,
                targets,
            }
        }),
        (text(), proptest::option::of(text()), any::<bool>()).prop_map(|(path, token, force)| {
            Command::Unlock {
                target: UnlockTarget { path, token },
                force,
            }
        }),
        (text(), proptest::option::of(depth())).prop_map(|(path, depth)| Command::GetLocks { path, depth }),
        (rev(), rev(), rev(), any::<bool>()).prop_map(|(start, end, low_water_mark, send_deltas)| {
            Command::ReplayRange {
                start,
                end,
                low_water_mark,
                send_deltas,
            }
        }),
        (at(), depth(), fields(), proptest::option::of(texts())).prop_map(|(at, depth, fields, patterns)| {
            Command::List(List {
                at,
                depth,
                fields,
                patterns,
            })
        }),
    ]
}

fn parse(bytes: &[u8]) -> Option<Command> {
    let len = Scanner::default().scan(bytes).ok()??;
    assert_eq!(len, bytes.len(), "one whole message");
    let named = Named::parse(Item::parse(bytes).ok()?).ok()?;
    Command::parse(named).ok()?
}

proptest! {
    #[test]
    fn a_command_survives_the_wire(command in command()) {
        let mut bytes = Vec::new();
        command.write(&mut bytes);
        prop_assert_eq!(parse(&bytes), Some(command));
    }

    #[test]
    fn a_report_survives_the_wire(
        path in text(),
        url in proptest::option::of(text()),
        rev in rev(),
        start_empty in any::<bool>(),
        token in proptest::option::of(text()),
        depth in depth(),
    ) {
        let at = ReportedAt { rev, start_empty, lock_token: token.as_ref().map(String::as_bytes), depth };
        let command = match &url {
            Some(url) => ReportCommand::LinkPath { path: path.as_bytes(), url: url.as_bytes(), at },
            None => ReportCommand::SetPath { path: path.as_bytes(), at },
        };
        let mut bytes = Vec::new();
        command.write(&mut bytes);
        let named = Item::parse(&bytes).and_then(Named::parse);
        prop_assert_eq!(named.and_then(ReportCommand::parse), Ok(Some(command)));
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_read(bytes in "[ ()\\n0-9:a-z-]{0,60}") {
        crate::any_message::any_message(bytes.as_bytes());
    }

    #[test]
    fn it_does_not_matter_how_a_message_is_cut(command in command(), cuts in proptest::collection::vec(1..20usize, 0..40)) {
        let mut bytes = Vec::new();
        command.write(&mut bytes);
        let mut scanner = Scanner::default();
        let mut have = 0;
        for cut in cuts {
            have = (have + cut).min(bytes.len() - 1);
            prop_assert_eq!(scanner.scan(&bytes[..have]), Ok(None));
        }
        prop_assert_eq!(scanner.scan(&bytes), Ok(Some(bytes.len())));
    }
}
