//! Formats the table.

use std::fmt::Write as _;

use crate::cells::{TableCell, median, spread};
use crate::measure::RunCost;

/// Returns the table as Markdown, one row for each cell. A cell in which Sven is slower is marked.
pub fn markdown(cells: &[TableCell], heading: &str) -> String {
    let mut out = format!("{heading}\n\n");
    out.push_str("| job | rival | Sven wall s (min–max) | rival wall s (min–max) | wall ratio | goal | CPU s Sven / rival | CPU ratio | peak MiB Sven / rival |\n");
    out.push_str("|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for cell in cells {
        let ratio = cell.ratio(|c| c.wall);
        let verdict = match cell.goal {
            Some(goal) if ratio >= goal => format!("≥ {goal} met"),
            Some(goal) => format!("≥ {goal} **missed**"),
            None => "–".to_owned(),
        };
        let lost = if ratio < 1.0 { " **(slower)**" } else { "" };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {ratio:.2}{lost} | {verdict} | {:.2} / {:.2} | {:.2} | {:.0} / {:.0} |",
            cell.job,
            cell.rival,
            wall(&cell.ours),
            wall(&cell.theirs),
            middle(&cell.ours, |c| c.cpu),
            middle(&cell.theirs, |c| c.cpu),
            cell.ratio(|c| c.cpu),
            middle(&cell.ours, |c| c.memory),
            middle(&cell.theirs, |c| c.memory),
        );
    }
    out
}

/// Returns all runs of the cells as JSON, so that other tables can be made of them.
pub fn json(cells: &[TableCell]) -> serde_json::Value {
    let runs = |costs: &[RunCost]| -> Vec<serde_json::Value> {
        let run = |c: &RunCost| serde_json::json!({"wall": c.wall, "cpu": c.cpu, "memory_mib": c.memory});
        costs.iter().map(run).collect()
    };
    let cell = |c: &TableCell| {
        serde_json::json!({
            "job": c.job, "rival": c.rival, "goal": c.goal,
            "ours": runs(&c.ours), "theirs": runs(&c.theirs),
            "wall_ratio": c.ratio(|c| c.wall), "cpu_ratio": c.ratio(|c| c.cpu),
        })
    };
    serde_json::Value::Array(cells.iter().map(cell).collect())
}

fn wall(costs: &[RunCost]) -> String {
    let (low, high) = spread(costs.iter().map(|c| c.wall));
    format!("{:.3} ({low:.3}–{high:.3})", middle(costs, |c| c.wall))
}

fn middle(costs: &[RunCost], figure: impl Fn(&RunCost) -> f64) -> f64 {
    median(costs.iter().map(figure).collect())
}
