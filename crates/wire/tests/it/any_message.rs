//! Any bytes as messages of svn://, for the tests and for the fuzz target `svn_command`.

use wire::svn::{Item, Scanner, auth, command, edit, handshake, report, response};

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
        }
        rest = &rest[len..];
    }
}
