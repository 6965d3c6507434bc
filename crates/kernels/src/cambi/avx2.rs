//! The steps that the compiler vectorizes, for AVX2.

use super::pool::{Pool, ResponseTotals};
use super::prepare::{Preparer, SampleTooLarge};
use super::raster::Raster;
use super::response::avx2::{ColumnCounts, respond};
use super::scale::{self, ModeFilter};
use crate::dispatch::{Avx2, avx2_functions};
use crate::{Plane, PlaneSample};

#[target_feature(enable = "avx2")]
fn prepare<T: PlaneSample>(
    preparer: &mut Preparer,
    plane: &Plane<'_, T>,
    image: &mut Raster<u16>,
    mask: &mut Raster<u8>,
) -> Result<(), SampleTooLarge> {
    preparer.prepare(plane, image, mask)
}

#[target_feature(enable = "avx2")]
fn filter_mode(filter: &mut ModeFilter, image: &Raster<u16>, filtered: &mut Raster<u16>) {
    filter.filter(image, filtered);
}

#[target_feature(enable = "avx2")]
fn halve(from: &Raster<u16>, to: &mut Raster<u16>, from_mask: &Raster<u8>, to_mask: &mut Raster<u8>) {
    scale::halve(from, to);
    scale::halve(from_mask, to_mask);
}

#[target_feature(enable = "avx2")]
fn mean_of_largest(pool: &mut Pool, responses: &Raster<f32>, totals: ResponseTotals, count: usize) -> f64 {
    pool.mean_of_largest(responses, totals, count)
}

avx2_functions! {
    fn prepare<T>(
        preparer: &mut Preparer, plane: &Plane<'_, T>, image: &mut Raster<u16>, mask: &mut Raster<u8>,
    ) -> Result<(), SampleTooLarge> = prepare;
    fn halve(
        from: &Raster<u16>, to: &mut Raster<u16>, from_mask: &Raster<u8>, to_mask: &mut Raster<u8>,
    ) = halve;
    fn mean_of_largest(
        pool: &mut Pool, responses: &Raster<f32>, totals: ResponseTotals, count: usize,
    ) -> f64 = mean_of_largest;
    fn filter_mode(filter: &mut ModeFilter, image: &Raster<u16>, filtered: &mut Raster<u16>) = filter_mode;
    fn respond(
        image: &Raster<u16>, mask: &Raster<u8>, counts: &mut ColumnCounts, responses: &mut Raster<f32>,
    ) -> ResponseTotals = respond;
}
