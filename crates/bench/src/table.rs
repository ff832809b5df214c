//! Formats the table.

use std::fmt::Write as _;

use crate::cells::{TableCell, median, spread};
use crate::machine::Machine;
use crate::measure::RunCost;

/// Returns the table as Markdown, one row for each cell. A cell in which Sven is slower is marked.
pub fn markdown(cells: &[TableCell], heading: &str) -> String {
    let mut out = format!("{heading}\n\n");
    // Only tables of clients have it.
    let has_servers = cells
        .iter()
        .any(|cell| middle(&cell.ours, |c| c.server_cpu) > 0.0);
    let mut columns = vec![
        ("job", "---"),
        ("rival", "---"),
        ("Sven wall s (min–max)", "---:"),
        ("rival wall s (min–max)", "---:"),
        ("wall ratio", "---:"),
        ("goal", "---:"),
        ("CPU s Sven / rival", "---:"),
        ("CPU ratio", "---:"),
        ("CPU goal", "---:"),
        ("peak MiB Sven / rival", "---:"),
        ("page faults Sven / rival", "---:"),
        ("load average", "---"),
    ];
    if has_servers {
        columns.push(("server CPU s with Sven / rival", "---:"));
    }
    let (names, rules): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    // Writing to a string cannot fail.
    _ = writeln!(out, "| {} |\n|{}|", names.join(" | "), rules.join("|"));
    for cell in cells {
        let mut row = row(cell);
        if has_servers {
            row.push(pair(cell, |c| c.server_cpu, 2));
        }
        _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out
}

fn row(cell: &TableCell) -> Vec<String> {
    let wall_ratio = cell.ratio(|c| c.wall);
    let lost = if wall_ratio < 1.0 { " **(slower)**" } else { "" };
    vec![
        cell.job.clone(),
        cell.rival.to_owned(),
        wall(&cell.ours),
        wall(&cell.theirs),
        format!("{wall_ratio:.2}{lost}"),
        verdict(cell.goal.wall, Some(wall_ratio)),
        pair(cell, |c| c.cpu, 2),
        cell.cpu_ratio()
            .map_or_else(|| "too short".to_owned(), |ratio| format!("{ratio:.2}")),
        verdict(cell.goal.cpu, cell.cpu_ratio()),
        pair(cell, |c| c.memory, 0),
        pair(cell, |c| c.faults, 0),
        cell.surroundings.text(),
    ]
}

fn pair(cell: &TableCell, figure: fn(&RunCost) -> f64, digits: usize) -> String {
    let (ours, theirs) = (middle(&cell.ours, figure), middle(&cell.theirs, figure));
    format!("{ours:.digits$} / {theirs:.digits$}")
}

fn verdict(goal: Option<f64>, ratio: Option<f64>) -> String {
    match (goal, ratio) {
        (Some(goal), Some(ratio)) if ratio >= goal => format!("≥ {goal} met"),
        (Some(goal), Some(_)) => format!("≥ {goal} **missed**"),
        (Some(goal), None) => format!("≥ {goal}"),
        (None, _) => "–".to_owned(),
    }
}

/// Returns the machine and all runs of the cells as JSON, so that other tables can be made of them.
pub fn json(machine: &Machine, cells: &[TableCell]) -> serde_json::Value {
    let runs = |costs: &[RunCost]| -> Vec<serde_json::Value> {
        let run = |c: &RunCost| serde_json::json!({"wall": c.wall, "cpu": c.cpu, "memory_mib": c.memory, "page_faults": c.faults, "server_cpu": c.server_cpu});
        costs.iter().map(run).collect()
    };
    let cell = |c: &TableCell| {
        serde_json::json!({
            "job": c.job, "rival": c.rival, "goal": c.goal.wall, "cpu_goal": c.goal.cpu,
            "ours": runs(&c.ours), "theirs": runs(&c.theirs),
            "wall_ratio": c.ratio(|c| c.wall), "cpu_ratio": c.cpu_ratio(),
            "load_average": [c.surroundings.load.0, c.surroundings.load.1], "busy": c.surroundings.is_busy(),
            "others_cpu": c.surroundings.others, "stolen_cpu": c.surroundings.stolen, "cell_wall": c.surroundings.wall,
        })
    };
    let cells: Vec<_> = cells.iter().map(cell).collect();
    serde_json::json!({"machine": machine.json(), "cells": cells})
}

fn wall(costs: &[RunCost]) -> String {
    let (low, high) = spread(costs.iter().map(|c| c.wall));
    format!("{:.3} ({low:.3}–{high:.3})", middle(costs, |c| c.wall))
}

fn middle(costs: &[RunCost], figure: impl Fn(&RunCost) -> f64) -> f64 {
    median(costs.iter().map(figure).collect())
}
