//! Compares everything that can be read.

use vmafx_queue::store::{Changes, Filter, Samples};
use vmafx_queue::{JobId, TenantId};

use super::{Mismatch, Runner};
use crate::support::build::first;

/// Number of cursors that are read again at the end.
const MAX_CURSORS: usize = 10;

impl Runner {
    pub(super) async fn position(&mut self, whose: usize) {
        let cursor = self.store.position(&self.tenants[whose]).await.unwrap();
        self.changes.push((whose, cursor, self.model.position()));
    }

    pub(super) async fn read_changes(&mut self, number: usize, limit: u32) -> Result<usize, Mismatch> {
        let (whose, theirs, ours) = self.changes[number].clone();
        let store = self.store.changes(&self.tenants[whose], &theirs, limit).await;
        let store = store.map_err(|error| error.to_string())?;
        let model = self.model.changes(&self.tenants[whose], &ours, limit).unwrap();
        let cursors = |it: &Changes| {
            it.jobs.iter().map(|(cursor, _)| cursor.clone()).chain([it.next.clone()]).collect::<Vec<_>>()
        };
        let read = store.jobs.len();
        let pairs = cursors(&store).into_iter().zip(cursors(&model));
        self.changes.extend(pairs.map(|(theirs, ours)| (whose, theirs, ours)));
        self.compare(store, model)?;
        Ok(read)
    }

    pub(super) async fn read_samples(&mut self, number: usize, limit: u32) -> Result<usize, Mismatch> {
        let (whose, theirs, ours) = self.samples[number].clone();
        let store = self.store.samples(&self.tenants[whose], &theirs, limit).await;
        let model = self.model.samples(&self.tenants[whose], &ours, limit);
        let (store, model) = match (store, model) {
            (Ok(store), Ok(model)) => (store, model),
            (Err(_), Err(_)) => return Ok(0),
            (store, model) => return Err(format!("\n  store: {store:?}\n  model: {model:?}")),
        };
        let cursors = |it: &Samples| {
            it.samples.iter().map(|(cursor, _)| cursor.clone()).chain([it.next.clone()]).collect::<Vec<_>>()
        };
        let read = store.samples.len();
        let pairs = cursors(&store).into_iter().zip(cursors(&model));
        self.samples.extend(pairs.map(|(theirs, ours)| (whose, theirs, ours)));
        self.compare(store, model)?;
        Ok(read)
    }
    pub(super) async fn compare_job(&mut self, whose: &TenantId, id: JobId) -> Result<(), Mismatch> {
        let store = self.store.clone();
        self.compare(store.job(whose, id).await.unwrap(), self.model.job(whose, id))?;
        self.compare(store.attempts(whose, id).await.unwrap(), self.model.attempts(whose, id))?;
        let model = self.model.explain(self.now(), whose, id);
        self.compare(store.explain(whose, id).await.unwrap(), model)
    }

    pub(super) async fn compare_nodes(&mut self) -> Result<(), Mismatch> {
        let store = self.store.clone();
        for whose in self.tenants.clone() {
            self.compare(store.nodes(&whose).await.unwrap(), self.model.nodes(&whose))?;
        }
        let mut shown = store.nodes_with_resource().await.unwrap();
        let mut model = self.model.nodes_with_resource();
        shown.sort_by_key(|node| node.session);
        model.sort_by_key(|node| node.session);
        self.compare(shown, model)?;
        self.compare(store.stats().await.unwrap(), self.model.stats())
    }

    pub(super) async fn compare_everything(&mut self) -> Result<(), Mismatch> {
        for whose in self.tenants.clone() {
            let (all, page) = (Filter::default(), first(1000));
            let store = self.store.jobs(&whose, &all, &page).await.unwrap();
            self.compare(store, self.model.jobs(&whose, &all, &page))?;
        }
        for (whose, id) in self.jobs.clone() {
            self.compare_job(&self.tenants[whose].clone(), id).await?;
        }
        self.compare_nodes().await?;
        for number in 0..self.changes.len().min(MAX_CURSORS) {
            self.read_changes(number, 1000).await?;
        }
        for number in 0..self.samples.len().min(MAX_CURSORS) {
            self.read_samples(number, 1000).await?;
        }
        Ok(())
    }
}
