//! An update is refused only for what it changes.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::{job, node, object, validate};
use crate::webhook::rules::{Findings, ReviewedKind};

#[test]
fn an_unchanged_spec_is_never_refused() {
    let old = job(&json!({ "reference": "ref.mp4" }));
    let mut new = old.clone();
    new.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    assert_eq!(validate(ReviewedKind::Job, Some(&old), &new), Findings::default());
    assert_eq!(validate(ReviewedKind::Job, None, &new).violations.len(), 1);
}

#[test]
fn an_object_that_is_being_deleted_is_never_refused() {
    let old = job(&json!({ "finalizers": [] }));
    let mut new = job(&json!({ "reference": "ref.mp4" }));
    new.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
    assert_eq!(validate(ReviewedKind::Job, Some(&old), &new), Findings::default());
}

#[rstest]
#[case::another_field(json!({ "reference": "ref.mp4" }), json!({ "reference": "ref.mp4", "priority": 1 }), 0)]
#[case::corrected_and_broken_elsewhere(json!({ "reference": "ref.mp4" }), json!({ "distorted": "dis.mp4" }), 1)]
#[case::broken_otherwise(json!({ "reference": "ref.mp4" }), json!({ "reference": "other.mp4" }), 1)]
#[case::one_more(json!({ "reference": "ref.mp4" }), json!({ "reference": "ref.mp4", "model": "s3://m" }), 1)]
#[case::corrected(json!({ "reference": "ref.mp4" }), json!({}), 0)]
fn only_violations_that_an_update_introduces_count(
    #[case] old: Value,
    #[case] new: Value,
    #[case] violations: usize,
) {
    assert_eq!(validate(ReviewedKind::Job, Some(&job(&old)), &job(&new)).violations.len(), violations);
}

#[test]
fn a_violation_of_a_container_that_moved_is_not_new() {
    let template =
        |containers: Value| node(&json!({ "podTemplate": { "spec": { "containers": containers } } }));
    let old = template(json!([{ "name": "a", "image": "i:1" }, { "name": "b" }]));
    let new = template(json!([{ "name": "b" }]));
    assert_eq!(validate(ReviewedKind::Node, Some(&old), &new).violations, []);
}

#[test]
fn a_spec_that_this_release_cannot_decode_may_be_corrected() {
    let old = object(ReviewedKind::Node, &json!({ "gpuVendor": "matrox" }));
    assert_eq!(validate(ReviewedKind::Node, Some(&old), &node(&json!({}))).violations, []);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z:/.-]{0,8}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("spec"),
        Just("metadata"),
        Just("labels"),
        Just("containers"),
        Just("name"),
        Just("env"),
        Just("volumes"),
        Just("resources"),
        Just("limits"),
        Just("volumeMounts"),
        Just("tolerations"),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// For every template: validation is deterministic, each violation names a field of the template, and an update that
    /// does not change the template is never refused.
    #[test]
    fn any_template_is_validated(template in any_json()) {
        prop_assume!(template.is_object());
        let new = node(&json!({ "podTemplate": template }));
        let findings = validate(ReviewedKind::Node, None, &new);
        prop_assert_eq!(&findings, &validate(ReviewedKind::Node, None, &new));
        for violation in &findings.violations {
            prop_assert!(violation.field.starts_with("spec.podTemplate"), "{}", violation);
        }
        prop_assert_eq!(validate(ReviewedKind::Node, Some(&new), &new), Findings::default());
        let mut touched = new.clone();
        touched.data["spec"]["replicas"] = json!(3);
        prop_assert_eq!(validate(ReviewedKind::Node, Some(&new), &touched).violations, vec![]);
    }

    /// For every text in place of a URI, at most one violation is reported, and it names that field.
    #[test]
    fn any_uri_is_validated(text in ".{0,40}") {
        let findings = validate(ReviewedKind::Job, None, &job(&json!({ "reference": text })));
        prop_assert!(findings.violations.len() <= 1);
        prop_assert!(findings.violations.iter().all(|violation| violation.field == "spec.reference"));
    }
}
