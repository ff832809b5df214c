//! Generates sequences of requests from a seed, so that both servers get the same.

use testkit::history::Random;

/// A request. In its texts `{W}` is the root of the transaction's tree, `{T}` the transaction, `{P}` the resource
/// with its properties, and `{H}` the server.
#[derive(Clone, Debug)]
pub struct SequenceRequest {
    pub method: &'static str,
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
    /// The size of the chunks of the body, in bytes.
    pub chunks: Option<usize>,
}

/// The end of a connection within a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The client sends no more, and reads.
    Finished,
    /// The client disconnects.
    Reset,
}

/// A step of a client.
#[derive(Clone, Debug)]
pub enum SequenceStep {
    /// A request over a connection of its own.
    One(SequenceRequest),
    /// A request over the connection of the sequence.
    OnOpenConnection(SequenceRequest),
    /// Pipelined requests over one connection.
    Pipelined(Vec<SequenceRequest>),
    /// A request with `Expect: 100-continue`.
    Expecting(SequenceRequest),
    /// A partial request: this many thousandths of its head or, if `in_body`, of its body.
    Cut {
        request: SequenceRequest,
        in_body: bool,
        part: usize,
        how: Cut,
    },
    /// Parallel requests: each list over its own connection, in its own transaction.
    Parallel(Vec<Vec<SequenceRequest>>),
    /// Another transaction that changes a file and is merged.
    Meanwhile(&'static str),
}

/// A sequence in one transaction.
#[derive(Debug)]
pub struct RequestSequence {
    /// True for the older protocol: activities and checkouts.
    pub is_v1: bool,
    pub steps: Vec<SequenceStep>,
    /// True if it becomes a revision, false if it is aborted.
    pub is_merged: bool,
}

const PATHS: [&str; 11] = [
    "f", "a", "a/g", "a/b", "a/b/h", "new", "a/new", "a/new/x", "none/x", "f/x", "a%20%ff",
];
const PROPS: &str = "<D:propertyupdate xmlns:D='DAV:' xmlns:C='http://subversion.tigris.org/xmlns/custom/'><D:set><D:prop><C:color>red\
                     </C:color></D:prop></D:set></D:propertyupdate>";
const LIVE: &str =
    "<D:propfind xmlns:D='DAV:'><D:prop><D:resourcetype/><D:version-name/></D:prop></D:propfind>";
const LOCKS: &str = "<S:get-locks-report xmlns:S='svn:' depth='infinity'/>";

/// Returns the sequence of a seed.
pub fn sequence(seed: u64) -> RequestSequence {
    let mut random = Random::new(seed);
    random.next();
    let is_v1 = random.below(2) == 0;
    let mut steps = Vec::new();
    for _ in 0..3 + random.below(8) {
        steps.push(step(&mut random, is_v1));
    }
    RequestSequence {
        is_v1,
        steps,
        is_merged: random.below(5) > 0,
    }
}

fn step(random: &mut Random, is_v1: bool) -> SequenceStep {
    match random.below(16) {
        0..5 => SequenceStep::One(request(random, is_v1)),
        5..8 => SequenceStep::OnOpenConnection(request(random, is_v1)),
        8..10 => {
            let count = 2 + random.below(5);
            SequenceStep::Pipelined((0..count).map(|_| request(random, is_v1)).collect())
        }
        10 | 11 => SequenceStep::Expecting(with_body(random, is_v1)),
        12 | 13 => {
            let in_body = random.below(3) > 0;
            SequenceStep::Cut {
                request: match in_body {
                    true => with_body(random, is_v1),
                    false => request(random, is_v1),
                },
                in_body,
                part: random.below(1000),
                how: match random.below(2) {
                    0 => Cut::Finished,
                    _ => Cut::Reset,
                },
            }
        }
        14 => {
            let lists = (0..2 + random.below(2)).map(|nth| below(random, nth, is_v1));
            SequenceStep::Parallel(lists.collect())
        }
        _ => SequenceStep::Meanwhile(["f", "a/g", "a/b/h"][random.below(3)]),
    }
}

fn with_body(random: &mut Random, is_v1: bool) -> SequenceRequest {
    loop {
        let request = request(random, is_v1);
        // Where a PROPPATCH is refused for its revision, Apache does so before it has the body.
        let is_checked_first = request.method == "PROPPATCH" && !request.headers.is_empty();
        if !request.body.is_empty() && !is_checked_first {
            return request;
        }
    }
}

/// Returns requests in a separate directory, so that their order does not matter.
fn below(random: &mut Random, nth: usize, is_v1: bool) -> Vec<SequenceRequest> {
    let mut list = vec![
        bare("DELETE", format!("{{W}}/p{nth}")),
        bare("MKCOL", format!("{{W}}/p{nth}")),
    ];
    for _ in 0..2 + random.below(5) {
        let mut made = request(random, is_v1);
        if !made.url.starts_with("{W}/") || made.method == "CHECKOUT" || made.method == "MERGE" {
            continue;
        }
        let under = format!("{{W}}/p{nth}/");
        made.url = made.url.replace("{W}/", &under);
        for (_, value) in &mut made.headers {
            *value = value.replace("{W}/", &under);
        }
        list.push(made);
    }
    list
}

fn bare(method: &'static str, url: String) -> SequenceRequest {
    SequenceRequest {
        method,
        url,
        headers: Vec::new(),
        body: String::new(),
        chunks: None,
    }
}

/// The revision that a client has, in one of two requests.
fn version(random: &mut Random) -> Vec<(&'static str, String)> {
    match random.below(2) {
        0 => Vec::new(),
        _ => vec![(
            "X-SVN-Version-Name",
            ["0", "1", "1", "-1", "99"][random.below(5)].to_owned(),
        )],
    }
}

fn request(random: &mut Random, is_v1: bool) -> SequenceRequest {
    let path = PATHS[random.below(PATHS.len())];
    let other = PATHS[random.below(PATHS.len())];
    let node = format!("{{W}}/{path}");
    let mut made = match random.below(22) {
        0..4 => SequenceRequest {
            body: format!("text {}\n", random.below(4)).repeat(1 + random.below(3) * 700),
            ..bare("PUT", node)
        },
        4 => SequenceRequest {
            body: "based\n".to_owned(),
            headers: version(random),
            ..bare("PUT", node)
        },
        5 | 6 => bare("MKCOL", node),
        7 | 8 => SequenceRequest {
            body: PROPS.to_owned(),
            headers: version(random),
            ..bare("PROPPATCH", node)
        },
        9 | 10 => SequenceRequest {
            headers: [depth(random), version(random)].concat(),
            ..bare("DELETE", node)
        },
        11 | 12 => {
            let overwrite = ["T", "F"][random.below(2)].to_owned();
            let mut headers = depth(random);
            headers.push(("Destination", format!("{{H}}{{W}}/{other}")));
            headers.push(("Overwrite", overwrite));
            let kind = ["rvr", "bc"][random.below(2)];
            SequenceRequest {
                headers,
                ..bare("COPY", format!("/r/!svn/{kind}/1/{path}"))
            }
        }
        13 => bare("GET", node),
        14 => bare("HEAD", format!("/r/{path}")),
        15 => SequenceRequest {
            headers: vec![("Depth", ["0", "1"][random.below(2)].to_owned())],
            body: [LIVE, ""][random.below(2)].to_owned(),
            ..bare("PROPFIND", format!("/r/!svn/rvr/1/{path}"))
        },
        16 => bare("OPTIONS", ["/r".to_owned(), node][random.below(2)].clone()),
        17 => SequenceRequest {
            body: PROPS.to_owned(),
            ..bare("PROPPATCH", "{P}".to_owned())
        },
        18 => SequenceRequest {
            body: LOCKS.to_owned(),
            ..bare("REPORT", "/r/!svn/rvr/1/".to_owned())
        },
        19 if is_v1 => {
            let rev = 1 + random.below(2);
            let url = match random.below(6) {
                0 => "/r/!svn/vcc/default".to_owned(),
                1 => format!("/r/!svn/bln/{rev}"),
                2 => format!("/r/!svn/bc/{rev}/{path}"),
                _ => format!("/r/!svn/ver/{rev}/{path}"),
            };
            let apply = ["", "<D:apply-to-version/>"][random.below(2)];
            SequenceRequest {
                body: format!(
                    "<D:checkout xmlns:D='DAV:'>{apply}<D:activity-set><D:href>{{T}}</D:href></D:activity-set></D:checkout>"
                ),
                ..bare("CHECKOUT", url)
            }
        }
        20 if is_v1 => bare("MKACTIVITY", "{T}".to_owned()),
        21 if random.below(4) == 0 => SequenceRequest {
            body:
                "<D:merge xmlns:D='DAV:'><D:source><D:href>/r/!svn/vcc/default</D:href></D:source></D:merge>"
                    .to_owned(),
            ..bare("MERGE", format!("/r/{path}"))
        },
        _ => SequenceRequest {
            headers: vec![("Depth", "0".to_owned())],
            ..bare("PROPFIND", node)
        },
    };
    if !made.body.is_empty() && random.below(3) == 0 {
        made.chunks = Some(1 + random.below(made.body.len()));
    }
    made
}

fn depth(random: &mut Random) -> Vec<(&'static str, String)> {
    match random.below(8) {
        0 => vec![("Depth", "0".to_owned())],
        1 => vec![("Depth", "1".to_owned())],
        2 => vec![("Depth", "infinity".to_owned())],
        3 => vec![("Depth", "x".to_owned())],
        _ => Vec::new(),
    }
}
