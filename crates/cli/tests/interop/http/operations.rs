//! The operational log over HTTP equals Apache's: one line for each request, with user and repository. [`Twins`]
//! compares both logs after every scenario; this scenario has all operations with their own log lines.

use testkit::sample_from;

use crate::twins::Twins;

/// Everything that reads. The commands of a line are separated by `; `, and each can be left out: the updates are of `wc`,
/// and that of `shallow` follows its checkout.
const READING: &str = r"
    svn checkout -q $U first; svn checkout -q --depth immediates $U shallow; svn checkout -q -r 0 $U none
    svn export -q $U out; svn export -q $U/iota one; svn export -q -r 1 --depth files $U/A files
    svn update -q -r 1 wc; svn update -q wc; svn update -q --set-depth infinity shallow; svn update -q wc/iota wc/A/B
    svn switch -q --ignore-ancestry $U/A/B wc/A/D; svn switch -q --ignore-ancestry $U/A/D wc/A/D; svn switch -q -r 2 $U wc
    svn update -q wc; svn status -u wc; svn status -u --depth files wc; svn status -u -q wc/iota
    svn diff -r 1:2 $U; svn diff -r 1 wc; svn diff --summarize $U/A@1 $U/A@3; svn diff -c 2 $U/iota; svn diff -r 2:1 --depth files wc
    svn log $U; svn log -v -l 2 $U/A; svn log --stop-on-copy $U/copy; svn log -g $U/copy; svn log -q -r 3:1 $U A iota
    svn log --xml --with-all-revprops $U; svn log --with-no-revprops $U; svn log --with-revprop svn:author --with-revprop a $U
    svn log -v --search nobody $U; svn log --diff -l 1 $U
    svn blame $U/iota; svn blame -g $U/copy/mu; svn annotate -r 1:2 $U/iota
    svn list $U; svn list -v $U/A; svn list -R $U; svn list --search 'mu' -R $U; svn list -r 1 $U/A/D; svn list $U/iota
    svn cat $U/iota; svn cat -r 1 $U/A/mu; svn cat $U/A/mu@1; svn info $U; svn info -R $U/A/B | sort; svn info -r 1 $U/iota
    svn propget p $U/A; svn propget -R p $U | sort; svn propget --show-inherited-props p $U/A/mu; svn proplist -v $U/A; svn proplist -v -R $U | sort
    svn propget --revprop -r 1 svn:log $U; svn proplist --revprop -r 1 $U
    svn mergeinfo $U/A $U/copy; svn mergeinfo --show-revs eligible -R $U/A $U/copy; svn merge -q --dry-run $U/A wc/copy
    svn propget svn:mergeinfo -R $U; svn info 'URL' 2>/dev/null; svn cat $U/none; svn list $U/iota/below; svn log -r 99 $U
";

/// The programs that read whole repositories.
const MIRRORING: &str = r"
    svnadmin create sink; printf '#!/bin/sh\n' > sink/hooks/pre-revprop-change; chmod +x sink/hooks/pre-revprop-change
    svnsync init -q file://$PWD/sink $U; svnsync sync -q file://$PWD/sink; svnsync copy-revprops -q file://$PWD/sink
    svnsync info file://$PWD/sink | sed -n 's/^Last.*//p'; svnrdump dump -q $U | wc -l; svnrdump dump -q -r 2:3 --incremental $U/A | wc -l
";

/// Everything that writes.
const WRITING: &str = r"
    svn propset -q p v wc/A; echo x >> wc/iota; svn commit -q -m 'Two' wc
    svn copy -q -m 'Copy' $U/A $U/copy; svn update -q wc; echo y >> wc/A/mu; svn commit -q -m 'To merge' wc
    svn update -q wc; svn merge -q $U/A wc/copy; svn commit -q -m 'Merge' wc
    svn mkdir -q -m 'Names' $U/'sp ace' $U/'u ümlaut' $U/'a%20b#c;d,e' $U/'q?x=y&z' $U/'(par)'; svn update -q wc
    svn delete -q -m 'Delete' $U/'sp ace'; svn move -q -m 'Move' $U/'(par)' $U/moved; svn mkdir -q -m 'Refused' $U/moved
    svn import -q -m 'Import' wc/A/B $U/imported; svnmucc -q -m 'Both' put wc/iota iota2 rm imported -U $U -u alice -p secret --non-interactive
    svn propset -q --revprop -r 1 'odd name:x' v $U; svn propset -q --revprop -r 1 a 'b c' $U; svn propdel -q --revprop -r 1 a $U
    svn lock -q $U/iota; bob lock -q $U/iota; bob lock -q --force $U/iota; svn unlock -q $U/iota; svn unlock -q --force $U/iota
    svn lock -q -m 'Note' wc/iota wc/A/mu; bob unlock -q $U/A/mu; echo z >> wc/iota; svn commit -q -m 'Locked' wc; svn unlock -q wc/A/mu
    svn info $U/'u ümlaut'; svn list $U/'a%20b#c;d,e'; svn log -q $U/'q?x=y&z'; svn propget -R p $U/'u ümlaut'
    anon mkdir -m 'Nobody' $U/nobody; anon lock $U/iota; anon cat $U/iota
";

#[test]
fn the_operational_log_equals_apaches() {
    let twins = Twins::greek_over_http();
    twins.hook("pre-revprop-change", "exit 0");
    twins.same(|c| c.lines(WRITING));
    twins.same(|c| {
        c.lines(&sampled(READING));
        c.lines(MIRRORING);
    });
}

/// Returns a script with a sample of the commands, each in its line.
fn sampled(script: &str) -> String {
    let lines = script.lines().enumerate();
    let commands = lines.flat_map(|(nth, line)| line.trim().split("; ").map(move |command| (nth, command)));
    let commands: Vec<(usize, &str)> = sample_from(1, 3, commands).collect();
    let lines = commands.chunk_by(|(one, _), (next, _)| one == next);
    let lines = lines.map(|line| {
        line.iter()
            .map(|(_, command)| *command)
            .collect::<Vec<_>>()
            .join("; ")
    });
    lines.collect::<Vec<_>>().join("\n")
}
