//! From what the machine says to the score that is told.

/// libvmaf's order: back to points, transform, clip.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::learner) struct Output {
    pub(super) slope: f64,
    pub(super) intercept: f64,
    pub(super) transform: Option<Transform>,
    pub(super) clip: Option<(f64, f64)>,
}

/// A score made to fit another screen or distance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Transform {
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

/// A score, and how fast it goes up with the points that were put in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::learner) struct Told {
    pub(in crate::learner) score: f64,
    pub(in crate::learner) slope: f64,
}

impl Output {
    /// The ends of the scale.
    pub(super) fn clip(&self) -> Option<(f64, f64)> {
        self.clip
    }

    /// What the machine says, in points.
    pub(in crate::learner) fn points(&self, said: f64) -> f64 {
        (said - self.intercept) / self.slope
    }

    /// How much the machine must say for one point.
    pub(in crate::learner) fn per_point(&self) -> f64 {
        self.slope
    }

    /// The score that is told for so many points.
    pub(in crate::learner) fn score(&self, points: f64) -> f64 {
        let score = self.unclipped(points).score;
        // Compared as libvmaf does it.
        match self.clip {
            Some((least, _)) if score < least => least,
            Some((_, most)) if score > most => most,
            _ => score,
        }
    }

    /// The score before it is clipped: what a step goes by.
    pub(in crate::learner) fn unclipped(&self, points: f64) -> Told {
        match &self.transform {
            Some(transform) => transform.apply(points),
            None => Told { score: points, slope: 1.0 },
        }
    }

    /// Whether a score outside of the scale is as good as this label: who says 100 cannot be asked for more.
    pub(in crate::learner) fn satisfies(&self, score: f64, label: f64) -> bool {
        self.clip.is_some_and(|(least, most)| {
            (label >= most && score >= most) || (label <= least && score <= least)
        })
    }
}

impl Transform {
    fn apply(&self, points: f64) -> Told {
        let [p0, p1, p2] = self.polynomial;
        let mut told = Told { score: p0 + p1 * points + p2 * points * points, slope: p1 + 2.0 * p2 * points };
        if let Some((slope, offset)) = self.segment(told.score) {
            told = Told { score: slope * told.score + offset, slope: slope * told.slope };
        }
        let input = Told { score: points, slope: 1.0 };
        if self.at_most_input && told.score > points {
            told = input;
        }
        if self.at_least_input && told.score < points {
            told = input;
        }
        told
    }

    /// Slope and offset of the line through the two knots around a score; the outer lines go on beyond the knots.
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

    fn transform(polynomial: [f64; 3], knots: &[(f64, f64)]) -> Transform {
        let knots = knots.iter().map(|&(x, y)| Knot { x, y }).collect();
        Transform { polynomial, knots, at_most_input: false, at_least_input: false }
    }

    fn output(transform: Option<Transform>) -> Output {
        Output { slope: 0.5, intercept: 1.0, transform, clip: Some((0.0, 100.0)) }
    }

    const KNOTS: &[(f64, f64)] = &[(0.0, 10.0), (50.0, 10.0), (100.0, 60.0)];

    #[rstest]
    #[case::none(None, 40.0, 40.0, 1.0)]
    #[case::polynomial(Some(transform([5.0, 2.0, -0.01], &[])), 40.0, 69.0, 1.2)]
    #[case::flat_segment(Some(transform([0.0, 1.0, 0.0], KNOTS)), 20.0, 10.0, 0.0)]
    #[case::rising_segment(Some(transform([0.0, 1.0, 0.0], KNOTS)), 75.0, 35.0, 1.0)]
    #[case::beyond_the_last_knot(Some(transform([0.0, 1.0, 0.0], KNOTS)), 110.0, 70.0, 1.0)]
    #[case::before_the_first_knot(Some(transform([0.0, 1.0, 0.0], &[(10.0, 10.0), (20.0, 30.0)])), 5.0, 0.0, 2.0)]
    #[case::not_above_the_input(Some(Transform { at_most_input: true, ..transform([9.0, 1.0, 0.0], &[]) }), 40.0, 40.0, 1.0)]
    #[case::not_below_the_input(Some(Transform { at_least_input: true, ..transform([0.0, 0.5, 0.0], &[]) }), 40.0, 40.0, 1.0)]
    fn a_score_knows_its_slope(
        #[case] transform: Option<Transform>,
        #[case] points: f64,
        #[case] score: f64,
        #[case] slope: f64,
    ) {
        let told = output(transform).unclipped(points);
        assert!((told.score - score).abs() < 1e-12 && (told.slope - slope).abs() < 1e-12, "{told:?}");
    }

    #[test]
    fn scores_are_clipped_last_and_labels_at_the_end_are_content_with_more() {
        let output = output(None);
        assert_eq!((output.score(104.0), output.score(-3.0), output.score(40.0)), (100.0, 0.0, 40.0));
        assert!(output.satisfies(104.0, 100.0) && output.satisfies(-3.0, 0.0));
        assert!(
            !output.satisfies(104.0, 99.0) && !output.satisfies(99.0, 100.0) && !output.satisfies(3.0, 0.0)
        );
        assert!((output.points(21.0) - 40.0).abs() < 1e-12);
    }
}
