//! The tables of the matrix, as Markdown, made of the stored results: what to beware of, a summary, ratios of formats and of packing, the
//! tables of compression, and each row.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::ValueEnum as _;
use serde_json::Value;

use super::cell::{Format, Implementation, Job, word};
use super::measure::Cost;
use super::store::{Results, Runs};
use super::{compression, flat, plots};
use crate::cells::{geometric_mean, spread};
use crate::setup::Directories;

/// Prints and stores the tables and the plots.
///
/// # Errors
/// If a file cannot be written.
pub fn publish(directories: &Directories, description: &Value, results: &Results) -> Result<(), String> {
    let rows = ReportRow::all(results);
    let mut text = caveats(description);
    text.push_str(&summary(&rows));
    text.push_str(&by_dimension(
        &rows,
        "Formats",
        "Wall time of formats 7 and 8 of FSFS and of FSX divided by that of format 6.",
        1,
        &["7", "8", "fsx"],
        "6",
    ));
    text.push_str(&by_dimension(
        &rows,
        "Packed and unpacked",
        "Wall time of the packed repository divided by that of the unpacked one.",
        2,
        &["packed"],
        "unpacked",
    ));
    text.push_str(&size_table(&rows));
    text.push_str(&compression_table(results));
    text.push_str(&flat_table(results));
    print!("{text}");
    for job in Job::value_variants() {
        text.push_str(&job_table(*job, &rows));
    }
    directories.store("matrix.md", text.as_bytes())?;
    directories.store("matrix-ratios.svg", plots::ratios(&job_ratios(&rows))?.as_bytes())
}

/// A measured row: the dimensions as in its identifier, and the runs of each implementation.
pub struct ReportRow<'a> {
    /// Job, format, packed, cache, access, medium, temperature.
    parts: Vec<&'a str>,
    sven: &'a Runs,
    subversion: &'a Runs,
    block_read: Option<&'a Runs>,
}

impl<'a> ReportRow<'a> {
    /// Returns the rows of which both sides are measured.
    fn all(results: &'a Results) -> Vec<ReportRow<'a>> {
        let mut rows: BTreeMap<&str, [Option<&Runs>; 3]> = BTreeMap::new();
        let sides = [
            Implementation::Sven,
            Implementation::Subversion,
            Implementation::SubversionBlockRead,
        ];
        for ((row, implementation), runs) in results {
            if let Some(at) = sides.iter().position(|side| side.name() == implementation) {
                rows.entry(row).or_default()[at] = Some(runs);
            }
        }
        let complete = rows
            .into_iter()
            .filter_map(|(row, [sven, subversion, block_read])| {
                Some(ReportRow {
                    parts: row.split('/').collect(),
                    sven: sven?,
                    subversion: subversion?,
                    block_read,
                })
            });
        complete.filter(|row| row.parts.len() == 7).collect()
    }

    fn job(&self) -> &str {
        self.parts[0]
    }

    /// Subversion's wall time divided by Sven's; the faster of Subversion's two.
    fn ratio(&self) -> f64 {
        let others = [Some(self.subversion), self.block_read].into_iter().flatten();
        let best = others.map(wall).fold(f64::INFINITY, f64::min);
        best / wall(self.sven).max(1e-4)
    }
}

fn wall(runs: &Runs) -> f64 {
    runs.median(|cost| cost.wall)
}

fn caveats(description: &Value) -> String {
    let text = |name: &str| {
        description
            .get(name)
            .map_or(String::new(), |value| value.to_string())
    };
    format!(
        "# The matrix\n\n\
         **Read this first.**\n\n\
         - {}\n\
         - Subversion {}, its own client with its own server; Sven likewise. A ratio is Subversion's wall time divided by Sven's: below 1 Sven is slower, \
         and the cell says so. Where Subversion's server was measured with block reads too, the faster of the two counts.\n\
         - A generated history of {} revisions and 520 changes of one file, runs of each cell: {} (the median counts). A real history has other proportions (see \
         [BENCHMARKS](../BENCHMARKS.md)).\n\
         - *Cold* is a new server and an empty page cache; where this program may not empty it, only the server is new. On a RAM disk files are always in memory.\n\
         - Processor time is counted in ticks of 10 ms: the shares of short jobs are rough. Cells marked *busy* were measured while other programs used \
         more than a tenth of a core.\n\
         - Bytes and calls are what the kernel counts for client and server together (`/proc/PID/io`). It counts what is read from a socket by `read`, as \
         Subversion's client does, and not by `recv`, as Sven's does: over networks compare these columns between rows of one side only.\n\n",
        description.get("text").and_then(Value::as_str).unwrap_or(""),
        description
            .get("subversion")
            .and_then(Value::as_str)
            .unwrap_or(""),
        text("revisions"),
        text("runs"),
    )
}

/// Returns for each job and access the ratios of all its rows.
fn job_ratios(rows: &[ReportRow<'_>]) -> Vec<(String, Vec<f64>)> {
    let mut all = Vec::new();
    for job in Job::value_variants() {
        let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.job() == word(*job)) {
            ratios.entry(row.parts[4]).or_default().push(row.ratio());
        }
        all.extend(ratios.into_iter().map(|(access, ratios)| {
            let over = if job.is_administration() {
                String::new()
            } else {
                format!(", {access}://")
            };
            (format!("{}{over}", job.title()), ratios)
        }));
    }
    all
}

fn summary(rows: &[ReportRow<'_>]) -> String {
    let mut out = String::from(
        "## Summary\n\n| job | cells | ratio (geometric mean) | lowest | highest | cells in which Sven is slower |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for (name, ratios) in job_ratios(rows) {
        let (low, high) = spread(ratios.iter().copied());
        let lost = ratios.iter().filter(|ratio| **ratio < 1.0).count();
        // Writing to a string cannot fail.
        _ = writeln!(
            out,
            "| {name} | {} | {:.2} | {low:.2} | {high:.2} | {lost} |",
            ratios.len(),
            geometric_mean(&ratios)
        );
    }
    out.push('\n');
    out
}

/// Compares the values of one dimension, all others equal, for each job and both sides.
fn by_dimension(
    rows: &[ReportRow<'_>],
    title: &str,
    about: &str,
    dimension: usize,
    values: &[&str],
    base: &str,
) -> String {
    let mut out = format!("## {title}\n\n{about} Geometric means over all other conditions.\n\n| job |");
    for value in values {
        _ = write!(out, " Sven {value} | Subversion {value} |");
    }
    _ = writeln!(out, "\n|---|{}", "---:|---:|".repeat(values.len()));
    let times: BTreeMap<&[&str], (f64, f64)> = rows
        .iter()
        .map(|row| (&row.parts[..], (wall(row.sven), wall(row.subversion))))
        .collect();
    for job in Job::value_variants() {
        let name = word(*job);
        let mut line = format!("| {} |", job.title());
        let mut is_known = false;
        for value in values {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for row in rows
                .iter()
                .filter(|row| row.job() == name && row.parts[dimension] == *value)
            {
                let mut parts = row.parts.clone();
                parts[dimension] = base;
                if let Some((sven, subversion)) = times.get(&parts[..]) {
                    ours.push(wall(row.sven) / sven.max(1e-4));
                    theirs.push(wall(row.subversion) / subversion.max(1e-4));
                }
            }
            is_known |= !ours.is_empty();
            let text = |ratios: &[f64]| match ratios {
                [] => "–".to_owned(),
                ratios => format!("{:.2}", geometric_mean(ratios)),
            };
            _ = write!(line, " {} | {} |", text(&ours), text(&theirs));
        }
        if is_known {
            _ = writeln!(out, "{line}");
        }
    }
    out.push('\n');
    out
}

fn job_table(job: Job, rows: &[ReportRow<'_>]) -> String {
    let rows: Vec<&ReportRow<'_>> = rows.iter().filter(|row| row.job() == word(job)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "## {}\n\n| format | form | cache MiB | access | medium | caches | Sven s | Subversion s | with block read s | ratio | CPU s Sven (client's share) | CPU s Subversion (client's share) | \
         MiB read Sven / Subversion | calls Sven / Subversion | |\n|---|---|---:|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n",
        job.title()
    );
    for row in rows {
        let ratio = row.ratio();
        let lost = if ratio < 1.0 { " **(slower)**" } else { "" };
        let block_read = row
            .block_read
            .map_or("–".to_owned(), |runs| format!("{:.3}", wall(runs)));
        let figure = |figure: fn(&Cost) -> Option<f64>, unit: f64| {
            let [ours, theirs] = [row.sven, row.subversion].map(|runs| {
                let known = runs.known_median(figure);
                known.map_or("–".to_owned(), |value| format!("{:.0}", value / unit))
            });
            format!("{ours} / {theirs}")
        };
        let cpu = |runs: &Runs| {
            let seconds = runs.median(|cost| cost.client_cpu + cost.server_cpu);
            format!("{seconds:.2} ({:.0} %)", 100.0 * runs.median(Cost::client_share))
        };
        let is_busy = row.sven.is_busy || row.subversion.is_busy;
        _ = writeln!(
            out,
            "| {} | {:.3} | {:.3} | {block_read} | {ratio:.2}{lost} | {} | {} | {} | {} | {} |",
            row.parts[1..].join(" | "),
            wall(row.sven),
            wall(row.subversion),
            cpu(row.sven),
            cpu(row.subversion),
            figure(|cost| cost.bytes, f64::from(1 << 20)),
            figure(|cost| cost.calls, 1.0),
            if is_busy { "busy" } else { "" },
        );
    }
    out.push('\n');
    out
}

/// What the repositories take on the disk that each implementation loaded, and packed.
fn size_table(rows: &[ReportRow<'_>]) -> String {
    let mut out = String::from(
        "## Size on disk\n\nThe repository after `svnadmin load` and after `svnadmin pack` of each implementation, MiB.\n\n\
         | format | job | Sven | Subversion | Sven / Subversion |\n|---|---|---:|---:|---:|\n",
    );
    for format in Format::value_variants().iter().map(|format| word(*format)) {
        for job in [Job::Load, Job::Pack] {
            let is_of = |row: &&ReportRow<'_>| row.job() == word(job) && row.parts[1] == format;
            // The size does not depend on the other conditions.
            let sizes = rows.iter().filter(is_of).find_map(|row| {
                let of = |runs: &Runs| runs.known_median(|cost| cost.stored);
                Some([of(row.sven)?, of(row.subversion)?].map(|bytes| bytes / f64::from(1 << 20)))
            });
            if let Some([ours, theirs]) = sizes {
                let (title, ratio) = (job.title(), ours / theirs.max(1e-6));
                _ = writeln!(
                    out,
                    "| {format} | {title} | {ours:.2} | {theirs:.2} | {ratio:.2} |"
                );
            }
        }
    }
    out.push('\n');
    out
}

fn compression_table(results: &Results) -> String {
    let mut out = String::from(
        "## LZ4 and zlib\n\nThe same content, imported into an empty repository of format 8 and exported again over file://, stored with each method.\n\n\
         | content | method | import s Sven / Subversion | ratio | export s Sven / Subversion | ratio | MiB on disk Sven / Subversion |\n|---|---|---:|---:|---:|---:|---:|\n",
    );
    for (content, title) in compression::CONTENTS {
        for method in compression::METHODS {
            let runs = |job: &str| -> Option<[&Runs; 2]> {
                let row = compression::row(content, method, job);
                let of = |side: Implementation| results.get(&(row.clone(), side.name().to_owned()));
                let [ours, theirs] = compression::SIDES.map(of);
                Some([ours?, theirs?])
            };
            let (Some(import), Some(export)) = (runs("import"), runs("export")) else {
                continue;
            };
            let times = |[ours, theirs]: [&Runs; 2]| {
                let (ours, theirs) = (wall(ours), wall(theirs));
                let ratio = theirs / ours.max(1e-4);
                let lost = if ratio < 1.0 { " **(slower)**" } else { "" };
                format!("{ours:.2} / {theirs:.2} | {ratio:.2}{lost}")
            };
            let [ours, theirs] = import
                .map(|runs| runs.known_median(|cost| cost.stored).unwrap_or(f64::NAN) / f64::from(1 << 20));
            _ = writeln!(
                out,
                "| {title} | {method} | {} | {} | {ours:.1} / {theirs:.1} |",
                times(import),
                times(export)
            );
        }
    }
    out.push('\n');
    out
}

fn flat_table(results: &Results) -> String {
    let mut out = String::from(
        "## Flat and compressed\n\nCold reads of one source tree, stored without compression and with it, each in two copies (A and B) that were made in the same way; \
         the order of reads is another one in each round. The difference of A and B is the error of the layout on the disk. Mean and standard deviation, seconds.\n\n\
         | method | reader | program | A | B | difference of A and B |\n|---|---|---|---:|---:|---:|\n",
    );
    for method in flat::METHODS {
        for reader in flat::READERS {
            for side in compression::SIDES {
                let copies = flat::COPIES
                    .map(|copy| results.get(&(flat::row(method, copy, reader), side.name().to_owned())));
                let [Some(a), Some(b)] = copies else {
                    continue;
                };
                let (a, b) = (mean_and_deviation(a), mean_and_deviation(b));
                let program = if reader == "bytes" { "cat" } else { side.name() };
                let difference = 100.0 * (b.0 / a.0.max(1e-6) - 1.0);
                _ = writeln!(
                    out,
                    "| {method} | {reader} | {program} | {:.3} ± {:.3} | {:.3} ± {:.3} | {difference:+.0} % |",
                    a.0, a.1, b.0, b.1
                );
            }
        }
    }
    out.push('\n');
    out
}

/// Returns the mean of the wall times and their standard deviation.
fn mean_and_deviation(runs: &Runs) -> (f64, f64) {
    let times: Vec<f64> = runs.costs.iter().map(|cost| cost.wall).collect();
    let count = times.len().max(1) as f64;
    let mean = times.iter().sum::<f64>() / count;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(wall: f64) -> Runs {
        Runs {
            costs: vec![Cost {
                wall,
                ..Cost::default()
            }],
            is_busy: false,
        }
    }

    #[test]
    fn lost_cells_are_marked_and_formats_compared() {
        let mut results = Results::new();
        for (format, ours, theirs) in [("6", 1.0, 3.0), ("8", 2.0, 1.0)] {
            let row = format!("dump/{format}/unpacked/256/file/ram/hot");
            results.insert((row.clone(), "sven".to_owned()), runs(ours));
            results.insert((row, "subversion".to_owned()), runs(theirs));
        }
        let rows = ReportRow::all(&results);
        let table = job_table(Job::Dump, &rows);
        assert!(
            table.contains(
                "| 8 | unpacked | 256 | file | ram | hot | 2.000 | 1.000 | – | 0.50 **(slower)** |"
            ),
            "{table}"
        );
        let summary = summary(&rows);
        assert!(
            summary.contains("| svnadmin dump | 2 | 1.22 | 0.50 | 3.00 | 1 |"),
            "{summary}"
        );
        let formats = by_dimension(&rows, "Formats", "", 1, &["7", "8"], "6");
        assert!(
            formats.contains("| svnadmin dump | – | – | 2.00 | 0.33 |"),
            "{formats}"
        );
    }
}
