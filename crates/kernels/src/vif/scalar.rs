//! The specification of VIF's kernels, in the order of the definition, for every CPU.

use std::array;

use super::VifSums;
use super::filter::{MAX_TAPS, SCALES, mirror, reach, taps};
use super::pictures::Halved;
use super::statistic::{Moments, Scorer};
use crate::{InvalidPlane, Plane, PlaneSample};

/// A reference and its distorted version. Samples are shifted left by `shift` to 16 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a, T> {
    pub reference: Plane<'a, T>,
    pub distorted: Plane<'a, T>,
    pub shift: u32,
}

/// Rows between the vertical and the horizontal pass.
#[derive(Debug)]
pub(super) struct ScalarVif {
    means: [Vec<u16>; 2],
    products: [Vec<u32>; 3],
}

impl ScalarVif {
    /// For pictures of up to `width` columns.
    pub(super) fn new(width: usize) -> Self {
        let length = width + MAX_TAPS - 1;
        Self { means: array::from_fn(|_| vec![0; length]), products: array::from_fn(|_| vec![0; length]) }
    }

    /// The sums of all scales. `halved` has the pictures of scales 1 to 3, the reference first and the distorted one at `index`.
    pub(super) fn measure_all<T: PlaneSample>(
        &mut self,
        pair: &Pair<'_, T>,
        halved: &mut [Vec<Halved>; SCALES - 1],
        index: usize,
        scorer: &Scorer,
    ) -> Result<[VifSums; SCALES], InvalidPlane> {
        let mut sums = [VifSums::default(); SCALES];
        sums[0] = self.measure(0, pair, scorer);
        if let Some(pictures) = reference_and(&mut halved[0], index) {
            self.halve(0, pair, pictures);
        }
        for scale in 1..SCALES {
            let (larger, smaller) = halved.split_at_mut(scale);
            let Some(pictures) = reference_and(&mut larger[scale - 1], index) else { continue };
            let pair = Pair { reference: pictures[0].plane()?, distorted: pictures[1].plane()?, shift: 0 };
            sums[scale] = self.measure(scale, &pair, scorer);
            if let Some(next) = smaller.first_mut().and_then(|next| reference_and(next, index)) {
                self.halve(scale, &pair, next);
            }
        }
        Ok(sums)
    }

    /// The sums of scale `scale`.
    fn measure<T: PlaneSample>(&mut self, scale: usize, pair: &Pair<'_, T>, scorer: &Scorer) -> VifSums {
        let taps = taps(scale);
        let mut sums = VifSums::default();
        for y in 0..pair.reference.height() {
            self.filter_means(scale, pair, y);
            self.filter_products(scale, pair, y);
            for x in 0..pair.reference.width() {
                let moments = Moments {
                    means: array::from_fn(|picture| weigh(taps, &self.means[picture][x..])),
                    products: array::from_fn(|product| weigh_wide(taps, &self.products[product][x..])),
                };
                moments.add_to(&mut sums, scorer);
            }
        }
        sums
    }

    /// Fills the pictures of scale `scale + 1` from those of `scale`, through the window of `scale + 1`.
    fn halve<T: PlaneSample>(&mut self, scale: usize, pair: &Pair<'_, T>, mut halved: [&mut Halved; 2]) {
        let taps = taps(scale + 1);
        for y in 0..halved[0].height {
            self.filter_means(scale + 1, pair, 2 * y);
            for (picture, means) in halved.iter_mut().zip(&self.means) {
                for (x, sample) in picture.row_mut(y).iter_mut().enumerate() {
                    *sample = round_mean(weigh(taps, &means[2 * x..]));
                }
            }
        }
    }

    /// Filters columns around row `y`. The row has the window's reach on both sides, so a window starts at its centre's index.
    fn filter_means<T: PlaneSample>(&mut self, scale: usize, pair: &Pair<'_, T>, y: usize) {
        let (taps, reach, width) = (taps(scale), reach(scale), pair.reference.width());
        for (means, plane) in self.means.iter_mut().zip([&pair.reference, &pair.distorted]) {
            let rows = rows(scale, plane, y);
            for (x, mean) in means[reach..][..width].iter_mut().enumerate() {
                let weighted =
                    taps.iter().zip(rows).map(|(tap, row)| u32::from(*tap) * (row[x].into() << pair.shift));
                *mean = round_mean(weighted.sum());
            }
            mirror_ends(means, reach, width);
        }
    }

    fn filter_products<T: PlaneSample>(&mut self, scale: usize, pair: &Pair<'_, T>, y: usize) {
        let (taps, reach, width) = (taps(scale), reach(scale), pair.reference.width());
        let (reference, distorted) = (rows(scale, &pair.reference, y), rows(scale, &pair.distorted, y));
        let factors = [(reference, reference), (distorted, distorted), (reference, distorted)];
        for (products, (first, second)) in self.products.iter_mut().zip(factors) {
            for (x, product) in products[reach..][..width].iter_mut().enumerate() {
                let weighted = taps.iter().zip(first.iter().zip(second)).map(|(tap, (first, second))| {
                    let [first, second] =
                        [first[x], second[x]].map(|sample| u64::from(sample.into() << pair.shift));
                    u64::from(*tap) * first * second
                });
                *product = round_product(weighted.sum());
            }
            mirror_ends(products, reach, width);
        }
    }
}

fn reference_and(pictures: &mut [Halved], index: usize) -> Option<[&mut Halved; 2]> {
    pictures.get_disjoint_mut([0, index]).ok()
}

/// The rows under the window of `scale` around row `y`.
fn rows<'a, T: PlaneSample>(scale: usize, plane: &Plane<'a, T>, y: usize) -> [&'a [T]; MAX_TAPS] {
    array::from_fn(|tap| {
        let position = (y + tap.min(2 * reach(scale))).cast_signed() - reach(scale).cast_signed();
        plane.row(mirror(position, plane.height()))
    })
}

/// Fills `reach` samples before and behind a row of `width` samples.
fn mirror_ends<S: Copy>(row: &mut [S], reach: usize, width: usize) {
    for distance in 1..=reach {
        row[reach - distance] = row[reach + distance];
        row[reach + width - 1 + distance] = row[reach + width - 1 - distance];
    }
}

fn weigh(taps: &[u16], window: &[u16]) -> u32 {
    taps.iter().zip(window).map(|(tap, mean)| u32::from(*tap) * u32::from(*mean)).sum()
}

fn weigh_wide(taps: &[u16], window: &[u32]) -> u32 {
    round_product(taps.iter().zip(window).map(|(tap, product)| u64::from(*tap) * u64::from(*product)).sum())
}

/// A weighted sum of 16-bit samples divided by 65536, which fits into 16 bits again.
#[allow(clippy::cast_possible_truncation)]
fn round_mean(sum: u32) -> u16 {
    ((sum + (1 << 15)) >> 16) as u16
}

#[allow(clippy::cast_possible_truncation)]
fn round_product(sum: u64) -> u32 {
    ((sum + (1 << 15)) >> 16) as u32
}
