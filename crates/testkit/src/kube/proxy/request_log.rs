use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::request::ApiRequest;

/// A request and its responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Counts from 0, in the order of arrival.
    pub order: usize,
    pub request: ApiRequest,
    /// The API server's status; `None` when the request was not forwarded or is not answered yet.
    pub server: Option<u16>,
    /// The status that the client received; `None` without a response.
    pub client: Option<u16>,
}

impl RecordedRequest {
    /// Whether the API server responded with success.
    pub fn succeeded(&self) -> bool {
        self.server.is_some_and(|code| (200..300).contains(&code))
    }
}

#[derive(Debug, Default)]
pub(super) struct RequestLog(Mutex<Vec<RecordedRequest>>);

impl RequestLog {
    pub(super) fn add(&self, request: ApiRequest) -> RecordedRequest {
        let mut records = self.lock();
        let record = RecordedRequest { order: records.len(), request, server: None, client: None };
        records.push(record.clone());
        record
    }

    pub(super) fn update(&self, record: &RecordedRequest) {
        if let Some(kept) = self.lock().get_mut(record.order) {
            kept.clone_from(record);
        }
    }

    pub(super) fn all(&self) -> Vec<RecordedRequest> {
        self.lock().clone()
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RecordedRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of requests by resource, with the subresource after a slash.
pub fn count_by_resource<'a>(
    records: impl IntoIterator<Item = &'a RecordedRequest>,
) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for ApiRequest { resource, subresource, .. } in records.into_iter().map(|record| &record.request) {
        let name =
            if subresource.is_empty() { resource.clone() } else { format!("{resource}/{subresource}") };
        *counts.entry(name).or_default() += 1;
    }
    counts
}
