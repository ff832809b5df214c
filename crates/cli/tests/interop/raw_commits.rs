//! Raw svn:// commits: errors within a pipelined edit, and many commits at the same time.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use testkit::normalize::{mask_dates, mask_uuids};
use testkit::probe::read_some;
use testkit::{Side, Tool, sample};

use crate::pair::compare;
use crate::raw::at_once;
use crate::twins::Twins;

const OPEN_TO_ALL: &str = "[general]\nanon-access = write\n";

/// Sends the greeting and each part of `input` (parts end with `|`). Returns all received bytes.
fn send_and_receive(port: u16, input: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("because it listens");
    let patience = Some(Duration::from_millis(300));
    stream.set_read_timeout(patience).expect("because it is a socket");
    let url = format!("svn://127.0.0.1:{port}/repo");
    let hello = format!(
        "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ) {}:{url} 4:test ( ) ) ( ANONYMOUS ( 0: ) ) ",
        url.len()
    );
    let mut received = String::new();
    let input = hello + input;
    let mut parts = input.split('|').peekable();
    while let Some(part) = parts.next() {
        // The server may have closed the connection.
        _ = stream.write_all(part.as_bytes());
        if parts.peek().is_none() {
            _ = stream.shutdown(std::net::Shutdown::Write);
            _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
        }
        let mut piece = [0; 65536];
        while let Ok(len @ 1..) = read_some(&mut stream, &mut piece) {
            received += &String::from_utf8_lossy(&piece[..len]);
        }
        received.push('|');
    }
    mask_dates(&mask_uuids(&received.replace(&format!(":{port}"), ":PORT")))
}

/// Returns the responses of both servers, Subversion's first.
fn responses_of_both(twins: &Twins, input: &str) -> [String; 2] {
    let [theirs, ours] = twins.both().each_ref().map(|twin| twin.server.port());
    thread::scope(|scope| {
        let theirs = scope.spawn(|| send_and_receive(theirs, input));
        let ours = send_and_receive(ours, input);
        [theirs.join().expect("because nothing in it panics"), ours]
    })
}

/// Replaces the name of a transaction in a message.
fn mask_transaction(response: &str) -> String {
    match response.split_once("transaction '") {
        Some((before, after)) => {
            let name = after.find('\'').unwrap_or(0);
            format!("{before}transaction 'TXN{}", &after[name..])
        }
        None => response.to_owned(),
    }
}

#[test]
fn errors_in_the_middle_of_an_edit() {
    let begin = "( commit ( 1:m ( ) false ( ) ) ) |( open-root ( ( 1 ) 1:r ) ) ";
    let twins = Twins::with(&[("svnserve.conf", OPEN_TO_ALL)], &[]);
    let mut differ = Vec::new();
    let rests = [
        // The rest is sent at once, with different ends of the edit.
        "( add-dir ( 1:A 1:r 1:a ( ) ) ) ( add-dir ( 3:A/n 1:a 1:n ( ) ) ) ( close-edit ( ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( add-dir ( 1:A 1:r 1:a ( ) ) ) |( close-dir ( 1:a ) ) |( abort-edit ( ) ) |( get-latest-rev ( ) ) ",
        "( delete-entry ( 4:nope ( 1 ) 1:r ) ) ( nonsense ( ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( delete-entry ( 4:iota ( 0 ) 1:r ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( delete-entry ( 4:iota ( 99 ) 1:r ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( delete-entry ( 4:iota ( 1 ) 1:x ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( delete-entry ( 0: ( 1 ) 1:r ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-dir ( 4:nope 1:r 1:a ( 1 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-dir ( 4:iota 1:r 1:a ( 1 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 4:nope 1:r 1:f ( 1 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 1:A 1:r 1:f ( 1 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 4:iota 1:r 1:f ( 0 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 4:iota 1:r 1:f ( 1 ) ) ) ( apply-textdelta ( 1:f ( 32:00000000000000000000000000000000 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 4:iota 1:r 1:f ( 1 ) ) ) ( apply-textdelta ( 1:f ( 3:abc ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 4:iota 1:r 1:f ( 1 ) ) ) ( apply-textdelta ( 1:f ( ) ) ) ( textdelta-chunk ( 1:f 4:junk ) ) ( textdelta-end ( 1:f ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 4:iota 1:r 1:f ( 1 ) ) ) ( apply-textdelta ( 1:f ( ) ) ) ( textdelta-chunk ( 1:f 4:SVN\0 ) ) ( textdelta-end ( 1:f ) ) ( close-file ( 1:f ( 32:00000000000000000000000000000000 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 4:iota 1:r 1:f ( 1 ) ) ) ( apply-textdelta ( 1:f ( ) ) ) ( textdelta-chunk ( 1:f 4:SVN\0 ) ) ( textdelta-end ( 1:f ) ) ( close-file ( 1:f ( 32:11111111111111111111111111111111 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 4:iota 1:r 1:f ( 1 ) ) ) ( textdelta-chunk ( 1:f 4:SVN\0 ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( open-file ( 4:iota 1:r 1:f ( 1 ) ) ) ( apply-textdelta ( 1:f ( ) ) ) ( textdelta-chunk ( 1:f 13:SVN\0\0\u{5}\u{3}\u{1}\0\u{83}abc ) ) ( textdelta-end ( 1:f ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( add-file ( 4:iota 1:r 1:f ( ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( add-file ( 3:a\u{1}b 1:r 1:f ( ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( add-file ( 6:no/way 1:r 1:f ( ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( add-file ( 6:iota/x 1:r 1:f ( ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( add-file ( 1:n 1:r 1:f ( 12:svn://x/repo 1 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( add-file ( 1:n 1:r 1:f ( 4:nope 1 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( add-dir ( 1:A 1:r 1:a ( ) ) ) ( abort-edit ( ) ) ",
        "( change-dir-prop ( 1:r 8:svn:date ( 1:x ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( change-dir-prop ( 1:r 7:svn:foo ( 2:\r\n ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( change-dir-prop ( 1:r 10:svn:ignore ( 3:a\r\n ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( change-dir-prop ( 1:r 13:svn:mergeinfo ( 4:junk ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( change-dir-prop ( 1:r 13:svn:mergeinfo ( 6:/A:3-1 ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( change-dir-prop ( 1:r 12:svn:wc:other ( 1:x ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( change-dir-prop ( 1:x 1:p ( 1:x ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( close-dir ( 1:x ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( close-file ( 1:r ( ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( absent-dir ( 1:x 1:r ) ) ( absent-file ( 1:y 1:r ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( target-rev ( 7 ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( get-latest-rev ( ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        // Invalid protocol: the connection ends.
        "( add-dir ( x",
        ") ",
        "( add-dir ( 1:n ) ) ",
        "( add-dir ( 1:A 1:r 1:a ( ) ) ) |( x ",
    ];
    let rests: Vec<&str> = sample(2, rests).collect();
    // Transactions get their numbers in another order.
    let masked = |rest: &&str| {
        let responses = responses_of_both(&twins, &format!("{begin}{rest}"));
        responses.map(|response| mask_transaction(&response))
    };
    for (rest, mut responses) in rests.iter().zip(at_once(&rests, masked)) {
        // A pause of a busy machine can cause a difference.
        for _ in 0..2 {
            if responses[0] != responses[1] {
                responses = masked(rest);
            }
        }
        let [theirs, ours] = responses;
        if theirs != ours {
            differ.push(format!("{rest}\n{theirs}\n{ours}\n"));
        }
    }
    let inputs = [
        "( commit ( 1:m ( ) false ( ) ) ) |( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( commit ( 1:m ( ) false ( ) ) ) |( close-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( commit ( 1:m ( ) false ( ) ) ) |( open-root ( ( 99 ) 1:r ) ) ( close-edit ( ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( commit ( 1:m ( ) false ( ) ) ) |( add-dir ( 1:n 1:r 1:a ( ) ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( commit ( 1:m ( ( 4:iota 3:xyz ) ) false ( ) ) ) ( get-latest-rev ( ) ) ",
        "( commit ( 1:m ( ) false ( ( 8:svn:date 4:junk ) ) ) ) |( open-root ( ( 1 ) 1:r ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( commit ( 1:m ( ) false ( ( 7:svn:log 2:\r\n ) ) ) ) |( open-root ( ( 1 ) 1:r ) ) ( abort-edit ( ) ) ( get-latest-rev ( ) ) ",
        "( commit ( 1:m ( ) false ( ( 13:svn:txn-thing 1:x ) ) ) ) |( open-root ( ( 1 ) 1:r ) ) ( close-dir ( 1:r ) ) ( close-edit ( ) ) |( rev-proplist ( 2 ) ) ",
        "( commit ( 3:old ) ) |( open-root ( ( ) 1:r ) ) ( add-dir ( 3:old 1:r 1:a ( ) ) ) ( close-dir ( 1:a ) ) ( close-dir ( 1:r ) ) ( close-edit ( ) ) |",
        "( commit ( 5:early ( ) false ( ) ) ) |( open-root ( ( ) 1:r ) ) ( add-dir ( 5:early 1:r 1:a ( ) ) ) ( close-edit ( ) ) |( get-latest-rev ( ) ) ",
        "( commit ( 2:kf ( ) false ( ) ) ) |( open-root ( ( ) 1:r ) ) ( add-file ( 2:kf 1:r 1:f ( ) ) ) ( close-edit ( ) ) |( get-latest-rev ( ) ) ",
        "( change-rev-prop ( 1 1:p ( 1:v ) ) ) ( change-rev-prop2 ( 1 1:p ( 1:v ) ( true 1:x ) ) ) ( change-rev-prop2 ( 1 1:p ( ) ( false ) ) ) ",
        "( lock ( 4:iota ( ) false ( ) ) ) ( unlock ( 4:iota ( ) false ) ) ( unlock ( 4:iota ( ) true ) ) ",
        "( unlock-many ( true ( ) ) ) ",
    ];
    for input in sample(2, inputs) {
        let responses_of_both = responses_of_both(&twins, input);
        // Pairs of a property list have no defined order.
        let words = responses_of_both.each_ref().map(|response| {
            let mut words: Vec<&str> = response.split(' ').collect();
            words.sort_unstable();
            words
        });
        if words[0] != words[1] {
            differ.push(format!(
                "{input}\n{}\n{}\n",
                responses_of_both[0], responses_of_both[1]
            ));
        }
    }
    assert!(differ.is_empty(), "{}", differ.concat());
    // The incumbent leaves transactions when a connection is lost.
    let left = twins.both().each_ref().map(|twin| {
        let left = twin.left();
        let (repository, transactions) = left.split_once("\ntransactions:\n").unwrap_or((&left, ""));
        (repository.to_owned(), transactions.to_owned())
    });
    compare(&left[0].0, &left[1].0);
    assert_eq!(left[1].1, "0");
}

#[test]
fn concurrent_commits_to_one_path_and_to_many() {
    const COMMITTERS: usize = 200;
    let twins = Twins::with(&[("svnserve.conf", OPEN_TO_ALL)], &[]);
    let ours = &twins.both()[1];
    assert_eq!(ours.side, Side::Ours);
    let port = ours.server.port();
    let all: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = (0..COMMITTERS)
            .map(|number| scope.spawn(move || commit(port, &format!("n{number:03}"))))
            .collect();
        let received = running.into_iter().map(|one| one.join());
        received
            .map(|one| one.expect("because nothing in it panics"))
            .collect()
    });
    let mut revs: Vec<u64> = all
        .iter()
        .map(|received| {
            let info = received
                .rsplit_once("( success ( ( ) 0: ) ) ( ")
                .map(|(_, info)| info);
            let rev = info.and_then(|info| info.split(' ').next()?.parse().ok());
            rev.unwrap_or_else(|| panic!("refused: {received}"))
        })
        .collect();
    revs.sort_unstable();
    assert_eq!(revs, (2..COMMITTERS as u64 + 2).collect::<Vec<_>>());
    // One path: one commit succeeds, the others get the same error as from Subversion.
    let all: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = (0..8)
            .map(|_| scope.spawn(move || commit(port, "same")))
            .collect();
        let received = running.into_iter().map(|one| one.join());
        received
            .map(|one| one.expect("because nothing in it panics"))
            .collect()
    });
    let refused = |received: &&String| received.contains(" 160020 ") || received.contains(" 160024 ");
    assert_eq!(all.iter().filter(refused).count(), 7, "{all:?}");
    let storage = ours.server.storage();
    storage.bring_back(&ours.path);
    Tool::new("svnadmin").args(["verify", "-q"]).arg(&ours.path).ok();
    for directory in storage.own_directories(&ours.path) {
        let left = fs::read_dir(directory.join("db/transactions")).expect("because it is a repository");
        assert_eq!(left.count(), 0);
    }
}

/// Commits a new directory and returns all received bytes.
fn commit(port: u16, name: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("because it listens");
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).expect("because it is a socket");
    let url = format!("svn://127.0.0.1:{port}/repo");
    let len = name.len();
    let input = format!(
        "( 2 ( edit-pipeline svndiff1 depth log-revprops ) {}:{url} 4:test ( ) ) ( ANONYMOUS ( 0: ) ) \
         ( commit ( 1:m ( ) false ( ) ) ) ( open-root ( ( ) 1:r ) ) ( add-dir ( {len}:{name} 1:r 1:a ( ) ) ) \
         ( close-dir ( 1:a ) ) ( close-dir ( 1:r ) ) ( close-edit ( ) ) ( abort-edit ( ) ) ",
        url.len()
    );
    _ = stream.write_all(input.as_bytes());
    _ = stream.shutdown(std::net::Shutdown::Write);
    let mut received = Vec::new();
    _ = stream.read_to_end(&mut received);
    String::from_utf8_lossy(&received).into_owned()
}

/// Commits by two hundred processes of the stock client.
#[test]
fn two_hundred_clients_commit_at_once() {
    let twins = Twins::with(&[("svnserve.conf", OPEN_TO_ALL)], &[]);
    let ours = &twins.both()[1];
    let url = ours.url();
    let commits: Vec<_> = (0..200)
        .map(|number| {
            let target = format!("{url}/p{number:03}");
            let svn = Tool::new("svn").args(["mkdir", "-m", &format!("number {number}"), &target]);
            let mut command = svn.args(["--non-interactive", "--no-auth-cache"]).command();
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("because svn is installed")
        })
        .collect();
    let mut revs = Vec::new();
    for commit in commits {
        let output = commit.wait_with_output().expect("because it runs");
        let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rev = output_text.rsplit("Committed revision ").next();
        let rev = rev.and_then(|rest| rest.trim().trim_end_matches('.').parse::<u64>().ok());
        revs.push(rev.unwrap_or_else(|| panic!("refused: {output:?}")));
    }
    revs.sort_unstable();
    assert_eq!(revs, (2..202).collect::<Vec<_>>());
    let storage = ours.server.storage();
    storage.bring_back(&ours.path);
    Tool::new("svnadmin").args(["verify", "-q"]).arg(&ours.path).ok();
    for directory in storage.own_directories(&ours.path) {
        let left = fs::read_dir(directory.join("db/transactions")).expect("because it is a repository");
        assert_eq!(left.count(), 0);
    }
}
