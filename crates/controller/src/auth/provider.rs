//! One issuer for everybody.

use std::sync::Arc;

use vmafx_queue::TenantId;

use super::cause::Outcome;
use super::claims::{Claims, Told, Window};
use super::issuer::IssuerName;
use super::jwks::{Found, Keys};
use super::jwt::Presented;
use super::subjects::Subjects;
use super::verified::Verified;
use super::watched::Watched;
use crate::identity::{Identity, Roles};

/// Longest subject that is kept for logs.
const LONGEST_SUBJECT: usize = 256;

/// Where the roles of subjects are.
#[derive(Debug)]
pub(super) enum SubjectMap {
    Fixed(Arc<Subjects>),
    File(Watched<Subjects>),
}

impl SubjectMap {
    fn get(&self) -> (Arc<Subjects>, u64) {
        match self {
            Self::Fixed(subjects) => (Arc::clone(subjects), 0),
            Self::File(file) => file.get(),
        }
    }
}

/// The names of the claims that are ours.
#[derive(Clone, Debug)]
pub(super) struct ClaimNames {
    pub(super) tenant: String,
    pub(super) roles: String,
}

/// An issuer and what is expected of its tokens.
#[derive(Debug)]
pub(super) struct Provider {
    pub(super) issuer: IssuerName,
    pub(super) audience: Option<String>,
    pub(super) names: ClaimNames,
    pub(super) keys: Arc<Keys>,
    pub(super) subjects: SubjectMap,
}

impl Provider {
    /// Changes when the subjects or the issuer's name do.
    pub(super) fn generation(&self) -> u64 {
        // Neither ever falls, so the sum is another one after each change of either.
        self.subjects.get().1 + self.issuer.get().1
    }

    /// Looks at every file once.
    pub(super) async fn look(&self) {
        self.issuer.look().await;
        if let SubjectMap::File(subjects) = &self.subjects {
            subjects.look().await;
        }
    }

    /// Who presents a token.
    pub(super) async fn identify(&self, presented: &Presented<'_>, second: i64) -> Result<Verified, Outcome> {
        let (issuer, names) = self.issuer.get();
        if presented.issuer != *issuer {
            return Err(Outcome::Issuer);
        }
        let (claims, edition) = signed(presented, &self.keys).await?;
        let window = checked(&claims, &issuer, self.audience.as_deref(), second)?;
        let (subjects, generation) = self.subjects.get();
        let generation = generation + names;
        let identity = self.identity(&claims, &subjects)?;
        let (keys, kid) = (Arc::clone(&self.keys), presented.kid.clone());
        Ok(Verified { identity, window, keys, kid, edition, generation })
    }

    /// A subject that is on the map is what the map says, whatever the token says.
    fn identity(&self, claims: &Claims, subjects: &Subjects) -> Result<Identity, Outcome> {
        let subject = subject(claims);
        if let Some(mapped) = subjects.get(claims.subject()) {
            return Ok(Identity { tenant: mapped.tenant.clone(), subject, roles: mapped.roles });
        }
        let tenant = claims.text(&self.names.tenant).ok_or(Outcome::NoTenant)?;
        let tenant = TenantId::new(tenant).map_err(|_| Outcome::NoTenant)?;
        let roles = match claims.roles(&self.names.roles) {
            Told::Roles(roles) => roles,
            Told::Nothing => Roles::NONE,
        };
        Ok(Identity { tenant, subject, roles })
    }
}

/// The claims that a key of the issuer signed, and the edition of its keys.
pub(super) async fn signed(presented: &Presented<'_>, keys: &Keys) -> Result<(Claims, u64), Outcome> {
    let Found { set, edition } = keys.find(&presented.kid).await?;
    let key = set.get(&presented.kid).ok_or(Outcome::UnknownKey)?;
    Ok((presented.verify(key)?, edition))
}

/// Whether the claims are the issuer's, for us and for now.
pub(super) fn checked(
    claims: &Claims,
    issuer: &str,
    audience: Option<&str>,
    second: i64,
) -> Result<Window, Outcome> {
    if claims.text("iss") != Some(issuer) {
        return Err(Outcome::Issuer);
    }
    if audience.is_some_and(|audience| !claims.is_for(audience)) {
        return Err(Outcome::Audience);
    }
    let window = claims.window()?;
    window.check(second)?;
    Ok(window)
}

/// Who, for logs.
pub(super) fn subject(claims: &Claims) -> String {
    claims.subject().chars().take(LONGEST_SUBJECT).collect()
}
