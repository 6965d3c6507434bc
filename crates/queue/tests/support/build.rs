//! Builders of jobs, nodes and results, with which a test sets only the fields that matter to it.

use std::collections::BTreeMap;
use std::time::Duration;

use vmafx_job::ScoreResult;
use vmafx_job::{ScoringRequest, TenantLimits};
use vmafx_queue::job::{Label, Labeller, Origin};
use vmafx_queue::node::{Capability, NewNode};
use vmafx_queue::store::{Filter, LabelTarget, Page};
use vmafx_queue::transition::State;
use vmafx_queue::{IdempotencyKey, JobId, NewJob, TenantId};

pub(crate) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

pub(crate) fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::new(text).unwrap()
}

/// The job of a submitter with this key.
pub(crate) fn by_key(text: &str, submitter: &str) -> LabelTarget {
    LabelTarget::Key { key: key(text), submitter: submitter.to_owned() }
}

pub(crate) fn percent(value: f64) -> Label {
    Label::percent(value).unwrap()
}

pub(crate) fn origin(namespace: &str, name: &str) -> Origin {
    Origin {
        cluster: "east".into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: format!("{namespace}/{name}"),
    }
}

pub(crate) fn pairs<V>(pairs: impl IntoIterator<Item = (&'static str, V)>) -> BTreeMap<String, V> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A job with default options.
pub(crate) fn job() -> JobBuilder {
    JobBuilder(NewJob {
        scoring: ScoringRequest {
            reference: "file:///clips/ref.y4m".into(),
            distorted: "file:///clips/dis.y4m".into(),
            ..ScoringRequest::default()
        },
        ..NewJob::default()
    })
}

/// What the job counts against the limit of stored bytes before it has a result.
pub(crate) fn size(job: &JobBuilder) -> u64 {
    TenantLimits::JOB_BYTES + serde_json::to_string(&job.0.scoring).unwrap().len() as u64
}

#[derive(Clone, Debug)]
pub(crate) struct JobBuilder(pub(crate) NewJob);

impl JobBuilder {
    pub(crate) fn priority(mut self, priority: i32) -> Self {
        self.0.priority = priority;
        self
    }

    pub(crate) fn backend(mut self, backend: &str) -> Self {
        self.0.scoring.backend = (!backend.is_empty()).then(|| backend.parse().unwrap());
        self
    }

    pub(crate) fn key(mut self, text: &str) -> Self {
        self.0.key = Some(key(text));
        self
    }

    pub(crate) fn submitter(mut self, name: &str) -> Self {
        name.clone_into(&mut self.0.submitter);
        self
    }

    pub(crate) fn origin(mut self, origin: Origin) -> Self {
        self.0.origin = Some(origin);
        self
    }

    pub(crate) fn lost_limit(mut self, limit: u32) -> Self {
        self.0.max_lost_attempts = Some(limit);
        self
    }

    pub(crate) fn deadline(mut self, length: Duration) -> Self {
        self.0.deadline = Some(length);
        self
    }

    pub(crate) fn label(mut self, value: f64) -> Self {
        self.0.label = Some(percent(value));
        self
    }

    pub(crate) fn labelled_by(mut self, who: &str) -> Self {
        self.0.labelled_by = Labeller::new(who);
        self
    }

    pub(crate) fn scoring(mut self, scoring: ScoringRequest) -> Self {
        self.0.scoring = scoring;
        self
    }
}

/// A node that serves `cpu`, with more slots than a test needs.
pub(crate) fn node(name: &str) -> NodeBuilder {
    NodeBuilder(NewNode {
        name: name.into(),
        capability: Capability { backends: vec!["cpu".into()], slots: 4096, ..Capability::default() },
        resource: None,
    })
}

#[derive(Clone, Debug)]
pub(crate) struct NodeBuilder(pub(crate) NewNode);

impl NodeBuilder {
    pub(crate) fn backends<'a>(mut self, backends: impl IntoIterator<Item = &'a str>) -> Self {
        self.0.capability.backends = backends.into_iter().map(str::to_owned).collect();
        self
    }

    pub(crate) fn slots(mut self, slots: u32) -> Self {
        self.0.capability.slots = slots;
        self
    }

    pub(crate) fn labels(mut self, labels: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        self.0.capability.labels =
            labels.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        self
    }

    pub(crate) fn resource(mut self, resource: Origin) -> Self {
        self.0.resource = Some(resource.into());
        self
    }
}

/// A result whose score and only feature are `value`.
pub(crate) fn score(value: f64) -> ScoreResult {
    ScoreResult { score: value, features: pairs([("vmaf", value)]), details: None }
}

/// The first page, oldest first.
pub(crate) fn first(limit: u32) -> Page {
    Page { after: None, limit, newest_first: false }
}

pub(crate) fn in_states(states: impl IntoIterator<Item = State>) -> Filter {
    Filter { states: states.into_iter().collect(), ..Filter::default() }
}

pub(crate) fn of_origin(origin: Origin) -> Filter {
    Filter { origin: Some(origin), ..Filter::default() }
}

pub(crate) fn with_ids(ids: impl IntoIterator<Item = JobId>) -> Filter {
    Filter { ids: ids.into_iter().collect(), ..Filter::default() }
}
