use k8s_openapi::api::core::v1::{ResourceClaim, ResourceRequirements, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use vmafx_api::conditions::NodeCondition;
use vmafx_api::node::{GpuVendor, ManagementPolicy, QuarantinedWorkers};
use vmafx_api::{VmafxNodeSpec, VmafxNodeStatus};

use super::{conditions, count, labels, pod_template, stateful_set, text, time};

pub(crate) fn node() -> impl Strategy<Value = (VmafxNodeSpec, VmafxNodeStatus)> {
    (prop_oneof![4 => managed(), 1 => external()], status())
}

fn vendor() -> impl Strategy<Value = GpuVendor> {
    select(vec![GpuVendor::Nvidia, GpuVendor::Amd, GpuVendor::Intel, GpuVendor::Cpu])
}

fn managed() -> impl Strategy<Value = VmafxNodeSpec> {
    let size = (vendor(), 1..=64, option::of("[a-z][a-z0-9./:@-]{0,40}"), any::<bool>(), 0..=1000);
    let pods = (option::of(resources()), option::of(labels()), option::of(vec(toleration(), 0..3)));
    let serves = option::of(prop_oneof![
        1 => Just(vec!["*".to_owned()]),
        3 => vec("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", 0..4),
    ]);
    (size, pods, option::of(pod_template()), option::of(0..=86400), serves).prop_map(
        |(size, pods, pod_template, min_ready_seconds, serves_namespaces)| {
            let (gpu_vendor, capacity, image, paused, replicas) = size;
            let (resources, node_selector, tolerations) = pods;
            VmafxNodeSpec {
                gpu_vendor,
                capacity,
                image,
                paused,
                replicas,
                min_ready_seconds,
                management_policy: ManagementPolicy::Managed,
                serves_namespaces,
                resources,
                node_selector,
                tolerations,
                pod_template,
            }
        },
    )
}

/// Under `External` the fields of the workload are not allowed.
fn external() -> impl Strategy<Value = VmafxNodeSpec> {
    (vendor(), 1..=64).prop_map(|(gpu_vendor, capacity)| VmafxNodeSpec {
        gpu_vendor,
        capacity,
        image: None,
        paused: false,
        replicas: 1,
        min_ready_seconds: None,
        management_policy: ManagementPolicy::External,
        serves_namespaces: None,
        resources: None,
        node_selector: None,
        tolerations: None,
        pod_template: None,
    })
}

fn resources() -> impl Strategy<Value = ResourceRequirements> {
    let quantity = select(vec!["0", "2", "500m", "1Gi", "1.5", "1e3"]).prop_map(|text| Quantity(text.into()));
    let amounts = btree_map("[a-z]{1,8}(\\.[a-z]{2,4}/[a-z]{1,8})?", quantity, 0..3);
    let claims = subsequence(vec!["gpu", "nic"], 0..=2);
    let claims = claims.prop_flat_map(|names| names.into_iter().map(claim).collect::<Vec<_>>());
    (option::of(amounts.clone()), option::of(amounts), option::of(claims))
        .prop_map(|(limits, requests, claims)| ResourceRequirements { claims, limits, requests })
}

fn claim(name: &'static str) -> impl Strategy<Value = ResourceClaim> {
    option::of(text()).prop_map(|request| ResourceClaim { name: name.into(), request })
}

fn toleration() -> impl Strategy<Value = Toleration> {
    let effect = select(vec!["NoSchedule", "PreferNoSchedule", "NoExecute"]).prop_map(str::to_owned);
    let operator = select(vec!["Exists", "Equal"]).prop_map(str::to_owned);
    (
        option::of(effect),
        option::of(text()),
        option::of(operator),
        option::of(any::<i64>()),
        option::of(text()),
    )
        .prop_map(|(effect, key, operator, toleration_seconds, value)| Toleration {
            effect,
            key,
            operator,
            toleration_seconds,
            value,
        })
}

fn quarantine() -> impl Strategy<Value = QuarantinedWorkers> {
    (1..=i32::MAX, 1..=i32::MAX, "[A-Z][a-zA-Z]{0,63}", text()).prop_map(
        |(workers, connected, reason, message)| QuarantinedWorkers { workers, connected, reason, message },
    )
}

fn status() -> impl Strategy<Value = VmafxNodeStatus> {
    let types = NodeCondition::ALL.iter().map(|c| c.as_str()).collect();
    let agent = (
        option::of(any::<bool>()),
        option::of(time()),
        option::of(count()),
        option::of(text()),
        option::of(quarantine()),
    );
    let workload = (option::of(stateful_set()), option::of(count()), option::of(count()), option::of(text()));
    let rest = (option::of(text()), option::of(any::<i64>()), conditions(types), option::of(time()));
    (agent, workload, rest).prop_map(|(agent, workload, rest)| {
        let (healthy, last_heartbeat, assigned_jobs, detected_device, quarantine) = agent;
        let (stateful_set, replicas, ready_replicas, selector) = workload;
        let (current_image, observed_generation, conditions, last_probe_time) = rest;
        VmafxNodeStatus {
            healthy,
            last_heartbeat,
            last_probe_time,
            assigned_jobs,
            detected_device,
            quarantine,
            stateful_set,
            replicas,
            ready_replicas,
            selector,
            current_image,
            observed_generation,
            conditions,
        }
    })
}
