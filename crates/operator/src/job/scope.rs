//! The controller's jobs, by the tenant that they belong to.
//!
//! If the controller has a tenant for each namespace, each namespace with jobs has a client, a stream and a cache of its own.
//! Otherwise one of each serves all namespaces.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use vmafx_proto::controller::v1::Job;

use super::controller_cache::ControllerJobCache;
use super::controller_client::ControllerClient;

/// Clones share their content.
#[derive(Clone)]
pub struct JobScope {
    pub controller: ControllerClient,
    pub cache: ControllerJobCache,
    /// `None`: all namespaces.
    namespace: Option<Arc<str>>,
}

impl JobScope {
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.namespace.as_deref().is_none_or(|own| own == namespace)
    }

    /// Whether the job can be that of a resource in this scope. Whoever submits a job chooses its origin, so a job of this
    /// tenant may name a resource of another one.
    pub fn has_origin(&self, job: &Job) -> bool {
        job.origin.as_ref().is_some_and(|origin| self.has_namespace(&origin.namespace))
    }
}

/// The scopes that are open: their streams are read. Clones share their content.
#[derive(Clone)]
pub struct JobScopes(Arc<Scopes>);

struct Scopes {
    /// Calls for no namespace.
    controller: ControllerClient,
    per_namespace: bool,
    open: Mutex<OpenScopes>,
    opened: Notify,
}

#[derive(Default)]
struct OpenScopes {
    by_name: BTreeMap<String, JobScope>,
    /// Those whose stream is not read yet. A scope is opened once, so there are at most as many as namespaces.
    unread: Vec<JobScope>,
}

impl JobScopes {
    pub fn new(controller: ControllerClient, per_namespace: bool) -> Self {
        let (open, opened) = (Mutex::default(), Notify::new());
        Self(Arc::new(Scopes { controller, per_namespace, open, opened }))
    }

    pub fn is_per_namespace(&self) -> bool {
        self.0.per_namespace
    }

    /// The scope of a namespace, which is opened if it is not open.
    pub fn open(&self, namespace: &str) -> JobScope {
        let mut open = self.lock();
        if let Some(scope) = open.by_name.get(self.name(namespace)) {
            return scope.clone();
        }
        let scope = self.create(namespace);
        open.by_name.insert(self.name(namespace).to_owned(), scope.clone());
        open.unread.push(scope.clone());
        self.0.opened.notify_one();
        scope
    }

    /// The next scope that was opened. Each is returned once, for one caller that reads its stream.
    pub async fn next_opened(&self) -> JobScope {
        loop {
            let next = self.lock().unread.pop();
            match next {
                Some(scope) => return scope,
                None => self.0.opened.notified().await,
            }
        }
    }

    /// The scope of a namespace. Of one that is not open, the stream is not read.
    pub fn get(&self, namespace: &str) -> JobScope {
        self.lock().by_name.get(self.name(namespace)).cloned().unwrap_or_else(|| self.create(namespace))
    }

    pub fn all_open(&self) -> Vec<JobScope> {
        self.lock().by_name.values().cloned().collect()
    }

    pub fn are_live(&self) -> bool {
        self.lock().by_name.values().all(|scope| scope.cache.is_live())
    }

    fn create(&self, namespace: &str) -> JobScope {
        let cache = ControllerJobCache::default();
        if self.0.per_namespace {
            let controller = self.0.controller.for_namespace(namespace);
            JobScope { controller, cache, namespace: Some(namespace.into()) }
        } else {
            JobScope { controller: self.0.controller.clone(), cache, namespace: None }
        }
    }

    fn name<'a>(&self, namespace: &'a str) -> &'a str {
        if self.0.per_namespace { namespace } else { "" }
    }

    fn lock(&self) -> MutexGuard<'_, OpenScopes> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
