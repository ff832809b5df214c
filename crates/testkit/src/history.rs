//! Fixed histories: a rich one with every special case of the format, a small one, one with unreferenced texts. Also
//! generators of texts and numbers.

use crate::greek;
use crate::stream::{Content, DumpStream, RecordKind};
use RecordKind::{Dir, File};

/// UUID of the repositories made from [`rich`].
pub const RICH_UUID: &str = "8c0e5e6a-5a1f-4e0b-9d56-1f2a3b4c5d6e";

/// Returns eleven revisions of the Greek tree: adds, edits, a copy, a delete, properties.
pub fn small() -> DumpStream {
    let mut s = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-61728394a5b6");
    s.rev("Import the tree").mkdirs(greek::DIRS);
    for (path, text) in greek::FILES {
        s.file(path, text);
    }
    s.rev("Edit iota")
        .edit("iota", "This is the file 'iota'.\nA second line.\n");
    s.rev("Give mu properties").change(
        File,
        "A/mu",
        Content::props(&[("color", b"green"), ("svn:eol-style", b"native")]),
    );
    s.rev("Branch A/D").copy(Dir, "A/D2", 3, "A/D");
    s.rev("Edit on the branch")
        .edit("A/D2/gamma", "This is the file 'gamma'.\nOn D2.\n");
    s.rev("Delete").delete("A/B/E/beta");
    s.rev("Copy a file back from the past")
        .copy(File, "A/B/E/beta", 5, "A/B/E/beta");
    s.rev("Mergeinfo")
        .change(Dir, "A/D", Content::props(&[("svn:mergeinfo", b"/A/D2:5")]));
    s.rev("Replace")
        .replace(File, "A/D/H/chi", Content::both(&[], "No longer chi.\n"));
    s.rev("Move")
        .copy(File, "A/C/moved", 9, "A/D/G/tau")
        .delete("A/D/G/tau");
    s.rev("Take the properties away")
        .change(File, "A/mu", Content::props(&[]));
    s
}

/// Returns more than sixty revisions with every special case of the format; the log messages describe them.
pub fn rich() -> DumpStream {
    let mut s = DumpStream::new(RICH_UUID);
    let big = lines(1, 7000);
    let binary = noise(7, 250_000);
    first_steps(&mut s, &big, &binary);
    long_texts(&mut s, &big, &binary);
    copies(&mut s);
    moves_and_replacements(&mut s);
    merges(&mut s);
    names(&mut s);
    directories(&mut s);
    revision_properties(&mut s);
    many_small_edits(&mut s);
    s
}

/// Returns a history with texts that no node refers to: a file edited twice in one revision, a file added and deleted
/// in one. Subversion 1.14.2 stores such texts in the revision file, with index entries. When it packs a shard with
/// logical addressing it drops the texts and keeps their item numbers, and its own `verify` then fails with E160058.
/// Therefore they are not in [`rich`].
pub fn orphans() -> DumpStream {
    let mut s = DumpStream::new("5e1d0f7e-0f0f-4a4a-8b8b-c0c0d0d0e0e0");
    s.rev("Start")
        .mkdirs(["trunk"])
        .file("trunk/hello.txt", "Hello, world!\n");
    s.rev("Edit twice in one revision")
        .edit("trunk/hello.txt", "Hello!\n")
        .edit("trunk/hello.txt", "Hello, whole world!\n");
    s.rev("Add and delete in one revision")
        .file("trunk/short-lived", "gone\n")
        .delete("trunk/short-lived");
    s
}

/// r1 to r8: adds, edits, empty files, files without text, properties.
fn first_steps(s: &mut DumpStream, big: &str, binary: &[u8]) {
    s.rev("Lay out the usual folders")
        .mkdirs(["trunk", "branches", "tags"]);
    s.rev("Add files: short, long, binary, empty, without text")
        .file("trunk/hello.txt", "Hello, world!\n")
        .file("trunk/big.txt", big)
        .add(
            File,
            "trunk/logo.bin",
            Content::both(&[("svn:mime-type", b"application/octet-stream")], binary),
        )
        .file("trunk/empty.txt", "")
        .add(File, "trunk/never-a-text.txt", Content::props(&[]))
        .file("trunk/no-newline", "no newline at the end");
    s.rev("Edit the short file")
        .edit("trunk/hello.txt", "Hello, whole world!\n");
    s.rev("Properties on a file, a folder and the root")
        .change(
            File,
            "trunk/hello.txt",
            Content::props(&[("color", b"red"), ("svn:keywords", b"Id Rev"), ("empty", b"")]),
        )
        .change(
            Dir,
            "trunk",
            Content::props(&[("svn:ignore", b"*.o\n*.tmp\n"), ("owner", "Zo\u{eb}".as_bytes())]),
        )
        .change(Dir, "", Content::props(&[("root-prop", b"on the root")]));
    s.rev("Change one property, delete another").change(
        File,
        "trunk/hello.txt",
        Content::props(&[("color", b"blue"), ("empty", b"")]),
    );
    s.rev("The same list again: touched, not changed").change(
        File,
        "trunk/hello.txt",
        Content::props(&[("color", b"blue"), ("empty", b"")]),
    );
    s.rev("The last property goes: an empty list stays")
        .change(File, "trunk/hello.txt", Content::props(&[]))
        .change(Dir, "trunk", Content::props(&[("svn:ignore", b"*.o\n")]));
    s.rev("A binary and a long property value, and a text in the same revision")
        .change(
            File,
            "trunk/no-newline",
            Content::both(
                &[("blob", &noise(3, 3000)), ("long", lines(9, 200).as_bytes())],
                "still none",
            ),
        );
}

/// r9 to r14: texts of several windows.
fn long_texts(s: &mut DumpStream, big: &str, binary: &[u8]) {
    s.rev("Change the middle of the long text")
        .edit("trunk/big.txt", changed(big, 150_000, "in the middle\n"));
    s.rev("Insert at the start of the long text")
        .edit("trunk/big.txt", format!("first line\n{big}"));
    s.rev("Cut the long text to one window")
        .edit("trunk/big.txt", &big[..90_000]);
    s.rev("Grow it again, beyond what it was")
        .edit("trunk/big.txt", format!("{big}{big}"));
    let mut edited = binary.to_vec();
    edited.splice(102_390..102_410, noise(11, 500));
    s.rev("Edit binary data across a window's border")
        .edit("trunk/logo.bin", &edited);
    s.rev("Exactly one window, one byte less, one byte more")
        .file("trunk/w0.bin", noise(21, 102_400))
        .file("trunk/w-.bin", noise(22, 102_399))
        .file("trunk/w+.bin", noise(23, 102_401));
    s.rev("Empty a file that had a text; give a text to one that had none")
        .edit("trunk/no-newline", "")
        .edit("trunk/never-a-text.txt", "A text at last.\n");
}

/// Copies of every kind.
fn copies(s: &mut DumpStream) {
    let at = s.youngest();
    s.rev("Branch the trunk").copy(Dir, "branches/b1", at, "trunk");
    s.rev("Edit on the branch: a lazy copy becomes real")
        .edit("branches/b1/hello.txt", "Hello from b1!\n")
        .change(
            Dir,
            "branches/b1",
            Content::props(&[("svn:ignore", b"*.o\n*.b1\n")]),
        );
    s.rev("Copy a file and change it in the same revision").copy_with(
        File,
        "trunk/hello-copy.txt",
        at,
        "trunk/hello.txt",
        Content::both(&[("copied", b"yes")], "Hello, copy!\n"),
    );
    let at = s.youngest();
    s.rev("Copy the trunk with the copied file in it")
        .copy(Dir, "branches/b2", at, "trunk");
    s.rev("Edit the copied file below the copied folder: a soft copy")
        .edit("branches/b2/hello-copy.txt", "Hello, soft copy!\n");
    let at = s.youngest();
    s.rev("Copy a branch into a tag and a tag into a branch")
        .copy(Dir, "tags/t1", at, "branches/b2")
        .copy(Dir, "branches/b2/inner", at, "branches/b1");
    s.rev("Edit in the copy inside the copy")
        .edit("branches/b2/inner/hello.txt", "Hello from the inside!\n");
    let at = s.youngest();
    s.rev("Copy all that once more, delete and add below it")
        .copy(Dir, "branches/b3", at, "branches/b2")
        .delete("branches/b3/inner/hello.txt")
        .file("branches/b3/inner/new.txt", "new in b3\n")
        .edit("branches/b3/inner/no-newline", "not empty in b3");
}

/// Moves, and replacements of every kind.
fn moves_and_replacements(s: &mut DumpStream) {
    let at = s.youngest() - 1;
    s.rev("Move a file")
        .copy(File, "trunk/moved.txt", at, "trunk/hello.txt")
        .delete("trunk/hello.txt");
    let at = s.youngest();
    s.rev("Move a folder and edit in it")
        .copy(Dir, "branches/b1-moved", at, "branches/b1")
        .delete("branches/b1")
        .edit("branches/b1-moved/hello.txt", "Hello from the moved b1!\n");
    s.rev("Replace a file without history").replace(
        File,
        "trunk/empty.txt",
        Content::both(&[("fresh", b"1")], "not empty any more\n"),
    );
    s.rev("Replace a file by a copy from the past").replace_by_copy(
        File,
        "trunk/empty.txt",
        10,
        "trunk/big.txt",
    );
    s.rev("Replace a folder by a copy of an older self")
        .replace_by_copy(Dir, "branches/b2", at - 4, "branches/b2");
    s.rev("Replace a file by a folder and a folder by a file")
        .delete("trunk/no-newline")
        .add(Dir, "trunk/no-newline", Content::props(&[]))
        .file("trunk/no-newline/inside", "inside\n")
        .delete("branches/b3/inner")
        .file("branches/b3/inner", "was a folder\n");
    s.rev("Restore a deleted file")
        .copy(File, "trunk/hello.txt", at - 1, "trunk/hello.txt");
    let at = s.youngest();
    s.rev("The same file copied three times")
        .copy(File, "trunk/c1.txt", at, "trunk/moved.txt")
        .copy(File, "trunk/c2.txt", at, "trunk/moved.txt")
        .copy(File, "tags/c3.txt", 3, "trunk/hello.txt");
    s.rev("Copy of a copy, from its own revision's past")
        .copy(File, "trunk/c11.txt", at + 1, "trunk/c1.txt");
}

/// Mergeinfo: explicit, inherited, not inheritable, changed, removed.
fn merges(s: &mut DumpStream) {
    s.rev("Mergeinfo on the trunk").change(
        Dir,
        "trunk",
        Content::props(&[("svn:ignore", b"*.o\n"), ("svn:mergeinfo", b"/branches/b1:17-18")]),
    );
    s.rev("Mergeinfo on a file and, not inheritable, on a folder")
        .change(
            File,
            "trunk/moved.txt",
            Content::props(&[("svn:mergeinfo", b"/branches/b1/hello.txt:17-19")]),
        )
        .change(
            Dir,
            "trunk/no-newline",
            Content::props(&[("svn:mergeinfo", b"/branches/b2/x:21*")]),
        );
    let at = s.youngest();
    s.rev("Copy a tree with mergeinfo in it")
        .copy(Dir, "branches/merged", at, "trunk");
    s.rev("Merge for real: text and mergeinfo")
        .edit("trunk/big.txt", lines(40, 3000))
        .change(
            Dir,
            "trunk",
            Content::props(&[
                ("svn:ignore", b"*.o\n"),
                ("svn:mergeinfo", b"/branches/b1:17-22\n/branches/b2:20,24-26*\n"),
            ]),
        );
    s.rev("Take mergeinfo away again")
        .change(File, "trunk/moved.txt", Content::props(&[]));
    s.rev("Delete a tree with mergeinfo in it")
        .delete("branches/merged/no-newline");
}

/// Unusual names of files and properties.
fn names(s: &mut DumpStream) {
    s.rev("Names: umlauts, CJK, spaces, colons, quotes, percent, at")
        .mkdirs(["trunk/dir with spaces", "trunk/日本語", "trunk/Grüße"])
        .file("trunk/dir with spaces/a: b.txt", "colon and space\n")
        .file("trunk/日本語/テスト.txt", "試験\n")
        .file("trunk/Grüße/na\u{ef}ve caf\u{e9}.txt", "caf\u{e9}\n")
        .file("trunk/100%.txt", "percent\n")
        .file("trunk/at@sign.txt", "at\n")
        .file("trunk/it's \"quoted\" & <tagged>.txt", "quotes\n")
        .file("trunk/#hash?query;semi", "url\n")
        .file("trunk/-dash", "dash\n")
        .file("trunk/.hidden", "dot\n")
        .file("trunk/a.b", "1\n")
        .file("trunk/a-b", "2\n");
    let at = s.youngest();
    s.rev("Copy odd names")
        .copy(Dir, "trunk/a b", at, "trunk/dir with spaces")
        .copy(
            File,
            "trunk/日本語/コピー.txt",
            at,
            "trunk/Grüße/na\u{ef}ve caf\u{e9}.txt",
        )
        .edit("trunk/a b/a: b.txt", "edited\n");
    s.rev("Properties with odd names and values").change(
        File,
        "trunk/at@sign.txt",
        Content::props(&[
            ("p:with:colons", b"x"),
            ("p.dot-dash_under", b"K 3\nfoo\nV 3\nbar\nEND\n"),
            ("svn:executable", b"*"),
            ("svn:needs-lock", b"*"),
            ("nul", b"a\0b"),
            ("crlf", b"a\r\nb\r\n"),
        ]),
    );
}

/// Large, deep and empty directories.
fn directories(s: &mut DumpStream) {
    s.rev("A folder with two hundred entries").mkdirs(["trunk/many"]);
    for n in 0..200 {
        s.file(
            &format!("trunk/many/file-{n:03}.txt"),
            format!("file number {n}\n"),
        );
    }
    s.rev("Change a few of them")
        .edit("trunk/many/file-007.txt", "seven\n")
        .edit("trunk/many/file-107.txt", "hundred and seven\n")
        .delete("trunk/many/file-199.txt")
        .file("trunk/many/aaa.txt", "first\n");
    s.rev("Deep folders");
    let mut path = "trunk/deep".to_owned();
    for level in 0..20 {
        s.mkdirs([&*path]);
        path.push_str(&format!("/level{level}"));
    }
    s.file(&path, "at the bottom\n");
    s.rev("Edit at the bottom").edit(&path, "at the very bottom\n");
    s.rev("Empty folders, and one emptied")
        .mkdirs(["trunk/void", "trunk/void/inner"])
        .delete("branches/b3/inner");
    s.rev("Add and delete in one revision leaves a trace in the folder alone")
        .add(Dir, "trunk/void/short-lived", Content::props(&[]))
        .delete("trunk/void/short-lived");
}

/// Revision properties of several sizes; revisions without any.
fn revision_properties(s: &mut DumpStream) {
    s.rev(&format!("A long log message\n\n{}", lines(50, 120)))
        .edit("trunk/a.b", "3\n");
    let date = crate::stream::date(70);
    s.rev_with(&[("svn:date", date.as_bytes()), ("svn:log", b"No author")])
        .edit("trunk/a.b", "4\n");
    s.rev_with(&[]).edit("trunk/a.b", "5\n");
    s.rev_with(&[
        ("svn:author", b"alice"),
        ("svn:date", b"2020-03-02T10:00:00.000000Z"),
        ("svn:log", "Custom ones: \u{fc}\u{30c6}".as_bytes()),
        ("custom:blob", &noise(70, 2500)),
        ("custom:empty", b""),
    ])
    .edit("trunk/a.b", "6\n");
    s.rev("A revision that changes nothing");
    s.rev("").edit("trunk/a.b", "7\n");
}

/// Enough revisions of one file for long delta chains and skip deltas.
fn many_small_edits(s: &mut DumpStream) {
    let mut text = lines(60, 400);
    for n in 0..20 {
        text = changed(&text, 300 + n * 700, &format!("edit number {n}\n"));
        s.rev(&format!("Edit number {n}")).edit("trunk/w-.bin", &text);
        if n % 3 == 0 {
            let value = format!("{n} {}", "x".repeat(300));
            s.change(
                File,
                "trunk/moved.txt",
                Content::props(&[("turn", value.as_bytes())]),
            );
        }
        if n % 4 == 0 {
            s.file(&format!("trunk/many/extra-{n}"), format!("extra {n}\n"));
        }
        if n == 10 {
            let at = s.youngest() - 1;
            s.copy(Dir, "tags/t2", at, "trunk");
        }
    }
}

/// Returns random text of `count` numbered lines.
pub fn lines(seed: u64, count: usize) -> String {
    let mut random = Random::new(seed);
    let words = [
        "revision", "node", "window", "delta", "tree", "path", "lock", "merge", "commit", "report",
    ];
    let mut out = String::new();
    for n in 0..count {
        out.push_str(&format!("{n:5}"));
        for _ in 0..random.below(7) + 2 {
            out.push(' ');
            out.push_str(words[random.below(words.len())]);
        }
        out.push('\n');
    }
    out
}

/// Returns random bytes, which do not compress.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..length).map(|_| random.next() as u8).collect()
}

/// Returns the text with the rest of the line at `at` replaced by `by`.
pub fn changed(text: &str, at: usize, by: &str) -> String {
    let at = text.floor_char_boundary(at);
    let end = text[at..].find('\n').map_or(text.len(), |n| at + n + 1);
    format!("{}{by}{}", &text[..at], &text[end..])
}

/// A small random number generator, equal on every machine (xorshift64*).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns a generator with a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns the next number.
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, so it is no iterator"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Returns a number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
