//! Jobs that people hold back, let go on and give up.

use serde_json::json;

use crate::agent::Agent;
use crate::world::{World, condition, controller_id};

#[tokio::test]
async fn a_suspended_job_leaves_the_queue_and_comes_back() {
    let world = World::start().await;
    world.create("a", json!({ "suspend": true })).await;
    world.until_reason("a", "Suspended", "Suspended").await;
    assert_eq!(world.controller.jobs().await.len(), 0, "it never was in the queue");

    world.change("a", json!({ "spec": { "suspend": false } })).await;
    let agent = Agent::register(&world.controller, "gpu-0").await;
    let work = agent.pull().await;
    let running = world.until_phase("a", "Running").await;

    world.change("a", json!({ "spec": { "suspend": true } })).await;
    let held = world.until_reason("a", "Suspended", "Suspended").await;
    assert_eq!(condition(&held, "Running"), ("False".to_owned(), "Suspended".to_owned()));
    assert_eq!(agent.cancelled(&[&work.id]).await, std::slice::from_ref(&work.id), "the node is freed");

    world.change("a", json!({ "spec": { "suspend": false } })).await;
    let again = agent.pull().await;
    assert_ne!(again.id, work.id);
    agent.score(&again, 93.5).await;
    let done = world.until_phase("a", "Succeeded").await;
    assert_ne!(controller_id(&done), controller_id(&running));
    assert_eq!(done.status.unwrap().score, Some(93.5));
    world.until_events(&["Suspended", "Resumed", "Suspended", "Resumed"]).await;
}

#[tokio::test]
async fn a_cancelled_job_ends_and_stays() {
    let world = World::start().await;
    world.create("waiting", json!({})).await;
    world.create("never", json!({ "suspend": true })).await;
    world.until_reason("waiting", "Accepted", "Submitted").await;
    world.until_reason("never", "Suspended", "Suspended").await;
    for name in ["waiting", "never"] {
        world.change(name, json!({ "spec": { "cancel": true } })).await;
        let given_up = world.until_phase(name, "Cancelled").await;
        assert_eq!(condition(&given_up, "Failed"), ("True".to_owned(), "Cancelled".to_owned()));
        assert!(given_up.status.unwrap().finished_at.is_some());
    }
    world.until_open(0).await;
}

#[tokio::test]
async fn what_is_cancelled_at_the_controller_is_given_up_too() {
    let world = World::start().await;
    world.create("a", json!({})).await;
    let id = controller_id(&world.until_reason("a", "Accepted", "Submitted").await).unwrap();
    let request =
        vmafx_proto::controller::v1::CancelJobRequest { job_id: id, reason: "by hand".to_owned(), cause: 0 };
    world.controller.client().cancel_job(request).await.unwrap();
    let given_up = world.until_phase("a", "Cancelled").await;
    assert!(given_up.status.unwrap().message.unwrap().contains("by hand"));
}

#[tokio::test]
async fn a_job_that_is_put_forward_overtakes_others() {
    let world = World::start().await;
    for name in ["first", "second"] {
        world.create(name, json!({})).await;
        world.until_reason(name, "Accepted", "Submitted").await;
    }
    let before = controller_id(&world.jobs.get("second").await.unwrap());
    world.change("second", json!({ "spec": { "priority": 5 } })).await;
    let after = world.until("second", "another job", |job| controller_id(job) != before).await;
    let agent = Agent::register(&world.controller, "gpu-0").await;
    let work = agent.pull().await;
    assert_eq!((Some(work.id.clone()), work.priority), (controller_id(&after), 5));
    agent.score(&work, 50.0).await;
    world.until_phase("second", "Succeeded").await;
    assert_eq!(world.events().await, Vec::<String>::new());
}
