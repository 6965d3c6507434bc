//! A node that scores jobs of several tenants.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::process::{Signal, kill_process};
use vmafx_proto::controller::v1::JobStatus;
use vmafx_testkit::wait;

use crate::expected::expected;
use crate::harness::{Harness, Node};
use crate::outbox::results;
use crate::processes::processes_below;

const TOKENS: &str = "tokens:
- {token: pool-0123456789abcdef, tenant: pool, roles: ['vmafx:node']}
- {token: studio-a-0123456789abcdef, tenant: studio-a, roles: ['vmafx:writer']}
- {token: studio-b-0123456789abcdef, tenant: studio-b, roles: ['vmafx:writer']}
";

const CLIPS: [&str; 4] = ["ref.yuv", "dis.yuv", "longer_ref.yuv", "longer_dis.yuv"];

fn token(tenant: &str) -> String {
    format!("{tenant}-0123456789abcdef")
}

/// A controller at which each tenant has a directory of its own with the clips.
async fn start() -> Harness {
    let harness = Harness::with(None, |config, clips| {
        config
            .tokens(TOKENS)
            .env("VMAFX_SCORING_ROOTS", format!("{clips}/{{tenant}}"))
            .env("VMAFX_SHARED_POOLS", "pool=*")
    })
    .await;
    for tenant in ["studio-a", "studio-b"] {
        fs::create_dir(harness.clip(tenant)).unwrap();
        for clip in CLIPS {
            fs::copy(harness.clip(clip), harness.clip(tenant).join(clip)).unwrap();
        }
    }
    harness
}

fn node(harness: &Harness, arguments: &[&str]) -> Node {
    let token = token("pool");
    let own = ["--controller-token", &token, "--serves", "*"];
    harness.node("node-0", &[&own, arguments].concat())
}

/// Submits a comparison of two clips of the tenant.
async fn submit(harness: &mut Harness, tenant: &str, reference: &str, distorted: &str) -> String {
    let clip = |name: &str| format!("{tenant}/{name}");
    harness.as_client(&token(tenant)).submit(&clip(reference), &clip(distorted)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_two_tenants_are_scored_each_below_its_own_roots() {
    let mut harness = start().await;
    // The address is that of a clip of `studio-b`, and leads to one of `studio-a`, which the same node has read.
    symlink(harness.clip("studio-a/dis.yuv"), harness.clip("studio-b/stolen.yuv")).unwrap();
    let _node = node(&harness, &[]);
    let score = expected(&harness.clip("ref.yuv"), &harness.clip("dis.yuv"));
    for tenant in ["studio-a", "studio-b"] {
        let job = submit(&mut harness, tenant, "ref.yuv", "dis.yuv").await;
        let done = harness.ended(&job).await;
        assert_eq!((done.status(), done.error.as_str()), (JobStatus::Completed, ""));
        assert_eq!(
            (done.final_score.to_bits(), done.assigned_node.as_str()),
            (score.to_bits(), "pool/node-0")
        );
    }
    let job = submit(&mut harness, "studio-b", "ref.yuv", "stolen.yuv").await;
    let denied = harness.ended(&job).await;
    assert_eq!(
        (denied.status(), denied.failure_reason().as_str_name()),
        (JobStatus::Failed, "FAILURE_REASON_INPUT_DENIED")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_reaches_its_tenant_after_a_restart_of_the_controller_and_of_the_agent() {
    let mut harness = start().await;
    let score = expected(&harness.clip("longer_ref.yuv"), &harness.clip("longer_dis.yuv"));
    let first = node(&harness, &["--slots", "2", "--graceful-shutdown", "0s"]);
    let mut jobs = Vec::new();
    for tenant in ["studio-a", "studio-b"] {
        jobs.push((tenant, submit(&mut harness, tenant, "longer_ref.yuv", "longer_dis.yuv").await));
    }
    let mut workers = Vec::new();
    wait::until(Harness::TIMEOUT, "the workers", || {
        for process in processes_below(&harness.scratch()) {
            if !workers.contains(&process.id) && kill_process(process.id, Signal::STOP).is_ok() {
                workers.push(process.id);
            }
        }
        std::future::ready(workers.len() == jobs.len())
    })
    .await
    .unwrap();
    harness.kill_controller();
    for worker in workers {
        kill_process(worker, Signal::CONT).unwrap();
    }
    let outbox = harness.scratch().join("outbox");
    let kept = |count| std::future::ready(results(&outbox).len() == count);
    wait::until(Harness::TIMEOUT, "the results in the outbox", || kept(jobs.len())).await.unwrap();
    drop(first);
    let _second = node(&harness, &[]);
    harness.restart_controller().await;
    for (tenant, job) in &jobs {
        let done = harness.as_client(&token(tenant)).ended(job).await;
        assert_eq!((done.status(), done.error.as_str()), (JobStatus::Completed, ""));
        assert_eq!((done.final_score.to_bits(), done.attempt, done.lost_attempts), (score.to_bits(), 1, 0));
    }
    wait::until(Harness::TIMEOUT, "an empty outbox", || kept(0)).await.unwrap();
}
