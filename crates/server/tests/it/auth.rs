//! User names and passwords in HTTP requests.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use server::config::{AccessRules, Provider};
use testkit::Tool;

use super::site::{RawClient, TestSite, request, status_of};

/// A header line with a name and a password.
pub fn basic(user: &str, password: &str) -> String {
    let both = STANDARD.encode(format!("{user}:{password}"));
    format!("Authorization: Basic {both}\r\n")
}

fn htpasswd(at: &Path, kind: &str, user: &str, password: &str) {
    let create = if at.exists() { "-b" } else { "-bc" };
    Tool::new("htpasswd")
        .args([create, kind])
        .arg(at)
        .args([user, password])
        .ok();
}

pub fn closed(plan: &mut super::site::SitePlan, providers: Vec<Provider>) {
    plan.access = Some(AccessRules {
        providers: providers.into(),
        realm: Some("The \"realm\"".into()),
        anonymous: false,
        ..AccessRules::default()
    });
}

#[test]
fn passwords_of_all_kinds_are_accepted() {
    let site = TestSite::new(|plan, folder| {
        let file = folder.join("htpasswd");
        for (kind, user) in [
            ("-B", "bcrypt"),
            ("-m", "apr1"),
            ("-s", "sha1"),
            ("-5", "sha512"),
            ("-2", "sha256"),
        ] {
            htpasswd(&file, kind, user, &format!("{user}'s: secret"));
        }
        // `crypt` uses only eight characters.
        htpasswd(&file, "-d", "des", "des's: s");
        let mut known = std::fs::read_to_string(&file).expect("written");
        known.push_str("odd:$9$what\n");
        std::fs::write(&file, known).expect("written");
        let passwd = folder.join("passwd");
        std::fs::write(&passwd, "[users]\nplain = plain's: secret\napr1 = never asked\n").expect("written");
        closed(plan, vec![Provider::Htpasswd(file), Provider::Passwd(passwd)]);
    });
    for user in ["bcrypt", "apr1", "sha1", "sha512", "sha256", "des", "plain"] {
        for _ in 0..2 {
            let (status, text) = site.ask("OPTIONS", "/repo", &basic(user, &format!("{user}'s: secret")));
            assert_eq!(status, 200, "{user}: {text}");
        }
        for wrong in ["", "secret", "never asked"] {
            let (status, text) = site.ask("OPTIONS", "/repo", &basic(user, wrong));
            assert_eq!(status, 401, "{user} {wrong}: {text}");
            assert!(
                text.contains("www-authenticate: Basic realm=\"The 'realm'\""),
                "{text}"
            );
        }
    }
    assert_eq!(site.ask("OPTIONS", "/repo", "").0, 401);
    assert_eq!(site.ask("OPTIONS", "/repo", &basic("nobody", "x")).0, 401);
    assert_eq!(site.ask("OPTIONS", "/repo", "Authorization: Bearer x\r\n").0, 401);
    // With a hash of an unknown kind no user can log in; that is logged.
    assert_eq!(site.ask("OPTIONS", "/repo", &basic("odd", "secret")).0, 401);
    // A changed password takes effect at once, though the old one was cached as right.
    htpasswd(&site.path("htpasswd"), "-B", "bcrypt", "another");
    assert_eq!(
        site.ask("OPTIONS", "/repo", &basic("bcrypt", "bcrypt's: secret"))
            .0,
        401
    );
    assert_eq!(site.ask("OPTIONS", "/repo", &basic("bcrypt", "another")).0, 200);
    std::fs::remove_file(site.path("htpasswd")).expect("removed");
    assert_eq!(site.ask("OPTIONS", "/repo", &basic("bcrypt", "another")).0, 500);
}

/// The fields of a challenge.
struct Challenge {
    nonce: String,
    text: String,
}

fn challenge(site: &TestSite, headers: &str) -> Challenge {
    let (status, text) = site.ask("OPTIONS", "/repo", headers);
    assert_eq!(status, 401, "{text}");
    let nonce = text
        .split("nonce=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    Challenge {
        nonce: nonce.unwrap_or_default().to_owned(),
        text,
    }
}

fn hash(text: &str) -> String {
    Md5::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn digest(nonce: &str, method: &str, uri: &str, password: &str, count: u32) -> String {
    let ha1 = hash(&format!("alice:The 'realm':{password}"));
    let ha2 = hash(&format!("{method}:{uri}"));
    let response = hash(&format!("{ha1}:{nonce}:{count:08x}:abc:auth:{ha2}"));
    format!(
        "Authorization: Digest username=\"alice\", realm=\"The 'realm'\", nonce=\"{nonce}\", uri=\"{uri}\", \
         response=\"{response}\", algorithm=\"MD5\", cnonce=\"abc\", nc={count:08x}, qop=\"auth\"\r\n"
    )
}

#[test]
fn digests_cannot_be_replayed() {
    let site = TestSite::new(|plan, folder| {
        let passwd = folder.join("passwd");
        std::fs::write(&passwd, "[users]\nalice = secret\n").expect("written");
        closed(plan, vec![Provider::Passwd(passwd)]);
        if let Some(access) = &mut plan.access {
            access.digest = true;
        }
    });
    let asked = challenge(&site, "User-Agent: SVN/1.14\r\n");
    let digests = asked.text.find("www-authenticate: Digest").expect("asked");
    assert!(
        digests < asked.text.find("www-authenticate: Basic").expect("asked"),
        "the better first"
    );
    assert!(!asked.text.contains("SHA-256"), "{}", asked.text);
    assert!(
        challenge(&site, "User-Agent: other\r\n")
            .text
            .contains("algorithm=SHA-256")
    );
    let ask = |line: &str| site.ask("OPTIONS", "/repo?p=1", line);
    let uri = "/repo?p=1";
    let first = digest(&asked.nonce, "OPTIONS", uri, "secret", 1);
    let (status, text) = ask(&first);
    assert_eq!(status, 200, "{text}");
    let ha1 = hash("alice:The 'realm':secret");
    let proof = hash(&format!(
        "{ha1}:{}:00000001:abc:auth:{}",
        asked.nonce,
        hash(&format!(":{uri}"))
    ));
    assert!(
        text.contains(&format!("authentication-info: rspauth=\"{proof}\"")),
        "{text}"
    );
    let (status, text) = ask(&first);
    assert!(status == 401 && text.contains("stale=true"), "used twice: {text}");
    assert_eq!(ask(&digest(&asked.nonce, "OPTIONS", uri, "secret", 3)).0, 200);
    assert_eq!(ask(&digest(&asked.nonce, "OPTIONS", uri, "secret", 2)).0, 200);
    for wrong in [
        digest(&asked.nonce, "OPTIONS", uri, "Secret", 4),
        digest(&asked.nonce, "GET", uri, "secret", 4),
    ] {
        let (status, text) = ask(&wrong);
        assert!(status == 401 && !text.contains("stale=true"), "{text}");
    }
    let (status, text) = ask(&digest(&asked.nonce, "OPTIONS", "/repo", "secret", 4));
    assert!(
        status == 400 && !text.contains("www-authenticate"),
        "for another resource: {text}"
    );
    let (status, text) = ask(&digest(&asked.nonce, "OPTIONS", "/%72epo?p=%31", "secret", 4));
    assert_eq!(status, 200, "encoded in another way: {text}");
    let (status, text) = ask(&digest("0123", "OPTIONS", uri, "secret", 5));
    assert!(
        status == 401 && text.contains("stale=true"),
        "not our number: {text}"
    );
    assert_eq!(ask(&basic("alice", "secret")).0, 200, "or in the clear");
}

#[test]
fn digests_of_htdigest_files_are_accepted() {
    let site = TestSite::new(|plan, folder| {
        let file = folder.join("htdigest");
        let ha1 = hash("alice:The 'realm':secret");
        std::fs::write(&file, format!("alice:The 'realm':{ha1}\nbob:Other:{ha1}\n")).expect("written");
        closed(plan, vec![Provider::Htpasswd(file)]);
        if let Some(access) = &mut plan.access {
            access.digest = true;
        }
    });
    let asked = challenge(&site, "");
    assert!(
        !asked.text.contains("SHA-256"),
        "a file of MD5 has nothing for it: {}",
        asked.text
    );
    let right = digest(&asked.nonce, "OPTIONS", "/repo", "secret", 1);
    assert_eq!(site.ask("OPTIONS", "/repo", &right).0, 200);
    assert_eq!(site.ask("OPTIONS", "/repo", &basic("alice", "secret")).0, 200);
    assert_eq!(site.ask("OPTIONS", "/repo", &basic("bob", "secret")).0, 401);
}

#[test]
fn a_refused_body_is_read_and_the_connection_is_kept() {
    let site = TestSite::new(|plan, folder| {
        let passwd = folder.join("passwd");
        std::fs::write(&passwd, "[users]\nalice = secret\n").expect("written");
        closed(plan, vec![Provider::Passwd(passwd)]);
    });
    let mut client = RawClient::to(site.plain);
    for header in [String::new(), basic("alice", "secret")] {
        let head = format!("{header}Transfer-Encoding: chunked\r\n");
        client.send(request("OPTIONS", "/repo", &head));
        client.send("26\r\n<D:options xmlns:D=\"DAV:\"></D:options>\r\n0\r\n\r\n");
        let wanted = if header.is_empty() { 401 } else { 200 };
        let (head, _) = client.answer();
        assert_eq!(status_of(&head), wanted, "{head}");
    }
}
