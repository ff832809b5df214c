//! HTTP servers that end early, send malformed or endless responses, or want a password that is not theirs.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::{Code, Depth, Error, RelPath, Result, Revnum, Url};
use delta::RecordingEditor;
use ra::{
    DirentFields, FileRequest, FixedPassword, Limits, ListRequest, LogRequest, OpenOptions, PathState,
    ReplayOptions, ReportKind, ReportRequest, Reporter, Session,
};

use crate::access::password;
use crate::fake_http::{FakeServer, options, response, xml};

/// Limits that a test reaches.
fn small() -> OpenOptions {
    OpenOptions {
        limits: Limits {
            message: 1 << 20,
            idle: Duration::from_millis(600),
            ..Limits::default()
        },
        ..OpenOptions::default()
    }
}

fn open(server: &FakeServer, options: &OpenOptions) -> Result<Box<dyn Session>> {
    let url = Url::canonicalize(&server.url("/r")).expect("a URL");
    ra::open(&url, options)
}

/// Opens a session with a server that answers everything but `OPTIONS` by `bytes`.
fn session(bytes: Vec<u8>) -> Box<dyn Session> {
    let server = FakeServer::start(move |head| match head.starts_with("OPTIONS") {
        true => options(),
        false => bytes.clone(),
    });
    open(&server, &small()).expect("this server begins well")
}

fn code<T>(result: Result<T>) -> Code {
    let error: Error = result.err().expect("a hostile server");
    error.root_cause().code()
}

fn log(session: &mut dyn Session) -> Result<()> {
    let request = LogRequest {
        start: Some(Revnum(5)),
        end: Some(Revnum(0)),
        ..LogRequest::default()
    };
    session.log(&request, &mut |_| Ok(()))
}

/// Checks out revision 5.
pub fn check_out_into(session: &mut dyn Session, editor: &mut RecordingEditor) -> Result<()> {
    let request = ReportRequest {
        kind: ReportKind::Update {
            send_copyfrom: false,
            ignore_ancestry: false,
        },
        rev: Some(Revnum(5)),
        target: "",
        depth: Depth::Infinity,
    };
    let mut state =
        |reporter: &mut dyn Reporter| reporter.set_path(&RelPath::empty(), &PathState::empty(Revnum(5)));
    session.report(&request, &mut state, editor)
}

fn check_out(session: &mut dyn Session) -> Result<Vec<String>> {
    let mut editor = RecordingEditor::new();
    check_out_into(session, &mut editor)?;
    Ok(editor.lines().to_vec())
}

const ABORTED: Code = Code(120_108);
const IMPROPER: Code = Code(120_105);

#[test]
fn each_fault_at_the_start_has_its_number() {
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "X-A: b\r\n".repeat(100_000));
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let elsewhere = String::from_utf8(options())
        .expect("text")
        .replace("Root: /r", "Root: /other");
    for (bytes, expected) in [
        (Vec::new(), ABORTED),
        (b"garbage!\r\n\r\n".to_vec(), IMPROPER),
        (endless.into_bytes(), Code::RA_DAV_MALFORMED_DATA),
        (long.into_bytes(), Code::RA_DAV_MALFORMED_DATA),
        (response("200 OK", "", b""), Code::RA_DAV_OPTIONS_REQ_FAILED),
        (response("404 Not Found", "", b""), Code::FS_NOT_FOUND),
        (response("403 Forbidden", "", b""), Code::RA_DAV_FORBIDDEN),
        (elsewhere.into_bytes(), Code::RA_DAV_MALFORMED_DATA),
        (
            response("301 Moved", "", b""),
            Code::RA_DAV_RESPONSE_HEADER_BADNESS,
        ),
        (
            response("301 Moved", "Location: /r\r\n", b""),
            Code::CLIENT_CYCLE_DETECTED,
        ),
        (
            response("301 Moved", "Location: file:///etc\r\n", b""),
            Code::RA_DAV_RELOCATED,
        ),
        (
            response("302 Found", "Location: /x\r\n", b""),
            Code::RA_SESSION_URL_MISMATCH,
        ),
        (response("401 No", "", b""), Code(120_191)),
        (
            response("401 No", "WWW-Authenticate: NTLM\r\n", b""),
            Code(120_191),
        ),
    ] {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let server = FakeServer::start(move |_| bytes.clone());
        assert_eq!(code(open(&server, &small())), expected, "{shown}");
    }
}

#[test]
fn each_fault_of_a_report_has_its_number() {
    let begin = "<S:log-report xmlns:S=\"svn:\" xmlns:D=\"DAV:\">";
    let deep = format!("{begin}{}", "<S:log-item>".repeat(100_000));
    let endless = format!("{begin}<S:log-item><D:comment>{}", "x".repeat(2 << 20));
    let many = format!("{begin}<S:log-item>{}", "<S:revprop name=\"a\"/>".repeat(50_000));
    let truncated = format!("{begin}<S:log-item>");
    let entity = format!("<!DOCTYPE x [<!ENTITY a \"b\">]>{begin}</S:log-report>");
    for (body, expected) in [
        (deep.as_str(), Code::XML_MALFORMED),
        (&endless, Code::XML_MALFORMED),
        (&many, Code::XML_MALFORMED),
        (&truncated, Code::XML_MALFORMED),
        (&entity, Code::XML_MALFORMED),
        ("", Code::RA_DAV_MALFORMED_DATA),
        ("<a></b>", Code::XML_MALFORMED),
    ] {
        let mut session = session(xml("200 OK", body));
        assert_eq!(
            code(log(&mut *session)),
            expected,
            "{}",
            &body[..body.len().min(80)]
        );
        // Another connection still works.
        assert!(session.is_usable());
        session.latest_revision().expect("the session is usable");
    }
    let mut cut = xml("200 OK", &format!("{begin}</S:log-report>"));
    cut.truncate(cut.len() - 5);
    cut.extend_from_slice(b"");
    let server = FakeServer::start(move |head| match head.starts_with("OPTIONS") {
        true => options(),
        false => cut.clone(),
    });
    // The server waits, and so does the client, but not for ever.
    let mut waiting = open(&server, &small()).expect("this server begins well");
    assert_eq!(code(log(&mut *waiting)), Code::RA_DAV_CONN_TIMEOUT);
    let refused = xml(
        "404 Not Found",
        "<D:error xmlns:D=\"DAV:\" xmlns:m=\"http://apache.org/dav/xmlns\"><m:human-readable errcode=\"160006\">\nNo such \
         revision 9\n</m:human-readable></D:error>",
    );
    let error = log(&mut *session(refused)).expect_err("refused");
    assert_eq!(
        (error.code(), error.message().as_str()),
        (Code::FS_NO_SUCH_REVISION, "No such revision 9")
    );
}

#[test]
fn a_compression_bomb_ends_at_the_limit() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed
        .write_all(b"<S:log-report xmlns:S=\"svn:\" xmlns:D=\"DAV:\"><S:log-item><D:comment>")
        .expect("memory");
    for _ in 0..256 {
        packed.write_all(&[b'x'; 1 << 20]).expect("memory");
    }
    let packed = packed.finish().expect("memory");
    let bomb = response(
        "200 OK",
        "Content-Type: text/xml\r\nContent-Encoding: gzip\r\n",
        &packed,
    );
    assert_eq!(code(log(&mut *session(bomb))), Code::XML_MALFORMED);
    let item = "<S:log-item><D:version-name>5</D:version-name></S:log-item>".repeat(20_000);
    let text = format!("<S:log-report xmlns:S=\"svn:\" xmlns:D=\"DAV:\">{item}</S:log-report>");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(text.as_bytes()).expect("memory");
    let packed = packed.finish().expect("memory");
    let headers = "Content-Type: text/xml\r\nContent-Encoding: gzip\r\n";
    let request = LogRequest {
        start: Some(Revnum(5)),
        end: Some(Revnum(0)),
        ..LogRequest::default()
    };
    let mut count = 0;
    let read = session(response("200 OK", headers, &packed)).log(&request, &mut |_| {
        count += 1;
        Ok(())
    });
    read.expect("a good response");
    assert_eq!(count, 20_000);
    let broken = response(
        "200 OK",
        "Content-Type: text/xml\r\nContent-Encoding: gzip\r\n",
        b"no gzip at all",
    );
    assert!(log(&mut *session(broken)).is_err());
}

#[test]
fn names_of_an_edit_stay_below_their_directory() {
    let edit = |inner: &str| {
        let text = format!(
            "<S:update-report xmlns:S=\"svn:\" xmlns:V=\"http://subversion.tigris.org/xmlns/dav/\" xmlns:D=\"DAV:\" \
             send-all=\"true\"><S:target-revision rev=\"5\"/><S:open-directory rev=\"5\">{inner}</S:open-directory>\
             </S:update-report>"
        );
        xml("200 OK", &text)
    };
    for name in ["..", ".", "", "a/b", "/etc", "a/../../b"] {
        for element in [
            "add-directory",
            "add-file",
            "open-directory",
            "open-file",
            "delete-entry",
            "absent-file",
        ] {
            let bytes = edit(&format!("<S:{element} name=\"{name}\" rev=\"1\"></S:{element}>"));
            let found = code(check_out(&mut *session(bytes)));
            assert_eq!(found, Code::RA_DAV_MALFORMED_DATA, "{element} {name}");
        }
    }
    let good = "<S:add-directory name=\"a\"><S:add-file name=\"b\"><S:txdelta>U1ZOAA==</S:txdelta></S:add-file>\
                </S:add-directory>";
    check_out(&mut *session(edit(good))).expect("a good edit");
    for inner in [
        // Not base64, not svndiff, cut svndiff, a text of a directory, a wrong end.
        "<S:add-file name=\"b\"><S:txdelta>!!!!</S:txdelta></S:add-file>",
        "<S:add-file name=\"b\"><S:txdelta>AAAA</S:txdelta></S:add-file>",
        "<S:add-file name=\"b\"><S:txdelta>U1Y=</S:txdelta></S:add-file>",
        "<S:txdelta>U1ZOAA==</S:txdelta>",
        "<S:add-file name=\"b\"></S:add-directory>",
        "<S:add-file name=\"b\"><S:add-file name=\"c\"/></S:add-file>",
    ] {
        assert!(check_out(&mut *session(edit(inner))).is_err(), "{inner}");
    }
    let replay = |inner: &str| {
        let bytes = xml(
            "200 OK",
            &format!("<S:editor-report xmlns:S=\"svn:\"><S:open-root rev=\"-1\"/>{inner}</S:editor-report>"),
        );
        let options = ReplayOptions {
            low_water_mark: Revnum(0),
            send_deltas: true,
        };
        session(bytes).replay(Revnum(5), &options, &mut RecordingEditor::new())
    };
    for name in ["../x", "a/b", "", "a/../../b"] {
        let found = code(replay(&format!("<S:add-file name=\"{name}\"/><S:close-file/>")));
        assert_eq!(found, Code::RA_DAV_MALFORMED_DATA, "{name}");
    }
    replay("<S:add-file name=\"a\"/><S:close-file/><S:close-directory/>").expect("a good edit");
    let request = ListRequest {
        path: &RelPath::canonicalize("d").expect("a path"),
        rev: Some(Revnum(5)),
        depth: Depth::Infinity,
        fields: DirentFields::ALL,
        patterns: None,
    };
    for path in ["/elsewhere", "/d/../x", "d"] {
        let bytes = xml(
            "200 OK",
            &format!(
                "<S:list-report xmlns:S=\"svn:\"><S:item node-kind=\"file\">{path}</S:item></S:list-report>"
            ),
        );
        let listed = session(bytes).list(&request, &mut |_, _| Ok(()));
        assert_eq!(code(listed), Code::RA_DAV_MALFORMED_DATA, "{path}");
    }
}

#[test]
fn a_text_must_have_its_digest() {
    let found = |hex: &str| {
        xml(
            "207 Multi-Status",
            &format!(
                "<D:multistatus xmlns:D=\"DAV:\" xmlns:V=\"http://subversion.tigris.org/xmlns/dav/\"><D:response>\
                 <D:href>/r/f</D:href><D:propstat><D:prop><D:resourcetype/><V:md5-checksum>{hex}</V:md5-checksum></D:prop>\
                 <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>"
            ),
        )
    };
    let read = |hex: &'static str| {
        let server = FakeServer::start(move |head| match head.split(' ').next() {
            Some("OPTIONS") => options(),
            Some("PROPFIND") => found(hex),
            _ => response("200 OK", "", b"hello\n"),
        });
        let path = RelPath::canonicalize("f").expect("a path");
        let request = FileRequest {
            path: &path,
            rev: Some(Revnum(5)),
            props: false,
            text: true,
        };
        open(&server, &small())?
            .file(&request, &mut |_, _| Ok(()))
            .map(drop)
    };
    read("b1946ac92492d2347c6235b4d2611184").expect("this is its digest");
    let wrong = read("b1946ac92492d2347c6235b4d2611185");
    assert_eq!(code(wrong), Code::CHECKSUM_MISMATCH);
    assert_eq!(code(read("zzz")), Code::RA_DAV_MALFORMED_DATA);
}

#[test]
fn a_password_is_not_sent_where_a_server_redirects() {
    let challenge = || response("401 Unauthorized", "WWW-Authenticate: Basic realm=\"r\"\r\n", b"");
    let thief = Arc::new(FakeServer::start(move |_| challenge()));
    let location = thief.url("/r");
    let first =
        FakeServer::start(
            move |head| match head.to_ascii_lowercase().contains("\r\nauthorization:") {
                false => challenge(),
                true => response("301 Moved", &format!("Location: {location}\r\n"), b""),
            },
        );
    let options = OpenOptions {
        credentials: Arc::new(FixedPassword(password("secret"))),
        ..small()
    };
    let error = open(&first, &options)
        .err()
        .expect("no password for the other host");
    assert_eq!(error.root_cause().code(), Code::AUTHN_FAILED);
    let message = format!("Unable to connect to a repository at URL '{}'", thief.url("/r"));
    assert_eq!(error.message(), message);
    assert!(
        first
            .requests()
            .iter()
            .any(|head| head.to_ascii_lowercase().contains("\r\nauthorization:"))
    );
    let seen = thief.requests();
    assert!(!seen.is_empty(), "the redirect was followed");
    for head in seen {
        assert!(!head.to_ascii_lowercase().contains("authorization"), "{head}");
    }
    // A caller may forbid redirects.
    let none = OpenOptions {
        redirects: 0,
        ..options
    };
    assert_eq!(code(open(&first, &none)), Code::RA_SESSION_URL_MISMATCH);
}

#[test]
fn a_server_that_never_accepts_a_password_is_given_up() {
    for challenge in [
        "Basic realm=\"r\"",
        "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", stale=true",
        "Digest realm=\"r\", nonce=\"n\"",
    ] {
        let server = FakeServer::start(move |_| {
            response(
                "401 Unauthorized",
                &format!("WWW-Authenticate: {challenge}\r\n"),
                b"",
            )
        });
        let options = OpenOptions {
            credentials: Arc::new(FixedPassword(password("secret"))),
            ..small()
        };
        assert_eq!(code(open(&server, &options)), Code::AUTHN_FAILED, "{challenge}");
        assert!(server.requests().len() <= 10, "{}", server.requests().len());
    }
}

#[test]
fn a_raised_flag_ends_a_response_that_never_ends() {
    let begin = "<S:log-report xmlns:S=\"svn:\" xmlns:D=\"DAV:\">";
    let item = "<S:log-item><D:version-name>1</D:version-name></S:log-item>";
    let endless = xml("200 OK", &format!("{begin}{}", item.repeat(200_000)));
    let server = FakeServer::start(move |head| match head.starts_with("OPTIONS") {
        true => options(),
        false => endless.clone(),
    });
    let options = small();
    let cancel = options.cancel.clone();
    let mut session = open(&server, &options).expect("this server begins well");
    let request = LogRequest {
        start: Some(Revnum(5)),
        end: Some(Revnum(0)),
        ..LogRequest::default()
    };
    let mut count = 0;
    let result = session.log(&request, &mut |_| {
        count += 1;
        cancel.cancel();
        Ok(())
    });
    assert_eq!(code(result), Code::CANCELLED);
    assert!(count < 200_000, "{count}");
}

/// The messages are those of `svn ls` 1.14.2.
#[test]
fn statuses_without_an_error_have_the_messages_of_the_incumbent() {
    for (status, code, message) in [
        (
            "400 x",
            Code::RA_DAV_REQUEST_FAILED,
            "Unexpected HTTP status 400 'x' on '/r'",
        ),
        ("403 x", Code::RA_DAV_FORBIDDEN, "Access to '/r' forbidden"),
        ("404 x", Code::FS_NOT_FOUND, "'/r' path not found"),
        (
            "405 x",
            Code::RA_DAV_METHOD_NOT_ALLOWED,
            "The HTTP method 'OPTIONS' is not allowed on '/r'",
        ),
        ("409 x", Code::FS_CONFLICT, "'/r' conflicts"),
        (
            "412 x",
            Code::RA_DAV_PRECONDITION_FAILED,
            "Precondition on '/r' failed",
        ),
        ("423 x", Code::FS_NO_LOCK_TOKEN, "'/r': no lock token available"),
        (
            "500 x",
            Code::RA_DAV_REQUEST_FAILED,
            "Unexpected server error 500 'x' on '/r'",
        ),
        (
            "501 x",
            Code::UNSUPPORTED_FEATURE,
            "The requested feature is not supported by '/r'",
        ),
        (
            "503 x",
            Code::RA_DAV_REQUEST_FAILED,
            "Unexpected HTTP status 503 'x' on '/r'",
        ),
    ] {
        let server = FakeServer::start(move |_| response(status, "", b""));
        let error = open(&server, &small()).err().expect("refused");
        assert_eq!(error.code(), Code::RA_CANNOT_CREATE_SESSION);
        let cause = error.root_cause();
        assert_eq!((cause.code(), cause.text().as_str()), (code, message));
    }
    let server = FakeServer::start(|_| response("302 x", "Location: http://localhost/x\r\n", b""));
    let error = open(&server, &small()).err().expect("refused");
    assert_eq!(error.code(), Code::RA_SESSION_URL_MISMATCH);
    assert_eq!(
        error.message(),
        "Repository moved temporarily to 'http://localhost/x'"
    );
}

#[test]
fn changed_files_are_fetched_as_differences() {
    let edit = xml(
        "200 OK",
        "<S:update-report xmlns:S=\"svn:\" xmlns:D=\"DAV:\" inline-props=\"true\"><S:target-revision rev=\"5\"/>\
         <S:open-directory rev=\"4\"><S:open-file name=\"f\" rev=\"4\"><D:checked-in><D:href>/r/!svn/rvr/5/f</D:href>\
         </D:checked-in><S:fetch-file/></S:open-file></S:open-directory></S:update-report>",
    );
    for is_delta in [true, false] {
        let edit = edit.clone();
        let server = FakeServer::start(move |head| match head.split(' ').next() {
            Some("OPTIONS") => options(),
            Some("REPORT") => edit.clone(),
            _ if is_delta => response(
                "200 OK",
                "Content-Type: application/vnd.svn-svndiff\r\nX-SVN-VR-Base: /r/!svn/rvr/4/f\r\n",
                b"SVN\0\x00\x00\x02\x01\x02\x82hi",
            ),
            _ => response("200 OK", "", b"hi"),
        });
        let mut session = open(&server, &small()).expect("this server begins well");
        let lines = check_out(&mut *session).expect("a good edit");
        let text = lines
            .iter()
            .find(|line| line.starts_with("text f"))
            .expect("a text");
        assert!(text.contains("2 bytes in 1 window"), "{text}");
        let requests = server.requests();
        let get = requests
            .iter()
            .find(|head| head.starts_with("GET /r/!svn/rvr/5/f "));
        let get = get.expect("the file was fetched").to_ascii_lowercase();
        assert!(get.contains("x-svn-vr-base: /r/!svn/rvr/4/f"), "{get}");
    }
}

#[test]
fn requests_on_a_closed_connection_are_repeated_but_no_commit() {
    let lost = AtomicU32::new(0);
    let server = FakeServer::start(move |head| match head.split(' ').next() {
        Some("OPTIONS") => options(),
        Some("POST") => response("201 Created", "SVN-Txn-Name: 5-1\r\n", b""),
        Some("MERGE") => Vec::new(),
        Some("DELETE") => response("204 No Content", "", b""),
        // The connection is closed without a response, once.
        _ if lost.fetch_add(1, Ordering::Relaxed) == 0 => Vec::new(),
        _ => xml("200 OK", "<S:log-report xmlns:S=\"svn:\"/>"),
    });
    let mut session = open(&server, &small()).expect("this server begins well");
    log(&mut *session).expect("the second request is answered");
    let result = session.commit(&ra::CommitRequest::default(), &mut |editor| {
        editor.open_root(None).map(drop)
    });
    assert_eq!(code(result), ABORTED);
    let requests = server.requests();
    let count = |method: &str| requests.iter().filter(|head| head.starts_with(method)).count();
    assert_eq!((count("REPORT "), count("MERGE "), count("DELETE ")), (2, 1, 1));
}
