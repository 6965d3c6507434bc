//! The promotion gate: whether the stable tag may move to a model.
//!
//! The gate compares the exported weights with the base model on the held-out set, from which the model never learned.
//! Two conditions must hold: SROCC is not much lower than the base model's, and RMSE is not higher.

use super::evaluation::ModelComparison;

/// Size of the held-out set below which the gate does not pass: a rank correlation of fewer samples means nothing.
pub const MIN_HELD_OUT: u64 = 10;

/// Limits relative to the base model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateLimits {
    /// By how much SROCC may be lower.
    pub max_srocc_drop: f64,
    /// By which factor RMSE may be higher.
    pub max_rmse_ratio: f64,
}

impl Default for GateLimits {
    fn default() -> Self {
        Self { max_srocc_drop: 0.005, max_rmse_ratio: 1.0 }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct GateVerdict {
    pub passed: bool,
    /// The compared numbers.
    pub message: String,
    pub held_out: ModelComparison,
}

pub(super) fn evaluate(limits: &GateLimits, held_out: ModelComparison) -> GateVerdict {
    let (model, base) = (&held_out.model, &held_out.base);
    let count = model.count;
    if count < MIN_HELD_OUT {
        let message = format!("{count} of {MIN_HELD_OUT} held-out samples so far");
        return GateVerdict { passed: false, message, held_out };
    }
    let max_rmse = base.rmse * limits.max_rmse_ratio;
    // The base model's SROCC is undefined if all labels are equal; then there is no limit.
    let min_srocc = base.srocc.map(|srocc| srocc - limits.max_srocc_drop);
    let srocc_holds = min_srocc.is_none_or(|min| model.srocc.is_some_and(|srocc| srocc >= min));
    let rmse_holds = model.rmse <= max_rmse;
    let number =
        |srocc: Option<f64>| srocc.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.4}"));
    let srocc = format!(
        "SROCC {} (base {}, at least {})",
        number(model.srocc),
        number(base.srocc),
        min_srocc.map_or_else(|| "anything".to_owned(), |min| format!("{min:.4}")),
    );
    let rmse = format!("RMSE {:.2} (base {:.2}, at most {max_rmse:.2})", model.rmse, base.rmse);
    let word = |holds: bool| if holds { "holds" } else { "fails" };
    let (srocc_word, rmse_word) = (word(srocc_holds), word(rmse_holds));
    let message = format!("{srocc} {srocc_word}, {rmse} {rmse_word}, on {count} held-out samples");
    GateVerdict { passed: srocc_holds && rmse_holds, message, held_out }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::learner::evaluation::QualityMetrics;

    fn comparison(count: u64, model: (f64, Option<f64>), base: (f64, Option<f64>)) -> ModelComparison {
        let metrics = |(rmse, srocc)| QualityMetrics { count, rmse, plcc: srocc, srocc };
        ModelComparison { model: metrics(model), base: metrics(base) }
    }

    #[rstest]
    #[case::better_in_both(40, (9.0, Some(0.9)), (12.0, Some(0.88)), true)]
    #[case::equal(40, (12.0, Some(0.88)), (12.0, Some(0.88)), true)]
    #[case::srocc_at_its_limit(40, (9.0, Some(0.875)), (12.0, Some(0.88)), true)]
    #[case::srocc_below_its_limit(40, (9.0, Some(0.8749)), (12.0, Some(0.88)), false)]
    #[case::rmse_above_its_limit(40, (12.01, Some(0.95)), (12.0, Some(0.88)), false)]
    #[case::srocc_became_undefined(40, (9.0, None), (12.0, Some(0.88)), false)]
    #[case::labels_all_equal(40, (9.0, None), (12.0, None), true)]
    #[case::too_few(9, (1.0, Some(1.0)), (12.0, Some(0.88)), false)]
    #[case::just_enough(10, (1.0, Some(1.0)), (12.0, Some(0.88)), true)]
    #[case::not_a_number(40, (f64::NAN, Some(1.0)), (12.0, Some(0.88)), false)]
    fn both_limits_must_hold(
        #[case] count: u64,
        #[case] model: (f64, Option<f64>),
        #[case] base: (f64, Option<f64>),
        #[case] passed: bool,
    ) {
        assert_eq!(evaluate(&GateLimits::default(), comparison(count, model, base)).passed, passed);
    }

    #[test]
    fn a_verdict_states_its_numbers() {
        let message = |count, model| {
            evaluate(&GateLimits::default(), comparison(count, model, (12.0, Some(0.88)))).message
        };
        assert_eq!(message(7, (9.0, Some(0.9))), "7 of 10 held-out samples so far");
        assert_eq!(
            message(40, (14.5, Some(0.9))),
            "SROCC 0.9000 (base 0.8800, at least 0.8750) holds, RMSE 14.50 (base 12.00, at most 12.00) fails, \
             on 40 held-out samples"
        );
    }
}
