//! Connections, and the execution of statements.
//!
//! A transaction is sent to the server in one flush: `BEGIN` with the tenant, the statements, `COMMIT`. tokio-postgres
//! sends everything that is polled together without waiting for answers in between, so a transaction costs one
//! round trip, like a call of an SQL function would, and the statements stay next to the code that reads their
//! rows.

use std::time::Duration;

use deadpool_postgres::{Hook, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use futures::future::{join_all, join3, try_join_all};
use postgres_protocol::escape::escape_literal;
use tokio::time::{sleep, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::dsn::Address;
use super::error::{ConnectError, ErrorClass, classify, no_connection, timed_out, unavailable};
use super::lives;
use super::tenant_changes::CHANNEL;
use super::tls::Tls;
use crate::ids::TenantId;
use crate::store::StoreResult;

const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a transaction is tried that the server rolls back because of a conflict.
const MAX_ATTEMPTS: u32 = 4;

/// Settings of every connection. A controller that is stopped in the middle of a transaction delays the feeds until
/// the server ends the transaction, which `idle_in_transaction_session_timeout` bounds. Statements are planned once for a
/// connection and not for each call, because planning a claim or a heartbeat takes longer than its execution. Sequential scans
/// are disabled, because a plan that was made while the queue was empty would later read a hundred thousand jobs to find one.
const SETTINGS: &str = "-c statement_timeout=8000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=10000 \
     -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c enable_bitmapscan=off -c jit=off \
     -c plan_cache_mode=force_generic_plan";

/// Sends announcements without waiting for the disk. Nothing is lost if the server crashes, because all listeners
/// then reconnect and read everything.
const NOTIFY: &str = "
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, line) FROM unnest($2::text[]) AS line";

pub(super) type Value<'a> = &'a (dyn ToSql + Sync);
pub(super) type Call<'a> = (&'static str, &'a [Value<'a>]);

/// Which rows row-level security shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope<'a> {
    Tenant(&'a TenantId),
    /// The rows of all tenants, for the controller's own operations.
    Maintenance,
}

impl Scope<'_> {
    /// One message begins the transaction and sets its scope, because every further one costs the server about as much as a row.
    fn begin(self, access: Access) -> String {
        let (setting, value) = match self {
            Self::Tenant(tenant) => ("vmafx.tenant_id", tenant.as_str()),
            Self::Maintenance => ("vmafx.maintenance", "on"),
        };
        format!("{}; SET LOCAL {setting} = {}", access.begin(), escape_literal(value))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    /// Every statement sees a snapshot of its own, taken after the statement before it.
    ReadLatest,
    Write,
}

impl Access {
    const fn begin(self) -> &'static str {
        match self {
            // All statements of a read see the same snapshot.
            Self::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::ReadLatest => "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",
            Self::Write => "BEGIN",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Connections(Pool);

impl Connections {
    pub(super) fn new(mut address: Address, max_connections: usize) -> Result<Self, ConnectError> {
        let tls = Tls::new(&address)?;
        address.set(SETTINGS);
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(address.config, tls, manager))
            .max_size(max_connections.max(2))
            .timeouts(Timeouts {
                wait: Some(CONNECTION_TIMEOUT),
                create: Some(CONNECTION_TIMEOUT),
                recycle: Some(CONNECTION_TIMEOUT),
            })
            .runtime(Runtime::Tokio1)
            .post_create(lives::hook())
            .pre_recycle(Hook::sync_fn(|client, _| {
                if client.is_closed() { Err(deadpool_postgres::HookError::message("gone")) } else { Ok(()) }
            }))
            .build()
            .map_err(|error| ConnectError::Dsn { what: error.to_string() })?;
        Ok(Self(pool))
    }

    /// A connection for operations that take several round trips.
    pub(super) async fn take(&self) -> StoreResult<Object> {
        self.0.get().await.map_err(no_connection)
    }

    pub(super) fn close(&self) {
        self.0.close();
    }

    /// Runs one statement in its own transaction.
    pub(super) async fn run(
        &self,
        scope: Scope<'_>,
        access: Access,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> StoreResult<Vec<Row>> {
        let mut answers = self.run_all(scope, access, &[(statement, values)]).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Runs statements in one transaction. A read is retried once when the connection breaks. A write is not,
    /// because it may have been committed.
    pub(super) async fn run_all(
        &self,
        scope: Scope<'_>,
        access: Access,
        calls: &[Call<'_>],
    ) -> StoreResult<Vec<Vec<Row>>> {
        let mut attempt = 1;
        loop {
            let error = match self.attempt(scope, access, calls).await {
                Ok(answers) => return Ok(answers),
                Err(error) => error,
            };
            match classify(&error) {
                ErrorClass::Retry if attempt < MAX_ATTEMPTS => {
                    sleep(Duration::from_millis(u64::from(attempt * 5))).await;
                }
                ErrorClass::ConnectionLost if access != Access::Write && attempt == 1 => {}
                _ => return Err(error),
            }
            attempt += 1;
        }
    }

    pub(super) async fn notify(&self, lines: &[String]) -> StoreResult<()> {
        let client = self.take().await?;
        let work = async {
            let statement = client.prepare_cached(NOTIFY).await?;
            client.query(&statement, &[&CHANNEL, &lines]).await
        };
        if let Ok(sent) = timeout(TRANSACTION_TIMEOUT, work).await {
            return sent.map(drop).map_err(unavailable);
        }
        drop(Object::take(client));
        Err(timed_out())
    }

    async fn attempt(
        &self,
        scope: Scope<'_>,
        access: Access,
        calls: &[Call<'_>],
    ) -> StoreResult<Vec<Vec<Row>>> {
        let client = self.take().await?;
        if let Ok(answers) = timeout(TRANSACTION_TIMEOUT, transact(&client, scope, access, calls)).await {
            return answers.map_err(unavailable);
        }
        // The connection is discarded, because the statement may still be running on it.
        drop(Object::take(client));
        Err(timed_out())
    }
}

/// Runs a transaction in one flush. The first poll hands all of it to the connection in this order, so that a
/// cancelled caller leaves no open transaction behind.
async fn transact(
    client: &Object,
    scope: Scope<'_>,
    access: Access,
    calls: &[Call<'_>],
) -> Result<Vec<Vec<Row>>, tokio_postgres::Error> {
    let statements =
        try_join_all(calls.iter().map(|(statement, _)| client.prepare_cached(statement))).await?;
    let queries =
        statements.iter().zip(calls).map(|(statement, (_, values))| client.query(statement, values));
    let begin = scope.begin(access);
    let (started, answers, committed) =
        join3(client.batch_execute(&begin), join_all(queries), client.batch_execute("COMMIT")).await;
    started?;
    let answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    committed?;
    Ok(answers)
}
