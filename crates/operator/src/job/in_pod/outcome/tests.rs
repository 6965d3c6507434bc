use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::job::in_pod::fixtures::{ENDED, end, ended, failure as left, job, pod, score};

fn failed(status: &Value, pods: &[Arc<PodSnapshot>]) -> (Reason, String) {
    match outcome(&job(status), pods) {
        Some(PodJobOutcome::Failed { reason, message, at }) => {
            assert_eq!(at, ENDED.parse().ok());
            (reason, message)
        }
        other => panic!("{other:?}"),
    }
}

fn policy() -> Value {
    json!({ "failed": 1, "conditions": end("Failed", "PodFailurePolicy") })
}

fn exhausted(failed: i32) -> Value {
    json!({ "failed": failed, "conditions": end("Failed", "BackoffLimitExceeded") })
}

#[rstest]
#[case::before_its_job_says_so(json!({ "active": 1 }))]
#[case::after(json!({ "succeeded": 1, "conditions": end("Complete", "CompletionsReached") }))]
#[case::in_the_last_moment(json!({ "conditions": end("Failed", "DeadlineExceeded") }))]
fn a_pod_that_ended_well_has_the_score(#[case] status: Value) {
    let pods =
        [pod(1, &ended("Failed", 3, "Error", "")), pod(2, &ended("Succeeded", 0, "Completed", &score(0.0)))];
    let Some(PodJobOutcome::Scored { score, at }) = outcome(&job(&status), &pods) else { panic!() };
    assert_eq!((score.score, score.details.unwrap().frames, at), (0.0, 48, ENDED.parse().ok()));
}

#[rstest]
#[case::running(json!({ "active": 1 }), vec![pod(1, &json!({ "phase": "Running" }))])]
#[case::between_two_attempts(json!({ "failed": 1 }), vec![pod(1, &ended("Failed", 3, "Error", &left("Internal", 26)))])]
#[case::other_containers_are_at_work(json!({ "active": 1 }), vec![pod(1, &ended("Running", 0, "Completed", &score(1.0)))])]
#[case::unreadable_and_not_summed_up(json!({}), vec![pod(1, &ended("Succeeded", 0, "Completed", "?"))])]
fn it_is_not_over_before_it_is(#[case] status: Value, #[case] pods: Vec<Arc<PodSnapshot>>) {
    assert_eq!(outcome(&job(&status), &pods), None);
}

#[rstest]
#[case::denied("InputDenied", 2, 2, Reason::InputRefused)]
#[case::not_found("InputNotFound", 1, 2, Reason::InputUnavailable)]
#[case::differ("ClipsDiffer", 5, 2, Reason::ScoringFailed)]
#[case::of_a_later_release("Haunted", 15, 2, Reason::ScoringFailed)]
#[case::unreachable("SourceUnreachable", 20, 3, Reason::InputUnavailable)]
#[case::memory("OutOfMemory", 21, 3, Reason::AttemptsExhausted)]
fn the_result_says_why(#[case] word: &str, #[case] number: i32, #[case] code: i32, #[case] reason: Reason) {
    let pods = [pod(1, &ended("Failed", code, "Error", &left(word, number)))];
    assert_eq!(failed(&policy(), &pods), (reason, "why".to_owned()));
}

#[rstest]
#[case::usage(ended("Failed", 64, "Error", ""), Reason::Invalid, "rejected its arguments or settings")]
#[case::memory(ended("Failed", 137, "OOMKilled", ""), Reason::AttemptsExhausted, "p1 ran out of memory")]
#[case::killed(
    ended("Failed", 137, "Error", ""),
    Reason::AttemptsExhausted,
    "Pod p1 was killed and left no result"
)]
#[case::cut(
    ended("Failed", 3, "Error", "{\"outcome\":\"Fai"),
    Reason::AttemptsExhausted,
    "exited with code 3 and left a result that cannot be read"
)]
#[case::at_fault_without_a_word(ended("Failed", 2, "Error", ""), Reason::ScoringFailed, "exited with code 2")]
#[case::could_not_begin(
    ended("Failed", 128, "StartError", "exec: no such file"),
    Reason::AttemptsExhausted,
    "code 128 (StartError)"
)]
#[case::evicted(json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" }),
    Reason::AttemptsExhausted, "Pod p1 was terminated by Kubernetes (Evicted): low on memory")]
#[case::without_a_trace(json!({ "phase": "Failed" }), Reason::AttemptsExhausted, "failed before scoring started")]
fn without_a_result_kubernetes_says_why(#[case] status: Value, #[case] reason: Reason, #[case] text: &str) {
    let (actual, message) = failed(&policy(), &[pod(1, &status)]);
    assert_eq!(actual, reason);
    assert!(message.contains(text), "{message}");
}

#[test]
fn the_last_of_several_attempts_says_why() {
    let pods = [
        pod(2, &ended("Failed", 3, "Error", &left("SourceUnreachable", 20))),
        pod(1, &ended("Failed", 137, "OOMKilled", "")),
    ];
    let expected = (Reason::InputUnavailable, "2 attempts failed; the last one: why".to_owned());
    assert_eq!(failed(&exhausted(2), &pods), expected);
}

#[test]
fn a_deadline_is_a_deadline_whatever_its_pods_say() {
    let status = json!({ "conditions": end("Failed", "DeadlineExceeded") });
    let pods = [pod(1, &ended("Failed", 3, "Error", &left("Internal", 26)))];
    assert_eq!(
        failed(&status, &pods),
        (Reason::DeadlineExceeded, "the job took longer than 60 s".to_owned())
    );
}

#[test]
fn pods_that_are_gone_leave_the_words_of_kubernetes() {
    let (reason, message) = failed(&exhausted(4), &[]);
    assert_eq!(reason, Reason::AttemptsExhausted);
    assert_eq!(message, "BackoffLimitExceeded: Kubernetes says so");
}

#[rstest]
#[case::gone(vec![], "it was deleted before its result was read")]
#[case::unreadable(vec![pod(1, &ended("Succeeded", 0, "Completed", "hello"))], "cannot be read")]
fn a_score_that_nobody_can_read_is_lost(#[case] pods: Vec<Arc<PodSnapshot>>, #[case] text: &str) {
    let status = json!({ "succeeded": 1, "conditions": end("Complete", "CompletionsReached") });
    let (reason, message) = failed(&status, &pods);
    assert_eq!(reason, Reason::ResultLost);
    assert!(message.contains(text), "{message}");
}
