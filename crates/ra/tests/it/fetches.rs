//! Texts that are fetched in a pipeline, from servers that close connections, refuse a request, or ask for a password in between.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::{Code, Error, Result, Url};
use delta::RecordingEditor;
use ra::{FixedPassword, Limits, OpenOptions};

use crate::access::password;
use crate::fake_http::{FakeServer, options, response, xml};
use crate::hostile_http::check_out_into;

const FILES: usize = 100;

/// How the server answers the request for a text, by the number of the file and that of the request.
type Answer = dyn Fn(usize, usize) -> Vec<u8> + Send + Sync;

/// Long enough for several reads of some files.
fn text(file: usize) -> Vec<u8> {
    let line = format!("file {file}\n");
    line.repeat(if file % 9 == 4 { 30_000 } else { file })
        .into_bytes()
}

fn plain(file: usize) -> Vec<u8> {
    response("200 OK", "", &text(file))
}

/// Checks out the tree, whose texts are answered by `answer`. Returns the calls of the editor, how that ended, and the number of requests for
/// texts.
fn check_out(
    answer: impl Fn(usize, usize) -> Vec<u8> + Send + Sync + 'static,
) -> (Vec<String>, Result<()>, usize) {
    let answer: Arc<Answer> = Arc::new(answer);
    let mut edit = String::from(
        "<S:update-report xmlns:S=\"svn:\" xmlns:D=\"DAV:\" inline-props=\"true\"><S:target-revision rev=\"5\"/>\
         <S:open-directory rev=\"5\">",
    );
    for file in 0..FILES {
        edit += &format!(
            "<S:add-file name=\"f{file}\"><D:checked-in><D:href>/r/!svn/rvr/5/f{file}</D:href></D:checked-in></S:add-file>"
        );
    }
    edit += "</S:open-directory></S:update-report>";
    let requests = AtomicUsize::new(0);
    let server = FakeServer::start(move |head| {
        let mut words = head.split(' ');
        match (words.next(), words.next()) {
            (Some("OPTIONS"), _) => options(),
            (Some("GET"), Some(path)) => {
                let file = path.rsplit_once("/f").map(|(_, number)| number.parse());
                let file = file.expect("a file").expect("its number");
                answer(file, requests.fetch_add(1, Ordering::Relaxed))
            }
            _ => xml("200 OK", &edit),
        }
    });
    let options = OpenOptions {
        limits: Limits {
            idle: Duration::from_secs(2),
            ..Limits::default()
        },
        credentials: Arc::new(FixedPassword(password("secret"))),
        ..OpenOptions::default()
    };
    let url = Url::canonicalize(&server.url("/r")).expect("a URL");
    let mut session = ra::open(&url, &options).expect("this server begins well");
    let mut editor = RecordingEditor::new();
    let outcome = check_out_into(&mut *session, &mut editor);
    let fetched = server
        .requests()
        .iter()
        .filter(|head| head.starts_with("GET"))
        .count();
    (editor.lines().to_vec(), outcome, fetched)
}

/// Returns the lines about texts, without the number of windows.
fn texts(lines: &[String]) -> Vec<String> {
    let texts = lines.iter().filter(|line| line.starts_with("text "));
    texts
        .map(|line| line.split(" in ").next().unwrap_or_default().to_owned())
        .collect()
}

fn code(outcome: Result<()>) -> Code {
    let error: Error = outcome.expect_err("the server failed");
    error.root_cause().code()
}

#[test]
fn all_texts_arrive_in_order_whatever_the_server_does_to_its_connections() {
    let (lines, outcome, fetched) = check_out(|file, _| plain(file));
    outcome.expect("a good server");
    assert_eq!(fetched, FILES);
    let expected = texts(&lines);
    assert_eq!(expected.len(), FILES, "{lines:?}");

    let closing = |file, request: usize| match request % 7 {
        6 => response("200 OK", "Connection: close\r\n", &text(file)),
        _ => plain(file),
    };
    let lost = |file, request: usize| match request % 7 {
        6 => Vec::new(),
        _ => plain(file),
    };
    let counted = |file, request: usize| {
        response(
            "200 OK",
            &format!("Keep-Alive: max={}\r\n", 5 - request % 6),
            &text(file),
        )
    };
    let challenged = |file, request: usize| match request {
        20 | 33 => response(
            "401 Unauthorized",
            "WWW-Authenticate: Basic realm=\"r\"\r\n",
            b"no",
        ),
        _ => plain(file),
    };
    let unpacked = |file, _| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&text(file)).expect("into memory");
        let packed = packed.finish().expect("into memory");
        response("200 OK", "Content-Encoding: gzip\r\n", &packed)
    };
    let chunked = |file, _| {
        let mut out = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in text(file).chunks(1000) {
            write!(out, "{:x}\r\n", chunk.len()).expect("into memory");
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"0\r\n\r\n");
        out
    };
    let old = |file, _| {
        [
            b"HTTP/1.0 200 OK\r\n",
            plain(file).split_at(b"HTTP/1.1 200 OK\r\n".len()).1,
        ]
        .concat()
    };
    let cases: [(&str, Box<Answer>); 7] = [
        ("closing", Box::new(closing)),
        ("lost", Box::new(lost)),
        ("counted", Box::new(counted)),
        ("challenged", Box::new(challenged)),
        ("gzip", Box::new(unpacked)),
        ("chunked", Box::new(chunked)),
        ("HTTP/1.0", Box::new(old)),
    ];
    for (name, answer) in cases {
        let (lines, outcome, fetched) = check_out(answer);
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
        assert_eq!(texts(&lines), expected, "{name}");
        assert!(fetched >= FILES, "{name}: {fetched}");
    }
}

#[test]
fn the_first_text_that_fails_ends_the_edit() {
    let refused = |file, _| match file {
        50 => response("404 Not Found", "", b""),
        _ => plain(file),
    };
    let no_response = |file, _| match file {
        50 => b"this is no response\r\n\r\n".to_vec(),
        _ => plain(file),
    };
    let damaged = |file, _| match file {
        50 => response("200 OK", "Content-Encoding: gzip\r\n", &text(50)),
        _ => plain(file),
    };
    let cases: [(&str, Box<Answer>, Option<Code>); 3] = [
        ("refused", Box::new(refused), Some(Code::FS_NOT_FOUND)),
        (
            "no response",
            Box::new(no_response),
            // The number of the HTTP library's error.
            Some(Code(120_105)),
        ),
        ("damaged", Box::new(damaged), None),
    ];
    for (name, answer, expected) in cases {
        let (lines, outcome, _) = check_out(answer);
        let found = code(outcome);
        assert!(
            expected.is_none_or(|expected| expected == found),
            "{name}: {found:?}"
        );
        let whole = texts(&lines).len();
        assert!((50..=51).contains(&whole), "{name}: {whole} texts");
    }
}

#[test]
fn a_text_whose_connection_is_lost_goes_on_with_another_one() {
    let expected = texts(&check_out(|file, _| plain(file)).0);
    for (times, is_whole) in [(1, true), (usize::MAX, false)] {
        // An empty response closes the connection, behind one that has not all of its bytes.
        let cut = AtomicUsize::new(0);
        let (lines, outcome, _) = check_out(move |file, _| match file {
            49 if cut.fetch_add(1, Ordering::Relaxed) < times => {
                let mut whole = plain(49);
                whole.truncate(whole.len() - 3);
                whole
            }
            50 if cut.load(Ordering::Relaxed) < 2 => Vec::new(),
            _ => plain(file),
        });
        let texts = texts(&lines);
        match is_whole {
            true => {
                outcome.expect("the second response is whole");
                assert_eq!(texts, expected);
            }
            false => {
                assert_eq!(code(outcome), Code::RA_DAV_CONN_TIMEOUT);
                assert_eq!(texts.len(), 49);
            }
        }
    }
}
