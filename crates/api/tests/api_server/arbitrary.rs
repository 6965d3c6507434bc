//! Arbitrary values of every resource. The structs are written out without `..`, so a new field does not compile until
//! it is generated here.

mod job;
mod node;
mod tenant;
mod training;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value};
use vmafx_api::pod_template::PartialPodTemplate;
use vmafx_api::workload::StatefulSetRef;
use vmafx_api::{Condition, ConditionStatus};

pub(crate) use self::job::job;
pub(crate) use self::node::node;
pub(crate) use self::tenant::tenant;
pub(crate) use self::training::training;

/// Any text without control characters, the empty one included.
fn text() -> impl Strategy<Value = String> {
    "\\PC{0,40}"
}

fn uri() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9+.-]{0,8}://[a-z0-9]\\PC{0,40}"
}

fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[a-z][a-z0-9.]{0,20}(/[a-z]{1,8})?", text(), 0..4)
}

/// The API stores whole seconds.
fn time() -> impl Strategy<Value = Time> {
    (0..4_102_444_800_i64).prop_map(|seconds| Time(Timestamp::from_second(seconds).unwrap()))
}

/// Zero is a value of its own and is easily lost as a default.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(100.0), -1e6..1e6_f64]
}

fn percent() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(100.0), 0.0..100.0_f64]
}

fn count() -> impl Strategy<Value = i32> {
    prop_oneof![Just(0), Just(i32::MAX), 0..1000]
}

fn stateful_set() -> impl Strategy<Value = StatefulSetRef> {
    ("[a-z][a-z0-9-]{0,30}", "[0-9a-f-]{36}").prop_map(|(name, uid)| StatefulSetRef { name, uid })
}

/// Conditions of some of the given types, each at most once, as the list-map demands.
fn conditions(types: Vec<&'static str>) -> impl Strategy<Value = Vec<Condition>> {
    let all = types.len();
    subsequence(types, 0..=all).prop_flat_map(|types| types.into_iter().map(condition).collect::<Vec<_>>())
}

fn condition(type_: &'static str) -> impl Strategy<Value = Condition> {
    let status = select(vec![ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown]);
    let reason = select(vmafx_api::conditions::Reason::ALL).prop_map(|reason| reason.as_str().to_owned());
    (status, option::of(0..i64::MAX), time(), reason, text()).prop_map(
        move |(status, observed_generation, last_transition_time, reason, message)| Condition {
            type_: type_.into(),
            status,
            observed_generation,
            last_transition_time,
            reason,
            message,
        },
    )
}

/// Any object that a Pod template could hold, including fields that Kubernetes does not have.
fn pod_template() -> impl Strategy<Value = PartialPodTemplate> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text().prop_map(Value::from)
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), object(inner).prop_map(Value::from)]
    });
    object(value).prop_map(PartialPodTemplate)
}

fn object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    btree_map("[a-zA-Z]{1,10}", value, 0..4).prop_map(|map| map.into_iter().collect())
}
