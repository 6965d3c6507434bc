//! Leaders that lose their lease: cut off, frozen, or because it was taken, labelled or deleted.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use vmafx_kit::metrics::Metrics;
use vmafx_operator::client::{self, ClientMetrics, refused_by_gate};
use vmafx_operator::lease::Permit;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions};
use vmafx_testkit::wait;

use crate::candidate::{Candidate, NAME, record, short};
use crate::journal::{Began, Dropped, Journal};
use crate::proxy::BlockableProxy;

fn config_maps(config: &kube::Config, namespace: &str, permit: Permit) -> Api<ConfigMap> {
    let client = client::build(config, permit, &ClientMetrics::new(&mut Metrics::new("test"))).unwrap();
    Api::namespaced(client, namespace)
}

async fn write(api: &Api<ConfigMap>, name: &str) -> Result<(), kube::Error> {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    api.create(&PostParams::default(), &map).await.map(drop)
}

/// The journal proves the order: the permit has expired when the work is dropped, and that is before another candidate
/// begins.
#[tokio::test]
async fn a_leader_that_is_cut_off_has_stopped_before_another_leads() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("cut-off").await.unwrap();
    let proxy = BlockableProxy::start(cluster.config()).await;
    let journal = Journal::default();
    let first = Candidate::start(proxy.config(), namespace.name(), "first", short(), &journal);
    journal.wait_for(&[Began("first")]).await;
    // The writer bypasses the proxy, so that only the permit keeps it from writing.
    let writer = config_maps(cluster.config(), namespace.name(), first.permit.clone());
    write(&writer, "while-leading").await.unwrap();
    let second = Candidate::start(cluster.config(), namespace.name(), "second", short(), &journal);
    second.wait_for_reads(1).await;

    proxy.block();
    journal.wait_for(&[Began("first"), Dropped("first"), Began("second")]).await;
    let error = write(&writer, "afterwards").await.unwrap_err();
    assert!(refused_by_gate(&error), "{error}");
    assert!(writer.get_opt("afterwards").await.unwrap().is_none());
    assert_eq!(first.count("vmafx_operator_leader_transitions_total{turn=\"lost\"} "), 1);
    first.kill().await;
    second.stop().await;
}

#[tokio::test]
async fn without_a_store_no_candidate_leads_and_afterwards_one_does() {
    let mut control_plane = ControlPlane::start(ControlPlaneOptions::default()).await.unwrap();
    let namespace = control_plane.namespace("store").await.unwrap();
    let journal = Journal::default();
    let config = control_plane.config().clone();
    let first = Candidate::start(&config, namespace.name(), "first", short(), &journal);
    journal.wait_for(&[Began("first")]).await;
    let second = Candidate::start(&config, namespace.name(), "second", short(), &journal);
    second.wait_for_reads(1).await;

    control_plane.freeze_etcd().unwrap();
    journal.wait_for(&[Began("first"), Dropped("first")]).await;
    let error = write(&config_maps(&config, namespace.name(), first.permit.clone()), "a").await.unwrap_err();
    assert!(refused_by_gate(&error), "{error}");

    control_plane.resume_etcd().unwrap();
    let leads = || async { journal.events().len() == 3 };
    wait::until(Duration::from_secs(40), "a leader", leads).await.unwrap();
    assert_ne!(first.permit.holds(), second.permit.holds());
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn a_lease_that_another_client_took_is_noticed_and_won_back_when_it_expires() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("stolen").await.unwrap();
    let journal = Journal::default();
    let first = Candidate::start(cluster.config(), namespace.name(), "first", short(), &journal);
    journal.wait_for(&[Began("first")]).await;
    let leases = Api::<Lease>::namespaced(namespace.client(), namespace.name());
    let stolen = Patch::Merge(json!({"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3}}));
    leases.patch(NAME, &PatchParams::default(), &stolen).await.unwrap();
    journal.wait_for(&[Began("first"), Dropped("first")]).await;
    assert_eq!(record(namespace.client(), namespace.name()).await.holder_identity.as_deref(), Some("thief"));
    journal.wait_for(&[Began("first"), Dropped("first"), Began("first")]).await;
    assert_eq!(record(namespace.client(), namespace.name()).await.lease_transitions, Some(1));
    first.stop().await;
}

#[tokio::test]
async fn a_lease_that_another_client_labelled_is_kept() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("labelled").await.unwrap();
    let journal = Journal::default();
    let first = Candidate::start(cluster.config(), namespace.name(), "first", short(), &journal);
    journal.wait_for(&[Began("first")]).await;
    let leases = Api::<Lease>::namespaced(namespace.client(), namespace.name());
    let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
    let labelled = leases.patch(NAME, &PatchParams::default(), &label).await.unwrap();
    let renewed = || async {
        let lease = leases.get(NAME).await.unwrap();
        let newer = lease.spec.unwrap().renew_time > labelled.spec.clone().unwrap().renew_time;
        newer && lease.metadata.labels == labelled.metadata.labels
    };
    wait::until(Duration::from_secs(20), "a renewal", renewed).await.unwrap();
    assert_eq!(journal.events(), [Began("first")]);
    first.stop().await;
}

#[tokio::test]
async fn a_deleted_lease_is_created_again() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("deleted").await.unwrap();
    let journal = Journal::default();
    let first = Candidate::start(cluster.config(), namespace.name(), "first", short(), &journal);
    journal.wait_for(&[Began("first")]).await;
    let leases = Api::<Lease>::namespaced(namespace.client(), namespace.name());
    leases.delete(NAME, &DeleteParams::default()).await.unwrap();
    journal.wait_for(&[Began("first"), Dropped("first"), Began("first")]).await;
    assert_eq!(record(namespace.client(), namespace.name()).await.holder_identity.as_deref(), Some("first"));
    first.stop().await;
}

/// The leader's whole runtime is blocked, like that of a stopped process, and the first thing it does afterwards is a
/// write.
#[tokio::test]
async fn a_frozen_leader_sends_no_write_after_it_thaws() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("frozen").await.unwrap();
    let (firsts, seconds) = (Journal::default(), Journal::default());
    let (thaw, thawed) = mpsc::channel();
    let (config, name, journal) = (cluster.config().clone(), namespace.name().to_owned(), firsts.clone());
    let leader = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let first = Candidate::start(&config, &name, "first", short(), &journal);
            journal.wait_for(&[Began("first")]).await;
            let writer = config_maps(&config, &name, first.permit.clone());
            write(&writer, "before").await.unwrap();
            thawed.recv().unwrap();
            assert!(!first.permit.holds(), "the permit must have expired by the clock alone");
            let result = write(&writer, "after").await;
            journal.wait_for(&[Began("first"), Dropped("first")]).await;
            first.kill().await;
            result
        })
    });
    firsts.wait_for(&[Began("first")]).await;
    let second = Candidate::start(cluster.config(), namespace.name(), "second", short(), &seconds);
    seconds.wait_for(&[Began("second")]).await;
    thaw.send(()).unwrap();
    let error = tokio::task::spawn_blocking(|| leader.join().unwrap()).await.unwrap().unwrap_err();
    assert!(refused_by_gate(&error), "{error}");
    let maps = config_maps(cluster.config(), namespace.name(), Permit::always());
    assert!(maps.get_opt("before").await.unwrap().is_some());
    assert!(maps.get_opt("after").await.unwrap().is_none());
    second.stop().await;
}
