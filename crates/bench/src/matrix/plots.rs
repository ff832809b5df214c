//! Draws the ratios of each job as a range with its geometric mean. Right of the line at 1 Sven is faster.

use plotters::prelude::*;

use crate::cells::{geometric_mean, spread};

/// Returns an SVG with a line for each name: from the lowest to the highest ratio, on a logarithmic scale.
///
/// # Errors
/// If the drawing fails.
pub fn ratios(rows: &[(String, Vec<f64>)]) -> Result<String, String> {
    let height = 80 + 24 * rows.len() as u32;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (980, height)).into_drawing_area();
        draw(&root, rows, height).map_err(|e| format!("the plot: {e}"))?;
    }
    Ok(svg)
}

/// The scale reaches from this ratio to its inverse.
const LOWEST: f64 = 1.0 / 64.0;

fn draw(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    rows: &[(String, Vec<f64>)],
    height: u32,
) -> Result<(), Box<dyn std::error::Error>> {
    root.fill(&WHITE)?;
    let x = |ratio: f64| {
        let part = (ratio.clamp(LOWEST, 1.0 / LOWEST) / LOWEST).ln() / (1.0 / (LOWEST * LOWEST)).ln();
        (400.0 + part * 560.0) as i32
    };
    let text = ("sans-serif", 13).into_font().color(&BLACK);
    let title = "Subversion's wall time divided by Sven's: lowest, geometric mean, highest of all cells";
    root.draw_text(title, &("sans-serif", 15).into_font().color(&BLACK), (10, 10))?;
    for ratio in [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0] {
        let colour = if ratio == 1.0 {
            BLACK
        } else {
            RGBColor(220, 220, 220)
        };
        root.draw(&PathElement::new(
            [(x(ratio), 52), (x(ratio), height as i32 - 10)],
            colour,
        ))?;
        root.draw_text(&ratio.to_string(), &text, (x(ratio) - 6, 34))?;
    }
    for (at, (name, ratios)) in rows.iter().enumerate() {
        let y = 64 + 24 * at as i32;
        let (low, high) = spread(ratios.iter().copied());
        let mean = geometric_mean(ratios);
        let colour = if low >= 1.0 {
            RGBColor(46, 125, 50)
        } else {
            RGBColor(198, 40, 40)
        };
        root.draw_text(name, &text, (10, y - 6))?;
        root.draw(&Rectangle::new(
            [(x(low), y - 2), (x(high), y + 2)],
            colour.filled(),
        ))?;
        root.draw(&Circle::new((x(mean), y), 5, colour.filled()))?;
    }
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_row_is_named() {
        let svg = super::ratios(&[("svn list".to_owned(), vec![0.5, 8.0])]).expect("a drawing");
        assert!(svg.contains("svn list"));
    }
}
