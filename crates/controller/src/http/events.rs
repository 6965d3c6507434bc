//! `GET /v1/events`: changes of jobs as server-sent events.
//!
//! Without a cursor the matching jobs come first. Each later event has its cursor as id, which browsers send back as
//! `Last-Event-ID` when they reconnect, so that no change is missed.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use futures::{Stream, StreamExt};

use super::extract::{Caller, Query, StreamAccess};
use super::shape::{EventsQuery, Job};
use crate::refusal::Refusal;
use crate::service::Service;
use crate::service::request::WatchJobs;
use crate::service::response::JobChange;

pub(super) async fn stream(
    State(service): State<Service>,
    Caller(who): Caller,
    StreamAccess(access): StreamAccess,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, axum::Error>>>, Refusal> {
    let mut watch = WatchJobs::try_from(query)?;
    if let Some(last) = headers.get("last-event-id").and_then(|last| last.to_str().ok()) {
        last.clone_into(&mut watch.cursor);
    }
    let changes = access.guard(service.watch(&who, watch).await?);
    Ok(Sse::new(changes.map(|change| match change {
        Ok(JobChange::Snapshot(job)) => Event::default().event("job").json_data(Job::from(&job)),
        Ok(JobChange::Job(cursor, job)) => {
            Event::default().event("job").id(cursor).json_data(Job::from(&job))
        }
        // Browsers ignore events without data.
        Ok(JobChange::Bookmark(cursor)) => Ok(Event::default().event("bookmark").id(cursor).data("{}")),
        Err(refusal) => {
            Event::default().event("error").json_data(super::problem::Problem::new(refusal.to_string()))
        }
    })))
}
