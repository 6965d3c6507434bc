//! Makes answers of store and model comparable.
//!
//! Ids are the store's in both. Only two things are the store's own business: how far a revision rises, and what a
//! cursor looks like. Both are compared by what they mean and then left out.

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

    /// Brings what has no order into one, and leaves out what means nothing.
    fn settle(&mut self) {}
}

impl Answer for Submitted {}
impl Answer for Labelled {}
impl Answer for Released {}
impl Answer for Pruned {}
impl Answer for Vec<Attempt> {}
impl Answer for Vec<Node> {}
impl Answer for Option<Pulse> {}

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
}

impl Answer for Reported {
    fn jobs(&mut self) -> Vec<&mut Job> {
        match self {
            Self::Moved { job, .. } => vec![&mut **job],
            _ => vec![],
        }
    }
}

impl Answer for Swept {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.requeued.iter_mut().chain(&mut self.failed).collect()
    }

    fn settle(&mut self) {
        self.requeued.sort_by_key(|job| job.id);
        self.failed.sort_by_key(|job| job.id);
        self.evicted.sort();
    }
}

impl Answer for Changes {
    fn jobs(&mut self) -> Vec<&mut Job> {
        self.jobs.iter_mut().map(|(_, job)| job).collect()
    }

    fn settle(&mut self) {
        self.jobs.iter_mut().for_each(|(cursor, _)| cursor.clear());
        self.next.clear();
    }
}

impl Answer for Samples {
    fn settle(&mut self) {
        self.samples.iter_mut().for_each(|(cursor, _)| cursor.clear());
        self.next.clear();
    }
}
