//! Clients check the texts whose digests were announced to them; the server checks all others before it sends them.

use std::io::Read as _;

use testkit::{Repo, Tool};

use super::site::{TestSite, request};

/// Texts of revision 2: of one window, and of several.
const TEXTS: [(&str, usize); 2] = [("short", 3_000), ("long", 250_000)];

const SUBVERSION: &str = "User-Agent: SVN/1.14.2\r\n";

fn text(length: usize) -> Vec<u8> {
    testkit::history::noise(length as u64, length)
}

/// Commits the texts.
fn fill(site: &TestSite) {
    let tree = site.path("texts");
    std::fs::create_dir_all(&tree).expect("a new folder");
    for (name, length) in TEXTS {
        std::fs::write(tree.join(name), text(length)).expect("written");
    }
    let into = Repo::at(&site.path("repos/repo")).url();
    let import = Tool::new("svn").args(["import", "-q", "-m", "texts"]);
    import.arg(&tree).arg(format!("{into}/texts")).ok();
}

/// Commits the texts, and changes a byte of each in the revision file.
fn fill_and_damage(site: &TestSite) {
    fill(site);
    let file = site.path("repos/repo/db/revs/0/2");
    let mut bytes = std::fs::read(&file).expect("a file of a revision");
    for (_, length) in TEXTS {
        // Texts that cannot be compressed are stored unchanged.
        let end = &text(length)[length - 500..];
        let at = bytes.windows(end.len()).position(|there| there == end);
        bytes[at.expect("the end of the text") + 100] ^= 1;
    }
    let mut permissions = std::fs::metadata(&file).expect("it is there").permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "it is a temporary file")]
    permissions.set_readonly(false);
    std::fs::set_permissions(&file, permissions).expect("ours");
    std::fs::write(&file, bytes).expect("written");
}

/// Sends the report of a checkout, and reads the whole response.
fn report(site: &TestSite) {
    let body = "<S:update-report xmlns:S=\"svn:\"><S:include-props>yes</S:include-props><S:src-path>/repo</S:src-path>\
                <S:target-revision>2</S:target-revision><S:depth>unknown</S:depth>\
                <S:entry rev=\"2\" depth=\"infinity\" start-empty=\"true\"></S:entry></S:update-report>";
    let headers = format!("Content-Length: {}\r\nConnection: close\r\n", body.len());
    let response = site.exchange(request("REPORT", "/repo/!svn/me", &headers) + body);
    for (name, _) in TEXTS {
        assert!(
            response.contains(&format!("<S:add-file name=\"{name}\"")),
            "{response}"
        );
    }
}

/// Whether the whole text is sent.
fn is_sent_whole(site: &TestSite, name: &str, headers: &str) -> bool {
    let close = format!("{headers}Connection: close\r\n");
    let mut client = site.connect();
    client.send(request("GET", &format!("/repo/!svn/rvr/2/texts/{name}"), &close));
    let mut response = Vec::new();
    // A text that is cut off ends with a reset.
    _ = client.socket.read_to_end(&mut response);
    let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let body = response.split_off(end.expect("a head") + 4);
    let (_, length) = TEXTS
        .iter()
        .find(|(known, _)| *known == name)
        .expect("one of them");
    let whole = response.starts_with(b"HTTP/1.1 200") && body.len() == *length;
    assert!(!whole || body != text(*length), "{name} is damaged");
    whole
}

#[test]
fn unchecked_texts_are_sent_only_to_clients_with_the_digest() {
    let site = TestSite::plain();
    fill_and_damage(&site);
    for (name, _) in TEXTS {
        assert!(!is_sent_whole(&site, name, SUBVERSION), "{name}");
        assert!(!is_sent_whole(&site, name, ""), "{name}");
    }
    // A cached text is checked even for clients that know the digest: once, for all later requests.
    report(&site);
    assert!(!is_sent_whole(&site, "short", SUBVERSION));
}

#[test]
fn an_uncached_text_is_sent_unchecked_to_a_checkout_once() {
    let site = TestSite::plain();
    fill_and_damage(&site);
    report(&site);
    for (name, _) in TEXTS {
        // Browsers were announced no digest, though they have the same address.
        assert!(!is_sent_whole(&site, name, ""), "{name}");
    }
    let site = TestSite::plain();
    fill_and_damage(&site);
    report(&site);
    for (name, _) in TEXTS {
        // The client finds the damage itself.
        assert!(is_sent_whole(&site, name, SUBVERSION), "{name}");
        assert!(!is_sent_whole(&site, name, SUBVERSION), "{name}");
        assert!(!is_sent_whole(&site, name, ""), "{name}");
    }
}

/// A checkout that is interrupted leaves notes. Another program on the same machine has not got these digests.
#[test]
fn another_session_gets_checked_texts() {
    let site = TestSite::plain();
    fill_and_damage(&site);
    report(&site);
    for (name, length) in TEXTS {
        let mut client = site.connect();
        client.send(request("OPTIONS", "/repo", SUBVERSION));
        assert!(client.answer().0.starts_with("http/1.1 200"));
        let close = format!("{SUBVERSION}Connection: close\r\n");
        client.send(request("GET", &format!("/repo/!svn/rvr/2/texts/{name}"), &close));
        let mut received = Vec::new();
        // A text that is cut off ends with a reset.
        _ = client.socket.read_to_end(&mut received);
        let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let body = received.split_off(end.map_or(received.len(), |end| end + 4));
        assert!(
            body.len() < length,
            "{name}: {}",
            String::from_utf8_lossy(&received)
        );
    }
}

/// A text that was not checked must not be kept in a proxy's cache.
#[test]
fn proxies_cache_only_checked_texts() {
    let site = TestSite::plain();
    fill(&site);
    report(&site);
    for (name, _) in TEXTS {
        for wanted in ["max-age=0", "max-age=604800", "max-age=604800"] {
            let mut client = site.connect();
            client.send(request(
                "GET",
                &format!("/repo/!svn/rvr/2/texts/{name}"),
                SUBVERSION,
            ));
            let (head, _) = client.answer();
            assert!(head.starts_with("http/1.1 200"), "{name}: {head}");
            let lines = head
                .lines()
                .filter_map(|line| line.strip_prefix("cache-control: "));
            assert_eq!(lines.collect::<Vec<_>>(), [wanted], "{name}");
        }
    }
}

/// The stock client refuses the file, whether it or the server has found the damage.
#[test]
fn the_stock_client_refuses_a_damaged_text() {
    let site = TestSite::plain();
    fill_and_damage(&site);
    let url = format!("http://{}/repo/texts", site.plain);
    for command in ["export", "checkout"] {
        let into = site.path(command);
        let run = Tool::new("svn").args([command, "-q"]).arg(&url).arg(&into).run();
        assert_ne!(run.code, 0, "{command}");
        // The second time the server checks first, and ends the connection.
        let says_why = run.err().contains("hecksum mismatch");
        assert!(says_why || command == "checkout", "{command}: {}", run.err());
    }
    for (name, _) in TEXTS {
        let run = Tool::new("svn").arg("cat").arg(format!("{url}/{name}")).run();
        assert_ne!(run.code, 0, "{name}");
    }
}
