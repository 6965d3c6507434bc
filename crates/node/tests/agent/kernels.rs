//! A node whose CPU computes wrong values. No CPU here does, so its worker is a program that reports it.

use std::time::Duration;

use clap::Parser as _;
use tokio::task::JoinSet;
use vmafx_job::{Failure, FailureReason};
use vmafx_kit::channel::ChannelArgs;
use vmafx_kit::config::GoDuration;
use vmafx_kit::tasks::{Shutdown, TaskSet};
use vmafx_node::agent::AgentTimeouts;
use vmafx_node::launch::Launcher;
use vmafx_node::settings::NodeSettings;
use vmafx_node::start::{AgentConfig, run};
use vmafx_node::task::{ConfinementReport, WorkerMessage};
use vmafx_proto::controller::v1::JobStatus;
use vmafx_testkit::{script, wait};

use crate::harness::Harness;

#[derive(clap::Parser)]
struct Arguments {
    #[command(flatten)]
    node: NodeSettings,
    #[command(flatten)]
    channel: ChannelArgs,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_kernels_compute_wrong_values_is_not_ready_and_pulls_no_more_jobs() {
    let harness = Harness::start().await;
    let report = ConfinementReport { landlock_abi: 5, seccomp: true, measures: vec![] };
    let confined = serde_json::to_string(&WorkerMessage::Confined(report)).unwrap();
    let failure = Failure::new(FailureReason::KernelMismatch, "on a CPU, the kernels differ");
    let failed = serde_json::to_string(&WorkerMessage::Done(Err(failure))).unwrap();
    let worker = harness.scratch().with_file_name("worker");
    // Without a clip, the task is the probe at the start.
    let text = format!(
        "#!/bin/bash\nread -r task; echo '{confined}'; case $task in *ref.yuv*) echo '{failed}';; esac\n"
    );
    script::write(&worker, &text).unwrap();

    let scratch = harness.scratch().display().to_string();
    let arguments = Arguments::parse_from([
        "node",
        "--node-id",
        "node-0",
        "--slots",
        "2",
        "--engine",
        "native",
        "--scratch-dir",
        &scratch,
    ]);
    let config = AgentConfig {
        channel: arguments.channel.open(&harness.controller().to_string().parse().unwrap()).unwrap(),
        timeouts: AgentTimeouts {
            heartbeat_interval: Duration::from_secs(1),
            pull_wait: Duration::from_secs(30),
            call: Duration::from_secs(10),
            shutdown_grace: Duration::from_secs(10),
        },
        launcher: Launcher::new(worker),
    };
    let shutdown = Shutdown::new();
    let mut tasks = TaskSet::new(shutdown.clone());
    let node = run(&arguments.node, config, &"0".parse().unwrap(), &mut tasks).await.unwrap();
    let mut running = JoinSet::new();
    running.spawn(tasks.run(futures::stream::pending(), GoDuration(Duration::from_secs(10))));
    wait::until(Harness::TIMEOUT, "the node to be ready", async || node.readiness.missing().is_empty())
        .await
        .unwrap();

    let first = harness.submit("ref.yuv", "dis.yuv").await;
    let job = harness.until(&first, |job| job.last_failure.is_some()).await;
    assert_eq!(job.last_failure.unwrap().message, "on a CPU, the kernels differ");
    assert_eq!(job.attempt, 1);
    let missing = wait::until(Harness::TIMEOUT, "the node to be unready", async || {
        let missing = node.readiness.missing();
        (!missing.is_empty()).then_some(missing)
    });
    assert_eq!(missing.await.unwrap(), [("kernels", "on a CPU, the kernels differ".to_owned())]);

    // Another node gets the job, and this one gets none although it has two idle slots.
    let other = harness.node("node-1", &[]);
    let second = harness.submit("ref.yuv", "dis.yuv").await;
    for job in [&first, &second] {
        let ended = harness.ended(job).await;
        assert_eq!((ended.status(), ended.assigned_node.as_str()), (JobStatus::Completed, "node-1"));
    }
    other.terminate();
    shutdown.begin();
    running.join_next().await.unwrap().unwrap().unwrap();
}
