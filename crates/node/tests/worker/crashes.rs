//! Workers that crash, hang or break the protocol: shell scripts in their place.

use std::time::Duration;

use rstest::rstest;
use tokio_util::sync::CancellationToken;
use vmafx_job::FailureReason;
use vmafx_node::launch::{Launcher, Unscored};

use crate::fixture::{Fixture, LONG, failure_of, node, run_with};

const PROGRESS: &str = r#"{"progress":{"done":1,"total":9}}"#;

#[rstest]
#[case::crash(
    "read -r task; echo 'about to fall' >&2; kill -SEGV $$",
    FailureReason::WorkerCrashed,
    "the worker was killed by SIGSEGV; its last message: about to fall"
)]
#[case::abort("kill -ABRT $$", FailureReason::WorkerCrashed, "the worker was killed by SIGABRT")]
#[case::killed("kill -KILL $$", FailureReason::WorkerCrashed, "the worker was killed by SIGKILL")]
#[case::out_of_memory(
    "echo 'memory allocation of 99999999999 bytes failed' >&2; kill -ABRT $$",
    FailureReason::OutOfMemory,
    "the worker needs more than the 1073 MB of a job on this node"
)]
#[case::cpu_time(
    "ulimit -S -t 1; while :; do :; done",
    FailureReason::WorkerStalled,
    "the worker used all of its 600 s of CPU time (VMAFX_WORKER_CPU)"
)]
#[case::exit(
    "echo 'thread main panicked' >&2; exit 101",
    FailureReason::WorkerCrashed,
    "the worker exited with exit code 101 and reported no result; its last message: thread main panicked"
)]
#[case::no_result(
    "exit 0",
    FailureReason::WorkerCrashed,
    "the worker exited with exit code 0 and reported no result"
)]
#[case::closed_pipes(
    "exec >&- 2>&-; exit 7",
    FailureReason::WorkerCrashed,
    "the worker exited with exit code 7 and reported no result"
)]
#[case::garbage(
    "echo 'I am no JSON'; sleep 1000",
    FailureReason::WorkerCrashed,
    "the worker wrote a line that is not a message: \"I am no JSON\"; it was killed"
)]
#[case::flood(
    "exec yes '{\"progress\":{\"done\":1,\"total\":9}}'",
    FailureReason::WorkerCrashed,
    "the worker wrote more output than a worker may; it was killed"
)]
#[case::endless_line(
    "exec tr '\\0' x < /dev/zero",
    FailureReason::WorkerCrashed,
    "the worker wrote a line of more than 262144 bytes; it was killed"
)]
#[tokio::test]
async fn the_message_names_the_cause(
    #[case] script: &str,
    #[case] reason: FailureReason,
    #[case] message: &str,
) {
    let fixture = Fixture::new();
    let launcher = Launcher::new(fixture.script("worker", script));
    let failure = failure_of(&fixture, run_with(&launcher, &fixture.golden_task()).await);
    assert_eq!((failure.reason, failure.message.as_str()), (reason, message));
    fixture.wait_until_empty().await;
}

#[rstest]
#[case::writes_nothing("exec sleep 1000".to_owned())]
#[case::repeats_its_progress(format!("while sleep 0.05; do echo '{PROGRESS}'; done"))]
#[case::closes_its_pipes("exec >&- 2>&-; sleep 1000".to_owned())]
#[case::ignores_every_signal_it_can(format!("trap '' TERM INT HUP; echo '{PROGRESS}'; while :; do sleep 1000; done"))]
#[case::repeats_its_activity(r#"while sleep 0.05; do echo '{"activity":{"frames":7,"bytes":9}}'; done"#.to_owned())]
#[tokio::test]
async fn a_worker_without_progress_is_killed(#[case] script: String) {
    let fixture = Fixture::new();
    let launcher = Launcher::new(fixture.script("worker", &script));
    let (cancel, stall) = (CancellationToken::new(), Duration::from_millis(400));
    let result = launcher.run(&fixture.golden_task(), |_, _| {}, &cancel, stall, Some(LONG)).await;
    let failure = failure_of(&fixture, result);
    assert_eq!(failure.reason, FailureReason::WorkerStalled);
    assert_eq!(failure.message, "the worker made no progress for 0.4 s and was killed");
    fixture.wait_until_empty().await;
}

#[tokio::test]
async fn progress_does_not_save_a_job_from_its_deadline() {
    let fixture = Fixture::new();
    let script =
        r#"n=0; while sleep 0.05; do n=$((n+1)); echo "{\"progress\":{\"done\":$n,\"total\":0}}"; done"#;
    let launcher = Launcher::new(fixture.script("worker", script));
    let (cancel, deadline) = (CancellationToken::new(), Some(Duration::from_millis(400)));
    let result = launcher.run(&fixture.golden_task(), |_, _| {}, &cancel, LONG, deadline).await;
    let failure = failure_of(&fixture, result);
    assert_eq!(failure.reason, FailureReason::InputTooLarge);
    assert!(
        failure.message.starts_with("the job was not done after 0.4 s, the time limit of a job"),
        "{failure}"
    );
    fixture.wait_until_empty().await;
}

#[tokio::test]
async fn a_worker_that_has_reported_its_result_need_not_exit_by_itself() {
    let fixture = Fixture::new();
    let script = r#"echo '{"done":{"Err":{"reason":"InputInvalid","message":"no video"}}}'; sleep 1000"#;
    let launcher = Launcher::new(fixture.script("worker", script));
    let failure = failure_of(&fixture, run_with(&launcher, &fixture.golden_task()).await);
    assert_eq!((failure.reason, failure.message.as_str()), (FailureReason::InputInvalid, "no video"));
    fixture.wait_until_empty().await;
}

#[tokio::test]
async fn a_program_that_does_not_start_is_named() {
    let fixture = Fixture::new();
    let launcher = Launcher::new("/no/such/program".into());
    let result = run_with(&launcher, &fixture.golden_task()).await;
    let Err(Unscored::Failed(failure)) = result else { panic!("{result:?}") };
    assert_eq!(failure.reason, FailureReason::Internal);
    assert!(failure.message.starts_with("cannot start the worker /no/such/program: "), "{}", failure.message);
}

#[tokio::test]
async fn a_worker_gets_no_secret_of_the_agent() {
    let fixture = Fixture::new();
    let launcher = Launcher::new(
        fixture.script("worker", "env | cut -d= -f1 | sort > names; read -r task; echo $task > task"),
    );
    _ = run_with(&launcher, &fixture.golden_task()).await;
    let read = |name: &str| std::fs::read_to_string(fixture.scratch().join(name)).unwrap();
    let known = ["HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "PWD", "SHLVL", "TMPDIR", "_"];
    for name in read("names").lines() {
        assert!(known.contains(&name), "{name}");
    }
    assert!(read("task").contains("s3://bucket/reference"));
}

#[tokio::test]
async fn nothing_that_the_agent_has_open_reaches_a_decoder() {
    let fixture = Fixture::new();
    let file = fixture.write("clip.mp4", [7; 1000]);
    let mut task = fixture.task(&file, &file);
    let script = "found=$(for n in {3..254}; do [ -e /proc/self/fd/$n ] && echo $n; done)
printf '%s' \"$found\" > $TMPDIR/files; exit 1";
    task.ffmpeg = Some(fixture.script("ffmpeg", script));
    // Inherited by children, as a careless program leaves it.
    let open = std::fs::File::open(&file).unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    _ = run_with(&Launcher::new(node()), &task).await;
    drop(open);
    assert_eq!(std::fs::read_to_string(fixture.scratch().join("files")).unwrap(), "");
}
