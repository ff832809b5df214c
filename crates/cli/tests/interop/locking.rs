//! Locks: set, stolen, broken, used and kept by commits.

use crate::twins::Twins;

#[test]
fn locks_are_set_stolen_and_broken() {
    Twins::greek().same(|c| {
        c.lines(
            r"
            svn lock -m 'A comment <with> & signs' wc/iota
            svn lock wc/iota
            bob lock $U/iota
            bob lock --force -m 'Stolen' $U/iota
            svn unlock wc/iota
            svn status -u wc
            svn lock --force wc/iota
            svn unlock wc/iota
            svn unlock wc/iota
            svn unlock $U/iota
            svn unlock --force $U/iota
            svn lock $U/iota $U/A/mu $U/A/B/lambda $U/A/D/gamma
            bob lock $U/iota $U/A/B/E/alpha $U/nope $U/A
            bob unlock $U/iota; bob unlock $U/A/B/E/alpha
            bob unlock --force $U/A/mu $U/A/B/lambda $U/nope
            svn lock $U/A
            svn lock $U/nope
            svn lock $U
            svn info $U/iota
            svn info $U/A/D/gamma
            svn unlock --force $U/A/D/gamma
            anon lock $U/A/mu
            anon unlock --force $U/iota
            printf 'a\001b' > m; svn lock -F m $U/A/D/gamma $U/A/D/G/pi
            printf 'zwei\nZeilen ä' > m; svn lock -F m $U/A/D/gamma $U/A/D/G/pi
            svn update -q wc; echo x >> wc/A/B/E/beta; svn commit -q -m 'Change' wc; svn update -q -r 1 wc; svn lock wc/A/B/E/beta
            svn lock wc/A/B/E/beta wc/A/B/E/alpha
            svn ls -v $U/A/D
            svn info --show-item kind $U/A/D/gamma
            svn lock $U/A/D/H/chi $U/A/D/H/chi
            ",
        );
    });
}

/// A commit with two errors: the first one that the incumbent finds is reported.
#[test]
fn out_of_date_and_locked() {
    Twins::greek().same(|c| {
        c.lines(
            r"
            cp -r wc other; svn lock -q wc/iota wc/A/mu wc/A/B/lambda wc/A/D/gamma
            for f in iota A/mu A/B/lambda A/D/gamma; do echo 1 >> wc/$f; done; svn commit -q --no-unlock -m 'No unlock' wc
            echo 2 >> other/iota; bob commit -m 'Text' other/iota
            bob propset -q p v other/A/mu; bob commit -m 'Property' other/A/mu
            echo 2 >> other/A/B/lambda; bob propset -q p v other/A/B/lambda; bob commit -m 'Both' other/A/B/lambda
            bob rm -q other/A/D/gamma; bob commit -m 'Deleted' other/A/D/gamma
            ",
        );
    });
}

#[test]
fn commits_with_locks() {
    Twins::greek().same(|c| {
        c.lines(
            r"
            cp -r wc other
            svn lock -q wc/iota wc/A/mu wc/A/B/lambda wc/A/D/G/pi
            echo 1 >> wc/iota; svn commit -m 'Released' wc/iota; svn status wc
            svn lock -q wc/iota; echo 2 >> wc/iota; svn commit --no-unlock -m 'No unlock' wc; svn status wc; svn info $U/iota
            echo 3 >> other/A/mu; bob commit -m 'Locked by another' other
            bob rm -m 'Locked by another' $U/A/mu
            bob rm -m 'Locked below' $U/A/B
            bob mv -m 'Locked by another' $U/A/B $U/B
            bob cp -m 'Copies are no writing' $U/A/B $U/B2
            bob propset -q p v other/A/B/lambda; bob commit -m 'Props' other/A/B/lambda
            bob mkdir -m 'Beside it' $U/A/B/new
            svn mkdir -m 'The same user without the token' $U/other
            svn rm -m 'The same user without the token' $U/A/mu
            svn rm -q wc/A/mu; svn commit -m 'Deleted with its token' wc
            svn update -q wc; echo 4 >> wc/A/B/lambda; bob commit -m 'Another with the token' wc
            bob lock --force -q $U/A/B/lambda; svn commit -m 'Stolen meanwhile' wc; svn status -u wc
            bob unlock -q $U/A/B/lambda; svn commit -m 'Unlocked meanwhile' wc; svn status wc
            svn revert -q -R wc; svn update -q wc; svn lock -q wc/A/D/G/rho wc/A/D/G/tau; svn rm -q wc/A/D/G; svn commit -m 'A folder with locked files' wc
            svn update -q wc; svn lock -q wc/A/D/gamma; svn mv wc/A/D/gamma wc/A/D/delta; svn commit -m 'Moved with its token' wc
            svn update -q wc; svn lock -q wc/A/D/delta; svn cp -q wc/A/D wc/D2; svn commit -m 'Copied with its lock' wc; svn status wc
            svn lock $U/D2/delta
            svn log -q -v $U
            ",
        );
    });
}

#[test]
fn adding_a_locked_existing_path_fails_because_it_exists() {
    Twins::greek().same(|c| {
        c.lines(
            r"
            svn checkout -q --depth empty $U/A sparse
            bob lock $U/A/mu $U/A/B/lambda
            echo x > sparse/mu; svn add sparse/mu
            svn commit -m 'Add a file' sparse
            svn revert -q sparse/mu
            rm sparse/mu; svn mkdir sparse/mu
            svn commit -m 'Add a directory' sparse
            svn revert -q sparse/mu
            svn mkdir sparse/B
            svn commit -m 'Add a directory over one with locks' sparse
            svn copy -m 'Copy over' $U/iota $U/A/mu
            svn import -m 'Import over' sparse $U/A
            ",
        );
    });
}

#[test]
fn locks_that_stay_after_a_commit_are_logged() {
    let twins = Twins::greek();
    // The hooks refuse by path, so that each commit gets another refusal.
    twins.hook(
        "pre-unlock",
        "case $2 in */lambda) echo refused >&2; exit 1;; esac",
    );
    twins.hook(
        "post-unlock",
        "grep -q gamma && { echo failed >&2; exit 1; }; exit 0",
    );
    twins.same(|c| {
        c.lines(
            r"
            svn lock -q wc/iota wc/A/mu; bob lock -q --force $U/iota
            echo 1 >> wc/A/mu; svn commit -m 'One is stolen' wc
            svn update -q wc; svn lock -q wc/A/mu; bob unlock -q --force $U/A/mu
            echo 2 >> wc/A/B/E/beta; svn commit -m 'One is broken' wc
            svn update -q wc; svn lock -q wc/A/B/lambda wc/A/D/gamma
            echo 3 >> wc/A/B/E/beta; svn commit -m 'Both hooks refuse' wc
            svn update -q wc; svn lock -q wc/A/mu wc/A/D/G/pi; bob lock -q --force $U/A/mu; bob lock -q --force $U/A/D/G/pi
            echo 4 >> wc/A/B/E/beta; svn commit -m 'Two are stolen' wc
            svn rm -q wc/A/D/G/rho; svn commit --no-unlock -m 'None is released' wc
            ",
        );
    });
}
