//! The steps that the compiler vectorizes, for AVX2.

use super::pool::ResponseTotals;
use super::prepare::{Preparer, SampleTooLarge};
use super::raster::Raster;
use super::response::avx2::{ColumnCounts, respond};
use super::scale::ModeFilter;
use crate::dispatch::{Avx2, avx2_functions};
use crate::{Plane, Sample};

#[target_feature(enable = "avx2")]
fn prepare<T: Sample>(
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

avx2_functions! {
    fn prepare<T>(
        preparer: &mut Preparer, plane: &Plane<'_, T>, image: &mut Raster<u16>, mask: &mut Raster<u8>,
    ) -> Result<(), SampleTooLarge> = prepare;
    fn filter_mode(filter: &mut ModeFilter, image: &Raster<u16>, filtered: &mut Raster<u16>) = filter_mode;
    fn respond(
        image: &Raster<u16>, mask: &Raster<u8>, counts: &mut ColumnCounts, responses: &mut Raster<f32>,
    ) -> ResponseTotals = respond;
}
