//! Query parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vmafx_queue::job::Origin;
use vmafx_queue::transition::State;

use super::PRINTABLE;
use crate::refusal::Refusal;
use crate::service::request::{JobFilter, ListJobs, WatchJobs};

/// Names of states, separated by commas.
const STATES: &str =
    "^((pending|running|completed|failed|cancelled)(,(pending|running|completed|failed|cancelled))*)?$";

/// Refuses every parameter.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoQuery {}

/// Selects jobs, and one page of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ListQuery {
    /// States, separated by commas: pending, running, completed, failed, cancelled. Empty: all.
    #[schemars(regex(pattern = STATES))]
    pub status: String,
    /// Only jobs of a resource in this cluster.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub cluster: String,
    /// Only jobs of a resource in this namespace.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub namespace: String,
    /// Only jobs of a resource of this name.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub name: String,
    /// Only jobs of the resource with this UID.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub uid: String,
    /// Maximum number of jobs on the page; 0: 100.
    #[schemars(range(max = 1000))]
    pub page_size: u32,
    /// `nextPageToken` of the previous page.
    pub page_token: String,
    /// Order of the jobs by their creation.
    pub order: Order,
}

/// Order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Order {
    /// Oldest first.
    #[default]
    Oldest,
    /// Newest first.
    Newest,
}

/// Selects changes of jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EventsQuery {
    /// States after the change, separated by commas. Empty: all.
    #[schemars(regex(pattern = STATES))]
    pub status: String,
    /// Only jobs of a resource in this cluster.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub cluster: String,
    /// Only jobs of a resource in this namespace.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub namespace: String,
    /// Only jobs of a resource of this name.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub name: String,
    /// Only jobs of the resource with this UID.
    #[schemars(length(max = 253), regex(pattern = PRINTABLE))]
    pub uid: String,
    /// Resume after this cursor; the header `Last-Event-ID` takes precedence.
    pub cursor: String,
    /// Also send jobs of which only the progress changed.
    pub progress: bool,
    /// Without a cursor: send no jobs that have not changed, but a bookmark and then the changes.
    pub changes_only: bool,
}

impl TryFrom<ListQuery> for ListJobs {
    type Error = Refusal;

    fn try_from(query: ListQuery) -> Result<Self, Refusal> {
        let origin = [query.cluster, query.namespace, query.name, query.uid];
        Ok(Self {
            filter: filter(&query.status, origin)?,
            page_size: query.page_size,
            page_token: query.page_token,
            newest_first: query.order == Order::Newest,
        })
    }
}

impl TryFrom<EventsQuery> for WatchJobs {
    type Error = Refusal;

    fn try_from(query: EventsQuery) -> Result<Self, Refusal> {
        let origin = [query.cluster, query.namespace, query.name, query.uid];
        Ok(Self {
            filter: filter(&query.status, origin)?,
            cursor: query.cursor,
            include_progress: query.progress,
            changes_only: query.changes_only,
        })
    }
}

fn filter(state_names: &str, origin: [String; 4]) -> Result<JobFilter, Refusal> {
    let state = |name: &str| {
        State::from_name(name.trim()).ok_or_else(|| {
            let all = State::ALL.map(State::name).join(", ");
            Refusal::invalid("status", format!("each must be one of {all}"))
        })
    };
    let states = match state_names {
        "" => Vec::new(),
        names => names.split(',').map(state).collect::<Result<_, _>>()?,
    };
    let has_origin = origin.iter().any(|part| !part.is_empty());
    let [cluster, namespace, name, uid] = origin;
    let origin = has_origin.then_some(Origin { cluster, namespace, name, uid });
    Ok(JobFilter { states, origin, job_ids: Vec::new() })
}
