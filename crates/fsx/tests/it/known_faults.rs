//! Faults of Subversion 1.14 with FSX: what this crate reads where Subversion's own tools drop nodes or fail.

use testkit::Tool;
use testkit::stream::DumpStream;

use crate::compare;
use crate::expected::Expected;
use crate::repository::{FsxRepository, Settings};

/// A changed-path list that is an item of its own and crosses a multiple of 64 KiB is read twice by 1.14, the second time
/// from its end on: its tools fail, or lose each other group of 100 changes without an error.
#[test]
fn long_changed_path_lists_are_read_whole() {
    let mut stream = DumpStream::new("9d3a1c52-5a0c-4b7e-b0a9-f6e0f6f7d1aa");
    stream.rev("Many files").mkdirs(["d"]);
    for at in 0..1500 {
        stream.file(
            &format!("d/a name that makes the list of changed paths long, number {at}"),
            "x",
        );
    }
    let expected = Expected::of_stream(&stream.bytes());
    let repository = FsxRepository::load(&Settings::shard(2), &stream.bytes());
    compare::all(&repository, &expected, false);
    let dump = Tool::new("svnadmin")
        .args(["dump", "-q"])
        .arg(repository.path())
        .run();
    let is_whole = dump.code == 0 && Expected::of_dump(&dump.stdout).trees == expected.trees;
    assert!(
        !is_whole,
        "1.14 has this fault no longer: {} bytes",
        dump.stdout.len()
    );

    // In the containers of a packed shard the fault does not show.
    repository.pack();
    compare::all(&repository, &expected, true);
    let dump = Tool::new("svnadmin")
        .args(["dump", "-q"])
        .arg(repository.path())
        .ok();
    assert_eq!(Expected::of_dump(&dump.stdout).trees, expected.trees);
}
