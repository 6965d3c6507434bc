//! Trains a learner on a table, once for every run.

use serde::Serialize;

use super::order::RowOrder;
use super::table::ClipTable;
use crate::learner::{BaseModel, Learner, LearnerError, LearnerOptions, ModelComparison, QualityMetrics};

/// The result of one order with one decay of the moving average.
#[derive(Debug, Serialize)]
pub(super) struct TrialResult {
    pub(super) order: String,
    /// `None` if the average is off.
    pub(super) ema: Option<f64>,
    /// Number of rows that the learner refused.
    pub(super) refused: u64,
    /// Means over all runs.
    pub(super) model: TrialMetrics,
    /// Means over all runs.
    pub(super) base: TrialMetrics,
    pub(super) runs: Vec<TrialRun>,
}

#[derive(Debug, Serialize)]
pub(super) struct TrialRun {
    pub(super) model: TrialMetrics,
    pub(super) base: TrialMetrics,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct TrialMetrics {
    pub(super) rmse: f64,
    pub(super) plcc: Option<f64>,
    pub(super) srocc: Option<f64>,
}

pub(super) fn run(
    base: &BaseModel,
    options: &LearnerOptions,
    order: &RowOrder,
    table: &ClipTable,
    runs: &[Vec<usize>],
) -> Result<TrialResult, LearnerError> {
    let (mut results, mut refused) = (Vec::new(), 0);
    for (seed, rows) in (0..).zip(runs) {
        let mut learner = Learner::new(base.clone(), LearnerOptions { seed, ..*options })?;
        for &row in rows {
            let clip = &table.rows[row];
            // The learner counts refusals, and the report states their number.
            let _ = learner.learn_row(&row.to_string(), &clip.features, clip.label);
        }
        refused = learner.refused().map(|(_, count)| count).sum();
        let ModelComparison { model, base } = learner.evaluation().all;
        results.push(TrialRun { model: TrialMetrics::of(&model), base: TrialMetrics::of(&base) });
    }
    let mean = |side: fn(&TrialRun) -> TrialMetrics| {
        TrialMetrics::mean(&results.iter().map(side).collect::<Vec<_>>())
    };
    Ok(TrialResult {
        order: order.to_string(),
        ema: (options.ema > 0.0).then_some(options.ema),
        refused,
        model: mean(|run| run.model),
        base: mean(|run| run.base),
        runs: results,
    })
}

impl TrialMetrics {
    fn of(metrics: &QualityMetrics) -> Self {
        Self { rmse: metrics.rmse, plcc: metrics.plcc, srocc: metrics.srocc }
    }

    #[expect(clippy::cast_precision_loss, reason = "a thousand runs at most")]
    fn mean(all: &[Self]) -> Self {
        let count = all.len().max(1) as f64;
        let mean =
            |of: fn(&Self) -> Option<f64>| all.iter().map(of).sum::<Option<f64>>().map(|sum| sum / count);
        Self {
            rmse: mean(|metrics| Some(metrics.rmse)).unwrap_or_default(),
            plcc: mean(|metrics| metrics.plcc),
            srocc: mean(|metrics| metrics.srocc),
        }
    }
}
