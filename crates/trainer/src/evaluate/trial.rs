//! A learner that goes over a table, once for every run.

use serde::Serialize;

use super::order::Order;
use super::table::Table;
use crate::learner::{BaseModel, Learner, LearnerError, Metrics, Options, Pair};

/// What came of one order with one average.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    pub(super) order: String,
    /// The share that stays; nothing where the average is off.
    pub(super) ema: Option<f64>,
    /// Rows that the learner refused.
    pub(super) refused: u64,
    pub(super) model: Figures,
    pub(super) base: Figures,
    pub(super) runs: Vec<Run>,
}

/// One run.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    pub(super) model: Figures,
    pub(super) base: Figures,
}

/// The figures of a run, or their means.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Figures {
    pub(super) rmse: f64,
    pub(super) plcc: Option<f64>,
    pub(super) srocc: Option<f64>,
}

/// Tries all runs of an order.
pub(super) fn line(
    base: &BaseModel,
    options: &Options,
    order: &Order,
    table: &Table,
    runs: &[Vec<usize>],
) -> Result<Line, LearnerError> {
    let (mut done, mut refused) = (Vec::new(), 0);
    for (seed, rows) in (0..).zip(runs) {
        let mut learner = Learner::new(base.clone(), Options { seed, ..*options })?;
        for &row in rows {
            let one = &table.rows[row];
            // Counted, and told in the end.
            let _ = learner.learn_row(&row.to_string(), &one.features, one.label);
        }
        refused = learner.refused().map(|(_, count)| count).sum();
        let Pair { model, base } = learner.evaluation().all;
        done.push(Run { model: Figures::of(&model), base: Figures::of(&base) });
    }
    let mean = |side: fn(&Run) -> Figures| Figures::mean(&done.iter().map(side).collect::<Vec<_>>());
    Ok(Line {
        order: order.to_string(),
        ema: (options.ema > 0.0).then_some(options.ema),
        refused,
        model: mean(|run| run.model),
        base: mean(|run| run.base),
        runs: done,
    })
}

impl Figures {
    fn of(metrics: &Metrics) -> Self {
        Self { rmse: metrics.rmse, plcc: metrics.plcc, srocc: metrics.srocc }
    }

    #[expect(clippy::cast_precision_loss, reason = "a thousand runs at most")]
    fn mean(all: &[Self]) -> Self {
        let count = all.len().max(1) as f64;
        let mean =
            |of: fn(&Self) -> Option<f64>| all.iter().map(of).sum::<Option<f64>>().map(|sum| sum / count);
        Self {
            rmse: mean(|figures| Some(figures.rmse)).unwrap_or_default(),
            plcc: mean(|figures| figures.plcc),
            srocc: mean(|figures| figures.srocc),
        }
    }
}
