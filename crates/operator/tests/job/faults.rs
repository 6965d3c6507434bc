//! The controller is killed, loses its store, gets an older store back, and restarts; the operator is killed; the API
//! server fails.

use futures::future::join_all;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::json;
use vmafx_api::VmafxJob;
use vmafx_api::crd::definition;
use vmafx_testkit::kube::proxy::{Fault, RequestMatcher};
use vmafx_testkit::kube::{install_crds, without_schema};

use crate::agent::Agent;
use crate::harness::{Harness, condition, controller_id, message, phase};

#[tokio::test]
async fn a_controller_that_is_away_is_visible_and_everything_goes_on_when_it_is_back() {
    let mut harness = Harness::start().await;
    harness.create("before", json!({})).await;
    harness.until_reason("before", "Accepted", "Submitted").await;
    harness.controller.kill().unwrap();
    harness.create("during", json!({})).await;
    let during = harness.until_reason("during", "Accepted", "ControllerUnreachable").await;
    assert!(message(&during).contains(&harness.controller.grpc().to_string()), "{}", message(&during));
    let before = harness.until_reason("before", "Accepted", "ControllerUnreachable").await;
    assert_eq!((phase(&before).as_str(), condition(&before, "Accepted").0.as_str()), ("Pending", "True"));
    harness.controller.restart().await.unwrap();
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    for _ in 0..2 {
        let work = agent.pull().await;
        agent.score(&work, 50.0).await;
    }
    for name in ["before", "during"] {
        harness.until_phase(name, "Succeeded").await;
    }
    assert_eq!(harness.controller.jobs().await.len(), 2, "each was submitted once");
}

#[tokio::test]
async fn a_controller_that_forgot_everything_is_told_again() {
    let mut harness = Harness::start().await;
    harness.create("a", json!({})).await;
    let first = controller_id(&harness.until_reason("a", "Accepted", "Submitted").await).unwrap();
    harness.controller.kill().unwrap();
    harness.controller.delete_store().unwrap();
    harness.controller.restart().await.unwrap();
    let again =
        harness.until("a", "another job", |job| controller_id(job).is_some_and(|id| id != first)).await;
    assert_eq!(condition(&again, "Accepted"), ("True".to_owned(), "Submitted".to_owned()));
    harness.until_streaming().await;
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    let work = agent.pull().await;
    assert_eq!(Some(work.id.clone()), controller_id(&again));
    agent.score(&work, 50.0).await;
    harness.until_phase("a", "Succeeded").await;
    harness.until_events(&["Forgotten"]).await;
}

#[tokio::test]
async fn a_store_that_is_set_back_runs_nothing_that_has_ended_and_loses_nothing_that_has_not() {
    let mut harness = Harness::start().await;
    harness.create("ended", json!({})).await;
    harness.until_reason("ended", "Accepted", "Submitted").await;
    harness.controller.kill().unwrap();
    let copy = harness.controller.copy_store().unwrap();
    harness.controller.restart().await.unwrap();
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    let work = agent.pull().await;
    agent.score(&work, 50.0).await;
    let score = harness.until_phase("ended", "Succeeded").await.status;
    harness.create("later", json!({})).await;
    let later = controller_id(&harness.until_reason("later", "Accepted", "Submitted").await).unwrap();

    harness.controller.kill().unwrap();
    harness.controller.restore_store(copy.path()).unwrap();
    harness.controller.restart().await.unwrap();
    let again =
        harness.until("later", "another job", |job| controller_id(job).is_some_and(|id| id != later)).await;
    harness.until_streaming().await;
    // A new operator sweeps at once.
    harness.restart_operator().await;
    harness.until_open(1).await;
    assert_eq!(harness.controller.open_jobs().await[0].id, controller_id(&again).unwrap());
    assert_eq!(harness.jobs.get("ended").await.unwrap().status, score, "a final status never changes");
}

#[tokio::test]
async fn many_that_were_deleted_while_nobody_looked_are_all_ended() {
    const MANY: usize = 1000;
    let mut harness = Harness::start().await;
    let names: Vec<_> = (0..MANY).map(|number| format!("job-{number}")).collect();
    for some in names.chunks(20) {
        join_all(some.iter().map(|name| harness.create(name, json!({})))).await;
    }
    harness.create("kept", json!({})).await;
    harness.until_open(MANY + 1).await;
    harness.operator.kill();
    for some in names.chunks(20) {
        join_all(some.iter().map(|name| harness.delete(name))).await;
    }
    harness.restart_operator().await;
    harness.until_open(1).await;
    let kept = harness.until_reason("kept", "Accepted", "Submitted").await;
    assert_eq!(controller_id(&kept).unwrap(), harness.controller.open_jobs().await[0].id);
}

#[tokio::test]
async fn a_job_that_nobody_can_read_any_more_is_left_alone_until_it_is_gone() {
    let mut harness = Harness::start().await;
    let mut ids = Vec::new();
    for name in ["kept", "deleted", "gone"] {
        harness.create(name, json!({})).await;
        ids.push(controller_id(&harness.until_reason(name, "Accepted", "Submitted").await));
    }
    // As another release may write it.
    let client = harness.plane.client().unwrap();
    install_crds(&client, &[without_schema(definition::<VmafxJob>())]).await.unwrap();
    let kind = ApiResource::erase::<VmafxJob>(&());
    let objects = Api::<DynamicObject>::namespaced_with(client, harness.namespace.name(), &kind);
    for name in ["kept", "deleted"] {
        let strange = Patch::Merge(json!({ "spec": { "execution": ["Elsewhere"] } }));
        objects.patch(name, &PatchParams::default(), &strange).await.unwrap();
    }
    harness.until_metric("operator_undecodable_objects_total", "VmafxJob", 2.0).await;

    let old = harness.proxy.inject(RequestMatcher::watches().of("vmafxjobs").nth(1), Fault::Respond(410));
    harness.proxy.close_watches();
    harness.until_metric("operator_watch_restarts_total", "VmafxJob", 1.0).await;
    drop(old);
    objects.delete("deleted", &DeleteParams::default()).await.unwrap();
    harness.until_open(2).await;

    harness.operator.kill();
    harness.delete("gone").await;
    harness.restart_operator().await;
    harness.until_open(1).await;
    assert_eq!(Some(harness.controller.open_jobs().await[0].id.clone()), ids[0]);
}

/// When the victim is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Created,
    Submitted,
    Recorded,
    Pulled,
    Runs,
    Scored,
}

impl Moment {
    const ALL: [Self; 6] =
        [Self::Created, Self::Submitted, Self::Recorded, Self::Pulled, Self::Runs, Self::Scored];

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Runs one job to its end and kills the victim at the given moment.
async fn run_through(harness: &mut Harness, agent: &Agent, moment: Moment, victim: Victim) {
    let name = format!("{}-{}", moment.name(), victim.name());
    harness.create(&name, json!({})).await;
    if matches!(moment, Moment::Created) {
        victim.restart(harness).await;
    }
    if matches!(moment, Moment::Submitted) {
        harness.until_open(1).await;
        victim.restart(harness).await;
    }
    if matches!(moment, Moment::Recorded) {
        harness.until_reason(&name, "Accepted", "Submitted").await;
        victim.restart(harness).await;
    }
    let work = agent.pull().await;
    if matches!(moment, Moment::Pulled) {
        victim.restart(harness).await;
    }
    if matches!(moment, Moment::Runs) {
        harness.until_phase(&name, "Running").await;
        victim.restart(harness).await;
    }
    agent.score(&work, 50.0).await;
    if matches!(moment, Moment::Scored) {
        victim.restart(harness).await;
    }
    let done = harness.until_phase(&name, "Succeeded").await;
    assert_eq!(controller_id(&done), Some(work.id), "{name}: the job that was scored is the one that counts");
}

#[derive(Clone, Copy, Debug)]
enum Victim {
    Operator,
    Controller,
    Both,
}

impl Victim {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    async fn restart(self, harness: &mut Harness) {
        if matches!(self, Self::Operator | Self::Both) {
            harness.operator.kill();
        }
        if matches!(self, Self::Controller | Self::Both) {
            harness.controller.kill().unwrap();
            harness.controller.restart().await.unwrap();
        }
        if matches!(self, Self::Operator | Self::Both) {
            harness.restart_operator().await;
        }
    }
}

#[tokio::test]
async fn killed_at_any_moment_a_job_is_submitted_once_and_ends_once() {
    let mut harness = Harness::start().await;
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    let victims = [Victim::Operator, Victim::Controller, Victim::Both];
    for victim in victims {
        for moment in Moment::ALL {
            run_through(&mut harness, &agent, moment, victim).await;
        }
    }
    assert_eq!(harness.controller.jobs().await.len(), victims.len() * Moment::ALL.len());
}

#[tokio::test]
async fn an_api_server_that_answers_badly_costs_a_repetition_and_nothing_else() {
    let harness = Harness::start().await;
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    let acts = [
        Fault::Respond(409),
        Fault::Respond(429),
        Fault::Respond(500),
        Fault::FailAfter(500),
        Fault::FailAfter(409),
        Fault::DisconnectBefore,
        Fault::DisconnectAfter,
    ];
    let many = acts.len();
    for (number, act) in acts.into_iter().enumerate() {
        let name = format!("job-{number}");
        let status = RequestMatcher::writes().and(|request| request.resource == "vmafxjobs").once_per_path();
        let injected = harness.proxy.inject(status, act);
        harness.create(&name, json!({})).await;
        let work = agent.pull().await;
        agent.score(&work, 50.0).await;
        harness.until_phase(&name, "Succeeded").await;
        drop(injected);
    }
    assert_eq!(harness.controller.jobs().await.len(), many);
}

#[tokio::test]
async fn watches_that_are_cut_and_an_api_server_that_comes_back_hide_nothing() {
    let mut harness = Harness::start().await;
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    harness.create("cut", json!({})).await;
    harness.proxy.close_watches();
    let work = agent.pull().await;
    harness.proxy.close_connections();
    harness.until_phase("cut", "Running").await;
    harness.plane.kill_api_server().unwrap();
    agent.score(&work, 50.0).await;
    harness.plane.restart_api_server().await.unwrap();
    harness.until_phase("cut", "Succeeded").await;
    harness.create("after", json!({})).await;
    let work = agent.pull().await;
    agent.score(&work, 51.0).await;
    assert_eq!(harness.until_phase("after", "Succeeded").await.status.unwrap().score, Some(51.0));
    assert_eq!(harness.controller.jobs().await.len(), 2);
}

#[tokio::test]
async fn what_one_operator_submitted_another_brings_to_its_end() {
    let mut harness = Harness::with(&[
        ("VMAFX_OPERATOR_LEADER_ELECTION", "true"),
        ("VMAFX_OPERATOR_LEADER_ELECTION_LEASE_DURATION", "3s"),
        ("VMAFX_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE", "2s"),
        ("VMAFX_OPERATOR_LEADER_ELECTION_RETRY_PERIOD", "500ms"),
    ])
    .await;
    harness.create("first", json!({})).await;
    harness.until_reason("first", "Accepted", "Submitted").await;
    let _another = harness.another_operator().await;
    harness.create("second", json!({})).await;
    harness.until_open(2).await;
    harness.operator.kill();
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    for _ in 0..2 {
        let work = agent.pull().await;
        agent.score(&work, 50.0).await;
    }
    for name in ["first", "second"] {
        harness.until_phase(name, "Succeeded").await;
    }
    assert_eq!(harness.controller.jobs().await.len(), 2, "each was submitted once");
}
