//! Waits for jobs, and shows how far they are.

use std::collections::HashMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar};
use vmafx_proto::controller::v1 as wire;

use super::Taken;
use crate::bars::{ALL, ENDED, ONE, WAITING, style};
use crate::remote::watch::{Listener, MOST, is_over, watch};
use crate::remote::{Client, RemoteError};
use crate::view::job::{short, word};

/// More jobs than this get one bar together.
const BARS: usize = 8;

/// Waits until all jobs are over; they come back in the order given.
pub(super) async fn wait(client: &Client, taken: &[Taken]) -> Result<Vec<wire::Job>, RemoteError> {
    let mut shown = Shown::new(taken);
    for ids in taken.chunks(MOST) {
        let mut left: Vec<String> = ids.iter().map(|job| job.id.clone()).collect();
        // A known key may stand twice in one file.
        left.sort_unstable();
        left.dedup();
        let asked = wire::StreamJobsRequest {
            job_ids: left.clone(),
            include_progress: true,
            ..wire::StreamJobsRequest::default()
        };
        let mut waiting = Waiting { left, shown: &mut shown };
        watch(client, asked, &mut waiting).await?;
    }
    Ok(taken.iter().filter_map(|job| shown.over.get(&job.id).cloned()).collect())
}

/// One stream of jobs.
struct Waiting<'a> {
    left: Vec<String>,
    shown: &'a mut Shown,
}

impl Listener for Waiting<'_> {
    fn job(&mut self, job: wire::Job) -> bool {
        if is_over(&job) {
            self.left.retain(|id| *id != job.id);
        }
        self.shown.job(job);
        !self.left.is_empty()
    }

    fn waiting(&mut self, why: &str) {
        self.shown.say(why);
    }
}

/// What is on the terminal; nothing where nobody looks.
struct Shown {
    bars: MultiProgress,
    of_job: HashMap<String, ProgressBar>,
    together: Option<ProgressBar>,
    over: HashMap<String, wire::Job>,
}

impl Shown {
    fn new(taken: &[Taken]) -> Self {
        let bars = MultiProgress::new();
        let mut shown =
            Self { bars, of_job: HashMap::new(), together: None, over: HashMap::with_capacity(taken.len()) };
        if taken.len() > BARS {
            let bar = shown.bars.add(ProgressBar::new(taken.len() as u64).with_style(style(ALL)));
            bar.enable_steady_tick(Duration::from_millis(120));
            shown.together = Some(bar);
            return shown;
        }
        let width = taken.iter().map(|job| short(&job.distorted).chars().count()).max().unwrap_or(0);
        for job in taken {
            let name = format!("{:width$}", short(&job.distorted));
            let bar = shown.bars.add(ProgressBar::new(0).with_style(style(WAITING)).with_prefix(name));
            bar.enable_steady_tick(Duration::from_millis(120));
            shown.of_job.insert(job.id.clone(), bar);
        }
        shown
    }

    fn job(&mut self, job: wire::Job) {
        if let Some(bar) = self.of_job.get(&job.id) {
            show(bar, &job);
        }
        if is_over(&job) {
            self.over.insert(job.id.clone(), job);
        }
        if let Some(bar) = &self.together {
            bar.set_position(self.over.len() as u64);
            bar.set_message("");
        }
    }

    fn say(&self, why: &str) {
        for bar in self.of_job.values().filter(|bar| !bar.is_finished()).chain(&self.together) {
            bar.set_message(format!("{why}; asking again"));
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        // The table that follows says it all.
        for bar in self.of_job.values().chain(&self.together) {
            bar.finish_and_clear();
        }
    }
}

fn show(bar: &ProgressBar, job: &wire::Job) {
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
            bar.finish_with_message(word(job));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_left_when_the_last_of_its_jobs_is_over() {
        let taken = ["a", "b"].map(|id| Taken { id: id.into(), distorted: "/d.mp4".into(), known: false });
        let mut shown = Shown::new(&taken);
        let mut waiting = Waiting { left: vec!["a".into(), "b".into()], shown: &mut shown };
        let job = |id: &str, status: wire::JobStatus| wire::Job {
            id: id.into(),
            status: status.into(),
            ..wire::Job::default()
        };
        assert!(waiting.job(job("a", wire::JobStatus::Running)));
        assert!(waiting.job(job("b", wire::JobStatus::Failed)));
        assert!(!waiting.job(job("a", wire::JobStatus::Completed)));
        assert_eq!(shown.over.len(), 2);
    }
}
