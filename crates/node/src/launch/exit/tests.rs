use rstest::rstest;

use super::*;
use crate::launch::protocol::ProtocolError;
use crate::task::{ClipFile, ModelSource, Task};

fn task() -> Task {
    let input = |name: &str| ClipFile {
        path: format!("/scratch/7/{name}").into(),
        file: None,
        name: format!("s3://bucket/{name}"),
        raw: None,
    };
    Task {
        reference: input("ref.mkv"),
        distorted: input("dis.mkv"),
        model: ModelSource::Auto,
        options: vmafx_job::ScoringOptions::default(),
        threads: 1,
        report: None,
        ffmpeg: None,
        features: vmafx_job::FeatureEngine::default(),
        engine: None,
        limits: WorkerLimits {
            memory_bytes: 512_000_000,
            cpu_seconds: 60,
            file_bytes: 100_000_000,
            scratch: "/scratch/7".into(),
        },
        confinement: crate::confine::ConfinementPolicy::Required,
    }
}

fn unscored(end: WatchEnd, status: Option<i32>, oom_killed: Option<bool>, last_message: &str) -> Unscored {
    let task = task();
    let mut stderr = Tail::new(1000);
    stderr.push(last_message.as_bytes());
    let exit = WorkerExit {
        status: status.map(ExitStatus::from_raw),
        oom_killed,
        stderr: &stderr,
        redactor: &PathRedactor::of(&task),
        limits: &task.limits,
    };
    result(end, &exit).unwrap_err()
}

const EXIT_101: i32 = 101 << 8;
const EXIT_0: i32 = 0;

#[rstest]
#[case::segmentation(
    libc::SIGSEGV,
    None,
    "",
    FailureReason::WorkerCrashed,
    "the worker was killed by SIGSEGV"
)]
#[case::abort(
    libc::SIGABRT,
    None,
    "x\nfree(): invalid pointer\n",
    FailureReason::WorkerCrashed,
    "the worker was killed by SIGABRT; its last message: free(): invalid pointer"
)]
#[case::illegal(libc::SIGILL, None, "", FailureReason::WorkerCrashed, "the worker was killed by SIGILL")]
#[case::bus(libc::SIGBUS, None, "", FailureReason::WorkerCrashed, "the worker was killed by SIGBUS")]
#[case::other(42, None, "", FailureReason::WorkerCrashed, "the worker was killed by signal 42")]
#[case::killed_by_somebody(
    libc::SIGKILL,
    Some(false),
    "",
    FailureReason::WorkerCrashed,
    "the worker was killed by SIGKILL"
)]
#[case::killed_on_a_kernel_that_does_not_count(
    libc::SIGKILL,
    None,
    "",
    FailureReason::WorkerCrashed,
    "the worker was killed by SIGKILL"
)]
#[case::killed_for_memory(
    libc::SIGKILL,
    Some(true),
    "",
    FailureReason::OutOfMemory,
    "the kernel killed the worker because the memory of this node was used up; give the node more memory or fewer slots"
)]
#[case::crashed_while_another_was_killed(
    libc::SIGSEGV,
    Some(true),
    "",
    FailureReason::WorkerCrashed,
    "the worker was killed by SIGSEGV"
)]
#[case::rust_out_of_memory(
    libc::SIGABRT,
    None,
    "memory allocation of 1073741824 bytes failed\n",
    FailureReason::OutOfMemory,
    "the worker needs more than the 512 MB of a job on this node"
)]
#[case::cpp_out_of_memory(
    libc::SIGABRT,
    None,
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
    FailureReason::OutOfMemory,
    "the worker needs more than the 512 MB of a job on this node"
)]
#[case::cpu_time(
    libc::SIGXCPU,
    None,
    "",
    FailureReason::WorkerStalled,
    "the worker used all of its 60 s of CPU time (VMAFX_WORKER_CPU)"
)]
#[case::file_size(
    libc::SIGXFSZ,
    None,
    "",
    FailureReason::ReportNotWritten,
    "the report is larger than the maximum of 100 MB"
)]
#[case::panic(
    EXIT_101,
    None,
    "thread 'main' panicked at src/x.rs:1:\nboom in /scratch/7/ref.mkv\n",
    FailureReason::WorkerCrashed,
    "the worker exited with exit code 101 and reported no result; its last message: boom in s3://bucket/ref.mkv"
)]
#[case::no_result(
    EXIT_0,
    None,
    "",
    FailureReason::WorkerCrashed,
    "the worker exited with exit code 0 and reported no result"
)]
fn an_exit_without_a_result_names_its_cause(
    #[case] status: i32,
    #[case] oom_killed: Option<bool>,
    #[case] stderr: &str,
    #[case] reason: FailureReason,
    #[case] message: &str,
) {
    let expected = Unscored::Failed(Failure::new(reason, message));
    assert_eq!(unscored(WatchEnd::Exited, Some(status), oom_killed, stderr), expected);
}

#[rstest]
#[case::stalled(
    WatchEnd::Stalled(Duration::from_secs(90)),
    FailureReason::WorkerStalled,
    "made no progress for 90 s"
)]
#[case::past_the_deadline(
    WatchEnd::TimedOut(Duration::from_secs(9)),
    FailureReason::InputTooLarge,
    "not done after 9 s"
)]
#[case::flood(
    WatchEnd::ProtocolError(ProtocolError::TooMuchOutput),
    FailureReason::WorkerCrashed,
    "more output than a worker may"
)]
#[case::reported(
    WatchEnd::Done(Err(Failure::new(FailureReason::InputInvalid, "no video"))),
    FailureReason::InputInvalid,
    "no video"
)]
fn what_stopped_the_job_counts_and_not_the_signal_that_followed(
    #[case] end: WatchEnd,
    #[case] reason: FailureReason,
    #[case] part: &str,
) {
    let Unscored::Failed(failure) =
        unscored(end, Some(libc::SIGKILL), Some(true), "memory allocation of 1 byte")
    else {
        panic!("not a failure")
    };
    assert_eq!(failure.reason, reason);
    assert!(failure.message.contains(part), "{}", failure.message);
}

#[test]
fn a_cancelled_job_is_no_failure() {
    assert_eq!(unscored(WatchEnd::Cancelled, Some(libc::SIGKILL), None, ""), Unscored::Cancelled);
}

#[test]
fn a_worker_that_cannot_be_reaped_fails_its_job_too() {
    let Unscored::Failed(failure) = unscored(WatchEnd::Exited, None, None, "") else {
        panic!("not a failure")
    };
    assert_eq!(failure.message, "the worker exited in an unknown way and reported no result");
}
