use serde_json::json;

use super::*;

fn job() -> VmafxJob {
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
        "metadata": { "name": "j", "namespace": "video", "uid": "u" },
        "spec": { "reference": "file:///r", "distorted": "file:///d" },
    }))
    .unwrap()
}

fn live(status: JobStatus) -> Remote {
    Remote::Job(Arc::new(Job { id: "7".to_owned(), status: status.into(), ..Job::default() }))
}

fn down() -> Remote {
    Remote::Unreachable(Why { reason: Reason::ControllerUnreachable, message: "no answer".to_owned() })
}

/// How long it is until this is written.
fn until_written(job: &VmafxJob, remote: &Remote, behind: &mut Option<Instant>) -> Duration {
    left(behind, rest(job, remote, &status(job, remote, None, Timestamp::now())))
}

#[tokio::test(start_paused = true)]
async fn a_short_job_is_written_once_with_its_end_and_without_delay() {
    let (job, mut behind) = (job(), None);
    assert_eq!(until_written(&job, &live(JobStatus::Pending), &mut behind), REST);
    tokio::time::advance(REST / 2).await;
    assert_eq!(until_written(&job, &live(JobStatus::Running), &mut behind), REST / 2);
    assert_eq!(until_written(&job, &live(JobStatus::Completed), &mut behind), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn news_that_keeps_coming_does_not_put_the_write_off() {
    let (job, mut behind) = (job(), None);
    for quarters in (1..=4).rev() {
        assert_eq!(until_written(&job, &live(JobStatus::Pending), &mut behind), REST / 4 * quarters);
        tokio::time::advance(REST / 4).await;
    }
    assert_eq!(until_written(&job, &live(JobStatus::Running), &mut behind), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_silent_controller_is_news_at_once_only_for_a_job_that_says_nothing_yet() {
    let mut job = job();
    assert_eq!(until_written(&job, &down(), &mut None), REST);
    job.status = Some(status(&job, &live(JobStatus::Running), None, Timestamp::now()));
    assert_eq!(until_written(&job, &down(), &mut None), PATIENCE);
}
