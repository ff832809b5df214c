//! Deep trees with a file at each level: a traversal that leaves a directory continues in its parent, not at the
//! root.

use testkit::server::TestServer;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Side, runs_all_cases};

use super::{DeepRepository, EDIT_END, RawClient, levels, request, runs};

/// Returns the number of levels of a comb, which has twice as many paths as a chain. A mistake in a traversal shows in few levels.
fn comb_levels() -> usize {
    levels() / if runs_all_cases() { 3 } else { 4 }
}

fn comb() -> DeepRepository {
    let mut comb = DeepRepository::with(comb_levels(), true);
    let mut stream = DumpStream::new("9ad5d24c-3c33-4ad1-a9b2-5ea6b1ba7a01");
    while stream.youngest() < comb.youngest {
        stream.rev("loaded before");
    }
    let teeth: Vec<String> = (0..comb_levels())
        .map(|level| format!("d{}/t", "/a".repeat(level)))
        .collect();
    stream.rev("change all");
    for tooth in &teeth {
        let mergeinfo: (&str, &[u8]) = ("svn:mergeinfo", b"/x:1-2");
        stream.change(RecordKind::File, tooth, Content::props(&[mergeinfo]));
    }
    stream.rev("delete all").mkdirs(["new"]);
    for tooth in &teeth {
        stream.delete(tooth);
    }
    let load = Side::Ours
        .tool("svnadmin")
        .args(["load", "-q"])
        .arg(comb.repository());
    load.stdin(stream.part(comb.youngest + 1, comb.youngest + 2)).ok();
    comb.youngest += 2;
    comb
}

#[test]
fn a_comb_is_read_over_both_protocols() {
    let comb = comb();
    let levels = comb_levels();
    let (youngest, rev) = (comb.youngest, comb.youngest - 1);
    let server = TestServer::svnserve(Side::Ours, comb.folder.path(), &[]);
    let client = RawClient {
        port: server.port(),
        youngest,
    };
    let all = levels * levels;
    let top = "1:d";
    for (command, least) in [
        (
            format!("( list ( {top} ( {rev} ) infinity ( kind ) ) ) "),
            2 * all,
        ),
        (
            format!("( get-mergeinfo ( ( {top} ) ( {rev} ) inherited true ) ) "),
            all,
        ),
        (
            format!("( log ( ( {top} ) ( {youngest} ) ( 0 ) true false 0 true revprops ( ) ) ) "),
            all,
        ),
    ] {
        assert!(client.send_request(&command, None) > least, "{command:.60}");
    }
    for (old, new) in [(rev - 1, rev), (rev, youngest)] {
        let report = format!("( set-path ( 0: {old} false ( ) infinity ) ) ( finish-report ( ) ) ");
        let update = format!("( update ( ( {new} ) 0: true infinity true true ) ) {report}");
        assert!(
            client.send_request(&update, Some(EDIT_END)) > all,
            "{old} to {new}"
        );
        let replay = format!("( replay ( {new} 0 true ) ) ");
        let end = Some("( finish-replay ( ) ) ( success ( ) ) ");
        assert!(client.send_request(&replay, end) > all, "{new}");
    }
    let server = TestServer::http(Side::Ours, comb.folder.path(), "", &[]);
    for (method, path, accept) in [
        ("PROPFIND", format!("/r/!svn/rvr/{rev}/d"), "*/*"),
        ("GET", "/r/?view=log".into(), "text/html"),
        ("GET", format!("/r/?view=revision&p={rev}"), "text/html"),
        ("GET", format!("/r/?view=revision&p={youngest}"), "text/html"),
    ] {
        let (status, _) = request(server.port(), method, &path, accept, "");
        assert!((200..300).contains(&status), "{method} {path}: {status}");
    }
    let body = format!(
        "<S:update-report send-all=\"true\" xmlns:S=\"svn:\"><S:src-path>http://127.0.0.1:{}/r</S:src-path>\
         <S:target-revision>{youngest}</S:target-revision><S:entry rev=\"{rev}\"></S:entry></S:update-report>",
        server.port()
    );
    let (status, length) = request(server.port(), "REPORT", "/r/!svn/me", "*/*", &body);
    assert!(
        status == 200 && length > levels,
        "update: {status}, {length} bytes"
    );
}

#[test]
fn tools_process_a_comb() {
    let comb = comb();
    let repository = comb.repository();
    Side::Ours
        .tool("svnadmin")
        .args(["verify", "-q"])
        .arg(&repository)
        .ok();
    let revs = [comb.youngest - 2, comb.youngest - 1, comb.youngest].map(|rev| rev.to_string());
    for rev in &revs {
        for command in [
            &["changed"][..],
            &["changed", "--copy-info"],
            &["dirs-changed"],
            &["diff"],
        ] {
            let look = Side::Ours.tool("svnlook").args(command).args(["-r", rev]);
            runs(look.arg(&repository));
        }
        for how in [
            &["--incremental"][..],
            &["--deltas"],
            &["--exclude", "/d/*/t", "--pattern"],
            &["--include", "/d/a"],
        ] {
            let dump = Side::Ours
                .tool("svnadmin")
                .args(["dump", "-q", "-r", rev])
                .args(how);
            runs(dump.arg(&repository));
        }
    }
    runs(Side::Ours.tool("svnlook").arg("tree").arg(&repository));
}
