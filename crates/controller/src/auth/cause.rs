//! What became of a call at the gate, as one of a closed list.

use vmafx_kit::closed_label;

use crate::refusal::Refusal;

closed_label! {
    /// How a call fared.
    pub enum Outcome: "outcome" {
        /// It may go on.
        Accepted = "accepted",
        /// There is no token, or more than one.
        Missing = "missing",
        /// The token is longer than any good one.
        TooLarge = "too_large",
        /// The token cannot be taken apart, or demands what we do not know.
        Malformed = "malformed",
        /// It is signed in another way than RS256, or not at all.
        Algorithm = "algorithm",
        /// It is neither in the token file nor from an issuer we know.
        Issuer = "issuer",
        /// The issuer has no such key.
        UnknownKey = "unknown_key",
        /// It was signed by another key.
        Signature = "signature",
        /// It is for somebody else.
        Audience = "audience",
        /// Its time is over, or it has none.
        Expired = "expired",
        /// Its time is to come.
        Premature = "premature",
        /// It names no tenant.
        NoTenant = "no_tenant",
        /// It names no tenant of ours, or fits several.
        UnknownTenant = "unknown_tenant",
        /// The tenant is suspended.
        Suspended = "suspended",
        /// None of its roles is enough.
        Role = "role",
        /// Nobody may call this.
        UnknownMethod = "unknown_method",
        /// The issuer's keys could not be read, so nothing can be said of the token.
        KeysUnavailable = "keys_unavailable",
        /// The tenants could not be read for too long.
        TenantsStale = "tenants_stale",
    }
}

impl Outcome {
    /// What the caller is told. Every bad token is told the same.
    pub(super) fn refusal(self) -> Refusal {
        match self {
            Self::NoTenant => Refusal::Incomplete("tenant_id not found in token"),
            Self::Suspended => Refusal::Denied("the tenant is suspended".to_owned()),
            Self::KeysUnavailable => {
                Refusal::Unavailable("tokens cannot be checked: the issuer's keys cannot be read".to_owned())
            }
            Self::TenantsStale => {
                Refusal::Unavailable("tokens cannot be checked: the tenants cannot be read".to_owned())
            }
            Self::Role | Self::UnknownMethod => Refusal::Denied("this call is not allowed".to_owned()),
            // An accepted call is never refused; if it were, then as one whose token is no good.
            Self::Accepted
            | Self::Missing
            | Self::TooLarge
            | Self::Malformed
            | Self::Algorithm
            | Self::Issuer
            | Self::UnknownKey
            | Self::Signature
            | Self::Audience
            | Self::Expired
            | Self::Premature
            | Self::UnknownTenant => Refusal::Unauthenticated,
        }
    }
}
