//! Logarithms of integers.

/// `round(2048 log2(i))` for `i` from 32768 to 65535, which 16 significant bits of every number are scaled to.
///
/// Some logarithms lie halfway between two integers after they are rounded to `f32`, so entries depend on the C library's
/// `log2f`. This table has it from where libvmaf has it.
#[derive(Debug)]
pub(super) struct LogTable {
    /// The lower half is unused: an index of 16 bits needs no check.
    entries: Box<[u16; 1 << 16]>,
}

impl LogTable {
    pub(super) fn new() -> Self {
        let entry = |index: usize| {
            let mantissa = u16::try_from(index).unwrap_or(u16::MAX).max(1 << 15);
            // The values are from 30720 to 32768.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let rounded = (f32::from(mantissa).log2() * 2048.0).round() as u16;
            rounded
        };
        Self { entries: Box::new(std::array::from_fn(entry)) }
    }

    /// The entry of 16 significant bits, of which the highest is set.
    #[inline]
    pub(super) fn entry(&self, mantissa: u16) -> u16 {
        self.entries[usize::from(mantissa)]
    }

    /// `2048 log2(value)` of a value of at least 2^15, from its 16 most significant bits.
    #[inline]
    pub(super) fn log(&self, value: u64) -> i64 {
        let exponent = value.ilog2().saturating_sub(15);
        #[allow(clippy::cast_possible_truncation)]
        let mantissa = (value >> exponent) as u16;
        i64::from(self.entry(mantissa)) + 2048 * i64::from(exponent)
    }
}
