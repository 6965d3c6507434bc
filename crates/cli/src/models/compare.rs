//! How two machines differ: in their weights, and in what they predict.

use super::machine::{Machine, short};

/// How two machines differ.
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
pub(super) fn compare(first: &Machine, second: &Machine, points: Option<&[Vec<f64>]>) -> Difference {
    let alike = names(first) == names(second);
    let predictions = alike.then(|| {
        if let Some(points) = points {
            return Predictions::of(points.iter().map(|point| (first.predict(point), second.predict(point))));
        }
        let centres = first.vectors.iter().chain(&second.vectors).map(|(_, at)| at);
        Predictions::of(centres.map(|at| (first.predict_scaled(at), second.predict_scaled(at))))
    });
    Difference { weights: weights(first, second, alike), predictions }
}

fn names(machine: &Machine) -> Vec<&str> {
    machine.features.iter().map(|name| short(name)).collect()
}

#[expect(clippy::float_cmp, reason = "a number that was not changed is the same")]
fn weights(first: &Machine, second: &Machine, alike: bool) -> Weights {
    if !alike {
        return Weights::Different("they look at different features");
    }
    if first.gamma != second.gamma {
        return Weights::Different("their kernels have different widths");
    }
    let centres = |machine: &Machine| machine.vectors.iter().map(|(_, at)| at.clone()).collect::<Vec<_>>();
    if centres(first) != centres(second) {
        return Weights::Different("they have different support vectors");
    }
    let changes = first.vectors.iter().zip(&second.vectors).map(|((a, _), (b, _))| (b - a).abs());
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

    fn classic() -> Machine {
        Machine::parse(Model::named("vmaf_v0.6.1").unwrap().json()).unwrap()
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
        let mut other = classic();
        other.vectors[7].0 += 0.5;
        let difference = compare(&classic(), &other, None);
        assert_eq!(difference.weights, Weights::Comparable { of: 211, changed: 1, largest: 0.5, rho: 0.0 });
        assert!(difference.predictions.unwrap().largest > 1.0);
    }

    #[test]
    fn other_features_cannot_be_compared() {
        let other = Machine::parse(Model::named("vmaf_v1.0.16_3d0h").unwrap().json()).unwrap();
        let difference = compare(&classic(), &other, None);
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
