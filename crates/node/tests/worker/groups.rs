//! Whatever a worker starts ends with it.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use tokio_util::sync::CancellationToken;
use vmafx_node::launch::{Launcher, Unscored};
use vmafx_node::task::Task;
use vmafx_testkit::wait::until;

use crate::stage::{LONG, Stage, node, processes_in};

/// Plays a decoder: ignores signals, and starts others in groups and sessions of their own, as far as it can.
const STUBBORN: &str = "trap '' TERM INT HUP PIPE
setsid sleep 1000 &
(trap '' TERM HUP; set -m; sleep 1000 & wait) &
while :; do sleep 1000; done";

/// A task whose decoder is stubborn.
fn stubborn(stage: &Stage) -> Task {
    let file = stage.write("clip.mp4", [7; 1000]);
    let mut task = stage.task(&file, &file);
    task.ffmpeg = Some(stage.script("ffmpeg", STUBBORN));
    task
}

/// Waits until the decoder and all it starts are there: the worker, two shells and three sleepers.
async fn all_running(stage: &Stage) -> Vec<(u32, String)> {
    until(LONG, "the decoder and its children run", async || {
        let processes = processes_in(&stage.scratch());
        let sleepers = processes.iter().filter(|(_, name)| name == "sleep").count();
        if sleepers == 3 { Ok(processes) } else { Err(format!("{processes:?}")) }
    })
    .await
    .unwrap()
}

/// How a job ends before its time.
#[derive(Clone, Copy, Debug)]
enum End {
    Cancel,
    Drop,
    KillWorker,
}

#[rstest]
#[case(End::Cancel)]
#[case(End::Drop)]
#[case(End::KillWorker)]
#[tokio::test]
async fn nothing_is_left_of_a_job_that_ends_early(#[case] end: End) {
    let stage = Stage::new();
    let (task, cancel) = (stubborn(&stage), CancellationToken::new());
    let launcher = Arc::new(Launcher::new(node()));
    let mut jobs = tokio::task::JoinSet::new();
    let (inside, token) = (Arc::clone(&launcher), cancel.clone());
    jobs.spawn(async move { inside.run(&task, |_, _| {}, &token, LONG, None).await });
    let processes = all_running(&stage).await;
    match end {
        End::Cancel => {
            cancel.cancel();
            assert_eq!(jobs.join_next().await.unwrap().unwrap(), Err(Unscored::Cancelled));
            // Reaped, and all the others were in its group.
            assert_eq!(
                processes_in(&stage.scratch()).iter().filter(|(_, name)| name.starts_with("vmafx")).count(),
                0
            );
        }
        End::Drop => jobs.shutdown().await,
        End::KillWorker => {
            let worker = processes.iter().find(|(_, name)| name.starts_with("vmafx-node")).unwrap().0;
            let worker = rustix::process::Pid::from_raw(worker.cast_signed()).unwrap();
            rustix::process::kill_process(worker, rustix::process::Signal::KILL).unwrap();
            let result = jobs.join_next().await.unwrap().unwrap();
            let Err(Unscored::Failed(failure)) = result else { panic!("{result:?}") };
            assert_eq!(failure.message, "the worker was ended by SIGKILL");
        }
    }
    stage.wait_until_empty().await;
}

#[tokio::test]
async fn a_grandchild_that_ignores_signals_ends_with_a_worker_that_ended_by_itself() {
    let stage = Stage::new();
    let script = "(trap '' TERM HUP; exec sleep 1000) & exit 3";
    let launcher = Launcher::new(stage.script("worker", script));
    let result = launcher
        .run(&stage.golden_task(), |_, _| {}, &CancellationToken::new(), LONG, Some(Duration::from_mins(1)))
        .await;
    let Err(Unscored::Failed(failure)) = result else { panic!("{result:?}") };
    assert_eq!(failure.message, "the worker ended with exit code 3 and said nothing of its job");
    stage.wait_until_empty().await;
}

/// The agent is killed and has no chance to do anything.
#[tokio::test]
async fn a_worker_and_its_decoder_die_with_their_agent() {
    let stage = Stage::new();
    let file = stage.write("clip.mp4", [7; 1000]);
    let decoder = stage.script("ffmpeg", "trap '' TERM HUP PIPE; while :; do sleep 1000; done");
    let mut agent = tokio::process::Command::new(node())
        .args(["run-once", "--reference"])
        .arg(&file)
        .arg("--distorted")
        .arg(&file)
        .args(["--scratch-dir".as_ref(), stage.scratch().as_os_str()])
        .args(["--scoring-roots".as_ref(), stage.path("").as_os_str()])
        .args(["--result".as_ref(), stage.path("result.json").as_os_str()])
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
                let scratch = stage.scratch().display().to_string();
                let mark = format!("TMPDIR={scratch}");
                line.windows(script.len()).any(|part| part == script.as_bytes())
                    || environment.windows(mark.len()).any(|part| part == mark.as_bytes())
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
    // Sooner than the worker would give up its decoder by itself.
    until(Duration::from_secs(30), "nothing is left", async || {
        let left = running();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await
    .unwrap();
}
