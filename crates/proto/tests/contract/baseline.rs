//! The contract only grows.
//!
//! `baseline.txt` lists the whole compiled contract, one fact a line, so that a review shows what a change of the
//! `.proto` files means on the wire. A fact that is missing from the compiled contract was removed or changed, and
//! fails. A fact that is missing from the file is growth: `UPDATE_BASELINE=1 cargo test -p vmafx-proto` adds it,
//! and refuses to write when another fact is missing.

use std::{collections::BTreeSet, env, fs, path::Path};

use crate::descriptors::{messages, pool, signature, type_of};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/baseline.txt");

/// Every fact that a peer can depend on, sorted.
fn compiled() -> BTreeSet<String> {
    let pool = pool();
    let mut facts = BTreeSet::new();
    for message in messages(&pool) {
        facts.insert(format!("message {}", message.full_name()));
        for range in message.reserved_ranges() {
            facts.insert(format!("reserved {} {} to {}", message.full_name(), range.start, range.end - 1));
        }
        for field in message.fields() {
            facts.insert(format!(
                "field {} = {} {} json={}",
                field.full_name(),
                field.number(),
                type_of(&field),
                field.json_name()
            ));
        }
    }
    for values in pool.all_enums() {
        for value in values.values() {
            facts.insert(format!("value {}.{} = {}", values.full_name(), value.name(), value.number()));
        }
    }
    for service in pool.services() {
        for method in service.methods() {
            facts.insert(format!("rpc {} {}", method.full_name(), signature(&method)));
        }
    }
    facts
}

/// How the compiled contract differs from the committed one.
#[derive(Debug, PartialEq)]
enum Difference {
    None,
    /// Only new facts.
    Grown(Vec<String>),
    /// Facts that peers rely on are gone.
    Broken(Vec<String>),
}

fn compare(committed: &BTreeSet<String>, compiled: &BTreeSet<String>) -> Difference {
    let missing: Vec<_> = committed.difference(compiled).cloned().collect();
    let new: Vec<_> = compiled.difference(committed).cloned().collect();
    match (missing.is_empty(), new.is_empty()) {
        (false, _) => Difference::Broken(missing),
        (true, false) => Difference::Grown(new),
        (true, true) => Difference::None,
    }
}

fn read(file: &Path) -> BTreeSet<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Compares `file` with `compiled`, and extends the file if `update` is set and nothing is missing.
fn check(file: &Path, compiled: &BTreeSet<String>, update: bool) -> Difference {
    let difference = compare(&read(file), compiled);
    if update && matches!(difference, Difference::Grown(_)) {
        let text: String = compiled.iter().flat_map(|fact| [fact.as_str(), "\n"]).collect();
        fs::write(file, text).expect("the baseline is writable");
        return Difference::None;
    }
    difference
}

fn facts<const N: usize>(facts: [&str; N]) -> BTreeSet<String> {
    facts.map(str::to_owned).into()
}

#[test]
fn the_compiled_contract_is_the_committed_one() {
    match check(Path::new(FILE), &compiled(), env::var_os("UPDATE_BASELINE").is_some()) {
        Difference::None => {}
        Difference::Grown(new) => panic!(
            "not in baseline.txt yet; run UPDATE_BASELINE=1 cargo test -p vmafx-proto and commit it:\n{}",
            new.join("\n")
        ),
        Difference::Broken(missing) => panic!(
            "removed or changed, which breaks programs that were built before:\n{}",
            missing.join("\n")
        ),
    }
}

#[test]
fn a_new_fact_is_growth_and_a_missing_or_changed_one_breaks() {
    let old = facts(["field a = 1", "field b = 2"]);
    assert_eq!(compare(&old, &old), Difference::None);
    assert_eq!(
        compare(&old, &facts(["field a = 1", "field b = 2", "field c = 3"])),
        Difference::Grown(vec!["field c = 3".to_owned()])
    );
    assert_eq!(compare(&old, &facts(["field a = 1"])), Difference::Broken(vec!["field b = 2".to_owned()]));
    assert_eq!(
        compare(&old, &facts(["field a = 1", "field b = 3"])),
        Difference::Broken(vec!["field b = 2".to_owned()])
    );
}

#[test]
fn an_update_adds_growth_and_never_writes_over_a_break() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("baseline_update.txt");
    fs::write(&file, "field a = 1\nfield b = 2\n").unwrap();

    let broken = facts(["field a = 1", "field b = 3", "field c = 4"]);
    assert_eq!(check(&file, &broken, true), Difference::Broken(vec!["field b = 2".to_owned()]));
    assert_eq!(fs::read_to_string(&file).unwrap(), "field a = 1\nfield b = 2\n");

    let grown = facts(["field a = 1", "field b = 2", "field c = 4"]);
    assert!(matches!(check(&file, &grown, false), Difference::Grown(_)));
    assert_eq!(check(&file, &grown, true), Difference::None);
    assert_eq!(read(&file), grown);
}
