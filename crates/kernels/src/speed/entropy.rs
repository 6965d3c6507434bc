//! From decimated details to the entropy and variance of each block, and from those of two planes to a score.

use std::f64::consts::{E, PI};

use super::covariance::{Means, SummationOrder};
use super::dimensions::{BLOCK, Dimensions, VARIABLES};
use super::linear::Matrix;
use super::{VarianceWeighting, covariance, eigenvalues, linear};

/// Eigenvalues below this make a matrix singular.
const SMALLEST_EIGENVALUE: f64 = 1e-6;

/// What is known of the blocks of a plane.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    entropies: Vec<f32>,
    variances: Vec<f32>,
    /// Whether the samples of blocks are linearly dependent, as in flat planes.
    is_singular: bool,
}

impl Blocks {
    pub(super) fn new(dimensions: &Dimensions) -> Self {
        let blocks = dimensions.blocks();
        Self { entropies: vec![0.0; blocks], variances: vec![0.0; blocks], is_singular: false }
    }

    #[cfg(test)]
    pub(super) fn bits(&self) -> (Vec<[u32; 2]>, bool) {
        let values = self.entropies.iter().zip(&self.variances);
        (
            values.map(|(entropy, variance)| [entropy.to_bits(), variance.to_bits()]).collect(),
            self.is_singular,
        )
    }

    pub(super) fn is_singular(&self) -> bool {
        self.is_singular
    }
}

/// The buffers of the step.
#[derive(Clone, Debug)]
pub(super) struct Estimator {
    dimensions: Dimensions,
    covariances: Matrix,
    /// For each place in a block, the samples of all blocks.
    samples: Vec<f32>,
    solution: Vec<f32>,
}

impl Estimator {
    pub(super) fn new(dimensions: Dimensions) -> Self {
        let length = VARIABLES * dimensions.blocks();
        Self {
            dimensions,
            covariances: linear::ZERO,
            samples: vec![0.0; length],
            solution: vec![0.0; length],
        }
    }

    #[inline(always)]
    pub(super) fn means(&self, details: &[f32]) -> Means {
        covariance::means(&self.dimensions, details)
    }

    /// The specification of the covariances.
    pub(super) fn covariances(&mut self, details: &[f32], means: &Means, order: SummationOrder) {
        covariance::covariances(&self.dimensions, details, means, order, &mut self.covariances);
    }

    /// The dimensions and the matrix, for another implementation of the covariances.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn covariance_matrix(&mut self) -> (&Dimensions, &mut Matrix) {
        (&self.dimensions, &mut self.covariances)
    }

    /// The rest, after the covariances.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // As in libvmaf.
    pub(super) fn estimate(&mut self, details: &[f32], sigma: f32, blocks: &mut Blocks) {
        let eigenvalues = eigenvalues::eigenvalues(&mut self.covariances.clone());
        self.arrange(details);
        let count = self.dimensions.blocks();
        let is_regular = !eigenvalues.iter().any(|&value| f64::from(value) < SMALLEST_EIGENVALUE);
        blocks.is_singular = !is_regular
            || linear::solve(&self.covariances, &self.samples, count, &mut self.solution).is_err();
        if blocks.is_singular {
            blocks.variances.fill(0.0);
        } else {
            self.variances(&mut blocks.variances);
        }
        let information = (2.0 * PI * E).log2();
        for (entropy, &variance) in blocks.entropies.iter_mut().zip(&blocks.variances) {
            *entropy = 0.0;
            for eigenvalue in eigenvalues {
                let eigenvalue = if eigenvalue < 0.0 { 0.0 } else { eigenvalue };
                let noisy = eigenvalue * variance + sigma;
                *entropy = (f64::from(*entropy) + (f64::from(noisy).log2() + information)) as f32;
            }
        }
    }

    #[inline(always)]
    fn arrange(&mut self, details: &[f32]) {
        let Dimensions { small_width, blocks_across, .. } = self.dimensions;
        for (variable, samples) in self.samples.chunks_exact_mut(self.dimensions.blocks()).enumerate() {
            for (down, samples) in samples.chunks_exact_mut(blocks_across).enumerate() {
                let start = (down * BLOCK + variable / BLOCK) * small_width + variable % BLOCK;
                for (sample, &detail) in samples.iter_mut().zip(details[start..].iter().step_by(BLOCK)) {
                    *sample = detail;
                }
            }
        }
    }

    #[inline(always)]
    fn variances(&self, variances: &mut [f32]) {
        variances.fill(0.0);
        let blocks = self.dimensions.blocks();
        for (solution, samples) in self.solution.chunks_exact(blocks).zip(self.samples.chunks_exact(blocks)) {
            for (variance, (solution, sample)) in variances.iter_mut().zip(solution.iter().zip(samples)) {
                *variance += solution * sample / 25.0;
            }
        }
    }
}

/// The mean difference of two planes.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // As in libvmaf.
pub(super) fn difference(
    reference: &Blocks,
    distorted: &Blocks,
    sigma: f32,
    noise_floor: f32,
    weighting: VarianceWeighting,
) -> f32 {
    let information = (2.0 * PI * E).log2();
    let invisible = (VARIABLES as f64 * (f64::from((1.0 + noise_floor) * sigma).log2() + information)) as f32;
    let entropies = reference.entropies.iter().zip(&distorted.entropies);
    let variances = reference.variances.iter().zip(&distorted.variances);
    let mut score = 0.0_f32;
    for ((&entropy, &other_entropy), (&variance, &other_variance)) in entropies.zip(variances) {
        if entropy < invisible && other_entropy < invisible {
            continue;
        }
        let (weight, other_weight) = weighting.weights(variance, other_variance);
        let spatial = (f64::from(entropy) * weight.log2()) as f32;
        let other = (f64::from(other_entropy) * other_weight.log2()) as f32;
        score += (spatial - other).abs();
    }
    score / reference.entropies.len() as f32
}

impl VarianceWeighting {
    /// The weights of both entropies, before the logarithm.
    fn weights(self, reference: f32, distorted: f32) -> (f64, f64) {
        let (own, other) = (f64::from(1.0 + reference), f64::from(1.0 + distorted));
        let mixed = |share: f64| 1.0 + (share * f64::from(reference) + (1.0 - share) * f64::from(distorted));
        let mean = 1.0 + f64::from(reference + distorted) / 2.0;
        match self {
            Self::Own => (own, other),
            Self::Reference => (own, own),
            Self::Distorted => (other, other),
            Self::Mean => (mean, mean),
            Self::OwnAndMean => (own, mean),
            Self::OwnAndMostlyReference => (own, mixed(0.75)),
            Self::OwnAndMostlyDistorted => (own, mixed(0.25)),
        }
    }
}
