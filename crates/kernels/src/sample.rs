//! Samples as they are stored: 8 bits in a byte, more in two bytes.

use crate::Plane;

/// `u8` or `u16`.
pub trait PlaneSample: Copy + Default + Send + Sync + Into<u32> + 'static {
    /// Bytes of a stored sample.
    const BYTES: usize = size_of::<Self>();

    /// The plane with its type named, by which a kernel is chosen.
    fn named(plane: Plane<'_, Self>) -> NamedPlane<'_>;
}

/// A plane of one of the types of samples.
#[derive(Clone, Copy, Debug)]
pub enum NamedPlane<'a> {
    Bytes(Plane<'a, u8>),
    Words(Plane<'a, u16>),
}

impl PlaneSample for u8 {
    fn named(plane: Plane<'_, Self>) -> NamedPlane<'_> {
        NamedPlane::Bytes(plane)
    }
}

impl PlaneSample for u16 {
    fn named(plane: Plane<'_, Self>) -> NamedPlane<'_> {
        NamedPlane::Words(plane)
    }
}
