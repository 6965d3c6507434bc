//! Samples as they are stored: 8 bits in a byte, more in two bytes.

/// `u8` or `u16`.
pub trait Sample: Copy + Default + Send + Sync + Into<u32> + 'static {
    /// Bytes of a stored sample.
    const BYTES: usize = size_of::<Self>();
}

impl Sample for u8 {}
impl Sample for u16 {}
