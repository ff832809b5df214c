//! Names, properties and messages that the character set of the terminal does not have.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Mutex;

use base::charset::Charset;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::tool::folder;
use testkit::{Repo, Side, Spec, Tool, build, sample_from};

use crate::twins::{Access, TwinClients};

pub fn repository() -> Repo {
    let mut stream = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-0123456789ac");
    stream.rev("größer 日本").mkdirs(["é", "日本"]);
    stream.file("é/ü 😀", "text\n");
    stream.rev("properties");
    let props: [(&str, &[u8]); 2] = [("p", "wert ä".as_bytes()), ("q", b"\xff")];
    stream.change(RecordKind::Dir, "é", Content::props(&props));
    build(&Spec::small("1.14").with(stream).named("locales"))
}

#[test]
fn texts_that_a_locale_does_not_have() {
    let twins = TwinClients::new(&repository(), Access::Disk);
    for line in [
        "svn ls -R {URL}",
        "svn ls -v {URL}",
        "svn ls --xml -R {URL}",
        "svn ls --xml {URL}/é",
        "svn ls {URL}/nö",
        "svn info {URL}/é",
        "svn info --xml {URL}/%C3%A9",
        "svn log {URL}",
        "svn log -v -r1:HEAD --xml {URL}",
        "svn proplist -v -R {URL}",
        "svn proplist -v -R --xml {URL}",
        "svn propget p -R {URL}",
        "svn propget p --xml {URL}/é",
        "svn propget svn:log --revprop -r1 {URL}",
        "svn propget svn:log --revprop -r1 --xml {URL}",
        "svn proplist --revprop -r1 -v --xml {URL}",
        "svn diff --summarize --xml -r0:HEAD {URL}",
        "svn diff --summarize -r0:HEAD {URL}",
        "svn diff -r0:HEAD {URL}",
        "svn blame --xml {URL}/é/ü%20😀",
        "svn mkdir -m ö {URL}/neu",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        for locale in ["C", "C.UTF-8"] {
            twins.same_prepared(&words, |tool: Tool| tool.env("LC_ALL", locale));
        }
    }
}

/// Locales with their sources and character sets, and text that these have.
pub const EIGHT_BITS: &[EightBitLocale] = &[
    EightBitLocale {
        name: "en_US.ISO-8859-1",
        source: "en_US",
        charset: "ISO-8859-1",
        text: "éüß",
    },
    EightBitLocale {
        name: "en_IE@euro",
        source: "en_IE@euro",
        charset: "ISO-8859-15",
        text: "é€",
    },
    EightBitLocale {
        name: "en_US.CP1251",
        source: "en_US",
        charset: "CP1251",
        text: "привет",
    },
];

/// A locale whose character set has one byte for each character.
pub struct EightBitLocale {
    pub name: &'static str,
    source: &'static str,
    charset: &'static str,
    /// Text that the character set has.
    pub text: &'static str,
}

impl EightBitLocale {
    /// Makes the locale below `target/`, once for all tests. Returns the directory for the environment variable LOCPATH.
    pub fn make(&self) -> PathBuf {
        static MAKING: Mutex<()> = Mutex::new(());
        let _guard = MAKING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let directory = folder("testkit-locales");
        if !directory.join(self.name).exists() {
            let making = tempfile::Builder::new()
                .prefix("making-")
                .tempdir_in(&directory)
                .expect("because target/ can be written");
            let made = making.path().join(self.name);
            Tool::new("localedef")
                .args(["-c", "-i", self.source, "-f", self.charset])
                .arg(&made)
                .run();
            assert!(
                made.join("LC_CTYPE").exists(),
                "localedef has not made {}",
                self.name
            );
            let renamed = std::fs::rename(&made, directory.join(self.name));
            assert!(renamed.is_ok(), "can't keep {}", self.name);
        }
        directory
    }

    /// Converts text to the character set. Text that this lacks stays UTF-8.
    pub fn encode(&self, text: &str) -> Vec<u8> {
        let charset = Charset::named(self.charset).expect("because it is known");
        match charset.encode(text) {
            Some(bytes) => bytes.into_owned(),
            None => text.as_bytes().to_vec(),
        }
    }

    /// Returns the character of a byte of the upper half.
    pub fn letter(&self, byte: u8) -> Option<char> {
        let charset = Charset::named(self.charset).expect("because it is known");
        charset.decode(&[byte]).and_then(|text| text.chars().next())
    }
}

/// The commands of [`IN_EIGHT_BITS`] that make what others name.
const MAKERS: [&str; 3] = [
    "svn mkdir -m X {URL}/Y --username X",
    "svn import -m x text {URL}/Y/X",
    "svn cp -m x {URL}/Y {URL}/X",
];

/// Commands, in which `X` is text of the character set and `Y` a path that has some. The locales share them, but for [`MAKERS`].
const IN_EIGHT_BITS: &[&str] = &[
    "svn mkdir -m X {URL}/Y --username X",
    "svn log -v -l1 {URL}",
    "svn log -v {URL}",
    "svn log --search *X* {URL}",
    "svn log --xml -l1 {URL}",
    "svn ls -R {URL}",
    "svn ls {URL} --search *X*",
    "svn ls -v {URL}/Y",
    "svn ls {URL}/noX",
    "svn info {URL}/Y",
    "svn info X",
    "svn mkdir -F message {URL}/Y/a",
    "svn mkdir -F message --encoding UTF-8 {URL}/Y/b",
    "svn mkdir -m X --encoding latin1 {URL}/Y/c",
    "svn mkdir -m x --with-revprop e=X {URL}/Y/d",
    "svn mkdir -m x --with-revprop X=e {URL}/Y/e",
    "svn proplist -v --revprop -rHEAD {URL}",
    "svn log -l4 {URL}",
    "svn ls --targets targets",
    "svn import -m x text {URL}/Y/X",
    "svn cat {URL}/Y/X",
    "svn blame {URL}/Y/X",
    "svn lock -m X {URL}/Y/X",
    "svn info {URL}/Y/X",
    "svn unlock {URL}/Y/X",
    "svn diff -r1:HEAD {URL}/Y",
    "svn diff -c1 {URL}",
    "svn diff --summarize -r1:HEAD {URL}",
    "svn export {URL}/Y X",
    "svn export -q {URL} all",
    "svn cp -m x {URL}/Y {URL}/X",
    "svn propset svn:log X --revprop -r1 {URL}",
    "svn propget svn:log --revprop -r1 {URL}",
    "svn propset X x --revprop -r1 {URL}",
    "svn propget X {URL}",
    "svn auth X",
    "svn rm -m x {URL}/Y",
    "svnmucc -m X mkdir X -U {URL}",
    "svnmucc -m x put text X/f -U {URL}",
    "svn ls -R {URL}/X",
];

#[test]
fn character_sets_of_eight_bits() {
    for (number, locale) in EIGHT_BITS.iter().enumerate() {
        let locales = locale.make();
        let own: Vec<&&str> = sample_from(number, EIGHT_BITS.len(), IN_EIGHT_BITS).collect();
        let (name, text) = (locale.name, locale.text);
        let encode = |text: &str| locale.encode(text);
        let twins = TwinClients::new(&repository(), Access::Disk);
        for side in Side::BOTH {
            let hook = twins.repository(side).join("hooks/pre-revprop-change");
            std::fs::write(&hook, "#!/bin/sh\n").expect("because the repository is ours");
            Tool::new("chmod").arg("+x").arg(hook).ok();
            let targets = format!("{}/é\n{}/nö{text}\n", twins.url(side), twins.url(side));
            let write = |name: &str, bytes: &[u8]| {
                std::fs::write(twins.dir(side).join(name), bytes).expect("because the directory is ours");
            };
            write("targets", &encode(&targets));
            write("message", &encode(&format!("{text}\nx\n")));
            write("text", b"a\n");
        }
        let mut wrong = Vec::new();
        for line in IN_EIGHT_BITS {
            if !own.contains(&line) && !MAKERS.contains(line) {
                continue;
            }
            let [theirs, ours] = Side::BOTH.map(|side| {
                let words = line.split(' ').map(|word| {
                    let word = word.replace('X', text).replace("Y", &format!("d{text}"));
                    encode(&word.replace("{URL}", twins.url(side)))
                });
                let words: Vec<Vec<u8>> = words.collect();
                let program = line.split(' ').next().unwrap_or_default();
                let tool = twins
                    .tool(side, &[program])
                    .args(words[1..].iter().map(|word| OsStr::from_bytes(word)));
                let tool = tool.env("LC_ALL", name).env("LOCPATH", &locales);
                twins.shape(side, &tool.run())
            });
            if theirs != ours {
                wrong.push(format!("{line}\n--- theirs\n{theirs}\n--- ours\n{ours}"));
            }
        }
        assert!(
            wrong.is_empty(),
            "{name}: {} differ\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        twins.same_repositories();
    }
}
