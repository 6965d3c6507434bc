//! An operator with nothing to do writes nothing.

use std::sync::Mutex;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::time::Instant;
use vmafx_testkit::kube::request_counts::RequestCounts;
use vmafx_testkit::wait;

use crate::SOON;
use crate::world::{SLOW, Versions, Wanted, World, said};

/// Resources that the operator writes. Not leases: it has none here, and the API server renews one of its own.
const OURS: [&str; 5] = ["vmafxnodes", "statefulsets", "services", "poddisruptionbudgets", "events"];

/// Without a change for so long, what was under way has ended.
const CALM: Duration = Duration::from_secs(2);

#[tokio::test]
async fn nothing_is_written_at_rest() {
    rest(10, Duration::from_secs(20)).await;
}

#[tokio::test]
#[ignore = "takes minutes: make test runs it"]
async fn nothing_is_written_in_two_minutes_with_fifty_nodes() {
    rest(50, Duration::from_mins(2)).await;
}

/// The time is what is tested: nothing is waited for.
async fn rest(nodes: u32, time: Duration) {
    let world = World::set(&[]).await;
    let names: Vec<_> = (0..nodes).map(|number| format!("n{number}")).collect();
    join_all(names.iter().map(|name| world.create(name))).await;
    join_all(names.iter().map(|name| world.settled(name, Wanted::default()))).await;
    join_all(names.iter().map(|name| hear(&world, name))).await;
    wait::until(SLOW, "all nodes to be healthy and at rest", async || {
        let seen = world.look().await?;
        let well = |name: &&String| {
            seen.nodes[*name].status.as_ref().is_some_and(|status| {
                status.conditions.iter().any(|one| one.type_ == "AgentHealthy" && one.reason == "AsExpected")
            })
        };
        let ill: Vec<_> = names.iter().filter(|name| !well(name)).collect();
        if ill.is_empty() { Ok(()) } else { Err(format!("{ill:?}")) }
    })
    .await
    .unwrap();
    let before = calm(&world).await;
    let (mark, reconciles) = (world.proxy.request_count(), world.operator.reconciles().await);
    let counts = counts(&world).await;

    tokio::time::sleep(time / 2).await;
    // Everything is listed again, so every node is looked at again.
    world.proxy.close_connections();
    let all = async || world.operator.reconciles().await >= reconciles + f64::from(nodes);
    wait::until(SOON, "every node to be looked at again", all).await.unwrap();
    tokio::time::sleep(time / 2).await;

    let writes: Vec<_> = world.proxy.writes_since(mark).iter().map(said).collect();
    assert_eq!(writes, Vec::<String>::new(), "writes of the operator");
    let counted = self::counts(&world).await.since(&counts);
    assert_eq!(counted, RequestCounts::default(), "writes of anybody, as the API server counts");
    assert_eq!(world.look().await.unwrap().versions(), before);
}

/// An agent is heard of in an hour's time, so that its age changes nothing meanwhile.
async fn hear(world: &World, name: &str) {
    let at = Timestamp::from_second(Timestamp::now().as_second() + 3600).unwrap();
    let heard = Patch::Merge(json!({"status": {"lastHeartbeat": at}}));
    world.nodes().patch_status(name, &PatchParams::default(), &heard).await.unwrap();
}

/// The versions of everything, when they have been the same for a while.
async fn calm(world: &World) -> Versions {
    let last = Mutex::new((Instant::now(), Versions::new()));
    wait::until(SLOW, "everything to be at rest", async || {
        let now = world.look().await.ok()?.versions();
        let mut last = last.lock().unwrap();
        if now != last.1 {
            *last = (Instant::now(), now.clone());
        }
        (last.0.elapsed() > CALM).then_some(now)
    })
    .await
    .unwrap()
}

async fn counts(world: &World) -> RequestCounts {
    let mut counts = RequestCounts::read(&world.client()).await.unwrap().writes();
    counts.0.retain(|kind, _| OURS.contains(&kind.resource.as_str()));
    counts
}
