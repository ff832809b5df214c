//! A short scenario over https and with the older protocol, in every run. `cargo xtask interop` runs all scenarios
//! over each transport.

use testkit::server::http::READ_FREELY;
use testkit::server::transport::Transport;

use crate::pair::ScenarioClient;
use crate::twins::{CONF, Twins, greek_repo};

fn greek_over(transport: Transport) -> Twins {
    Twins::over(transport, &greek_repo(), &[("svnserve.conf", CONF)], READ_FREELY)
}

const A_DAY: &str = r"
        echo x >> wc/iota; svn rm -q wc/A/mu; svn commit -m 'Edit' wc
        svn cp -m 'Copy' $U/A $U/copy
        svn update -q wc; echo y >> wc/copy/B/lambda; svn propset -q p v wc/copy; svn commit -m 'Below' wc
        echo z >> wc/A/D/gamma; svn commit -m 'To be merged' wc/A/D/gamma
        svn update -q wc; svn merge $U/A wc/copy; svn commit -m 'Merged' wc; svn mergeinfo --show-revs merged $U/A $U/copy
        svn lock -m 'Mine' wc/A/D/gamma; svn status -u wc; bob lock $U/A/D/gamma
        echo l >> wc/A/D/gamma; svn commit -m 'With its lock' wc
        svn mv -m 'Move' $U/copy $U/moved; svn rm -m 'Delete' $U/moved/B; svn mkdir -m 'Again' $U/moved
        cp -r wc other; echo 1 >> wc/iota; svn commit -q -m 'First' wc; echo 2 >> other/iota; svn commit -m 'Too late' other
        svn update -q wc; svn status -v wc | sed 's/^ *//'
        svn switch -q --ignore-ancestry $U/moved wc; svn info --show-item relative-url wc
        svn log -v $U; svn blame $U/iota; svn ls -R $U; svn diff -r 1:HEAD $U/iota
        anon mkdir -m 'Nobody' $U/nobody
        ";

fn a_day(c: &mut ScenarioClient) {
    let lines = A_DAY.lines().map(str::trim).filter(|line| !line.is_empty());
    // Clients read the certificate authorities of the system for each connection, which takes longer than most of the commands. They
    // trust the certificate of the server without them.
    let lines = lines.map(|line| format!("export SSL_CERT_FILE=/dev/null; {line}\n"));
    c.lines(&lines.collect::<String>());
    // Both must succeed: equal failures are no success.
    assert!(c.dir().join("other/iota").exists(), "nothing was checked out");
}

#[test]
fn a_scenario_over_https() {
    greek_over(Transport::Https).same(a_day);
}

#[test]
fn a_scenario_with_the_older_protocol() {
    greek_over(Transport::HttpV1).same(|c| {
        a_day(c);
        // A directory that has changed since the client's revision is refused, unless the commit has changed something below it already.
        c.lines(
            "svn mkdir -q -m m $U/youngest
             OLD=$(($(svn info --show-item revision $U) - 1)); svnmucc -m m -r $OLD mkdir $U/refused
             OLD=$(($(svn info --show-item revision $U) - 1)); svnmucc -m m -r $OLD propset p v $U/A/D/gamma mkdir $U/made
             svn list $U",
        );
    });
}
