//! Lengths of time and limits.

use std::time::Duration;

/// Most jobs a heartbeat names.
pub const MOST_BEATS: usize = 64;
/// Most backends a node serves.
pub const MOST_BACKENDS: usize = 16;

/// How patient the queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A running job without a heartbeat for this long is given to another node.
    pub lease_ttl: Duration,
    /// A session without a heartbeat for this long ends.
    pub session_ttl: Duration,
    /// How often the sweep comes.
    pub sweep_interval: Duration,
    /// The first pause after a lost attempt; doubles with each.
    pub backoff_base: Duration,
    /// The longest pause.
    pub backoff_max: Duration,
    /// Lost attempts that end a job, unless its submitter said otherwise.
    pub max_lost_attempts: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lease_ttl: Duration::from_mins(1),
            session_ttl: Duration::from_mins(1),
            sweep_interval: Duration::from_secs(5),
            backoff_base: Duration::from_secs(5),
            backoff_max: Duration::from_mins(5),
            max_lost_attempts: 3,
        }
    }
}

impl Policy {
    /// The pause after so many lost attempts, at least one.
    pub fn backoff(&self, lost: u32) -> Duration {
        let factor = 1_u32.checked_shl(lost.saturating_sub(1)).unwrap_or(u32::MAX);
        self.backoff_base.saturating_mul(factor).min(self.backoff_max)
    }

    /// A sweep that comes later than this after the one before was away, or the clock jumped: it must not blame the
    /// nodes, which had nobody to talk to.
    pub fn away_after(&self) -> Duration {
        let shorter = self.lease_ttl.min(self.session_ttl);
        (shorter / 4).max(self.sweep_interval * 2).min(shorter)
    }

    /// The text of a job that lost its last attempt.
    pub fn lost_text(attempt: u32, lost: u32, allowed: u32) -> String {
        format!("lease of attempt {attempt} expired ({lost} of {allowed})")
    }

    /// The text of a job that was not over this long after its submission.
    pub fn deadline_text(after: Duration) -> String {
        format!("not finished {after:?} after its submission, as its deadline demands")
    }

    /// The text of a job that somebody ended, with their reason if they gave one.
    pub fn cancel_text(reason: &str) -> String {
        if reason.is_empty() { "cancelled".to_owned() } else { format!("cancelled: {reason}") }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, 5)]
    #[case(1, 5)]
    #[case(2, 10)]
    #[case(3, 20)]
    #[case(6, 160)]
    #[case(7, 300)]
    #[case(33, 300)]
    #[case(u32::MAX, 300)]
    fn pauses_double_up_to_the_longest(#[case] lost: u32, #[case] seconds: u64) {
        assert_eq!(Policy::default().backoff(lost), Duration::from_secs(seconds));
    }

    #[test]
    fn texts_name_what_ended_a_job() {
        assert_eq!(Policy::lost_text(3, 3, 3), "lease of attempt 3 expired (3 of 3)");
        assert_eq!(
            Policy::deadline_text(Duration::from_secs(30)),
            "not finished 30s after its submission, as its deadline demands"
        );
        assert_eq!(Policy::cancel_text(""), "cancelled");
        assert_eq!(Policy::cancel_text("not needed"), "cancelled: not needed");
    }

    #[test]
    fn being_away_is_longer_than_two_rounds_and_shorter_than_a_lease() {
        assert_eq!(Policy::default().away_after(), Duration::from_secs(15));
        let hasty = Policy { lease_ttl: Duration::from_secs(2), ..Policy::default() };
        assert_eq!(hasty.away_after(), Duration::from_secs(2));
    }
}
