use rstest::rstest;

use super::*;
use crate::launch::listen::Nonsense;
use crate::task::{Input, Model, ScaleTo, Task};

fn task() -> Task {
    let input = |name: &str| Input {
        path: format!("/scratch/7/{name}").into(),
        file: None,
        name: format!("s3://bucket/{name}"),
        raw: None,
    };
    Task {
        reference: input("ref.mkv"),
        distorted: input("dis.mkv"),
        model: Model::Auto,
        features: Vec::new(),
        frame_step: 1,
        scale_to: ScaleTo::Reference,
        shortest: false,
        threads: 1,
        report: None,
        ffmpeg: None,
        engine: None,
        limits: Limits {
            memory_bytes: 512_000_000,
            cpu_seconds: 60,
            file_bytes: 100_000_000,
            scratch: "/scratch/7".into(),
        },
    }
}

fn judged(seen: Seen, status: Option<i32>, out_of_memory: Option<bool>, words: &str) -> Unscored {
    let task = task();
    let mut said = Tail::new(1000);
    said.push(words.as_bytes());
    let evidence = Evidence {
        status: status.map(ExitStatus::from_raw),
        out_of_memory,
        said: &said,
        names: &Names::of(&task),
        limits: &task.limits,
    };
    judge(seen, &evidence).unwrap_err()
}

const EXIT_101: i32 = 101 << 8;
const EXIT_0: i32 = 0;

#[rstest]
#[case::segmentation(libc::SIGSEGV, None, "", Reason::WorkerCrashed, "the worker was ended by SIGSEGV")]
#[case::abort(
    libc::SIGABRT,
    None,
    "x\nfree(): invalid pointer\n",
    Reason::WorkerCrashed,
    "the worker was ended by SIGABRT; its last words: free(): invalid pointer"
)]
#[case::illegal(libc::SIGILL, None, "", Reason::WorkerCrashed, "the worker was ended by SIGILL")]
#[case::bus(libc::SIGBUS, None, "", Reason::WorkerCrashed, "the worker was ended by SIGBUS")]
#[case::other(42, None, "", Reason::WorkerCrashed, "the worker was ended by signal 42")]
#[case::killed_by_somebody(
    libc::SIGKILL,
    Some(false),
    "",
    Reason::WorkerCrashed,
    "the worker was ended by SIGKILL"
)]
#[case::killed_by_nobody_knows(
    libc::SIGKILL,
    None,
    "",
    Reason::WorkerCrashed,
    "the worker was ended by SIGKILL"
)]
#[case::killed_for_memory(
    libc::SIGKILL,
    Some(true),
    "",
    Reason::OutOfMemory,
    "the kernel killed the worker because the memory of this node was used up; give the node more memory or fewer slots"
)]
#[case::crashed_while_another_was_killed(
    libc::SIGSEGV,
    Some(true),
    "",
    Reason::WorkerCrashed,
    "the worker was ended by SIGSEGV"
)]
#[case::rust_out_of_memory(
    libc::SIGABRT,
    None,
    "memory allocation of 1073741824 bytes failed\n",
    Reason::OutOfMemory,
    "the worker needs more than the 512 MB that a job has here"
)]
#[case::cpp_out_of_memory(
    libc::SIGABRT,
    None,
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
    Reason::OutOfMemory,
    "the worker needs more than the 512 MB that a job has here"
)]
#[case::cpu_time(
    libc::SIGXCPU,
    None,
    "",
    Reason::WorkerStalled,
    "the worker used all of its 60 s of CPU time"
)]
#[case::file_size(
    libc::SIGXFSZ,
    None,
    "",
    Reason::ReportNotWritten,
    "the report is larger than the 100 MB a file may have"
)]
#[case::panic(
    EXIT_101,
    None,
    "thread 'main' panicked at src/x.rs:1:\nboom in /scratch/7/ref.mkv\n",
    Reason::WorkerCrashed,
    "the worker ended with exit code 101 and said nothing of its job; its last words: boom in s3://bucket/ref.mkv"
)]
#[case::silent(
    EXIT_0,
    None,
    "",
    Reason::WorkerCrashed,
    "the worker ended with exit code 0 and said nothing of its job"
)]
fn an_end_without_a_word_names_its_cause(
    #[case] status: i32,
    #[case] out_of_memory: Option<bool>,
    #[case] said: &str,
    #[case] reason: Reason,
    #[case] message: &str,
) {
    let expected = Unscored::Failed(Failure::new(reason, message));
    assert_eq!(judged(Seen::Ended, Some(status), out_of_memory, said), expected);
}

#[rstest]
#[case::stalled(Seen::Stalled(Duration::from_secs(90)), Reason::WorkerStalled, "made no progress for 90 s")]
#[case::late(Seen::Late(Duration::from_secs(9)), Reason::WorkerStalled, "not done after 9 s")]
#[case::flood(Seen::Nonsense(Nonsense::Flood), Reason::WorkerCrashed, "far more than a worker has to say")]
#[case::own_word(
    Seen::Done(Err(Failure::new(Reason::InputInvalid, "no video"))),
    Reason::InputInvalid,
    "no video"
)]
fn what_ended_the_job_counts_and_not_the_signal_that_followed(
    #[case] seen: Seen,
    #[case] reason: Reason,
    #[case] part: &str,
) {
    let Unscored::Failed(failure) =
        judged(seen, Some(libc::SIGKILL), Some(true), "memory allocation of 1 byte")
    else {
        panic!("not a failure")
    };
    assert_eq!(failure.reason, reason);
    assert!(failure.message.contains(part), "{}", failure.message);
}

#[test]
fn a_cancelled_job_is_no_failure() {
    assert_eq!(judged(Seen::Cancelled, Some(libc::SIGKILL), None, ""), Unscored::Cancelled);
}

#[test]
fn a_worker_that_cannot_be_reaped_is_told_of_too() {
    let Unscored::Failed(failure) = judged(Seen::Ended, None, None, "") else { panic!("not a failure") };
    assert_eq!(failure.message, "the worker ended in an unknown way and said nothing of its job");
}
