//! Names of files, operands and texts of all tools, in locales whose character set has one byte for each character.
//!
//! `X` in a command is a name in the character set of the locale; `U` one that this lacks, written as UTF-8. The tools get them as operands and
//! in files, find them in directories and repositories, and pass them to hooks.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use testkit::history::Random;
use testkit::normalize::sorted_lines;
use testkit::{Side, Tool, each_seed, sample, sample_from};

use crate::locales::{EIGHT_BITS, EightBitLocale, repository};
use crate::twins::{Access, TwinClients};
use crate::writing::write_hook;

/// Commands that make what the others name.
const MAKERS: &[&str] = &[
    "svn import -m x tX {URL}/iX",
    "svn import -m x tX/fX {URL}/jX",
    "svn import -m x vX {URL}/kX",
    "svn import -m x noX {URL}/lX",
    "svn import -m x U {URL}/m",
    "svnmucc -m x put tX/fX nX -U {URL}",
    "svnadmin create newX",
];

/// Commands of client programs.
const CLIENTS: &[&str] = &[
    "svn ls -R {URL}/iX",
    "svn cat {URL}/iX/lX",
    "svn ls -R {URL}/kX",
    "svn diff --old tX --new uX",
    "svn diff --old tX/fX --new uX/fX",
    "svn diff --old tX --new uX fX",
    "svn diff --old tX --new noX",
    "svn diff --old noX --new alsoX",
    "svn diff --old tX --new vX --diff-cmd echo -x X",
    "svn diff --summarize --old tX --new uX",
    "svn diff --summarize --old vX --new U",
    "svn diff tX/fX uX/fX",
    "svn diff tX@1",
    "svn log tX",
    "svn export {URL}/iX eX",
    "svn export {URL}/iX eX",
    "svn export {URL}/iX/fX eX/none/fX",
    "svn export {URL} allX",
    "svn blame -x X {URL}/iX/fX",
    "svnmucc -m x put tX/noX oX -U {URL}",
    "svnmucc -m x propset pX X nX propsetf q utf8 nX -U {URL}",
    "svnmucc --X",
    "svnsync info file://{DIR}/noX",
    "svnrdump dump file://{DIR}/noX",
    "svnbench null-list {URL}/noX",
    "svn lock -m X {URL}/nX",
    "svn lock -F bytes {URL}/iX/fX",
    "svn info {URL}/nX",
    "svn unlock {URL}/nX",
    "svn propset svn:log -F message --revprop -r1 {URL}",
    "svn propset pX -F bytes --revprop -r1 {URL}",
    "svn X",
    "svn --X",
    "svn help X",
];

/// Commands of the tools for administrators, on a repository with the names above.
const TOOLS: &[&str] = &[
    "svnadmin create newX",
    "svnadmin create none/newX",
    "svnadmin create y --fs-type X",
    "svnadmin create y --compatible-version X",
    "svnadmin info newX",
    "svnadmin info noX",
    "svnadmin verify noX",
    "svnadmin dump -q {REPO} --include /iX",
    "svnadmin dump -q {REPO} --exclude /X -F outX",
    "svnadmin dump {REPO} -F none/outX",
    "svnadmin load {REPO} -F outX --parent-dir noX",
    "svnadmin load {REPO} -F noX",
    "svnadmin hotcopy noX hX",
    "svnadmin hotcopy {REPO} none/hX",
    "svnadmin verify -r X {REPO}",
    "svnadmin verify -M X {REPO}",
    "svnadmin lock {REPO} nX userX utf8",
    "svnadmin lock {REPO} nX userX message",
    "svnadmin lock {REPO} iX/fX userX message --bypass-hooks",
    "svnadmin lock {REPO} iX/fX userX bytes --bypass-hooks",
    "svnadmin lock {REPO} iX/fX userX noX",
    "svnlook lock {REPO} nX",
    "svnadmin lslocks {REPO} nX",
    "svnadmin unlock {REPO} nX otherX opaquelocktoken:X",
    "svnadmin rmlocks {REPO} nX noX",
    "svnadmin rmtxns {REPO} X",
    "svnadmin setlog {REPO} -r1 message",
    "svnadmin setlog {REPO} -r1 noX",
    "svnadmin setrevprop {REPO} -r1 pX utf8",
    "svnadmin setrevprop {REPO} -r1 svn:author message",
    "svnadmin delrevprop {REPO} -r1 pX",
    "svnadmin setuuid {REPO} X",
    "svnadmin freeze {REPO} -- echo X",
    "svnadmin freeze -F targets -- echo X",
    "svnadmin freeze {REPO} -- noX",
    "svnadmin X",
    "svnadmin info --X",
    "svnadmin info -X",
    "svnadmin help X",
    "svnlook author {REPO} -r1",
    "svnlook info {REPO} -r1",
    "svnlook log {REPO} -r1",
    "svnlook cat {REPO} nX",
    "svnlook cat {REPO} noX",
    "svnlook filesize {REPO} nX",
    "svnlook filesize {REPO} iX",
    "svnlook changed {REPO} -r3",
    "svnlook changed {REPO} -r1",
    "svnlook dirs-changed {REPO} -r1",
    "svnlook dirs-changed {REPO} -r3",
    "svnlook diff {REPO} -r1",
    "svnlook diff {REPO} -r2",
    "svnlook diff {REPO} -r3",
    "svnlook diff {REPO} -r3 -x X",
    "svnlook diff {REPO} -r3 --diff-cmd echo -x X",
    "svnlook history {REPO} iX/fX",
    "svnlook history {REPO} noX",
    "svnlook propget {REPO} pX nX",
    "svnlook propget {REPO} -v pX nX",
    "svnlook propget {REPO} X nX",
    "svnlook propget {REPO} --revprop X",
    "svnlook tree {REPO}",
    "svnlook tree {REPO} --full-paths",
    "svnlook tree {REPO} iX",
    "svnlook tree {REPO} noX",
    "svnlook tree {REPO} -t X",
    "svnlook info {REPO} -r X",
    "svnlook uuid noX",
    "svnlook X {REPO}",
    "svndumpfilter exclude X <stream",
    "svndumpfilter include iX <stream",
    "svndumpfilter include --targets targets <stream",
    "svndumpfilter include --targets noX <stream",
    "svndumpfilter X",
    "svnfsfs stats noX",
    "svnfsfs X",
    "svnversion noX",
    "svnversion --X",
    "svnserve -i -r noX",
    "svnserve -d --config-file noX",
    "svnserve -d --log-file none/X",
    "svnserve -d --listen-port X",
    "svnauthz accessof rules --path /X --username X",
    "svnauthz validate noX",
    "svnauthz X rules",
];

#[test]
fn names_in_eight_bits() {
    for (number, locale) in EIGHT_BITS.iter().enumerate() {
        let locales = locale.make();
        let twins = TwinClients::new(&repository(), Access::Disk);
        let names = Names {
            locale,
            inside: locale.text.to_owned(),
            outside: "日本".to_owned(),
        };
        names.prepare(&twins);
        let others = sample_from(number, EIGHT_BITS.len(), CLIENTS.iter().chain(TOOLS));
        let wrong: Vec<String> = MAKERS
            .iter()
            .chain(others)
            .filter_map(|line| names.difference(&twins, &locales, line))
            .collect();
        assert!(
            wrong.is_empty(),
            "{}: {} differ\n{}",
            locale.name,
            wrong.len(),
            wrong.join("\n")
        );
        twins.same_repositories();
    }
}

/// Names of random characters, within and outside of the character set.
#[test]
fn random_names_in_eight_bits() {
    each_seed("SVEN_LOCALE_SEEDS", 0..2, |seed| {
        let mut random = Random::new(seed ^ 0x010c_a1e5);
        let locale = &EIGHT_BITS[random.below(EIGHT_BITS.len())];
        let locales = locale.make();
        let names = Names {
            locale,
            inside: name(&mut random, |random| {
                locale.letter(u8::try_from(0xa1 + random.below(0x5f)).expect("because it is below 256"))
            }),
            outside: name(&mut random, |random| Some(OUTSIDE[random.below(OUTSIDE.len())])),
        };
        let twins = TwinClients::new(&repository(), Access::Disk);
        names.prepare(&twins);
        let all: Vec<&&str> = CLIENTS.iter().chain(TOOLS).collect();
        let others = sample(3, 0..25).map(|_| all[random.below(all.len())]);
        for line in MAKERS.iter().chain(others.collect::<Vec<_>>()) {
            if let Some(difference) = names.difference(&twins, &locales, line) {
                panic!("{}: {difference}", locale.name);
            }
        }
        twins.same_repositories();
    });
}

/// Returns a name that begins with a letter of `other`.
fn name(random: &mut Random, other: impl Fn(&mut Random) -> Option<char>) -> String {
    let mut name = String::new();
    while name.is_empty() {
        name.extend(other(random).filter(|letter| letter.is_alphanumeric()));
    }
    for _ in 0..random.below(5) {
        match random.below(3) {
            0 => name.push(char::from(b"az09.=_+"[random.below(8)])),
            _ => name.extend(other(random)),
        }
    }
    name
}

/// Characters that the character sets lack.
const OUTSIDE: &[char] = &['日', '本', 'ﬁ', '…', 'ἀ', '😀', '∕', 'Ł', '①', 'א'];

/// The names of a run.
struct Names<'l> {
    locale: &'l EightBitLocale,
    inside: String,
    outside: String,
}

impl Names<'_> {
    /// Returns the bytes of a word in which `X` and `U` are names.
    fn bytes(&self, word: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for letter in word.chars() {
            match letter {
                'X' => bytes.extend(self.locale.encode(&self.inside)),
                'U' => bytes.extend(self.outside.as_bytes()),
                letter => bytes.extend(letter.to_string().as_bytes()),
            }
        }
        bytes
    }

    /// Makes what the commands name.
    fn prepare(&self, twins: &TwinClients) {
        let stream = Tool::new("svnadmin").args(["dump", "-q"]);
        let stream = stream.arg(twins.repository(Side::Theirs)).ok().stdout;
        for side in Side::BOTH {
            let path = |name: &str| twins.dir(side).join(OsStr::from_bytes(&self.bytes(name)));
            let write = |name: &str, bytes: &[u8]| {
                fs::write(path(name), bytes).expect("because the directory is ours");
            };
            for directory in ["tX/sX", "uX", "vX", "U"] {
                fs::create_dir_all(path(directory)).expect("because the directory is ours");
            }
            for (file, text) in [
                ("tX/fX", "a\n"),
                ("tX/sX/gX", "b\n"),
                ("uX/fX", "b\n"),
                ("uX/hX", ""),
            ] {
                write(file, text.as_bytes());
            }
            for file in ["vX/U", "vX/fX", "U/U"] {
                write(file, b"v\n");
            }
            let target = self.bytes("fX");
            symlink(OsStr::from_bytes(&target), path("tX/lX")).expect("because the directory is ours");
            write("message", &self.bytes("X\nx\n"));
            write("utf8", format!("{}\n", self.inside).as_bytes());
            write("bytes", b"\xff\xfe \xc3\n");
            write("targets", &self.bytes("iX\n"));
            write("stream", &stream);
            write(
                "rules",
                "[groups]\ng = é, x\n[/é]\né = rw\n* =\n[/]\n* = r\n".as_bytes(),
            );
            let log = twins.dir(side).join("hooks");
            let log = log.display();
            let script = format!("#!/bin/sh\nshift\nprintf '%s|' \"$@\" >>'{log}'\ncat >>'{log}'\n");
            for hook in ["pre-lock", "post-lock", "pre-unlock"] {
                write_hook(twins, side, hook, &script);
            }
            // The locale of a hook is not the user's.
            let refusal = [
                b"#!/bin/sh\nprintf '%s' '",
                &self.bytes("X U")[..],
                b"' >&2\nexit 1\n",
            ]
            .concat();
            let refusal = OsStr::from_bytes(&refusal);
            write_hook_bytes(twins, side, "pre-revprop-change", refusal.as_bytes());
        }
    }

    /// Runs a command on both sides. Returns the difference.
    fn difference(&self, twins: &TwinClients, locales: &std::path::Path, line: &str) -> Option<String> {
        let (command, input) = line.split_once(" <").unwrap_or((line, ""));
        let [theirs, ours] = Side::BOTH.map(|side| {
            let mut words = command.split(' ');
            let program = words.next().unwrap_or_default();
            let words: Vec<Vec<u8>> = words.map(|word| self.word(twins, side, word)).collect();
            let mut tool = twins
                .tool(side, &[program])
                .args(words.iter().map(|word| OsStr::from_bytes(word)))
                .env("LC_ALL", self.locale.name)
                .env("LOCPATH", locales);
            if !input.is_empty() {
                let input = fs::read(twins.dir(side).join(input));
                tool = tool.stdin(input.expect("because the file was made"));
            }
            let shape = twins.shape(side, &tool.run());
            let hooks = fs::read(twins.dir(side).join("hooks")).unwrap_or_default();
            let shape = match program {
                // The order of header lines is not defined.
                "svndumpfilter" => sorted_lines(&shape).join("\n"),
                _ => shape,
            };
            normalized(&format!("{shape}\n--- hooks {}", hooks.escape_ascii()))
        });
        // A conversion that makes text much longer than its bytes ends in other bytes of the memory of Subversion's programs.
        let is_garbage = theirs.contains("followed by invalid UTF-8 sequence") && !line.contains("lock");
        (theirs != ours && !is_garbage).then(|| {
            let (inside, outside) = (&self.inside, &self.outside);
            format!("{line} (X {inside}, U {outside})\n--- theirs\n{theirs}\n--- ours\n{ours}")
        })
    }

    /// Returns the bytes of an argument.
    fn word(&self, twins: &TwinClients, side: Side, word: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = word;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').expect("because it is closed");
            bytes.extend(self.bytes(before));
            bytes.extend(match name {
                "URL" => twins.url(side).as_bytes().to_vec(),
                "REPO" => twins.repository(side).as_os_str().as_bytes().to_vec(),
                _ => twins.dir(side).as_os_str().as_bytes().to_vec(),
            });
            rest = after;
        }
        bytes.extend(self.bytes(rest));
        bytes
    }
}

/// Removes what differs from run to run.
fn normalized(shape: &str) -> String {
    // Subversion's svnserve has its path in the hint.
    let shape = shape.replace("/usr/bin/svnserve", "svnserve");
    let temporary = std::env::temp_dir();
    let temporary = temporary.to_string_lossy();
    let words = shape.split_inclusive([' ', '\n']).map(|word| {
        let is_transaction =
            |name: &str| name.contains('-') && name.starts_with(|c: char| c.is_ascii_digit());
        if word.starts_with(&*temporary) && word.contains("/svn-") {
            "TEMPORARY "
        } else if word.strip_prefix('\'').is_some_and(is_transaction) {
            // Subversion's client begins a transaction before it looks for what it imports.
            "'TRANSACTION', "
        } else if word.len() == 9 && word.bytes().filter(|byte| *byte == b':').count() == 2 {
            "TIME "
        } else {
            word
        }
    });
    words.collect()
}

fn write_hook_bytes(twins: &TwinClients, side: Side, name: &str, script: &[u8]) {
    let hook = twins.repository(side).join("hooks").join(name);
    fs::write(&hook, script).expect("because the repository is ours");
    Tool::new("chmod").arg("+x").arg(hook).ok();
}
