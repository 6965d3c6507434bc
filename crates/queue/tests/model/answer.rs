//! Makes answers of store and model comparable.
//!
//! Ids are the store's in both. Only two things are the store's own business: how far a revision rises, and what a
//! cursor looks like. Both are compared by what they mean and then left out.

use vmafx_job::FailureReason;
use vmafx_queue::Job;
use vmafx_queue::job::Attempt;
use vmafx_queue::node::{Node, Pulse};
use vmafx_queue::store::{
    Cancelled, Changes, Claim, Explained, Labelled, Pruned, Released, Reported, Samples, Submitted, Supply,
    Swept, TenantStats,
};

/// An answer, and the jobs in it.
pub(crate) trait Answer: PartialEq + std::fmt::Debug {
    fn jobs(&mut self) -> Vec<&mut Job> {
        vec![]
    }

    /// What it says, in a word or two, so that a test can tell whether the stories reach it.
    fn says(&self) -> Vec<&'static str> {
        vec![]
    }

    /// Brings what has no order into one, and leaves out what means nothing.
    fn settle(&mut self) {}
}

impl Answer for Vec<Attempt> {}
impl Answer for Vec<Node> {}

impl Answer for Submitted {
    fn says(&self) -> Vec<&'static str> {
        vec![if self.deduplicated { "submitted: known" } else { "submitted: new" }]
    }
}

impl Answer for Labelled {
    fn says(&self) -> Vec<&'static str> {
        vec![match self {
            Self::NotFound => "labelled: nothing",
            Self::Over => "labelled: too late",
            Self::Stored { sampled: false, .. } => "labelled: beforehand",
            Self::Stored { sampled: true, .. } => "labelled: a sample",
        }]
    }
}

impl Answer for Released {
    fn says(&self) -> Vec<&'static str> {
        vec![match self {
            Self::NoSession => "released: no session",
            Self::Over => "released: over",
            Self::Moved => "released",
        }]
    }
}

impl Answer for Pruned {
    fn says(&self) -> Vec<&'static str> {
        let (jobs, samples) =
            ((self.jobs > 0).then_some("pruned: jobs"), (self.samples > 0).then_some("pruned: samples"));
        jobs.into_iter().chain(samples).collect()
    }
}

impl Answer for Option<Pulse> {
    fn says(&self) -> Vec<&'static str> {
        let Some(pulse) = self else { return vec!["pulse: no session"] };
        let cancelled = (!pulse.cancelled.is_empty()).then_some("pulse: cancelled");
        cancelled.into_iter().chain((!pulse.lost.is_empty()).then_some("pulse: lost")).collect()
    }
}

impl Answer for Vec<TenantStats> {
    fn settle(&mut self) {
        self.retain(|of| of.pending + of.running + of.nodes > 0);
        self.sort_by(|a, b| a.tenant.cmp(&b.tenant));
    }
}

impl Answer for Option<Job> {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.iter_mut().collect()
    }
}

impl Answer for Vec<Job> {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.iter_mut().collect()
    }
}

impl Answer for Option<Cancelled> {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.iter_mut().map(|it| &mut it.job).collect()
    }

    fn says(&self) -> Vec<&'static str> {
        vec![match self {
            None => "cancelled: nothing",
            Some(Cancelled { moved: true, .. }) => "cancelled",
            Some(Cancelled { moved: false, .. }) => "cancelled: over",
        }]
    }
}

impl Answer for Option<Explained> {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.iter_mut().map(|it| &mut it.job).collect()
    }

    fn settle(&mut self) {
        if let Some(explained) = self {
            explained.supply.retain(|_, supply| *supply != Supply::default());
        }
    }
}

impl Answer for Claim {
    fn jobs(&mut self) -> Vec<&mut Job> {
        match self {
            Self::Job(job) => vec![&mut **job],
            _ => vec![],
        }
    }

    fn says(&self) -> Vec<&'static str> {
        vec![match self {
            Self::NoSession => "claim: no session",
            Self::Nothing { next: None } => "claim: nothing",
            Self::Nothing { next: Some(_) } => "claim: a pause",
            Self::Job(job) if job.attempt > 2 => "claim: a third attempt",
            Self::Job(_) => "claim: a job",
        }]
    }
}

impl Answer for Reported {
    fn jobs(&mut self) -> Vec<&mut Job> {
        match self {
            Self::Moved { job, .. } => vec![&mut **job],
            _ => vec![],
        }
    }

    fn says(&self) -> Vec<&'static str> {
        vec![match self {
            Self::NoSession => "reported: no session",
            Self::Fenced => "reported: fenced",
            Self::Repeated => "reported: again",
            Self::Moved { sampled: true, .. } => "reported: a sample",
            Self::Moved { job, .. } if job.success.is_some() => "reported: a score",
            Self::Moved { .. } => "reported: a failure",
        }]
    }
}

impl Answer for Swept {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.requeued.iter_mut().chain(&mut self.failed).collect()
    }

    fn says(&self) -> Vec<&'static str> {
        let of = |reason| self.failed.iter().any(|job| job.failure_reason == reason);
        [
            (self.forgiven, "swept: forgiven"),
            (!self.requeued.is_empty(), "swept: requeued"),
            (!self.evicted.is_empty(), "swept: evicted"),
            (of(FailureReason::NodeLost), "swept: lost too often"),
            (of(FailureReason::DeadlineExceeded), "swept: out of time"),
        ]
        .into_iter()
        .filter_map(|(said, word)| said.then_some(word))
        .collect()
    }

    fn settle(&mut self) {
        self.requeued.sort_by_key(|job| job.id);
        self.failed.sort_by_key(|job| job.id);
        self.evicted.sort();
    }
}

/// All that can be said.
pub(crate) const EVERYTHING: [&str; 36] = [
    "cancelled",
    "cancelled: nothing",
    "cancelled: over",
    "changes: few",
    "changes: several",
    "claim: a job",
    "claim: a pause",
    "claim: a third attempt",
    "claim: no session",
    "claim: nothing",
    "labelled: a sample",
    "labelled: beforehand",
    "labelled: nothing",
    "labelled: too late",
    "pruned: jobs",
    "pruned: samples",
    "pulse: cancelled",
    "pulse: lost",
    "pulse: no session",
    "released",
    "released: no session",
    "released: over",
    "reported: a failure",
    "reported: a sample",
    "reported: a score",
    "reported: again",
    "reported: fenced",
    "reported: no session",
    "samples: some",
    "submitted: known",
    "submitted: new",
    "swept: evicted",
    "swept: forgiven",
    "swept: lost too often",
    "swept: out of time",
    "swept: requeued",
];

impl Answer for Changes {
    fn says(&self) -> Vec<&'static str> {
        vec![if self.jobs.len() > 1 { "changes: several" } else { "changes: few" }]
    }

    fn jobs(&mut self) -> Vec<&mut Job> {
        self.jobs.iter_mut().map(|(_, job)| job).collect()
    }

    fn settle(&mut self) {
        self.jobs.iter_mut().for_each(|(cursor, _)| cursor.clear());
        self.next.clear();
    }
}

impl Answer for Samples {
    fn says(&self) -> Vec<&'static str> {
        (!self.samples.is_empty()).then_some("samples: some").into_iter().collect()
    }

    fn settle(&mut self) {
        self.samples.iter_mut().for_each(|(cursor, _)| cursor.clear());
        self.next.clear();
    }
}
