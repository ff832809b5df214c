//! Dates of revisions at and after the end of the year 9999, in several time zones.

use testkit::{Repo, sample_from};

use crate::twins::{Access, TwinClients};

const DATES: [&str; 3] = [
    "9999-12-31T23:59:59.999999Z",
    "10000-01-01T00:00:00.000000Z",
    "292278-01-09T04:00:54.775807Z",
];

const COMMANDS: [&str; 14] = [
    "svn log -q {URL}",
    "svn log -q --xml {URL}",
    "svn list -v {URL}",
    "svn list --xml {URL}",
    "svn info {URL}",
    "svn info --show-item last-changed-date {URL}",
    "svn blame -v {URL}/f",
    "svn cat {URL}/f",
    "svn log -q -r {9999-06-01}:HEAD {URL}",
    "svn log -q -r {9999-12-31}:0 {URL}",
    "svn log -q -r {9999-12-30T23:30}:0 {URL}",
    "svn info -r {9999-12-31T23:59:59.999999Z} {URL}",
    "svn info -r {9999-12-31T23:59-12:00} {URL}",
    "svn info -r {10000-01-01} {URL}",
];

#[test]
fn years_with_more_than_four_digits() {
    let repo = Repo::create("1.14");
    for (number, access) in [Access::Disk, Access::Http].into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        twins.file("f", "$Date$ $Id$ $LastChangedDate$\n");
        for line in [
            "svnmucc -m m -u alice -p secret -U {URL} put f f propset svn:keywords Date%20Id f",
            "svnmucc -m m -u alice -p secret -U {URL} propset svn:keywords Date f",
        ] {
            twins.same(line);
        }
        for (at, date) in DATES.into_iter().enumerate() {
            twins.file("date", date);
            for rev in ["1", "2"] {
                twins.same(&format!("svnadmin setrevprop {{REPO}} -r {rev} svn:date date"));
            }
            let zones = ["UTC", "America/New_York"];
            let all = zones.into_iter().flat_map(|zone| {
                let commands = COMMANDS.into_iter().chain(["svnlook date {REPO}"]);
                commands.map(move |command| (zone, command))
            });
            for (zone, command) in sample_from(number + 2 * at, 4, all) {
                let words: Vec<&str> = command.split(' ').collect();
                twins.same_prepared(&words, |tool| tool.env("TZ", zone));
            }
        }
    }
}
