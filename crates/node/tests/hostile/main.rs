//! Inputs that are meant to do harm, as jobs of a real node whose other slot has honest work.
//!
//! | what arrives                                   | what stops it                                    |
//! |------------------------------------------------|--------------------------------------------------|
//! | a header of 100000x100000                      | the reader                                       |
//! | a small file of enormous pictures              | the reckoning of memory, or the limit on it      |
//! | a small file of endless pictures               | the deadline of the job                          |
//! | a body without end                             | the limit on inputs                              |
//! | a pipe, a device                               | the look at what a path leads to                 |
//! | a link out of the roots                        | the same, and the roots                          |
//! | a redirect to a link-local address             | the roots, which hold for every step             |
//! | a decoder or a worker that takes all memory    | the limit on it                                  |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod attacks;
#[path = "../agent/expected.rs"]
mod expected;
mod memory;
#[path = "../agent/processes.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod processes;
#[path = "../agent/stage.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod stage;

use std::fs;
use std::path::{Path, PathBuf};

use vmafx_node::failure::Reason;
use vmafx_proto::controller::v1::{Job, JobStatus};
use vmafx_testkit::wait;

use attacks::{Attack, Scene};
use memory::{Memory, limit_memory};
use processes::processes_below;
use stage::Stage;

/// Honest jobs for each that is not.
const HONEST: usize = 3;

/// What an agent may need more than before, whatever arrives.
const GROWTH: u64 = 30 << 20;

/// What each process of a job may have.
const MEMORY: u64 = 400 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hostile_fails_with_its_reason_and_the_other_slot_works_on() {
    let scene = Scene::set().await;
    let stage = &scene.stage;
    let score = expected::expected(&stage.clip("ref.yuv"), &stage.clip("dis.yuv"));
    let decoder = scene.decoder().display().to_string();
    let node = stage.node(
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
    limit_memory(node.id(), MEMORY);
    // Whatever is made once is made by the first job.
    let first = stage.submit("ref.yuv", "dis.yuv").await;
    assert_eq!(stage.ended(&first).await.status(), JobStatus::Completed);
    let before = Memory::of(node.id());

    let (mut hostile, mut honest) = (Vec::new(), Vec::new());
    for attack in scene.attacks() {
        let job = stage.submit_of(attack.size, &attack.address, &attack.address).await;
        hostile.push((attack, job));
        for _ in 0..HONEST {
            honest.push(stage.submit("ref.yuv", "dis.yuv").await);
        }
    }
    let mut done = Vec::new();
    for job in &honest {
        let job = stage.ended(job).await;
        assert_eq!((job.status(), job.error.as_str()), (JobStatus::Completed, ""));
        assert_eq!(job.final_score.to_bits(), score.to_bits());
        assert_eq!((job.attempt, job.lost_attempts), (1, 0));
        done.push(job);
    }
    let mut ended = Vec::new();
    for (attack, job) in hostile {
        let job = stage.ended(&job).await;
        eprintln!("{}: {} ({} ms)", attack.name, job.error, job.finished_at_ms - job.started_at_ms);
        ended.push((attack, job));
    }
    for (attack, job) in &ended {
        failed_as_it_should(attack, job, &done);
    }

    let after = Memory::of(node.id());
    eprintln!("the agent, before and after: {before:?}, {after:?}");
    assert!(after.peak < before.resident + GROWTH, "{before:?}, then {after:?}");
    wait::until(Stage::PATIENCE, "the end of every process", || {
        let left = processes_below(&stage.scratch());
        std::future::ready(if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) })
    })
    .await
    .unwrap();
    assert_eq!(left_in_scratch(stage), Vec::<PathBuf>::new());
    node.terminate();
    assert_eq!(node.end(), Some(0));
    assert_eq!(homes(stage), Vec::<PathBuf>::new());
}

fn failed_as_it_should(attack: &Attack, job: &Job, honest: &[Job]) {
    let name = attack.name;
    assert_eq!(job.status(), JobStatus::Failed, "{name}");
    let as_told =
        |(reason, cause): &(Reason, &str)| job.failure_reason == reason.number() && job.error.contains(cause);
    assert!(attack.ends.iter().any(as_told), "{name}: {} {}", job.failure_reason, job.error);
    if attack.lasts {
        let meanwhile = job.started_at_ms..job.finished_at_ms;
        let beside = honest.iter().filter(|honest| meanwhile.contains(&honest.finished_at_ms)).count();
        assert!(beside > 0, "{name}: nothing was done beside it");
    }
}

/// Downloads, and directories of jobs.
fn left_in_scratch(stage: &Stage) -> Vec<PathBuf> {
    let homes = homes(stage);
    assert_eq!(homes.len(), 1, "{homes:?}");
    ["objects", "jobs"].iter().flat_map(|part| entries(&homes[0].join(part))).collect()
}

/// What agents have as their own.
fn homes(stage: &Stage) -> Vec<PathBuf> {
    let of_agent = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("agent-");
    entries(&stage.scratch()).into_iter().filter(of_agent).collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}
