//! Hears what other controllers did.
//!
//! One connection listens. Our own transactions are told here by whoever made them, so the server's echo of them is
//! passed over: everything is heard once. While the connection is down, notices are missed; once it is back, everybody
//! is told to look at everything.

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
use super::error::{ConnectError, late, unavailable};
use super::news::{CHANNEL, Message, News};
use super::pool::{Access, Call, Scope, Value};
use super::row::Reader;
use super::tls::Tls;
use crate::ids::TenantId;
use crate::notice::Notice;
use crate::store::StoreError;

/// The longest wait for the connection or for an answer on it.
const WAIT: Duration = Duration::from_secs(5);
/// How often a silent connection is asked whether it is there, and readers that were held back are told to look again.
const TICK: Duration = Duration::from_secs(1);
const TICKS_BETWEEN_QUESTIONS: u32 = 15;
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Classes with work, and how much of it, as far as somebody who waits wants to know.
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

/// Listens until the store is closed.
pub(super) struct Listener {
    shared: Arc<Shared>,
    address: Address,
    tls: Tls,
}

impl Listener {
    pub(super) fn new(shared: Arc<Shared>, address: Address) -> Result<Self, ConnectError> {
        Ok(Self { tls: Tls::new(&address)?, shared, address })
    }

    /// `listening` is told when the first connection listens.
    pub(super) async fn run(self, listening: oneshot::Sender<()>) {
        let mut first = Some(listening);
        let mut pause = Duration::from_millis(50);
        loop {
            let was_listening = first.is_none();
            let error = self.listen(&mut first).await;
            if was_listening || first.is_none() {
                tracing::warn!(%error, cause = %Cause(&error), "notices of other controllers are not heard");
            }
            sleep(pause).await;
            pause = if first.is_none() { Duration::from_millis(200) } else { (pause * 2).min(LONGEST_PAUSE) };
        }
    }

    /// Listens for as long as the connection lives.
    async fn listen(&self, first: &mut Option<oneshot::Sender<()>>) -> StoreError {
        let connect = timeout(WAIT, self.address.config.connect(self.tls.clone())).await;
        let (client, mut connection) = match connect {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return unavailable(error),
            Err(_) => return late(),
        };
        // Whoever polls this drives the connection.
        let mut messages = poll_fn(move |cx| connection.poll_message(cx));
        let hear = async {
            loop {
                match messages.next().await {
                    Some(Ok(AsyncMessage::Notification(notice))) => self.hear(notice.payload()).await,
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return unavailable(error),
                    None => return StoreError::Unavailable("the server closed the connection".into()),
                }
            }
        };
        tokio::select! {
            error = hear => error,
            error = self.keep(&client, first) => error,
        }
    }

    /// Begins to listen, and then sees to it that the connection is alive.
    async fn keep(&self, client: &Client, first: &mut Option<oneshot::Sender<()>>) -> StoreError {
        let ask = async |statement: &str| match timeout(WAIT, client.batch_execute(statement)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(unavailable(error)),
            Err(_) => Err(late()),
        };
        if let Err(error) = ask(&format!("LISTEN {CHANNEL}")).await {
            return error;
        }
        match first.take() {
            Some(listening) => drop(listening.send(())),
            None => {
                // Whoever could not be told must be told later: begin again.
                if let Err(error) = self.shared.tell_everything().await {
                    return error;
                }
            }
        }
        let mut ticks = interval(TICK);
        let mut count = 0_u32;
        loop {
            ticks.tick().await;
            let held_back = take(&mut *self.shared.held_back.lock().unwrap_or_else(PoisonError::into_inner));
            for tenant in held_back {
                News { changed: true, sampled: true, ..News::default() }.tell(&self.shared.notices, &tenant);
            }
            count = count.wrapping_add(1);
            if count.is_multiple_of(TICKS_BETWEEN_QUESTIONS) {
                if let Err(error) = ask("SELECT 1").await {
                    return error;
                }
                // Of somebody who died before it could tell, nobody hears.
                if let Err(error) = self.shared.tell_everything().await {
                    return error;
                }
            }
        }
    }

    async fn hear(&self, payload: &str) {
        let Ok(message) = serde_json::from_str::<Message>(payload) else {
            tracing::warn!("a notice on {CHANNEL} is not one of ours");
            return;
        };
        if message.from.as_deref() == Some(&*self.shared.instance) {
            return;
        }
        let Ok(tenant) = TenantId::new(&message.tenant) else { return };
        let unsaid = message.unsaid;
        message.news().tell(&self.shared.notices, &tenant);
        if unsaid && let Err(error) = self.shared.tell_work(&tenant).await {
            tracing::warn!(%error, "work cannot be looked for");
        }
    }
}

impl Shared {
    /// Makes everybody look at everything.
    async fn tell_everything(&self) -> Result<(), StoreError> {
        for tenant in self.tenants().await? {
            News { changed: true, sampled: true, ..News::default() }.tell(&self.notices, &tenant);
            self.tell_work(&tenant).await?;
        }
        Ok(())
    }

    async fn tell_work(&self, tenant: &TenantId) -> Result<(), StoreError> {
        let values: [Value<'_>; 1] = [&tenant.as_str()];
        let calls: [Call<'_>; 1] = [(WORK, &values)];
        let answers = self.connections.run_all(Scope::Of(tenant), Access::Read, &calls).await?;
        for row in answers.iter().flatten() {
            let mut reader = Reader::new(row);
            let (backend, jobs) = (reader.next::<&str>()?, reader.count()?);
            self.notices.tell(Notice::Work { tenant: tenant.clone(), backend: backend.into(), jobs });
        }
        Ok(())
    }
}

/// The cause of an error, for a log.
struct Cause<'a>(&'a StoreError);

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::error::Error::source(self.0).map_or(Ok(()), |cause| fmt::Display::fmt(cause, f))
    }
}
