//! Durations, limits and back-off.

use std::time::Duration;

/// Maximum number of jobs in one heartbeat.
pub const MAX_HEARTBEAT_JOBS: usize = 64;
/// Maximum number of backends that one node serves.
pub const MAX_BACKENDS: usize = 16;

/// A job goes before jobs of the next lower priority that were submitted this much earlier, and after older ones. The indexes of
/// the stores state it in milliseconds.
pub const PRIORITY_HEAD_START: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A running job without a heartbeat for this long is taken from its node.
    pub lease_ttl: Duration,
    /// A session without a heartbeat for this long ends.
    pub session_ttl: Duration,
    pub sweep_interval: Duration,
    /// Back-off after the first lost attempt; it doubles with every further one.
    pub backoff_base: Duration,
    pub backoff_max: Duration,
    /// A job fails after this many attempts that were lost or failed through no fault of its own, unless its submitter set
    /// another number.
    pub max_lost_attempts: u32,
    /// How long after its back-off a job is kept from the node that failed it, if another node can run it.
    pub avoid_window: Duration,
    /// Attempts in a row that a node may fail before it is quarantined.
    pub quarantine_after: u32,
    /// Pause of a node that is quarantined; it doubles with every further failure.
    pub quarantine_base: Duration,
    pub quarantine_max: Duration,
    /// Longest pause of a quarantined node whose jobs no other node can run.
    pub lone_trial_interval: Duration,
}

/// Maximum number of jobs that are kept from one node at the same time. A claim of that node skips them one by one.
pub const MAX_AVOIDING_JOBS: u32 = 100;

impl Default for Policy {
    fn default() -> Self {
        Self {
            lease_ttl: Duration::from_mins(1),
            session_ttl: Duration::from_mins(1),
            sweep_interval: Duration::from_secs(5),
            backoff_base: Duration::from_secs(5),
            backoff_max: Duration::from_mins(5),
            max_lost_attempts: 3,
            avoid_window: Duration::from_mins(1),
            quarantine_after: 3,
            quarantine_base: Duration::from_secs(30),
            quarantine_max: Duration::from_mins(10),
            lone_trial_interval: Duration::from_secs(5),
        }
    }
}

impl Policy {
    /// The back-off after `lost` attempts that were lost or failed.
    pub fn backoff(&self, lost: u32) -> Duration {
        doubled(self.backoff_base, lost.saturating_sub(1)).min(self.backoff_max)
    }

    /// The pause of a node after this many failures in a row; `None` if the node is not quarantined.
    pub fn quarantine_pause(&self, failures: u32) -> Option<Duration> {
        let further = failures.checked_sub(self.quarantine_after)?;
        Some(doubled(self.quarantine_base, further).min(self.quarantine_max))
    }

    /// The longest gap between two sweeps after which leases may still expire. A longer gap means that the
    /// controller was down or the clock jumped: nodes could not send heartbeats, so the sweep renews their leases
    /// instead of ending them. A clock that was set back counts as a gap.
    pub fn max_sweep_gap(&self) -> Duration {
        let shorter = self.lease_ttl.min(self.session_ttl);
        (shorter / 4).max(self.sweep_interval * 2).min(shorter)
    }

    /// The error of a job whose last allowed attempt was lost.
    pub fn lost_text(attempt: u32, lost: u32, allowed: u32) -> String {
        format!("lease of attempt {attempt} expired ({lost} of {allowed})")
    }

    /// The error of a job whose last allowed attempt failed.
    pub fn exhausted_text(lost: u32, allowed: u32, node: &str, error: &str) -> String {
        if allowed <= 1 {
            return error.to_owned();
        }
        format!("{lost} of at most {allowed} attempts failed, the last one on {node}: {error}")
    }

    /// The error of a job about which two nodes report the same.
    pub fn confirmed_text(first: &str, second: &str, error: &str) -> String {
        format!("{first} and {second} report the same: {error}")
    }

    /// The error of a job that missed its deadline; `after` counts from its submission.
    pub fn deadline_text(after: Duration) -> String {
        format!("the deadline has passed: the job was not finished {after:?} after its submission")
    }

    /// The error of a cancelled job, with the caller's reason.
    pub fn cancel_text(reason: &str) -> String {
        if reason.is_empty() { "cancelled".to_owned() } else { format!("cancelled: {reason}") }
    }
}

fn doubled(base: Duration, times: u32) -> Duration {
    base.saturating_mul(1_u32.checked_shl(times).unwrap_or(u32::MAX))
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
    fn the_backoff_doubles_up_to_its_maximum(#[case] lost: u32, #[case] seconds: u64) {
        assert_eq!(Policy::default().backoff(lost), Duration::from_secs(seconds));
    }

    #[test]
    fn texts_name_what_ended_a_job() {
        assert_eq!(Policy::lost_text(3, 3, 3), "lease of attempt 3 expired (3 of 3)");
        assert_eq!(
            Policy::deadline_text(Duration::from_secs(30)),
            "the deadline has passed: the job was not finished 30s after its submission"
        );
        assert_eq!(Policy::cancel_text(""), "cancelled");
        assert_eq!(Policy::cancel_text("not needed"), "cancelled: not needed");
    }

    #[test]
    fn the_sweep_gap_is_longer_than_two_intervals_and_shorter_than_a_lease() {
        assert_eq!(Policy::default().max_sweep_gap(), Duration::from_secs(15));
        let hasty = Policy { lease_ttl: Duration::from_secs(2), ..Policy::default() };
        assert_eq!(hasty.max_sweep_gap(), Duration::from_secs(2));
    }
}
