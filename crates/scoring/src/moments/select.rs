//! Which frames are the worst moments. Pure.

use crate::outcome::ScoringOutcome;

/// Frames per second of clips with unknown frame rate.
const DEFAULT_FRAME_RATE: u64 = 25;

/// How many moments are chosen, and what makes two of them different.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MomentChoice {
    pub(crate) count: usize,
    /// Frames that are at most this far from a worse one belong to the same dip.
    pub(crate) min_distance: u64,
    pub(crate) max_per_shot: usize,
}

/// The rows of the lowest scores of the first model in ascending order.
pub(crate) fn worst_rows(outcome: &ScoringOutcome, choice: MomentChoice) -> Vec<usize> {
    let frames = &outcome.frames;
    let Some(scores) = outcome.models.first().map(|model| &model.scores) else { return Vec::new() };
    let mut rows: Vec<usize> = (0..frames.len().min(scores.len())).collect();
    rows.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
    let shot = |row: usize| outcome.shots.partition_point(|shot| shot.end() <= frames[row]);
    let mut picked: Vec<usize> = vec![];
    for row in rows {
        if picked.len() == choice.count {
            break;
        }
        let is_distant =
            picked.iter().all(|&other| frames[other].abs_diff(frames[row]) > choice.min_distance);
        let in_shot = picked.iter().filter(|&&other| shot(other) == shot(row)).count();
        if is_distant && in_shot < choice.max_per_shot {
            picked.push(row);
        }
    }
    picked
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(crate) fn frames_of_a_second(outcome: &ScoringOutcome) -> u64 {
    let rate = outcome.distorted.frame_rate.or(outcome.reference.frame_rate);
    rate.filter(|rate| *rate > 0.0).map_or(DEFAULT_FRAME_RATE, |rate| rate.round() as u64)
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss)] // Counts are small.
mod tests {
    use super::*;
    use crate::report::example;
    use crate::shots::Shot;

    fn rows(outcome: &ScoringOutcome, min_distance: u64, max_per_shot: usize) -> Vec<usize> {
        worst_rows(outcome, MomentChoice { count: 10, min_distance, max_per_shot })
    }

    #[test]
    fn neighbours_of_a_worse_frame_are_omitted() {
        let mut scores = vec![90.0; 100];
        scores[20..26].copy_from_slice(&[50.0, 40.0, 30.0, 35.0, 45.0, 55.0]);
        scores[70] = 60.0;
        assert_eq!(rows(&example::outcome("a.mp4", &scores), 12, usize::MAX)[..2], [22, 70]);
    }

    #[test]
    fn the_distance_is_counted_in_frames_and_not_in_rows() {
        let mut outcome = example::outcome("a.mp4", &[3.0, 2.0, 1.0]);
        outcome.frames = vec![0, 10, 20];
        assert_eq!(rows(&outcome, 12, usize::MAX), [2, 0]);
    }

    #[test]
    fn a_shot_has_no_more_moments_than_permitted() {
        let scores: Vec<f64> = (0..100).map(f64::from).collect();
        let mut outcome = example::outcome("a.mp4", &scores);
        outcome.shots = vec![
            Shot { first_frame: 0, frames: 40 },
            Shot { first_frame: 40, frames: 1 },
            Shot { first_frame: 41, frames: 59 },
        ];
        assert_eq!(rows(&outcome, 4, 2), [0, 5, 40, 45, 50]);
    }

    #[test]
    fn there_are_no_more_moments_than_asked_for() {
        let scores: Vec<f64> = (0..10_000).map(f64::from).collect();
        assert_eq!(rows(&example::outcome("a.mp4", &scores), 12, usize::MAX).len(), 10);
    }

    #[test]
    fn a_second_has_the_frames_of_the_distorted_clip() {
        let mut outcome = example::outcome("a.mp4", &[1.0]);
        assert_eq!(frames_of_a_second(&outcome), 25);
        (outcome.distorted.frame_rate, outcome.reference.frame_rate) = (None, Some(59.94));
        assert_eq!(frames_of_a_second(&outcome), 60);
        outcome.reference.frame_rate = None;
        assert_eq!(frames_of_a_second(&outcome), DEFAULT_FRAME_RATE);
    }
}
