//! The libraries that an ELF file needs.
//!
//! Only 64-bit little-endian files are supported, which covers every machine that the project is built for. Only the
//! program headers are read, as by the loader: section headers may be stripped.

mod read;
#[cfg(test)]
pub(crate) mod sample;

use self::read::ByteReader;

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;

const END: u64 = 0;
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    #[error("it is not an ELF file")]
    NotElf,
    #[error("it is not a 64-bit little-endian ELF file")]
    Unsupported,
    #[error("it is truncated")]
    Truncated,
}

/// The parts of an ELF file that matter to the dynamic loader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ElfFile {
    /// The processor, as ELF's `e_machine`.
    pub machine: u16,
    /// The dynamic loader. Libraries and static programs have none.
    pub interpreter: Option<String>,
    pub needed: Vec<String>,
    /// RPATH and RUNPATH: directories to search first.
    pub search: Vec<String>,
}

impl ElfFile {
    pub fn parse(file: &[u8]) -> Result<Self, ElfError> {
        if !file.starts_with(b"\x7fELF") {
            return Err(ElfError::NotElf);
        }
        if file.get(4..6) != Some(&[2, 1]) {
            return Err(ElfError::Unsupported);
        }
        let bytes = ByteReader(file);
        let segments = segments(bytes)?;
        let mut elf = Self { machine: bytes.u16(18)?, ..Self::default() };
        for segment in &segments {
            match segment.kind {
                INTERPRETER => elf.interpreter = Some(bytes.text(segment.offset)?),
                DYNAMIC => elf.read_dynamic(bytes, segment, &segments)?,
                _ => {}
            }
        }
        Ok(elf)
    }

    fn read_dynamic(
        &mut self,
        bytes: ByteReader<'_>,
        dynamic: &Segment,
        segments: &[Segment],
    ) -> Result<(), ElfError> {
        let mut entries = Vec::new();
        for at in (dynamic.offset..dynamic.offset.saturating_add(dynamic.size)).step_by(16) {
            match (bytes.u64(at)?, bytes.u64(at.saturating_add(8))?) {
                (END, _) => break,
                entry => entries.push(entry),
            }
        }
        // This is an address in memory; the segment that is loaded there gives the offset in the file.
        let Some(&(_, address)) = entries.iter().find(|(tag, _)| *tag == STRINGS) else { return Ok(()) };
        let strings =
            segments.iter().find_map(|segment| segment.file_offset(address)).ok_or(ElfError::Truncated)?;
        for (tag, value) in entries {
            let text = || bytes.text(strings.saturating_add(value));
            match tag {
                NEEDED => self.needed.push(text()?),
                RPATH | RUNPATH => self.search.extend(text()?.split(':').map(str::to_owned)),
                _ => {}
            }
        }
        Ok(())
    }
}

struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

impl Segment {
    /// The offset in the file of what is loaded at this address.
    fn file_offset(&self, address: u64) -> Option<u64> {
        let within = address.checked_sub(self.address).filter(|within| *within < self.size)?;
        if self.kind == LOAD { self.offset.checked_add(within) } else { None }
    }
}

fn segments(bytes: ByteReader<'_>) -> Result<Vec<Segment>, ElfError> {
    let (table, size, count) = (bytes.u64(32)?, bytes.u16(54)?, bytes.u16(56)?);
    let segment = |number: u16| {
        let at = u64::from(number)
            .checked_mul(u64::from(size))
            .and_then(|skip| table.checked_add(skip))
            .filter(|at| at.checked_add(56).is_some())
            .ok_or(ElfError::Truncated)?;
        Ok(Segment {
            kind: bytes.u32(at)?,
            offset: bytes.u64(at + 8)?,
            address: bytes.u64(at + 16)?,
            size: bytes.u64(at + 32)?,
        })
    };
    (0..count).map(segment).collect()
}

#[cfg(test)]
mod tests;
