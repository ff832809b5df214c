//! The attacks: one entry for each way to take a server's memory, threads, connections or processor time.

use super::load::AttackTarget;

/// The listener of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttackedListener {
    Svn,
    Http,
    Tls,
    Metrics,
}

/// The behaviour of a connected peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerBehavior {
    /// It sends its bytes and stays connected.
    Hold,
    /// As `Hold`, with a small receive window.
    Unread,
    /// It sends its bytes, reads something, disconnects, and connects again.
    Repeat,
}

/// One attack.
pub struct Attack {
    pub name: &'static str,
    pub entry: AttackedListener,
    pub way: PeerBehavior,
    /// The number of different messages.
    pub kinds: usize,
    /// Returns the bytes that a peer sends.
    pub bytes: fn(&AttackTarget, usize) -> Vec<u8>,
    /// True if each request needs much processor time; then there are few peers.
    pub is_costly: bool,
    /// The allowed memory in bytes, in addition to that of the connections.
    pub more_memory: usize,
}

const fn attack(
    name: &'static str,
    entry: AttackedListener,
    way: PeerBehavior,
    bytes: fn(&AttackTarget, usize) -> Vec<u8>,
) -> Attack {
    Attack {
        name,
        entry,
        way,
        kinds: 1,
        bytes,
        is_costly: false,
        more_memory: 0,
    }
}

/// The default run has every second entry: each listener and each behaviour has one at an even position.
pub const ATTACKS: &[Attack] = &[
    attack(
        "http: a silent connection",
        AttackedListener::Http,
        PeerBehavior::Hold,
        |_, _| Vec::new(),
    ),
    attack(
        "http: half a head",
        AttackedListener::Http,
        PeerBehavior::Hold,
        |_, _| b"REPORT /r HTTP/1.1\r\nHost: x\r\nX: ".to_vec(),
    ),
    attack(
        "http: long half heads",
        AttackedListener::Http,
        PeerBehavior::Hold,
        |_, _| {
            format!(
                "GET /r HTTP/1.1\r\nHost: x\r\n{}X: ",
                format!("X: {}\r\n", "y".repeat(600)).repeat(60)
            )
            .into_bytes()
        },
    ),
    Attack {
        kinds: METHODS.len(),
        ..attack(
            "http: half bodies of all methods",
            AttackedListener::Http,
            PeerBehavior::Hold,
            |_, kind| request(METHODS[kind], "/r/lines", "Content-Length: 4000\r\n", "<x>"),
        )
    },
    Attack {
        kinds: REPORTS.len(),
        ..attack(
            "http: half reports of all kinds",
            AttackedListener::Http,
            PeerBehavior::Hold,
            |_, kind| {
                let body = format!("<S:{} xmlns:S=\"svn:\">", REPORTS[kind]);
                request("REPORT", "/r/!svn/bc/1", "Content-Length: 4000\r\n", &body)
            },
        )
    },
    attack(
        "http: declared bodies that are not sent",
        AttackedListener::Http,
        PeerBehavior::Hold,
        |_, _| {
            request(
                "REPORT",
                "/r/!svn/bc/1",
                "Expect: 100-continue\r\nContent-Length: 4000\r\n",
                "",
            )
        },
    ),
    attack(
        "http: chunks of one byte",
        AttackedListener::Http,
        PeerBehavior::Hold,
        |_, _| {
            request(
                "REPORT",
                "/r/!svn/bc/1",
                "Transfer-Encoding: chunked\r\n",
                &"1\r\n<\r\n".repeat(3000),
            )
        },
    ),
    Attack {
        kinds: REPORTS.len(),
        more_memory: 256 << 20,
        ..attack(
            "http: reports of small elements",
            AttackedListener::Http,
            PeerBehavior::Hold,
            |_, kind| elements(REPORTS[kind], "", 260_000),
        )
    },
    Attack {
        more_memory: 256 << 20,
        ..attack(
            "http: elements in a long namespace",
            AttackedListener::Http,
            PeerBehavior::Hold,
            |_, _| {
                elements(
                    "log-report",
                    &format!(" xmlns=\"{}\"", "u".repeat(500_000)),
                    100_000,
                )
            },
        )
    },
    Attack {
        more_memory: 256 << 20,
        ..attack(
            "http: half a long report of a working copy",
            AttackedListener::Http,
            PeerBehavior::Hold,
            |_, _| {
                let entry = "<S:entry rev=\"1\">a/b</S:entry>";
                let body = format!(
                    "<S:update-report xmlns:S=\"svn:\"><S:src-path>/r</S:src-path>{}",
                    entry.repeat(60_000)
                );
                request("REPORT", "/r/!svn/me", "Content-Length: 90000000\r\n", &body)
            },
        )
    },
    attack(
        "http: clients that do not read a file",
        AttackedListener::Http,
        PeerBehavior::Unread,
        |_, _| request("GET", "/r/big", "", ""),
    ),
    attack(
        "http: clients that do not read a report",
        AttackedListener::Http,
        PeerBehavior::Unread,
        |_, _| {
            let body = "<S:file-revs-report xmlns:S=\"svn:\"><S:start-revision>1</S:start-revision>\
                    <S:end-revision>1</S:end-revision><S:path>big</S:path></S:file-revs-report>";
            request(
                "REPORT",
                "/r/!svn/bc/1",
                &format!("Content-Length: {}\r\n", body.len()),
                body,
            )
        },
    ),
    attack(
        "http: many requests at once, responses not read",
        AttackedListener::Http,
        PeerBehavior::Unread,
        |_, _| request("PROPFIND", "/r/", "Depth: 1\r\n", "").repeat(300),
    ),
    attack(
        "http: many requests at once, cached responses not read",
        AttackedListener::Http,
        PeerBehavior::Unread,
        |_, _| request("GET", "/r/lines", "", "").repeat(300),
    ),
    Attack {
        is_costly: true,
        kinds: 4,
        more_memory: 256 << 20,
        ..attack(
            "http: expensive pages",
            AttackedListener::Http,
            PeerBehavior::Hold,
            |_, kind| {
                let pages = [
                    "/r/?view=revision&p=2",
                    "/r/ends?view=file",
                    "/r/lines?view=blame",
                    "/r/lines?view=log",
                ];
                request("GET", pages[kind], "Accept: text/html\r\n", "")
            },
        )
    },
    attack(
        "http: wrong passwords",
        AttackedListener::Http,
        PeerBehavior::Repeat,
        |_, _| {
            request(
                "OPTIONS",
                "/closed/r",
                "Authorization: Basic YWxpY2U6d3Jvbmc=\r\n",
                "",
            )
        },
    ),
    attack(
        "http: short connections",
        AttackedListener::Http,
        PeerBehavior::Repeat,
        |_, _| b"\r\n".to_vec(),
    ),
    attack(
        "http: many wrong passwords",
        AttackedListener::Http,
        PeerBehavior::Hold,
        |_, _| {
            request(
                "OPTIONS",
                "/closed/r",
                "Authorization: Basic YWxpY2U6d3Jvbmc=\r\n",
                "",
            )
        },
    ),
    attack(
        "https: half a handshake",
        AttackedListener::Tls,
        PeerBehavior::Hold,
        |_, _| b"\x16\x03\x01\x02\x00\x01\x00\x01".to_vec(),
    ),
    attack(
        "svn: a silent connection",
        AttackedListener::Svn,
        PeerBehavior::Hold,
        |_, _| Vec::new(),
    ),
    attack(
        "metrics: half a head",
        AttackedListener::Metrics,
        PeerBehavior::Hold,
        |_, _| b"GET /-/metrics HTTP/1.1\r\n".to_vec(),
    ),
    attack(
        "svn: half a greeting",
        AttackedListener::Svn,
        PeerBehavior::Hold,
        |_, _| b"( 2 ( edit-pipeline ) 60000:svn://".to_vec(),
    ),
    attack(
        "svn: no authentication response",
        AttackedListener::Svn,
        PeerBehavior::Hold,
        |target, _| greeting(target),
    ),
    attack(
        "svn: a long authentication response",
        AttackedListener::Svn,
        PeerBehavior::Hold,
        |target, _| [greeting(target), b"( 16000000:".to_vec(), vec![b'x'; 15_000_000]].concat(),
    ),
    attack(
        "svn: half a command",
        AttackedListener::Svn,
        PeerBehavior::Hold,
        |target, _| client_bytes(target, "( get-latest-rev ( "),
    ),
    Attack {
        more_memory: 256 << 20,
        ..attack(
            "svn: half a long command",
            AttackedListener::Svn,
            PeerBehavior::Hold,
            |target, _| {
                [
                    client_bytes(target, "( get-file ( 16000000:"),
                    vec![b'x'; 15_000_000],
                ]
                .concat()
            },
        )
    },
    attack(
        "svn: an update without its report",
        AttackedListener::Svn,
        PeerBehavior::Hold,
        |target, _| client_bytes(target, "( update ( ( ) 0: true infinity false ) ) "),
    ),
    attack(
        "svn: an update with half its report",
        AttackedListener::Svn,
        PeerBehavior::Hold,
        |target, _| {
            client_bytes(
                target,
                "( status ( 0: true ( ) infinity ) ) ( set-path ( 0: 1 false ) ) ( set-path ( 5:a/",
            )
        },
    ),
    Attack {
        more_memory: 256 << 20,
        ..attack(
            "svn: half a report of many entries",
            AttackedListener::Svn,
            PeerBehavior::Hold,
            |target, _| {
                let entries: String = (0..40_000)
                    .map(|n| format!("( set-path ( 8:d/{n:06} 0 false ) ) "))
                    .collect();
                client_bytes(
                    target,
                    &format!(
                        "( update ( ( ) 0: true infinity false ) ) ( set-path ( 0: 1 false ) ) {entries}"
                    ),
                )
            },
        )
    },
    attack(
        "svn: clients that do not read an update",
        AttackedListener::Svn,
        PeerBehavior::Unread,
        |target, _| {
            client_bytes(
                target,
                "( update ( ( ) 0: true infinity false ) ) ( set-path ( 0: 0 true ) ) ( finish-report ( ) ) ",
            )
        },
    ),
    attack(
        "svn: clients that do not read a file's revisions",
        AttackedListener::Svn,
        PeerBehavior::Unread,
        |target, _| client_bytes(target, "( get-file-revs ( 3:big ( 1 ) ( 1 ) false ) ) "),
    ),
    Attack {
        is_costly: true,
        more_memory: 256 << 20,
        kinds: 2,
        ..attack(
            "svn: long lists",
            AttackedListener::Svn,
            PeerBehavior::Hold,
            |target, kind| match kind {
                0 => client_bytes(
                    target,
                    &format!("( get-locations ( 5:lines 1 ( {}) ) ) ", "1 ".repeat(1_000_000)),
                ),
                _ => client_bytes(
                    target,
                    &format!(
                        "( log ( ( {}) ( 1 ) ( 1 ) true false ) ) ",
                        "5:lines ".repeat(100_000)
                    ),
                ),
            },
        )
    },
    attack(
        "svn: many commands at once, responses not read",
        AttackedListener::Svn,
        PeerBehavior::Unread,
        |target, _| client_bytes(target, &"( get-dir ( 0: ( 1 ) true true ) ) ".repeat(2000)),
    ),
    attack(
        "svn: no authentication response in a command",
        AttackedListener::Svn,
        PeerBehavior::Hold,
        |target, _| client_bytes(target, "( commit ( 1:x ( ) false ( ) ) ) "),
    ),
    Attack {
        kinds: 3,
        ..attack(
            "svn: a commit that does not continue",
            AttackedListener::Svn,
            PeerBehavior::Hold,
            |target, kind| {
                let edits = [
                    "",
                    "( open-root ( ( ) 1:r ) ) ",
                    "( open-root ( ( ) 1:r ) ) ( add-file ( 1:f 1:r 1:f ( ) ) ) ( apply-textdelta ( 1:f ( ) ) ) \
                     ( textdelta-chunk ( 1:f 2000:SVN",
                ];
                let commands = format!("( commit ( 1:x ( ) false ( ) ) ) {}", edits[kind]);
                client_bytes_for("w", target, &commands)
            },
        )
    },
    attack(
        "svn: a refused commit that does not end",
        AttackedListener::Svn,
        PeerBehavior::Hold,
        |target, _| {
            client_bytes_for(
                "w",
                target,
                "( commit ( 1:x ( ) false ( ) ) ) ( open-root ( ( 99 ) 1:r ) ) ( open-file ( 1:f 1:r 1:f ( ) ) ) ",
            )
        },
    ),
    attack(
        "svn: short connections",
        AttackedListener::Svn,
        PeerBehavior::Repeat,
        |_, _| b"( 2 ( ) 1:x ) ".to_vec(),
    ),
];

const METHODS: [&str; 16] = [
    "GET",
    "PROPFIND",
    "PROPPATCH",
    "REPORT",
    "MERGE",
    "LOCK",
    "POST",
    "OPTIONS",
    "MKACTIVITY",
    "CHECKOUT",
    "PUT",
    "DELETE",
    "MKCOL",
    "COPY",
    "MOVE",
    "UNLOCK",
];

const REPORTS: [&str; 12] = [
    "log-report",
    "update-report",
    "replay-report",
    "file-revs-report",
    "get-locations",
    "get-location-segments",
    "get-deleted-rev-report",
    "mergeinfo-report",
    "get-locks-report",
    "inherited-props-report",
    "list-report",
    "dated-rev-report",
];

fn request(method: &str, path: &str, head: &str, body: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{head}\r\n{body}").into_bytes()
}

fn elements(report: &str, attributes: &str, count: usize) -> Vec<u8> {
    let body = format!(
        "<S:{report} xmlns:S=\"svn:\"{attributes}>{}</S:{report}>",
        "<a/>".repeat(count)
    );
    request(
        "REPORT",
        "/r/!svn/bc/1",
        &format!("Content-Length: {}\r\n", body.len()),
        &body,
    )
}

fn greeting(target: &AttackTarget) -> Vec<u8> {
    greeting_of("r", target)
}

fn greeting_of(repository: &str, target: &AttackTarget) -> Vec<u8> {
    let url = format!("svn://127.0.0.1:{}/{repository}", target.svn.port());
    let words = "edit-pipeline svndiff1 absent-entries depth mergeinfo log-revprops";
    format!("( 2 ( {words} ) {}:{url} 4:test ( ) ) ", url.len()).into_bytes()
}

/// Returns the bytes of an anonymous client: greeting, login and `commands`.
fn client_bytes(target: &AttackTarget, commands: &str) -> Vec<u8> {
    client_bytes_for("r", target, commands)
}

fn client_bytes_for(repository: &str, target: &AttackTarget, commands: &str) -> Vec<u8> {
    [
        &greeting_of(repository, target)[..],
        b"( ANONYMOUS ( 0: ) ) ",
        commands.as_bytes(),
    ]
    .concat()
}
