//! Makes answers of the store and of the model comparable.
//!
//! Both use the ids of the store. Only two things may differ: by how much a revision increases, and the text of a
//! cursor. Both are compared by their meaning and then cleared.

use vmafx_job::{FailureReason, TenantLimit};
use vmafx_queue::job::Attempt;
use vmafx_queue::node::{HeartbeatReply, Node};
use vmafx_queue::store::{
    Cancelled, Changes, Claim, Explained, Labelled, Pruned, Released, Reported, Samples, Submitted, Supply,
    Swept, TenantStats, Updated,
};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId};

pub(crate) trait ComparableAnswer: PartialEq + std::fmt::Debug {
    fn jobs(&mut self) -> Vec<&mut Job> {
        vec![]
    }

    /// Names of the cases that this answer covers, so that a test can check that the operations reach all of them.
    fn labels(&self) -> Vec<&'static str> {
        vec![]
    }

    /// Sorts what has no defined order and removes what has no meaning.
    fn normalize(&mut self) {}
}

impl ComparableAnswer for Vec<Attempt> {}
impl ComparableAnswer for Vec<Node> {}

/// Why a submission or a registration was refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Refused {
    KeyReused(JobId),
    LimitReached(TenantLimit, u64),
}

impl ComparableAnswer for Result<(), Refused> {
    fn labels(&self) -> Vec<&'static str> {
        vec![if self.is_ok() { "registered" } else { "registered: limit" }]
    }
}

impl ComparableAnswer for Result<Submitted, Refused> {
    fn labels(&self) -> Vec<&'static str> {
        vec![match self {
            Ok(Submitted { deduplicated: false, .. }) => "submitted: new",
            Ok(Submitted { deduplicated: true, .. }) => "submitted: known",
            Err(Refused::KeyReused(_)) => "submitted: reused key",
            Err(Refused::LimitReached(..)) => "submitted: limit",
        }]
    }
}

impl ComparableAnswer for Labelled {
    fn labels(&self) -> Vec<&'static str> {
        vec![match self {
            Self::NotFound => "labelled: nothing",
            Self::Ambiguous => "labelled: several",
            Self::Over => "labelled: too late",
            Self::Stored { sampled: false, .. } => "labelled: beforehand",
            Self::Stored { sampled: true, .. } => "labelled: a sample",
        }]
    }
}

impl ComparableAnswer for Released {
    fn labels(&self) -> Vec<&'static str> {
        vec![match self {
            Self::NoSession => "released: no session",
            Self::Over => "released: over",
            Self::Moved => "released",
        }]
    }
}

impl ComparableAnswer for Pruned {
    fn labels(&self) -> Vec<&'static str> {
        let (jobs, samples) =
            ((self.jobs > 0).then_some("pruned: jobs"), (self.samples > 0).then_some("pruned: samples"));
        jobs.into_iter().chain(samples).collect()
    }
}

impl ComparableAnswer for Option<HeartbeatReply> {
    fn labels(&self) -> Vec<&'static str> {
        let Some(reply) = self else { return vec!["reply: no session"] };
        let cancelled = (!reply.cancelled.is_empty()).then_some("reply: cancelled");
        cancelled.into_iter().chain((!reply.lost.is_empty()).then_some("reply: lost")).collect()
    }
}

impl ComparableAnswer for Vec<TenantStats> {
    fn normalize(&mut self) {
        self.retain(|of| of.pending + of.running + of.nodes > 0);
        self.sort_by(|a, b| a.tenant.cmp(&b.tenant));
    }
}

impl ComparableAnswer for Option<Job> {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.iter_mut().collect()
    }
}

impl ComparableAnswer for Vec<Job> {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.iter_mut().collect()
    }
}

impl ComparableAnswer for Option<Cancelled> {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.iter_mut().map(|it| &mut it.job).collect()
    }

    fn labels(&self) -> Vec<&'static str> {
        vec![match self {
            None => "cancelled: nothing",
            Some(Cancelled { moved: true, .. }) => "cancelled",
            Some(Cancelled { moved: false, .. }) => "cancelled: over",
        }]
    }
}

impl ComparableAnswer for Option<Updated> {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.iter_mut().map(|it| &mut it.job).collect()
    }

    fn labels(&self) -> Vec<&'static str> {
        vec![match self {
            None => "updated: nothing",
            Some(Updated { job, .. }) if job.state.is_final() => "updated: too late",
            Some(Updated { job, .. }) if job.next_scoring.is_some() => "updated: at the next attempt",
            Some(Updated { changed: true, .. }) => "updated",
            Some(Updated { changed: false, .. }) => "updated: the same",
        }]
    }
}

impl ComparableAnswer for Option<Explained> {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.iter_mut().map(|it| &mut it.job).collect()
    }

    fn normalize(&mut self) {
        if let Some(explained) = self {
            explained.supply.retain(|_, supply| *supply != Supply::default());
        }
    }
}

impl ComparableAnswer for Claim {
    fn jobs(&mut self) -> Vec<&mut Job> {
        match self {
            Self::Job(job) => vec![&mut **job],
            _ => vec![],
        }
    }

    fn labels(&self) -> Vec<&'static str> {
        vec![match self {
            Self::NoSession => "claim: no session",
            Self::Nothing { next: None } => "claim: nothing",
            Self::Nothing { next: Some(_) } => "claim: a back-off",
            Self::PassedOver { .. } => "claim: passed over",
            Self::Quarantined { .. } => "claim: quarantined",
            Self::NoFreeSlot => "claim: no free slot",
            Self::LimitReached => "claim: limit",
            Self::Job(job) if job.attempt > 2 => "claim: a third attempt",
            Self::Job(_) => "claim: a job",
        }]
    }
}

impl ComparableAnswer for Reported {
    fn jobs(&mut self) -> Vec<&mut Job> {
        match self {
            Self::Moved { job, .. } => vec![&mut **job],
            _ => vec![],
        }
    }

    fn labels(&self) -> Vec<&'static str> {
        vec![match self {
            Self::NoSession => "reported: no session",
            Self::Fenced => "reported: fenced",
            Self::Repeated => "reported: again",
            Self::Moved { sampled: true, .. } => "reported: a sample",
            Self::Moved { job, .. } if job.result.is_some() => "reported: a score",
            Self::Moved { job, .. } if job.state == State::Pending => "reported: a retry",
            Self::Moved { job, .. } if job.failure_reason == FailureReason::InputNotFound => {
                "reported: confirmed"
            }
            Self::Moved { .. } => "reported: a failure",
        }]
    }
}

impl ComparableAnswer for Swept {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.requeued.iter_mut().chain(&mut self.failed).collect()
    }

    fn labels(&self) -> Vec<&'static str> {
        let of = |reason| self.failed.iter().any(|job| job.failure_reason == reason);
        [
            (self.renewed, "swept: renewed"),
            (!self.requeued.is_empty(), "swept: requeued"),
            (!self.evicted.is_empty(), "swept: evicted"),
            (of(FailureReason::NodeLost), "swept: lost too often"),
            (of(FailureReason::DeadlineExceeded), "swept: out of time"),
        ]
        .into_iter()
        .filter_map(|(covered, label)| covered.then_some(label))
        .collect()
    }

    fn normalize(&mut self) {
        self.requeued.sort_by_key(|job| job.id);
        self.failed.sort_by_key(|job| job.id);
        self.evicted.sort();
    }
}

/// Every name that an answer can have.
pub(crate) const ALL_LABELS: [&str; 52] = [
    "cancelled",
    "cancelled: nothing",
    "cancelled: over",
    "changes: few",
    "changes: several",
    "claim: a job",
    "claim: a back-off",
    "claim: a third attempt",
    "claim: limit",
    "claim: no free slot",
    "claim: no session",
    "claim: nothing",
    "claim: passed over",
    "claim: quarantined",
    "labelled: a sample",
    "labelled: beforehand",
    "labelled: several",
    "labelled: nothing",
    "labelled: too late",
    "pruned: jobs",
    "pruned: samples",
    "registered",
    "registered: limit",
    "reply: cancelled",
    "reply: lost",
    "reply: no session",
    "released",
    "released: no session",
    "released: over",
    "reported: a failure",
    "reported: a sample",
    "reported: a score",
    "reported: again",
    "reported: a retry",
    "reported: confirmed",
    "reported: fenced",
    "reported: no session",
    "samples: some",
    "submitted: known",
    "submitted: limit",
    "submitted: new",
    "submitted: reused key",
    "swept: evicted",
    "swept: renewed",
    "swept: lost too often",
    "swept: out of time",
    "swept: requeued",
    "updated",
    "updated: at the next attempt",
    "updated: nothing",
    "updated: the same",
    "updated: too late",
];

impl ComparableAnswer for Changes {
    fn labels(&self) -> Vec<&'static str> {
        vec![if self.jobs.len() > 1 { "changes: several" } else { "changes: few" }]
    }

    fn jobs(&mut self) -> Vec<&mut Job> {
        self.jobs.iter_mut().map(|(_, job)| job).collect()
    }

    fn normalize(&mut self) {
        self.jobs.iter_mut().for_each(|(cursor, _)| cursor.clear());
        self.next.clear();
    }
}

impl ComparableAnswer for Samples {
    fn labels(&self) -> Vec<&'static str> {
        (!self.samples.is_empty()).then_some("samples: some").into_iter().collect()
    }

    fn normalize(&mut self) {
        self.samples.iter_mut().for_each(|(cursor, _)| cursor.clear());
        self.next.clear();
    }
}
