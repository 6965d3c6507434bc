//! The frozen part of the contract: names and JSON names, numbers, types, services and streaming.

use crate::{
    descriptors::{pool, signature, type_of},
    table_controller, table_scoring,
};

/// Message, number, name, JSON name, type with its label.
pub(crate) type FieldRow = (&'static str, u32, &'static str, &'static str, &'static str);

pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) service: &'static str,
    /// Name and signature.
    pub(crate) methods: &'static [(&'static str, &'static str)],
    pub(crate) fields: &'static [FieldRow],
    /// Messages without fields.
    pub(crate) empty: &'static [&'static str],
    /// Name, and each value with its number.
    pub(crate) enums: &'static [(&'static str, &'static [(&'static str, i32)])],
    /// Message, first and last reserved number.
    pub(crate) reserved: &'static [(&'static str, u32, u32)],
}

pub(crate) const PACKAGES: [Package; 2] = [table_controller::PACKAGE, table_scoring::PACKAGE];

impl Package {
    pub(crate) fn has_message(&self, name: &str) -> bool {
        self.fields.iter().any(|row| row.0 == name) || self.empty.contains(&name)
    }
}

#[test]
fn every_field_of_the_contract_has_its_number_name_json_name_and_type() {
    let pool = pool();
    let mut wrong = Vec::new();
    for package in PACKAGES {
        for row @ (message, number, name, json, kind) in package.fields {
            let found = pool
                .get_message_by_name(&format!("{}.{message}", package.name))
                .and_then(|message| message.get_field(*number))
                .map(|field| (field.name().to_owned(), field.json_name().to_owned(), type_of(&field)));
            if found != Some(((*name).to_owned(), (*json).to_owned(), (*kind).to_owned())) {
                wrong.push(format!("{}: contract {row:?}, compiled {found:?}", package.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_method_of_the_contract_has_its_messages_and_streaming_kind() {
    let pool = pool();
    for package in PACKAGES {
        let service = pool
            .get_service_by_name(&format!("{}.{}", package.name, package.service))
            .expect("both services exist");
        let found: Vec<_> =
            service.methods().map(|method| (method.name().to_owned(), signature(&method))).collect();
        for (index, (name, signature)) in package.methods.iter().enumerate() {
            let expected = Some((name.to_string(), signature.to_string()));
            assert_eq!(
                found.get(index).cloned(),
                expected,
                "the contract's methods come first, in its order"
            );
        }
    }
}

#[test]
fn every_enum_of_the_contract_has_exactly_its_values() {
    let pool = pool();
    for package in PACKAGES {
        for (name, values) in package.enums {
            let found = pool.get_enum_by_name(&format!("{}.{name}", package.name)).expect("the enum exists");
            let found: Vec<_> = found.values().map(|v| (v.name().to_owned(), v.number())).collect();
            let values: Vec<_> = values.iter().map(|(name, number)| (name.to_string(), *number)).collect();
            assert_eq!(found, values, "{name}");
        }
    }
}

#[test]
fn numbers_of_fields_that_the_contract_does_not_name_are_reserved() {
    let pool = pool();
    for package in PACKAGES {
        for (name, first, last) in package.reserved {
            let message = pool.get_message_by_name(&format!("{}.{name}", package.name)).expect("it exists");
            // The end of a range is exclusive in a descriptor.
            assert!(message.reserved_ranges().any(|range| range == (*first..*last + 1)), "{name}");
        }
    }
}

#[test]
fn a_list_of_states_is_packed() {
    let request = pool().get_message_by_name("vmafx.controller.v1.StreamJobsRequest").expect("it exists");
    assert!(request.get_field_by_name("status_filter").expect("it exists").is_packed());
}

#[test]
fn generated_servers_answer_under_the_contracts_names() {
    use vmafx_proto::{controller, scoring};
    assert_eq!(controller::v1::vmafx_controller_server::SERVICE_NAME, "vmafx.controller.v1.VmafxController");
    assert_eq!(scoring::v1::vmafx_scoring_server::SERVICE_NAME, "vmafx.v1.VmafxScoring");
}
