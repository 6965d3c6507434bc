//! Kernels of instruction sets against the specification, on intermediate values and on the integer sums of whole pictures.

#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // Of small random numbers.

use super::kernels::{Coefficient, CoefficientSource, padded};
use super::shifts::ScaleShifts;
use super::*;
use crate::PlaneSample;

/// A generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }

    /// From `-limit` to `limit`.
    fn signed(&mut self, limit: i64) -> i64 {
        self.next().cast_signed() % (2 * limit + 1) - limit
    }
}

/// How the values of a row are distributed.
#[derive(Clone, Copy, Debug)]
enum Values {
    /// Of the whole range.
    Wide,
    /// A few units around zero.
    Small,
    /// Of all orders of magnitude.
    Logarithmic,
    Extremes,
    Zero,
}

impl Values {
    const ALL: [Self; 5] = [Self::Wide, Self::Small, Self::Logarithmic, Self::Extremes, Self::Zero];

    fn draw(self, random: &mut Random, limit: i64) -> i64 {
        match self {
            Self::Wide => random.signed(limit),
            Self::Small => random.signed(9),
            Self::Logarithmic => random.signed(limit) >> (random.next() % 31),
            Self::Extremes => [-limit, limit, 1 - limit, limit - 1][(random.next() % 4) as usize],
            Self::Zero => 0,
        }
    }

    /// A row that can be read in whole vectors, with random values behind its end.
    fn row<T: TryFrom<i64>>(self, random: &mut Random, length: usize, limit: i64) -> Vec<T> {
        (0..padded(length))
            .map(|x| if x < length { self.draw(random, limit) } else { Self::Wide.draw(random, limit) })
            .map(|value| T::try_from(value).unwrap_or_else(|_| panic!("{limit} is too large")))
            .collect()
    }
}

fn lengths() -> impl Iterator<Item = usize> {
    (1..70).chain((70..=300).step_by(7))
}

fn scalar_set() -> Simd {
    Simd::new(InstructionSet::Scalar).unwrap()
}

fn vector_sets() -> impl Iterator<Item = Simd> {
    InstructionSet::available().skip(1).map(|set| Simd::new(set).unwrap())
}

fn references<T>(rows: &[Vec<T>]) -> [&[T]; 3] {
    [&rows[0], &rows[1], &rows[2]]
}

/// Shifts and weights of all scales, for some sizes and displays.
fn shifts(scale: usize) -> Vec<ScaleShifts> {
    let displays = [
        (ContrastSensitivity::Watson, 3.0, 1080),
        (ContrastSensitivity::Watson, 6.5, 1080),
        (ContrastSensitivity::BartenWatson, 3.0, 1080),
        (ContrastSensitivity::BartenWatson, 5.0, 1080),
        (ContrastSensitivity::BartenWatson, 3.0, 2160),
    ];
    let all = displays.into_iter().flat_map(|(model, distance, height)| {
        let weights = model.weights(distance, height).unwrap()[scale];
        [(33, 35), (1920, 1080), (3840, 2160)].map(|(width, height)| {
            let (columns, rows) = (&Axis::scales(width)[scale], &Axis::scales(height)[scale]);
            match scale {
                0 => ScaleShifts::fine(columns, rows, weights, MaskingOverflow::Avx2, false),
                _ => ScaleShifts::coarse(scale, columns, rows, weights),
            }
        })
    });
    all.collect()
}

/// The largest magnitudes of coefficients by scale.
const LIMITS: [i64; SCALES] = [23_169, 2_000_000_000, 1_470_000_000, 2_000_000_000];

fn vertical_equals<T: CoefficientSource + TryFrom<i64>>(depth: u32, offset: i64, limit: i64)
where
    T::Coefficient: PartialEq + std::fmt::Debug,
{
    let mut random = Random(7);
    for length in lengths() {
        for values in Values::ALL {
            let rows = [(); 4].map(|()| -> Vec<T> {
                let row: Vec<i64> = values.row(&mut random, length, limit);
                row.iter().map(|value| T::try_from(value + offset).unwrap_or_default()).collect()
            });
            let run = |simd| {
                let mut outputs = [(); 2].map(|()| vec![T::Coefficient::default(); padded(length)]);
                let [low, high] = &mut outputs;
                T::vertical(simd, depth, rows.each_ref().map(|row| &row[..length]), low, high);
                outputs.map(|row| row[..length].to_vec())
            };
            for simd in vector_sets() {
                assert!(run(simd) == run(scalar_set()), "{length} {values:?} {depth} {simd:?}");
            }
        }
    }
}

#[test]
fn vertical_passes_equal_the_specification() {
    vertical_equals::<u8>(8, 128, 127);
    for depth in [9, 10, 12, 14, 15, 16] {
        vertical_equals::<u16>(depth, 1 << (depth - 1), (1 << (depth - 1)) - 1);
    }
    vertical_equals::<i16>(8, 0, LIMITS[0]);
    vertical_equals::<i32>(8, 0, LIMITS[1]);
}

fn horizontal_equals<C: Coefficient + TryFrom<i64> + PartialEq>(shifts: &ScaleShifts, limit: i64) {
    let mut random = Random(11);
    for length in lengths() {
        for values in Values::ALL {
            let source: Vec<C> = values.row(&mut random, 2 * length + 2, limit);
            let run = |simd| {
                let mut outputs = [(); 2].map(|()| vec![C::default(); padded(length)]);
                let [low, high] = &mut outputs;
                C::horizontal(simd, shifts, length, &source, low, high);
                outputs.map(|row| row[..length].to_vec())
            };
            for simd in vector_sets() {
                assert!(run(simd) == run(scalar_set()), "{length} {values:?} {simd:?}");
            }
        }
    }
}

#[test]
fn horizontal_passes_equal_the_specification() {
    horizontal_equals::<i16>(&shifts(0)[0], 27_411);
    for (scale, limit) in [(1, 1_250_000_000), (2, 1_750_000_000), (3, 1_230_000_000)] {
        horizontal_equals::<i32>(&shifts(scale)[0], limit);
    }
}

/// Distorted rows that are unrelated, equal, or nearly parallel or proportional to the reference.
fn related<T: TryFrom<i64> + Copy + Into<i64>>(
    random: &mut Random,
    kind: usize,
    reference: &[Vec<T>],
    limit: i64,
) -> Vec<Vec<T>> {
    let mut rows: Vec<Vec<T>> = Vec::new();
    for row in reference {
        let row = row.iter().map(|&value| {
            let value: i64 = value.into();
            let value = match kind {
                0 => random.signed(limit),
                1 => value,
                2 => value + random.signed(value.abs() / 57 + 1),
                3 => value * 3 / 2,
                4 => value * (random.next() % 300) as i64 / 100,
                _ => -value + random.signed(3),
            };
            T::try_from(value.clamp(-limit, limit)).unwrap_or_else(|_| panic!("{value}"))
        });
        rows.push(row.collect());
    }
    rows
}

fn decouple_equals<C>(limits: &[i64])
where
    C: Coefficient + TryFrom<i64> + Into<i64> + PartialEq + std::fmt::Debug,
{
    let mut random = Random(13);
    for length in lengths() {
        for values in Values::ALL {
            for &limit in limits {
                for kind in 0..6 {
                    let reference: Vec<Vec<C>> =
                        (0..3).map(|_| values.row(&mut random, length, limit)).collect();
                    let distorted = related(&mut random, kind, &reference, limit);
                    for gain in [1, 2, 3, 99, 100] {
                        let run = |simd| {
                            let mut outputs =
                                [(); 2].map(|()| [(); 3].map(|()| vec![C::default(); padded(length)]));
                            let [restored, added] = &mut outputs;
                            C::decouple(
                                simd,
                                gain,
                                length,
                                [references(&reference), references(&distorted)],
                                restored.each_mut().map(Vec::as_mut_slice),
                                added.each_mut().map(Vec::as_mut_slice),
                            );
                            outputs.map(|bands| bands.map(|row| row[..length].to_vec()))
                        };
                        for simd in vector_sets() {
                            let (ours, specified) = (run(simd), run(scalar_set()));
                            assert!(
                                ours == specified,
                                "{length} {values:?} {limit} {kind} {gain} {simd:?}: {reference:?} {distorted:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn decoupling_equals_the_specification() {
    // The largest is above that of pictures and below the least enhanced one that is limited.
    decouple_equals::<i16>(&[300, 16_384, 16_385, 32_640]);
    decouple_equals::<i32>(&[300, 16_384, 40_000, 70_000_000, LIMITS[1]]);
}

/// Vectors at one degree to each other, as exactly as whole numbers allow.
#[allow(clippy::cast_precision_loss)] // Of 24 bits.
fn nearly_parallel_equals<C>(limit: f64)
where
    C: Coefficient + TryFrom<i64> + PartialEq + std::fmt::Debug,
{
    const LENGTH: usize = 96;
    let mut random = Random(23);
    let mut unit = move || (random.next() % (1 << 24)) as f64 / f64::from(1 << 24);
    for _ in 0..20_000 {
        let mut images = [(); 2].map(|()| [(); 3].map(|()| Vec::new()));
        for x in 0..padded(LENGTH) {
            let angle = unit() * std::f64::consts::TAU;
            let degree = if unit() < 0.5 { 1_f64 } else { -1.0 }.to_radians();
            for (image, angle) in images.iter_mut().zip([angle, angle + degree]) {
                let length = limit * unit().powi(if x % 2 == 0 { 1 } else { 4 });
                let vector = [length * angle.cos(), length * angle.sin(), length * unit()];
                for (band, value) in image.iter_mut().zip(vector) {
                    band.push(C::try_from(value.round() as i64).unwrap_or_default());
                }
            }
        }
        let run = |simd| {
            let mut outputs = [(); 2].map(|()| [(); 3].map(|()| vec![C::default(); padded(LENGTH)]));
            let [restored, added] = &mut outputs;
            C::decouple(
                simd,
                100,
                LENGTH,
                images.each_ref().map(|bands| references(bands)),
                restored.each_mut().map(Vec::as_mut_slice),
                added.each_mut().map(Vec::as_mut_slice),
            );
            outputs.map(|bands| bands.map(|row| row[..LENGTH].to_vec()))
        };
        for simd in vector_sets() {
            assert!(run(simd) == run(scalar_set()), "{simd:?}: {images:?}");
        }
    }
}

#[test]
fn angles_of_one_degree_are_decided_as_specified() {
    nearly_parallel_equals::<i16>(23_000.0);
    nearly_parallel_equals::<i32>(1_400_000_000.0);
}

/// Every reference coefficient up to the limit with every distorted one: what [`avx2::decouple_fine`] claims to be exact.
#[test]
fn small_coefficients_are_decoupled_without_division() {
    let mut distorted = Vec::new();
    for reference in (1..=16_384_i64).step_by(61).chain(16_300..=16_384) {
        distorted.clear();
        let near =
            [0, reference / 3, reference / 2, reference - 40, reference].map(|near| near - 20..near + 60);
        distorted.extend(near.into_iter().flatten());
        let row = |value: i64| vec![i16::try_from(value).unwrap(); padded(distorted.len())];
        for sign in [1, -1] {
            let reference = [row(sign * reference), row(0), row(-sign * reference)];
            let mut test = row(0);
            for (to, from) in test.iter_mut().zip(&distorted) {
                *to = i16::try_from(*from).unwrap();
            }
            let test = [test.clone(), test.clone(), test];
            let run = |simd| {
                let mut outputs = [(); 2].map(|()| [row(0), row(0), row(0)]);
                let [restored, added] = &mut outputs;
                <i16 as Coefficient>::decouple(
                    simd,
                    1,
                    distorted.len(),
                    [references(&reference), references(&test)],
                    restored.each_mut().map(Vec::as_mut_slice),
                    added.each_mut().map(Vec::as_mut_slice),
                );
                outputs.map(|bands| bands.map(|row| row[..distorted.len()].to_vec()))
            };
            for simd in vector_sets() {
                assert!(run(simd) == run(scalar_set()), "{}", reference[0][0]);
            }
        }
    }
}

fn sums_equal<C: Coefficient + TryFrom<i64>>(scale: usize) {
    let limit = LIMITS[scale];
    let share_limit = [27_000, 60_000_000][scale.min(1)];
    let mut random = Random(17);
    let shifts = shifts(scale);
    for length in lengths() {
        for values in Values::ALL {
            let exact_columns = (random.next() % (length as u64 + 1)) as usize;
            let shifts = &shifts[(random.next() % shifts.len() as u64) as usize];
            let shifts = &ScaleShifts { exact_columns, ..shifts.clone() };
            let bands: Vec<Vec<C>> = (0..3).map(|_| values.row(&mut random, length, limit)).collect();
            let shares = [(); 3].map(|()| -> Vec<i32> { values.row(&mut random, length + 2, share_limit) });
            let shares = shares.map(|row| row.into_iter().map(i32::abs).collect::<Vec<_>>());
            let excesses: Vec<i32> = values.row(&mut random, length, share_limit);
            let run = |simd| {
                let shares = shares.each_ref().map(Vec::as_slice);
                [
                    C::cubes(simd, shifts, length, references(&bands)),
                    C::contrast(simd, shifts, length, references(&bands), shares, &excesses),
                ]
            };
            let masks = |simd| {
                let mut outputs = [(); 2].map(|()| vec![0; padded(length)]);
                let [shares, excesses] = &mut outputs;
                C::masking(simd, shifts, length, references(&bands), shares, excesses);
                outputs.map(|row| row[..length].to_vec())
            };
            for simd in vector_sets() {
                assert_eq!(run(simd), run(scalar_set()), "{scale} {length} {values:?} {simd:?}");
                assert_eq!(masks(simd), masks(scalar_set()), "{scale} {length} {values:?} {simd:?}");
            }
        }
    }
}

#[test]
fn sums_and_masks_equal_the_specification() {
    sums_equal::<i16>(0);
    for scale in 1..SCALES {
        sums_equal::<i32>(scale);
    }
}

/// A plane with random samples behind the end of each row.
fn plane<T: PlaneSample + TryFrom<u64>>(
    random: &mut Random,
    stride: usize,
    height: usize,
    max: u64,
    kind: usize,
) -> Vec<T> {
    (0..stride * height)
        .map(|index| {
            let sample = match kind {
                0 => random.next() % (max + 1),
                1 => [0, max][(random.next() % 2) as usize],
                _ => (max / 2 + (index % stride + index / stride) as u64 + random.next() % 3).min(max),
            };
            T::try_from(sample).unwrap_or_default()
        })
        .collect()
}

fn pictures_equal<T: PlaneSample + CoefficientSource<Coefficient = i16> + TryFrom<u64>>(
    depth: u32,
    sizes: &[(usize, usize)],
) {
    let mut random = Random(19);
    for (index, &(width, height)) in sizes.iter().enumerate() {
        let strides = [width, width + 1 + index % 40];
        let planes =
            strides.map(|stride| plane::<T>(&mut random, stride, height, (1 << depth) - 1, index % 3));
        let planes = [0, 1].map(|image| Plane::new(&planes[image], strides[image], width, height).unwrap());
        let overflows = [MaskingOverflow::Everywhere, MaskingOverflow::Avx2, MaskingOverflow::Avx512];
        for (gain, overflow) in [1, 100].into_iter().flat_map(|gain| overflows.map(|of| (gain, of))) {
            let sums = |instruction_set| {
                let options = AdmOptions { enhancement_gain_limit: gain, ..AdmOptions::default() };
                let config = AdmConfig { width, height, depth, options, overflow, instruction_set };
                let mut adm = Adm::new(&config).unwrap();
                // The second time finds the first one's rows in its buffers.
                [adm.sums(planes.each_ref()), adm.sums(planes.each_ref())]
            };
            let [specified, again] = sums(InstructionSet::Scalar);
            assert_eq!(specified, again);
            for set in InstructionSet::available().skip(1) {
                let what = format!("{width}x{height} {depth} {overflow:?} {set}");
                assert_eq!(sums(set), [specified, specified], "{what}");
            }
        }
    }
}

#[test]
fn pictures_of_all_sizes_equal_the_specification() {
    let widths: Vec<_> = (33..300).map(|width| (width, 33 + width % 9)).collect();
    let heights: Vec<_> = (33..300).step_by(3).map(|height| (33 + height % 17, height)).collect();
    pictures_equal::<u8>(8, &widths);
    pictures_equal::<u8>(8, &heights);
    for depth in [9, 10, 12, 16] {
        let offset = depth as usize % 5;
        pictures_equal::<u16>(depth, &widths.iter().copied().skip(offset).step_by(5).collect::<Vec<_>>());
    }
}
