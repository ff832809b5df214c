//! FSX repositories behind both servers: what clients read, over svn:// and HTTP, and commits of both servers in turns.

use testkit::history::Random;
use testkit::repo::When;
use testkit::server::transport::Transport;
use testkit::{Side, Spec, Tool, runs_all_cases, sample, scratch};

use crate::http::raw_http::{HttpConnection, HttpResponse, send_request};
use crate::pair::{ServerPair, serve, url};
use crate::{history, listing, mirror};

/// A configuration that lets everyone write.
const WRITE_FREELY: &str = "[general]\nanon-access = write\n";

/// A repository with packed and unpacked shards.
fn half_packed() -> Spec {
    Spec::fsx()
        .shard(4)
        .pack(When::Halfway)
        .busy()
        .named("fsx-half-packed")
}

fn pairs() -> [ServerPair; 2] {
    let packed = Spec::fsx().shard(7).pack(When::After).busy().named("fsx-packed");
    [ServerPair::of(&half_packed()), ServerPair::over_http(&packed, "")]
}

#[test]
fn histories() {
    for pair in pairs() {
        pair.same(history::logs);
        pair.same(history::blames);
        pair.same(history::merges);
    }
    ServerPair::of(&half_packed()).same(history::diffs);
}

#[test]
fn lists_and_texts() {
    for pair in pairs() {
        pair.same(listing::lists);
        pair.same(listing::texts);
        pair.same(listing::infos);
        pair.same(|c| {
            c.svn_sorted(&["export", "-q", "URL", "head"]);
            c.note_tree("head");
        });
    }
}

#[test]
fn working_copies_and_mirrors() {
    let unpacked = Spec::fsx().shard(50).busy().named("fsx");
    let small = Spec::fsx().with(testkit::history::small()).shard(4);
    let small = small.pack(When::Halfway).named("fsx-small");
    for spec in sample(2, [small, half_packed()]) {
        ServerPair::of(&spec).same(mirror::synchronized);
    }
    ServerPair::over_http(&unpacked, "").same(|c| {
        c.svn(&["checkout", "-q", "-r", "1", "URL", "wc"]);
        for rev in sample(2, [2, 20, 44, 5, 12, 0, 90]) {
            c.svn_sorted(&["update", "-r", &rev.to_string(), "wc"]);
        }
        c.note_tree("wc");
        c.svn_sorted(&["status", "-v", "wc"]);
    });
}

/// Both servers commit to one repository in turns, over svn:// and HTTP. Between commits both programs change revision properties and
/// locks, and Subversion packs. A repository of FSFS gets the same from Subversion alone, and has the same dump at the end.
#[test]
fn commits_in_turns() {
    let root = scratch();
    let [fsx, fsfs] = ["fsx", "fsfs"].map(|name| root.path().join(name));
    for (repository, fs_type) in [(&fsx, "fsx"), (&fsfs, "fsfs")] {
        let create = Tool::new("svnadmin").args(["create", "--fs-type", fs_type]);
        create.arg(repository).ok();
        std::fs::write(repository.join("conf/svnserve.conf"), WRITE_FREELY).expect("because it is new");
        let format = repository.join("db/format");
        let text = std::fs::read_to_string(&format).expect("because it is there");
        std::fs::remove_file(&format).expect("because it is there");
        let text = text.replace("sharded 1000", "sharded 5");
        std::fs::write(&format, text).expect("because it is ours");
    }
    let transports = [Transport::Svn, Transport::Http];
    let servers = transports
        .map(|transport| Side::BOTH.map(|side| serve(side, transport, root.path(), "Allow from all\n", &[])));
    let folder = scratch();
    let mut random = Random::new(7);
    let count = if runs_all_cases() { 40 } else { 18 };
    for nth in 0..count {
        let text = folder.path().join("text");
        std::fs::write(&text, format!("{}\n", nth % 7).repeat(1 + random.below(3000)))
            .expect("because it is ours");
        let (dir, file) = (format!("d{}", nth % 6), format!("d{}/f{}", nth % 6, nth % 4));
        let mut edit: Vec<String> = match nth {
            0..6 => vec!["mkdir".to_owned(), dir.clone()],
            _ if nth % 9 == 8 => ["cp", "HEAD", &dir, &format!("copy{nth}")]
                .map(str::to_owned)
                .to_vec(),
            _ => ["propset", "p", &format!("{nth}"), &dir]
                .map(str::to_owned)
                .to_vec(),
        };
        edit.extend(["put".to_owned(), text.display().to_string(), file]);
        let over = random.below(2);
        let side = random.below(2);
        let served = url(transports[over], servers[over][side].port(), "fsx");
        for url in [served, format!("file://{}", fsfs.display())] {
            let mucc = Tool::new("svnmucc").args(["--non-interactive", "-m", "one of many", "-U", &url]);
            mucc.args(&edit).ok();
        }
        let rev = nth + 1;
        let side = Side::BOTH[random.below(2)];
        for repository in [&fsx, &fsfs] {
            let program = |name: &str| match repository == &fsx {
                true => side.tool(name),
                false => Tool::new(name),
            };
            let mut props = [
                ("svn:date", format!("2026-01-02T03:04:{rev:02}.000000Z")),
                ("n", rev.to_string()),
            ];
            props.rotate_left(nth % 2);
            for (name, value) in sample(2, props) {
                let set = program("svnadmin").args(["setrevprop", "-r", &rev.to_string()]);
                set.arg(repository).args([name, "/dev/stdin"]).stdin(value).ok();
            }
            let delete = program("svnadmin").args(["delrevprop", "-r", &rev.to_string()]);
            delete.arg(repository).arg("svn:author").ok();
            if nth % 11 == 10 {
                Tool::new("svnadmin").args(["pack", "-q"]).arg(repository).ok();
            }
        }
    }
    for side in Side::BOTH {
        side.tool("svnadmin").args(["verify", "-q"]).arg(&fsx).ok();
    }
    let dump = |side: Side, repository: &std::path::Path| {
        let output = side.tool("svnadmin").args(["dump", "-q"]).arg(repository).ok();
        testkit::normalize::mask_uuids(&testkit::normalize::mask_dates(&output.out()))
    };
    let expected = dump(Side::Theirs, &fsfs);
    for side in Side::BOTH {
        assert!(dump(side, &fsx) == expected, "{side:?} reads something else");
    }
}

/// A connection that has looked at a directory of a transaction changes this directory after another connection did. Apache on FSX then
/// loses what the other connection put there, though it was acknowledged; Sven keeps it, as both do on FSFS.
#[test]
fn changes_over_several_connections() {
    for (fs_type, side) in ["fsfs", "fsx"]
        .into_iter()
        .flat_map(|fs_type| Side::BOTH.map(|side| (fs_type, side)))
    {
        let root = scratch();
        let repository = root.path().join("r");
        let create = Tool::new("svnadmin").args(["create", "--fs-type", fs_type]);
        create.arg(&repository).ok();
        std::fs::write(repository.join("conf/svnserve.conf"), WRITE_FREELY).expect("because it is new");
        let server = serve(side, Transport::Http, root.path(), "Allow from all\n", &[]);
        let port = server.port();
        let sent = |response: HttpResponse, status: u16| {
            assert_eq!(response.status, status, "{fs_type}, {side:?}");
            response
        };

        let skel = [("Content-Type", "application/vnd.svn-skel")];
        let begun = send_request(port, "POST", "/r/!svn/me", &skel, "( create-txn )");
        let name = sent(begun, 201).headers["svn-txn-name"][0].clone();
        let path = |name_in_root: &str| format!("/r/!svn/txr/{name}/{name_in_root}");

        let mut connection = HttpConnection::new(port);
        let depth = [("Depth", "0")];
        sent(connection.send_request("PROPFIND", &path("dir"), &depth, ""), 404);
        sent(send_request(port, "PUT", &path("file"), &[], "text\n"), 201);
        sent(connection.send_request("MKCOL", &path("dir"), &[], ""), 201);
        let source = format!("<D:source><D:href>/r/!svn/txn/{name}</D:href></D:source>");
        let merge = format!("<D:merge xmlns:D='DAV:'>{source}</D:merge>");
        sent(send_request(port, "MERGE", "/r", &[], &merge), 200);

        let tree = Tool::new("svnlook").args(["tree", "-N"]).arg(&repository).ok();
        let expected = match (fs_type, side) {
            ("fsx", Side::Theirs) => "/\n dir/\n",
            _ => "/\n dir/\n file\n",
        };
        assert_eq!(tree.out(), expected, "{fs_type}, {side:?}");
    }
}
