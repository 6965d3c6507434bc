//! The issuer of the settings, which all tenants share.

use std::sync::Arc;

use vmafx_queue::TenantId;

use super::claims::{Claims, RoleClaim, ValidityPeriod};
use super::issuer::IssuerName;
use super::jwks::{KeyCache, UsableKeys};
use super::jwt::UnverifiedToken;
use super::outcome::AuthOutcome;
use super::principal::{Membership, Principal};
use super::reloading_file::ReloadingFile;
use super::subjects::{SubjectGrant, Subjects};
use super::token_cache::VerifiedToken;
use crate::identity::{Roles, SubjectSource};

const MAX_SUBJECT_CHARS: usize = 512;

#[derive(Debug)]
pub(super) enum SubjectMap {
    Fixed(Arc<Subjects>),
    File(ReloadingFile<Subjects>),
}

impl SubjectMap {
    fn get(&self) -> (Arc<Subjects>, u64) {
        match self {
            Self::Fixed(subjects) => (Arc::clone(subjects), 0),
            Self::File(file) => file.get(),
        }
    }
}

/// The claims that name tenant and roles.
#[derive(Clone, Debug)]
pub(super) struct ClaimNames {
    pub(super) tenant: String,
    pub(super) roles: String,
}

#[derive(Debug)]
pub(super) struct Provider {
    pub(super) issuer: IssuerName,
    pub(super) audience: Option<String>,
    /// `None`: only the subject map names tenants and roles.
    pub(super) names: Option<ClaimNames>,
    pub(super) keys: Arc<KeyCache>,
    pub(super) subjects: SubjectMap,
    /// The subject that may call for any namespace.
    pub(super) operator: Option<String>,
}

impl Provider {
    /// Changes with the subjects and with the issuer's name.
    pub(super) fn generation(&self) -> u64 {
        // Both only increase, so every change of either changes the sum.
        self.subjects.get().1 + self.issuer.get().1
    }

    pub(super) async fn reload_if_changed(&self) {
        self.issuer.reload_if_changed().await;
        if let SubjectMap::File(subjects) = &self.subjects {
            subjects.reload_if_changed().await;
        }
    }

    pub(super) async fn identify(
        &self,
        token: &UnverifiedToken<'_>,
        now: i64,
    ) -> Result<VerifiedToken, AuthOutcome> {
        let (issuer, _) = self.issuer.get();
        if token.issuer != *issuer {
            return Err(AuthOutcome::Issuer);
        }
        let (claims, version) = verify_signature(token, &self.keys).await?;
        let validity = validate_claims(&claims, &issuer, self.audience.as_deref(), now)?;
        let principal = self.principal(&claims, &self.subjects.get().0)?;
        let (keys, kid) = (Arc::clone(&self.keys), token.kid.clone());
        Ok(VerifiedToken { principal, validity, keys, kid, version })
    }

    /// Tenant and roles in the subject map take precedence over the claims of the token.
    fn principal(&self, claims: &Claims, subjects: &Subjects) -> Result<Principal, AuthOutcome> {
        let (subject, source) = (log_subject(claims), SubjectSource::Platform);
        if let Some(SubjectGrant { membership, roles }) = subjects.get(claims.subject()) {
            let calls_for_namespaces = self.operator.as_deref() == Some(claims.subject());
            return Ok(Principal { membership, subject, source, roles, calls_for_namespaces });
        }
        let names = self.names.as_ref().ok_or(AuthOutcome::NoTenant)?;
        let tenant = claims.text(&names.tenant).ok_or(AuthOutcome::NoTenant)?;
        let tenant = TenantId::new(tenant).map_err(|_| AuthOutcome::NoTenant)?;
        let roles = match claims.roles(&names.roles) {
            RoleClaim::Roles(roles) => roles,
            RoleClaim::Absent => Roles::NONE,
        };
        let membership = Membership::Tenant(tenant);
        Ok(Principal { membership, subject, source, roles, calls_for_namespaces: false })
    }
}

/// Returns the claims that a key of the issuer signed, and the version of the key set.
pub(super) async fn verify_signature(
    token: &UnverifiedToken<'_>,
    keys: &KeyCache,
) -> Result<(Claims, u64), AuthOutcome> {
    let UsableKeys { set, version } = keys.find(&token.kid).await?;
    let key = set.get(&token.kid).ok_or(AuthOutcome::UnknownKey)?;
    Ok((token.verify(key)?, version))
}

/// Checks issuer, audience and times.
pub(super) fn validate_claims(
    claims: &Claims,
    issuer: &str,
    audience: Option<&str>,
    now: i64,
) -> Result<ValidityPeriod, AuthOutcome> {
    if claims.text("iss") != Some(issuer) {
        return Err(AuthOutcome::Issuer);
    }
    if audience.is_some_and(|audience| !claims.is_for(audience)) {
        return Err(AuthOutcome::Audience);
    }
    let validity = claims.validity()?;
    validity.check(now)?;
    Ok(validity)
}

/// The subject for logs, truncated because the issuer chooses its length.
pub(super) fn log_subject(claims: &Claims) -> String {
    claims.subject().chars().take(MAX_SUBJECT_CHARS).collect()
}
