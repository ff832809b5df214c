//! Changed properties of directories that the transaction has changed or made, based on each revision that a client may have.

use super::raw_http::HttpResponse;
use super::served::{Served, twins};
use super::webdav_clients::ALICE;

const PROPS: &str = "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop>\
    <x xmlns='http://subversion.tigris.org/xmlns/custom/'>1</x></D:prop></D:set></D:propertyupdate>";

/// The status of the request, and that of its property or the number of the error.
fn shown(response: &HttpResponse) -> String {
    let body = String::from_utf8_lossy(&response.body);
    let after = |mark: &str| {
        let (_, rest) = body.split_once(mark)?;
        Some(rest.chars().take_while(char::is_ascii_digit).collect::<String>())
    };
    let detail = after("errcode=\"").or_else(|| after("HTTP/1.1 "));
    format!("{} {}", response.status, detail.unwrap_or_default())
}

fn run(served: &Served) -> Vec<String> {
    let send = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        served.send_request(method, path, &[&[ALICE], headers].concat(), body)
    };
    // Revision 2 changes a directory, so that revision 1 of it is out of date.
    for _ in 0..2 {
        let txn = served.begin();
        send("PROPPATCH", &format!("/r/!svn/txr/{txn}/a/b"), &[], PROPS);
        assert_eq!(served.merge(&txn).status, 200);
    }
    let youngest = served.youngest();
    let (txn, other) = (served.begin(), served.begin());
    let root = format!("/r/!svn/txr/{txn}");
    let to = format!("http://127.0.0.1:{}{root}/copy", served.server.port());
    let from = format!("/r/!svn/rvr/{youngest}/a");
    let mut out = Vec::new();
    out.push(shown(&send("COPY", &from, &[("Destination", &to)], "")));
    for made in ["/made", "/copy/made", "/copy/b/made", "/a/b/made"] {
        out.push(shown(&send("MKCOL", &format!("{root}{made}"), &[], "")));
    }
    // A revision that the transaction does not see.
    send("MKCOL", &format!("/r/!svn/txr/{other}/later"), &[], "");
    assert_eq!(served.merge(&other).status, 200);
    for path in [
        "/a",
        "/a/b",
        "/a/b/made",
        "/copy",
        "/copy/b",
        "/copy/b/made",
        "/made",
        "/none",
    ] {
        for version in [0, 1, 2, youngest, youngest + 1, youngest + 2] {
            let version = version.to_string();
            let headers = [("X-SVN-Version-Name", version.as_str())];
            let response = send("PROPPATCH", &format!("{root}{path}"), &headers, PROPS);
            out.push(format!("{path} based on {version}: {}", shown(&response)));
        }
    }
    assert_eq!(served.merge(&txn).status, 200);
    out
}

#[test]
fn properties_of_directories_of_the_transaction() {
    let [theirs, ours] = &twins();
    assert_eq!(run(theirs), run(ours));
    assert_eq!(theirs.dump(0), ours.dump(0));
}
