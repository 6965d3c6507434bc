//! The specification of every kernel: one row at a time, one coefficient after the other.

// Several rows are read and written at the same column.
#![allow(clippy::needless_range_loop, clippy::needless_pass_by_value)]

mod contrast;
mod cubes;
mod decouple;
mod masking;
mod wavelet;

pub(super) use contrast::{contrast_coarse, contrast_fine};
pub(super) use cubes::{cubes_coarse, cubes_fine};
pub(super) use decouple::{PARALLEL, decouple_coarse, decouple_fine};
pub(super) use masking::{masking_coarse, masking_fine, wrap_fifteenths};
pub(super) use wavelet::{
    horizontal_coarse, horizontal_fine, vertical_coarse, vertical_samples, vertical_widening,
};
