//! The figures, for people and for programs.

use std::fmt::Write as _;

use serde_json::json;

use super::table::Table;
use super::trial::{Figures, Line};
use crate::learner::BaseModel;

const HEADER: [&str; 10] =
    ["ORDER", "EMA", "RMSE", "±", "PLCC", "SROCC", "BASE RMSE", "BASE PLCC", "BASE SROCC", "RMSE CHANGE"];

/// A table, with what it was made of above it.
pub(super) fn table(base: &BaseModel, table: &Table, lines: &[Line]) -> String {
    let mut text = format!(
        "{} on {} clips ({}), each predicted first and learned from then\n\n",
        base.name(),
        table.rows.len(),
        table.scale.about()
    );
    let cells: Vec<[String; 10]> =
        std::iter::once(HEADER.map(str::to_owned)).chain(lines.iter().map(cells)).collect();
    for row in &cells {
        for (column, cell) in row.iter().enumerate() {
            let width = cells.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
            // Names to the left, numbers to the right.
            let _ = match column {
                0 => write!(text, "{cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    let refused = lines.iter().map(|line| line.refused).max().unwrap_or_default();
    if refused > 0 {
        let _ = writeln!(text, "\n{refused} of {} clips were refused", table.rows.len());
    }
    text
}

/// All figures, those of every seed too.
pub(super) fn json(base: &BaseModel, table: &Table, lines: &[Line]) -> String {
    let document = json!({
        "model": base.name(),
        "digest": base.digest(),
        "clips": table.rows.len(),
        "results": lines,
    });
    format!("{document:#}\n")
}

fn cells(line: &Line) -> [String; 10] {
    let order = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
    let Figures { rmse, plcc, srocc } = line.model;
    [
        line.order.clone(),
        line.ema.map_or_else(|| "off".to_owned(), |ema| ema.to_string()),
        format!("{rmse:.2}"),
        format!("{:.2}", spread(line)),
        order(plcc),
        order(srocc),
        format!("{:.2}", line.base.rmse),
        order(line.base.plcc),
        order(line.base.srocc),
        format!("{:+.1} %", (rmse / line.base.rmse - 1.0) * 100.0),
    ]
}

/// The standard deviation of the RMSE over the seeds.
#[expect(clippy::cast_precision_loss, reason = "a thousand runs at most")]
fn spread(line: &Line) -> f64 {
    let squares: f64 = line.runs.iter().map(|run| (run.model.rmse - line.model.rmse).powi(2)).sum();
    (squares / line.runs.len().max(1) as f64).sqrt()
}
