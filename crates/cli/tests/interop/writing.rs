//! Commits with the stock client: its output, and the resulting repository.

use testkit::server::transport::Transport;
use testkit::{Spec, sample};

use crate::pair::ScenarioClient;
use crate::twins::{CONF, Twins};

#[test]
fn edits_of_every_kind() {
    Twins::greek().same(edits);
}

pub fn edits(c: &mut ScenarioClient) {
    c.lines(
        r"
        echo more >> wc/iota; svn commit -m 'Edit a file' wc
        printf 'a\0b\377c' > wc/binary; svn add wc/binary; : > wc/empty; svn add wc/empty; svn commit -m 'Binary and empty' wc
        head -c 300000 /dev/zero > wc/zeros; svn add wc/zeros; seq 1 60000 > wc/numbers; svn add wc/numbers; svn commit -m 'Large' wc
        echo middle > wc/new; sed -i 's/^30000$/changed/' wc/numbers; svn add wc/new; svn commit -m 'In the middle' wc
        printf 'no line end' > wc/empty; : > wc/new; svn commit -m 'From and to empty' wc
        svn propset svn:eol-style native wc/iota; svn propset colour 'light blue' wc/A; svn propset -R p v wc/A/D; svn commit -m Props wc
        svn propdel p wc/A/D/gamma; svn propset colour '' wc/A; echo x >> wc/A/D/gamma; svn commit -m 'Props and text' wc
        svn propset big -F wc/numbers wc/A/B; svn commit -m 'A large property' wc
        svn propset svn:executable on wc/A/mu; svn propset svn:ignore x wc; svn commit -m 'On the root' wc
        svn update -q wc; svn rm wc/A/D/G/pi wc/A/B; svn commit -m Delete wc
        svn mkdir wc/X; svn mkdir wc/X/Y; echo z > wc/X/Y/z; svn add wc/X/Y/z; svn commit -m 'A tree' wc
        svn update -q wc; svn cp wc/A wc/A2; svn commit -m 'Copy a tree' wc
        svn update -q wc; svn cp wc/A wc/A3; echo edited >> wc/A3/mu; svn rm wc/A3/D/H; echo n > wc/A3/n; svn add wc/A3/n; svn commit -m 'Copy and change' wc
        svn update -q wc; svn mv wc/iota wc/X/iota; svn mv wc/A2 wc/X/A2; svn commit -m Moves wc
        svn update -q wc; svn rm wc/A/mu; echo another > wc/A/mu; svn add wc/A/mu; svn commit -m 'Replace a file' wc
        svn update -q wc; svn rm wc/A3; svn cp wc/X wc/A3; svn commit -m 'Replace a folder by a copy' wc
        svn update -q wc; svn rm wc/empty; mkdir wc/empty; svn add wc/empty; svn commit -m 'A folder for a file' wc
        echo 1 >> wc/numbers; echo 1 >> wc/A/mu; svn commit -m 'Only one of both' wc/numbers
        svn update -q -r 5 wc/X/Y; svn cp wc/A/D wc/mixed; svn commit -m 'Mixed revisions' wc
        svn commit -m 'Nothing at all' wc
        svn update -q wc; svn mv wc/A/D/gamma wc/A/D/delta; svn mv wc/A/D wc/D; svn commit -m 'Moves in moves' wc
        ln -s target wc/link; svn add wc/link; svn commit -m 'A link' wc
        printf 'sp ace' > 'wc/with space &amp; %41'; svn add 'wc/with space &amp; %41'; printf u > wc/äöü; svn add wc/äöü; svn commit -m Names wc
        svn status wc; svn update wc; svn log -v $U
        svnversion wc
        ",
    );
    c.lines("svn log -v -r0:HEAD --with-all-revprops $U; svn ls -R $U; svn info $U");
}

#[test]
fn urls_alone() {
    Twins::greek().same(urls);
}

pub fn urls(c: &mut ScenarioClient) {
    c.lines(
        r"
        svn mkdir -m 'One' $U/one
        svn mkdir -m 'Again' $U/one
        svn mkdir -m 'File there' $U/iota
        svn mkdir -m 'No parent' $U/no/parent
        svn mkdir --parents -m 'Parents' $U/no/parent $U/no/other
        svn mkdir -m 'Two' $U/two $U/three
        svn cp -m 'Copy' $U/A $U/B
        svn cp -m 'Copy again, into' $U/A $U/B
        svn cp -m 'Old' -r 1 $U/A/mu $U/mu
        svn cp -m 'Pegs' $U/A/mu@1 $U/A/D@HEAD $U/one
        svn cp -m 'Nothing there' $U/nope $U/x
        svn cp -m 'No such revision' $U/A@99 $U/x
        svn cp -m 'Into itself' $U/A $U/A/A
        svn cp -m 'The whole' $U $U/whole
        echo local >> wc/A/mu; svn mkdir wc/A/new; svn cp -m 'From the working copy' wc/A $U/wcA
        svn cp -m 'With parents' --parents $U/iota $U/p/q/iota
        svn mv -m 'Move' $U/B $U/C
        svn mv -m 'Move away' $U/C $U/nope/C
        svn mv -m 'Onto a folder' $U/C $U/two
        svn mv -m 'Rename a file' $U/iota $U/jota
        svn rm -m 'Delete' $U/two $U/three
        svn rm -m 'Delete nothing' $U/nope
        svn rm -m 'Delete with others' $U/A/mu $U/nope
        svn rm -m 'Delete below' $U/A/B $U/A/B/E
        svn rm -m 'Delete the root' $U
        printf imported > file; svn import -m 'A file' file $U/imported
        mkdir -p t/u/v; echo a > t/a; echo b > t/u/b; printf '\0\1' > t/u/v/c; svn import -m 'A tree' t $U/tree/below
        svn import -m 'Over it' t $U/tree/below
        svn import -m 'File over it' file $U/imported
        svn propset -m 'x' p v $U/A
        svn cp -m 'Spaces' $U/jota $U/a%20b
        svn mv -m 'Properties too' $U/a%20b $U/%C3%A4
        svn log -v $U
        svn ls -R $U
        ",
    );
}

#[test]
fn refused_commits() {
    Twins::greek().same(refusals);
}

pub fn refusals(c: &mut ScenarioClient) {
    c.lines(
        r"
        cp -r wc other; echo 1 >> wc/iota; svn commit -m 'First' wc
        echo 2 >> other/iota; svn commit -m 'Out of date' other
        svn rm -q wc/A/B; svn commit -m 'Delete a folder' wc
        echo 2 >> other/A/B/lambda; svn commit -m 'In a deleted folder' other/A/B
        echo n > other/A/B/E/n; svn add -q other/A/B/E/n; svn commit -m 'Add in a deleted folder' other/A/B/E
        svn rm -q other/A/B/F; svn commit -m 'Delete in a deleted folder' other/A/B/F
        svn propset -q p v other/A/B; svn commit -m 'Props of a deleted folder' other/A/B
        svn rm -q other/A/D/H/chi; echo 3 >> wc/A/D/H/chi; svn commit -m 'Edit' wc; svn commit -m 'Delete what was edited' other/A/D/H
        svn mkdir -q wc/new; svn commit -m 'Folder' wc; svn mkdir -q other/new; svn commit -m 'Same folder' other/new
        echo f > wc/f; svn add -q wc/f; svn commit -m 'File' wc; echo g > other/f; svn add -q other/f; svn commit -m 'Same file' other/f
        svn propset -q p 1 wc/A/D; svn commit -m 'Props' wc; svn propset -q p 2 other/A/D; svn commit -m 'Old props' other/A/D
        svn rm -q --force other/A/D/G; echo 9 >> wc/A/D/G/tau; svn commit -m 'Deep edit' wc; svn commit -m 'Delete above it' other/A/D/G
        svn cp -q wc/A/D wc/A/E; svn commit -m 'Copied' wc; svn cp -q other/A/mu other/A/E; svn commit -m 'File over a folder' other/A/E
        svn rm -q -m 'A file' $U/A/D/H/omega; echo 5 >> other/A/D/H/omega; svn commit -m 'Edit what is gone' other/A/D/H/omega
        svn revert -q other/A/D/H/omega; svn propset -q p v other/A/D/H/omega; svn commit -m 'Props of what is gone' other/A/D/H/omega
        svn rm -q wc/A/mu; svn commit -m 'Gone' wc; svn rm -q --force other/A/mu; svn commit -m 'Gone twice' other/A/mu
        svn propset -q svn:mergeinfo '/A:1-3' wc/A/D; svn commit -m 'Mergeinfo' wc
        svn propset -q svn:mergeinfo '/A/D:2,4*' wc; svn commit -m 'Mergeinfo on the root' wc
        svn propset -q --force svn:mergeinfo 'junk' wc/A; svn commit -m 'Bad mergeinfo' wc
        svn mergeinfo --show-revs merged $U/A $U/A/D
        anon commit -m 'Nobody' wc/A
        anon mkdir -m 'Nobody' $U/nobody
        command svn mkdir -m 'Wrong password' --username alice --password nope --non-interactive --no-auth-cache $U/nobody
        svn log -v $U
        ",
    );
}

#[test]
fn revision_properties_and_messages() {
    revision_properties(&Twins::greek());
}

pub fn revision_properties(twins: &Twins) {
    twins.same(|c| {
        let script = r"
            svn mkdir -m x --with-revprop a=b --with-revprop 'ü=ö' $U/1
            svn mkdir -m x --with-revprop svn:date=2001-01-01T00:00:00.000000Z $U/2
            svn mkdir -m x --with-revprop svn:author=someone $U/2
            svn mkdir -m x --with-revprop svn:bogus=1 $U/3
            svn mkdir -m x --with-revprop 'bad name=1' $U/4
            svn mkdir --with-revprop svn:log=y -m x $U/5
            svn mkdir -m '' $U/6
            printf 'line\r\nother\rthird\n' > m; svn mkdir -F m $U/7
            printf 'gr\303\274n \001 \177' > m; svn mkdir -F m $U/8
            printf 'nul \000 here' > m; svn mkdir -F m $U/9
            printf 'latin \374' > m; svn mkdir -F m --encoding ISO-8859-1 $U/10
            svn mkdir -m x --with-revprop 'empty=' $U/11
            svn propset --revprop -r 1 svn:log 'Refused without a hook' $U
            svn propdel --revprop -r 1 svn:log $U
            svn propset --revprop -r 99 svn:log 'No such revision' $U
            anon propset --revprop -r 1 svn:log 'Nobody' $U
        ";
        in_part(c, script);
        c.lines("svn log --with-all-revprops -v $U");
    });
    twins.hook("pre-revprop-change", "exit 0");
    twins.same(|c| {
        let script = r"
            svn propset --revprop -r 1 svn:log 'Changed' $U
            svn propset --revprop -r 1 custom 'a value' $U
            svn propset --revprop -r 1 custom '' $U
            svn propdel --revprop -r 1 custom $U
            svn propdel --revprop -r 1 custom $U
            svn propset --revprop -r 1 svn:date 2002-02-02T02:02:02.000000Z $U
            svn propset --revprop -r 1 svn:date 'no date' $U
            svn propset --revprop -r 1 svn:date 2002-02-02 $U
            svn propset --revprop -r 1 svn:author 'some one' $U
            svn propset --revprop -r 0 svn:author nobody $U
            printf 'a\r\nb\rc' > m; svn propset --revprop -r 1 svn:log -F m $U
            printf 'a\r\nb\rc' > m; svn propset --force --revprop -r 1 other -F m $U
            printf 'a\000b\377c' > m; svn propset --revprop -r 1 bytes -F m $U
            printf 'a\377c' > m; svn propset --force --revprop -r 1 svn:log -F m $U
            svn propset --revprop -r 99 svn:log 'No such revision' $U
            svn propset --revprop -r HEAD svn:bogus x $U
            svn propset --force --revprop -r HEAD svn:bogus x $U
            svn propset --revprop -r HEAD 'bad name' x $U
            anon propset --revprop -r 1 svn:log 'Nobody' $U
        ";
        in_part(c, script);
        c.lines("svn proplist --revprop -v -r 1 $U; svn proplist --revprop -v -r 0 $U");
    });
}

/// Runs every second line, others over HTTP than over `svn://`.
fn in_part(c: &mut ScenarioClient, script: &str) {
    let lines = script.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = c.part(2, lines).collect();
    c.lines(&lines.join("\n"));
}

#[test]
fn write_access() {
    let is_http = Transport::chosen(Transport::Svn) != Transport::Svn;
    let mut authz = "[/]\n* = r\nalice = rw\n[/A]\nalice = r\nbob = rw\n[/A/B]\nbob =\n[/A/D]\n* =\nbob = w\n[/A/D/G]\nalice = rw\n[/secret]\n* =\nalice = rw\n".to_owned();
    if is_http {
        // An authz file with a mistake closes the repository, which Apache reports with another text.
        authz = authz.replace("bob = w\n", "bob = rw\n");
    }
    let script = r"
            svn mkdir -m 'Allowed' $U/new
            svn mkdir -m 'Denied' $U/A/new
            bob mkdir -m 'Denied' $U/new2
            bob mkdir -m 'Allowed' $U/A/new
            bob mkdir -m 'Unreadable' $U/A/B/new
            carol mkdir -m 'Denied' $U/c
            anon mkdir -m 'Nobody' $U/c
            svn cp -m 'From A' $U/A $U/A2
            svn cp -m 'Into A' $U/new $U/A/new2
            bob cp -m 'Unreadable source' $U/A/B $U/A/B2
            bob cp -m 'Partly unreadable source' $U/A $U/A/copy
            bob rm -m 'Partly unwritable' $U/A
            svn rm -m 'Partly unwritable' $U/A
            svn rm -m 'Allowed' $U/A/D/G
            bob mv -m 'Move' $U/A/mu $U/A/nu
            svn mv -m 'Move' $U/A/nu $U/nu
            echo x >> wc/iota; svn commit -m 'Allowed' wc/iota
            echo x >> wc/iota; bob commit -m 'Denied' wc/iota
            bob propset -q p v wc/A; bob commit -m 'Props' wc/A
            svn lock $U/iota
            svn lock $U/A/B/lambda
            bob lock $U/iota
            SEVERAL
            svn unlock $U/A/B/lambda
            anon lock $U/iota
            bob unlock --force $U/iota
            carol unlock --force $U/iota
            anon unlock --force $U/iota
            svn mkdir -m s $U/secret
            svn propset --revprop -r HEAD x y $U
            bob propset --revprop -r HEAD x y $U
            carol propset --revprop -r 1 x y $U
            svn log -q $U
    ";
    let several = match is_http {
        false => "bob lock $U/iota $U/A/D/gamma $U/A/B/lambda",
        // Over HTTP each is a separate request, and clients send them in any order.
        true => "bob lock $U/iota\nbob lock $U/A/D/gamma\nbob lock $U/A/B/lambda",
    };
    let script = script.replace("SEVERAL", several);
    let lines: Vec<&str> = script.lines().filter(|line| !line.trim().is_empty()).collect();
    // The configurations below, and the last one with `-R`.
    let cases = (0..5).flat_map(|conf| lines.iter().map(move |line| (conf, *line)));
    let cases: Vec<(usize, &str)> = sample(4, cases).collect();
    let script = |conf: usize| -> String {
        let lines = cases.iter().filter(|(of, _)| *of == conf);
        lines.map(|(_, line)| format!("{line}\n")).collect()
    };
    let configurations = [
        format!("{CONF}authz-db = authz\n"),
        "[general]\nanon-access = write\npassword-db = passwd\nauthz-db = authz\n".to_owned(),
        "[general]\nanon-access = write\n".to_owned(),
        "[general]\nanon-access = none\nauth-access = read\npassword-db = passwd\n".to_owned(),
    ];
    for (nth, conf) in configurations.into_iter().enumerate() {
        if is_http && conf.contains("auth-access = read") {
            // If no user may write, Apache does not ask for a login either.
            continue;
        }
        let twins = Twins::with(&[("svnserve.conf", &conf), ("authz", &authz)], &[]);
        twins.hook("pre-revprop-change", "exit 0");
        twins.same(|c| {
            c.note(&conf);
            c.lines(&script(nth));
        });
    }
    if is_http {
        return;
    }
    let twins = Twins::with(&[("svnserve.conf", CONF)], &["-R"]);
    twins.hook("pre-revprop-change", "exit 0");
    twins.same(|c| c.lines(&script(4)));
}

#[test]
fn other_formats() {
    for format in sample(3, ["1.3", "1.4", "1.5", "1.6", "1.8"]) {
        let repo = testkit::build(&Spec::small(format)).copy();
        Twins::of(&repo, &[("svnserve.conf", CONF)], &[]).same(|c| {
            c.note(format);
            c.lines(
                r"
                echo x >> wc/iota; svn rm -q wc/A/mu; svn commit -m 'Edit' wc
                svn cp -m 'Copy' $U/A $U/copy
                svn update -q wc; echo y >> wc/copy/B/lambda; svn propset -q p v wc/copy; svn commit -m 'Below' wc
                svn mv -m 'Move' $U/copy $U/moved
                svn propset -q svn:mergeinfo '/A:1' wc/A; svn commit -m 'Mergeinfo' wc
                svn lock $U/iota; svn unlock --force $U/iota
                svn log -v $U
                ",
            );
        });
    }
}

#[test]
fn two_copies_to_one_path_are_refused() {
    Twins::greek().same(|c| {
        c.lines(
            r"
            svn copy -m 'Twice' $U/A/B $U/A/B $U/A/C
            svn copy -m 'Two kinds' $U/A/D@1 $U/A/D $U/A/C
            svn copy -m 'Once' $U/A/B $U/A/D $U/A/C
            svn ls -R $U/A/C
            ",
        );
    });
}

#[test]
fn a_directory_that_became_a_file_updates_an_old_working_copy() {
    Twins::greek().same(|c| {
        c.lines(
            r"
            svn checkout -q $U old
            svn rm -q wc/A/D; echo x > wc/A/D; svn add -q wc/A/D
            svn commit -q -m 'A file in place of a directory' wc
            echo y >> old/A/D/gamma; svn commit -m 'Edit' old
            svn revert -q old/A/D/gamma
            svn propset -q p v old/A/D/G; svn commit -m 'Property' old
            svn revert -q old/A/D/G
            echo z > old/A/D/G/new; svn add -q old/A/D/G/new; svn commit -m 'Add' old
            svn revert -q old/A/D/G/new
            svn rm -q old/A/D/H/chi; svn commit -m 'Remove' old
            svn revert -q old/A/D/H/chi
            svn cp -q old/iota old/A/D/H/iota; svn commit -m 'Copy' old
            ",
        );
    });
}
