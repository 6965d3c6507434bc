//! docs/security.md names only tests that exist, and a test for each of its claims.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

use std::fs;
use std::path::Path;

use rstest::rstest;

const HEADER: &str = "| claim | guarded by |";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The rows of all tables of claims, as their two cells.
fn claims(page: &str) -> Vec<(&str, &str)> {
    let lines: Vec<_> = page.lines().collect();
    let tables = (0..lines.len()).filter(|&at| lines[at] == HEADER);
    let rows = tables.flat_map(|at| lines[at + 2..].iter().take_while(|line| line.starts_with('|')));
    rows.map(|row| row.trim_matches('|').split_once(" | ").unwrap_or_else(|| panic!("not two cells: {row}")))
        .map(|(claim, tests)| (claim.trim(), tests.trim()))
        .collect()
}

/// The files and tests of a cell: "`file`: `test`, `test`; `file`: `test`".
fn tests(cell: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for part in cell.split(';') {
        let mut names = part.split('`').skip(1).step_by(2);
        let Some(file) = names.next() else { continue };
        found.extend(names.map(|test| (file, test)));
    }
    found
}

/// Why a claim is not guarded.
fn problems(page: &str, root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for (claim, cell) in claims(page) {
        let tests = tests(cell);
        if tests.is_empty() {
            problems.push(format!("no test guards: {claim}"));
        }
        for (file, test) in tests {
            match fs::read_to_string(root.join(file)) {
                Err(_) => problems.push(format!("there is no {file}")),
                Ok(source) if !source.contains(&format!("fn {test}(")) => {
                    problems.push(format!("{file} has no test {test}"));
                }
                Ok(_) => {}
            }
        }
    }
    problems
}

#[test]
fn every_claim_of_the_threat_model_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    assert!(claims(&page).len() > 30, "{} claims", claims(&page).len());
    let problems = problems(&page, root());
    assert!(problems.is_empty(), "docs/security.md:\n{}", problems.join("\n"));
}

#[rstest]
#[case::guarded("`src/lib.rs`: `it_holds`", &[])]
#[case::two_files("`src/lib.rs`: `it_holds`; `src/lib.rs`: `it_holds`", &[])]
#[case::renamed("`src/lib.rs`: `it_holds`, `it_held`", &["src/lib.rs has no test it_held"])]
#[case::part_of_a_name("`src/lib.rs`: `holds`", &["src/lib.rs has no test holds"])]
#[case::moved("`src/main.rs`: `it_holds`", &["there is no src/main.rs"])]
#[case::only_a_file("`src/lib.rs`", &["no test guards: one"])]
#[case::nothing("", &["no test guards: one"])]
fn a_claim_without_its_test_is_found(#[case] cell: &str, #[case] expected: &[&str]) {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir(tree.path().join("src")).unwrap();
    fs::write(tree.path().join("src/lib.rs"), "#[test]\nfn it_holds() {}\n").unwrap();
    let page = format!("text\n\n{HEADER}\n|---|---|\n| one | {cell} |\n\nmore\n");
    assert_eq!(problems(&page, tree.path()), expected);
}
