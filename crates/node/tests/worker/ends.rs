//! Workers that end badly: programs that play one.

use std::time::Duration;

use rstest::rstest;
use tokio_util::sync::CancellationToken;
use vmafx_node::failure::Reason;
use vmafx_node::launch::{Launcher, Unscored};

use crate::stage::{LONG, Stage, failure_of, node, run_with};

const PROGRESS: &str = r#"{"progress":{"done":1,"total":9}}"#;

#[rstest]
#[case::crash(
    "read -r task; echo 'about to fall' >&2; kill -SEGV $$",
    Reason::WorkerCrashed,
    "the worker was ended by SIGSEGV; its last words: about to fall"
)]
#[case::abort("kill -ABRT $$", Reason::WorkerCrashed, "the worker was ended by SIGABRT")]
#[case::killed("kill -KILL $$", Reason::WorkerCrashed, "the worker was ended by SIGKILL")]
#[case::out_of_memory(
    "echo 'memory allocation of 99999999999 bytes failed' >&2; kill -ABRT $$",
    Reason::OutOfMemory,
    "the worker needs more than the 1073 MB that a job has here"
)]
#[case::cpu_time(
    "ulimit -S -t 1; while :; do :; done",
    Reason::WorkerStalled,
    "the worker used all of its 600 s of CPU time"
)]
#[case::exit(
    "echo 'thread main panicked' >&2; exit 101",
    Reason::WorkerCrashed,
    "the worker ended with exit code 101 and said nothing of its job; its last words: thread main panicked"
)]
#[case::silence(
    "exit 0",
    Reason::WorkerCrashed,
    "the worker ended with exit code 0 and said nothing of its job"
)]
#[case::closed_pipes(
    "exec >&- 2>&-; exit 7",
    Reason::WorkerCrashed,
    "the worker ended with exit code 7 and said nothing of its job"
)]
#[case::garbage(
    "echo 'I am no JSON'; sleep 1000",
    Reason::WorkerCrashed,
    "the worker wrote something that is no message: \"I am no JSON\"; it was ended"
)]
#[case::flood(
    "exec yes '{\"progress\":{\"done\":1,\"total\":9}}'",
    Reason::WorkerCrashed,
    "the worker wrote far more than a worker has to say; it was ended"
)]
#[case::endless_line(
    "exec tr '\\0' x < /dev/zero",
    Reason::WorkerCrashed,
    "the worker wrote a line of more than 262144 bytes; it was ended"
)]
#[tokio::test]
async fn the_message_names_the_cause(#[case] script: &str, #[case] reason: Reason, #[case] message: &str) {
    let stage = Stage::new();
    let launcher = Launcher::new(stage.script("worker", script));
    let failure = failure_of(&stage, run_with(&launcher, &stage.golden_task()).await);
    assert_eq!((failure.reason, failure.message.as_str()), (reason, message));
    stage.wait_until_empty().await;
}

#[rstest]
#[case::says_nothing("exec sleep 1000".to_owned())]
#[case::says_the_same_for_ever(format!("while sleep 0.05; do echo '{PROGRESS}'; done"))]
#[case::closes_its_pipes("exec >&- 2>&-; sleep 1000".to_owned())]
#[case::ignores_every_signal_it_can(format!("trap '' TERM INT HUP; echo '{PROGRESS}'; while :; do sleep 1000; done"))]
#[tokio::test]
async fn a_worker_without_progress_is_ended(#[case] script: String) {
    let stage = Stage::new();
    let launcher = Launcher::new(stage.script("worker", &script));
    let (cancel, stall) = (CancellationToken::new(), Duration::from_millis(400));
    let result = launcher.run(&stage.golden_task(), |_, _| {}, &cancel, stall, Some(LONG)).await;
    let failure = failure_of(&stage, result);
    assert_eq!(failure.reason, Reason::WorkerStalled);
    assert_eq!(failure.message, "the worker made no progress for 0.4 s and was ended");
    stage.wait_until_empty().await;
}

#[tokio::test]
async fn progress_does_not_save_a_job_from_its_deadline() {
    let stage = Stage::new();
    let script =
        r#"n=0; while sleep 0.05; do n=$((n+1)); echo "{\"progress\":{\"done\":$n,\"total\":0}}"; done"#;
    let launcher = Launcher::new(stage.script("worker", script));
    let (cancel, deadline) = (CancellationToken::new(), Some(Duration::from_millis(400)));
    let result = launcher.run(&stage.golden_task(), |_, _| {}, &cancel, LONG, deadline).await;
    let failure = failure_of(&stage, result);
    assert_eq!(failure.reason, Reason::WorkerStalled);
    assert_eq!(failure.message, "the job was not done after 0.4 s and was ended");
    stage.wait_until_empty().await;
}

#[tokio::test]
async fn a_worker_that_has_said_its_word_need_not_end_by_itself() {
    let stage = Stage::new();
    let script = r#"echo '{"done":{"Err":{"reason":"InputInvalid","message":"no video"}}}'; sleep 1000"#;
    let launcher = Launcher::new(stage.script("worker", script));
    let failure = failure_of(&stage, run_with(&launcher, &stage.golden_task()).await);
    assert_eq!((failure.reason, failure.message.as_str()), (Reason::InputInvalid, "no video"));
    stage.wait_until_empty().await;
}

#[tokio::test]
async fn a_program_that_does_not_start_is_named() {
    let stage = Stage::new();
    let launcher = Launcher::new("/no/such/program".into());
    let result = run_with(&launcher, &stage.golden_task()).await;
    let Err(Unscored::Failed(failure)) = result else { panic!("{result:?}") };
    assert_eq!(failure.reason, Reason::Internal);
    assert!(
        failure.message.starts_with("the worker /no/such/program does not start: "),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn a_worker_gets_no_secret_of_the_agent() {
    let stage = Stage::new();
    let launcher = Launcher::new(
        stage.script("worker", "env | cut -d= -f1 | sort > names; read -r task; echo $task > task"),
    );
    _ = run_with(&launcher, &stage.golden_task()).await;
    let read = |name: &str| std::fs::read_to_string(stage.scratch().join(name)).unwrap();
    let known = ["HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "PWD", "SHLVL", "TMPDIR", "_"];
    for name in read("names").lines() {
        assert!(known.contains(&name), "{name}");
    }
    assert!(read("task").contains("s3://bucket/reference"));
}

#[tokio::test]
async fn nothing_that_the_agent_has_open_reaches_a_decoder() {
    let stage = Stage::new();
    let file = stage.write("clip.mp4", [7; 1000]);
    let mut task = stage.task(&file, &file);
    let script = "found=$(for n in {3..254}; do [ -e /proc/self/fd/$n ] && echo $n; done)
printf '%s' \"$found\" > $TMPDIR/files; exit 1";
    task.ffmpeg = Some(stage.script("ffmpeg", script));
    // As a careless program leaves it to its children.
    let open = std::fs::File::open(&file).unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    _ = run_with(&Launcher::new(node()), &task).await;
    drop(open);
    assert_eq!(std::fs::read_to_string(stage.scratch().join("files")).unwrap(), "");
}
