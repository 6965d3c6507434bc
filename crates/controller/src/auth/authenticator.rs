//! Determines who calls from the bearer token.

use std::sync::Arc;

use http::HeaderMap;

use super::bearer;
use super::clocks::Clocks;
use super::jwt::{self, UnverifiedToken};
use super::metrics::AuthMetrics;
use super::metrics_token::MetricsToken;
use super::outcome::AuthOutcome;
use super::provider::Provider;
use super::reloading_file::ReloadingFile;
use super::static_tokens::StaticTokens;
use super::tenants::TenantRegistry;
use super::token_cache::{TokenCache, token_digest};
use crate::identity::Identity;
use crate::metrics::MetricsView;
use crate::refusal::Refusal;

/// The accepted issuers of tokens, besides the token file.
#[derive(Debug)]
pub(super) enum Issuers {
    /// Every caller has this identity.
    Disabled(Identity),
    /// Only the token file is used.
    None,
    One(Box<Provider>),
    Tenants(Arc<TenantRegistry>),
}

impl Issuers {
    /// Changes when cached decisions may no longer hold.
    fn generation(&self) -> u64 {
        match self {
            Self::Disabled(_) | Self::None => 0,
            Self::One(provider) => provider.generation(),
            Self::Tenants(registry) => registry.generation(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) issuers: Issuers,
    pub(super) tokens: Option<ReloadingFile<StaticTokens>>,
    pub(super) metrics_token: Option<ReloadingFile<MetricsToken>>,
    pub(super) cache: TokenCache,
    pub(super) clocks: Clocks,
    pub(super) metrics: AuthMetrics,
}

#[derive(Clone, Debug)]
pub struct Authenticator(pub(super) Arc<Inner>);

impl Authenticator {
    /// The refusal does not say what is wrong with the token; the debug log does.
    pub async fn authenticate(&self, bearer: Option<&str>) -> Result<Identity, Refusal> {
        self.identify(bearer).await.map_err(|outcome| {
            self.0.metrics.call(outcome);
            outcome.refusal()
        })
    }

    /// The caller as the tenant of a namespace, for which only the operator may call. Without authentication there is one
    /// tenant, which every namespace has.
    pub(super) fn for_namespace(&self, caller: Identity, namespace: &str) -> Result<Identity, AuthOutcome> {
        match &self.0.issuers {
            Issuers::Disabled(_) => Ok(caller),
            Issuers::One(provider) if caller.calls_for_namespaces => {
                let tenant = provider.namespaces.as_ref().and_then(|tenants| tenants.tenant_of(namespace));
                tenant.map(|tenant| Identity { tenant, ..caller }).ok_or(AuthOutcome::Namespace)
            }
            _ => Err(AuthOutcome::Namespace),
        }
    }

    /// What a scraper of metrics gets: names of tenants need the token of the scraper.
    pub fn metrics_view(&self, headers: &HeaderMap) -> Result<MetricsView, Refusal> {
        let Inner { issuers, metrics_token, .. } = &*self.0;
        match (issuers, metrics_token, bearer::token(headers)) {
            (Issuers::Disabled(_), ..) => Ok(MetricsView::Tenants),
            (_, Some(file), Some(token)) if file.get().0.is(token) => Ok(MetricsView::Tenants),
            (_, Some(_), Some(_)) => Err(Refusal::Unauthenticated),
            (_, None, _) | (_, Some(_), None) => Ok(MetricsView::Totals),
        }
    }

    pub(super) fn metrics(&self) -> &AuthMetrics {
        &self.0.metrics
    }

    async fn identify(&self, bearer: Option<&str>) -> Result<Identity, AuthOutcome> {
        let Inner { issuers, tokens, cache, clocks, .. } = &*self.0;
        if let Issuers::Disabled(anonymous) = issuers {
            return Ok(anonymous.clone());
        }
        let token = bearer.ok_or(AuthOutcome::Missing)?;
        if token.len() > jwt::MAX_TOKEN_BYTES {
            return Err(log_refused(AuthOutcome::TooLarge, None));
        }
        let digest = token_digest(token);
        if let Some(tokens) = tokens
            && let Some(identity) = tokens.get().0.find(&digest)
        {
            if let Issuers::Tenants(registry) = issuers {
                registry.check_enabled(&identity.tenant).map_err(|outcome| log_refused(outcome, None))?;
            }
            return Ok(identity.clone());
        }
        let now = clocks.unix_seconds();
        if let Some(cached) = cache.get(&digest)
            && let Some(identity) = cached.identity_if_valid(now, issuers.generation()).await
        {
            if let Issuers::Tenants(registry) = issuers {
                registry.check_age()?;
            }
            return Ok(identity);
        }
        let unverified = UnverifiedToken::parse(token).map_err(|outcome| log_refused(outcome, None))?;
        let verified = match issuers {
            Issuers::Disabled(_) | Issuers::None => Err(AuthOutcome::Issuer),
            Issuers::One(provider) => provider.identify(&unverified, now).await,
            Issuers::Tenants(registry) => registry.identify(&unverified, now).await,
        };
        let verified = verified.map_err(|outcome| log_refused(outcome, Some(&unverified)))?;
        let identity = verified.identity.clone();
        cache.insert(digest, verified);
        Ok(identity)
    }
}

/// Issuer and key of the log line are unverified: whoever made the token chose them.
fn log_refused(outcome: AuthOutcome, token: Option<&UnverifiedToken<'_>>) -> AuthOutcome {
    let (issuer, kid) = token.map_or(("", ""), |token| (token.issuer.as_str(), token.kid.as_str()));
    tracing::debug!(?outcome, issuer, kid, "refused a token");
    outcome
}
