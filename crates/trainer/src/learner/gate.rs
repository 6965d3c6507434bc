//! Whether a model may be called stable.
//!
//! Judged on samples that it has never learned from, by the weights that are exported. Both must hold: the order of the
//! clips is about as good as the base model's, and the distance to the viewers no larger.

use super::evaluation::Pair;

/// Held-out samples that a verdict needs. Fewer say nothing about an order.
pub const FEWEST_HELD_OUT: u64 = 10;

/// What a model must hold against the base model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateLimits {
    /// How much lower its SROCC may be.
    pub max_srocc_drop: f64,
    /// How many times as large its RMSE may be.
    pub max_rmse_ratio: f64,
}

impl Default for GateLimits {
    fn default() -> Self {
        Self { max_srocc_drop: 0.005, max_rmse_ratio: 1.0 }
    }
}

/// Whether a model may be called stable, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether it may.
    pub passed: bool,
    /// Why, in numbers.
    pub message: String,
    /// Both models on the held-out samples.
    pub held_out: Pair,
}

/// Judges the figures of both models.
pub(super) fn judge(limits: &GateLimits, held_out: Pair) -> Verdict {
    let (model, base) = (&held_out.model, &held_out.base);
    let count = model.count;
    if count < FEWEST_HELD_OUT {
        let message = format!("{count} of {FEWEST_HELD_OUT} held-out samples so far");
        return Verdict { passed: false, message, held_out };
    }
    let most = base.rmse * limits.max_rmse_ratio;
    // With labels that are all equal there is no order, and nothing to lose.
    let least = base.srocc.map(|srocc| srocc - limits.max_srocc_drop);
    let in_order = least.is_none_or(|least| model.srocc.is_some_and(|srocc| srocc >= least));
    let near = model.rmse <= most;
    let order =
        |srocc: Option<f64>| srocc.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.4}"));
    let srocc = format!(
        "SROCC {} (base {}, at least {})",
        order(model.srocc),
        order(base.srocc),
        least.map_or_else(|| "anything".to_owned(), |least| format!("{least:.4}")),
    );
    let rmse = format!("RMSE {:.2} (base {:.2}, at most {most:.2})", model.rmse, base.rmse);
    let word = |holds: bool| if holds { "holds" } else { "fails" };
    let message = format!("{srocc} {}, {rmse} {}, on {count} held-out samples", word(in_order), word(near));
    Verdict { passed: in_order && near, message, held_out }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::learner::evaluation::Metrics;

    fn pair(count: u64, model: (f64, Option<f64>), base: (f64, Option<f64>)) -> Pair {
        let metrics = |(rmse, srocc)| Metrics { count, rmse, plcc: srocc, srocc };
        Pair { model: metrics(model), base: metrics(base) }
    }

    #[rstest]
    #[case::better_in_both(40, (9.0, Some(0.9)), (12.0, Some(0.88)), true)]
    #[case::equal(40, (12.0, Some(0.88)), (12.0, Some(0.88)), true)]
    #[case::order_as_low_as_allowed(40, (9.0, Some(0.875)), (12.0, Some(0.88)), true)]
    #[case::order_lower_than_allowed(40, (9.0, Some(0.8749)), (12.0, Some(0.88)), false)]
    #[case::further_from_viewers(40, (12.01, Some(0.95)), (12.0, Some(0.88)), false)]
    #[case::no_order_any_more(40, (9.0, None), (12.0, Some(0.88)), false)]
    #[case::labels_without_order(40, (9.0, None), (12.0, None), true)]
    #[case::too_few(9, (1.0, Some(1.0)), (12.0, Some(0.88)), false)]
    #[case::just_enough(10, (1.0, Some(1.0)), (12.0, Some(0.88)), true)]
    #[case::no_number(40, (f64::NAN, Some(1.0)), (12.0, Some(0.88)), false)]
    fn both_bars_must_hold(
        #[case] count: u64,
        #[case] model: (f64, Option<f64>),
        #[case] base: (f64, Option<f64>),
        #[case] passed: bool,
    ) {
        assert_eq!(judge(&GateLimits::default(), pair(count, model, base)).passed, passed);
    }

    #[test]
    fn a_verdict_tells_its_numbers() {
        let message =
            |count, model| judge(&GateLimits::default(), pair(count, model, (12.0, Some(0.88)))).message;
        assert_eq!(message(7, (9.0, Some(0.9))), "7 of 10 held-out samples so far");
        assert_eq!(
            message(40, (14.5, Some(0.9))),
            "SROCC 0.9000 (base 0.8800, at least 0.8750) holds, RMSE 14.50 (base 12.00, at most 12.00) fails, \
             on 40 held-out samples"
        );
    }
}
