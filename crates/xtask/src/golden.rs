//! Makes the committed repositories again with Subversion's tools, or checks that they equal the result of these
//! tools.
//!
//! The source is one dump stream, `crates/cli/data/demo.dump`. Subversion's `svnadmin` loads it into each format,
//! packed or not, which gives an image (see `testkit::image`) for each golden test. The demonstration of `sven serve
//! --demo` loads it too. Loading is repeatable: IDs, offsets and dates come from the stream; only the instance ID is
//! random and is replaced here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use base::hashdump::{Terminator, write};

use crate::run::root;

/// Writes all images; with `--check`, compares them instead.
pub fn main(rest: &[String]) -> Result<(), String> {
    let check = rest.iter().any(|a| a == "--check");
    let scratch = std::env::temp_dir().join(format!("sven-golden-{}", std::process::id()));
    let outcome = IMAGES
        .iter()
        .try_for_each(|image| write_or_check(image, &scratch, check));
    let _ = fs::remove_dir_all(&scratch);
    outcome
}

struct GoldenImage {
    /// The path of the committed file.
    file: &'static str,
    /// The value of `--compatible-version` of `svnadmin create`.
    version: &'static str,
    /// The shard size; `None` for formats with the linear layout.
    shard: Option<u32>,
    packed: bool,
}

fn write_or_check(image: &GoldenImage, scratch: &Path, check: bool) -> Result<(), String> {
    let repository = scratch.join("r");
    let _ = fs::remove_dir_all(scratch);
    fs::create_dir_all(scratch).map_err(|e| e.to_string())?;
    make(image, &repository)?;
    let bytes = image_of(&repository)?;
    let committed = root().join(image.file);
    if !check {
        println!("{}: {} bytes", image.file, bytes.len());
        fs::create_dir_all(committed.parent().unwrap_or(Path::new("."))).map_err(|e| e.to_string())?;
        return fs::write(&committed, bytes).map_err(|e| format!("{}: {e}", image.file));
    }
    match fs::read(&committed) {
        Ok(old) if old == bytes => Ok(()),
        Ok(_) => Err(format!(
            "{} is not what the real tools make: run cargo xtask golden",
            image.file
        )),
        Err(error) => Err(format!("{}: {error}", image.file)),
    }
}

fn make(image: &GoldenImage, repository: &Path) -> Result<(), String> {
    svnadmin(
        &["create", "--compatible-version", image.version],
        repository,
        None,
    )?;
    if let Some(shard) = image.shard {
        let path = repository.join("db/format");
        let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
        fs::remove_file(&path).map_err(|e| e.to_string())?;
        let text = text.replace("layout sharded 1000", &format!("layout sharded {shard}"));
        fs::write(&path, text).map_err(|e| e.to_string())?;
    }
    let dump = root().join("crates/cli/data/demo.dump");
    svnadmin(&["load", "-q", "--force-uuid"], repository, Some(&dump))?;
    if image.packed {
        svnadmin(&["pack", "-q"], repository, None)
    } else {
        Ok(())
    }
}

fn svnadmin(args: &[&str], repository: &Path, input: Option<&Path>) -> Result<(), String> {
    let stdin = match input {
        Some(path) => fs::File::open(path)
            .map_err(|e| format!("{}: {e}", path.display()))?
            .into(),
        None => Stdio::null(),
    };
    let (verb, options) = args.split_first().ok_or("no subcommand")?;
    let output = Command::new("svnadmin")
        .arg(verb)
        .args(options)
        .arg(repository)
        .stdin(stdin)
        .output();
    let output = output.map_err(|e| format!("svnadmin: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "svnadmin {verb}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

/// Returns the repository as an image, without templates and caches, with a fixed instance ID.
fn image_of(repository: &Path) -> Result<Vec<u8>, String> {
    let mut files = BTreeMap::new();
    collect(repository, "", &mut files)?;
    if let Some(uuid) = files.get_mut("db/uuid") {
        let text = String::from_utf8_lossy(uuid).into_owned();
        let fixed = text
            .lines()
            .enumerate()
            .map(|(at, line)| if at == 0 { line } else { INSTANCE_ID });
        *uuid = fixed
            .flat_map(|line| [line, "\n"])
            .collect::<String>()
            .into_bytes();
    }
    let mut out = Vec::new();
    write(
        &mut out,
        files
            .iter()
            .map(|(path, bytes)| (path.as_bytes(), bytes.as_slice())),
        Terminator::End,
    );
    Ok(out)
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let before = files.len();
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let entry = entry.map_err(|e| e.to_string())?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else if !EXCLUDED.iter().any(|part| name.contains(part)) {
            files.insert(name, fs::read(entry.path()).map_err(|e| e.to_string())?);
        }
    }
    if files.len() == before {
        files.insert(prefix.to_owned(), Vec::new());
    }
    Ok(())
}

const INSTANCE_ID: &str = "5e7e9000-7ea0-4000-8000-000000000002";

/// Parts of the names of files that are not in an image: hook templates, sample configuration, and the rep-cache,
/// whose bytes are not repeatable.
const EXCLUDED: &[&str] = &[".tmpl", "rep-cache.db", "conf/", "README.txt", "fsfs.conf"];

const IMAGES: &[GoldenImage] = &[
    GoldenImage {
        file: "crates/testkit/data/golden/f1.image",
        version: "1.3",
        shard: None,
        packed: false,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f2.image",
        version: "1.4",
        shard: None,
        packed: false,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f3.image",
        version: "1.5",
        shard: Some(4),
        packed: false,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f4.image",
        version: "1.6",
        shard: Some(4),
        packed: false,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f4-packed.image",
        version: "1.6",
        shard: Some(4),
        packed: true,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f6.image",
        version: "1.8",
        shard: Some(4),
        packed: false,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f6-packed.image",
        version: "1.8",
        shard: Some(4),
        packed: true,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f7.image",
        version: "1.9",
        shard: Some(4),
        packed: false,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f7-packed.image",
        version: "1.9",
        shard: Some(4),
        packed: true,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f8.image",
        version: "1.10",
        shard: Some(4),
        packed: false,
    },
    GoldenImage {
        file: "crates/testkit/data/golden/f8-packed.image",
        version: "1.10",
        shard: Some(4),
        packed: true,
    },
];
