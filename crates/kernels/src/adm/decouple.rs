//! What the kernels for decoupling share.
//!
//! They test in single precision whether vectors are parallel. A block in which that is close is computed by the specification.

use super::scalar;

/// The square of the cosine of one degree, less and more by a margin that exceeds all roundings of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct AngleLimits {
    pub(super) surely_less: f32,
    pub(super) surely_more: f32,
}

impl AngleLimits {
    /// Products of 16-bit coefficients are rounded as in the specification. Two squares, their product with the limit and the
    /// limit itself are off by less than 2^-24 each.
    pub(super) const FINE: Self = Self::new(1.0 / 2_097_152.0);
    /// Coefficients, their products and sums are rounded too: in all by less than 24 times 2^-24.
    pub(super) const COARSE: Self = Self::new(1.0 / 524_288.0);

    const fn new(margin: f32) -> Self {
        Self {
            surely_less: scalar::PARALLEL * (1.0 - margin),
            surely_more: scalar::PARALLEL * (1.0 + margin),
        }
    }
}

/// A block of columns of the three bands.
pub(super) type Block<'a, T, const LANES: usize> = [&'a [T; LANES]; 3];

#[cold]
#[inline(never)]
pub(super) fn fine_exactly<const LANES: usize>(
    gain: u32,
    reference: Block<'_, i16, LANES>,
    distorted: Block<'_, i16, LANES>,
    restored: [&mut [i16; LANES]; 3],
    added: [&mut [i16; LANES]; 3],
) {
    scalar::decouple_fine(
        gain,
        reference.map(<[i16; LANES]>::as_slice),
        distorted.map(<[i16; LANES]>::as_slice),
        restored.map(<[i16; LANES]>::as_mut_slice),
        added.map(<[i16; LANES]>::as_mut_slice),
    );
}

#[cold]
#[inline(never)]
pub(super) fn coarse_exactly<const LANES: usize>(
    gain: u32,
    reference: Block<'_, i32, LANES>,
    distorted: Block<'_, i32, LANES>,
    restored: [&mut [i32; LANES]; 3],
    added: [&mut [i32; LANES]; 3],
) {
    scalar::decouple_coarse(
        gain,
        reference.map(<[i32; LANES]>::as_slice),
        distorted.map(<[i32; LANES]>::as_slice),
        restored.map(<[i32; LANES]>::as_mut_slice),
        added.map(<[i32; LANES]>::as_mut_slice),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_on_both_sides_of_one_degree() {
        for limits in [AngleLimits::FINE, AngleLimits::COARSE] {
            assert!(limits.surely_less < scalar::PARALLEL && scalar::PARALLEL < limits.surely_more);
        }
    }
}
