//! Names, properties and messages that the character set of the terminal does not have.

use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Repo, Spec, Tool, build};

use crate::twins::{Access, TwinClients};

fn repository() -> Repo {
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
