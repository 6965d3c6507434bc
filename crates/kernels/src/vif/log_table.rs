//! Logarithms of integers.

/// `round(2048 log2(i))` for `i` from 32768 to 65535, which 16 significant bits of every number are scaled to.
///
/// Some logarithms lie halfway between two integers after they are rounded to `f32`, so entries depend on the C library's
/// `log2f`. This table has it from where libvmaf has it.
#[derive(Debug)]
pub(super) struct LogTable {
    /// The lower half is unused: an index of 16 bits needs no check.
    entries: Box<[u16; 1 << 16]>,
    /// See [`LogTable::correction`].
    corrections: Box<[u8; 1 << 16]>,
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
        let entries = Box::new(std::array::from_fn(entry));
        let correction = |index: usize| {
            let linear = 15 * 2048 + (index % (1 << 15)) / 16;
            // The values are from 0 to 177.
            u8::try_from(usize::from(entries[index]).saturating_sub(linear)).unwrap_or(0)
        };
        let corrections = Box::new(std::array::from_fn(correction));
        Self { entries, corrections }
    }

    /// `2048 log2(value)` of a value of at least 2^15, from its 16 most significant bits.
    #[inline]
    pub(super) fn log(&self, value: u64) -> i64 {
        let exponent = value.ilog2().saturating_sub(15);
        #[allow(clippy::cast_possible_truncation)]
        let mantissa = (value >> exponent) as u16;
        i64::from(self.entries[usize::from(mantissa)]) + 2048 * i64::from(exponent)
    }

    /// What the logarithm of a number with a mantissa of 16 bits, of which the highest is set, is more than `2048 e + m`, where
    /// `e` is its exponent and `m` the next 11 bits of the mantissa. Exponents and mantissas of floating-point numbers are side
    /// by side, so their upper bits are `2048 e + m`. The table is half as large as one of logarithms.
    #[inline]
    pub(super) fn correction(&self, mantissa: u16) -> u8 {
        self.corrections[usize::from(mantissa)]
    }
}

#[cfg(test)]
mod tests {
    use super::LogTable;

    #[test]
    fn corrections_make_logarithms_of_floating_point_numbers() {
        let table = LogTable::new();
        for mantissa in 1_u16 << 15..=u16::MAX {
            for exponent in [2, 9, 28] {
                let value = u64::from(mantissa) << exponent;
                #[allow(clippy::cast_precision_loss)]
                let upper = (value as f64).to_bits() >> 41;
                let sum = upper.cast_signed() + i64::from(table.correction(mantissa)) - 1023 * 2048;
                assert_eq!(sum, table.log(value), "{value}");
            }
        }
    }
}
