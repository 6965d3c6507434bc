//! Parameters of the operations.

use std::time::Duration;

use vmafx_queue::JobId;
use vmafx_queue::clock::Timestamp;
use vmafx_queue::store::{Filter, Page};
use vmafx_queue::transition::State;

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

pub(super) fn registration(op: &Op) -> NodeBuilder {
    let Op::Register { backends, slots, labels, shown, .. } = op else { return node("n") };
    let backends = (1..3).filter(|bit| backends & bit != 0).map(|bit| BACKENDS[bit as usize]);
    let labels = [("zone", "a"), ("gpu", "b")].into_iter().take(usize::from(*labels));
    let new = node("n").backends(backends).slots(*slots).labels(labels);
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
