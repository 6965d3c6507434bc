//! The current tenants.
//!
//! A snapshot that could not be refreshed for ten intervals is stale and refuses every call: otherwise a tenant that was
//! suspended meanwhile would keep its access.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use vmafx_queue::clock::Timestamp;

use super::document::TenantDocument;
use super::file::TenantsFile;
use super::resources::TenantResources;
use super::snapshot::{IssuerMember, Snapshot};
use super::tenant::OidcRules;
use super::verdict::{self, TenantVerdict};
use crate::auth::call_access::AccessSignal;
use crate::auth::clocks::Clocks;
use crate::auth::config_file::ConfigFileError;
use crate::auth::jwks::{Fetcher, KeyCache};
use crate::auth::jwt::UnverifiedToken;
use crate::auth::metrics::AuthMetrics;
use crate::auth::outcome::AuthOutcome;
use crate::auth::principal::{Membership, Principal};
use crate::auth::provider::{log_subject, validate_claims, verify_signature};
use crate::auth::token_cache::VerifiedToken;
use crate::identity::SubjectSource;

const MAX_MISSED_REFRESHES: u32 = 10;

#[derive(Debug)]
pub(crate) enum TenantSource {
    File(TenantsFile),
    Kubernetes(Box<TenantResources>),
}

pub(crate) struct TenantRegistry {
    source: TenantSource,
    interval: Duration,
    /// CA certificates for the keys of the tenants' issuers.
    ca_file: Option<PathBuf>,
    current: RwLock<Arc<Snapshot>>,
    /// `None` until the first read.
    read_at: Mutex<Option<Timestamp>>,
    clocks: Clocks,
    metrics: AuthMetrics,
    /// Sent when other tenants are the current ones.
    signal: AccessSignal,
}

impl TenantRegistry {
    /// Every call is refused until the first refresh.
    pub(crate) fn new(
        source: TenantSource,
        interval: Duration,
        ca_file: Option<PathBuf>,
        clocks: Clocks,
        metrics: AuthMetrics,
    ) -> Self {
        let (current, read_at, signal) = (RwLock::default(), Mutex::default(), AccessSignal::default());
        Self { source, interval, ca_file, current, read_at, clocks, metrics, signal }
    }

    /// Reads a file at the start, and fails unless every tenant in it is valid. Resources are not read: an invalid one must
    /// not keep a controller from starting, and neither must an API server that is away.
    pub(crate) async fn require_valid_file(&self) -> Result<(), ConfigFileError> {
        let TenantSource::File(file) = &self.source else { return Ok(()) };
        let documents = file.read().await?;
        let problems = problems(&documents, &self.update(documents.clone()).verdicts);
        if problems.is_empty() { Ok(()) } else { Err(file.refused(problems.join("; "))) }
    }

    pub(in crate::auth) fn signal(&self) -> &AccessSignal {
        &self.signal
    }

    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Reads the source again. If that fails the snapshot stays as it is and ages.
    pub(crate) async fn refresh(&self) {
        match &self.source {
            TenantSource::File(file) => match file.read().await {
                Ok(documents) => {
                    let before = self.generation();
                    let snapshot = self.update(documents);
                    if snapshot.generation != before {
                        for problem in problems(&snapshot.documents, &snapshot.verdicts) {
                            tracing::error!(problem, "skipped an invalid tenant");
                        }
                    }
                }
                Err(error) => log_failure(&error),
            },
            TenantSource::Kubernetes(resources) => match resources.list().await {
                Ok(listed) => {
                    let documents = listed.iter().map(|resource| resource.document.clone()).collect();
                    let snapshot = self.update(documents);
                    resources.report(&listed, &snapshot.verdicts, self.clocks.unix_seconds()).await;
                }
                Err(error) => log_failure(&error),
            },
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.snapshot().generation
    }

    pub(crate) fn check_age(&self) -> Result<(), AuthOutcome> {
        let read_at = *self.read_at.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh =
            read_at.is_some_and(|read| self.clocks.since(read) <= self.interval * MAX_MISSED_REFRESHES);
        if fresh { Ok(()) } else { Err(AuthOutcome::TenantsStale) }
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
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
        let candidates = snapshot.members(&token.issuer).ok_or(AuthOutcome::Issuer)?;
        let mut signatures: HashMap<&str, Result<_, AuthOutcome>> = HashMap::new();
        let mut matches = Vec::new();
        let mut refused = AuthOutcome::UnknownTenant;
        for IssuerMember { tenant, oidc, keys } in candidates {
            // The signature is verified once for all tenants that share an endpoint.
            let endpoint = keys.endpoint();
            if !signatures.contains_key(endpoint) {
                signatures.insert(endpoint, verify_signature(token, keys).await);
            }
            let Some(Ok((claims, version))) = signatures.get(endpoint) else {
                if let Some(Err(outcome)) = signatures.get(endpoint) {
                    refused = *outcome;
                }
                continue;
            };
            let validity = match validate_claims(claims, &oidc.issuer, oidc.audience.as_deref(), now) {
                Ok(validity) => validity,
                Err(outcome) => {
                    refused = outcome;
                    continue;
                }
            };
            match claims.text(&oidc.names.tenant) {
                Some(name) if name == tenant.id.as_str() => {
                    let principal = Principal {
                        membership: Membership::Tenant(tenant.id.clone()),
                        subject: log_subject(claims),
                        source: SubjectSource::Tenant,
                        roles: tenant.roles(claims.roles(&oidc.names.roles)),
                        calls_for_namespaces: false,
                    };
                    let (keys, kid) = (Arc::clone(keys), token.kid.clone());
                    let verified = VerifiedToken { principal, validity, keys, kid, version: *version };
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

    /// Judges the documents and makes them the current ones, unless they are. Keeps the key caches of endpoints that are
    /// still in use.
    fn update(&self, documents: Vec<TenantDocument>) -> Arc<Snapshot> {
        *self.read_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.clocks.monotonic());
        let before = self.snapshot();
        if before.generation > 0 && before.documents == documents {
            return before;
        }
        let judged = verdict::judge(&documents);
        let mut caches = before.key_caches();
        let keys = |oidc: &OidcRules| {
            let cache = caches.entry(oidc.endpoint.to_string()).or_insert_with(|| {
                let fetcher = Fetcher::new(oidc.endpoint.clone(), self.ca_file.clone(), None);
                Arc::new(KeyCache::new(fetcher, self.clocks.clone(), self.metrics.clone()))
            });
            Arc::clone(cache)
        };
        let next = Arc::new(Snapshot::new(documents, judged, before.generation + 1, keys));
        tracing::info!(tenants = next.tenant_count(), "loaded changed tenants");
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&next);
        self.signal.send();
        next
    }
}

/// What is wrong with the documents, one text for each that has a problem.
fn problems(documents: &[TenantDocument], verdicts: &[TenantVerdict]) -> Vec<String> {
    let judged = documents.iter().zip(verdicts).filter(|(_, verdict)| verdict.is_problem());
    judged.map(|(document, verdict)| format!("{}: {}", document.name, verdict.message(""))).collect()
}

fn log_failure(error: &(dyn std::error::Error + 'static)) {
    let cause = error.source().map(ToString::to_string);
    tracing::error!(
        error,
        cause,
        "cannot read the tenants; those of the last read are used for ten refresh intervals"
    );
}

impl fmt::Debug for TenantRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantRegistry").field("source", &self.source).finish_non_exhaustive()
    }
}
