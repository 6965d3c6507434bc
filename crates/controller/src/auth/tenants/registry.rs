//! The tenants as they are known now.
//!
//! One snapshot serves one call from begin to end. A snapshot that could not be renewed for ten intervals serves
//! nobody: a tenant that was suspended meanwhile would go on.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use vmafx_queue::TenantId;
use vmafx_queue::clock::Timestamp;

use super::file::{self, Contents};
use super::tenant::Tenant;
use crate::auth::cause::Outcome;
use crate::auth::document::{self, DocumentError};
use crate::auth::jwks::{Fetcher, Keys};
use crate::auth::jwt::Presented;
use crate::auth::metrics::AuthMetrics;
use crate::auth::provider::{checked, signed, subject};
use crate::auth::time::Time;
use crate::auth::verified::Verified;
use crate::identity::Identity;
use crate::service::Roots;

const FILE: &str = "VMAFX_AUTH_TENANTS_FILE";
/// So many intervals without a read, and the tenants are too old to be trusted.
const PATIENCE: u32 = 10;

/// A tenant and the keys of its issuer.
struct Member {
    tenant: Tenant,
    keys: Arc<Keys>,
}

struct Snapshot {
    by_name: HashMap<TenantId, Arc<Member>>,
    by_issuer: HashMap<String, Vec<Arc<Member>>>,
    generation: u64,
    text: String,
}

/// All tenants.
pub(crate) struct Registry {
    file: PathBuf,
    interval: Duration,
    ca_file: Option<PathBuf>,
    current: RwLock<Arc<Snapshot>>,
    read_at: Mutex<Timestamp>,
    time: Time,
    metrics: AuthMetrics,
}

impl Registry {
    /// Reads the file, in which everything must be right to begin with.
    pub(crate) async fn open(
        file: PathBuf,
        interval: Duration,
        ca_file: Option<PathBuf>,
        time: Time,
        metrics: AuthMetrics,
    ) -> Result<Self, DocumentError> {
        let text = document::read(&file, FILE).await?;
        let refused = |problem| DocumentError::Content { variable: FILE, file: file.clone(), problem };
        let Contents { tenants, problems } = file::read(&text).map_err(refused)?;
        if !problems.is_empty() {
            return Err(refused(problems.join("; ")));
        }
        let empty = Snapshot {
            by_name: HashMap::new(),
            by_issuer: HashMap::new(),
            generation: 0,
            text: String::new(),
        };
        let read_at = Mutex::new(time.steady());
        let current = RwLock::new(Arc::new(empty));
        let registry = Self { file, interval, ca_file, current, read_at, time, metrics };
        registry.replace(tenants, text);
        Ok(registry)
    }

    /// How often to refresh.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Reads the file again. What is wrong in it is left out and told; a file that cannot be read at all leaves
    /// everything as it is, and the time runs.
    pub(crate) async fn refresh(&self) {
        let contents = match document::read(&self.file, FILE).await {
            Ok(text) if text == self.snapshot().text => {
                self.was_read();
                return;
            }
            Ok(text) => file::read(&text).map(|contents| (contents, text)).map_err(|problem| {
                DocumentError::Content { variable: FILE, file: self.file.clone(), problem }
            }),
            Err(error) => Err(error),
        };
        match contents {
            Ok((Contents { tenants, problems }, text)) => {
                for problem in problems {
                    tracing::error!(file = %self.file.display(), problem, "a tenant is left out");
                }
                tracing::info!(tenants = tenants.len(), "the tenants changed");
                self.replace(tenants, text);
                self.was_read();
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "the tenants cannot be read; those before stay for ten intervals");
            }
        }
    }

    /// Changes when the tenants do.
    pub(crate) fn generation(&self) -> u64 {
        self.snapshot().generation
    }

    /// Whether the tenants are known well enough to decide by.
    pub(crate) fn check_age(&self) -> Result<(), Outcome> {
        let read_at = *self.read_at.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = self.time.since(read_at) <= self.interval * PATIENCE;
        if fresh { Ok(()) } else { Err(Outcome::TenantsStale) }
    }

    /// Whether a tenant that is known by other means than a signed token may go on.
    pub(crate) fn admits(&self, tenant: &TenantId) -> Result<(), Outcome> {
        self.check_age()?;
        match self.snapshot().by_name.get(tenant) {
            Some(member) if member.tenant.enabled => Ok(()),
            Some(_) => Err(Outcome::Suspended),
            None => Err(Outcome::UnknownTenant),
        }
    }

    /// Who presents a token. Its issuer picks the tenants it may be of; each holds it against its own keys,
    /// audience and name, and exactly one must recognise it.
    pub(crate) async fn identify(&self, presented: &Presented<'_>, second: i64) -> Result<Verified, Outcome> {
        self.check_age()?;
        let snapshot = self.snapshot();
        let candidates = snapshot.by_issuer.get(&presented.issuer).ok_or(Outcome::Issuer)?;
        let mut signatures: HashMap<&str, Result<_, Outcome>> = HashMap::new();
        let mut recognised = Vec::new();
        let mut refused = Outcome::UnknownTenant;
        for member in candidates {
            // Tenants that share an issuer's keys share the work of checking a signature.
            let endpoint = member.keys.endpoint();
            if !signatures.contains_key(endpoint) {
                signatures.insert(endpoint, signed(presented, &member.keys).await);
            }
            let Some(Ok((claims, edition))) = signatures.get(endpoint) else {
                if let Some(Err(outcome)) = signatures.get(endpoint) {
                    refused = *outcome;
                }
                continue;
            };
            let tenant = &member.tenant;
            let window = match checked(claims, &tenant.issuer, tenant.audience.as_deref(), second) {
                Ok(window) => window,
                Err(outcome) => {
                    refused = outcome;
                    continue;
                }
            };
            match claims.text(&tenant.names.tenant) {
                Some(name) if name == tenant.id.as_str() => {
                    let roles = tenant.roles(claims.roles(&tenant.names.roles));
                    let identity = Identity { tenant: tenant.id.clone(), subject: subject(claims), roles };
                    let (keys, kid) = (Arc::clone(&member.keys), presented.kid.clone());
                    let generation = snapshot.generation;
                    let verified = Verified { identity, window, keys, kid, edition: *edition, generation };
                    recognised.push((tenant.enabled, verified));
                }
                Some(_) => {}
                None => refused = Outcome::NoTenant,
            }
        }
        match (recognised.pop(), recognised.is_empty()) {
            (Some((true, verified)), true) => Ok(verified),
            (Some((false, _)), true) => Err(Outcome::Suspended),
            (Some(_), false) => Err(Outcome::UnknownTenant),
            (None, _) => Err(refused),
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn was_read(&self) {
        *self.read_at.lock().unwrap_or_else(PoisonError::into_inner) = self.time.steady();
    }

    /// Keys that were read stay, as long as a tenant still wants them.
    fn replace(&self, tenants: Vec<Tenant>, text: String) {
        let before = self.snapshot();
        let mut keys: HashMap<String, Arc<Keys>> = before
            .by_name
            .values()
            .map(|member| (member.keys.endpoint().to_owned(), Arc::clone(&member.keys)))
            .collect();
        let mut by_name = HashMap::new();
        let mut by_issuer: HashMap<String, Vec<Arc<Member>>> = HashMap::new();
        for tenant in tenants {
            let endpoint = tenant.endpoint.to_string();
            let keys = keys.entry(endpoint).or_insert_with(|| {
                let fetcher = Fetcher::new(tenant.endpoint.clone(), self.ca_file.clone(), None);
                Arc::new(Keys::new(fetcher, self.time.clone(), self.metrics.clone()))
            });
            let member = Arc::new(Member { keys: Arc::clone(keys), tenant });
            by_issuer.entry(member.tenant.issuer.clone()).or_default().push(Arc::clone(&member));
            by_name.insert(member.tenant.id.clone(), member);
        }
        let next = Snapshot { by_name, by_issuer, generation: before.generation + 1, text };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }
}

impl Roots for Registry {
    fn of(&self, tenant: &TenantId) -> Vec<String> {
        self.snapshot().by_name.get(tenant).map(|member| member.tenant.roots.of(tenant)).unwrap_or_default()
    }

    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        match self.snapshot().by_name.get(tenant) {
            Some(member) => member.tenant.roots.check(tenant, address),
            None => crate::roots::ScoringRoots::default().check(tenant, address),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("file", &self.file).finish_non_exhaustive()
    }
}
