//! The encoding of a saved learner: magic bytes, a format version, little-endian numbers, and a checksum.
//!
//! Each type writes and reads its own fields. The reader trusts nothing: it compares a length with the remaining bytes
//! before it allocates, and it rejects numbers that are not finite.

use super::LearnerError;
use super::options::MAX_ROWS;

const MAGIC: &[u8; 8] = b"VMXLEARN";
/// Version of the layout. Every change of a `write` function must raise it.
pub(super) const VERSION: u32 = 2;
/// The oldest version that is still read. It has no labellers.
const OLDEST_VERSION: u32 = 1;
const CHECKSUM_BYTES: usize = 8;
/// Counters are used as floating-point numbers, which are exact up to here.
const MAX_COUNTER: u64 = 1 << 53;

pub(super) struct StateWriter(Vec<u8>);

impl StateWriter {
    pub(super) fn new() -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        Self(bytes)
    }

    pub(super) fn unsigned(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn count(&mut self, value: usize) {
        self.unsigned(value as u64);
    }

    pub(super) fn number(&mut self, value: f64) {
        self.unsigned(value.to_bits());
    }

    pub(super) fn numbers(&mut self, values: &[f64]) {
        for value in values {
            self.number(*value);
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let checksum = checksum(&self.0);
        self.unsigned(checksum);
        self.0
    }
}

pub(super) struct StateReader<'a> {
    rest: &'a [u8],
    version: u32,
}

pub(super) fn damaged(problem: impl Into<String>) -> LearnerError {
    LearnerError::Damaged { problem: problem.into() }
}

impl<'a> StateReader<'a> {
    /// A reader of the fields, if magic bytes, version and checksum are right.
    pub(super) fn new(state: &'a [u8]) -> Result<Self, LearnerError> {
        let Some(rest) = state.strip_prefix(MAGIC) else {
            return Err(damaged("it does not start with this program's magic bytes"));
        };
        let mut reader = Self { rest, version: VERSION };
        let version = u32::from_le_bytes(reader.bytes()?);
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            return Err(LearnerError::Version { found: version, expected: VERSION });
        }
        let length = reader.rest.len().checked_sub(CHECKSUM_BYTES).ok_or_else(truncated)?;
        let (body, end) = (&state[..state.len() - CHECKSUM_BYTES], &reader.rest[length..]);
        if end != checksum(body).to_le_bytes() {
            return Err(damaged("its checksum does not match, so it was truncated or changed"));
        }
        Ok(Self { rest: &reader.rest[..length], version })
    }

    /// Whether the writer knew who gave a label.
    pub(super) fn has_labellers(&self) -> bool {
        self.version > OLDEST_VERSION
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], LearnerError> {
        let (first, rest) = self.rest.split_first_chunk::<N>().ok_or_else(truncated)?;
        self.rest = rest;
        Ok(*first)
    }

    pub(super) fn unsigned(&mut self) -> Result<u64, LearnerError> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(super) fn counter(&mut self) -> Result<u64, LearnerError> {
        let value = self.unsigned()?;
        if value <= MAX_COUNTER { Ok(value) } else { Err(damaged("a counter is implausibly large")) }
    }

    /// A finite number.
    pub(super) fn number(&mut self) -> Result<f64, LearnerError> {
        let value = f64::from_bits(self.unsigned()?);
        if value.is_finite() { Ok(value) } else { Err(damaged("a number is not finite")) }
    }

    pub(super) fn numbers(&mut self, count: usize) -> Result<Vec<f64>, LearnerError> {
        self.check_length(count, 1)?;
        (0..count).map(|_| self.number()).collect()
    }

    /// A list whose items have `width` numbers each.
    pub(super) fn list<T>(
        &mut self,
        width: usize,
        item: impl Fn(&mut Self) -> Result<T, LearnerError>,
    ) -> Result<Vec<T>, LearnerError> {
        let count = usize::try_from(self.unsigned()?).unwrap_or(usize::MAX);
        self.check_length(count, width)?;
        (0..count).map(|_| item(self)).collect()
    }

    pub(super) fn text(&mut self) -> Result<String, LearnerError> {
        let length = usize::try_from(self.unsigned()?).unwrap_or(usize::MAX);
        let (text, rest) = self.rest.split_at_checked(length).ok_or_else(truncated)?;
        self.rest = rest;
        String::from_utf8(text.to_owned()).map_err(|_| damaged("a string is not UTF-8"))
    }

    /// Fails if there are bytes that were not read.
    pub(super) fn finish(self) -> Result<(), LearnerError> {
        let left = self.rest.len();
        if left == 0 { Ok(()) } else { Err(damaged(format!("{left} bytes are left over"))) }
    }

    /// Fails if a list claims more items than the remaining bytes can hold.
    fn check_length(&self, count: usize, width: usize) -> Result<(), LearnerError> {
        let needed = count.checked_mul(width).and_then(|numbers| numbers.checked_mul(size_of::<f64>()));
        match needed {
            Some(needed) if needed <= self.rest.len() && count <= MAX_ROWS => Ok(()),
            _ => Err(truncated()),
        }
    }
}

fn truncated() -> LearnerError {
    damaged("it is shorter than its lengths claim")
}

/// FNV-1a. It detects accidents; the digest of the artifact detects manipulation.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(fill: impl FnOnce(&mut StateWriter)) -> Vec<u8> {
        let mut writer = StateWriter::new();
        fill(&mut writer);
        writer.finish()
    }

    #[test]
    fn every_value_is_read_back_bit_for_bit() {
        let state = encoded(|writer| {
            writer.number(-0.0);
            writer.number(f64::MIN_POSITIVE / 3.0);
            writer.text("sha256:ab");
            writer.unsigned(u64::MAX);
        });
        let mut reader = StateReader::new(&state).unwrap();
        assert_eq!(reader.number().unwrap().to_bits(), (-0.0_f64).to_bits());
        assert_eq!(reader.number().unwrap().to_bits(), (f64::MIN_POSITIVE / 3.0).to_bits());
        assert_eq!((reader.text().unwrap().as_str(), reader.unsigned().unwrap()), ("sha256:ab", u64::MAX));
        reader.finish().unwrap();
    }

    #[test]
    fn an_impossible_length_is_refused_before_anything_is_allocated() {
        for claimed in [u64::MAX, 1 << 40, MAX_ROWS as u64 + 1, 3] {
            let state = encoded(|writer| {
                writer.unsigned(claimed);
                writer.numbers(&[1.0, 2.0]);
            });
            let mut reader = StateReader::new(&state).unwrap();
            assert!(reader.list(1, StateReader::number).is_err(), "{claimed}");
        }
    }

    #[test]
    fn values_that_no_writer_produces_are_damage() {
        let state = encoded(|writer| writer.number(f64::NAN));
        assert!(StateReader::new(&state).unwrap().number().is_err());
        let state = encoded(|writer| writer.unsigned(1 << 60));
        assert!(StateReader::new(&state).unwrap().text().is_err());
        assert!(StateReader::new(&state).unwrap().counter().is_err());
    }

    #[test]
    fn another_version_and_leftover_bytes_are_reported() {
        let mut state = encoded(|writer| writer.number(1.0));
        assert!(matches!(StateReader::new(&state).unwrap().finish(), Err(LearnerError::Damaged { .. })));
        state[MAGIC.len()] = 9;
        assert!(matches!(
            StateReader::new(&state),
            Err(LearnerError::Version { found: 9, expected: VERSION })
        ));
    }

    #[test]
    fn every_truncation_and_every_changed_byte_is_detected() {
        let state = encoded(|writer| writer.numbers(&[1.0, 2.0, 3.0]));
        for length in 0..state.len() {
            assert!(StateReader::new(&state[..length]).is_err(), "truncated to {length}");
        }
        for index in 0..state.len() {
            let mut changed = state.clone();
            changed[index] ^= 0x10;
            assert!(StateReader::new(&changed).is_err(), "changed at {index}");
        }
    }
}
