//! The access of a call that goes on: a stream lasts as long as a new call of its caller would be permitted.
//!
//! | what ends                                                    | how the stream ends                         |
//! |--------------------------------------------------------------|---------------------------------------------|
//! | the tenant is suspended, deleted, or not the caller's any more | `PERMISSION_DENIED`                       |
//! | the caller's role                                            | `PERMISSION_DENIED`                         |
//! | the token expires, or is removed from the token file         | `UNAUTHENTICATED`                           |
//! | nobody knows, because tenants or keys could not be read for too long | `UNAVAILABLE`                       |
//!
//! The caller is identified again with each [`AccessSignal`]: after every refresh of the tenants, and whenever the files are
//! polled, which is also how often an expired token is noticed.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use tokio::sync::watch;
use vmafx_queue::TenantId;

use super::authenticator::Authenticator;
use super::outcome::AuthOutcome;
use crate::audit::AuditedCall;
use crate::identity::{Identity, Roles};
use crate::refusal::Refusal;
use crate::service::ItemStream;

/// Has open calls check their access. Clones share their subscribers.
#[derive(Clone, Debug)]
pub(super) struct AccessSignal(watch::Sender<()>);

impl Default for AccessSignal {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

impl AccessSignal {
    pub(super) fn send(&self) {
        self.0.send_replace(());
    }

    fn subscribe(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }
}

/// An extension of every request that passed the authorization, beside the [`Identity`].
#[derive(Clone)]
pub struct CallAccess(Option<Arc<CheckedAccess>>);

/// What the call was authorized by.
struct CheckedAccess {
    authenticator: Authenticator,
    token: Option<String>,
    /// The namespace that the call is for.
    namespace: Option<String>,
    tenant: TenantId,
    /// The call needs one of them.
    roles: Roles,
}

impl CallAccess {
    /// Never ends: there is no authentication.
    pub const UNLIMITED: Self = Self(None);

    pub(super) fn new(
        authenticator: &Authenticator,
        (token, namespace): (Option<&str>, Option<&str>),
        identity: &Identity,
        roles: Roles,
    ) -> Self {
        if authenticator.accepts_everybody() {
            return Self::UNLIMITED;
        }
        let authenticator = authenticator.clone();
        Self(Some(Arc::new(CheckedAccess {
            authenticator,
            token: token.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
            tenant: identity.tenant.clone(),
            roles,
        })))
    }

    /// Passes the items on until the access ends. The refusal is the last item.
    pub(crate) fn guard<T: Send + 'static>(self, items: ItemStream<T>) -> ItemStream<T> {
        let ended = Box::pin(self.ended());
        let next = |open: Option<(ItemStream<T>, _)>| async move {
            let (mut items, mut ended) = open?;
            tokio::select! {
                biased;
                refusal = &mut ended => Some((Err(refusal), None)),
                item = items.next() => Some((item?, Some((items, ended)))),
            }
        };
        stream::unfold(Some((items, ended)), next).boxed()
    }

    /// Resolves when the caller would be refused.
    async fn ended(self) -> Refusal {
        let Some(access) = self.0 else { return std::future::pending().await };
        // Subscribed before the first check, so that no change between the two is missed.
        let mut signals = access.authenticator.access_signal().subscribe();
        loop {
            if let Err(refusal) = access.check().await {
                return refusal;
            }
            // The authenticator owns the sender.
            let _ = signals.changed().await;
        }
    }
}

impl CheckedAccess {
    async fn check(&self) -> Result<(), Refusal> {
        let (token, namespace) = (self.token.as_deref(), self.namespace.as_deref());
        let identified = self.authenticator.identify(token, namespace, &AuditedCall::default()).await;
        let identity = identified.map_err(refusal)?;
        if identity.tenant != self.tenant {
            return Err(Refusal::Denied("the caller belongs to another tenant now".to_owned()));
        }
        if identity.roles.intersects(self.roles) { Ok(()) } else { Err(AuthOutcome::Role.refusal()) }
    }
}

/// The token was accepted when the call began, so one that nobody accepts now is that of a tenant which has changed.
fn refusal(outcome: AuthOutcome) -> Refusal {
    match outcome {
        AuthOutcome::Issuer | AuthOutcome::Audience | AuthOutcome::NoTenant | AuthOutcome::UnknownTenant => {
            Refusal::Denied("the tenant does not exist any more, or does not accept this token".to_owned())
        }
        other => other.refusal(),
    }
}
