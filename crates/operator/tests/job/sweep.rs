//! Jobs that the sweep must leave alone, and those that it must find among them.

use futures::{FutureExt as _, StreamExt as _};
use serde_json::json;
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::kube::proxy::{Fault, RequestMatcher};

use crate::controller::Controller;
use crate::harness::{Harness, controller_id};

impl Controller {
    /// Makes every job look so old that nothing is done for its youth.
    fn age_jobs(&self) {
        self.change_behind_its_back("UPDATE jobs SET created_at = created_at - 3600000");
    }

    /// Submits a job with an origin in the cluster of another job.
    async fn submit_beside(&self, other: &wire::Job, name: &str, length: usize) -> String {
        let origin = wire::ResourceRef {
            name: name.to_owned(),
            uid: "gone".to_owned(),
            ..other.origin.clone().unwrap()
        };
        let long = |clip: &str| format!("file:///clips/{clip}{}", "x".repeat(length));
        let scoring =
            wire::ScoringParams { reference: long("r"), distorted: long("d"), ..Default::default() };
        let request =
            wire::SubmitJobRequest { scoring: Some(scoring), origin: Some(origin), ..Default::default() };
        self.client().submit_job(request).await.unwrap().into_inner().job_id
    }

    async fn open_ids(&self) -> Vec<String> {
        self.open_jobs().await.into_iter().map(|job| job.id).collect()
    }
}

#[tokio::test]
async fn one_bad_job_and_many_very_large_ones_do_not_keep_the_sweep_from_the_others() {
    let mut harness = Harness::start().await;
    harness.create("kept", json!({})).await;
    let kept = controller_id(&harness.until_reason("kept", "Accepted", "Submitted").await).unwrap();
    let job = harness.controller.jobs().await.remove(0);
    let mut unreadable = Vec::new();
    for name in ["", "../../secrets", "Not-A-Name"] {
        unreadable.push(harness.controller.submit_beside(&job, name, 0).await);
    }
    // A page of these is larger than a message may be.
    let names: Vec<_> = (0..600).map(|number| format!("large-{number}")).collect();
    let submissions = names.iter().map(|name| harness.controller.submit_beside(&job, name, 4000).boxed());
    futures::stream::iter(submissions).buffer_unordered(16).collect::<Vec<_>>().await;
    // The youngest, so the last one in the list.
    harness.create("gone", json!({})).await;
    harness.until_reason("gone", "Accepted", "Submitted").await;
    harness.operator.kill();
    harness.delete("gone").await;
    harness.restart_operator().await;
    harness.until_open(unreadable.len() + 1).await;
    let mut expected = unreadable.clone();
    expected.push(kept);
    expected.sort();
    let mut open = harness.controller.open_ids().await;
    open.sort();
    assert_eq!(open, expected);
    harness.until_metric("operator_sweep_skipped_total", "unreadable", 3.0).await;
}

#[tokio::test]
async fn a_job_that_its_resource_wants_is_not_ended_while_the_status_names_the_one_before() {
    let mut harness = Harness::start().await;
    harness.create("a", json!({})).await;
    let first = controller_id(&harness.until_reason("a", "Accepted", "Submitted").await).unwrap();
    harness.change("a", json!({ "spec": { "suspend": true } })).await;
    harness.until_reason("a", "Suspended", "Suspended").await;
    // The status cannot be written from here on, for as long as the test takes.
    let writes = RequestMatcher::writes().and(|request| request.resource == "vmafxjobs");
    let lost = harness.proxy.inject(writes, Fault::Respond(500));
    harness.change("a", json!({ "spec": { "suspend": false } })).await;
    harness.until_open(1).await;
    let second = harness.controller.open_ids().await;
    harness.controller.age_jobs();
    // A new operator sweeps at once, and knows only what the status says.
    harness.restart_operator().await;
    harness.until_metric("operator_reconcile_seconds_count", "", 2.0).await;
    harness.until_metric("operator_sweeps_total", "", 1.0).await;
    assert_eq!(harness.controller.open_ids().await, second);
    assert_eq!(controller_id(&harness.jobs.get("a").await.unwrap()), Some(first));
    assert!(!lost.hits().is_empty());
}

#[tokio::test]
async fn two_clusters_with_one_identity_do_not_end_each_others_jobs() {
    let settings = [("VMAFX_OPERATOR_LEADER_ELECTION", "true"), ("VMAFX_CLUSTER", "east")];
    let mut harness = Harness::with(&settings).await;
    harness.create("a", json!({})).await;
    let made = harness.until_reason("a", "Accepted", "Submitted").await;
    // The copy has none of the resources that were created after the snapshot.
    let copy = harness.copy_of_the_cluster(&settings).await;
    copy.until_metric("operator_sweep_skipped_total", "foreign", 1.0).await;
    assert_eq!(harness.controller.open_ids().await, controller_id(&made).into_iter().collect::<Vec<_>>());
    drop(copy);
    // The cluster itself still finds the jobs of its deleted resources after a restart.
    harness.operator.kill();
    harness.jobs.delete("a", &kube::api::DeleteParams::default()).await.unwrap();
    harness.restart_operator().await;
    harness.until_open(0).await;
}
