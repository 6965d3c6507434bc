//! The controller is killed, forgets, is set back, and comes again; the stream is cut; the operator is killed.

use futures::future::join_all;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::json;
use vmafx_api::VmafxJob;
use vmafx_api::crd::definition;
use vmafx_testkit::kube::proxy::{Fault, RequestMatcher};
use vmafx_testkit::kube::{install_crds, without_schema};

use crate::agent::Agent;
use crate::world::{World, condition, controller_id, message, phase};

#[tokio::test]
async fn a_controller_that_is_away_is_visible_and_everything_goes_on_when_it_is_back() {
    let mut world = World::start().await;
    world.create("before", json!({})).await;
    world.until_reason("before", "Accepted", "Submitted").await;
    world.controller.kill();
    world.create("during", json!({})).await;
    let during = world.until_reason("during", "Accepted", "ControllerUnreachable").await;
    assert!(message(&during).contains(&world.controller.grpc.to_string()), "{}", message(&during));
    let before = world.until_reason("before", "Accepted", "ControllerUnreachable").await;
    assert_eq!((phase(&before).as_str(), condition(&before, "Accepted").0.as_str()), ("Pending", "True"));
    world.controller.begin_again().await;
    let agent = Agent::register(&world.controller, "cpu-0").await;
    for _ in 0..2 {
        let work = agent.pull().await;
        agent.score(&work, 50.0).await;
    }
    for name in ["before", "during"] {
        world.until_phase(name, "Succeeded").await;
    }
    assert_eq!(world.controller.jobs().await.len(), 2, "each was submitted once");
}

#[tokio::test]
async fn a_controller_that_forgot_everything_is_told_again() {
    let mut world = World::start().await;
    world.create("a", json!({})).await;
    let first = controller_id(&world.until_reason("a", "Accepted", "Submitted").await).unwrap();
    world.controller.kill();
    world.controller.restore(None);
    world.controller.begin_again().await;
    let again = world.until("a", "another job", |job| controller_id(job).is_some_and(|id| id != first)).await;
    assert_eq!(condition(&again, "Accepted"), ("True".to_owned(), "Submitted".to_owned()));
    world.until_followed().await;
    let agent = Agent::register(&world.controller, "cpu-0").await;
    let work = agent.pull().await;
    assert_eq!(Some(work.id.clone()), controller_id(&again));
    agent.score(&work, 50.0).await;
    world.until_phase("a", "Succeeded").await;
    world.until_events(&["Forgotten"]).await;
}

#[tokio::test]
async fn a_store_that_is_set_back_runs_nothing_that_has_ended_and_loses_nothing_that_has_not() {
    let mut world = World::start().await;
    world.create("ended", json!({})).await;
    world.until_reason("ended", "Accepted", "Submitted").await;
    world.controller.kill();
    let copy = world.controller.copy();
    world.controller.begin_again().await;
    let agent = Agent::register(&world.controller, "cpu-0").await;
    let work = agent.pull().await;
    agent.score(&work, 50.0).await;
    let score = world.until_phase("ended", "Succeeded").await.status;
    world.create("later", json!({})).await;
    let later = controller_id(&world.until_reason("later", "Accepted", "Submitted").await).unwrap();

    world.controller.kill();
    world.controller.restore(Some(&copy));
    world.controller.begin_again().await;
    let again =
        world.until("later", "another job", |job| controller_id(job).is_some_and(|id| id != later)).await;
    world.until_followed().await;
    // The sweep of a new operator does not wait.
    world.restart_operator().await;
    world.until_open(1).await;
    assert_eq!(world.controller.open_jobs().await[0].id, controller_id(&again).unwrap());
    assert_eq!(world.jobs.get("ended").await.unwrap().status, score, "an end is the end");
}

#[tokio::test]
async fn many_that_were_deleted_while_nobody_looked_are_all_ended() {
    const MANY: usize = 1000;
    let mut world = World::start().await;
    let names: Vec<_> = (0..MANY).map(|number| format!("job-{number}")).collect();
    for some in names.chunks(20) {
        join_all(some.iter().map(|name| world.create(name, json!({})))).await;
    }
    world.create("kept", json!({})).await;
    world.until_open(MANY + 1).await;
    world.operator.kill();
    for some in names.chunks(20) {
        join_all(some.iter().map(|name| world.delete(name))).await;
    }
    world.restart_operator().await;
    world.until_open(1).await;
    let kept = world.until_reason("kept", "Accepted", "Submitted").await;
    assert_eq!(controller_id(&kept).unwrap(), world.controller.open_jobs().await[0].id);
}

#[tokio::test]
async fn a_job_that_nobody_can_read_any_more_is_left_alone_until_it_is_gone() {
    let mut world = World::start().await;
    let mut ids = Vec::new();
    for name in ["kept", "deleted", "gone"] {
        world.create(name, json!({})).await;
        ids.push(controller_id(&world.until_reason(name, "Accepted", "Submitted").await));
    }
    // What another release may have written.
    let client = world.plane.client().unwrap();
    install_crds(&client, &[without_schema(definition::<VmafxJob>())]).await.unwrap();
    let kind = ApiResource::erase::<VmafxJob>(&());
    let objects = Api::<DynamicObject>::namespaced_with(client, world.namespace.name(), &kind);
    for name in ["kept", "deleted"] {
        let strange = Patch::Merge(json!({ "spec": { "execution": ["Elsewhere"] } }));
        objects.patch(name, &PatchParams::default(), &strange).await.unwrap();
    }
    world.until_metric("operator_undecodable_objects_total", "VmafxJob", 2.0).await;

    let old = world.proxy.inject(RequestMatcher::watches().of("vmafxjobs").nth(1), Fault::Respond(410));
    world.proxy.close_watches();
    world.until_metric("operator_watch_restarts_total", "VmafxJob", 1.0).await;
    drop(old);
    objects.delete("deleted", &DeleteParams::default()).await.unwrap();
    world.until_open(2).await;

    world.operator.kill();
    world.delete("gone").await;
    world.restart_operator().await;
    world.until_open(1).await;
    assert_eq!(Some(world.controller.open_jobs().await[0].id.clone()), ids[0]);
}

/// When something dies.
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

/// Brings one job to its end, and lets `die` do its work at each moment.
async fn live_through(world: &mut World, agent: &Agent, moment: Moment, who: Victim) {
    let name = format!("{}-{}", moment.name(), who.name());
    world.create(&name, json!({})).await;
    if matches!(moment, Moment::Created) {
        who.dies(world).await;
    }
    if matches!(moment, Moment::Submitted) {
        world.until_open(1).await;
        who.dies(world).await;
    }
    if matches!(moment, Moment::Recorded) {
        world.until_reason(&name, "Accepted", "Submitted").await;
        who.dies(world).await;
    }
    let work = agent.pull().await;
    if matches!(moment, Moment::Pulled) {
        who.dies(world).await;
    }
    if matches!(moment, Moment::Runs) {
        world.until_phase(&name, "Running").await;
        who.dies(world).await;
    }
    agent.score(&work, 50.0).await;
    if matches!(moment, Moment::Scored) {
        who.dies(world).await;
    }
    let done = world.until_phase(&name, "Succeeded").await;
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

    async fn dies(self, world: &mut World) {
        if matches!(self, Self::Operator | Self::Both) {
            world.operator.kill();
        }
        if matches!(self, Self::Controller | Self::Both) {
            world.controller.kill();
            world.controller.begin_again().await;
        }
        if matches!(self, Self::Operator | Self::Both) {
            world.restart_operator().await;
        }
    }
}

#[tokio::test]
async fn killed_at_any_moment_a_job_is_submitted_once_and_ends_once() {
    let mut world = World::start().await;
    let agent = Agent::register(&world.controller, "cpu-0").await;
    let victims = [Victim::Operator, Victim::Controller, Victim::Both];
    for victim in victims {
        for moment in Moment::ALL {
            live_through(&mut world, &agent, moment, victim).await;
        }
    }
    assert_eq!(world.controller.jobs().await.len(), victims.len() * Moment::ALL.len());
}

#[tokio::test]
async fn an_api_server_that_answers_badly_costs_a_repetition_and_nothing_else() {
    let world = World::start().await;
    let agent = Agent::register(&world.controller, "cpu-0").await;
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
        let injected = world.proxy.inject(status, act);
        world.create(&name, json!({})).await;
        let work = agent.pull().await;
        agent.score(&work, 50.0).await;
        world.until_phase(&name, "Succeeded").await;
        drop(injected);
    }
    assert_eq!(world.controller.jobs().await.len(), many);
}

#[tokio::test]
async fn watches_that_are_cut_and_an_api_server_that_comes_back_hide_nothing() {
    let mut world = World::start().await;
    let agent = Agent::register(&world.controller, "cpu-0").await;
    world.create("cut", json!({})).await;
    world.proxy.close_watches();
    let work = agent.pull().await;
    world.proxy.close_connections();
    world.until_phase("cut", "Running").await;
    world.plane.kill_api_server().unwrap();
    agent.score(&work, 50.0).await;
    world.plane.restart_api_server().await.unwrap();
    world.until_phase("cut", "Succeeded").await;
    world.create("after", json!({})).await;
    let work = agent.pull().await;
    agent.score(&work, 51.0).await;
    assert_eq!(world.until_phase("after", "Succeeded").await.status.unwrap().score, Some(51.0));
    assert_eq!(world.controller.jobs().await.len(), 2);
}

#[tokio::test]
async fn what_one_operator_submitted_another_brings_to_its_end() {
    let mut world = World::with(&[
        ("VMAFX_OPERATOR_LEADER_ELECTION", "true"),
        ("VMAFX_OPERATOR_LEADER_ELECTION_LEASE_DURATION", "3s"),
        ("VMAFX_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE", "2s"),
        ("VMAFX_OPERATOR_LEADER_ELECTION_RETRY_PERIOD", "500ms"),
    ])
    .await;
    world.create("first", json!({})).await;
    world.until_reason("first", "Accepted", "Submitted").await;
    let _another = world.another_operator().await;
    world.create("second", json!({})).await;
    world.until_open(2).await;
    world.operator.kill();
    let agent = Agent::register(&world.controller, "cpu-0").await;
    for _ in 0..2 {
        let work = agent.pull().await;
        agent.score(&work, 50.0).await;
    }
    for name in ["first", "second"] {
        world.until_phase(name, "Succeeded").await;
    }
    assert_eq!(world.controller.jobs().await.len(), 2, "each was submitted once");
}
