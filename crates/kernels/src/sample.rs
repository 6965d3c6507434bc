//! Samples as they are stored: 8 bits in a byte, more in two bytes.

use crate::Plane;

/// `u8` or `u16`.
pub trait Sample: Copy + Default + Send + Sync + Into<u32> + 'static {
    /// Bytes of a stored sample.
    const BYTES: usize = size_of::<Self>();

    /// Lets code that exists once for each size of a sample be chosen.
    #[doc(hidden)]
    fn sized<'a>(plane: &Plane<'a, Self>) -> SizedPlane<'a>;
}

/// A plane by the size of its samples.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum SizedPlane<'a> {
    Bytes(Plane<'a, u8>),
    Words(Plane<'a, u16>),
}

impl Sample for u8 {
    fn sized<'a>(plane: &Plane<'a, Self>) -> SizedPlane<'a> {
        SizedPlane::Bytes(*plane)
    }
}

impl Sample for u16 {
    fn sized<'a>(plane: &Plane<'a, Self>) -> SizedPlane<'a> {
        SizedPlane::Words(*plane)
    }
}
