//! Malformed and hostile requests.

use std::time::Duration;

use super::site::{RawClient, TestSite, request, status_of};

/// Requests whose end a proxy and a server might understand differently: they are refused, or read so that nothing is
/// left over, and what looks like a second request is never answered.
#[test]
fn requests_cannot_be_smuggled() {
    let site = TestSite::plain();
    let hidden = "OPTIONS /repo/hidden HTTP/1.1\r\nHost: test\r\n\r\n";
    let len = hidden.len();
    for (what, head, body) in [
        (
            "two lengths",
            "Content-Length: 0\r\nContent-Length: 57\r\n".to_owned(),
            hidden.to_owned(),
        ),
        (
            "lengths in one line",
            format!("Content-Length: 0, {len}\r\n"),
            hidden.to_owned(),
        ),
        (
            "a negative length",
            "Content-Length: -1\r\n".into(),
            hidden.into(),
        ),
        (
            "a signed length",
            format!("Content-Length: +{len}\r\n"),
            hidden.into(),
        ),
        (
            "a length in hex",
            format!("Content-Length: 0x{len:x}\r\n"),
            hidden.into(),
        ),
        (
            "a huge length",
            "Content-Length: 99999999999999999999\r\n".into(),
            hidden.into(),
        ),
        (
            "odd coding",
            "Transfer-Encoding: xchunked\r\n".into(),
            hidden.into(),
        ),
        (
            "coding after chunked",
            "Transfer-Encoding: chunked, identity\r\n".into(),
            hidden.into(),
        ),
        (
            "chunked twice",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n".into(),
            hidden.into(),
        ),
        (
            "a space before the colon",
            "Content-Length : 0\r\n".into(),
            hidden.into(),
        ),
        (
            "a folded line",
            format!("X: a\r\n Content-Length: {len}\r\n"),
            hidden.into(),
        ),
        (
            "a tab before the name",
            "\tContent-Length: 3\r\n".into(),
            hidden.into(),
        ),
        ("a NUL in a line", "X: a\0b\r\n".into(), hidden.into()),
        (
            "a bare CR in a line",
            "X: a\rContent-Length: 3\r\n".into(),
            hidden.into(),
        ),
        (
            "a chunk size that is none",
            "Transfer-Encoding: chunked\r\n".into(),
            format!("xyz\r\n{hidden}"),
        ),
        (
            "a signed chunk size",
            "Transfer-Encoding: chunked\r\n".into(),
            format!("-1\r\n{hidden}"),
        ),
        (
            "a huge chunk",
            "Transfer-Encoding: chunked\r\n".into(),
            format!("ffffffffffffffffff\r\n{hidden}"),
        ),
        (
            "a chunk without its end",
            "Transfer-Encoding: chunked\r\n".into(),
            format!("1\r\nabc0\r\n\r\n{hidden}"),
        ),
        ("no colon", "Hello\r\n".into(), hidden.into()),
        ("an empty name", ": x\r\n".into(), hidden.into()),
    ] {
        let text = format!("OPTIONS /repo HTTP/1.1\r\nHost: test\r\n{head}\r\n{body}");
        let response = site.exchange(text);
        let answers = response.matches("HTTP/1.1 ").count();
        assert!(answers <= 1, "{what}: {response}");
        assert!(
            matches!(status_of(&response), 0 | 400..=499 | 501),
            "{what}: {response}"
        );
    }
    // With both kinds of framing the chunks count, and nothing after them is read as a request.
    let both = format!(
        "OPTIONS /repo HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
    );
    let response = site.exchange(both);
    assert!(response.matches("HTTP/1.1 ").count() <= 1, "{response}");
    for (text, why) in [
        ("OPTIONS /repo HTTP/1.1\r\n\r\n", "no host"),
        (
            "OPTIONS /repo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "two hosts",
        ),
        (
            "OPTIONS /repo HTTP/9.1\r\nHost: a\r\n\r\n",
            "a version that is none",
        ),
        ("OPTIONS /repo\r\n\r\n", "no version"),
        ("OPTIONS  /repo HTTP/1.1\r\nHost: a\r\n\r\n", "two spaces"),
        (
            "OPTIONS /re po HTTP/1.1\r\nHost: a\r\n\r\n",
            "a space in the path",
        ),
        ("GET repo HTTP/1.1\r\nHost: a\r\n\r\n", "no slash"),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", "a star"),
        ("\x16\x03\x01\x02\x00\x01", "TLS"),
        ("\0\0\0\0", "nothing"),
    ] {
        let mut client = site.connect();
        client.send(text);
        client
            .socket
            .shutdown(std::net::Shutdown::Write)
            .expect("a socket");
        let response = client.rest();
        assert!(matches!(status_of(&response), 0 | 400..=499), "{why}: {response}");
    }
}

#[test]
fn paths_cannot_leave_the_repositories() {
    let site = TestSite::plain();
    for path in [
        "/../secret",
        "/repo/../../secret",
        "/repo/..%2f..%2fsecret",
        "/%2e%2e/secret",
        "/repo/%2e%2e/%2e%2e/secret",
        "/repo/%2e%2e%2f%2e%2e%2fsecret",
        "/..%5csecret",
        "/repo/..\\..\\secret",
        "/repo/%c0%ae%c0%ae/%c0%ae%c0%ae/secret",
        "/repo/%c0%af..%c0%afsecret",
        "/repo/%00",
        "/repo%00/trunk",
        "/repo/trunk/a.txt%00.html",
        "/repo/%252e%252e/%252e%252e/secret",
        "/repo/conf/svnserve.conf",
        "/repo/db/uuid",
        "/repo/.%00./secret",
        "//../secret",
        "/./../secret",
        "/repo/!svn/bc/1/../../../../../secret",
        "/repo/!svn/rvr/1/%2e%2e/%2e%2e/secret",
        "/repo/%",
        "/repo/%2",
        "/repo/%zz",
        "/repo/\u{ff0e}\u{ff0e}/secret",
    ] {
        let (status, text) = site.ask("GET", path, "");
        assert!(matches!(status, 400 | 403 | 404), "{path}: {text}");
        for leak in [
            "the secret",
            "anon-access",
            site.folder.path().to_str().expect("ASCII"),
        ] {
            assert!(!text.contains(leak), "{path}: {text}");
        }
    }
    let (status, _) = site.ask("OPTIONS", "//repo//trunk/./private/..", "");
    assert_eq!(status, 200);
}

#[test]
fn methods_are_known_or_refused() {
    let site = TestSite::plain();
    for (method, wanted) in [
        ("OPTIONS", 200),
        ("TRACE", 405),
        // The unknown method might write, and no user may write here.
        ("SEARCH", 403),
        ("ACL", 403),
        ("BREW", 501),
        ("options", 501),
        ("GETT", 501),
    ] {
        let (status, text) = site.ask(method, "/repo", "");
        assert_eq!(status, wanted, "{method}: {text}");
    }
    let (status, _) = site.ask("CONNECT", "test:80", "");
    assert!(matches!(status, 400 | 405), "{status}");
    let (status, text) = site.ask("OPTIONS", "*", "");
    assert_eq!(
        (status, text.contains("content-length: 0")),
        (200, true),
        "{text}"
    );
    let (status, text) = site.ask("OPTIONS", "http://elsewhere/repo", "");
    assert_eq!(status, 200, "an absolute target names the path alone: {text}");
    let (status, _) = site.ask(
        "PUT",
        "/repo/x",
        "Content-Encoding: gzip\r\nContent-Length: 0\r\n",
    );
    assert_eq!(status, 415);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let site = TestSite::plain();
    let mut client = site.connect();
    let mut all = String::new();
    for at in 0..300 {
        let path = if at % 3 == 0 { "/repo/trunk" } else { "/nowhere" };
        all.push_str(&request("OPTIONS", path, &format!("X-At: {at}\r\n")));
    }
    client.send(all);
    for at in 0..300 {
        let (head, _) = client.answer();
        let wanted = if at % 3 == 0 { 200 } else { 404 };
        assert_eq!(status_of(&head), wanted, "answer {at}");
    }
}

#[test]
fn clients_of_old_versions_are_served() {
    let site = TestSite::plain();
    let response = site.exchange("OPTIONS /repo HTTP/1.0\r\n\r\n");
    assert!(
        response.starts_with("HTTP/1.0 200") || response.starts_with("HTTP/1.1 200"),
        "{response}"
    );
    assert!(
        !response.to_lowercase().contains("transfer-encoding"),
        "{response}"
    );
    let mut client = site.connect();
    for _ in 0..2 {
        client.send("OPTIONS /repo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(status_of(&client.answer().0), 200);
    }
    let response = site.exchange("POST /repo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert!(matches!(status_of(&response), 0 | 400), "{response}");
}

#[test]
fn expect_100_continue_gets_a_response() {
    let site = TestSite::plain();
    let mut client = site.connect();
    let head = "Expect: 100-continue\r\nContent-Type: text/xml\r\nContent-Length: 38\r\n";
    client.send(request("OPTIONS", "/repo", head));
    assert_eq!(status_of(&client.answer().0), 100);
    client.send("<D:options xmlns:D=\"DAV:\"></D:options>");
    let (head, _) = client.answer();
    assert_eq!(status_of(&head), 200, "{head}");
    // The refusal is sent at once, without waiting for the rest of the body.
    let mut client = site.connect();
    client.send(request(
        "PUT",
        "/nowhere/x",
        "Expect: 100-continue\r\nContent-Length: 1000000\r\n",
    ));
    assert_eq!(status_of(&client.answer().0), 404);
}

#[test]
fn heads_have_limits() {
    let site = TestSite::new(|plan, _| {
        plan.options.limits.header_timeout = Duration::from_millis(400);
        plan.options.limits.keep_alive = Duration::from_millis(900);
        plan.options.limits.header_lines = 50;
        plan.options.limits.header_bytes = 16 << 10;
    });
    let many = "X: y\r\n".repeat(60);
    assert!(matches!(site.ask("OPTIONS", "/repo", &many).0, 0 | 400 | 431));
    let long = format!("X: {}\r\n", "y".repeat(64 << 10));
    assert!(matches!(site.ask("OPTIONS", "/repo", &long).0, 0 | 400 | 431));
    let target = format!("/{}", "y".repeat(80_000));
    assert!(matches!(site.ask("OPTIONS", &target, "").0, 0 | 400 | 414 | 431));
    // A head that comes byte by byte has the same time limit as any other.
    let mut slow = site.connect();
    let begun = std::time::Instant::now();
    for byte in request("OPTIONS", "/repo", "X: y\r\n").bytes() {
        slow.send([byte]);
        if slow.is_closed_within(Duration::from_millis(30)) {
            break;
        }
    }
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_millis(350) && took < Duration::from_secs(20),
        "{took:?}"
    );
    // The same limit holds for a head that never begins, and for a connection between two requests.
    assert!(site.connect().is_closed_within(Duration::from_secs(20)));
    let mut idle = site.connect();
    idle.send(request("OPTIONS", "/repo", ""));
    assert_eq!(status_of(&idle.answer().0), 200);
    let begun = std::time::Instant::now();
    assert!(idle.is_closed_within(Duration::from_secs(20)));
    assert!(begun.elapsed() >= Duration::from_millis(800));
    // A connection that sends another request in time is kept.
    let mut busy = site.connect();
    for _ in 0..6 {
        busy.send(request("OPTIONS", "/repo", ""));
        assert_eq!(status_of(&busy.answer().0), 200);
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn bodies_that_are_too_long_are_refused_and_small_ones_drained() {
    let site = TestSite::new(|plan, _| plan.options.limits.xml_body = 1000);
    let mut client = RawClient::to(site.plain);
    client.send(request("PUT", "/nowhere/x", "Content-Length: 100000\r\n"));
    client.send(vec![b'x'; 100_000]);
    assert_eq!(status_of(&client.answer().0), 404);
    client.send(request("OPTIONS", "/repo", ""));
    assert_eq!(status_of(&client.answer().0), 200, "the connection goes on");
    client.send(request("OPTIONS", "/repo", "Content-Length: 2000\r\n"));
    client.send(vec![b' '; 2000]);
    assert_eq!(status_of(&client.answer().0), 413);
}

/// Apache's default limit of bodies, and a higher one for the reports of large working copies.
#[test]
fn bodies_have_limits_and_reports_a_larger_one() {
    let site = TestSite::plain();
    let ask = |method: &str, target: &str, body: &str| {
        let mut client = site.connect();
        let head = format!("Content-Length: {}\r\nDepth: 0\r\n", body.len());
        client.send(request(method, target, &head));
        client.send(body);
        status_of(&client.rest())
    };
    let log = "<S:log-report xmlns:S=\"svn:\"><S:start-revision>1</S:start-revision><S:end-revision>1</S:end-revision>\
               <S:path></S:path></S:log-report>";
    let find = "<D:propfind xmlns:D=\"DAV:\"><D:allprop/></D:propfind>";
    for (method, target, body, status) in [
        ("REPORT", "/repo/!svn/bc/1", log, 200),
        ("PROPFIND", "/repo/", find, 207),
    ] {
        let padded = |length: usize| format!("{body}{}", " ".repeat(length - body.len()));
        assert_eq!(ask(method, target, &padded(1_000_000)), status);
        assert_eq!(ask(method, target, &padded(2_000_000)), 413);
    }
    // Many elements take more memory than their bytes.
    let paths = format!(
        "{}</S:log-report>",
        log.replace("</S:log-report>", &"<S:path>trunk</S:path>".repeat(40_000))
    );
    assert_eq!(ask("REPORT", "/repo/!svn/bc/1", &paths), 200);
    let empty = log.replace(
        "</S:log-report>",
        &format!("{}</S:log-report>", "<a/>".repeat(200_000)),
    );
    assert_eq!(ask("REPORT", "/repo/!svn/bc/1", &empty), 400);
    let entries = "<S:entry rev=\"1\">trunk/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx</S:entry>".repeat(60_000);
    let update = format!(
        "<S:update-report xmlns:S=\"svn:\"><S:src-path>/repo</S:src-path><S:entry rev=\"1\"></S:entry>{entries}</S:update-report>"
    );
    assert!(update.len() > 3 << 20);
    assert_ne!(ask("REPORT", "/repo/!svn/me", &update), 413);
}

/// A limit of XML bodies that is larger than that of working copies' reports holds for those too.
#[test]
fn reports_of_working_copies_may_be_as_long_as_other_bodies() {
    let site = TestSite::new(|plan, _| {
        plan.options.limits.xml_body = 3 << 20;
        plan.options.limits.update_body = 1 << 20;
    });
    let entries = "<S:entry rev=\"1\">trunk/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx</S:entry>".repeat(36_000);
    let update = format!(
        "<S:update-report xmlns:S=\"svn:\"><S:src-path>/repo</S:src-path><S:entry rev=\"1\"></S:entry>{entries}</S:update-report>"
    );
    for (length, is_refused) in [(update.len(), false), (4 << 20, true)] {
        assert!(length > 2 << 20);
        let body = format!("{update}{}", " ".repeat(length - update.len()));
        let mut client = site.connect();
        client.send(request(
            "REPORT",
            "/repo/!svn/me",
            &format!("Content-Length: {length}\r\n"),
        ));
        client.send(body);
        assert_eq!(status_of(&client.rest()) == 413, is_refused, "{length}");
    }
}

/// hyper drops a fragment and everything after it, so that the request would be answered for another resource.
#[test]
fn targets_with_fragments_are_refused() {
    let site = TestSite::plain();
    let fine = request("OPTIONS", "/repo/", "");
    for target in ["/repo/#y", "/repo/?p=1#y", "/repo/#", "http://test/repo/#y", "*#"] {
        // As the first request, and after bodies of both kinds; the connection is then closed.
        let bad = request("PROPFIND", target, "Depth: 0\r\n");
        let sized = "PUT /repo/ HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nGET ";
        let chunked = "PUT /repo/ HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n\
                       9\r\nGET /# HT\r\n0\r\n\r\n";
        for (before, answered) in [("", 1), (sized, 2), (chunked, 2), (&fine, 2)] {
            let response = site.exchange(format!("{before}{bad}"));
            assert_eq!(
                response.matches("HTTP/1.1 ").count(),
                answered,
                "{target} {before:?}\n{response}"
            );
            let last = response.rsplit("HTTP/1.1 ").next().unwrap_or_default();
            assert!(last.starts_with("400 "), "{target} {before:?}\n{response}");
        }
        let (status, _) = site.ask("DELETE", target, "");
        assert_eq!(status, 400, "{target}");
    }
    // In other places `#` has no meaning.
    assert_eq!(site.ask("OPTIONS", "/repo/", "Referer: http://x/#y\r\n").0, 200);
    assert_ne!(site.ask("OPTIONS", "/repo/%23", "").0, 400);
}
