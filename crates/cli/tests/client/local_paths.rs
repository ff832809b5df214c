//! Local paths in the output of `import` and `export`: relative to the current directory if they are inside of it.

use std::path::PathBuf;

use testkit::normalize::sorted_lines;
use testkit::{Side, Spec, build, sample};

use crate::twins::{Access, TwinClients};

/// Returns the directory of a side's tests. No path of them leads out of the working directory.
fn top(twins: &TwinClients, side: Side) -> PathBuf {
    twins.dir(side).join("a/b")
}

#[test]
fn paths_are_relative_to_the_current_directory() {
    let twins = TwinClients::new(&build(&Spec::small("1.14")), Access::Disk);
    for side in Side::BOTH {
        std::fs::create_dir_all(top(&twins, side).join("tree/sub/.svn")).expect("because it is new");
    }
    twins.file("a/b/tree/sub/file", "text\n");
    let paths = [
        "{DIR}/a/b",
        "{DIR}/a/b/tree/sub",
        "{DIR}/a/b/../b/tree",
        "..",
        ".",
        "../tree",
        "sub",
        "./tree/../tree",
    ];
    let imports = [
        "{DIR}/a/b/tree",
        "{DIR}/a/b/tree/sub/file",
        "tree/sub",
        "file",
        "../..",
    ];
    let import = |path: &str| format!("import -m m {path} {{URL}}/import-NUMBER");
    let export = |path: &str| format!("export --force {{URL}}/A/B {path}");
    let lines = paths
        .iter()
        .flat_map(|path| [import(path), export(path), export(&format!("{path}/new-NUMBER"))]);
    let lines: Vec<String> = lines.chain(imports.iter().map(|path| import(path))).collect();
    let mut failed = Vec::new();
    let all = ["", "tree/sub"]
        .iter()
        .flat_map(|below| lines.iter().map(move |line| (below, line)));
    for (number, (below, line)) in sample(4, all.enumerate()) {
        let line = format!("svn {}", line.replace("NUMBER", &number.to_string()));
        let words: Vec<&str> = line.split(' ').collect();
        let [theirs, ours] = Side::BOTH.map(|side| {
            let output = twins.tool(side, &words).dir(&top(&twins, side).join(below)).run();
            let text = format!("{}{}[exit {}]", output.out(), output.err(), output.code);
            text.replace(&*twins.dir(side).to_string_lossy(), "{DIR}")
                .replace(twins.url(side), "{URL}")
        });
        // Entries of a directory are exported in the order of a hash table.
        if sorted_lines(&theirs) != sorted_lines(&ours) {
            failed.push(format!(
                "in '{below}': {line}\n--- theirs\n{theirs}\n--- ours\n{ours}"
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} differ\n{}",
        failed.len(),
        failed.join("\n")
    );
}
