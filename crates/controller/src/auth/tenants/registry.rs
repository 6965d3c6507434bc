//! The current tenants.
//!
//! Each call uses one snapshot from start to end. A snapshot that could not be refreshed for ten intervals is stale and
//! refuses every call: otherwise a tenant that was suspended meanwhile would keep its access.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use vmafx_queue::TenantId;
use vmafx_queue::clock::Timestamp;

use super::file::{self, TenantFile};
use super::tenant::Tenant;
use crate::auth::clocks::Clocks;
use crate::auth::config_file::{self, ConfigFileError};
use crate::auth::jwks::{Fetcher, KeyCache};
use crate::auth::jwt::UnverifiedToken;
use crate::auth::metrics::AuthMetrics;
use crate::auth::outcome::AuthOutcome;
use crate::auth::provider::{log_subject, validate_claims, verify_signature};
use crate::auth::token_cache::VerifiedToken;
use crate::identity::Identity;
use crate::roots::PermittedRoots;
use crate::service::Roots;

const FILE: &str = "VMAFX_AUTH_TENANTS_FILE";
const MAX_MISSED_REFRESHES: u32 = 10;

struct RegisteredTenant {
    tenant: Tenant,
    keys: Arc<KeyCache>,
}

#[derive(Default)]
struct Snapshot {
    by_name: HashMap<TenantId, Arc<RegisteredTenant>>,
    by_issuer: HashMap<String, Vec<Arc<RegisteredTenant>>>,
    generation: u64,
    text: String,
}

pub(crate) struct TenantRegistry {
    file: PathBuf,
    interval: Duration,
    ca_file: Option<PathBuf>,
    current: RwLock<Arc<Snapshot>>,
    read_at: Mutex<Timestamp>,
    clocks: Clocks,
    metrics: AuthMetrics,
}

impl TenantRegistry {
    /// Fails unless every tenant in the file is valid now.
    pub(crate) async fn open(
        file: PathBuf,
        interval: Duration,
        ca_file: Option<PathBuf>,
        clocks: Clocks,
        metrics: AuthMetrics,
    ) -> Result<Self, ConfigFileError> {
        let text = config_file::read(&file, FILE).await?;
        let refused = |problem| ConfigFileError::Content { variable: FILE, file: file.clone(), problem };
        let TenantFile { tenants, problems } = file::parse(&text).map_err(refused)?;
        if !problems.is_empty() {
            return Err(refused(problems.join("; ")));
        }
        let read_at = Mutex::new(clocks.monotonic());
        let registry = Self { file, interval, ca_file, current: RwLock::default(), read_at, clocks, metrics };
        registry.replace(tenants, text);
        Ok(registry)
    }

    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Reads the file again. Invalid tenants are skipped and logged. An unreadable file leaves the snapshot as it is, and
    /// the snapshot ages.
    pub(crate) async fn refresh(&self) {
        let contents = match config_file::read(&self.file, FILE).await {
            Ok(text) if text == self.snapshot().text => {
                self.mark_read();
                return;
            }
            Ok(text) => file::parse(&text).map(|contents| (contents, text)).map_err(|problem| {
                ConfigFileError::Content { variable: FILE, file: self.file.clone(), problem }
            }),
            Err(error) => Err(error),
        };
        match contents {
            Ok((TenantFile { tenants, problems }, text)) => {
                for problem in problems {
                    tracing::error!(file = %self.file.display(), problem, "skipped an invalid tenant");
                }
                tracing::info!(tenants = tenants.len(), "loaded changed tenants");
                self.replace(tenants, text);
                self.mark_read();
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(
                    error,
                    "cannot read the tenants; the previous ones are used for ten refresh intervals"
                );
            }
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.snapshot().generation
    }

    pub(crate) fn check_age(&self) -> Result<(), AuthOutcome> {
        let read_at = *self.read_at.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = self.clocks.since(read_at) <= self.interval * MAX_MISSED_REFRESHES;
        if fresh { Ok(()) } else { Err(AuthOutcome::TenantsStale) }
    }

    /// For callers with a static token, whose tenant does not come from an issuer.
    pub(crate) fn check_enabled(&self, tenant: &TenantId) -> Result<(), AuthOutcome> {
        self.check_age()?;
        match self.snapshot().by_name.get(tenant) {
            Some(member) if member.tenant.enabled => Ok(()),
            Some(_) => Err(AuthOutcome::Suspended),
            None => Err(AuthOutcome::UnknownTenant),
        }
    }

    /// The candidates are the tenants of the token's issuer. Each one checks the token against its own keys, audience
    /// and name, and exactly one must match.
    pub(crate) async fn identify(
        &self,
        token: &UnverifiedToken<'_>,
        now: i64,
    ) -> Result<VerifiedToken, AuthOutcome> {
        self.check_age()?;
        let snapshot = self.snapshot();
        let candidates = snapshot.by_issuer.get(&token.issuer).ok_or(AuthOutcome::Issuer)?;
        let mut signatures: HashMap<&str, Result<_, AuthOutcome>> = HashMap::new();
        let mut matches = Vec::new();
        let mut refused = AuthOutcome::UnknownTenant;
        for member in candidates {
            // The signature is verified once for all tenants that share an endpoint.
            let endpoint = member.keys.endpoint();
            if !signatures.contains_key(endpoint) {
                signatures.insert(endpoint, verify_signature(token, &member.keys).await);
            }
            let Some(Ok((claims, version))) = signatures.get(endpoint) else {
                if let Some(Err(outcome)) = signatures.get(endpoint) {
                    refused = *outcome;
                }
                continue;
            };
            let tenant = &member.tenant;
            let validity = match validate_claims(claims, &tenant.issuer, tenant.audience.as_deref(), now) {
                Ok(validity) => validity,
                Err(outcome) => {
                    refused = outcome;
                    continue;
                }
            };
            match claims.text(&tenant.names.tenant) {
                Some(name) if name == tenant.id.as_str() => {
                    let roles = tenant.roles(claims.roles(&tenant.names.roles));
                    let (id, subject) = (tenant.id.clone(), log_subject(claims));
                    let identity = Identity { tenant: id, subject, roles, calls_for_namespaces: false };
                    let (keys, kid) = (Arc::clone(&member.keys), token.kid.clone());
                    let generation = snapshot.generation;
                    let verified =
                        VerifiedToken { identity, validity, keys, kid, version: *version, generation };
                    matches.push((tenant.enabled, verified));
                }
                Some(_) => {}
                None => refused = AuthOutcome::NoTenant,
            }
        }
        match (matches.pop(), matches.is_empty()) {
            (Some((true, verified)), true) => Ok(verified),
            (Some((false, _)), true) => Err(AuthOutcome::Suspended),
            (Some(_), false) => Err(AuthOutcome::UnknownTenant),
            (None, _) => Err(refused),
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn mark_read(&self) {
        *self.read_at.lock().unwrap_or_else(PoisonError::into_inner) = self.clocks.monotonic();
    }

    /// Keeps the key caches of endpoints that are still in use.
    fn replace(&self, tenants: Vec<Tenant>, text: String) {
        let before = self.snapshot();
        let mut keys: HashMap<String, Arc<KeyCache>> = before
            .by_name
            .values()
            .map(|member| (member.keys.endpoint().to_owned(), Arc::clone(&member.keys)))
            .collect();
        let mut by_name = HashMap::new();
        let mut by_issuer: HashMap<String, Vec<Arc<RegisteredTenant>>> = HashMap::new();
        for tenant in tenants {
            let endpoint = tenant.endpoint.to_string();
            let keys = keys.entry(endpoint).or_insert_with(|| {
                let fetcher = Fetcher::new(tenant.endpoint.clone(), self.ca_file.clone(), None);
                Arc::new(KeyCache::new(fetcher, self.clocks.clone(), self.metrics.clone()))
            });
            let member = Arc::new(RegisteredTenant { keys: Arc::clone(keys), tenant });
            by_issuer.entry(member.tenant.issuer.clone()).or_default().push(Arc::clone(&member));
            by_name.insert(member.tenant.id.clone(), member);
        }
        let next = Snapshot { by_name, by_issuer, generation: before.generation + 1, text };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }
}

impl Roots for TenantRegistry {
    fn of(&self, tenant: &TenantId) -> Vec<String> {
        self.snapshot().by_name.get(tenant).map(|member| member.tenant.roots.of(tenant)).unwrap_or_default()
    }

    fn check(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        match self.snapshot().by_name.get(tenant) {
            Some(member) => member.tenant.roots.check(tenant, address),
            None => PermittedRoots::default().check(tenant, address),
        }
    }

    fn of_reports(&self, tenant: &TenantId) -> Vec<String> {
        let snapshot = self.snapshot();
        snapshot.by_name.get(tenant).map(|member| member.tenant.roots.of_reports(tenant)).unwrap_or_default()
    }

    fn check_report(&self, tenant: &TenantId, address: &str) -> Result<(), String> {
        match self.snapshot().by_name.get(tenant) {
            Some(member) => member.tenant.roots.check_report(tenant, address),
            None => self.check(tenant, address),
        }
    }
}

impl fmt::Debug for TenantRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantRegistry").field("file", &self.file).finish_non_exhaustive()
    }
}
