//! How far the jobs are, on standard error; nothing where nobody looks.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar};
use kube::core::DynamicObject;

use super::goal::Goal;
use crate::bars::{ALL, ENDED, WAITING, style};
use crate::cluster::job::Job;

/// More jobs than this get one bar together.
const BARS: usize = 8;

/// What is on the terminal.
pub(super) struct Progress {
    of_job: HashMap<String, ProgressBar>,
    together: Option<ProgressBar>,
    all: usize,
}

impl Progress {
    pub(super) fn new(jobs: &[DynamicObject]) -> Self {
        let bars = MultiProgress::new();
        let mut shown = Self { of_job: HashMap::new(), together: None, all: jobs.len() };
        if jobs.len() > BARS {
            let bar = bars.add(ProgressBar::new(jobs.len() as u64).with_style(style(ALL)));
            bar.enable_steady_tick(Duration::from_millis(120));
            shown.together = Some(bar);
            return shown;
        }
        let width = jobs.iter().map(|object| Job(object).name().len()).max().unwrap_or(0);
        for object in jobs {
            let name = format!("{:width$}", Job(object).name());
            let bar = bars.add(ProgressBar::new(0).with_style(style(WAITING)).with_prefix(name));
            bar.enable_steady_tick(Duration::from_millis(120));
            shown.of_job.insert(Job(object).name().to_owned(), bar);
            shown.job(Job(object));
        }
        shown
    }

    /// A job has changed.
    pub(super) fn job(&self, job: Job<'_>) {
        let Some(bar) = self.of_job.get(job.name()) else { return };
        if job.is_over() {
            bar.set_style(style(ENDED));
            bar.finish_with_message(words(job));
        } else {
            bar.set_message(words(job));
        }
    }

    pub(super) fn gone(&self, job: Job<'_>) {
        if let Some(bar) = self.of_job.get(job.name()) {
            bar.set_style(style(ENDED));
            bar.finish_with_message("deleted");
        }
    }

    /// So many are waited for.
    pub(super) fn left(&self, open: usize) {
        if let Some(bar) = &self.together {
            bar.set_position((self.all - open) as u64);
            bar.set_message("");
        }
    }

    pub(super) fn say(&self, why: &str) {
        for bar in self.of_job.values().filter(|bar| !bar.is_finished()).chain(&self.together) {
            bar.set_message(format!("{why}; asking again"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // What is printed next says it all.
        for bar in self.of_job.values().chain(&self.together) {
            bar.finish_and_clear();
        }
    }
}

/// Where no bars are drawn, a line says what goes on.
pub(super) fn begin(open: usize, goal: &Goal) {
    if !io::stderr().is_terminal() {
        eprintln!("waiting for {open} {} to be {goal}", if open == 1 { "job" } else { "jobs" });
    }
}

fn words(job: Job<'_>) -> String {
    let (phase, reason, message) = (job.phase(), job.reason(), job.message());
    let message = if message.is_empty() { reason } else { message };
    match job.score() {
        Some(score) => format!("{score:.3}"),
        None if phase.is_empty() => "not seen by the operator yet".to_owned(),
        None if message.is_empty() => phase.to_owned(),
        None => format!("{phase}: {message}"),
    }
}
