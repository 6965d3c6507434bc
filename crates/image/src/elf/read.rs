use super::ElfError;

/// Reads numbers and strings at offsets of a file that may be truncated.
#[derive(Clone, Copy)]
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl ByteReader<'_> {
    fn at<const N: usize>(self, offset: u64) -> Result<[u8; N], ElfError> {
        let from = usize::try_from(offset).map_err(|_| ElfError::Truncated)?;
        let bytes = self.0.get(from..).and_then(<[u8]>::first_chunk);
        bytes.copied().ok_or(ElfError::Truncated)
    }

    pub(super) fn u16(self, offset: u64) -> Result<u16, ElfError> {
        self.at(offset).map(u16::from_le_bytes)
    }

    pub(super) fn u32(self, offset: u64) -> Result<u32, ElfError> {
        self.at(offset).map(u32::from_le_bytes)
    }

    pub(super) fn u64(self, offset: u64) -> Result<u64, ElfError> {
        self.at(offset).map(u64::from_le_bytes)
    }

    /// A zero-terminated string.
    pub(super) fn text(self, offset: u64) -> Result<String, ElfError> {
        let from = usize::try_from(offset).map_err(|_| ElfError::Truncated)?;
        let rest = self.0.get(from..).ok_or(ElfError::Truncated)?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or(ElfError::Truncated)?;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}
