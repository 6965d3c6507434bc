//! The steps for AVX2: the covariances by hand, the others vectorized by the compiler.

use super::covariance::avx2::covariances;
use super::entropy::Blocks;
use super::{Analyser, SummationOrder};
use crate::dispatch::{Avx2, avx2_functions};
use crate::{Plane, PlaneSample};

#[target_feature(enable = "avx2,fma")]
fn analyse<T: PlaneSample>(analyser: &mut Analyser, plane: &Plane<'_, T>, blocks: &mut Blocks) {
    let Analyser { depth, sigma, order, decimator, details, estimator, centred } = analyser;
    decimator.decimate(plane, *depth, details);
    let means = estimator.means(details);
    match order {
        SummationOrder::Sequential => estimator.covariances(details, &means, *order),
        SummationOrder::Avx2 => {
            let (dimensions, matrix) = estimator.covariance_matrix();
            covariances::<2>(dimensions, details, &means, centred, matrix);
        }
        SummationOrder::Avx512 => {
            let (dimensions, matrix) = estimator.covariance_matrix();
            covariances::<4>(dimensions, details, &means, centred, matrix);
        }
    }
    estimator.estimate(details, *sigma, blocks);
}

avx2_functions! {
    fn analyse<T>(analyser: &mut Analyser, plane: &Plane<'_, T>, blocks: &mut Blocks) = analyse;
}
