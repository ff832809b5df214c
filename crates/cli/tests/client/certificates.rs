//! Certificates of servers, beside Subversion's client: what is wrong with each, whether it is asked about, and what the options accept.

use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, date_time_ymd};
use testkit::server::certified_hosts::{
    CertifiedHost, CertifiedHosts, SignedCertificate, certificate_params,
};
use testkit::{Side, normalize, runs_all_cases, sample, scratch};

use crate::terminal;

/// A server's certificate.
struct Case {
    name: &'static str,
    /// The host is that of the address.
    is_for_host: bool,
    issuer: &'static str,
    /// The server sends the certificate of the issuer too.
    sends_issuer: bool,
    when: When,
    purpose: Option<ExtendedKeyUsagePurpose>,
}

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Now,
    Past,
    Future,
}

const GOOD: Case = Case {
    name: "good",
    is_for_host: true,
    issuer: "root",
    sends_issuer: false,
    when: When::Now,
    purpose: None,
};

/// The authorities: name, issuer, whether it is one, and when it is valid.
const AUTHORITIES: [(&str, &str, bool, When); 5] = [
    ("root", "root", true, When::Now),
    ("past-root", "past-root", true, When::Past),
    ("middle", "root", true, When::Now),
    ("past-middle", "root", true, When::Past),
    ("no-authority", "root", false, When::Now),
];

fn cases() -> Vec<Case> {
    vec![
        GOOD,
        Case {
            name: "another host",
            is_for_host: false,
            ..GOOD
        },
        Case {
            name: "expired",
            when: When::Past,
            ..GOOD
        },
        Case {
            name: "not yet valid",
            when: When::Future,
            ..GOOD
        },
        Case {
            name: "expired, another host",
            is_for_host: false,
            when: When::Past,
            ..GOOD
        },
        Case {
            name: "a chain",
            issuer: "middle",
            sends_issuer: true,
            ..GOOD
        },
        Case {
            name: "a gap in the chain",
            issuer: "middle",
            ..GOOD
        },
        Case {
            name: "an expired issuer",
            issuer: "past-middle",
            sends_issuer: true,
            ..GOOD
        },
        Case {
            name: "an expired authority",
            issuer: "past-root",
            sends_issuer: true,
            ..GOOD
        },
        Case {
            name: "an issuer that is no authority",
            issuer: "no-authority",
            sends_issuer: true,
            ..GOOD
        },
        Case {
            name: "for clients",
            purpose: Some(ExtendedKeyUsagePurpose::ClientAuth),
            ..GOOD
        },
        Case {
            name: "self-signed",
            issuer: "",
            ..GOOD
        },
        Case {
            name: "self-signed, expired",
            issuer: "",
            when: When::Past,
            ..GOOD
        },
    ]
}

fn params(name: &str, when: When) -> CertificateParams {
    let mut params = certificate_params(name);
    let (from, until) = match when {
        When::Now => (2020, 2200),
        When::Past => (2019, 2021),
        When::Future => (2190, 2200),
    };
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    params
}

/// Writes the certificates of authorities and servers to a folder.
fn write_certificates(folder: &Path) {
    let write = |name: &str, text: String| {
        std::fs::write(folder.join(name), text).expect("because the folder is ours");
    };
    let mut made: Vec<(&str, SignedCertificate)> = Vec::new();
    for (name, issuer, is_authority, when) in AUTHORITIES {
        let issuer = made.iter().find(|(known, _)| *known == issuer);
        let issuer = issuer.map(|(_, issuer)| issuer);
        let mut params = params(name, when);
        params.is_ca = IsCa::ExplicitNoCa;
        let signed = match is_authority {
            true => SignedCertificate::authority(params, issuer),
            false => SignedCertificate::new(params, issuer),
        };
        write(&format!("{name}.pem"), signed.pem());
        made.push((name, signed));
    }
    write(
        "all.pem",
        made.iter().rev().map(|(_, signed)| signed.pem()).collect(),
    );
    for (number, case) in cases().into_iter().enumerate() {
        let name = match case.is_for_host {
            true => CertifiedHosts::address(number),
            false => "host.example".to_owned(),
        };
        let mut params = params(&name, case.when);
        params.extended_key_usages.extend(case.purpose);
        let issuer = made.iter().find(|(known, _)| *known == case.issuer);
        let issuer = issuer.map(|(_, issuer)| issuer);
        let signed = SignedCertificate::new(params, issuer);
        let sent = issuer.filter(|_| case.sends_issuer);
        let sent = sent.map(SignedCertificate::pem).unwrap_or_default();
        write(&format!("{number}.pem"), signed.pem() + &sent + &signed.key_pem());
    }
}

struct Site(CertifiedHosts);

impl Site {
    fn new() -> Site {
        let hosts = (0..cases().len()).map(|number| CertifiedHost {
            file: format!("{number}.pem"),
            lines: String::new(),
        });
        let hosts: Vec<CertifiedHost> = hosts.collect();
        Site(CertifiedHosts::new(&hosts, &[], write_certificates))
    }

    /// Runs commands on both sides, each with a home of its own, and compares what they print and store.
    fn same(&self, number: usize, commands: &[(&str, Option<&[&str]>)]) -> String {
        let url = self.0.url(number, "r");
        let folder = self.0.folder().display().to_string();
        let [theirs, ours] = Side::BOTH.map(|side| {
            let home = scratch();
            let mut shown = String::new();
            for (line, answers) in commands {
                let words = line.split_ascii_whitespace();
                let words = words.map(|word| word.replace("{URL}", &url).replace("{DIR}", &folder));
                let words: Vec<String> = words.collect();
                let tool = side.tool(&words[0]).args(&words[1..]);
                let tool = tool.env("HOME", home.path()).dir(home.path());
                let output = match answers {
                    Some(answers) => terminal::run(&tool, answers),
                    None => tool.run(),
                };
                shown += &format!("{}{}[exit {}]\n", output.out(), output.err(), output.code);
            }
            let kept = home.path().join(".subversion/auth/svn.ssl.server");
            let mut kept: Vec<PathBuf> = std::fs::read_dir(kept)
                .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
                .unwrap_or_default();
            kept.sort();
            for file in kept {
                shown += &String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default());
            }
            normalize::replace(&shown, &[(&home.path().to_string_lossy(), "{HOME}")])
        });
        let name = cases()[number].name;
        assert!(
            ours == theirs,
            "{name}: {commands:?}\n--- theirs\n{theirs}\n--- ours\n{ours}"
        );
        theirs
    }
}

/// Everything that is wrong with a certificate is shown, and what was accepted is stored.
#[test]
fn all_failures_of_a_certificate_are_shown() {
    let site = Site::new();
    let with = |files: &str| {
        format!(
            "svn info --show-item kind {{URL}} --config-option servers:global:ssl-authority-files={files}"
        )
    };
    for (number, case) in cases().iter().enumerate() {
        // In a plain run, the user accepts each third one permanently, and the others once.
        let is_stored = number.is_multiple_of(3);
        if !is_stored || runs_all_cases() {
            let both = with("{DIR}/root.pem;{DIR}/past-root.pem");
            site.same(number, &[(&both, Some(&["t"]))]);
        }
        // Subversion asks twice about this one: about the authority, and then about the rest.
        if case.purpose.is_none() && (is_stored || runs_all_cases()) {
            let plain = "svn info --show-item kind {URL}";
            let alone = format!("{plain} --non-interactive");
            let steps = [
                (plain, Some(&["p"][..])),
                (alone.as_str(), None),
                ("svn auth", None),
            ];
            site.same(number, &steps);
        }
    }
    // Of a file, the first certificate counts. It must vouch for itself.
    let files = [
        (0, "{DIR}/all.pem"),
        (0, "{DIR}/root.pem;{DIR}/none.pem"),
        (5, "{DIR}/middle.pem"),
        (6, "{DIR}/middle.pem"),
        (6, "{DIR}/middle.pem;{DIR}/root.pem"),
        (0, "{DIR}/0.pem"),
        (11, "{DIR}/11.pem"),
        (12, "{DIR}/12.pem"),
    ];
    for (number, files) in sample(2, files) {
        site.same(number, &[(&with(files), Some(&["t"]))]);
    }
}

/// An option accepts the failures that it names, and no others: a certificate of unknown origin is not accepted as one that has expired.
#[test]
fn options_accept_the_failures_that_they_name() {
    let site = Site::new();
    const NAMES: [&str; 5] = ["unknown-ca", "cn-mismatch", "expired", "not-yet-valid", "other"];
    let sets = |combinations: &[usize]| -> Vec<String> {
        let chosen = combinations.iter().map(|set| {
            let names = NAMES.iter().enumerate();
            let names = names.filter(|(number, _)| set >> number & 1 == 1);
            names.map(|(_, name)| *name).collect::<Vec<_>>().join(",")
        });
        chosen.collect()
    };
    for (number, combinations) in [
        (1, &[1, 3][..]),
        (2, &[0, 4, 5, 30]),
        (3, &[8, 9]),
        (4, &[3, 6, 7, 27]),
        (7, &[4, 16]),
        (9, &[1, 17]),
        (11, &[1, 30]),
        (12, &[1, 5]),
    ] {
        for set in sets(combinations) {
            let line = format!(
                "svn info --show-item kind {{URL}} --non-interactive --trust-server-cert-failures={set}"
            );
            site.same(number, &[(&line, None)]);
        }
    }
}
