//! ARCHITECTURE.md agrees with the workspace: its crate table with `cargo metadata`, the paths in its maps with the tree.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

/// The crate table: crate, description, dependencies.
const CRATES: &str = "| crate |";
/// The maps whose second column holds paths, and nothing but paths in backticks.
const PATHS: [&str; 2] = ["| to change |", "| claim |"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn page() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// The rows below the only header that starts with `header`, as cells.
fn rows<'a>(page: &'a str, header: &str) -> Vec<Vec<&'a str>> {
    let tables: Vec<_> = page.lines().enumerate().filter(|(_, line)| line.starts_with(header)).collect();
    let [(at, _)] = tables[..] else { panic!("{} tables start with {header:?}", tables.len()) };
    let body = page.lines().skip(at + 2).take_while(|line| line.starts_with('|'));
    body.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

fn in_backticks(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Workspace members and the members that each depends on, without dev- and build-dependencies.
fn members() -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    let output =
        cargo.current_dir(root()).args(["metadata", "--no-deps", "--format-version=1"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let short = |name: &Value| {
        let name = name.as_str().unwrap();
        name.strip_prefix("vmafx-").unwrap_or(name).to_owned()
    };
    let dependencies = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        let linked = all.filter(|one| one["path"].is_string() && one["kind"].is_null());
        linked.map(|one| short(&one["name"])).collect()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (package["name"].as_str().unwrap().to_owned(), dependencies(package))).collect()
}

/// What the crate table says that is not so, and what it leaves out.
fn crate_problems(page: &str, members: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let (mut problems, mut listed) = (Vec::new(), BTreeSet::new());
    for row in rows(page, CRATES) {
        let [name, _, dependencies] = row[..] else { panic!("not three cells: {row:?}") };
        let name = name.trim_matches('`');
        if !listed.insert(name) {
            problems.push(format!("{name} has two rows"));
        }
        let written: BTreeSet<_> =
            dependencies.split(", ").filter(|one| *one != "-").map(str::to_owned).collect();
        match members.get(name) {
            None => problems.push(format!("{name} is not in the workspace: delete its row")),
            Some(actual) if *actual != written => {
                let actual: Vec<_> = actual.iter().map(String::as_str).collect();
                problems.push(format!("{name} depends on: {}", actual.join(", ")));
            }
            Some(_) => {}
        }
    }
    let missing = members.keys().filter(|name| !listed.contains(name.as_str()));
    problems.extend(missing.map(|name| format!("{name} has no row")));
    problems
}

/// Every path in backticks that leads nowhere.
fn path_problems(page: &str, header: &str, root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for row in rows(page, header) {
        let [what, paths] = row[..] else { panic!("not two cells: {row:?}") };
        assert!(paths.contains('`'), "no path for {what:?}");
        let paths = in_backticks(paths).flat_map(expand_braces);
        let missing = paths.filter(|path| !exists(root, path));
        problems.extend(missing.map(|path| format!("{what}: there is no {path}")));
    }
    problems
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn expand_braces(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let (choices, after) = rest.split_once('}').unwrap_or_else(|| panic!("no closing brace in {path}"));
    choices.split(',').flat_map(|choice| expand_braces(&format!("{before}{choice}{after}"))).collect()
}

/// Whether a path exists; one `*` in a component stands for any characters.
fn exists(root: &Path, path: &str) -> bool {
    let mut matching = vec![root.to_owned()];
    for component in path.split('/').filter(|component| !component.is_empty()) {
        let Some((prefix, suffix)) = component.split_once('*') else {
            matching = matching.iter().map(|directory| directory.join(component)).collect();
            continue;
        };
        let entries = matching.iter().filter_map(|directory| directory.read_dir().ok()).flatten();
        let found = entries.map(|entry| entry.unwrap().path()).filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.len() >= prefix.len() + suffix.len() && name.starts_with(prefix) && name.ends_with(suffix)
        });
        matching = found.collect();
    }
    matching.iter().any(|path| path.exists())
}

#[test]
fn every_crate_has_a_row_with_its_dependencies() {
    let problems = crate_problems(&page(), &members());
    assert!(problems.is_empty(), "the crate table of ARCHITECTURE.md:\n{}", problems.join("\n"));
}

#[test]
fn every_path_in_the_maps_exists() {
    let page = page();
    let problems: Vec<_> = PATHS.iter().flat_map(|header| path_problems(&page, header, root())).collect();
    assert!(problems.is_empty(), "the maps of ARCHITECTURE.md:\n{}", problems.join("\n"));
}

#[test]
fn a_stale_crate_table_is_found() {
    let page = "| crate | what it is | depends on |\n|---|---|---|\n| `a` | | b |\n| `b` | | - |\n| `gone` | | - |\n";
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let members = [("a", set(&["b", "c"])), ("b", set(&[])), ("c", set(&[]))];
    let members = members.map(|(name, dependencies)| (name.to_owned(), dependencies)).into();
    let expected = ["a depends on: b, c", "gone is not in the workspace: delete its row", "c has no row"];
    assert_eq!(crate_problems(page, &members), expected);
}

#[test]
fn a_stale_path_is_found() {
    let page =
        "| claim | where |\n|---|---|\n| one | `src/{lib,main}.rs` and `tests/a*` |\n| two | `src/` |\n";
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir(tree.path().join("src")).unwrap();
    fs::write(tree.path().join("src/lib.rs"), "").unwrap();
    let expected = ["one: there is no src/main.rs", "one: there is no tests/a*"];
    assert_eq!(path_problems(page, "| claim |", tree.path()), expected);
}

#[rstest]
#[case("xtask/tests/arch*.rs", true)]
#[case("xtask/*/architecture.rs", true)]
#[case("xtask/tests/arch*.md", false)]
#[case("xtask/src/", true)]
fn a_star_stands_for_any_characters(#[case] path: &str, #[case] expected: bool) {
    assert_eq!(exists(root(), path), expected);
}
