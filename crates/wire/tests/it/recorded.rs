//! Messages recorded between Subversion 1.14.2's own client and server: each is parsed, and written again byte for
//! byte.

use wire::svn::auth::{AuthAnswer, AuthResponse, cram_check};
use wire::svn::command::{Command, Named};
use wire::svn::edit::EditCommand;
use wire::svn::handshake::{AuthRequest, Greeting, Hello, ReposInfo};
use wire::svn::report::ReportCommand;
use wire::svn::response::Response;
use wire::svn::{Item, Tuple};

fn list(line: &str) -> Tuple<'_> {
    Item::parse(line.as_bytes()).and_then(Item::list).expect("a list")
}

fn success(line: &str) -> Tuple<'_> {
    match Response::parse(list(line)) {
        Ok(Response::Success(params)) => params,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn commands() {
    for line in [
        "( get-latest-rev ( ) ) ",
        "( check-path ( 0: ( 1 ) ) ) ",
        "( get-iprops ( 0: ( 1 ) ) ) ",
        "( update ( ( 1 ) 0: true unknown false false ) ) ",
        "( switch ( ( 4 ) 0: true 39:svn://127.0.0.1:13691/repo/branches/br1 unknown false false ) ) ",
        "( status ( 0: true ( ) unknown ) ) ",
        "( diff ( ( 8 ) 0: true false 39:svn://127.0.0.1:13691/repo/branches/br1 true infinity ) ) ",
        "( log ( ( 0: ) ( 6 ) ( 0 ) true false 0 true revprops ( 10:svn:author 8:svn:date 7:svn:log ) ) ) ",
        "( get-location-segments ( 0: ( 4 ) ( 4 ) ( 0 ) ) ) ",
        "( get-file ( 0: ( 2 ) true false false ) ) ",
        "( get-file-revs ( 0: ( 0 ) ( 2 ) false ) ) ",
        "( lock-many ( ( 7:my lock ) false ( ( 5:a.txt ( 2 ) ) ) ) ) ",
        "( unlock-many ( false ( ( 5:a.txt ( 52:opaquelocktoken:8dc450e4-5d2f-4bd6-bcd4-8f2d163fa4d9 ) ) ) ) ) ",
        "( commit ( 6:second ( ) false ( ( 7:svn:log 6:second ) ( 18:svn:txn-user-agent 32:SVN/1.14.2 (x86_64-pc-linux-gnu) ) ) ) ) ",
        "( commit ( 2:lk ( ( 5:a.txt 52:opaquelocktoken:7c9908dd-e759-4365-8013-debd2a0e3746 ) ) false ( ( 7:svn:log 2:lk ) ) ) ) ",
        "( get-mergeinfo ( ( 5:trunk ) ( 8 ) inherited true ) ) ",
        "( replay-range ( 1 8 0 true ) ) ",
        "( get-locks ( 0: ( immediates ) ) ) ",
        "( list ( 0: ( 6 ) immediates ( kind size created-rev time last-author ) ) ) ",
        "( reparent ( 26:svn://127.0.0.1:13691/repo ) ) ",
    ] {
        let named = Named::parse(Item::parse(line.as_bytes()).expect("an item")).expect("named");
        let command = Command::parse(named)
            .expect("well-formed")
            .expect("a main command");
        let mut out = Vec::new();
        command.write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), line);
    }
}

#[test]
fn reports_and_edits() {
    for line in [
        "( set-path ( 0: 1 true ( ) infinity ) ) ",
        "( set-path ( 5:a.txt 26 false ( 52:opaquelocktoken:5c5eda8a-9d16-44ab-9ca8-50cc46ec459b ) infinity ) ) ",
        "( link-path ( 3:sub 43:svn://127.0.0.1:13691/repo/branches/br1/sub 26 false ( ) infinity ) ) ",
        "( finish-report ( ) ) ",
    ] {
        let named = Named::parse(Item::parse(line.as_bytes()).expect("an item")).expect("named");
        let mut out = Vec::new();
        ReportCommand::parse(named)
            .expect("well-formed")
            .expect("of a report")
            .write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), line);
    }
    for line in [
        "( target-rev ( 6 ) ) ",
        "( open-root ( ( 1 ) 2:d0 ) ) ",
        "( change-dir-prop ( 2:d0 13:svn:mergeinfo ( 17:/branches/br1:4-5 ) ) ) ",
        "( change-dir-prop ( 2:d0 13:svn:mergeinfo ( ) ) ) ",
        "( open-file ( 5:a.txt 2:d0 2:c1 ( 1 ) ) ) ",
        "( apply-textdelta ( 2:c1 ( 32:b1946ac92492d2347c6235b4d2611184 ) ) ) ",
        "( textdelta-chunk ( 2:c1 4:SVN\u{2} ) ) ",
        "( textdelta-end ( 2:c1 ) ) ",
        "( close-file ( 2:c1 ( 32:ed31043cecc1aca6caed5ce919160e67 ) ) ) ",
        "( add-file ( 12:trunk/b2.txt 2:d1 2:c4 ( 12:/trunk/b.txt 1 ) ) ) ",
        "( delete-entry ( 9:sub/c.txt ( 2 ) 2:d4 ) ) ",
        "( absent-dir ( 6:secret 2:d0 ) ) ",
        "( close-dir ( 2:d0 ) ) ",
        "( close-edit ( ) ) ",
        "( finish-replay ( ) ) ",
    ] {
        let named = Named::parse(Item::parse(line.as_bytes()).expect("an item")).expect("named");
        let mut out = Vec::new();
        EditCommand::parse(named)
            .expect("well-formed")
            .expect("of an edit")
            .write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), line);
    }
}

#[test]
fn openings() {
    let line = "( success ( 2 2 ( ) ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries commit-revprops depth log-revprops atomic-revprops partial-replay inherited-props ephemeral-txnprops file-revs-reverse list ) ) ) ";
    let mut out = Vec::new();
    Greeting::parse(success(line))
        .expect("a greeting")
        .write(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), line);

    let line = "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ) 32:svn://127.0.0.1:13691/repo/trunk 32:SVN/1.14.2 (x86_64-pc-linux-gnu) ( ) ) ";
    out.clear();
    Hello::parse(list(line)).expect("a hello").write(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), line);

    for line in [
        "( success ( ( ANONYMOUS CRAM-MD5 ) 10:spec realm ) ) ",
        "( success ( ( ) 0: ) ) ",
    ] {
        out.clear();
        AuthRequest::parse(success(line))
            .expect("a request")
            .write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), line);
    }

    let line = "( success ( 36:1e720ca1-2b32-468a-a59c-86dc9761d31f 26:svn://127.0.0.1:13691/repo ( mergeinfo ) ) ) ";
    out.clear();
    ReposInfo::parse(success(line))
        .expect("an introduction")
        .write(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), line);

    for line in [
        "( CRAM-MD5 ( ) ) ",
        "( ANONYMOUS ( 17:YW5vbnltb3VzQHZt\n ) ) ",
        "( EXTERNAL ( 0: ) ) ",
    ] {
        out.clear();
        AuthResponse::parse(list(line)).expect("a choice").write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), line);
    }
    for line in [
        "( step ( 41:<4004953031600893999.1795288920230950@vm> ) ) ",
        "( success ( ) ) ",
        "( failure ( 33:Requested username does not match ) ) ",
    ] {
        out.clear();
        AuthAnswer::parse(list(line)).expect("an answer").write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), line);
    }
}

#[test]
fn the_recorded_logins_check() {
    for (challenge, answer) in [
        (
            "<4004953031600893999.1795288920230950@vm>",
            "alice 73304d39e77e467c2bf6e9d18d3dd4bd",
        ),
        (
            "<2222651428546428458.1795288921839833@vm>",
            "alice bc9022194eddea3a40f8d5f8f34606e7",
        ),
    ] {
        let known = cram_check(answer.as_bytes(), challenge.as_bytes(), |_| {
            Some(b"secret".to_vec())
        });
        assert_eq!(known, Ok("alice"));
    }
}

#[test]
fn failures_are_read() {
    for (line, code, text) in [
        (
            "( failure ( ( 160028 34:File '/trunk/a.txt' is out of date 0: 0 ) ) ) ",
            160_028,
            "File '/trunk/a.txt' is out of date",
        ),
        ("( failure ( ( 12345 4:oops 0: 0 ) ) ) ", 12345, "oops"),
    ] {
        match Response::parse(list(line)) {
            Ok(Response::Failure(error)) => {
                assert_eq!((error.code().0, error.message().as_str()), (code, text));
            }
            other => panic!("{other:?}"),
        }
    }
}
