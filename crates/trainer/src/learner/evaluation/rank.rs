//! The Spearman rank correlation: the Pearson correlation of the ranks. Equal values share the mean of their ranks.

use super::moments::RunningMoments;

/// `None` if one of the lists does not vary.
pub(super) fn correlation(left: &[f64], right: &[f64]) -> Option<f64> {
    let mut moments = RunningMoments::default();
    for (left, right) in ranks(left).into_iter().zip(ranks(right)) {
        moments.add(left, right);
    }
    moments.correlation()
}

#[expect(clippy::cast_precision_loss, reason = "lists are far shorter than 2^53")]
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first_rank = 0;
    for group in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        let shared = first_rank as f64 + (group.len() - 1) as f64 / 2.0;
        for &index in group {
            ranks[index] = shared;
        }
        first_rank += group.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_order_matters() {
        assert_eq!(correlation(&[1.0, 2.0, 9.0], &[10.0, 11.0, 12.0]), Some(1.0));
        assert_eq!(correlation(&[1.0, 2.0, 9.0], &[3.0, 2.0, -1e9]), Some(-1.0));
        assert_eq!(correlation(&[1.0, 1.0, 1.0], &[3.0, 2.0, 1.0]), None);
        assert_eq!(correlation(&[], &[]), None);
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 7.0, 5.0]), [2.0, 0.0, 2.0, 4.0, 2.0]);
        // scipy.stats.spearmanr([1, 2, 2, 4], [1, 3, 2, 4])
        let found = correlation(&[1.0, 2.0, 2.0, 4.0], &[1.0, 3.0, 2.0, 4.0]).unwrap();
        assert!((found - 0.948_683_298_050_513_8).abs() < 1e-15);
    }
}
