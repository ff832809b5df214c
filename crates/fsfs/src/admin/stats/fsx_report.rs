//! Printing the figures of FSX.

use std::fmt;

use super::Total;
use super::fsx::FsxStats;
use super::report::number;

impl fmt::Display for FsxStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unpacked = self.revisions - self.packed.min(self.revisions);
        writeln!(f, "Revisions:")?;
        line(f, self.revisions, "revisions")?;
        line(f, self.packed, "packed revisions")?;
        line(f, unpacked, "revisions that are not packed")?;
        writeln!(f, "\nFiles:")?;
        bytes_in(f, self.pack_files, "pack files")?;
        bytes_in(f, self.revision_files, "revision files")?;
        bytes(f, self.indexes, "indexes and footers")?;
        bytes(f, self.unused, "padding")?;
        writeln!(f, "\nItems:")?;
        for (kind, total) in &self.items {
            bytes_in(f, *total, kind.name())?;
        }
        writeln!(f, "\nItems in containers:")?;
        for (name, total) in ["changed-path lists", "node-revisions", "representations"]
            .into_iter()
            .zip(self.contained)
        {
            bytes_in(f, total, name)?;
        }
        writeln!(f, "\nHistory:")?;
        line(f, self.changed_paths, "changed paths")?;
        line(f, self.nodes[0], "node-revisions of directories")?;
        line(f, self.nodes[1], "node-revisions of files")?;
        let titles = [
            "directories",
            "files",
            "properties of directories",
            "properties of files",
        ];
        for (title, reps) in titles.into_iter().zip(&self.reps) {
            writeln!(f, "\nContents of {title}:")?;
            bytes_in(f, reps.all, "representations, expanded")?;
            bytes_in(f, reps.shared, "shared ones, expanded")?;
            bytes(f, reps.saved, "not stored, because of sharing")?;
            for (at, of_size) in reps
                .sizes
                .lines
                .iter()
                .enumerate()
                .filter(|(_, line)| line.count > 0)
            {
                let below = 1u128 << at;
                writeln!(
                    f,
                    "{:>20} below {} bytes",
                    number(of_size.count),
                    number(u64::try_from(below).unwrap_or(u64::MAX))
                )?;
            }
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, count: u64, what: &str) -> fmt::Result {
    writeln!(f, "{:>20} {what}", number(count))
}

fn bytes(f: &mut fmt::Formatter<'_>, bytes: u64, what: &str) -> fmt::Result {
    writeln!(f, "{:>20} bytes of {what}", number(bytes))
}

fn bytes_in(f: &mut fmt::Formatter<'_>, total: Total, what: &str) -> fmt::Result {
    let (bytes, count) = (number(total.bytes), number(total.count));
    writeln!(f, "{bytes:>20} bytes in {count:>12} {what}")
}
