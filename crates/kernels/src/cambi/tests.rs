//! Each step with each instruction set equals its specification, at sizes around those of vectors, whatever is in paddings.

use rstest::rstest;

use super::prepare::tests::specified as specified_preparation;
use super::scale::tests::specified as specified_filter;
use super::*;
use crate::testing::{Random, avx2};

/// From the smallest to 300, denser where vectors begin and end.
fn lengths() -> impl Iterator<Item = usize> {
    (1..=35).chain((36..=300).step_by(33)).chain([63, 64, 65, 127, 128, 129, 255, 256, 257])
}

/// Blocks of equal samples, noise and gradients, around `centre`.
fn content(width: usize, height: usize, centre: u16, seed: usize) -> Vec<Vec<u16>> {
    let mut random = Random::new(seed);
    let row = |y: usize, random: &mut Random| {
        let sample = |x: usize| match (x / 23 + y / 17 + seed) % 4 {
            0 => centre,
            1 => centre + u16::try_from((x / 7 + y / 5) % 12).unwrap(),
            2 => centre + random.sample(2) * 3,
            _ => centre + random.sample(9),
        };
        (0..width).map(sample).collect()
    };
    (0..height).map(|y| row(y, &mut random)).collect()
}

#[test]
fn windows_are_odd_and_grow_with_the_picture() {
    assert_eq!(window(65, 3840 + 2160, false), 65);
    assert_eq!(window(65, 1920 + 1080, false), 33);
    assert_eq!(window(65, 1920 + 1080, true), 17);
    assert_eq!(window(65, 216 + 216, false), 5);
}

fn check_preparation<T: PlaneSample>(rows: &[Vec<T>], poison: T, preparation: Preparation) {
    const PADDING: usize = 5;
    let (width, height) = (rows[0].len(), rows.len());
    let padded: Vec<T> = rows.iter().flat_map(|row| row.iter().copied().chain([poison; PADDING])).collect();
    let plane = Plane::new(&padded, width + PADDING, width, height).unwrap();
    let step = if preparation.halve { 2 } else { 1 };
    let (small_width, small_height) = (width.div_ceil(step), height.div_ceil(step));
    let rasters =
        || (Raster::poisoned(small_width, small_height, 777), Raster::poisoned(small_width, small_height, 9));
    let (mut image, mut mask) = rasters();
    specified_preparation(&plane, preparation, &mut image, &mut mask);
    for avx2 in [None, avx2()] {
        let (mut found_image, mut found_mask) = rasters();
        let mut preparer = Preparer::new(width, preparation);
        // The second time finds buffers with the traces of the first.
        for _ in 0..2 {
            let result = match avx2 {
                #[cfg(target_arch = "x86_64")]
                Some(avx2) => avx2.prepare(&mut preparer, &plane, &mut found_image, &mut found_mask),
                _ => preparer.prepare(&plane, &mut found_image, &mut found_mask),
            };
            assert_eq!(result, Ok(()));
        }
        assert!(image.rows().eq(found_image.rows()), "{width}x{height}, {preparation:?}, {avx2:?}");
        assert!(mask.rows().eq(found_mask.rows()), "{width}x{height}, {preparation:?}, {avx2:?}");
    }
}

#[rstest]
fn planes_are_prepared_as_specified(
    #[values(8, 9, 10, 11, 12, 16)] depth: u32,
    #[values(false, true)] halve: bool,
) {
    for (index, width) in lengths().enumerate() {
        let height = [1, 2, 6, 7, 8, 15, 31][index % 7];
        let preparation = Preparation { depth, flatness: [7, 15, 24][index % 3], halve };
        let rows = content(width, height, 40, index);
        if depth == 8 {
            let rows: Vec<Vec<u8>> = rows
                .iter()
                .map(|row| row.iter().map(|&sample| sample.try_into().unwrap()).collect())
                .collect();
            check_preparation(&rows, 255, preparation);
        } else {
            let largest = u16::try_from((1_u32 << depth) - 1).unwrap();
            let shift = |&sample: &u16| {
                (sample << (depth - 9)).min(largest).wrapping_add(u16::from(sample == 45) * 3)
            };
            let mut rows: Vec<Vec<u16>> = rows.iter().map(|row| row.iter().map(shift).collect()).collect();
            rows[0][0] = largest;
            check_preparation(&rows, 0xffff, preparation);
        }
    }
}

#[test]
fn modes_are_filtered_as_specified() {
    for (index, width) in lengths().enumerate() {
        let height = [1, 2, 3, 4, 9, 20][index % 6];
        let mut image = Raster::poisoned(width, height, 1000);
        for (y, row) in content(width, height, 100, index).iter().enumerate() {
            image.row_mut(y).copy_from_slice(row);
        }
        let mut expected = Raster::poisoned(width, height, 5);
        specified_filter(&image, &mut expected);
        for avx2 in [None, avx2()] {
            let mut found = Raster::poisoned(width, height, 6);
            let mut filter = ModeFilter::new(width);
            match avx2 {
                #[cfg(target_arch = "x86_64")]
                Some(avx2) => avx2.filter_mode(&mut filter, &image, &mut found),
                _ => filter.filter(&image, &mut found),
            }
            assert!(expected.rows().eq(found.rows()), "{width}x{height}, {avx2:?}");
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[rstest]
fn responses_are_as_specified(
    #[values(3, 5, 15, 17, 33, 65)] window: usize,
    #[values(0, 1, 2)] max_log_contrast: u32,
    #[values(60, 75, 300, 545)] centre: u16,
) {
    let Some(avx2) = avx2() else { return };
    let contrast = Contrast::new(Eotf::Bt1886, max_log_contrast, 0.019, 0.06, window * window).unwrap();
    // Columns of counts have room for the widest picture.
    let mut columns = response::avx2::ColumnCounts::new(&contrast, 300, window).unwrap();
    let mut responded = 0;
    for (index, width) in lengths().enumerate().filter(|&(_, width)| width > window / 2) {
        let height = window / 2 + [1, 2, 9, 30][index % 4];
        let mut random = Random::new(index);
        let mut image = Raster::poisoned(width, height, centre);
        let mut mask = Raster::poisoned(width, height, 1);
        for (y, row) in content(width, height, centre, index).iter().enumerate() {
            image.row_mut(y).copy_from_slice(row);
            let holes = [1, 8, 64, 4000][index % 4];
            mask.row_mut(y)
                .iter_mut()
                .for_each(|flat| *flat = u8::from(random.below(holes) < holes.div_ceil(2) + 3));
        }
        let mut counts = WindowCounts::new(&contrast, width);
        let (mut expected, mut found) =
            (Raster::poisoned(width, height, 1.0), Raster::poisoned(width, height, 2.0));
        let totals = response::respond(&image, &mask, &contrast, window, &mut counts, &mut expected);
        for _ in 0..2 {
            let found_totals = avx2.respond(&image, &mask, &mut columns, &mut found);
            assert_eq!(totals, found_totals, "{width}x{height}");
        }
        let bits = |raster: &Raster<f32>| -> Vec<u32> {
            raster.rows().flatten().map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(&expected), bits(&found), "{width}x{height}");
        responded += totals.positive;
    }
    // Steps of one are visible only at dark samples.
    assert!(responded > 0 || centre != 75);
}
