//! The figures of a fault run. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::verify::{ObservedJob, QueuedJob};

/// What went in, what came out, and what the fault cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FaultSummary {
    pub(super) jobs: usize,
    pub(super) scores: usize,
    /// Attempts whose lease expired.
    pub(super) lost: usize,
    /// Attempts that ended without a score and were followed by another one.
    pub(super) retried: usize,
    /// From the end of the fault until the last job had ended.
    pub(super) recovery: Duration,
}

impl FaultSummary {
    pub(super) fn of(
        batch: &str,
        resources: &[ObservedJob],
        queue: &[QueuedJob],
        recovery: Duration,
    ) -> Self {
        let resources: Vec<_> = resources.iter().filter(|job| job.name.starts_with(batch)).collect();
        let queued: BTreeMap<_, _> = queue.iter().map(|job| (job.uid.as_deref(), job)).collect();
        let attempts = resources.iter().filter_map(|job| queued.get(&Some(job.uid.as_str())));
        let outcomes: Vec<_> =
            attempts.flat_map(|job| &job.attempts).filter_map(|attempt| attempt.outcome.as_deref()).collect();
        let count = |outcome: &str| outcomes.iter().filter(|one| **one == outcome).count();
        Self {
            jobs: resources.len(),
            scores: resources.iter().filter(|job| job.score.is_some()).count(),
            lost: count("expired"),
            retried: count("failed"),
            recovery,
        }
    }

    /// The figures of two parts of a run, of which the slower one determines the recovery.
    #[must_use]
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            jobs: self.jobs + other.jobs,
            scores: self.scores + other.scores,
            lost: self.lost + other.lost,
            retried: self.retried + other.retried,
            recovery: self.recovery.max(other.recovery),
        }
    }
}

impl fmt::Display for FaultSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { jobs, scores, lost, retried, recovery } = self;
        write!(
            f,
            "jobs {jobs}, scores {scores}, attempts lost {lost}, retried {retried}, recovered after {:.1} s",
            recovery.as_secs_f64()
        )
    }
}

/// The longest time during which a node had no attempt although attempts of the batch were still to start, in
/// milliseconds, by node.
pub(super) fn longest_idle(queue: &[QueuedJob], from: i64, until: i64) -> BTreeMap<String, i64> {
    let mut busy: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
    for attempt in queue.iter().flat_map(|job| &job.attempts) {
        let span = (attempt.started_at.max(from), attempt.ended_at.unwrap_or(until).min(until));
        if span.0 <= span.1 {
            busy.entry(&attempt.node).or_default().push(span);
        }
    }
    let longest = |mut spans: Vec<(i64, i64)>| {
        spans.sort_unstable();
        let mut idle_since = from;
        let mut longest = 0;
        for (start, end) in spans {
            longest = longest.max(start - idle_since);
            idle_since = idle_since.max(end);
        }
        longest.max(until - idle_since)
    };
    busy.into_iter().map(|(node, spans)| (node.to_owned(), longest(spans))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};
    use vmafx_api::job::Phase;

    use super::*;

    fn queued(uid: &str, attempts: &[(i64, i64, &str)]) -> QueuedJob {
        let attempts: Vec<Value> = attempts
            .iter()
            .map(|(from, until, outcome)| {
                json!({ "number": 1, "node": "n", "outcome": outcome, "started_at": from, "ended_at": until })
            })
            .collect();
        serde_json::from_value(
            json!({ "id": uid, "uid": uid, "status": "completed", "score": 1.0, "attempts": attempts }),
        )
        .unwrap()
    }

    fn resource(name: &str, score: Option<f64>) -> ObservedJob {
        ObservedJob {
            name: name.to_owned(),
            uid: name.to_owned(),
            phases: vec![Phase::Succeeded],
            score,
            controller_job: None,
            reasons: BTreeSet::new(),
            message: String::new(),
        }
    }

    #[test]
    fn only_the_batch_counts() {
        let resources = [resource("a-1", Some(1.0)), resource("a-2", None), resource("b-1", Some(2.0))];
        let queue = [
            queued("a-1", &[(0, 1, "expired"), (1, 2, "failed"), (2, 3, "completed")]),
            queued("b-1", &[(0, 1, "expired")]),
        ];
        let summary = FaultSummary::of("a", &resources, &queue, Duration::from_secs(2));
        assert_eq!(
            summary.to_string(),
            "jobs 2, scores 1, attempts lost 1, retried 1, recovered after 2.0 s"
        );
    }

    #[test]
    fn the_parts_of_a_run_are_added_up() {
        let part = |jobs, seconds| FaultSummary {
            jobs,
            scores: jobs,
            lost: 1,
            retried: 2,
            recovery: Duration::from_secs(seconds),
        };
        assert_eq!(
            part(1600, 3).and(&part(400, 9)).to_string(),
            "jobs 2000, scores 2000, attempts lost 2, retried 4, recovered after 9.0 s"
        );
    }

    #[test]
    fn idle_time_is_the_longest_gap_without_any_attempt() {
        let queue = [
            queued("a", &[(10, 20, "completed"), (15, 40, "completed")]),
            queued("b", &[(70, 80, "completed")]),
        ];
        assert_eq!(longest_idle(&queue, 0, 100)["n"], 30);
        assert_eq!(longest_idle(&queue, 0, 120)["n"], 40);
    }
}
