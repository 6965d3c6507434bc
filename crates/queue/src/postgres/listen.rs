//! Receives the announcements of other controllers.
//!
//! One connection listens. This controller notifies its own subscribers directly and ignores the echo of its own
//! announcements, so that each change is notified once. Announcements are missed while the connection is down, so
//! every subscriber is notified of everything after a reconnect.

use std::fmt;
use std::mem::take;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::poll_fn;
use tokio::sync::oneshot;
use tokio::time::{interval, sleep, timeout};
use tokio_postgres::{AsyncMessage, Client};

use super::Shared;
use super::dsn::Address;
use super::error::{ConnectError, timed_out, unavailable};
use super::pool::{Access, Call, Scope, Value};
use super::row::Reader;
use super::tenant_changes::{CHANNEL, ChangeMessage, TenantChanges};
use super::tls::Tls;
use crate::ids::TenantId;
use crate::notification::Notification;
use crate::store::{StoreError, StoreResult};

/// Timeout for connecting and for each statement.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How often held-back readers are notified again.
const TICK_INTERVAL: Duration = Duration::from_secs(1);
const TICKS_PER_PROBE: u32 = 15;
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// Backends with claimable jobs and the number of those jobs, counted up to 1000.
const WORK: &str = "
WITH RECURSIVE class AS (
    (SELECT j.backend FROM vmafx.jobs j WHERE j.tenant_id = $1 AND j.ready ORDER BY j.backend LIMIT 1)
    UNION ALL
    SELECT (SELECT j.backend FROM vmafx.jobs j WHERE j.tenant_id = $1 AND j.ready AND j.backend > class.backend
            ORDER BY j.backend LIMIT 1)
    FROM class WHERE class.backend IS NOT NULL
)
SELECT class.backend, (
    SELECT count(*) FROM (
        SELECT FROM vmafx.jobs j WHERE j.tenant_id = $1 AND j.backend = class.backend AND j.ready LIMIT 1000) enough)
FROM class WHERE class.backend IS NOT NULL";

pub(super) struct Listener {
    shared: Arc<Shared>,
    address: Address,
    tls: Tls,
}

impl Listener {
    pub(super) fn new(shared: Arc<Shared>, address: Address) -> Result<Self, ConnectError> {
        Ok(Self { tls: Tls::new(&address)?, shared, address })
    }

    /// `listening` receives a message when the first connection listens.
    pub(super) async fn run(self, listening: oneshot::Sender<()>) {
        let mut first = Some(listening);
        let mut backoff = Duration::from_millis(50);
        loop {
            let was_listening = first.is_none();
            let error = self.listen(&mut first).await;
            if was_listening || first.is_none() {
                tracing::warn!(%error, cause = %Cause(&error), "cannot receive announcements of other controllers; reconnecting");
            }
            sleep(backoff).await;
            backoff =
                if first.is_none() { Duration::from_millis(200) } else { (backoff * 2).min(MAX_BACKOFF) };
        }
    }

    /// Listens until the connection breaks.
    async fn listen(&self, first: &mut Option<oneshot::Sender<()>>) -> StoreError {
        let connect = timeout(CONNECTION_TIMEOUT, self.address.config.connect(self.tls.clone())).await;
        let (client, mut connection) = match connect {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return unavailable(error),
            Err(_) => return timed_out(),
        };
        // Polling the messages drives the connection.
        let mut messages = poll_fn(move |cx| connection.poll_message(cx));
        let receive = async {
            loop {
                match messages.next().await {
                    Some(Ok(AsyncMessage::Notification(message))) => self.receive(message.payload()).await,
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return unavailable(error),
                    None => return StoreError::Unavailable("the server closed the connection".into()),
                }
            }
        };
        tokio::select! {
            error = receive => error,
            error = self.supervise(&client, first) => error,
        }
    }

    /// Starts to listen, and then probes the connection.
    async fn supervise(&self, client: &Client, first: &mut Option<oneshot::Sender<()>>) -> StoreError {
        let execute = async |statement: &str| match timeout(
            CONNECTION_TIMEOUT,
            client.batch_execute(statement),
        )
        .await
        {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(unavailable(error)),
            Err(_) => Err(timed_out()),
        };
        if let Err(error) = execute(&format!("LISTEN {CHANNEL}")).await {
            return error;
        }
        match first.take() {
            Some(listening) => drop(listening.send(())),
            None => {
                // Announcements were missed while the connection was down.
                if let Err(error) = self.shared.notify_all_tenants().await {
                    return error;
                }
            }
        }
        let mut ticks = interval(TICK_INTERVAL);
        let mut count = 0_u32;
        loop {
            ticks.tick().await;
            let held_back = take(&mut *self.shared.held_back.lock().unwrap_or_else(PoisonError::into_inner));
            for tenant in held_back {
                TenantChanges::ALL_FEEDS.send_to(&self.shared.notifier, &tenant);
            }
            count = count.wrapping_add(1);
            if count.is_multiple_of(TICKS_PER_PROBE) {
                if let Err(error) = execute("SELECT 1").await {
                    return error;
                }
                // A controller that died between commit and announcement has announced nothing.
                if let Err(error) = self.shared.notify_all_tenants().await {
                    return error;
                }
            }
        }
    }

    async fn receive(&self, payload: &str) {
        let Ok(message) = serde_json::from_str::<ChangeMessage>(payload) else {
            tracing::warn!("ignored a message that is not an announcement on channel {CHANNEL}");
            return;
        };
        if message.from.as_deref() == Some(&*self.shared.instance) {
            return;
        }
        let Ok(tenant) = TenantId::new(&message.tenant) else { return };
        let work_omitted = message.work_omitted;
        message.changes().send_to(&self.shared.notifier, &tenant);
        if work_omitted && let Err(error) = self.shared.notify_work(&tenant).await {
            tracing::warn!(%error, "cannot query claimable jobs");
        }
    }
}

impl Shared {
    /// Makes every subscriber read everything again.
    async fn notify_all_tenants(&self) -> StoreResult<()> {
        for tenant in self.tenants().await? {
            TenantChanges::ALL_FEEDS.send_to(&self.notifier, &tenant);
            self.notify_work(&tenant).await?;
        }
        Ok(())
    }

    async fn notify_work(&self, tenant: &TenantId) -> StoreResult<()> {
        let values: [Value<'_>; 1] = [&tenant.as_str()];
        let calls: [Call<'_>; 1] = [(WORK, &values)];
        let answers = self.connections.run_all(Scope::Tenant(tenant), Access::Read, &calls).await?;
        for row in answers.iter().flatten() {
            let mut reader = Reader::new(row);
            let (backend, jobs) = (reader.next::<&str>()?, reader.count()?);
            self.notifier.notify(Notification::Work {
                tenant: tenant.clone(),
                backend: backend.into(),
                jobs,
            });
        }
        Ok(())
    }
}

/// The source of an error, for a log field.
struct Cause<'a>(&'a StoreError);

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::error::Error::source(self.0).map_or(Ok(()), |cause| fmt::Display::fmt(cause, f))
    }
}
