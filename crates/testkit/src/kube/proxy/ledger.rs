//! What was asked through the proxy, in order.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::request::ApiRequest;

/// A request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Counts from 0, in the order of arrival.
    pub order: usize,
    /// What was asked.
    pub request: ApiRequest,
    /// What the API server answered; none when it was never asked, or has not answered.
    pub server: Option<u16>,
    /// What the client was told; none when it was told nothing.
    pub client: Option<u16>,
}

impl Record {
    /// Whether the API server did what was asked.
    pub fn was_done(&self) -> bool {
        self.server.is_some_and(|code| (200..300).contains(&code))
    }
}

#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Vec<Record>>);

impl Ledger {
    pub(super) fn arrived(&self, request: ApiRequest) -> Record {
        let mut records = self.lock();
        let record = Record { order: records.len(), request, server: None, client: None };
        records.push(record.clone());
        record
    }

    pub(super) fn update(&self, record: &Record) {
        if let Some(kept) = self.lock().get_mut(record.order) {
            kept.clone_from(record);
        }
    }

    pub(super) fn all(&self) -> Vec<Record> {
        self.lock().clone()
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many of these there are by resource, with the subresource after a slash.
pub fn count_by_resource<'a>(records: impl IntoIterator<Item = &'a Record>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for ApiRequest { resource, subresource, .. } in records.into_iter().map(|record| &record.request) {
        let name =
            if subresource.is_empty() { resource.clone() } else { format!("{resource}/{subresource}") };
        *counts.entry(name).or_default() += 1;
    }
    counts
}
