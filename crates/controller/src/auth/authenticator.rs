//! Determines who calls from the bearer token.

use std::sync::Arc;

use http::HeaderMap;
use vmafx_queue::TenantId;

use super::bearer;
use super::call_access::AccessSignal;
use super::clocks::Clocks;
use super::issuers::Issuers;
use super::jwt::{self, UnverifiedToken};
use super::metrics::AuthMetrics;
use super::metrics_token::MetricsToken;
use super::outcome::AuthOutcome;
use super::principal::{Membership, Principal};
use super::reloading_file::ReloadingFile;
use super::static_tokens::StaticTokens;
use super::token_cache::{TokenCache, token_digest};
use crate::audit::{AuditedCall, AuditedCaller};
use crate::identity::Identity;
use crate::metrics::MetricsView;
use crate::refusal::Refusal;

#[derive(Debug)]
pub(super) struct Inner {
    /// The identity of every caller, if authentication is disabled.
    pub(super) anonymous: Option<Identity>,
    pub(super) issuers: Issuers,
    pub(super) tokens: Option<ReloadingFile<StaticTokens>>,
    pub(super) metrics_token: Option<ReloadingFile<MetricsToken>>,
    pub(super) cache: TokenCache,
    pub(super) clocks: Clocks,
    pub(super) metrics: AuthMetrics,
    pub(super) signal: AccessSignal,
}

#[derive(Clone, Debug)]
pub struct Authenticator(pub(super) Arc<Inner>);

impl Authenticator {
    pub async fn authenticate(&self, bearer: Option<&str>) -> Result<Identity, Refusal> {
        self.authenticate_for(bearer, None, &AuditedCall::default()).await
    }

    /// The refusal does not say what is wrong with the token; the debug log does. Only the operator may call for a
    /// `namespace`, and has its tenant then. Without authentication there is one tenant, which every namespace has. The
    /// `call` learns who calls as soon as the token is verified, also if it is refused then.
    pub(crate) async fn authenticate_for(
        &self,
        bearer: Option<&str>,
        namespace: Option<&str>,
        call: &AuditedCall,
    ) -> Result<Identity, Refusal> {
        let identified = match &self.0.anonymous {
            Some(anonymous) => Ok(anonymous.clone()),
            None => self.identify(bearer, namespace, call).await,
        };
        let identity = identified.map_err(|outcome| {
            self.0.metrics.call(outcome);
            outcome.refusal()
        })?;
        call.caller(AuditedCaller::from(&identity));
        Ok(identity)
    }

    /// What a scraper of metrics gets: names of tenants need the token of the scraper.
    pub fn metrics_view(&self, headers: &HeaderMap) -> Result<MetricsView, Refusal> {
        let Inner { anonymous, metrics_token, .. } = &*self.0;
        match (anonymous, metrics_token, bearer::token(headers)) {
            (Some(_), ..) => Ok(MetricsView::Tenants),
            (_, Some(file), Some(token)) if file.get().0.is(token) => Ok(MetricsView::Tenants),
            (_, Some(_), Some(_)) => Err(Refusal::Unauthenticated),
            (_, None, _) | (_, Some(_), None) => Ok(MetricsView::Totals),
        }
    }

    /// The tenant of a namespace; `None` if no namespace has one.
    pub(super) fn tenant_of_namespace(&self, namespace: &str) -> Option<Result<TenantId, AuthOutcome>> {
        let issuers = &self.0.issuers;
        let known = issuers.namespaces.is_some() || issuers.tenants.is_some();
        known.then(|| issuers.tenant_of(&Membership::Namespace(namespace.to_owned())))
    }

    pub(super) fn metrics(&self) -> &AuthMetrics {
        &self.0.metrics
    }

    pub(super) fn access_signal(&self) -> &AccessSignal {
        &self.0.signal
    }

    /// When a token that was authenticated expires, in seconds since the epoch; `None` for a token of the token file, which
    /// is valid until it is removed.
    pub(crate) fn expiry(&self, token: &str) -> Option<i64> {
        self.0.cache.get(&token_digest(token)).map(|cached| cached.expires_at())
    }

    pub(crate) fn unix_seconds(&self) -> i64 {
        self.0.clocks.unix_seconds()
    }

    /// Whether authentication is disabled.
    pub(crate) fn accepts_everybody(&self) -> bool {
        self.0.anonymous.is_some()
    }

    pub(super) async fn identify(
        &self,
        bearer: Option<&str>,
        namespace: Option<&str>,
        call: &AuditedCall,
    ) -> Result<Identity, AuthOutcome> {
        let principal = self.verify(bearer.ok_or(AuthOutcome::Missing)?).await?;
        call.caller(AuditedCaller {
            subject: principal.subject.clone(),
            tenant: self.0.issuers.tenant_of(&principal.membership).ok(),
            roles: principal.roles,
        });
        let membership = match namespace {
            None => principal.membership.clone(),
            Some(namespace) if principal.calls_for_namespaces => Membership::Namespace(namespace.to_owned()),
            Some(_) => return Err(AuthOutcome::Namespace),
        };
        let tenant = self.0.issuers.tenant_of(&membership);
        tenant.map(|tenant| principal.identity(tenant)).map_err(|outcome| log_refused(outcome, None))
    }

    async fn verify(&self, token: &str) -> Result<Principal, AuthOutcome> {
        let Inner { issuers, tokens, cache, clocks, .. } = &*self.0;
        if token.len() > jwt::MAX_TOKEN_BYTES {
            return Err(log_refused(AuthOutcome::TooLarge, None));
        }
        let digest = token_digest(token);
        if let Some(tokens) = tokens
            && let Some(identity) = tokens.get().0.find(&digest)
        {
            return Ok(identity.into());
        }
        let now = clocks.unix_seconds();
        let generation = issuers.generation();
        if let Some(cached) = cache.get(&digest)
            && let Some(principal) = cached.principal_if_valid(now, generation).await
        {
            return Ok(principal);
        }
        let unverified = UnverifiedToken::parse(token).map_err(|outcome| log_refused(outcome, None))?;
        let verified = issuers.identify(&unverified, now).await;
        let verified = verified.map_err(|outcome| log_refused(outcome, Some(&unverified)))?;
        let principal = verified.principal.clone();
        cache.insert(digest, verified, generation);
        Ok(principal)
    }
}

/// Issuer and key of the log line are unverified: whoever made the token chose them.
fn log_refused(outcome: AuthOutcome, token: Option<&UnverifiedToken<'_>>) -> AuthOutcome {
    let (issuer, kid) = token.map_or(("", ""), |token| (token.issuer.as_str(), token.kid.as_str()));
    tracing::debug!(?outcome, issuer, kid, "refused a token");
    outcome
}
