//! Slots by weight, and the first job of a newcomer.

use std::collections::BTreeMap;
use std::sync::Arc;

use rstest::rstest;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use vmafx_job::{ScoringRequest, TenantLimits};
use vmafx_proto::controller::v1 as wire;
use vmafx_queue::clock::SystemClock;
use vmafx_queue::policy::Policy;
use vmafx_queue::sqlite::{self, SqliteStore};
use vmafx_queue::{NewJob, Store as _, TenantId};
use vmafx_testkit::controller::ControllerServer;

use crate::harness::{Pools, SLOTS, StoreKind, WAIT, beat, tenant_of};
use crate::node::{TestNode, clips, submit};

/// Puts jobs into the store of a controller that is stopped.
async fn fill(controller: &ControllerServer, jobs: &[(&str, usize)]) {
    let path = controller.directory().join("store/queue.db");
    let clock = Arc::new(SystemClock::default());
    let options = sqlite::Options { path, policy: Policy::default(), clock, reserve: 64 << 10 };
    let store = Arc::new(SqliteStore::open(options).unwrap());
    let scoring = ScoringRequest {
        reference: "/clips/r.y4m".into(),
        distorted: "/clips/d.y4m".into(),
        ..ScoringRequest::default()
    };
    for (tenant, count) in jobs {
        let tenant = TenantId::new(tenant).unwrap();
        let mut submissions = JoinSet::new();
        for _ in 0..*count {
            let (store, tenant) = (store.clone(), tenant.clone());
            let job = NewJob { scoring: scoring.clone(), ..NewJob::default() };
            submissions
                .spawn(async move { store.submit(&tenant, job, &TenantLimits::default()).await.unwrap() });
        }
        submissions.join_all().await;
    }
    store.close().await;
}

/// Runs `count` jobs in all slots of a node; returns the number of each tenant.
async fn run(node: &TestNode, count: usize) -> BTreeMap<String, usize> {
    let started = Arc::new(Mutex::new((BTreeMap::new(), 0)));
    let mut slots = JoinSet::new();
    for _ in 0..SLOTS {
        let (node, started) = (node.clone(), started.clone());
        slots.spawn(async move {
            while started.lock().await.1 < count {
                let job = node.pull_for(WAIT).await.unwrap().expect("there are jobs");
                {
                    let mut started = started.lock().await;
                    *started.0.entry(tenant_of(&job).to_owned()).or_default() += 1;
                    started.1 += 1;
                }
                node.complete(&job, 90.0).await;
            }
        });
    }
    slots.join_all().await;
    let (by_tenant, _) = &*started.lock().await;
    by_tenant.clone()
}

fn assert_shares(started: &BTreeMap<String, usize>, weights: &[(&str, f64)], tolerance: f64) {
    let total: usize = started.values().sum();
    let weight: f64 = weights.iter().map(|(_, weight)| weight).sum();
    for (tenant, own) in weights {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand jobs")]
        let (share, expected) = (started[*tenant] as f64 / total as f64, own / weight);
        assert!((share / expected - 1.0).abs() < tolerance, "{tenant}: {share} of {expected}: {started:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_with_100_000_jobs_takes_no_more_than_its_share_and_delays_no_newcomer() {
    let mut pools = Pools::start(|config| config).await;
    pools.0.terminate().unwrap();
    pools.0.exited().await.unwrap();
    fill(&pools, &[("a", 100_000), ("b", 3000), ("c", 3000)]).await;
    pools.0.restart().await.unwrap();
    let node = pools.node("pool", "node-0", &["*"]).await;
    let started = run(&node, 5000).await;
    assert_shares(&started, &[("a", 1.0), ("b", 1.0), ("c", 2.0)], 0.05);

    // The controller learns of the job from its store at about the time at which the submission is answered.
    pools.submit("newcomer", 1).await;
    let mut before = 0;
    while tenant_of(&node.pull_for(WAIT).await.unwrap().unwrap()) != "newcomer" {
        before += 1;
        assert!(before < SLOTS, "the newcomer waits for more than one turn of the slots");
    }
}

#[rstest]
#[case::sqlite(StoreKind::Sqlite)]
#[case::postgres(StoreKind::Postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_several_tenants_are_run_each_with_its_own_roots(#[case] store: StoreKind) {
    let pools = Pools::on(store).await;
    for (tenant, jobs) in [("a", 80), ("b", 80), ("c", 80), ("stranger", 1)] {
        pools.submit(tenant, jobs).await;
    }
    let node = pools.node("pool", "node-0", &["*"]).await;
    assert_shares(&run(&node, 120).await, &[("a", 1.0), ("b", 1.0), ("c", 2.0)], 0.25);
    // All three still have waiting jobs.
    let waiting = submit(&mut pools.client("a"), clips()).await;
    let explain = wire::ExplainRequest { job_id: waiting };
    let explained = pools.client("a").explain(explain).await.unwrap().into_inner();
    let share = " 64 of the slots are shared with other tenants, and 0 of these run jobs of this tenant; its weight is 1 of 4 \
                 among the tenants with waiting jobs, a share of 16.0 slots.";
    assert!(explained.message.contains(share), "{}", explained.message);
    // A pull that waits is woken by the job of any tenant of the pool, the home among them.
    while node.pull().await.is_some() {}
    for tenant in ["newcomer", "pool", "a"] {
        let (pulled, ()) = tokio::join!(node.pull_for(WAIT), pools.submit(tenant, 1));
        let job = pulled.unwrap().unwrap();
        assert_eq!(tenant_of(&job), tenant);
        assert_eq!(job.scoring_roots, ["/clips".to_owned(), format!("/roots/{tenant}")]);
        let (renewed, cancelled) = (beat(&node, &[&job]).await.unwrap(), job.id.clone());
        assert!(renewed.ok && renewed.lost_job_ids.is_empty(), "{renewed:?}");
        let mut owner = pools.client(tenant);
        let request = wire::CancelJobRequest { job_id: cancelled, ..Default::default() };
        owner.cancel_job(request).await.unwrap();
        assert_eq!(beat(&node, &[&job]).await.unwrap().cancel_job_ids, [job.id]);
    }
    // Each tenant sees the node as its own, with the home in front of its name.
    let nodes = pools.client("a").list_nodes(wire::ListNodesRequest {}).await.unwrap().into_inner().nodes;
    let nodes: Vec<_> = nodes.iter().map(|node| (node.name.as_str(), node.shared)).collect();
    assert_eq!(nodes, [("pool/node-0", true)]);
    assert_eq!(
        pools.client("stranger").list_nodes(wire::ListNodesRequest {}).await.unwrap().into_inner().nodes,
        []
    );
}

/// A tenant that runs as many jobs as it may leaves the pool's slots to the others, and goes on when one of its jobs ends.
#[rstest]
#[case::sqlite(StoreKind::Sqlite)]
#[case::postgres(StoreKind::Postgres)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_at_its_limit_leaves_the_slots_to_others(#[case] store: StoreKind) {
    let pools = Pools::with(store, |config| config.env("VMAFX_LIMITS_RUNNING_JOBS", "2")).await;
    let node = pools.node("pool", "shared", &["*"]).await;
    pools.submit("a", 4).await;
    pools.submit("b", 1).await;
    let mut jobs = vec![];
    for _ in 0..3 {
        jobs.push(node.pull_for(WAIT).await.unwrap().unwrap());
    }
    let mut tenants: Vec<&str> = jobs.iter().map(tenant_of).collect();
    tenants.sort_unstable();
    assert_eq!(tenants, ["a", "a", "b"]);
    assert!(node.pull().await.is_none(), "a third job of a tenant that may run two");

    let waiting = node.clone();
    let mut pull = JoinSet::new();
    pull.spawn(async move { waiting.pull_for(WAIT).await.unwrap() });
    let ended = jobs.iter().position(|job| tenant_of(job) == "a").unwrap();
    node.complete(&jobs[ended], 90.0).await;
    let job = pull.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(tenant_of(&job), "a");
}
