//! Requests near Apache's limit (`LimitXMLRequestBody`, 1,000,000 bytes) get the same responses. Longer requests than
//! Sven's limit are refused, except for reports of working copies.

use testkit::server::TestServer;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Side, Tool, runs_all_cases, sample_from};

use super::raw_http::{HttpResponse, send_request};

/// Apache's limit of a body.
const THEIRS: usize = 1_000_000;

/// Sven's limit of a body.
const OURS: usize = 1 << 20;

const SPACES: &str = "xmlns:S=\"svn:\" xmlns:D=\"DAV:\"";

/// A body with many elements: method or report, beginning, one element, end.
struct BodyTemplate(&'static str, &'static str, &'static str, &'static str);

const BODIES: &[BodyTemplate] = &[
    BodyTemplate(
        "log-report",
        "<S:start-revision>3</S:start-revision><S:end-revision>0</S:end-revision>",
        "<S:path>a</S:path>",
        "",
    ),
    BodyTemplate(
        "log-report",
        "<S:start-revision>3</S:start-revision><S:end-revision>0</S:end-revision>",
        "<S:revprop>p</S:revprop>",
        "<S:path></S:path>",
    ),
    BodyTemplate(
        "mergeinfo-report",
        "<S:revision>3</S:revision><S:inherit>inherited</S:inherit>",
        "<S:path>b</S:path>",
        "",
    ),
    BodyTemplate(
        "get-locations",
        "<S:path>a</S:path><S:peg-revision>3</S:peg-revision>",
        "<S:location-revision>2</S:location-revision>",
        "",
    ),
    BodyTemplate(
        "list-report",
        "<S:path></S:path><S:revision>3</S:revision><S:depth>infinity</S:depth><S:prop/>",
        "<S:pattern>x</S:pattern>",
        "",
    ),
    BodyTemplate(
        "update-report",
        "<S:src-path>http://127.0.0.1/r</S:src-path><S:target-revision>3</S:target-revision>\
         <S:depth>infinity</S:depth><S:entry rev=\"3\"></S:entry>",
        "<S:missing>b</S:missing>",
        "",
    ),
];

impl BodyTemplate {
    /// Returns a body of `length` bytes. The elements are one of `share` parts of it, the rest is white space.
    fn of(&self, length: usize, share: usize) -> String {
        let BodyTemplate(name, begin, one, end) = self;
        let frame = format!("<S:{name} {SPACES}>{begin}{end}</S:{name}>").len();
        let count = (length - frame) / share / one.len();
        let filler = " ".repeat(length - frame - count * one.len());
        format!(
            "<S:{name} {SPACES}>{begin}{}{end}{filler}</S:{name}>",
            one.repeat(count)
        )
    }
}

fn site(side: Side) -> (tempfile::TempDir, TestServer) {
    let folder = testkit::scratch();
    let path = folder.path().join("r");
    let mut stream = DumpStream::new("9ad5d24c-3c33-4ad1-a9b2-5ea6b1ba7a04");
    stream.rev("begin").file("a", "1\n").mkdirs(["b"]);
    stream.rev("more").file("c", "2\n");
    stream.rev("merge").change(
        RecordKind::Dir,
        "b",
        Content::props(&[("svn:mergeinfo", b"/x:1-2")]),
    );
    testkit::create_repository(&path);
    let load = Tool::new("svnadmin").args(["load", "-q"]).arg(&path);
    load.stdin(stream.bytes()).ok();
    let conf = path.join("conf/svnserve.conf");
    std::fs::write(conf, "[general]\nanon-access = write\n").expect("because it is ours");
    let server = TestServer::http(side, folder.path(), "", &[]);
    (folder, server)
}

fn report(server: &TestServer, body: &BodyTemplate, length: usize, share: usize) -> HttpResponse {
    let target = match body.0 {
        "update-report" => "/r/!svn/me",
        _ => "/r/!svn/rvr/3/",
    };
    send_request(server.port(), "REPORT", target, &[], &body.of(length, share))
}

#[test]
fn long_reports_get_apaches_responses() {
    let ((_ours, ours), (_theirs, theirs)) = (site(Side::Ours), site(Side::Theirs));
    // Every second body is full of elements. Those of the others take both servers longer, and of them a part is enough.
    let full: Vec<usize> = sample_from(1, 2, 0..BODIES.len()).collect();
    // White space is enough to reach a limit.
    let few = if runs_all_cases() { 1 } else { 1_000 };
    for (nth, body) in BODIES.iter().enumerate() {
        let share = if full.contains(&nth) { 1 } else { 5 };
        let (our, their) = (
            report(&ours, body, THEIRS, share),
            report(&theirs, body, THEIRS, share),
        );
        let name = body.0;
        assert_eq!(our.status, their.status, "{name}");
        assert_eq!(our.status, 200, "{name}");
        let (our, their) = (
            String::from_utf8_lossy(&our.body),
            String::from_utf8_lossy(&their.body),
        );
        // The response to an update contains texts.
        if name != "update-report" {
            // Subversion sends the properties of a revision in any order, and mergeinfo once for each occurrence of a
            // path.
            let lines = |text: &str| {
                let text = text
                    .replace("<S:mergeinfo-item>", "\n<S:mergeinfo-item>")
                    .replace("</S:mergeinfo-report>", "\n</S:mergeinfo-report>");
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort();
                lines.dedup();
                lines
            };
            assert_eq!(lines(&our), lines(&their), "{name}");
        }
        assert_eq!(report(&theirs, body, THEIRS + 1, few).status, 413, "{name}");
        assert_eq!(report(&ours, body, OURS, few).status, 200, "{name}");
        let longer = if name == "update-report" { 200 } else { 413 };
        assert_eq!(report(&ours, body, OURS + 1, few).status, longer, "{name}");
    }
}

#[test]
fn very_many_lock_tokens_are_read() {
    let commit = |side, length: usize| {
        let (_folder, server) = site(side);
        let skel = [("Content-Type", "application/vnd.svn-skel")];
        let begun = send_request(server.port(), "POST", "/r/!svn/me", &skel, "( create-txn )");
        let txn = begun.headers["svn-txn-name"][0].clone();
        let made = send_request(server.port(), "MKCOL", &format!("/r/!svn/txr/{txn}/new"), &[], "");
        assert_eq!(made.status, 201);
        let begin = format!(
            "<D:merge {SPACES}><D:source><D:href>/r/!svn/txn/{txn}</D:href></D:source><D:no-auto-merge/><D:no-checkout/>\
             <D:prop><D:checked-in/><D:version-name/></D:prop><S:lock-token-list>"
        );
        let end = "</S:lock-token-list></D:merge>";
        let mut locks = String::new();
        for number in 0.. {
            let lock = format!(
                "<S:lock><S:lock-path>f{number}</S:lock-path><S:lock-token>opaquelocktoken:{number}</S:lock-token></S:lock>"
            );
            if begin.len() + locks.len() + lock.len() + end.len() > length {
                break;
            }
            locks += &lock;
        }
        let filler = " ".repeat(length - begin.len() - locks.len() - end.len());
        let response = send_request(
            server.port(),
            "MERGE",
            "/r/",
            &[],
            &format!("{begin}{locks}{end}{filler}"),
        );
        let youngest = Tool::new("svn")
            .args(["info", "--show-item", "revision"])
            .arg(format!("http://127.0.0.1:{}/r", server.port()))
            .ok();
        (response.status, youngest.out().trim().to_owned())
    };
    // The whole body is read: the request has no login.
    let judged = (423, "3".to_owned());
    let refused = (413, "3".to_owned());
    assert_eq!(commit(Side::Theirs, THEIRS), judged);
    assert_eq!(commit(Side::Ours, THEIRS), judged);
    assert_eq!(commit(Side::Ours, OURS), judged);
    assert_eq!(commit(Side::Theirs, THEIRS + 1), refused);
    assert_eq!(commit(Side::Ours, OURS + 1), refused);
}
