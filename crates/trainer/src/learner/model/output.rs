//! From the output of the support vector machine to the score.

/// libvmaf's order: rescale to points, transform, clip.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::learner) struct ScoreMapping {
    pub(super) slope: f64,
    pub(super) intercept: f64,
    pub(super) transform: Option<ScoreTransform>,
    pub(super) clip: Option<(f64, f64)>,
}

/// Adapts a score to another display or viewing distance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScoreTransform {
    pub(super) polynomial: [f64; 3],
    pub(super) knots: Vec<Knot>,
    pub(super) at_most_input: bool,
    pub(super) at_least_input: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Knot {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A score and its derivative by the points that it was computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::learner) struct ScoreWithSlope {
    pub(in crate::learner) score: f64,
    pub(in crate::learner) slope: f64,
}

impl ScoreMapping {
    pub(super) fn clip(&self) -> Option<(f64, f64)> {
        self.clip
    }

    pub(in crate::learner) fn points(&self, machine_output: f64) -> f64 {
        (machine_output - self.intercept) / self.slope
    }

    /// Machine output per point.
    pub(in crate::learner) fn slope(&self) -> f64 {
        self.slope
    }

    pub(in crate::learner) fn score(&self, points: f64) -> f64 {
        let score = self.unclipped(points).score;
        // The same comparisons as in libvmaf.
        match self.clip {
            Some((min, _)) if score < min => min,
            Some((_, max)) if score > max => max,
            _ => score,
        }
    }

    /// The score before it is clipped, from which the error of an update is computed.
    pub(in crate::learner) fn unclipped(&self, points: f64) -> ScoreWithSlope {
        match &self.transform {
            Some(transform) => transform.apply(points),
            None => ScoreWithSlope { score: points, slope: 1.0 },
        }
    }

    /// Whether clipping maps an unclipped score to the label: then the label gives no reason to change the model.
    pub(in crate::learner) fn satisfies(&self, score: f64, label: f64) -> bool {
        self.clip.is_some_and(|(min, max)| (label >= max && score >= max) || (label <= min && score <= min))
    }
}

impl ScoreTransform {
    fn apply(&self, points: f64) -> ScoreWithSlope {
        let [p0, p1, p2] = self.polynomial;
        let mut output =
            ScoreWithSlope { score: p0 + p1 * points + p2 * points * points, slope: p1 + 2.0 * p2 * points };
        if let Some((slope, offset)) = self.segment(output.score) {
            output = ScoreWithSlope { score: slope * output.score + offset, slope: slope * output.slope };
        }
        let input = ScoreWithSlope { score: points, slope: 1.0 };
        if self.at_most_input && output.score > points {
            output = input;
        }
        if self.at_least_input && output.score < points {
            output = input;
        }
        output
    }

    /// Slope and offset of the line through the two knots around a score. The outer lines extend beyond the knots.
    fn segment(&self, score: f64) -> Option<(f64, f64)> {
        let inner = self.knots.windows(2).rev().find(|pair| pair[0].x <= score);
        let [from, to] = inner.or_else(|| self.knots.windows(2).next())? else { return None };
        let slope = (to.y - from.y) / (to.x - from.x);
        Some((slope, from.y - from.x * slope))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn transform(polynomial: [f64; 3], knots: &[(f64, f64)]) -> ScoreTransform {
        let knots = knots.iter().map(|&(x, y)| Knot { x, y }).collect();
        ScoreTransform { polynomial, knots, at_most_input: false, at_least_input: false }
    }

    fn output(transform: Option<ScoreTransform>) -> ScoreMapping {
        ScoreMapping { slope: 0.5, intercept: 1.0, transform, clip: Some((0.0, 100.0)) }
    }

    const KNOTS: &[(f64, f64)] = &[(0.0, 10.0), (50.0, 10.0), (100.0, 60.0)];

    #[rstest]
    #[case::none(None, 40.0, 40.0, 1.0)]
    #[case::polynomial(Some(transform([5.0, 2.0, -0.01], &[])), 40.0, 69.0, 1.2)]
    #[case::flat_segment(Some(transform([0.0, 1.0, 0.0], KNOTS)), 20.0, 10.0, 0.0)]
    #[case::rising_segment(Some(transform([0.0, 1.0, 0.0], KNOTS)), 75.0, 35.0, 1.0)]
    #[case::beyond_the_last_knot(Some(transform([0.0, 1.0, 0.0], KNOTS)), 110.0, 70.0, 1.0)]
    #[case::before_the_first_knot(Some(transform([0.0, 1.0, 0.0], &[(10.0, 10.0), (20.0, 30.0)])), 5.0, 0.0, 2.0)]
    #[case::not_above_the_input(Some(ScoreTransform { at_most_input: true, ..transform([9.0, 1.0, 0.0], &[]) }), 40.0, 40.0, 1.0)]
    #[case::not_below_the_input(Some(ScoreTransform { at_least_input: true, ..transform([0.0, 0.5, 0.0], &[]) }), 40.0, 40.0, 1.0)]
    fn a_score_comes_with_its_derivative(
        #[case] transform: Option<ScoreTransform>,
        #[case] points: f64,
        #[case] score: f64,
        #[case] slope: f64,
    ) {
        let found = output(transform).unclipped(points);
        assert!((found.score - score).abs() < 1e-12 && (found.slope - slope).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn scores_are_clipped_last_and_satisfy_labels_at_the_ends_of_the_scale() {
        let output = output(None);
        assert_eq!((output.score(104.0), output.score(-3.0), output.score(40.0)), (100.0, 0.0, 40.0));
        assert!(output.satisfies(104.0, 100.0) && output.satisfies(-3.0, 0.0));
        assert!(
            !output.satisfies(104.0, 99.0) && !output.satisfies(99.0, 100.0) && !output.satisfies(3.0, 0.0)
        );
        assert!((output.points(21.0) - 40.0).abs() < 1e-12);
    }
}
