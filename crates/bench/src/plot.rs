//! Draws the ratios as bars. Right of the line at 1 Sven is faster.

use plotters::prelude::*;

use crate::cells::TableCell;

/// Returns an SVG with one bar for each cell.
///
/// # Errors
/// If the drawing fails.
pub fn ratios(cells: &[TableCell]) -> Result<String, String> {
    let height = 60 + 26 * cells.len() as u32;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (900, height)).into_drawing_area();
        draw(&root, cells, height).map_err(|e| format!("the plot: {e}"))?;
    }
    Ok(svg)
}

fn draw(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    cells: &[TableCell],
    height: u32,
) -> Result<(), Box<dyn std::error::Error>> {
    root.fill(&WHITE)?;
    let ratios: Vec<f64> = cells.iter().map(|c| c.ratio(|c| c.wall)).collect();
    let widest = ratios.iter().copied().fold(2.0, f64::max) * 1.1;
    let (left, width) = (430.0, 420.0);
    let x = |ratio: f64| (left + ratio / widest * width) as i32;
    let text = ("sans-serif", 13).into_font().color(&BLACK);
    let title = "wall time of the rival divided by ours (more is better)";
    root.draw_text(title, &("sans-serif", 15).into_font().color(&BLACK), (10, 10))?;
    for (at, (cell, ratio)) in cells.iter().zip(&ratios).enumerate() {
        let y = 40 + 26 * at as i32;
        let colour = if *ratio >= 1.0 {
            RGBColor(46, 125, 50)
        } else {
            RGBColor(198, 40, 40)
        };
        root.draw(&Rectangle::new(
            [(x(0.0), y), (x(*ratio), y + 16)],
            colour.filled(),
        ))?;
        root.draw_text(&format!("{}, {}", cell.job, cell.rival), &text, (10, y + 2))?;
        root.draw_text(&format!("{ratio:.2}"), &text, (x(*ratio) + 6, y + 2))?;
    }
    root.draw(&PathElement::new(
        [(x(1.0), 34), (x(1.0), height as i32 - 10)],
        BLACK,
    ))?;
    root.present()?;
    Ok(())
}
