//! The API server prunes, defaults or changes no field of spec or status.
//!
//! It drops a field that the schema lacks without an error. These tests send every field of every kind through a real API
//! server, and fail when a field of the schema was never generated.

use std::collections::BTreeSet;
use std::fmt::Debug;

use kube::Resource;
use kube::api::{Api, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode, VmafxTenant};
use vmafx_testkit::kube::TestNamespace;

use crate::arbitrary;
use crate::cluster::{ResourceKind, namespace};
use crate::paths;

const CASES: u32 = 48;

#[test]
fn every_field_of_a_job_survives() {
    round_trip(ResourceKind::Job, arbitrary::job(), |name, (spec, status)| VmafxJob {
        status: Some(status),
        ..VmafxJob::new(name, spec)
    });
}

#[test]
fn every_field_of_a_node_survives() {
    round_trip(ResourceKind::Node, arbitrary::node(), |name, (spec, status)| VmafxNode {
        status: Some(status),
        ..VmafxNode::new(name, spec)
    });
}

#[test]
fn every_field_of_a_training_survives() {
    round_trip(ResourceKind::Training, arbitrary::training(), |name, (spec, status)| VmafxModelTraining {
        status: Some(status),
        ..VmafxModelTraining::new(name, spec)
    });
}

#[test]
fn every_field_of_a_tenant_survives() {
    round_trip(ResourceKind::Tenant, arbitrary::tenant(), |name, (spec, status)| VmafxTenant {
        status: Some(status),
        ..VmafxTenant::new(name, spec)
    });
}

/// Writes arbitrary objects and reads them back; at the end, every path of the schema must have had a value.
fn round_trip<K, V>(kind: ResourceKind, values: impl Strategy<Value = V>, object: fn(&str, V) -> K)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    V: Debug,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ns = runtime.block_on(namespace("round-trip"));
    let schema = kind.schema();
    let filled = std::cell::RefCell::new(BTreeSet::new());
    let number = std::cell::Cell::new(0);

    // A fixed seed: the same cases on every run, on every machine.
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&values.no_shrink(), |value| {
        number.set(number.get() + 1);
        let written = object(&format!("case-{}", number.get()), value);
        filled.borrow_mut().extend(paths::filled(&schema, &serde_json::to_value(&written).unwrap()));
        let read = runtime
            .block_on(write_and_read(&ns, &written))
            .map_err(|e| TestCaseError::fail(e.to_string()))?;
        let lost = paths::differences(&parts(&written), &parts(&read));
        if lost.is_empty() {
            Ok(())
        } else {
            Err(TestCaseError::fail(format!("written, but not read back: {lost:?}")))
        }
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }

    let all = paths::subschemas(&schema).into_iter().map(|(path, _)| path).collect::<BTreeSet<_>>();
    let never = all.difference(&filled.borrow()).cloned().collect::<Vec<_>>();
    assert_eq!(never, Vec::<String>::new(), "never had a value in {CASES} cases");
}

/// Creates the spec, patches the status by its subresource, and reads the object again.
async fn write_and_read<K>(ns: &TestNamespace, object: &K) -> kube::Result<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(ns.client(), ns.name());
    let name = object.meta().name.as_deref().unwrap();
    api.create(&PostParams::default(), object).await?;
    let status = json!({ "status": parts(object)["status"] });
    api.patch_status(name, &PatchParams::default(), &kube::api::Patch::Merge(status)).await?;
    api.get(name).await
}

/// Spec and status, without the metadata that the API server sets.
fn parts<K: Serialize>(object: &K) -> serde_json::Value {
    let object = serde_json::to_value(object).unwrap();
    json!({ "spec": object["spec"], "status": object["status"] })
}
