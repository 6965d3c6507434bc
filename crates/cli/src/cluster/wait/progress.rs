//! The progress of jobs that are waited for, on standard error.

use std::io::{self, IsTerminal as _};

use kube::core::DynamicObject;

use super::goal::WaitGoal;
use crate::bars::{ENDED, JobBars, style};
use crate::cluster::job::JobView;

pub(super) struct WaitProgress {
    bars: JobBars,
    jobs: usize,
}

impl WaitProgress {
    pub(super) fn new(jobs: &[DynamicObject]) -> Self {
        let labels: Vec<_> =
            jobs.iter().map(|object| (JobView(object).name(), JobView(object).name())).collect();
        let progress = Self { bars: JobBars::new(&labels), jobs: jobs.len() };
        for object in jobs {
            progress.update(JobView(object));
        }
        progress
    }

    pub(super) fn update(&self, job: JobView<'_>) {
        let Some(bar) = self.bars.of_job(job.name()) else { return };
        if job.has_ended() {
            bar.set_style(style(ENDED));
            bar.finish_with_message(describe(job));
        } else {
            bar.set_message(describe(job));
        }
    }

    pub(super) fn set_deleted(&self, job: JobView<'_>) {
        if let Some(bar) = self.bars.of_job(job.name()) {
            bar.set_style(style(ENDED));
            bar.finish_with_message("deleted");
        }
    }

    pub(super) fn set_pending(&self, jobs: usize) {
        self.bars.set_ended(self.jobs - jobs);
    }

    pub(super) fn show_retry(&self, why: &str) {
        self.bars.show_retry(why);
    }
}

/// Prints what is waited for if standard error is not a terminal, where no bars are drawn.
pub(super) fn announce(pending: usize, goal: &WaitGoal) {
    if !io::stderr().is_terminal() {
        eprintln!("waiting for {pending} {} to be {goal}", if pending == 1 { "job" } else { "jobs" });
    }
}

fn describe(job: JobView<'_>) -> String {
    let (phase, reason, message) = (job.phase(), job.reason(), job.message());
    let message = if message.is_empty() { reason } else { message };
    match job.score() {
        Some(score) => format!("{score:.3}"),
        None if phase.is_empty() => "not yet observed by the operator".to_owned(),
        None if message.is_empty() => phase.to_owned(),
        None => format!("{phase}: {message}"),
    }
}
