//! The environment variables that documents name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rstest::rstest;

use crate::{documents, root};

/// Where programs say which variables they read.
const SOURCES: [&str; 3] = ["crates", "xtask", "scripts"];

/// Names that begin with ours. One that ends in `_` stands for all that begin so.
fn variables(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
    words.filter(|word| word.starts_with("VMAFX_")).collect()
}

/// The text of all files below a directory, but for tests.
fn read(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            read(&path, text);
        } else if let Ok(file) = fs::read_to_string(&path) {
            *text += &file;
        }
    }
}

fn is_known(name: &str, known: &BTreeSet<&str>) -> bool {
    let family = || name.ends_with('_') && known.iter().any(|one| one.starts_with(name));
    known.contains(name) || family()
}

#[test]
fn every_variable_that_is_named_is_read_somewhere() {
    let mut source = String::new();
    for directory in SOURCES {
        read(&root().join(directory), &mut source);
    }
    let known = variables(&source);
    let mut problems = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let unknown = variables(&text).into_iter().filter(|name| !is_known(name, &known));
        let path = path.strip_prefix(root()).unwrap().display();
        problems.extend(unknown.map(|name| format!("{path}: nobody reads {name}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[rstest]
#[case("VMAFX_DB_PATH", true)]
#[case("VMAFX_DB", false)]
#[case("VMAFX_DB_", true)]
#[case("VMAFX_GRPC_", false)]
fn a_name_is_known_or_the_beginning_of_one_that_is(#[case] name: &str, #[case] expected: bool) {
    let known = variables("env = \"VMAFX_DB_PATH\", not MY_VMAFX_GRPC_ADDR");
    assert_eq!(is_known(name, &known), expected);
}
