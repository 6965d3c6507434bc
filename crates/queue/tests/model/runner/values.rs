//! Parameters of the operations.

use std::time::Duration;

use vmafx_job::FrameStep;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::job::{DeadlineUpdate, JobUpdate};
use vmafx_queue::store::{Filter, Page};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId};

use crate::model::op::Op;
use crate::support::build::{JobBuilder, NodeBuilder, first, job, node, origin};

const BACKENDS: [&str; 3] = ["", "cpu", "cuda"];
pub(super) const SUBMITTERS: [&str; 2] = ["alice", "bob"];

pub(super) fn submission(op: &Op) -> JobBuilder {
    let Op::Submit { priority, backend, key, submitter, limit, deadline, label, origin: of, .. } = op else {
        return job();
    };
    let mut new = job().priority(*priority).backend(BACKENDS[usize::from(*backend)]);
    new = new.submitter(SUBMITTERS[usize::from(*submitter)]);
    if let Some(number) = key {
        new = new.key(&format!("key {number}"));
    }
    if let Some(limit) = limit {
        new = new.lost_limit(*limit);
    }
    if let Some(seconds) = deadline {
        new = new.deadline(Duration::from_secs(*seconds));
    }
    if let Some(value) = label {
        new = new.label(f64::from(*value));
    }
    if let Some(number) = of {
        new = new.origin(origin("video", &format!("clip {number}")));
    }
    new
}

/// Changes the scoring of a job without changing its clips and its backend, as a caller must.
pub(super) fn change(op: &Op, current: Option<&Job>) -> JobUpdate {
    let Op::Update { frame_step, priority, limit, deadline, .. } = op else { return JobUpdate::default() };
    let stepped = |step: u8| {
        let mut scoring = current.map_or_else(|| job().0.scoring, |job| job.scoring.clone());
        scoring.options.frame_step = FrameStep::try_from(u32::from(step)).ok();
        scoring
    };
    JobUpdate {
        scoring: frame_step.map(stepped),
        priority: *priority,
        max_lost_attempts: *limit,
        deadline: deadline.map(|seconds| match seconds {
            0 => DeadlineUpdate::Never,
            seconds => DeadlineUpdate::After(Duration::from_secs(seconds)),
        }),
    }
}

pub(super) fn registration(op: &Op) -> NodeBuilder {
    let Op::Register { backends, slots, labels, shown, .. } = op else { return node("n") };
    let backends = (1..3).filter(|bit| backends & bit != 0).map(|bit| BACKENDS[bit as usize]);
    // A name may come back, as that of a node does that registers again.
    let name = format!("n{}", labels % 2);
    let labels = [("zone", "a"), ("gpu", "b")].into_iter().take(usize::from(*labels));
    let new = node(&name).backends(backends).slots(*slots).labels(labels);
    if *shown { new.resource(origin("video", "gpu")) } else { new }
}

pub(super) fn list_query(op: &Op, after: Option<(Timestamp, JobId)>) -> (Filter, Page) {
    let Op::List { states, origin: of, limit, newest_first, .. } = op else {
        return (Filter::default(), first(1));
    };
    let chosen = State::ALL.into_iter().enumerate().filter(|(bit, _)| states & (1 << bit) != 0);
    let filter = Filter {
        states: chosen.map(|(_, state)| state).collect(),
        origin: of.map(|number| origin("video", &format!("clip {number}"))),
        ids: vec![],
    };
    (filter, Page { after, limit: *limit, newest_first: *newest_first })
}
