//! What we added stays where it cannot collide with what others may add.

use std::collections::BTreeSet;

use crate::{
    descriptors::{messages, pool},
    frozen::PACKAGES,
};

/// First number of ours in a message that is not ours.
fn first_number_of_ours(package: &str) -> u32 {
    // `vmafx.v1` uses 100 to 102 itself.
    if package == "vmafx.v1" { 200 } else { 100 }
}

/// Messages of the contract; a message that is not among them is entirely ours.
fn frozen(package: &str, message: &str) -> bool {
    PACKAGES.iter().any(|p| p.name == package && p.has_message(message))
}

#[test]
fn a_field_of_ours_in_a_message_of_the_contract_has_a_number_of_ours() {
    let table: BTreeSet<_> =
        PACKAGES.iter().flat_map(|p| p.fields.iter().map(|row| (p.name, row.0, row.1))).collect();
    let mut low = Vec::new();
    for message in messages(&pool()) {
        let package = message.package_name().to_owned();
        if !frozen(&package, message.name()) {
            continue;
        }
        for field in message.fields() {
            let ours = !table.contains(&(package.as_str(), message.name(), field.number()));
            if ours && field.number() < first_number_of_ours(&package) {
                low.push(format!("{} = {}", field.full_name(), field.number()));
            }
        }
    }
    assert!(low.is_empty(), "not in the contract, and below the numbers that are ours: {low:?}");
}

#[test]
fn every_method_beyond_the_contract_is_one_we_meant_to_add() {
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
    let meant = ["ReleaseJob", "LabelJob", "StreamSamples", "Explain", "ListJobs", "ListNodes"]
        .map(|name| format!("vmafx.controller.v1.VmafxController.{name}"));
    assert_eq!(added, meant);
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
            "zero is what a peer sends that does not know it"
        );
    }
}
