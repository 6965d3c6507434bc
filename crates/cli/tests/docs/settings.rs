//! The environment variables in the documents are read by a program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rstest::rstest;

use crate::{documents, root};

/// The directories with the sources of programs that read variables.
const SOURCES: [&str; 3] = ["crates", "xtask", "scripts"];

/// The names that begin with `VMAFX_`. A name that ends in `_` stands for all variables with that prefix.
fn variables(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
    words.filter(|word| word.starts_with("VMAFX_")).collect()
}

/// The documents that also name variables which tests read.
const ABOUT_TESTS: [&str; 2] = ["CONTRIBUTING.md", "docs/releasing.md"];

/// Appends the text of all files below a directory, except for tests if `programs`.
fn append_files(directory: &Path, programs: bool, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if programs && path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            append_files(&path, programs, text);
        } else if let Ok(file) = fs::read_to_string(&path) {
            *text += &file;
        }
    }
}

fn is_read(name: &str, read: &BTreeSet<&str>) -> bool {
    let is_prefix = || name.ends_with('_') && read.iter().any(|variable| variable.starts_with(name));
    read.contains(name) || is_prefix()
}

#[test]
fn every_documented_variable_is_read_by_a_program() {
    let source = |programs| {
        let mut text = String::new();
        for directory in SOURCES {
            append_files(&root().join(directory), programs, &mut text);
        }
        text
    };
    let [programs, all] = [true, false].map(source);
    let [read, read_by_any] = [&programs, &all].map(|text| variables(text));
    let mut problems = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(root()).unwrap();
        let read = if ABOUT_TESTS.iter().any(|name| path == Path::new(name)) { &read_by_any } else { &read };
        let unknown = variables(&text).into_iter().filter(|name| !is_read(name, read));
        let path = path.display();
        problems.extend(unknown.map(|name| format!("{path}: no program reads {name}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[rstest]
#[case("VMAFX_DB_PATH", true)]
#[case("VMAFX_DB", false)]
#[case("VMAFX_DB_", true)]
#[case("VMAFX_GRPC_", false)]
fn a_name_is_a_variable_or_a_prefix_of_one(#[case] name: &str, #[case] expected: bool) {
    let read = variables("env = \"VMAFX_DB_PATH\", not MY_VMAFX_GRPC_ADDR");
    assert_eq!(is_read(name, &read), expected);
}
