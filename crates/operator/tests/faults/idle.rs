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

use crate::TIMEOUT;
use crate::fixture::{DesiredNode, FaultFixture, RETRY_TIMEOUT, Versions, describe};

/// Resources that the operator writes. Leases are excluded: it has none here, and the API server renews one of its own.
const OURS: [&str; 5] = ["vmafxnodes", "statefulsets", "services", "poddisruptionbudgets", "events"];

/// After this time without a change, everything in progress has ended.
const QUIET_PERIOD: Duration = Duration::from_secs(2);

#[tokio::test]
async fn an_idle_operator_writes_nothing() {
    idle(10, Duration::from_secs(20)).await;
}

#[tokio::test]
#[ignore = "takes minutes: make test runs it"]
async fn nothing_is_written_in_two_minutes_with_fifty_nodes() {
    idle(50, Duration::from_mins(2)).await;
}

/// The sleeps are the test itself: nothing may be written while they pass.
async fn idle(nodes: u32, time: Duration) {
    let fixture = FaultFixture::new(&[]).await;
    let names: Vec<_> = (0..nodes).map(|number| format!("n{number}")).collect();
    join_all(names.iter().map(|name| fixture.create(name))).await;
    join_all(names.iter().map(|name| fixture.settled(name, DesiredNode::default()))).await;
    join_all(names.iter().map(|name| write_heartbeat(&fixture, name))).await;
    wait::until(RETRY_TIMEOUT, "all nodes to be healthy", async || {
        let snapshot = fixture.snapshot().await?;
        let healthy = |name: &&String| {
            snapshot.nodes[*name].status.as_ref().is_some_and(|status| {
                status.conditions.iter().any(|one| one.type_ == "AgentHealthy" && one.reason == "AsExpected")
            })
        };
        let unhealthy: Vec<_> = names.iter().filter(|name| !healthy(name)).collect();
        if unhealthy.is_empty() { Ok(()) } else { Err(format!("{unhealthy:?}")) }
    })
    .await
    .unwrap();
    let before = quiet(&fixture).await;
    let (mark, reconciles) = (fixture.proxy.request_count(), fixture.operator.reconciles().await);
    let counts = counts(&fixture).await;

    tokio::time::sleep(time / 2).await;
    // Everything is listed again, so every node is reconciled again.
    fixture.proxy.close_connections();
    let all = async || fixture.operator.reconciles().await >= reconciles + f64::from(nodes);
    wait::until(TIMEOUT, "another reconcile of every node", all).await.unwrap();
    tokio::time::sleep(time / 2).await;

    let writes: Vec<_> = fixture.proxy.writes_since(mark).iter().map(describe).collect();
    assert_eq!(writes, Vec::<String>::new(), "writes of the operator");
    let counted = self::counts(&fixture).await.since(&counts);
    assert_eq!(counted, RequestCounts::default(), "writes of all clients, as the API server counts them");
    assert_eq!(fixture.snapshot().await.unwrap().versions(), before);
}

/// Writes a heartbeat an hour in the future, so that it does not become stale during the test.
async fn write_heartbeat(fixture: &FaultFixture, name: &str) {
    let at = Timestamp::from_second(Timestamp::now().as_second() + 3600).unwrap();
    let heartbeat = Patch::Merge(json!({"status": {"lastHeartbeat": at}}));
    fixture.nodes().patch_status(name, &PatchParams::default(), &heartbeat).await.unwrap();
}

/// The versions of all objects, once they have not changed for the quiet period.
async fn quiet(fixture: &FaultFixture) -> Versions {
    let last = Mutex::new((Instant::now(), Versions::new()));
    wait::until(RETRY_TIMEOUT, "no more changes", async || {
        let now = fixture.snapshot().await.ok()?.versions();
        let mut last = last.lock().unwrap();
        if now != last.1 {
            *last = (Instant::now(), now.clone());
        }
        (last.0.elapsed() > QUIET_PERIOD).then_some(now)
    })
    .await
    .unwrap()
}

async fn counts(fixture: &FaultFixture) -> RequestCounts {
    let mut counts = RequestCounts::read(&fixture.client()).await.unwrap().writes();
    counts.0.retain(|kind, _| OURS.contains(&kind.resource.as_str()));
    counts
}
