//! The operator does everything it has to under exactly the role that is made for it, and needs all of that.

use std::net::TcpListener;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use rustix::process::Signal;
use serde_json::{Value, json};
use vmafx_api::{VmafxJob, VmafxModelTraining};
use vmafx_operator::webhook::args::SECRET;
use vmafx_testkit::kube::TestCluster;
use vmafx_testkit::kube::account::{Grant, TestServiceAccount};
use vmafx_testkit::kube::audit::{AuditLog, never_used};
use vmafx_testkit::wait;

use crate::SOON;
use crate::world::{Flow, Plane, SYSTEM, Wanted, World, grants};

/// Asked for by the guard of owner references, which runs here, and not by a request of its own.
const GUARDED: [&str; 3] =
    ["vmafxjobs/finalizers", "vmafxmodeltrainings/finalizers", "vmafxnodes/finalizers"];

#[tokio::test]
async fn nothing_is_denied_and_nothing_is_granted_in_vain() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let mut world = World::set(&[
        ("VMAFX_OPERATOR_LEADER_ELECTION", "true"),
        ("VMAFX_OPERATOR_WEBHOOK_HOST", "127.0.0.1"),
        ("VMAFX_OPERATOR_WEBHOOK_PORT", &port),
        ("VMAFX_OPERATOR_SCORING_ROOTS", "/media"),
    ])
    .await;
    // The authority is made when there is none, and made anew when it is of no use.
    let secrets = Api::<Secret>::namespaced(world.client(), SYSTEM);
    let nonsense = Patch::Merge(json!({"stringData": {"tls.crt": "nonsense"}}));
    secrets.patch(SECRET, &PatchParams::default(), &nonsense).await.unwrap();
    world.operator.signal(Signal::TERM);
    world.operator.ended().await;
    world.restart().await;
    let log = || AuditLog::of(&Plane::shared().control_plane).unwrap().by(&world.account.user());
    let run = async |flow: Flow| {
        let name = format!("{flow:?}").to_lowercase();
        flow.arrange(&world, &name).await;
        let before = world.uid_of(&name).await;
        flow.begin(&world, &name).await;
        flow.end(&world, &name, before.as_deref()).await;
    };
    join_all(Flow::ALL.map(run)).await;
    tokio::join!(life_of_a_job(&world), train(&world));

    let log = log();
    let denied: Vec<_> =
        log.denied().into_iter().map(|event| format!("{} {}", event.verb, event.uri)).collect();
    assert_eq!(denied, Vec::<String>::new());
    let rules: Vec<PolicyRule> = grants().iter().flat_map(|grant| grant.rules().to_vec()).collect();
    let unused: Vec<_> = never_used(&rules, &log.0).iter().map(ToString::to_string).collect();
    assert_eq!(unused, GUARDED.map(|enforced| format!("update {enforced}.vmafx.dev")));
}

/// A training run gets its trainer.
async fn train(world: &World) {
    let run = serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": {"name": "a"},
        "spec": {"baseModel": "vmaf_v0.6.1", "algorithm": "online-sgd-ema", "outputRegistry": "r.test/m",
                 "image": "registry.test/vmafx-trainer:1"},
    }));
    let runs = Api::<VmafxModelTraining>::namespaced(world.client(), world.namespace.name());
    runs.create(&PostParams::default(), &run.unwrap()).await.unwrap();
    wait::until(SOON, "a trainer", async || {
        runs.get("a").await.is_ok_and(|run| run.status.is_some_and(|status| status.stateful_set.is_some()))
    })
    .await
    .unwrap();
}

/// A job with a Pod of its own: made, held, let go, given up, and removed when its time is over.
async fn life_of_a_job(world: &World) {
    let jobs = Api::<VmafxJob>::namespaced(world.client(), world.namespace.name());
    let job = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": {"name": "job"},
        "spec": {"reference": "file:///media/r.y4m", "distorted": "file:///media/d.y4m", "execution": "Pod", "ttlSecondsAfterFinished": 0},
    });
    jobs.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
    let said = |job: &VmafxJob, reason: &str| {
        job.status.iter().flat_map(|status| &status.conditions).any(|one| one.reason == reason)
    };
    let until = async |reason: &str| {
        wait::until(SOON, reason, async || jobs.get("job").await.is_ok_and(|job| said(&job, reason)))
            .await
            .unwrap();
    };
    until("JobCreated").await;
    let spec = async |spec: Value| {
        let patch = Patch::Merge(json!({"spec": spec}));
        jobs.patch("job", &PatchParams::default(), &patch).await.unwrap();
    };
    spec(json!({"suspend": true})).await;
    until("Suspended").await;
    spec(json!({"suspend": false})).await;
    until("JobCreated").await;
    spec(json!({"cancel": true})).await;
    wait::until(SOON, "the job to be removed", async || jobs.get_opt("job").await.unwrap().is_none())
        .await
        .unwrap();
}

#[tokio::test]
async fn without_the_permission_that_no_request_names_nothing_could_be_owned() {
    let world = World::set(&[]).await;
    world.create("a").await;
    world.settled("a", Wanted::default()).await;
    let owner = world.nodes().get("a").await.unwrap();
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "owned", "ownerReferences": [{
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "name": "a", "uid": owner.uid(),
            "controller": true, "blockOwnerDeletion": true,
        }]},
        "spec": {"ports": [{"port": 80}]},
    });
    for (name, enforced, allowed) in [("with", true, true), ("without", false, false)] {
        let account =
            TestServiceAccount::create(world.namespace.cluster(), SYSTEM, name, &named(name, enforced))
                .await
                .unwrap();
        let path = tempfile::tempdir().unwrap();
        let path = path.path().join("kubeconfig");
        account.write_kubeconfig(&path, &world.namespace.cluster().config().cluster_url.to_string()).unwrap();
        let client = TestCluster::from_kubeconfig(&path).await.unwrap().client().unwrap();
        let services = Api::<Service>::namespaced(client, world.namespace.name());
        let made = services.patch("owned", &PatchParams::apply(name).force(), &Patch::Apply(&service)).await;
        assert_eq!(made.is_ok(), allowed, "{name}: {made:?}");
        if allowed {
            world.services().delete("owned", &DeleteParams::default()).await.unwrap();
        }
    }
}

/// The operator's role under another name, with or without what the guard asks for.
fn named(name: &str, enforced: bool) -> Vec<Grant> {
    let keeps = |rule: &PolicyRule| {
        enforced
            || !rule
                .resources
                .as_ref()
                .is_some_and(|all| all.iter().any(|one| GUARDED.contains(&one.as_str())))
    };
    let roles = grants().into_iter().filter_map(|grant| match grant {
        Grant::Cluster(mut role) => {
            role.metadata.name = Some(format!("operator-{name}"));
            role.rules.iter_mut().for_each(|rules| rules.retain(keeps));
            Some(Grant::Cluster(role))
        }
        _ => None,
    });
    roles.collect()
}
