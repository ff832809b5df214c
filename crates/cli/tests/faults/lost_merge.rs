//! A commit over HTTP whose last request reaches another node, which passes it on and loses the response.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use testkit::fault_proxy::ProxyFault;

use crate::client::open;
use crate::nodes::TestNodes;

/// `u:secret`, in base64.
const AUTHORIZATION: &str = "Basic dTpzZWNyZXQ=";

/// Sends a request to a node, and returns the whole response.
fn send(url: &str, method: &str, target: &str, headers: &str, body: &str) -> String {
    let host = url.strip_prefix("http://").unwrap().strip_suffix("/r").unwrap();
    let mut connection = TcpStream::connect(host).unwrap();
    let length = body.len();
    let request = format!(
        "{method} /r{target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {AUTHORIZATION}\r\nConnection: close\r\n\
         {headers}Content-Length: {length}\r\n\r\n{body}"
    );
    connection.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn a_commit_is_not_refused_if_its_response_is_lost() {
    let test = TestNodes::start();
    let targets = test.targets();
    let (first, second) = (&targets.http[0], &targets.http[1]);
    let begun = send(
        first,
        "POST",
        "/!svn/me",
        "Content-Type: application/vnd.svn-skel\r\n",
        "( create-txn )",
    );
    let name = begun.lines().find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case("svn-txn-name").then_some(value)
    });
    let name = name.unwrap_or_else(|| panic!("{begun}"));
    let put = send(first, "PUT", &format!("/!svn/txr/{name}/new"), "", "text");
    assert!(put.starts_with("HTTP/1.1 201"), "{put}");
    let merge = format!(
        "<?xml version=\"1.0\"?><D:merge xmlns:D=\"DAV:\"><D:source><D:href>/r/!svn/txn/{name}</D:href></D:source>\
         <D:no-auto-merge/><D:no-checkout/><D:prop><D:checked-in/></D:prop></D:merge>"
    );
    let merge = || {
        let xml = "Content-Type: text/xml\r\n";
        send(second, "MERGE", "", xml, &merge)
    };
    test.nodes[0].others.set(ProxyFault::LoseResponses);
    let response = merge();
    let youngest = |url: &str| open(url).unwrap().latest_revision().unwrap().0;
    assert_eq!(youngest(&targets.svn[2]), 2, "the revision was made: {response}");
    assert!(response.starts_with("HTTP/1.1 504"), "{response}");
    assert!(response.contains("It is not known whether"), "{response}");
    // Of a machine that cannot be reached, it is known.
    test.nodes[0].others.set(ProxyFault::None);
    let again = merge();
    assert!(!again.starts_with("HTTP/1.1 200"), "{again}");
    assert_eq!(youngest(&targets.svn[2]), 2);
}
