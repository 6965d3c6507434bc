//! How two models differ: in their weights, and in what they predict.

use vmafx_trainer::learner::BaseModel;

/// How two models differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) weights: Weights,
    /// What both say of the same points; nothing if they look at different features.
    pub(super) predictions: Option<Predictions>,
}

/// How the weights differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Weights {
    /// The same centres: weight by weight.
    Comparable { of: usize, changed: usize, largest: f64, rho: f64 },
    /// Other centres, other kernels or other features: there is nothing to hold side by side.
    Different(&'static str),
}

/// How predictions differ, the second minus the first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Predictions {
    pub(super) points: usize,
    pub(super) mean: f64,
    pub(super) mean_distance: f64,
    pub(super) largest: f64,
    /// Both scores where they differ most.
    pub(super) there: (f64, f64),
}

/// Compares over these points, by features in the order of `first`; without any, over the centres of both.
pub(super) fn compare(first: &BaseModel, second: &BaseModel, points: Option<&[Vec<f64>]>) -> Difference {
    let alike = first.stems() == second.stems();
    let predictions = alike.then(|| {
        if let Some(points) = points {
            return Predictions::of(points.iter().map(|point| (first.score(point), second.score(point))));
        }
        let centres = first.machine().vectors.iter().chain(&second.machine().vectors);
        Predictions::of(centres.map(|at| (first.score_rescaled(at), second.score_rescaled(at))))
    });
    Difference { weights: weights(first, second, alike), predictions }
}

#[expect(clippy::float_cmp, reason = "a number that was not changed is the same")]
fn weights(first: &BaseModel, second: &BaseModel, alike: bool) -> Weights {
    if !alike {
        return Weights::Different("they look at different features");
    }
    let (first, second) = (first.machine(), second.machine());
    if first.gamma != second.gamma {
        return Weights::Different("their kernels have different widths");
    }
    if first.vectors != second.vectors {
        return Weights::Different("they have different support vectors");
    }
    let changes = first.weights.iter().zip(&second.weights).map(|(a, b)| (b - a).abs());
    let changes: Vec<f64> = changes.filter(|change| *change > 0.0).collect();
    Weights::Comparable {
        of: first.vectors.len(),
        changed: changes.len(),
        largest: changes.iter().copied().fold(0.0, f64::max),
        rho: second.rho - first.rho,
    }
}

impl Predictions {
    #[expect(clippy::cast_precision_loss, reason = "as many points as a file has rows")]
    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let count = pairs.len().max(1) as f64;
        let difference = |(a, b): &(f64, f64)| b - a;
        let furthest = pairs.iter().max_by(|a, b| difference(a).abs().total_cmp(&difference(b).abs()));
        let there = furthest.copied().unwrap_or_default();
        Self {
            points: pairs.len(),
            mean: pairs.iter().map(difference).sum::<f64>() / count,
            mean_distance: pairs.iter().map(|pair| difference(pair).abs()).sum::<f64>() / count,
            largest: difference(&there).abs(),
            there,
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
        assert_eq!(same.weights, Weights::Comparable { of: 211, changed: 0, largest: 0.0, rho: 0.0 });
        let predictions = same.predictions.unwrap();
        assert_eq!((predictions.points, predictions.largest), (422, 0.0));
    }

    #[test]
    fn one_weight_that_was_changed_is_seen() {
        let json = String::from_utf8(Model::named("vmaf_v0.6.1").unwrap().json().to_vec()).unwrap();
        let other = json.replacen("SV\\n-4 ", "SV\\n-3.5 ", 1);
        let other = BaseModel::parse("other", other.as_bytes()).unwrap();
        let difference = compare(&classic(), &other, None);
        assert_eq!(difference.weights, Weights::Comparable { of: 211, changed: 1, largest: 0.5, rho: 0.0 });
        assert!(difference.predictions.unwrap().largest > 1.0);
    }

    #[test]
    fn other_features_cannot_be_compared() {
        let difference = compare(&classic(), &built_in("vmaf_v1.0.16_3d0h"), None);
        assert!(matches!(difference.weights, Weights::Different("they look at different features")));
        assert_eq!(difference.predictions, None);
    }

    #[test]
    fn the_furthest_point_is_the_one_that_is_shown() {
        let predictions = Predictions::of([(10.0, 12.0), (50.0, 45.0), (1.0, 1.0)].into_iter());
        assert_eq!((predictions.mean, predictions.largest, predictions.there), (-1.0, 5.0, (50.0, 45.0)));
        assert!((predictions.mean_distance - 7.0 / 3.0).abs() < 1e-12);
    }
}
