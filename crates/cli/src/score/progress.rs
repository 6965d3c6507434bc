//! How far the scoring is, on standard error. Nothing is shown where nobody looks.

use std::fmt::Write as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use vmafx_scoring::score::Progress;

const KNOWN: &str =
    "{spinner:.blue} {bar:32.blue/dim} {percent:>3} %  {pos} of {len} frames  {fps:.bold}  {left}";
const UNKNOWN: &str = "{spinner:.blue} {pos} frames  {fps:.bold}  {elapsed}";

/// A bar on a terminal. Cleared when dropped, also after an error.
pub(super) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// On standard error; indicatif draws nothing if that is no terminal.
    pub(super) fn new() -> Self {
        Self::on(ProgressDrawTarget::stderr())
    }

    fn on(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style(UNKNOWN));
        // So that a slow first frame does not look like a hang.
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar }
    }
}

impl Progress for Bar {
    fn frames(&self, done: u64, total: Option<u64>) {
        // The total is an estimate: a bar beyond its end would show more than 100 %.
        let length = total.map(|total| total.max(done));
        if length != self.bar.length()
            && let Some(length) = length
        {
            if self.bar.length().is_none() {
                self.bar.set_style(style(KNOWN));
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
            let _ = out.write_str(&left(state.pos(), state.eta()));
        })
}

/// `1:05 left`; nothing while there is nothing to judge by.
fn left(done: u64, time: Duration) -> String {
    if done == 0 {
        return String::new();
    }
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut text = String::new();
    if hours > 0 {
        let _ = write!(text, "{hours}:{minutes:02}:{seconds:02} left");
    } else {
        let _ = write!(text, "{minutes}:{seconds:02} left");
    }
    text
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
        assert_eq!(left(done, Duration::from_secs(seconds)), expected);
    }

    #[test]
    fn both_templates_are_understood() {
        for template in [KNOWN, UNKNOWN] {
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
