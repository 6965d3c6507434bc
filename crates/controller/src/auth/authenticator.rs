//! Who is this?

use std::sync::Arc;

use super::cause::Outcome;
use super::jwt::{self, Presented};
use super::metrics::AuthMetrics;
use super::provider::Provider;
use super::tenants::Registry;
use super::time::Time;
use super::tokens::Tokens;
use super::verified::{Memory, fingerprint};
use super::watched::Watched;
use crate::identity::Identity;
use crate::refusal::Refusal;

/// Whom tokens may come from, besides the token file.
#[derive(Debug)]
pub(super) enum Issuers {
    /// Everybody is this one.
    Disabled(Identity),
    /// Only the token file.
    None,
    /// One for everybody.
    One(Box<Provider>),
    /// One for each tenant.
    Tenants(Arc<Registry>),
}

impl Issuers {
    /// Changes when what was decided before may be decided otherwise.
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
    pub(super) tokens: Option<Watched<Tokens>>,
    pub(super) memory: Memory,
    pub(super) time: Time,
    pub(super) metrics: AuthMetrics,
}

/// Tells who presents a token. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Authenticator(pub(super) Arc<Inner>);

impl Authenticator {
    /// Who presents this token. The refusal says nothing of what was wrong with it; the debug log does.
    pub async fn authenticate(&self, bearer: Option<&str>) -> Result<Identity, Refusal> {
        self.identify(bearer).await.map_err(|outcome| {
            self.0.metrics.call(outcome);
            outcome.refusal()
        })
    }

    /// Whether everybody may do everything.
    pub fn is_disabled(&self) -> bool {
        matches!(self.0.issuers, Issuers::Disabled(_))
    }

    /// What is counted.
    pub(super) fn metrics(&self) -> &AuthMetrics {
        &self.0.metrics
    }

    async fn identify(&self, bearer: Option<&str>) -> Result<Identity, Outcome> {
        let Inner { issuers, tokens, memory, time, .. } = &*self.0;
        if let Issuers::Disabled(everybody) = issuers {
            return Ok(everybody.clone());
        }
        let token = bearer.ok_or(Outcome::Missing)?;
        if token.len() > jwt::LONGEST {
            return Err(refused(Outcome::TooLarge, None));
        }
        let print = fingerprint(token);
        if let Some(tokens) = tokens
            && let Some(identity) = tokens.get().0.find(&print)
        {
            if let Issuers::Tenants(registry) = issuers {
                registry.admits(&identity.tenant).map_err(|outcome| refused(outcome, None))?;
            }
            return Ok(identity.clone());
        }
        let second = time.second();
        if let Some(known) = memory.get(&print)
            && let Some(identity) = known.still(second, issuers.generation()).await
        {
            if let Issuers::Tenants(registry) = issuers {
                registry.check_age()?;
            }
            return Ok(identity);
        }
        let presented = Presented::read(token).map_err(|outcome| refused(outcome, None))?;
        let verified = match issuers {
            Issuers::Disabled(_) | Issuers::None => Err(Outcome::Issuer),
            Issuers::One(provider) => provider.identify(&presented, second).await,
            Issuers::Tenants(registry) => registry.identify(&presented, second).await,
        };
        let verified = verified.map_err(|outcome| refused(outcome, Some(&presented)))?;
        let identity = verified.identity.clone();
        memory.keep(print, verified);
        Ok(identity)
    }
}

/// Leaves in the debug log why a token was refused. What it says of itself is not known to be true.
fn refused(outcome: Outcome, presented: Option<&Presented<'_>>) -> Outcome {
    let (issuer, kid) = presented.map_or(("", ""), |token| (token.issuer.as_str(), token.kid.as_str()));
    tracing::debug!(?outcome, issuer, kid, "a token is refused");
    outcome
}
