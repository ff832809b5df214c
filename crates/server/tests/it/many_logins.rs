//! Slow logins: more of them than the server checks at the same time.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use server::config::{AccessRules, Ldap, LdapScope, Provider};
use testkit::Tool;

use super::auth::basic;
use super::site::{RawClient, SitePlan, TestSite, request, status_of};

/// More logins than may wait for one address.
const FLOOD: usize = 100;

fn closed(plan: &mut SitePlan, provider: Provider) {
    plan.access = Some(AccessRules {
        providers: vec![provider].into(),
        realm: Some("test".into()),
        ..AccessRules::default()
    });
}

/// Sends many wrong passwords at once, and checks that requests without a password are answered meanwhile. Returns
/// how many logins were refused temporarily, and how many as wrong.
fn log_in_with_many_wrong_passwords(site: &TestSite, fails: u16) -> (usize, usize) {
    let mut all: Vec<RawClient> = (0..FLOOD).map(|_| site.connect()).collect();
    for (number, client) in all.iter_mut().enumerate() {
        let login = basic("alice", &format!("wrong{number}"));
        client.send(request("MERGE", "/repo", &login));
    }
    let begun = Instant::now();
    assert_eq!(site.ask("OPTIONS", "/repo", "").0, 200);
    assert!(begun.elapsed() < Duration::from_secs(20));
    let heads: Vec<String> = all.iter_mut().map(|client| client.answer().0).collect();
    let busy = heads.iter().filter(|head| status_of(head) == 503);
    assert!(
        busy.clone()
            .all(|head| head.to_lowercase().contains("\r\nretry-after: "))
    );
    let refused = heads.iter().filter(|head| status_of(head) == fails).count();
    (busy.count(), refused)
}

#[test]
fn refused_logins_can_be_tried_again() {
    let site = TestSite::new(|plan, folder: &Path| {
        let file = folder.join("htpasswd");
        let tool = Tool::new("htpasswd").args(["-bc", "-B", "-C", "9"]).arg(&file);
        tool.args(["alice", "right"]).ok();
        closed(plan, Provider::Htpasswd(file));
    });
    let (busy, refused) = log_in_with_many_wrong_passwords(&site, 401);
    assert!(busy > 0 && refused >= 64, "{busy} {refused}");
    assert_eq!(busy + refused, FLOOD);
    assert_ne!(site.ask("MERGE", "/repo", &basic("alice", "right")).0, 503);
}

#[test]
fn a_directory_that_does_not_respond_delays_no_other_request() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("because the loopback is there");
    let address = silent.local_addr().expect("because it is bound");
    let site = TestSite::new(|plan, _| {
        let ldap = Ldap {
            url: format!("ldap://{address}"),
            base: "dc=test".into(),
            user_attribute: "uid".into(),
            scope: LdapScope::Subtree,
            filter: None,
            bind_dn: None,
            bind_password: None,
            starttls: false,
            ca: None,
            groups: None,
            timeout: Duration::from_secs(1),
        };
        plan.threads.max = 4;
        closed(plan, Provider::Ldap(Box::new(ldap)));
    });
    let (busy, failed) = log_in_with_many_wrong_passwords(&site, 500);
    assert!(busy > 0 && failed >= 64, "{busy} {failed}");
    assert_eq!(busy + failed, FLOOD);
}
