//! Password files with all kinds of lines: the same users can log in as with Apache.

use std::fs;

use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::{Side, scratch};

use super::raw_http::send_request;

/// Lines with different user names. The password is `pw`, if there is one.
const LINES: &str = r#"
sha:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
sha-none:{SHA}
sha-bad:{SHA}!!!!
sha-short:{SHA}GpHWL3ymc5li
sha-unpadded:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM
sha-long:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=AAAA
sha-small:{sha}GpHWL3ymc5liWkNopqtdSjuqYHM=
ssha:{SSHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
apr:$apr1$eetfVVfE$0j4eCY3Z0lTb5NwFeAs.l.
apr-no-salt:$apr1$$w7neMnnY7ZMxFRIT9tS6m.
apr-only:$apr1$
apr-salt:$apr1$eetfVVfE
apr-empty:$apr1$eetfVVfE$
apr-more:$apr1$eetfVVfE$0j4eCY3Z0lTb5NwFeAs.l.x
md5-no-salt:$1$$F0Fc2lbYpzr3KKdKkM0Wj.
md5-only:$1$
bcrypt:$2y$04$GtDwBRXYAQvnx463uMEtj.Z..kbDSc8tajE0YuIexuh5d1xul3HUG
bcrypt-a:$2a$04$abcdefghijklmnopqrstuuyvPXIbu7xe6/CED2DzX8z6Si09MlzlW
bcrypt-b:$2b$04$abcdefghijklmnopqrstuuyvPXIbu7xe6/CED2DzX8z6Si09MlzlW
bcrypt-x:$2x$04$abcdefghijklmnopqrstuuyvPXIbu7xe6/CED2DzX8z6Si09MlzlW
bcrypt-cost-low:$2y$03$GtDwBRXYAQvnx463uMEtj.Z..kbDSc8tajE0YuIexuh5d1xul3HUG
bcrypt-cost-high:$2y$99$GtDwBRXYAQvnx463uMEtj.Z..kbDSc8tajE0YuIexuh5d1xul3HUG
bcrypt-cost-word:$2y$ab$GtDwBRXYAQvnx463uMEtj.Z..kbDSc8tajE0YuIexuh5d1xul3HUG
bcrypt-cost-one:$2y$4$GtDwBRXYAQvnx463uMEtj.Z..kbDSc8tajE0YuIexuh5d1xul3HUG
bcrypt-short:$2y$04$GtDwBRXYAQvnx463uMEtj.Z..kbDSc8
bcrypt-only:$2y$
bcrypt-bare:$2
bcrypt-letters:$2y$04$GtDwBRXYAQvnx463uMEtj!Z..kbDSc8tajE0YuIexuh5d1xul3HUG
bcrypt-more:$2y$04$GtDwBRXYAQvnx463uMEtj.Z..kbDSc8tajE0YuIexuh5d1xul3HUGx
long:$2y$05$ry7dp5TLDXiafhTooeOvxekXMqc6wkeaSYOC2s739oAkrVeRFvW0S
sha256:$5$HOGpp1uVjnonOhO5$YoGKz4aHaz.rW/9.jgOJZdcu7BxS9/wcvZCXSXwqMCA
sha512-rounds:$6$rounds=1000$ab$8/vdebh7.eIeNufFrLK0jMMqafLdKpZbPY1ppG7x22R2yDSMj7XkxuEn2jtBuNS.VYAmIhpV6haXB82POC/MC0
sha512-few:$6$rounds=10$ab$8/vdebh7.eIeNufFrLK0jMMqafLdKpZbPY1ppG7x22R2yDSMj7XkxuEn2jtBuNS.VYAmIhpV6haXB82POC/MC0
sha512-word:$6$rounds=x$ab$8/vdebh7.eIeNufFrLK0jMMqafLdKpZbPY1ppG7x22R2yDSMj7XkxuEn2jtBuNS.VYAmIhpV6haXB82POC/MC0
sha512-only:$6$
sha512-open:$6$salt
yes-only:$y$
des:abzlUXK5ed5rs
des-short:abzlUXK5ed5r
des-letters:!!zlUXK5ed5rs
des-two:ab
des-one:a
off:*
off-bang:!
off-star:*0
off-x:x
plain:pw
dollar:$
unknown:$9$abc$def
none:
none-more::
colon-more:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=:comment:more
twice:{SHA}!!!!
twice:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
twice-none:
twice-none:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
no-colon
  before:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
within : {SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
space: {SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
two words:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
behind:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=   
#number:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
Upper:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
ünï:{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=
"#;

/// User names that are not at the beginning of a line.
const MORE: [&str; 6] = ["within", "before", "upper", "nobody", "  before", "#number"];

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, at| {
            number << 8 | usize::from(three.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            match at <= three.len() {
                true => out.push(char::from(LETTERS[number >> (18 - 6 * at) & 63])),
                false => out.push('='),
            }
        }
    }
    out
}

/// Returns the users that can log in, with their passwords.
fn accepted_logins(side: Side) -> Vec<String> {
    let root = scratch();
    testkit::create_repository(&root.path().join("repo"));
    let users = root.path().join("passwords");
    fs::write(&users, LINES.trim_start_matches('\n')).expect("because the folder is ours");
    let apache = format!(
        "AuthType Basic\nAuthName r\nAuthUserFile {}\nRequire valid-user\n",
        users.display()
    );
    let ours = format!(
        "anonymous = false\n[location.auth]\nhtpasswd-file = '{}'\n",
        users.display()
    );
    let server = TestServer::http_site(
        side,
        &HttpSite {
            apache: &apache,
            ours: &ours,
            ..HttpSite::plain(root.path())
        },
    );
    let names = LINES.lines().filter_map(|line| Some(line.split_once(':')?.0));
    let (long, longer) = ("a".repeat(72), "a".repeat(80));
    let mut output_text = Vec::new();
    for name in names.chain(MORE) {
        for password in ["pw", "", "other", "p\u{0}w", &long, &longer] {
            if password.len() > 5 && name != "long" {
                continue;
            }
            let header = format!("Basic {}", base64(format!("{name}:{password}").as_bytes()));
            let headers = [("Authorization", header.as_str()), ("Depth", "0")];
            let status = send_request(server.port(), "PROPFIND", "/repo/", &headers, "").status;
            output_text.push(format!("{name:?} {password:?}: {status}"));
        }
    }
    output_text
}

#[test]
fn unusual_hashes_accept_the_same_passwords_as_apache() {
    let [theirs, ours] = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| accepted_logins(Side::Theirs));
        let ours = accepted_logins(Side::Ours);
        [theirs.join().expect("because Apache is there"), ours]
    });
    assert_eq!(theirs, ours);
}
