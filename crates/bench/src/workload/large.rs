//! Generates files of any size, and a small tree.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::text;

/// Writes a file of `megabytes` MiB: random bytes, or random lines of text if `compressible`.
///
/// # Errors
/// If it cannot be written.
pub fn file(path: &Path, megabytes: u64, compressible: bool, seed: u64) -> Result<(), String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let write = || -> std::io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, fs::File::create(path)?);
        let mut block = vec![0; 1 << 20];
        for _ in 0..megabytes {
            if compressible {
                block = text::text(1 << 20, &mut rng);
                block.resize(1 << 20, b'\n');
            } else {
                rng.fill_bytes(&mut block);
            }
            out.write_all(&block)?;
        }
        out.flush()
    };
    let mut write = write;
    write().map_err(|e| format!("{}: {e}", path.display()))
}

/// Makes a tree of `files` small text files, ten in each directory.
///
/// # Errors
/// If it can't be written.
pub fn small_tree(scratch: &Path, files: usize) -> Result<PathBuf, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let top = scratch.join("tree");
    for number in 0..files {
        let folder = top.join(format!("folder{}", number / 10));
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(format!("file{number}")), text::text(3000, &mut rng)))
            .map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    Ok(top)
}
