//! The result of authorizing a call: the label of the metric and the response to the caller.

use vmafx_kit::closed_label;
use vmafx_proto::NAMESPACE_HEADER;

use crate::refusal::Refusal;

closed_label! {
    pub enum AuthOutcome: "outcome" {
        Accepted = "accepted",
        /// The request has no bearer token, or several.
        Missing = "missing",
        TooLarge = "too_large",
        /// The token cannot be parsed or has critical extensions.
        Malformed = "malformed",
        /// The token is not signed with RS256.
        Algorithm = "algorithm",
        /// The token is neither in the token file nor from an accepted issuer.
        Issuer = "issuer",
        UnknownKey = "unknown_key",
        Signature = "signature",
        Audience = "audience",
        /// The token has expired, or has no expiry.
        Expired = "expired",
        /// The token is not valid yet.
        Premature = "premature",
        NoTenant = "no_tenant",
        /// The token names no configured tenant, or matches several.
        UnknownTenant = "unknown_tenant",
        Suspended = "suspended",
        /// The call is for a namespace, and its caller is not the operator.
        Namespace = "namespace",
        /// The namespace belongs to no tenant, or it cannot be told to which one.
        NamespaceTenant = "namespace_tenant",
        Role = "role",
        /// The call needs a client certificate, or has one of another namespace.
        Certificate = "certificate",
        UnknownMethod = "unknown_method",
        /// A page of another site may have caused the change.
        OtherOrigin = "other_origin",
        KeysUnavailable = "keys_unavailable",
        TenantsStale = "tenants_stale",
    }
}

impl AuthOutcome {
    /// All invalid tokens get the same refusal, so that a caller learns nothing about the checks.
    pub(super) fn refusal(self) -> Refusal {
        match self {
            Self::NoTenant => Refusal::Incomplete("tenant_id not found in token"),
            Self::Suspended => Refusal::Denied("the tenant is suspended".to_owned()),
            Self::KeysUnavailable => Refusal::Unavailable(
                "tokens cannot be verified: the issuer's keys cannot be fetched; try again later".to_owned(),
            ),
            Self::TenantsStale => Refusal::Unavailable(
                "tokens cannot be verified: the tenants cannot be read; try again later".to_owned(),
            ),
            Self::Namespace => Refusal::Denied(format!(
                "{NAMESPACE_HEADER}: only the operator may call for a namespace, which it must name correctly \
                 (VMAFX_AUTH_OPERATOR_SUBJECT)"
            )),
            Self::NamespaceTenant => Refusal::Denied(
                "the namespace belongs to no tenant: one VmafxTenant, which is Ready, must list it in spec.namespaces"
                    .to_owned(),
            ),
            Self::Role | Self::Certificate | Self::UnknownMethod | Self::OtherOrigin => {
                Refusal::Denied("the caller is not authorized for this call".to_owned())
            }
            // An accepted call is never refused; mapping it to this refusal fails closed.
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
