//! The bytes of a saved learner: little-endian numbers, one after the other, with a mark and a version in front and a
//! check over all of it behind.
//!
//! Written by whoever owns the numbers and read back by it. Nothing is believed when read: lengths are held against
//! what is left before anything is allocated, and a number that is none is damage.

use super::LearnerError;
use super::options::MOST_ROWS;

const MARK: &[u8; 8] = b"VMXLEARN";
/// Of the layout. Whoever changes a `write` raises it.
pub(super) const VERSION: u32 = 1;
const CHECK_BYTES: usize = 8;
/// Beyond this, counting in floating point is not exact, and nobody has lived so long.
const MOST_TIMES: u64 = 1 << 53;

/// Collects a state.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new() -> Self {
        let mut bytes = MARK.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        Self(bytes)
    }

    pub(super) fn unsigned(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn count(&mut self, value: usize) {
        self.unsigned(value as u64);
    }

    /// To the last bit.
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
        let check = check(&self.0);
        self.unsigned(check);
        self.0
    }
}

/// Reads a state back.
pub(super) struct Reader<'a>(&'a [u8]);

pub(super) fn damaged(problem: impl Into<String>) -> LearnerError {
    LearnerError::Damaged { problem: problem.into() }
}

impl<'a> Reader<'a> {
    /// A reader behind the mark, if mark, version and check are right.
    pub(super) fn new(state: &'a [u8]) -> Result<Self, LearnerError> {
        let Some(rest) = state.strip_prefix(MARK) else {
            return Err(damaged("it is not a state of this program"));
        };
        let mut reader = Self(rest);
        let version = u32::from_le_bytes(reader.bytes()?);
        if version != VERSION {
            return Err(LearnerError::Version { found: version, expected: VERSION });
        }
        let length = reader.0.len().checked_sub(CHECK_BYTES).ok_or_else(short)?;
        let (body, end) = (&state[..state.len() - CHECK_BYTES], &reader.0[length..]);
        if end != check(body).to_le_bytes() {
            return Err(damaged("its check does not fit: it is cut off or changed"));
        }
        Ok(Self(&reader.0[..length]))
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], LearnerError> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or_else(short)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn unsigned(&mut self) -> Result<u64, LearnerError> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// How often something happened: a number that can still be counted up.
    pub(super) fn tally(&mut self) -> Result<u64, LearnerError> {
        let value = self.unsigned()?;
        if value <= MOST_TIMES { Ok(value) } else { Err(damaged("it counts more than can have happened")) }
    }

    /// A number that can be computed with.
    pub(super) fn number(&mut self) -> Result<f64, LearnerError> {
        let value = f64::from_bits(self.unsigned()?);
        if value.is_finite() { Ok(value) } else { Err(damaged("one of its numbers is none")) }
    }

    pub(super) fn numbers(&mut self, count: usize) -> Result<Vec<f64>, LearnerError> {
        self.room(count, 1)?;
        (0..count).map(|_| self.number()).collect()
    }

    /// A list whose items have so many numbers each.
    pub(super) fn list<T>(
        &mut self,
        width: usize,
        item: impl Fn(&mut Self) -> Result<T, LearnerError>,
    ) -> Result<Vec<T>, LearnerError> {
        let count = usize::try_from(self.unsigned()?).unwrap_or(usize::MAX);
        self.room(count, width)?;
        (0..count).map(|_| item(self)).collect()
    }

    pub(super) fn text(&mut self) -> Result<String, LearnerError> {
        let length = usize::try_from(self.unsigned()?).unwrap_or(usize::MAX);
        let (text, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        String::from_utf8(text.to_owned()).map_err(|_| damaged("one of its texts is none"))
    }

    /// That everything was read.
    pub(super) fn finish(self) -> Result<(), LearnerError> {
        if self.0.is_empty() { Ok(()) } else { Err(damaged(format!("{} bytes are left over", self.0.len()))) }
    }

    /// That a list can be as long as it says.
    fn room(&self, count: usize, width: usize) -> Result<(), LearnerError> {
        let needed = count.checked_mul(width).and_then(|numbers| numbers.checked_mul(size_of::<f64>()));
        match needed {
            Some(needed) if needed <= self.0.len() && count <= MOST_ROWS => Ok(()),
            _ => Err(short()),
        }
    }
}

fn short() -> LearnerError {
    damaged("it is shorter than it says")
}

/// FNV-1a. Against accidents; whoever wants to deceive is stopped by the digest of the artifact.
fn check(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::new();
        fill(&mut writer);
        writer.finish()
    }

    #[test]
    fn what_is_written_comes_back_to_the_bit() {
        let state = written(|writer| {
            writer.number(-0.0);
            writer.number(f64::MIN_POSITIVE / 3.0);
            writer.text("sha256:ab");
            writer.unsigned(u64::MAX);
        });
        let mut reader = Reader::new(&state).unwrap();
        assert_eq!(reader.number().unwrap().to_bits(), (-0.0_f64).to_bits());
        assert_eq!(reader.number().unwrap().to_bits(), (f64::MIN_POSITIVE / 3.0).to_bits());
        assert_eq!((reader.text().unwrap().as_str(), reader.unsigned().unwrap()), ("sha256:ab", u64::MAX));
        reader.finish().unwrap();
    }

    #[test]
    fn a_length_that_cannot_be_is_refused_before_anything_is_allocated() {
        for claimed in [u64::MAX, 1 << 40, MOST_ROWS as u64 + 1, 3] {
            let state = written(|writer| {
                writer.unsigned(claimed);
                writer.numbers(&[1.0, 2.0]);
            });
            let mut reader = Reader::new(&state).unwrap();
            assert!(reader.list(1, Reader::number).is_err(), "{claimed}");
        }
    }

    #[test]
    fn no_number_and_no_text_are_damage() {
        let state = written(|writer| writer.number(f64::NAN));
        assert!(Reader::new(&state).unwrap().number().is_err());
        let state = written(|writer| writer.unsigned(1 << 60));
        assert!(Reader::new(&state).unwrap().text().is_err());
        assert!(Reader::new(&state).unwrap().tally().is_err());
    }

    #[test]
    fn another_version_and_bytes_left_over_are_told() {
        let mut state = written(|writer| writer.number(1.0));
        assert!(matches!(Reader::new(&state).unwrap().finish(), Err(LearnerError::Damaged { .. })));
        state[MARK.len()] = 9;
        assert!(matches!(Reader::new(&state), Err(LearnerError::Version { found: 9, expected: VERSION })));
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_noticed() {
        let state = written(|writer| writer.numbers(&[1.0, 2.0, 3.0]));
        for length in 0..state.len() {
            assert!(Reader::new(&state[..length]).is_err(), "cut at {length}");
        }
        for place in 0..state.len() {
            let mut changed = state.clone();
            changed[place] ^= 0x10;
            assert!(Reader::new(&changed).is_err(), "changed at {place}");
        }
    }
}
