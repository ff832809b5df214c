//! The results in a file: one line of JSON for each row and implementation, written when a row is complete.
//!
//! The first line describes the run: machine, versions, workload. A run that is started again with the same description continues behind
//! the rows that the file has.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::cell::Implementation;
use super::measure::Cost;
use crate::cells::median;

/// The runs of one implementation in one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    /// The cost of each run, in their order.
    pub costs: Vec<Cost>,
    /// Other programs used so much time that the figures may be wrong.
    pub is_busy: bool,
}

impl Runs {
    /// Returns the median of a figure.
    pub fn median(&self, figure: impl Fn(&Cost) -> f64) -> f64 {
        median(self.costs.iter().map(figure).collect())
    }

    /// Returns the median of a figure that the kernel may not tell.
    pub fn known_median(&self, figure: impl Fn(&Cost) -> Option<f64>) -> Option<f64> {
        let known: Option<Vec<f64>> = self.costs.iter().map(figure).collect();
        known.map(median)
    }
}

/// All results, by the identifier of the row and the name of the implementation.
pub type Results = BTreeMap<(String, String), Runs>;

/// The file.
pub struct Store {
    path: PathBuf,
    /// What has been measured so far.
    pub results: Results,
}

impl Store {
    /// Opens the file, and continues it if it is about the same description.
    ///
    /// # Errors
    /// If it cannot be read or written, or if it is about another description.
    pub fn open(path: &Path, description: &Value, is_fresh: bool) -> Result<Store, String> {
        let mut store = Store {
            path: path.to_owned(),
            results: Results::new(),
        };
        let text = match fs::read_to_string(path) {
            Ok(text) if !is_fresh => text,
            _ => {
                let line = format!("{description}\n");
                let folder = path.parent().unwrap_or(Path::new("."));
                let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, line));
                return written
                    .map(|()| store)
                    .map_err(|e| format!("{}: {e}", path.display()));
            }
        };
        let mut lines = text.lines();
        let first: Option<Value> = lines.next().and_then(|line| serde_json::from_str(line).ok());
        if first.as_ref() != Some(description) {
            return Err(format!(
                "{}: made on another machine, with other programs or another workload; --fresh begins again",
                path.display()
            ));
        }
        if !text.ends_with('\n') {
            // The machine stopped within a line.
            store.append("\n")?;
        }
        let records = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        store.results = records.filter_map(|record| parse(&record)).collect();
        Ok(store)
    }

    /// True if a row has been measured with an implementation.
    pub fn has(&self, row: &str, implementation: Implementation) -> bool {
        self.results
            .contains_key(&(row.to_owned(), implementation.name().to_owned()))
    }

    /// Adds the runs of a row.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, row: &str, implementation: Implementation, runs: Runs) -> Result<(), String> {
        self.append(&format!("{}\n", record(row, implementation.name(), &runs)))?;
        let key = (row.to_owned(), implementation.name().to_owned());
        self.results.insert(key, runs);
        Ok(())
    }

    fn append(&self, text: &str) -> Result<(), String> {
        let file = fs::OpenOptions::new().append(true).open(&self.path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| format!("{}: {e}", self.path.display()))
    }
}

fn record(row: &str, implementation: &str, runs: &Runs) -> Value {
    let costs: Vec<Value> = runs
        .costs
        .iter()
        .map(|cost| {
            json!({
                "wall": cost.wall, "client_cpu": cost.client_cpu, "server_cpu": cost.server_cpu,
                "bytes": cost.bytes, "calls": cost.calls, "stored": cost.stored,
            })
        })
        .collect();
    json!({ "row": row, "implementation": implementation, "busy": runs.is_busy, "runs": costs })
}

fn parse(record: &Value) -> Option<((String, String), Runs)> {
    let text = |name: &str| record.get(name)?.as_str().map(str::to_owned);
    let costs = record.get("runs")?.as_array()?.iter().map(|cost| {
        let number = |name: &str| cost.get(name).and_then(Value::as_f64);
        Some(Cost {
            wall: number("wall")?,
            client_cpu: number("client_cpu")?,
            server_cpu: number("server_cpu")?,
            bytes: number("bytes"),
            calls: number("calls"),
            stored: number("stored"),
        })
    });
    let runs = Runs {
        costs: costs.collect::<Option<Vec<Cost>>>()?,
        is_busy: record.get("busy")?.as_bool()?,
    };
    Some(((text("row")?, text("implementation")?), runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_continues_and_another_one_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/matrix.jsonl");
        let about = json!({ "machine": "a" });
        let mut store = Store::open(&path, &about, false).expect("a new file");
        let runs = Runs {
            costs: vec![Cost {
                wall: 0.5,
                calls: Some(3.0),
                ..Cost::default()
            }],
            is_busy: true,
        };
        store
            .add("dump/8", Implementation::Sven, runs.clone())
            .expect("a writable file");
        let mut file = fs::OpenOptions::new().append(true).open(&path).expect("the file");
        file.write_all(b"{\"row\": \"half").expect("a writable file");

        let mut store = Store::open(&path, &about, false).expect("the same run");
        store
            .add("load/8", Implementation::Sven, runs.clone())
            .expect("a writable file");
        let store = Store::open(&path, &about, false).expect("the same run");
        assert!(store.has("load/8", Implementation::Sven));
        let key = ("dump/8".to_owned(), "sven".to_owned());
        assert_eq!(store.results.get(&key), Some(&runs));
        assert!(
            store.has("dump/8", Implementation::Sven) && !store.has("dump/8", Implementation::Subversion)
        );
        assert!(Store::open(&path, &json!({ "machine": "b" }), false).is_err());
        assert!(Store::open(&path, &json!({ "machine": "b" }), true).is_ok());
    }
}
