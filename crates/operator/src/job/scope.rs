//! The controller's jobs, by the tenant that they belong to.
//!
//! If the controller has a tenant for each namespace, each namespace with jobs has a client, a stream and a cache of its own.
//! Otherwise one of each serves all namespaces.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
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
    open: Mutex<BTreeMap<String, JobScope>>,
    opened: mpsc::UnboundedSender<JobScope>,
}

impl JobScopes {
    /// Each scope is sent when it is opened, so that its stream is read.
    pub fn new(
        controller: ControllerClient,
        per_namespace: bool,
    ) -> (Self, mpsc::UnboundedReceiver<JobScope>) {
        let (opened, receiver) = mpsc::unbounded_channel();
        let scopes = Scopes { controller, per_namespace, open: Mutex::default(), opened };
        (Self(Arc::new(scopes)), receiver)
    }

    pub fn is_per_namespace(&self) -> bool {
        self.0.per_namespace
    }

    /// The scope of a namespace, which is opened if it is not open.
    pub fn open(&self, namespace: &str) -> JobScope {
        let mut open = self.lock();
        if let Some(scope) = open.get(self.name(namespace)) {
            return scope.clone();
        }
        let scope = self.create(namespace);
        open.insert(self.name(namespace).to_owned(), scope.clone());
        // The receiver is gone only when this operator no longer leads.
        let _ = self.0.opened.send(scope.clone());
        scope
    }

    /// The scope of a namespace. Of one that is not open, the stream is not read.
    pub fn get(&self, namespace: &str) -> JobScope {
        self.lock().get(self.name(namespace)).cloned().unwrap_or_else(|| self.create(namespace))
    }

    pub fn all_open(&self) -> Vec<JobScope> {
        self.lock().values().cloned().collect()
    }

    pub fn are_live(&self) -> bool {
        self.lock().values().all(|scope| scope.cache.is_live())
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, JobScope>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
