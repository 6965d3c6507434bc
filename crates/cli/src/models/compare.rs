//! Differences between two models: in their weights and in their scores.

use vmafx_trainer::learner::BaseModel;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelDifference {
    pub(super) weights: WeightDifference,
    /// `None` if the models use different features.
    pub(super) predictions: Option<PredictionDifference>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum WeightDifference {
    /// Both models have the same support vectors, so each weight has a counterpart.
    Comparable { total: usize, changed: usize, largest: f64, rho: f64 },
    /// The models have different features, kernels or support vectors; the text says which.
    Incomparable(&'static str),
}

/// Score of the second model minus score of the first, over all points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PredictionDifference {
    pub(super) points: usize,
    pub(super) mean: f64,
    pub(super) mean_absolute: f64,
    pub(super) max_absolute: f64,
    /// Both scores at the point with the largest difference.
    pub(super) furthest_pair: (f64, f64),
}

/// Compares the scores at `points`, whose features are in the order of `first`. Without points, the support vectors of
/// both models are used.
pub(super) fn compare(first: &BaseModel, second: &BaseModel, points: Option<&[Vec<f64>]>) -> ModelDifference {
    let same_features = first.stems() == second.stems();
    let predictions = same_features.then(|| {
        if let Some(points) = points {
            return PredictionDifference::of(
                points.iter().map(|point| (first.score(point), second.score(point))),
            );
        }
        let vectors = first.machine().vectors.iter().chain(&second.machine().vectors);
        PredictionDifference::of(vectors.map(|at| (first.score_rescaled(at), second.score_rescaled(at))))
    });
    ModelDifference { weights: weights(first, second, same_features), predictions }
}

#[expect(clippy::float_cmp, reason = "an unchanged number is identical")]
fn weights(first: &BaseModel, second: &BaseModel, same_features: bool) -> WeightDifference {
    if !same_features {
        return WeightDifference::Incomparable("the models use different features");
    }
    let (first, second) = (first.machine(), second.machine());
    if first.gamma != second.gamma {
        return WeightDifference::Incomparable("their kernels have different widths");
    }
    if first.vectors != second.vectors {
        return WeightDifference::Incomparable("they have different support vectors");
    }
    let changes = first.weights.iter().zip(&second.weights).map(|(a, b)| (b - a).abs());
    let changes: Vec<f64> = changes.filter(|change| *change > 0.0).collect();
    WeightDifference::Comparable {
        total: first.vectors.len(),
        changed: changes.len(),
        largest: changes.iter().copied().fold(0.0, f64::max),
        rho: second.rho - first.rho,
    }
}

impl PredictionDifference {
    #[expect(clippy::cast_precision_loss, reason = "the number of points is far below 2^52")]
    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let count = pairs.len().max(1) as f64;
        let difference = |(a, b): &(f64, f64)| b - a;
        let furthest = pairs.iter().max_by(|a, b| difference(a).abs().total_cmp(&difference(b).abs()));
        let furthest_pair = furthest.copied().unwrap_or_default();
        Self {
            points: pairs.len(),
            mean: pairs.iter().map(difference).sum::<f64>() / count,
            mean_absolute: pairs.iter().map(|pair| difference(pair).abs()).sum::<f64>() / count,
            max_absolute: difference(&furthest_pair).abs(),
            furthest_pair,
        }
    }
}

#[cfg(test)]
mod tests {
    use vmafx_scoring::engine::models::Model;

    use super::*;

    fn built_in(name: &str) -> BaseModel {
        BaseModel::parse(name, Model::named(name).unwrap().json()).unwrap()
    }

    fn classic() -> BaseModel {
        built_in("vmaf_v0.6.1")
    }

    #[test]
    fn a_model_does_not_differ_from_itself() {
        let same = compare(&classic(), &classic(), None);
        assert_eq!(
            same.weights,
            WeightDifference::Comparable { total: 211, changed: 0, largest: 0.0, rho: 0.0 }
        );
        let predictions = same.predictions.unwrap();
        assert_eq!((predictions.points, predictions.max_absolute), (422, 0.0));
    }

    #[test]
    fn one_changed_weight_is_detected() {
        let json = String::from_utf8(Model::named("vmaf_v0.6.1").unwrap().json().to_vec()).unwrap();
        let other = json.replacen("SV\\n-4 ", "SV\\n-3.5 ", 1);
        let other = BaseModel::parse("other", other.as_bytes()).unwrap();
        let difference = compare(&classic(), &other, None);
        assert_eq!(
            difference.weights,
            WeightDifference::Comparable { total: 211, changed: 1, largest: 0.5, rho: 0.0 }
        );
        assert!(difference.predictions.unwrap().max_absolute > 1.0);
    }

    #[test]
    fn models_with_different_features_cannot_be_compared() {
        let difference = compare(&classic(), &built_in("vmaf_v1.0.16_3d0h"), None);
        assert!(matches!(
            difference.weights,
            WeightDifference::Incomparable("the models use different features")
        ));
        assert_eq!(difference.predictions, None);
    }

    #[test]
    fn the_pair_with_the_largest_difference_is_reported() {
        let predictions = PredictionDifference::of([(10.0, 12.0), (50.0, 45.0), (1.0, 1.0)].into_iter());
        assert_eq!(
            (predictions.mean, predictions.max_absolute, predictions.furthest_pair),
            (-1.0, 5.0, (50.0, 45.0))
        );
        assert!((predictions.mean_absolute - 7.0 / 3.0).abs() < 1e-12);
    }
}
