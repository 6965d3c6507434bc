//! Two operators with leader election.

use futures::future::join_all;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use rustix::process::Signal;
use serde_json::json;
use vmafx_testkit::kube::proxy::{ApiProxy, ApiRequest, Fault, RbacVerb, RecordedRequest, RequestMatcher};
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::fixture::{DesiredNode, FaultFixture, SYSTEM};
use crate::operator::Operator;

const ELECTION: [(&str, &str); 4] = [
    ("VMAFX_OPERATOR_LEADER_ELECTION", "true"),
    ("VMAFX_OPERATOR_LEADER_ELECTION_LEASE_DURATION", "4s"),
    ("VMAFX_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE", "3s"),
    ("VMAFX_OPERATOR_LEADER_ELECTION_RETRY_PERIOD", "500ms"),
];

const PAUSED: DesiredNode = DesiredNode { replicas: 0, paused: true, image: "registry.test/vmafx-node:1" };

/// Starts two operators, of which the first leads.
async fn two() -> (FaultFixture, Operator, ApiProxy) {
    let fixture = FaultFixture::new(&ELECTION).await;
    leads(&fixture, "operator").await;
    let (mut second, proxy) = fixture.another("second").await;
    second.ready().await;
    fixture.create("a").await;
    fixture.settled("a", DesiredNode::default()).await;
    assert_eq!(changes(&proxy, 0), Vec::<String>::new(), "the second does not write");
    (fixture, second, proxy)
}

async fn holder(fixture: &FaultFixture) -> String {
    let leases = Api::<Lease>::namespaced(fixture.client(), SYSTEM);
    let lease = leases.get_opt("vmafx-operator.vmafx.dev").await.unwrap();
    lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity).unwrap_or_default()
}

async fn leads(fixture: &FaultFixture, name: &str) {
    let leads = async || {
        let holder = holder(fixture).await;
        if holder.starts_with(&format!("{name}_")) { Ok(()) } else { Err(holder) }
    };
    wait::until(TIMEOUT, &format!("{name} to lead"), leads).await.unwrap();
}

/// The writes after the first `mark` requests, except those of the lease.
fn changes(proxy: &ApiProxy, mark: usize) -> Vec<String> {
    let writes = proxy.writes_since(mark);
    writes.iter().filter(|one| one.request.resource != "leases").map(|one| one.request.to_string()).collect()
}

#[tokio::test]
async fn when_the_leader_is_killed_the_other_takes_over() {
    let (mut fixture, _second, proxy) = two().await;
    fixture.operator.kill();
    fixture.change("a", json!({"paused": true})).await;
    leads(&fixture, "second").await;
    fixture.settled("a", PAUSED).await;
    assert!(!changes(&proxy, 0).is_empty());
}

#[tokio::test]
async fn a_leader_that_stops_cleanly_releases_the_lease() {
    let (mut fixture, _second, _proxy) = two().await;
    let mark = fixture.proxy.request_count();
    fixture.operator.signal(Signal::TERM);
    fixture.operator.ended().await;
    let last =
        fixture.proxy.writes_since(mark).into_iter().rfind(|one| one.request.resource == "leases").unwrap();
    let holder = last.request.json()["spec"]["holderIdentity"].clone();
    assert!(holder.as_str().unwrap_or_default().is_empty(), "the lease still names {holder}");
    assert!(last.succeeded(), "{last:?}");
    leads(&fixture, "second").await;
    fixture.change("a", json!({"paused": true})).await;
    fixture.settled("a", PAUSED).await;
}

#[tokio::test]
async fn a_frozen_leader_writes_nothing_when_it_thaws() {
    let (mut fixture, _second, _proxy) = two().await;
    // The leader is frozen between its last read and the write that follows from it, for several nodes at once.
    let last_read = |request: &ApiRequest| {
        request.verb == RbacVerb::Get && request.resource == "vmafxnodes" && request.name != "a"
    };
    let held = fixture.proxy.inject(RequestMatcher::matching(last_read), Fault::Hold);
    let names = ["b", "c", "d", "e", "f", "g"];
    join_all(names.map(|name| fixture.create(name))).await;
    let all = async || held.hits().len() == names.len();
    wait::until(TIMEOUT, "the last read of every node", all).await.unwrap();
    fixture.operator.signal(Signal::STOP);
    let mark = fixture.proxy.request_count();
    // The responses have arrived when it thaws.
    held.release();
    let answered = |record: &RecordedRequest| last_read(&record.request) && record.client.is_some();
    let all =
        async || fixture.proxy.records().iter().filter(|record| answered(record)).count() == names.len();
    wait::until(TIMEOUT, "the responses", all).await.unwrap();
    leads(&fixture, "second").await;
    join_all(names.map(|name| fixture.settled(name, DesiredNode::default()))).await;
    fixture.change("a", json!({"paused": true})).await;
    fixture.settled("a", PAUSED).await;
    fixture.operator.signal(Signal::CONT);
    let knows = async || fixture.operator.metric("operator_leader", "").await == Ok(0.0);
    wait::until(TIMEOUT, "the thawed operator to notice that it does not lead", knows).await.unwrap();
    // By the time of its next request for the lease, all writes in progress have been tried.
    let now = fixture.proxy.request_count();
    let asks = |record: &RecordedRequest| record.request.resource == "leases";
    fixture.proxy.wait_for(TIMEOUT, "its next request for the lease", now, asks).await.unwrap();
    assert_eq!(changes(&fixture.proxy, mark), Vec::<String>::new());
    let stolen = fixture
        .proxy
        .writes_since(mark)
        .iter()
        .any(|one| one.request.resource == "leases" && one.succeeded());
    assert!(!stolen, "the thawed operator took the lease back");
    assert!(holder(&fixture).await.starts_with("second_"));
}
