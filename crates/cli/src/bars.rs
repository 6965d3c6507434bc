//! Progress bars of jobs, on standard error. They are invisible unless standard error is a terminal.

use std::collections::HashMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// A job with a known number of frames.
pub(crate) const ONE: &str = "{spinner:.blue} {prefix}  {bar:24.blue/dim} {percent:>3} %  {msg}";
/// A job whose progress is unknown.
pub(crate) const WAITING: &str = "{spinner:.blue} {prefix}  {msg}";
/// A job that has ended.
pub(crate) const ENDED: &str = "  {prefix}  {msg}";
/// Several jobs in one bar.
pub(crate) const ALL: &str = "{spinner:.blue} {bar:32.blue/dim} {pos} of {len} jobs  {msg}";

/// Up to this number, each job has a bar of its own; more jobs share one.
const MAX_BARS: usize = 8;
const TICK: Duration = Duration::from_millis(120);

pub(crate) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━─")
}

/// The bars of a set of jobs, by a key of the caller. They are cleared when this is dropped: the table that follows
/// replaces them.
#[derive(Default)]
pub(crate) struct JobBars {
    by_key: HashMap<String, ProgressBar>,
    shared: Option<ProgressBar>,
}

impl JobBars {
    /// Draws the bars of these jobs, which are given as key and label.
    pub(crate) fn new(jobs: &[(&str, &str)]) -> Self {
        let bars = MultiProgress::new();
        let add = |bar: ProgressBar| {
            let bar = bars.add(bar);
            bar.enable_steady_tick(TICK);
            bar
        };
        if jobs.len() > MAX_BARS {
            let bar = ProgressBar::new(jobs.len() as u64).with_style(style(ALL));
            return Self { by_key: HashMap::new(), shared: Some(add(bar)) };
        }
        let width = jobs.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        let bar = |label: &str| {
            add(ProgressBar::new(0).with_style(style(WAITING)).with_prefix(format!("{label:width$}")))
        };
        let by_key = jobs.iter().map(|(key, label)| ((*key).to_owned(), bar(label))).collect();
        Self { by_key, shared: None }
    }

    /// The bar of one job; `None` if the jobs share a bar.
    pub(crate) fn of_job(&self, key: &str) -> Option<&ProgressBar> {
        self.by_key.get(key)
    }

    /// Updates the shared bar, if there is one.
    pub(crate) fn set_ended(&self, jobs: usize) {
        if let Some(bar) = &self.shared {
            bar.set_position(jobs as u64);
            bar.set_message("");
        }
    }

    pub(crate) fn show_retry(&self, why: &str) {
        for bar in self.by_key.values().filter(|bar| !bar.is_finished()).chain(&self.shared) {
            bar.set_message(format!("{why}; retrying"));
        }
    }
}

impl Drop for JobBars {
    fn drop(&mut self) {
        for bar in self.by_key.values().chain(&self.shared) {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_understood() {
        for template in [ONE, WAITING, ENDED, ALL] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
