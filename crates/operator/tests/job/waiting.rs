//! Why a job waits, and what that costs.

use serde_json::json;

use crate::agent::Agent;
use crate::world::{World, condition, message};

#[tokio::test]
async fn a_waiting_job_says_why_in_numbers_and_is_not_written_while_nothing_changes() {
    let world = World::start().await;
    world.create("gpu", json!({ "backend": "cuda" })).await;
    let gpu = world.until_reason("gpu", "Running", "NoMatchingNode").await;
    assert!(message(&gpu).contains("No node"), "{}", message(&gpu));

    let agent = Agent::register(&world.controller, "cpu-0").await;
    world.create("first", json!({})).await;
    let work = agent.pull().await;
    world.until_phase("first", "Running").await;

    // The proxy has counted what the operator wrote: nothing is written twice, however often it looks.
    let mark = world.proxy.request_count();
    for _ in 0..3 {
        let looks = world.operator.reconciles().await;
        world.change("gpu", json!({ "metadata": { "annotations": { "looked": looks.to_string() } } })).await;
        vmafx_testkit::wait::until(crate::SOON, "another look", || async {
            let now = world.operator.reconciles().await;
            now > looks
        })
        .await
        .unwrap();
    }
    assert_eq!(world.proxy.writes_since(mark).len(), 0);
    agent.score(&work, 50.0).await;
    let done = world.until_phase("first", "Succeeded").await;
    assert_eq!(condition(&done, "Complete").1, "Scored");
}

#[tokio::test]
async fn a_job_costs_one_write_while_it_waits_and_no_more_than_three_until_its_end() {
    let world = World::start().await;
    let mark = world.proxy.request_count();
    world.create("long", json!({})).await;
    // That it was submitted is not written before it is known why it waits.
    world.until_reason("long", "Running", "NoMatchingNode").await;
    let writes = world.proxy.writes_since(mark);
    assert_eq!(writes.len(), 1, "{writes:?}");
    let agent = Agent::register(&world.controller, "cpu-0").await;
    let work = agent.pull().await;
    world.until_phase("long", "Running").await;
    agent.score(&work, 50.0).await;
    world.until_phase("long", "Succeeded").await;
    let writes = world.proxy.writes_since(mark);
    assert!((2..=3).contains(&writes.len()), "{writes:?}");
}
