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

/// Segments of mantissas, each with a polynomial of its own.
pub(super) const SEGMENTS: usize = 32;

/// Mantissas of a segment.
const SEGMENT: u16 = 1 << 10;

/// Polynomials of the third degree whose integer parts are the table's entries.
#[derive(Debug)]
pub(super) struct LogPolynomials {
    /// From the constant on, for each segment. At the `t`th mantissa of segment `s`, the integer part of the value is what the
    /// entry is more than `15 * 2048 + 64 s`.
    pub coefficients: [[f32; SEGMENTS]; 4],
}

impl LogPolynomials {
    /// None if rounding keeps the polynomials from some entry.
    pub(super) fn new(table: &LogTable) -> Option<Self> {
        let mut coefficients = [[0.0; SEGMENTS]; 4];
        let [constants, ones, twos, threes] = &mut coefficients;
        let places = constants.iter_mut().zip(ones).zip(twos.iter_mut().zip(threes)).enumerate();
        for (segment, ((constant, one), (two, three))) in places {
            [*constant, *one, *two, *three] = Self::fit(table, segment)?;
        }
        Some(Self { coefficients })
    }

    #[allow(clippy::cast_possible_truncation, reason = "coefficients are rounded")]
    fn fit(table: &LogTable, segment: usize) -> Option<[f32; 4]> {
        let first = (1 << 15) + u16::try_from(segment).ok()? * SEGMENT;
        let wanted = |t: u16| {
            let linear = 15 * 2048 + 64 * segment;
            let entry = usize::from(table.entries[usize::from(first + t)]);
            f32::from(u16::try_from(entry.saturating_sub(linear)).unwrap_or(u16::MAX))
        };
        // The Taylor series around the middle, with the term of the fourth degree replaced by the nearest one of the second.
        let half = f64::from(SEGMENT / 2);
        let middle = f64::from(first) + half;
        let scale = 2048.0 / std::f64::consts::LN_2;
        let (one, three) = (scale / middle, scale / (3.0 * middle.powi(3)));
        let two = -scale / (2.0 * middle.powi(2)) - scale / (4.0 * middle.powi(4)) * half.powi(2);
        // The same as a polynomial of the distance from the first mantissa.
        let one = one - 2.0 * two * half + 3.0 * three * half.powi(2);
        let two = two - 3.0 * three * half;
        let [one, two, three] = [one, two, three].map(|coefficient| coefficient as f32);
        let rest = |t: f32| t.mul_add(three, two).mul_add(t, one);
        // The constants that lead to the right integers are an interval. Its middle is safest from rounding.
        let (mut low, mut high) = (f64::MIN, f64::MAX);
        for t in 0..SEGMENT {
            let value = f64::from(rest(f32::from(t))) * f64::from(t);
            low = low.max(f64::from(wanted(t)) - value);
            high = high.min(f64::from(wanted(t)) + 1.0 - value);
        }
        let constant = f64::midpoint(low, high) as f32;
        let is_exact = |t: u16| {
            let value = rest(f32::from(t)).mul_add(f32::from(t), constant);
            (wanted(t)..wanted(t) + 1.0).contains(&value)
        };
        (0..SEGMENT).all(is_exact).then_some([constant, one, two, three])
    }
}

#[cfg(test)]
mod tests {
    use super::{LogPolynomials, LogTable};

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

    #[test]
    fn polynomials_reach_all_entries_of_this_c_library() {
        assert!(LogPolynomials::new(&LogTable::new()).is_some());
    }

    #[test]
    fn a_table_without_polynomials_is_refused() {
        let mut table = LogTable::new();
        table.entries[40000] += 1;
        assert!(LogPolynomials::new(&table).is_none());
    }
}
