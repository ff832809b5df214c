//! Which rows are measured, in which order.
//!
//! Rows of one repository follow each other, so that no repository is copied twice to the same medium.

use clap::{Args, ValueEnum};

use super::cell::{Access, Format, Job, Medium, Row, Temperature};

/// The chosen values of each dimension.
#[derive(Args, Clone, Debug)]
pub struct Dimensions {
    /// Jobs (default: all)
    #[arg(long, value_delimiter = ',')]
    jobs: Vec<Job>,
    /// Formats of repositories: of FSFS by number, and FSX (default: all)
    #[arg(long, value_delimiter = ',')]
    formats: Vec<Format>,
    /// Caches of tools and servers, in MiB: 16 is slow, 256 medium, 1024 fast
    #[arg(long, value_delimiter = ',', default_value = "16,256,1024")]
    caches: Vec<u32>,
    /// Ways to reach the repository (default: all)
    #[arg(long, value_delimiter = ',')]
    access: Vec<Access>,
    /// Where repositories are (default: both)
    #[arg(long, value_delimiter = ',')]
    media: Vec<Medium>,
    /// What is in memory before a run (default: both)
    #[arg(long, value_delimiter = ',')]
    temperatures: Vec<Temperature>,
}

/// Returns the chosen values, or all.
fn chosen<T: ValueEnum + Copy>(values: &[T]) -> Vec<T> {
    if values.is_empty() {
        T::value_variants().to_vec()
    } else {
        values.to_vec()
    }
}

impl Dimensions {
    /// Returns the rows. With `is_quick`, a selection that takes minutes: one cache, the RAM disk with a warm cache for all formats, and
    /// the disk with a cold one for format 8 and FSX.
    pub fn rows(&self, is_quick: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        for medium in chosen(&self.media) {
            for format in chosen(&self.formats) {
                for is_packed in [false, true] {
                    for temperature in chosen(&self.temperatures) {
                        let quick = match temperature {
                            Temperature::Hot => medium == Medium::Ram,
                            Temperature::Cold => medium == Medium::Disk && format >= Format::Fsfs8,
                        };
                        if is_quick && !quick {
                            continue;
                        }
                        for &cache in &self.caches {
                            if !is_quick || cache == 256 {
                                let at = Conditions {
                                    format,
                                    is_packed,
                                    cache,
                                    medium,
                                    temperature,
                                };
                                self.add_jobs(&mut rows, at);
                            }
                        }
                    }
                }
            }
        }
        rows
    }

    fn add_jobs(&self, rows: &mut Vec<Row>, at: Conditions) {
        for job in chosen(&self.jobs) {
            let accesses = if job.is_administration() {
                vec![Access::File]
            } else {
                chosen(&self.access)
            };
            for access in accesses {
                let row = Row {
                    job,
                    access,
                    format: at.format,
                    is_packed: at.is_packed,
                    cache: at.cache,
                    medium: at.medium,
                    temperature: at.temperature,
                };
                if is_meaningful(&row) {
                    rows.push(row);
                }
            }
        }
    }
}

/// Everything but the job and the access.
#[derive(Clone, Copy)]
struct Conditions {
    format: Format,
    is_packed: bool,
    cache: u32,
    medium: Medium,
    temperature: Temperature,
}

/// A packed repository cannot be packed, and a load and an import write into a repository that was never packed.
fn is_meaningful(row: &Row) -> bool {
    match row.job {
        Job::Pack => !row.is_packed,
        Job::Load | Job::Import => !row.is_packed && row.temperature == Temperature::Hot,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        dimensions: Dimensions,
    }

    fn rows(line: &str, is_quick: bool) -> Vec<Row> {
        let words = std::iter::once("matrix").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).expect("valid options");
        line.dimensions.rows(is_quick)
    }

    #[test]
    fn all_dimensions_are_multiplied_but_for_impossible_rows() {
        let all = rows("", false);
        let of = |job| all.iter().filter(|row| row.job == job).count();
        let conditions = 4 * 2 * 3 * 2 * 2;
        assert_eq!((of(Job::Dump), of(Job::NullLog)), (conditions, conditions * 3));
        assert_eq!((of(Job::Pack), of(Job::Load)), (conditions / 2, conditions / 4));
        let quick = rows("", true);
        assert!(quick.iter().all(|row| all.contains(row)));
        assert!(quick.len() * 7 < all.len());
        let fsx = rows("--formats fsx --jobs pack,null-log", false);
        assert!(
            fsx.iter()
                .any(|row| row.to_string() == "pack/fsx/unpacked/16/file/ram/hot")
        );
        assert!(fsx.iter().all(|row| row.implementations().len() == 2));
        assert_eq!(
            rows("--jobs dump --formats 8 --caches 16 --media ram", false).len(),
            4
        );
    }

    #[test]
    fn identifiers_are_unique() {
        let mut names: Vec<String> = rows("", false).iter().map(Row::to_string).collect();
        assert!(names.contains(&"null-log/8/packed/256/svn/disk/cold".to_owned()));
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
