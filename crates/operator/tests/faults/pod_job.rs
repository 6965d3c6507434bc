//! Jobs in a Pod of their own, while the operator is killed at each of its writes, and after its settings have changed.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use rstest::rstest;
use serde_json::json;
use vmafx_api::VmafxJob;
use vmafx_api::job::Phase;
use vmafx_testkit::kube::proxy::{Fault, RbacVerb, RequestMatcher, ResponseHandling};
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::fixture::{FaultFixture, describe};

/// More writes than this mean a loop.
const MAX_WRITES: usize = 8;

/// A fault that kills the operator before or after the API server carries out the request.
type Kill = fn(Box<dyn Fn() + Send + Sync>) -> Fault;

fn before(kill: Box<dyn Fn() + Send + Sync>) -> Fault {
    Fault::before(move |_: &_| {
        kill();
        ResponseHandling::Disconnect
    })
}

fn after(kill: Box<dyn Fn() + Send + Sync>) -> Fault {
    Fault::after(move |_: &_| {
        kill();
        ResponseHandling::Disconnect
    })
}

#[rstest]
#[case::before(before)]
#[case::after(after)]
#[tokio::test]
async fn a_job_is_created_once_and_completes_wherever_the_operator_is_killed(#[case] kill: Kill) {
    let mut fixture = FaultFixture::new(&[("VMAFX_OPERATOR_SCORING_ROOTS", "/media")]).await;
    let mut killed = 0;
    while crash(&mut fixture, kill, killed + 1).await {
        killed += 1;
        assert!(killed <= MAX_WRITES, "killed {killed} times");
    }
    assert!(killed >= 3, "at least three writes are expected (created, running, succeeded), not {killed}");
}

#[tokio::test]
async fn a_job_outside_the_roots_starts_when_an_operator_permits_them() {
    let mut fixture = FaultFixture::new(&[("VMAFX_OPERATOR_SCORING_ROOTS", "/media")]).await;
    let jobs = Api::<VmafxJob>::namespaced(fixture.client(), fixture.namespace.name());
    let name = "outside";
    jobs.create(&PostParams::default(), &job(name, "file:///more/r")).await.unwrap();
    until_accepted(&jobs, name, "InputRefused").await;
    fixture.operator.kill();
    let extended = [("VMAFX_OPERATOR_SCORING_ROOTS", "/media,/more")];
    fixture.operator = fixture.operator_as("extended", &fixture.account, &extended);
    fixture.operator.ready().await;
    scored(&fixture, &jobs, name).await;
}

/// At each of these writes of a replacement the operator is killed.
#[rstest]
#[case::before_the_deletion(before, RbacVerb::Delete)]
#[case::after_the_deletion(after, RbacVerb::Delete)]
#[case::before_the_creation(before, RbacVerb::Create)]
#[case::after_the_creation(after, RbacVerb::Create)]
#[tokio::test]
async fn a_changed_job_is_replaced_wherever_the_operator_is_killed(
    #[case] kill: Kill,
    #[case] verb: RbacVerb,
) {
    let mut fixture = FaultFixture::new(&[("VMAFX_OPERATOR_SCORING_ROOTS", "/media")]).await;
    let (resources, name) =
        (Api::<VmafxJob>::namespaced(fixture.client(), fixture.namespace.name()), "changed");
    let jobs = Api::<Job>::namespaced(fixture.client(), fixture.namespace.name());
    resources.create(&PostParams::default(), &job(name, "file:///media/r")).await.unwrap();
    until_accepted(&resources, name, "JobCreated").await;
    let namespace = fixture.namespace.name().to_owned();
    let of_jobs = RequestMatcher::writes().and(move |request| {
        request.namespace == namespace && request.resource == "jobs" && request.verb == verb
    });
    let fault = fixture.proxy.inject(of_jobs.nth(1), kill(Box::new(fixture.operator.killer())));
    let change = Patch::Merge(json!({"spec": {"scoring": {"features": ["psnr"]}}}));
    resources.patch(name, &PatchParams::default(), &change).await.unwrap();
    wait::until(TIMEOUT, "the write", async || !fault.hits().is_empty()).await.unwrap();
    drop(fault);
    fixture.operator.ended().await;
    fixture.restart().await;
    wait::until(TIMEOUT, "the changed request", async || {
        let live = jobs.get(&format!("vmafx-job-{name}")).await.map_err(|error| error.to_string())?;
        let text = json!(live.spec.unwrap().template).to_string();
        if text.contains("psnr") { Ok(()) } else { Err(text) }
    })
    .await
    .unwrap();
    scored(&fixture, &resources, name).await;
    let job = resources.get(name).await.unwrap();
    assert_eq!(job.status.unwrap().observed_generation, job.metadata.generation);
}

/// The reason of its condition `Accepted`.
fn accepted(job: &VmafxJob) -> Option<&str> {
    let mut conditions = job.status.as_ref()?.conditions.iter();
    conditions.find(|one| one.type_ == "Accepted").map(|one| one.reason.as_str())
}

async fn until_accepted(resources: &Api<VmafxJob>, name: &str, reason: &str) {
    wait::until(TIMEOUT, &format!("Accepted to be {reason}"), async || {
        let job = resources.get(name).await.map_err(|error| error.to_string())?;
        if accepted(&job) == Some(reason) { Ok(()) } else { Err(format!("{:?}", job.status)) }
    })
    .await
    .unwrap();
}

fn job(name: &str, reference: &str) -> VmafxJob {
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": {"name": name},
        "spec": {"reference": reference, "distorted": "file:///media/d", "execution": "Pod"},
    }))
    .unwrap()
}

/// Kills the operator at one write and restarts it. `false`: the job has fewer writes.
async fn crash(fixture: &mut FaultFixture, kill: Kill, write: usize) -> bool {
    let name = format!("job-{write}");
    let namespace = fixture.namespace.name().to_owned();
    let mine = {
        let name = name.clone();
        RequestMatcher::writes().and(move |request| {
            let made = request.resource == "jobs" && request.verb == RbacVerb::Create;
            request.namespace == namespace && (made || request.name == name)
        })
    };
    let (mark, act) = (fixture.proxy.request_count(), kill(Box::new(fixture.operator.killer())));
    let fault = fixture.proxy.inject(mine.nth(write), act);
    let jobs = Api::<VmafxJob>::namespaced(fixture.client(), fixture.namespace.name());
    jobs.create(&PostParams::default(), &job(&name, "file:///media/r")).await.unwrap();
    let hit = tokio::select! {
        hit = wait::until(TIMEOUT * 2, "the write", async || !fault.hits().is_empty()) => hit.is_ok(),
        () = scored(fixture, &jobs, &name) => !fault.hits().is_empty(),
    };
    drop(fault);
    if hit {
        fixture.operator.ended().await;
        fixture.restart().await;
        scored(fixture, &jobs, &name).await;
    }
    let writes = fixture.proxy.writes_since(mark);
    let made = writes.iter().filter(|one| {
        one.request.resource == "jobs" && one.request.verb == RbacVerb::Create && one.succeeded()
    });
    let all: Vec<_> = writes.iter().map(describe).collect();
    assert_eq!((made.count(), pods(fixture, &name).await.len()), (1, 1), "{all:#?}");
    hit
}

/// Acts as the kubelet until the job has its score.
async fn scored(fixture: &FaultFixture, jobs: &Api<VmafxJob>, name: &str) {
    let result = json!({
        "outcome": "Scored", "score": 91.5, "features": {}, "model": "m", "modelDigest": "", "frames": 1,
        "size": [1, 1], "warnings": [],
        "pooled": {"mean": 91.5, "harmonicMean": 0.0, "min": 0.0, "max": 0.0, "stddev": 0.0,
                   "p1": 0.0, "p5": 0.0, "p10": 0.0, "p50": 0.0},
    });
    let ended = Patch::Merge(json!({"status": {"phase": "Succeeded", "containerStatuses": [{
        "name": "agent", "image": "", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"terminated": {"exitCode": 0, "message": result.to_string()}},
    }]}}));
    let all = Api::<Pod>::namespaced(fixture.client(), fixture.namespace.name());
    wait::until(TIMEOUT * 2, "the score", async || {
        for pod in pods(fixture, name).await {
            if pod.status.as_ref().and_then(|status| status.phase.as_deref()) != Some("Succeeded") {
                all.patch_status(&pod.name_any(), &PatchParams::default(), &ended)
                    .await
                    .map_err(|error| error.to_string())?;
            }
        }
        let status = jobs.get(name).await.map_err(|error| error.to_string())?.status.unwrap_or_default();
        let done = (status.phase, status.score) == (Some(Phase::Succeeded), Some(91.5));
        if done { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await
    .unwrap();
}

async fn pods(fixture: &FaultFixture, name: &str) -> Vec<Pod> {
    let all = Api::<Pod>::namespaced(fixture.client(), fixture.namespace.name());
    let labelled = ListParams::default().labels(&format!("vmafx.dev/job={name}"));
    all.list(&labelled).await.map(|list| list.items).unwrap_or_default()
}
