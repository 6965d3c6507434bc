//! The progress bar of a scoring run, on standard error.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use vmafx_scoring::score::ProgressObserver;

const WITH_TOTAL: &str =
    "{spinner:.blue} {bar:32.blue/dim} {percent:>3} %  {pos} of {len} frames  {fps:.bold}  {left}";
const WITHOUT_TOTAL: &str = "{spinner:.blue} {pos} frames  {fps:.bold}  {elapsed}";

/// A progress bar that is cleared when it is dropped, also after an error.
pub(super) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// indicatif draws nothing if standard error is not a terminal.
    pub(super) fn new() -> Self {
        Self::on(ProgressDrawTarget::stderr())
    }

    fn on(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style(WITHOUT_TOTAL));
        // The spinner shows that the program runs while it waits for a slow first frame.
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar }
    }
}

impl ProgressObserver for Bar {
    fn frames(&self, done: u64, total: Option<u64>) {
        // The total is an estimate and may be too low; the bar must not exceed 100 %.
        let length = total.map(|total| total.max(done));
        if length != self.bar.length()
            && let Some(length) = length
        {
            if self.bar.length().is_none() {
                self.bar.set_style(style(WITH_TOTAL));
            }
            self.bar.set_length(length);
        }
        self.bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━─")
        .with_key("fps", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{:.1} fps", state.per_sec());
        })
        .with_key("left", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = out.write_str(&time_left(state.pos(), state.eta()));
        })
}

/// `1:05 left`; empty before the first frame, when there is no estimate.
fn time_left(done: u64, time: Duration) -> String {
    if done == 0 {
        return String::new();
    }
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02} left")
    } else {
        format!("{minutes}:{seconds:02} left")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, 5, "")]
    #[case(10, 5, "0:05 left")]
    #[case(10, 65, "1:05 left")]
    #[case(10, 3725, "1:02:05 left")]
    fn time_left_is_written_like_a_clock(#[case] done: u64, #[case] seconds: u64, #[case] expected: &str) {
        assert_eq!(time_left(done, Duration::from_secs(seconds)), expected);
    }

    #[test]
    fn both_templates_are_valid() {
        for template in [WITH_TOTAL, WITHOUT_TOTAL] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn a_total_that_was_too_low_is_corrected() {
        let bar = Bar::on(ProgressDrawTarget::hidden());
        bar.frames(1, Some(10));
        assert_eq!(bar.bar.length(), Some(10));
        bar.frames(12, Some(10));
        assert_eq!((bar.bar.length(), bar.bar.position()), (Some(12), 12));
    }
}
