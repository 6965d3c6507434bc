//! Every process that a worker starts is killed with it.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use vmafx_node::launch::{Launcher, Unscored};
use vmafx_node::task::Task;
use vmafx_testkit::wait::until;

use crate::fixture::{Fixture, LONG, node, processes_in};

/// A decoder that ignores signals, and tries to start others in groups and sessions of their own.
const STUBBORN: &str = "trap '' TERM INT HUP PIPE
setsid sleep 1000 &
(trap '' TERM HUP; set -m; sleep 1000 & wait) &
while :; do sleep 1000; done";

fn stubborn(fixture: &Fixture) -> Task {
    let file = fixture.write("clip.mp4", [7; 1000]);
    let mut task = fixture.task(&file, &file);
    task.ffmpeg = Some(fixture.script("ffmpeg", STUBBORN));
    task
}

/// Waits until all processes are there: the worker, two shells and three sleepers.
async fn all_running(fixture: &Fixture) -> Vec<(u32, String)> {
    until(LONG, "the decoder and its children run", async || {
        let processes = processes_in(&fixture.scratch());
        let sleepers = processes.iter().filter(|(_, name)| name == "sleep").count();
        if sleepers == 3 { Ok(processes) } else { Err(format!("{processes:?}")) }
    })
    .await
    .unwrap()
}

/// What stops a job before it is done.
#[derive(Clone, Copy, Debug)]
enum Stop {
    Cancel,
    Drop,
    KillWorker,
}

#[rstest]
#[case(Stop::Cancel)]
#[case(Stop::Drop)]
#[case(Stop::KillWorker)]
#[tokio::test]
async fn nothing_is_left_of_a_job_that_is_stopped_early(#[case] stop: Stop) {
    let fixture = Fixture::new();
    let (task, cancel) = (stubborn(&fixture), CancellationToken::new());
    let launcher = Arc::new(Launcher::new(node()));
    let mut jobs = tokio::task::JoinSet::new();
    let (inside, token) = (Arc::clone(&launcher), cancel.clone());
    jobs.spawn(async move { inside.run(&task, |_, _| {}, &token, LONG, None).await });
    let processes = all_running(&fixture).await;
    match stop {
        Stop::Cancel => {
            cancel.cancel();
            assert_eq!(jobs.join_next().await.unwrap().unwrap(), Err(Unscored::Cancelled));
            // The worker is reaped when `run` returns; the other processes of its group may take a moment.
            assert_eq!(
                processes_in(&fixture.scratch()).iter().filter(|(_, name)| name.starts_with("vmafx")).count(),
                0
            );
        }
        Stop::Drop => jobs.shutdown().await,
        Stop::KillWorker => {
            let worker = processes.iter().find(|(_, name)| name.starts_with("vmafx-node")).unwrap().0;
            let worker = rustix::process::Pid::from_raw(worker.cast_signed()).unwrap();
            rustix::process::kill_process(worker, rustix::process::Signal::KILL).unwrap();
            let result = jobs.join_next().await.unwrap().unwrap();
            let Err(Unscored::Failed(failure)) = result else { panic!("{result:?}") };
            assert_eq!(failure.message, "the worker was killed by SIGKILL");
        }
    }
    fixture.wait_until_empty().await;
}

#[tokio::test]
async fn a_grandchild_that_ignores_signals_is_killed_after_its_worker_exited() {
    let fixture = Fixture::new();
    let script = "(trap '' TERM HUP; exec sleep 1000) & exit 3";
    let launcher = Launcher::new(fixture.script("worker", script));
    let result = launcher
        .run(&fixture.golden_task(), |_, _| {}, &CancellationToken::new(), LONG, Some(Duration::from_mins(1)))
        .await;
    let Err(Unscored::Failed(failure)) = result else { panic!("{result:?}") };
    assert_eq!(failure.message, "the worker exited with exit code 3 and reported no result");
    fixture.wait_until_empty().await;
}

/// The agent is killed and has no chance to clean up.
#[tokio::test]
async fn a_worker_and_its_decoder_die_with_their_agent() {
    let fixture = Fixture::new();
    let file = fixture.write("clip.mp4", [7; 1000]);
    let decoder = fixture.script("ffmpeg", "trap '' TERM HUP PIPE; while :; do sleep 1000; done");
    let mut agent = tokio::process::Command::new(node())
        .args(["run-once", "--request"])
        .arg(json!({ "reference": &file, "distorted": &file }).to_string())
        .args(["--scratch-dir".as_ref(), fixture.scratch().as_os_str()])
        .args(["--scoring-roots".as_ref(), fixture.path("").as_os_str()])
        .args(["--result".as_ref(), fixture.path("result.json").as_os_str()])
        .env("VMAFX_FFMPEG_BIN", &decoder)
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let script = decoder.display().to_string();
    let running = || {
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
            .filter(|id| {
                let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
                let scratch = fixture.scratch().display().to_string();
                let variable = format!("TMPDIR={scratch}");
                line.windows(script.len()).any(|part| part == script.as_bytes())
                    || environment.windows(variable.len()).any(|part| part == variable.as_bytes())
            })
            .collect::<Vec<_>>()
    };
    until(
        LONG,
        "the decoder runs",
        async || if running().len() >= 2 { Ok(()) } else { Err("not yet".to_owned()) },
    )
    .await
    .unwrap();
    agent.start_kill().unwrap();
    agent.wait().await.unwrap();
    // Sooner than the worker's own timeout for its decoder.
    until(Duration::from_secs(30), "nothing is left", async || {
        let left = running();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await
    .unwrap();
}
