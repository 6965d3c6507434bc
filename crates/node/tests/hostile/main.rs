//! Hostile inputs, as jobs of a real node whose other slot scores honest ones.
//!
//! | input                                          | what stops it                                    |
//! |------------------------------------------------|--------------------------------------------------|
//! | a header of 100000x100000                      | the reader                                       |
//! | a small file of enormous pictures              | the estimate of memory, or the limit on it       |
//! | a small file of endless pictures               | the deadline of the job                          |
//! | a body without end                             | the limit on inputs                              |
//! | a pipe, a device                               | the check of the file type                       |
//! | a link out of the roots                        | the walk of the path below the roots             |
//! | a redirect to a link-local address             | the roots, which are checked for every hop       |
//! | a decoder or a worker that takes all memory    | the limit on it                                  |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod attacks;
#[path = "../agent/expected.rs"]
mod expected;
#[path = "../agent/harness.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod harness;
mod memory;
#[path = "../agent/processes.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod processes;

use std::fs;
use std::path::{Path, PathBuf};

use vmafx_job::FailureReason;
use vmafx_proto::controller::v1::{Job, JobStatus};
use vmafx_testkit::wait;

use attacks::{Attack, Attacker};
use harness::{Harness, params};
use memory::{Memory, limit_memory};
use processes::processes_below;

/// Honest jobs for each hostile one.
const HONEST_JOBS: usize = 3;

/// How much the memory of an agent may grow, whatever its jobs are.
const MAX_GROWTH: u64 = 30 << 20;

/// Memory of each process of a job.
const JOB_MEMORY: u64 = 300 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_job_fails_with_its_reason_and_the_other_slot_goes_on() {
    let attacker = Attacker::start().await;
    let harness = &attacker.harness;
    let score = expected::expected(&harness.clip("ref.yuv"), &harness.clip("dis.yuv"));
    let decoder = attacker.decoder().display().to_string();
    let node = harness.node(
        "node-0",
        &[
            "--slots=2",
            "--max-input-bytes=96Mi",
            "--scratch-bytes=1Gi",
            "--worker-timeout=12s",
            "--ffmpeg-bin",
            &decoder,
        ],
    );
    limit_memory(node.id(), JOB_MEMORY);
    // The first job makes everything that is made once.
    let first = harness.submit("ref.yuv", "dis.yuv").await;
    assert_eq!(harness.ended(&first).await.status(), JobStatus::Completed);
    let before = Memory::of(node.id());

    let (mut hostile, mut honest) = (Vec::new(), Vec::new());
    for attack in attacker.attacks() {
        let scoring = params(attack.size, &attack.address, &attack.address);
        let job = harness.submit_limited(scoring, 1).await.unwrap();
        hostile.push((attack, job));
        for _ in 0..HONEST_JOBS {
            honest.push(harness.submit("ref.yuv", "dis.yuv").await);
        }
    }
    let mut done = Vec::new();
    for job in &honest {
        let job = harness.ended(job).await;
        assert_eq!((job.status(), job.error.as_str()), (JobStatus::Completed, ""));
        assert_eq!(job.final_score.to_bits(), score.to_bits());
        assert_eq!((job.attempt, job.lost_attempts), (1, 0));
        done.push(job);
    }
    let mut ended = Vec::new();
    for (attack, job) in hostile {
        let job = harness.ended(&job).await;
        eprintln!("{}: {} ({} ms)", attack.name, job.error, job.finished_at_ms - job.started_at_ms);
        ended.push((attack, job));
    }
    for (attack, job) in &ended {
        assert_failed(attack, job, &done);
    }

    let after = Memory::of(node.id());
    eprintln!("memory of the agent before and after: {before:?}, {after:?}");
    assert!(after.peak < before.resident + MAX_GROWTH, "{before:?}, then {after:?}");
    wait::until(Harness::TIMEOUT, "the exit of every process", || {
        let left = processes_below(&harness.scratch());
        std::future::ready(if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) })
    })
    .await
    .unwrap();
    assert_eq!(left_in_scratch(harness), Vec::<PathBuf>::new());
    node.terminate();
    assert_eq!(node.exit_code(), Some(0));
    assert_eq!(agent_directories(harness), Vec::<PathBuf>::new());
}

fn assert_failed(attack: &Attack, job: &Job, honest: &[Job]) {
    let name = attack.name;
    assert_eq!(job.status(), JobStatus::Failed, "{name}");
    let as_expected = |(reason, cause): &(FailureReason, &str)| {
        job.failure_reason == reason.number() && job.error.contains(cause)
    };
    assert!(attack.failures.iter().any(as_expected), "{name}: {} {}", job.failure_reason, job.error);
    if attack.lasts {
        let meanwhile = job.started_at_ms..job.finished_at_ms;
        let concurrent = honest.iter().filter(|honest| meanwhile.contains(&honest.finished_at_ms)).count();
        assert!(concurrent > 0, "{name}: no honest job was scored meanwhile");
    }
}

/// Downloads and directories of jobs.
fn left_in_scratch(harness: &Harness) -> Vec<PathBuf> {
    let directories = agent_directories(harness);
    assert_eq!(directories.len(), 1, "{directories:?}");
    ["objects", "jobs"].iter().flat_map(|part| entries(&directories[0].join(part))).collect()
}

/// Private directories of agents.
fn agent_directories(harness: &Harness) -> Vec<PathBuf> {
    let of_agent = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("agent-");
    entries(&harness.scratch()).into_iter().filter(of_agent).collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}
