//! Our additions cannot collide with those of others.

use std::collections::BTreeSet;

use crate::{
    descriptors::{messages, pool},
    frozen::PACKAGES,
};

/// The lowest number for a field that we add to a message of the contract.
fn first_own_number(package: &str) -> u32 {
    // `vmafx.v1` uses 100 to 102 itself.
    if package == "vmafx.v1" { 200 } else { 100 }
}

/// Whether a message belongs to the contract; every other message is entirely ours.
fn is_frozen(package: &str, message: &str) -> bool {
    PACKAGES.iter().any(|p| p.name == package && p.has_message(message))
}

#[test]
fn fields_that_we_add_to_messages_of_the_contract_have_high_numbers() {
    let table: BTreeSet<_> =
        PACKAGES.iter().flat_map(|p| p.fields.iter().map(|row| (p.name, row.0, row.1))).collect();
    let mut low = Vec::new();
    for message in messages(&pool()) {
        let package = message.package_name().to_owned();
        if !is_frozen(&package, message.name()) {
            continue;
        }
        for field in message.fields() {
            let ours = !table.contains(&(package.as_str(), message.name(), field.number()));
            if ours && field.number() < first_own_number(&package) {
                low.push(format!("{} = {}", field.full_name(), field.number()));
            }
        }
    }
    assert!(low.is_empty(), "fields that the contract does not have need a higher number: {low:?}");
}

#[test]
fn only_the_listed_methods_are_added_to_the_contract() {
    let known: BTreeSet<_> = PACKAGES
        .iter()
        .flat_map(|p| p.methods.iter().map(move |(name, _)| format!("{}.{}.{name}", p.name, p.service)))
        .collect();
    let added: Vec<_> = pool()
        .services()
        .flat_map(|service| service.methods().collect::<Vec<_>>())
        .map(|method| method.full_name().to_owned())
        .filter(|name| !known.contains(name))
        .collect();
    let listed = ["ReleaseJob", "LabelJob", "StreamSamples", "Explain", "ListJobs", "ListNodes", "UpdateJob"]
        .map(|name| format!("vmafx.controller.v1.VmafxController.{name}"));
    assert_eq!(added, listed);
}

#[test]
fn values_of_our_enums_carry_the_enums_name_so_that_they_cannot_collide_with_job_states() {
    for values in pool().all_enums().filter(|e| e.name() != "JobStatus") {
        let prefix = values.name().chars().fold(String::new(), |mut prefix, letter| {
            if letter.is_uppercase() && !prefix.is_empty() {
                prefix.push('_');
            }
            prefix.push(letter.to_ascii_uppercase());
            prefix
        });
        for value in values.values() {
            assert!(value.name().starts_with(&format!("{prefix}_")), "{}", value.full_name());
        }
        let zero = values.default_value();
        assert_eq!(
            zero.name(),
            format!("{prefix}_UNSPECIFIED"),
            "zero is the value of a peer that does not set the field"
        );
    }
}
