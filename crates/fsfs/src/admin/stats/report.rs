//! Printing the figures as the incumbent does.

use std::fmt;

use super::{Histogram, Histograms, RepStats, Stats, Total};

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.totals(f)?;
        for (title, reps) in ["Directory", "File", "Directory property", "File property"]
            .into_iter()
            .zip(&self.reps)
        {
            of_kind(f, title, reps)?;
        }
        writeln!(f, "\nLargest representations:")?;
        for large in &self.largest {
            writeln!(f, "{:>12} r{:<8} {}", number(large.size), large.rev.0, large.path)?;
        }
        self.by_extension(f)?;
        self.histograms(f)
    }
}

impl Stats {
    fn all(&self) -> RepStats {
        self.reps.iter().fold(RepStats::default(), |mut all, reps| {
            all.all = plus(all.all, reps.all);
            all.expanded += reps.expanded;
            all.unshared = all.unshared.saturating_add(reps.unshared);
            all.chain_lengths += reps.chain_lengths;
            all
        })
    }

    fn totals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.all();
        let nodes = plus(self.dir_nodes, self.file_nodes);
        let [dirs, files, dir_props, file_props] = &self.reps;
        let revisions = Total {
            count: self.revisions,
            bytes: self.total,
        };
        writeln!(f, "Global statistics:")?;
        bytes_in(f, revisions, "revisions")?;
        bytes_in(f, self.changes, "changes")?;
        bytes_in(f, nodes, "node revision records")?;
        bytes_in(f, all.all, "representations")?;
        writeln!(
            f,
            "{:>20} bytes expanded representation size",
            number(all.expanded)
        )?;
        writeln!(f, "{:>20} bytes with rep-sharing off", number(all.unshared))?;
        writeln!(f, "\nNoderev statistics:")?;
        bytes_in(f, nodes, "nodes total")?;
        bytes_in(f, self.dir_nodes, "directory noderevs")?;
        bytes_in(f, self.file_nodes, "file noderevs")?;
        writeln!(f, "\nRepresentation statistics:")?;
        bytes_in(f, all.all, "representations total")?;
        bytes_in(f, dirs.all, "directory representations")?;
        bytes_in(f, files.all, "file representations")?;
        bytes_in(f, self.added, "representations of added file nodes")?;
        bytes_in(f, dir_props.all, "directory property representations")?;
        bytes_in(f, file_props.all, "file property representations")?;
        writeln!(
            f,
            "{:25}with {:12.3} average delta chain length",
            "",
            average(&all)
        )?;
        writeln!(
            f,
            "{:>20} bytes in header & footer overhead",
            number(self.overhead)
        )
    }

    fn by_extension(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = &self.reps[1].sizes;
        let by_count = self.top(|sizes| sizes.expanded.total.count);
        writeln!(f, "\nExtensions by number of representations:")?;
        let total = files.expanded.total.count;
        let mut others = total;
        for (name, sizes) in &by_count {
            let count = sizes.expanded.total.count;
            others -= count;
            extension(f, name, count, total, "representations")?;
        }
        if !by_count.is_empty() {
            extension(f, "(others)", others, total, "representations")?;
        }
        for (title, of, total) in [
            (
                "changed files",
                (|sizes| sizes.expanded.total.bytes) as fn(&Histograms) -> u64,
                files.expanded.total.bytes,
            ),
            (
                "representations",
                |sizes| sizes.stored.total.bytes,
                self.sizes.stored.total.bytes,
            ),
        ] {
            writeln!(f, "\nExtensions by size of {title}:")?;
            let mut others = total;
            for (name, sizes) in self.top(of) {
                others -= of(sizes);
                extension(f, &name, of(sizes), total, "bytes")?;
            }
            if others > 0 {
                extension(f, "(others)", others, total, "bytes")?;
            }
        }
        Ok(())
    }

    /// Returns the extensions with the largest figures.
    fn top(&self, figure: impl Fn(&Histograms) -> u64) -> Vec<(String, &Histograms)> {
        let mut all: Vec<_> = self.extensions.iter().collect();
        all.sort_by_key(|(_, sizes)| std::cmp::Reverse(figure(sizes)));
        let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "(none)".to_owned());
        all.into_iter()
            .take(EXTENSIONS)
            .map(|(name, sizes)| (named(name), sizes))
            .collect()
    }

    fn histograms(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [dirs, files, dir_props, file_props] = &self.reps;
        histogram(f, "expanded node sizes", &self.sizes.expanded)?;
        histogram(f, "representation sizes", &self.sizes.stored)?;
        for (title, reps) in [
            ("file", files),
            ("file property", file_props),
            ("directory", dirs),
            ("directory property", dir_props),
        ] {
            histogram(f, &format!("{title} sizes"), &reps.sizes.expanded)?;
            histogram(f, &format!("{title} representation sizes"), &reps.sizes.stored)?;
        }
        let lists = [
            self.top(|sizes| sizes.expanded.total.count),
            self.top(|sizes| sizes.expanded.total.bytes),
            self.top(|sizes| sizes.stored.total.bytes),
        ];
        let mut done: Vec<String> = Vec::new();
        for (name, sizes) in lists.into_iter().flatten() {
            if !done.contains(&name) {
                histogram(f, &format!("'{name}' file sizes"), &sizes.expanded)?;
                histogram(f, &format!("'{name}' file representation sizes"), &sizes.stored)?;
                done.push(name);
            }
        }
        Ok(())
    }
}

/// Number of extensions in each list.
const EXTENSIONS: usize = 16;

fn of_kind(f: &mut fmt::Formatter<'_>, title: &str, reps: &RepStats) -> fmt::Result {
    writeln!(f, "\n{title} representation statistics:")?;
    bytes_in(f, reps.all, "reps")?;
    bytes_in(f, reps.shared, "shared reps")?;
    for (value, what) in [
        (reps.expanded, "bytes expanded size"),
        (reps.expanded_shared, "bytes expanded shared size"),
        (reps.unshared, "bytes with rep-sharing off"),
        (reps.references, "shared references"),
    ] {
        writeln!(f, "{:>20} {what}", number(value))?;
    }
    writeln!(f, "{:20.3} average delta chain length", average(reps))
}

fn bytes_in(f: &mut fmt::Formatter<'_>, sum: Total, what: &str) -> fmt::Result {
    writeln!(
        f,
        "{:>20} bytes in {:>12} {what}",
        number(sum.bytes),
        number(sum.count)
    )
}

fn extension(f: &mut fmt::Formatter<'_>, name: &str, value: u64, total: u64, unit: &str) -> fmt::Result {
    // The incumbent pads by bytes, not characters.
    let pad = 11usize.saturating_sub(name.len());
    let percent = percent(value, total);
    writeln!(
        f,
        "{:pad$}{name} {:>20} ({percent:>2}%) {unit}",
        "",
        number(value)
    )
}

fn histogram(f: &mut fmt::Formatter<'_>, title: &str, histogram: &Histogram) -> fmt::Result {
    writeln!(f, "\nHistogram of {title}:")?;
    let used = |line: &Total| line.count > 0;
    let first = histogram.lines.iter().position(used);
    let last = histogram.lines.iter().rposition(used);
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(());
    };
    for at in (first..=last).rev() {
        let line = &histogram.lines[at];
        writeln!(
            f,
            "  {:>4} .. < {:<5} {:>18} ({:>2}%) bytes in {:>12} ({:>2}%) items",
            at.checked_sub(1).map_or_else(|| "0".to_owned(), power_of_two),
            power_of_two(at),
            number(line.bytes),
            percent(line.bytes, histogram.total.bytes),
            number(line.count),
            percent(line.count, histogram.total.count)
        )?;
    }
    Ok(())
}

fn power_of_two(exponent: usize) -> String {
    const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    format!("{}{}", 1u32 << (exponent % 10), UNITS[exponent / 10])
}

fn percent(part: u64, whole: u64) -> u64 {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    u64::try_from(percent).unwrap_or(u64::MAX)
}

fn average(reps: &RepStats) -> f64 {
    reps.chain_lengths as f64 / reps.all.count.max(1) as f64
}

fn plus(a: Total, b: Total) -> Total {
    Total {
        count: a.count + b.count,
        bytes: a.bytes + b.bytes,
    }
}

/// Formats a number with commas as thousands separators.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_in_english() {
        let texts = [0, 999, 1000, 123_456, 1_234_567].map(number);
        assert_eq!(texts, ["0", "999", "1,000", "123,456", "1,234,567"]);
        let texts = [0, 9, 10, 18, 64].map(power_of_two);
        assert_eq!(texts, ["1", "512", "1k", "256k", "16E"]);
    }
}
