//! Any bytes as messages of svn://, for the tests and for the fuzz target `svn_command`.

use wire::svn::{
    Item, Scanner, Tuple, Writer, auth, command, edit, handshake, report, response, response_read,
};

/// Reads `bytes` as messages of every kind. What the scanner passes must parse, and what a reader understands must encode.
pub fn any_message(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some(len)) = Scanner::default().scan(rest) {
        let item = Item::parse(&rest[..len]).expect("because the scanner has passed it");
        if let Ok(named) = command::Named::parse(item) {
            if let Ok(Some(command)) = command::Command::parse(named) {
                command.write(&mut Vec::new());
            }
            if let Ok(Some(command)) = report::ReportCommand::parse(named) {
                command.write(&mut Vec::new());
            }
            if let Ok(Some(command)) = edit::EditCommand::parse(named) {
                command.write(&mut Vec::new());
            }
        }
        if let Ok(tuple) = item.list() {
            if let Ok(hello) = handshake::Hello::parse(tuple) {
                hello.write(&mut Vec::new());
            }
            if let Ok(answer) = auth::AuthAnswer::parse(tuple) {
                answer.write(&mut Vec::new());
            }
            if let Ok(response::Response::Failure(error)) = response::Response::parse(tuple) {
                response::write_failure(&mut Vec::new(), &error);
            }
            any_streamed(tuple);
        }
        rest = &rest[len..];
    }
}

/// Reads a tuple as everything that a server streams.
fn any_streamed(tuple: Tuple<'_>) {
    let mut read = Vec::new();
    if let Ok((entry, _)) = response::LogEntry::parse(&mut tuple.clone(), &mut read) {
        let mut out = Vec::new();
        entry.write(&mut Writer(&mut out), |w| {
            read.iter().for_each(|change| change.write(w));
        });
        let back = Item::parse(&out).and_then(Item::list);
        let back = back
            .and_then(|mut tuple| response::LogEntry::parse(&mut tuple, &mut Vec::new()))
            .expect("because it was written");
        assert_eq!(back.0, entry);
    }
    if let Ok((path, dirent)) = response::Dirent::parse_listed(tuple) {
        let mut out = Vec::new();
        dirent.write_listed(&mut Writer(&mut out), path, command::Fields::ALL);
        let back = Item::parse(&out).and_then(Item::list);
        let back = back.and_then(response::Dirent::parse_listed);
        assert_eq!(back, Ok((path, dirent)));
    }
    _ = response::Dirent::parse_stat(tuple);
    _ = response_read::CommitInfo::parse(tuple);
    _ = response_read::FileRev::parse(tuple);
    _ = response_read::LocationSegment::parse(tuple);
    _ = response_read::LockAnswer::parse(tuple);
    _ = response_read::parse_inherited(tuple);
    _ = response_read::parse_location(tuple);
    _ = response_read::parse_prop_changes(tuple);
    _ = handshake::Greeting::parse(tuple);
    _ = handshake::AuthRequest::parse(tuple);
    _ = handshake::ReposInfo::parse(tuple);
}
