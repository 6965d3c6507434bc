//! Minimal ELF files for tests.

use super::{DYNAMIC, END, LOAD, NEEDED, RUNPATH, STRINGS};

/// Load address; not zero, so that addresses and file offsets differ.
const LOAD_ADDRESS: u64 = 0x40_0000;
const HEADERS: u64 = 64 + 2 * 56;

/// A library for this processor that needs other libraries and has a RUNPATH.
pub(crate) fn library(machine: u16, needed: &[&str], search: &str) -> Vec<u8> {
    let mut strings = vec![0];
    let mut name = |text: &str| {
        let at = strings.len() as u64;
        strings.extend(text.as_bytes());
        strings.push(0);
        at
    };
    let mut entries: Vec<_> = needed.iter().map(|library| (NEEDED, name(library))).collect();
    if !search.is_empty() {
        entries.push((RUNPATH, name(search)));
    }
    entries.extend([(STRINGS, LOAD_ADDRESS + HEADERS), (END, 0)]);

    let dynamic = HEADERS + strings.len() as u64;
    let length = dynamic + 16 * entries.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([3_u16, machine].map(u16::to_le_bytes).concat());
    file.extend([1, 0, 0, 0]);
    file.extend([0_u64, 64, 0].map(u64::to_le_bytes).concat());
    file.extend([0, 0, 0, 0]);
    file.extend([64_u16, 56, 2, 0, 0, 0].map(u16::to_le_bytes).concat());
    for (kind, offset, size) in [(LOAD, 0, length), (DYNAMIC, dynamic, length - dynamic)] {
        file.extend(kind.to_le_bytes());
        file.extend([0; 4]);
        file.extend([offset, LOAD_ADDRESS + offset, 0, size, size, 1].map(u64::to_le_bytes).concat());
    }
    file.extend(strings);
    for (tag, value) in entries {
        file.extend([tag, value].map(u64::to_le_bytes).concat());
    }
    file
}
