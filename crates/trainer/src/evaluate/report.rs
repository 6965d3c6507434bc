use std::fmt::Write as _;

use serde_json::json;

use super::table::ClipTable;
use super::trial::{TrialMetrics, TrialResult};
use crate::learner::BaseModel;

const HEADER: [&str; 10] =
    ["ORDER", "EMA", "RMSE", "±", "PLCC", "SROCC", "BASE RMSE", "BASE PLCC", "BASE SROCC", "RMSE CHANGE"];

pub(super) fn table(base: &BaseModel, table: &ClipTable, results: &[TrialResult]) -> String {
    let mut text = format!(
        "{} on {} clips ({}), each predicted before it was learned from\n\n",
        base.name(),
        table.rows.len(),
        table.scale.description()
    );
    let cells: Vec<[String; 10]> =
        std::iter::once(HEADER.map(str::to_owned)).chain(results.iter().map(cells)).collect();
    for row in &cells {
        for (column, cell) in row.iter().enumerate() {
            let width = cells.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
            // Names are left-aligned, numbers right-aligned.
            let _ = match column {
                0 => write!(text, "{cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    let refused = results.iter().map(|result| result.refused).max().unwrap_or_default();
    if refused > 0 {
        let _ = writeln!(text, "\n{refused} of {} clips were refused", table.rows.len());
    }
    text
}

pub(super) fn json(base: &BaseModel, table: &ClipTable, results: &[TrialResult]) -> String {
    let document = json!({
        "model": base.name(),
        "digest": base.digest(),
        "clips": table.rows.len(),
        "results": results,
    });
    format!("{document:#}\n")
}

fn cells(result: &TrialResult) -> [String; 10] {
    let correlation =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
    let TrialMetrics { rmse, plcc, srocc } = result.model;
    [
        result.order.clone(),
        result.ema.map_or_else(|| "off".to_owned(), |ema| ema.to_string()),
        format!("{rmse:.2}"),
        format!("{:.2}", rmse_deviation(result)),
        correlation(plcc),
        correlation(srocc),
        format!("{:.2}", result.base.rmse),
        correlation(result.base.plcc),
        correlation(result.base.srocc),
        format!("{:+.1} %", (rmse / result.base.rmse - 1.0) * 100.0),
    ]
}

/// Standard deviation of the RMSE over the seeds.
#[expect(clippy::cast_precision_loss, reason = "a thousand runs at most")]
fn rmse_deviation(result: &TrialResult) -> f64 {
    let squares: f64 = result.runs.iter().map(|run| (run.model.rmse - result.model.rmse).powi(2)).sum();
    (squares / result.runs.len().max(1) as f64).sqrt()
}
