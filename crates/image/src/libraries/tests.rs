use std::os::unix::fs::symlink;

use super::*;
use crate::elf::sample::library;

fn names(closure: &LibraryClosure) -> Vec<&str> {
    closure.files.keys().filter_map(|path| path.file_name()?.to_str()).collect()
}

#[test]
fn a_real_program_gets_its_loader_and_its_libraries() {
    let program = std::env::current_exe().unwrap();
    let closure = LibraryResolver::default().closure([&program]).unwrap();
    let names = names(&closure);
    assert!(names.iter().any(|name| name.starts_with("ld-linux")), "{names:?}");
    assert!(names.contains(&"libc.so.6"), "{names:?}");
    assert!(!closure.files.contains_key(&program));
    for (path, file) in &closure.files {
        assert!(!path.parent().unwrap().is_symlink(), "{}", path.display());
        assert!(!file.is_symlink(), "{}", file.display());
    }
}

/// A directory that contains this library of the system and nothing else.
fn directory_with(library: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = fs::canonicalize(LibraryResolver::default().find(library).unwrap()).unwrap();
    fs::copy(&file, directory.path().join("the-file")).unwrap();
    symlink("the-file", directory.path().join(library)).unwrap();
    directory
}

#[test]
fn a_missing_library_is_named() {
    let directory = directory_with("libm.so.6");
    let linker = LibraryResolver::new([directory.path().to_owned()]);
    let error = linker.closure([directory.path().join("libm.so.6")]).unwrap_err().to_string();
    assert!(error.starts_with("libc.so.6, which ") && error.contains("libm.so.6 needs"), "{error}");
}

#[test]
fn a_library_has_the_requested_name_and_the_content_of_the_link_target() {
    let directory = directory_with("libc.so.6");
    let linker = LibraryResolver::new([directory.path().to_owned()]);
    let program = linker.closure([LibraryResolver::default().find("libm.so.6").unwrap()]).unwrap();
    assert_eq!(program.files[&directory.path().join("libc.so.6")], directory.path().join("the-file"));
}

#[test]
fn a_file_that_is_not_a_library_is_skipped() {
    let (bad, good) = (tempfile::tempdir().unwrap(), directory_with("libc.so.6"));
    fs::write(bad.path().join("libc.so.6"), "/* GNU ld script */").unwrap();
    let linker = LibraryResolver::new([bad.path().to_owned(), good.path().to_owned()]);
    let closure = linker.closure([LibraryResolver::default().find("libm.so.6").unwrap()]).unwrap();
    assert!(closure.files.contains_key(&good.path().join("libc.so.6")));
}

#[test]
fn a_library_by_name_comes_with_what_it_needs() {
    let closure = LibraryResolver::default().libraries(&["libm.so.6"]).unwrap();
    let names = names(&closure);
    assert!(names.contains(&"libm.so.6") && names.contains(&"libc.so.6"), "{names:?}");
    let error = LibraryResolver::default().libraries(&["libnone.so.1"]).unwrap_err().to_string();
    assert!(error.starts_with("libnone.so.1, which the image needs"), "{error}");
}

#[test]
fn indirect_libraries_are_found_where_each_object_says() {
    let system = tempfile::tempdir().unwrap();
    let at = |name: &str| system.path().join(name);
    fs::create_dir(at("private")).unwrap();
    fs::write(at("program"), library(62, &["libone.so"], "")).unwrap();
    fs::write(at("libone.so"), library(62, &["libtwo.so", "libone.so"], "$ORIGIN/private")).unwrap();
    fs::write(at("private/libtwo.so"), library(62, &["libthree.so"], "")).unwrap();
    fs::write(at("libthree.so"), library(62, &["libone.so"], "")).unwrap();
    let closure = LibraryResolver::new([system.path().to_owned()]).closure([at("program")]).unwrap();
    let expected = ["libone.so", "libthree.so", "private/libtwo.so"].map(at);
    assert_eq!(closure.files.into_keys().collect::<Vec<_>>(), expected);
}

#[test]
fn a_library_for_another_processor_is_skipped() {
    let (foreign, fitting) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = fitting.path().join("program");
    fs::write(&program, library(62, &["libone.so"], "")).unwrap();
    fs::write(foreign.path().join("libone.so"), library(183, &[], "")).unwrap();
    let linker = LibraryResolver::new([foreign.path().to_owned(), fitting.path().to_owned()]);
    assert!(matches!(linker.closure([&program]), Err(LibraryError::Missing { .. })));
    fs::write(fitting.path().join("libone.so"), library(62, &[], "")).unwrap();
    assert!(linker.closure([&program]).unwrap().files.contains_key(&fitting.path().join("libone.so")));
}
