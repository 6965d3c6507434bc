//! Each step with each instruction set equals its specification, at sizes around those of vectors, whatever is in paddings.

use rstest::rstest;

use super::covariance::covariances;
use super::linear::ZERO;
use super::*;
use crate::testing::{Random, avx2};

fn details(dimensions: &Dimensions, seed: usize, poison: f32) -> Vec<f32> {
    let mut random = Random::new(seed);
    let length = dimensions.small_width * dimensions.small_height;
    let mut details: Vec<f32> = (0..length).map(|_| f32::from(random.sample(8191)) / 257.0 - 16.0).collect();
    details.extend([poison; PADDING]);
    details
}

/// Planes with one to 18 blocks in a row and a column.
fn all_dimensions() -> impl Iterator<Item = Dimensions> {
    let sizes = (80..=1500).step_by(79).zip((80..=500).step_by(40).chain((80..=500).step_by(55)));
    sizes.filter_map(|(width, height)| Dimensions::new(width, height, 1.0))
}

#[test]
fn means_do_not_depend_on_what_is_behind_the_details() {
    for (index, dimensions) in all_dimensions().enumerate() {
        let means = |poison| covariance::means(&dimensions, &details(&dimensions, index, poison));
        let bits = |means: [[f32; 5]; 5]| means.map(|row| row.map(f32::to_bits));
        assert_eq!(bits(means(0.0)), bits(means(f32::NAN)), "{dimensions:?}");
        let first_window = details(&dimensions, index, 0.0);
        let (width, height) = (dimensions.window_width(), dimensions.window_height());
        let samples = (0..height).flat_map(|y| &first_window[y * dimensions.small_width..][..width]);
        let sum: f32 = samples.fold(0.0, |sum, sample| sum + sample);
        #[allow(clippy::cast_precision_loss)]
        let mean = sum / (width * height) as f32;
        assert_eq!(mean.to_bits(), means(0.0)[0][0].to_bits(), "{dimensions:?}");
    }
}

#[cfg(target_arch = "x86_64")]
#[rstest]
fn blocks_are_as_specified(
    #[values(SummationOrder::Sequential, SummationOrder::Avx2, SummationOrder::Avx512)] order: SummationOrder,
) {
    let Some(avx2) = avx2() else { return };
    for (index, dimensions) in all_dimensions().enumerate() {
        let Dimensions { width, height, .. } = dimensions;
        let mut random = Random::new(index);
        let mut sample = |at: usize| {
            let surface = u16::try_from((at % width / 9 + at / width / 7) % 90).unwrap();
            u8::try_from(surface + random.sample(60)).unwrap()
        };
        let samples: Vec<u8> = (0..width * height).map(&mut sample).collect();
        let plane = Plane::new(&samples, width, width, height).unwrap();
        let config = SpeedConfig {
            width,
            height,
            depth: 8,
            options: SpeedOptions::default(),
            order,
            instruction_set: InstructionSet::Scalar,
        };
        let mut analyser = Speed::new(&config).unwrap().analyser;
        let (mut expected, mut found) = (Blocks::new(&dimensions), Blocks::new(&dimensions));
        analyser.analyse(&plane, &mut expected);
        let mut matrix = ZERO;
        let means = analyser.estimator.means(&analyser.details);
        covariances(&dimensions, &analyser.details, &means, order, &mut matrix);
        let details = analyser.details.clone();
        avx2.analyse(&mut analyser, &plane, &mut found);
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&details), bits(&analyser.details), "{dimensions:?}");
        let (_, covariances) = analyser.estimator.covariance_matrix();
        assert_eq!(bits(matrix.as_flattened()), bits(covariances.as_flattened()), "{dimensions:?}");
        assert_eq!(expected.bits(), found.bits(), "{dimensions:?}");
        if order == SummationOrder::Sequential {
            continue;
        }
        // Before they are rounded to single precision, which hides the order.
        for pair in (0..25).flat_map(|first| (0..=first).map(move |second| [first, second])) {
            let sum = covariance::sum(&dimensions, &details, &means, order, pair);
            assert_eq!(sum.to_bits(), analyser.centred.sum(pair).to_bits(), "{dimensions:?}, {pair:?}");
        }
    }
}
