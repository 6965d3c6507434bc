//! Numbers and texts at places of a file.

use super::ElfError;

/// A file that may be shorter than it says.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl Bytes<'_> {
    fn at<const N: usize>(self, place: u64) -> Result<[u8; N], ElfError> {
        let from = usize::try_from(place).map_err(|_| ElfError::Truncated)?;
        let bytes = self.0.get(from..).and_then(<[u8]>::first_chunk);
        bytes.copied().ok_or(ElfError::Truncated)
    }

    pub(super) fn u16(self, place: u64) -> Result<u16, ElfError> {
        self.at(place).map(u16::from_le_bytes)
    }

    pub(super) fn u32(self, place: u64) -> Result<u32, ElfError> {
        self.at(place).map(u32::from_le_bytes)
    }

    pub(super) fn u64(self, place: u64) -> Result<u64, ElfError> {
        self.at(place).map(u64::from_le_bytes)
    }

    /// Up to the zero that ends it.
    pub(super) fn text(self, place: u64) -> Result<String, ElfError> {
        let from = usize::try_from(place).map_err(|_| ElfError::Truncated)?;
        let rest = self.0.get(from..).ok_or(ElfError::Truncated)?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or(ElfError::Truncated)?;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}
