//! Two operators, of which one works.

use futures::future::join_all;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use rustix::process::Signal;
use serde_json::json;
use vmafx_testkit::kube::proxy::{ApiProxy, ApiRequest, Fault, RbacVerb, RecordedRequest, RequestMatcher};
use vmafx_testkit::wait;

use crate::SOON;
use crate::operator::Operator;
use crate::world::{SYSTEM, Wanted, World};

const ELECTION: [(&str, &str); 4] = [
    ("VMAFX_OPERATOR_LEADER_ELECTION", "true"),
    ("VMAFX_OPERATOR_LEADER_ELECTION_LEASE_DURATION", "4s"),
    ("VMAFX_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE", "3s"),
    ("VMAFX_OPERATOR_LEADER_ELECTION_RETRY_PERIOD", "500ms"),
];

const PAUSED: Wanted = Wanted { replicas: 0, paused: true, image: "registry.test/vmafx-node:1" };

/// The first leads, the second waits.
async fn two() -> (World, Operator, ApiProxy) {
    let world = World::set(&ELECTION).await;
    leads(&world, "operator").await;
    let (mut second, proxy) = world.another("second").await;
    second.ready().await;
    world.create("a").await;
    world.settled("a", Wanted::default()).await;
    assert_eq!(changes(&proxy, 0), Vec::<String>::new(), "the second does not write");
    (world, second, proxy)
}

async fn holder(world: &World) -> String {
    let leases = Api::<Lease>::namespaced(world.client(), SYSTEM);
    let lease = leases.get_opt("vmafx-operator.vmafx.dev").await.unwrap();
    lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity).unwrap_or_default()
}

async fn leads(world: &World, name: &str) {
    let leads = async || {
        let holder = holder(world).await;
        if holder.starts_with(&format!("{name}_")) { Ok(()) } else { Err(holder) }
    };
    wait::until(SOON, &format!("{name} to lead"), leads).await.unwrap();
}

/// What was written after a mark, other than the lease.
fn changes(proxy: &ApiProxy, mark: usize) -> Vec<String> {
    let writes = proxy.writes_since(mark);
    writes.iter().filter(|one| one.request.resource != "leases").map(|one| one.request.to_string()).collect()
}

#[tokio::test]
async fn when_the_leader_is_killed_the_other_goes_on() {
    let (mut world, _second, proxy) = two().await;
    world.operator.kill();
    world.change("a", json!({"paused": true})).await;
    leads(&world, "second").await;
    world.settled("a", PAUSED).await;
    assert!(!changes(&proxy, 0).is_empty());
}

#[tokio::test]
async fn a_leader_that_stops_cleanly_gives_the_lease_back() {
    let (mut world, _second, _proxy) = two().await;
    let mark = world.proxy.request_count();
    world.operator.signal(Signal::TERM);
    world.operator.ended().await;
    let last =
        world.proxy.writes_since(mark).into_iter().rfind(|one| one.request.resource == "leases").unwrap();
    let holder = last.request.json()["spec"]["holderIdentity"].clone();
    assert!(holder.as_str().unwrap_or_default().is_empty(), "the lease still names {holder}");
    assert!(last.succeeded(), "{last:?}");
    leads(&world, "second").await;
    world.change("a", json!({"paused": true})).await;
    world.settled("a", PAUSED).await;
}

#[tokio::test]
async fn a_frozen_leader_writes_nothing_when_it_thaws() {
    let (mut world, _second, _proxy) = two().await;
    // It is stopped between its last look and the write that follows from it, for several nodes at once.
    let last_look = |request: &ApiRequest| {
        request.verb == RbacVerb::Get && request.resource == "vmafxnodes" && request.name != "a"
    };
    let look = world.proxy.inject(RequestMatcher::matching(last_look), Fault::Hold);
    let names = ["b", "c", "d", "e", "f", "g"];
    join_all(names.map(|name| world.create(name))).await;
    let all = async || look.hits().len() == names.len();
    wait::until(SOON, "all to be looked at for the last time", all).await.unwrap();
    world.operator.signal(Signal::STOP);
    let mark = world.proxy.request_count();
    // The answers are there when it wakes up.
    look.release();
    let answered = |record: &RecordedRequest| last_look(&record.request) && record.client.is_some();
    let all = async || world.proxy.records().iter().filter(|record| answered(record)).count() == names.len();
    wait::until(SOON, "the answers", all).await.unwrap();
    leads(&world, "second").await;
    join_all(names.map(|name| world.settled(name, Wanted::default()))).await;
    world.change("a", json!({"paused": true})).await;
    world.settled("a", PAUSED).await;
    world.operator.signal(Signal::CONT);
    let knows = async || world.operator.metric("operator_leader", "").await == Ok(0.0);
    wait::until(SOON, "the thawed one to know that it does not lead", knows).await.unwrap();
    // Its next look at the lease: by then everything that was under way has been tried.
    let now = world.proxy.request_count();
    let asks = |record: &RecordedRequest| record.request.resource == "leases";
    world.proxy.wait_for(SOON, "it to ask for the lease again", now, asks).await.unwrap();
    assert_eq!(changes(&world.proxy, mark), Vec::<String>::new());
    let stolen =
        world.proxy.writes_since(mark).iter().any(|one| one.request.resource == "leases" && one.succeeded());
    assert!(!stolen, "the thawed one took the lease back");
    assert!(holder(&world).await.starts_with("second_"));
}
