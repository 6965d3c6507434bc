use std::fs;

use rstest::rstest;

use super::*;

/// The program that runs this test; it is linked with the system's C library.
fn current_program() -> Vec<u8> {
    fs::read(std::env::current_exe().unwrap()).unwrap()
}

#[test]
fn reads_what_a_real_program_needs() {
    let elf = ElfFile::parse(&current_program()).unwrap();
    assert!(elf.interpreter.unwrap().contains("/ld-linux"));
    assert!(elf.needed.contains(&"libc.so.6".to_owned()), "{:?}", elf.needed);
}

#[rstest]
#[case::script(b"#!/bin/sh\n", ElfError::NotElf)]
#[case::empty(b"", ElfError::NotElf)]
#[case::of_32_bits(b"\x7fELF\x01\x01", ElfError::Unsupported)]
#[case::big_endian(b"\x7fELF\x02\x02", ElfError::Unsupported)]
#[case::only_a_beginning(b"\x7fELF\x02\x01\x01", ElfError::Truncated)]
fn other_files_are_distinguished(#[case] file: &[u8], #[case] expected: ElfError) {
    assert_eq!(ElfFile::parse(file), Err(expected));
}

#[test]
fn a_truncated_program_is_an_error_and_not_a_shorter_list() {
    let whole = current_program();
    let headers = usize::from(u16::from_le_bytes([whole[56], whole[57]])) * 56 + 64;
    for length in (64..headers).step_by(7) {
        assert_eq!(ElfFile::parse(&whole[..length]), Err(ElfError::Truncated), "{length}");
    }
}

#[test]
fn numbers_beyond_the_file_are_errors() {
    let mut file = current_program();
    file[32..40].copy_from_slice(&(u64::MAX - 60).to_le_bytes());
    assert_eq!(ElfFile::parse(&file), Err(ElfError::Truncated));
}

#[test]
fn names_are_found_by_their_address_in_memory() {
    let expected = ElfFile {
        machine: 62,
        interpreter: None,
        needed: vec!["liba.so".into(), "libb.so.2".into()],
        search: vec!["$ORIGIN/private".into(), "/opt".into()],
    };
    let file = sample::library(62, &["liba.so", "libb.so.2"], "$ORIGIN/private:/opt");
    assert_eq!(ElfFile::parse(&file), Ok(expected));
}
