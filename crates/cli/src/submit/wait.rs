//! Waits for submitted jobs and shows their progress.

use std::collections::HashMap;

use indicatif::ProgressBar;
use vmafx_proto::controller::v1 as wire;

use super::SubmittedJob;
use crate::bars::{ENDED, JobBars, ONE, WAITING, style};
use crate::remote::watch::{JobStreamHandler, MAX_STREAMED_IDS, has_ended, watch};
use crate::remote::{Client, RemoteError};
use crate::view::job::{short, status_name};

/// Waits until all jobs have ended, and returns them in the given order.
pub(super) async fn wait(client: &Client, submitted: &[SubmittedJob]) -> Result<Vec<wire::Job>, RemoteError> {
    let labels: Vec<_> = submitted.iter().map(|job| (job.id.as_str(), short(&job.distorted))).collect();
    let mut waiter = JobWaiter { bars: JobBars::new(&labels), ..JobWaiter::default() };
    for jobs in submitted.chunks(MAX_STREAMED_IDS) {
        let mut pending: Vec<String> = jobs.iter().map(|job| job.id.clone()).collect();
        // Rows with the same key are the same job.
        pending.sort_unstable();
        pending.dedup();
        let request = wire::StreamJobsRequest {
            job_ids: pending.clone(),
            include_progress: true,
            ..wire::StreamJobsRequest::default()
        };
        waiter.pending = pending;
        watch(client, request, &mut waiter).await?;
    }
    Ok(submitted.iter().filter_map(|job| waiter.ended.get(&job.id).cloned()).collect())
}

/// Ends a stream when all of its jobs have ended.
#[derive(Default)]
struct JobWaiter {
    /// Ids of the jobs of the current stream that have not ended.
    pending: Vec<String>,
    ended: HashMap<String, wire::Job>,
    bars: JobBars,
}

impl JobStreamHandler for JobWaiter {
    fn on_job(&mut self, job: wire::Job) -> bool {
        if let Some(bar) = self.bars.of_job(&job.id) {
            update_bar(bar, &job);
        }
        if has_ended(&job) {
            self.pending.retain(|id| *id != job.id);
            self.ended.insert(job.id.clone(), job);
        }
        self.bars.set_ended(self.ended.len());
        !self.pending.is_empty()
    }

    fn on_retry(&mut self, why: &str) {
        self.bars.show_retry(why);
    }
}

fn update_bar(bar: &ProgressBar, job: &wire::Job) {
    match (job.status(), job.progress) {
        (wire::JobStatus::Running, Some(at)) if at.frames_total > 0 => {
            bar.set_style(style(ONE));
            bar.set_length(at.frames_total.max(at.frames_done));
            bar.set_position(at.frames_done);
            bar.set_message(format!(
                "{} of {} frames on {}",
                at.frames_done, at.frames_total, job.assigned_node
            ));
        }
        (wire::JobStatus::Running, _) => bar.set_message(format!("running on {}", job.assigned_node)),
        (wire::JobStatus::Pending, _) => {
            bar.set_style(style(WAITING));
            bar.set_message("waiting for a node (vmafx explain says why)");
        }
        (wire::JobStatus::Completed, _) => {
            bar.set_style(style(ENDED));
            bar.finish_with_message(format!("{:.3}", job.final_score));
        }
        (wire::JobStatus::Failed | wire::JobStatus::Cancelled, _) => {
            bar.set_style(style(ENDED));
            bar.finish_with_message(status_name(job));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_ends_with_the_last_of_its_jobs() {
        let mut waiter = JobWaiter { pending: vec!["a".into(), "b".into()], ..JobWaiter::default() };
        let job = |id: &str, status: wire::JobStatus| wire::Job {
            id: id.into(),
            status: status.into(),
            ..wire::Job::default()
        };
        assert!(waiter.on_job(job("a", wire::JobStatus::Running)));
        assert!(waiter.on_job(job("b", wire::JobStatus::Failed)));
        assert!(!waiter.on_job(job("a", wire::JobStatus::Completed)));
        assert_eq!(waiter.ended.len(), 2);
    }
}
