//! Connections, and the one way in which statements are run.
//!
//! A transaction goes to the server in one flush: `BEGIN`, the tenant, the statements, `COMMIT`. tokio-postgres sends
//! what is polled together without waiting for answers in between, so it costs one round trip, as one SQL function for
//! each operation would; and the statements stay beside the code that understands their answers.

use std::time::Duration;

use deadpool_postgres::{Hook, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use futures::future::{join, join_all, join4};
use tokio::time::{sleep, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::dsn::Address;
use super::error::{ConnectError, Kind, kind, late, no_connection, unavailable};
use super::news::CHANNEL;
use super::tls::Tls;
use crate::ids::TenantId;
use crate::store::StoreError;

/// The longest a transaction may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// The longest wait for a connection.
const WAIT: Duration = Duration::from_secs(5);
/// Times that a transaction is tried which the server undid for the sake of others.
const ATTEMPTS: u32 = 4;

/// Settings of every connection. No plan may read a whole table: a plan made while the queue was empty is kept, and
/// would then read a hundred thousand jobs to find one.
const SETTINGS: &str = "-c statement_timeout=8000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=20000 \
     -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c enable_bitmapscan=off -c jit=off";

/// Sends notices. Nothing is lost if the server forgets one in a crash: all its listeners begin anew then.
const NOTIFY: &str = "
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, line) FROM unnest($2::text[]) AS line";

/// A parameter.
pub(super) type Value<'a> = &'a (dyn ToSql + Sync);
/// A statement and its parameters.
pub(super) type Call<'a> = (&'static str, &'a [Value<'a>]);

/// Whose rows are seen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope<'a> {
    /// One tenant's.
    Of(&'a TenantId),
    /// Everybody's: the controller's own work.
    Maintenance,
}

impl<'a> Scope<'a> {
    fn setting(self) -> (&'static str, &'a str) {
        match self {
            Self::Of(tenant) => ("vmafx.tenant_id", tenant.as_str()),
            Self::Maintenance => ("vmafx.maintenance", "on"),
        }
    }
}

/// What may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Access {
    const fn begin(self) -> &'static str {
        match self {
            // All statements see the same moment.
            Self::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::Write => "BEGIN",
        }
    }
}

/// The connections of one store.
#[derive(Clone, Debug)]
pub(super) struct Connections(Pool);

impl Connections {
    /// Nothing is connected yet.
    pub(super) fn new(mut address: Address, most: usize) -> Result<Self, ConnectError> {
        let tls = Tls::new(&address)?;
        address.set(SETTINGS);
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(address.config, tls, manager))
            .max_size(most.max(2))
            .timeouts(Timeouts { wait: Some(WAIT), create: Some(WAIT), recycle: Some(WAIT) })
            .runtime(Runtime::Tokio1)
            .pre_recycle(Hook::sync_fn(|client, _| {
                if client.is_closed() { Err(deadpool_postgres::HookError::message("gone")) } else { Ok(()) }
            }))
            .build()
            .map_err(|error| ConnectError::Dsn { what: error.to_string() })?;
        Ok(Self(pool))
    }

    /// A connection, for work that takes several round trips.
    pub(super) async fn take(&self) -> Result<Object, StoreError> {
        self.0.get().await.map_err(no_connection)
    }

    pub(super) fn close(&self) {
        self.0.close();
    }

    /// Runs one statement in a transaction of its own.
    pub(super) async fn run(
        &self,
        scope: Scope<'_>,
        access: Access,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let mut answers = self.run_all(scope, access, &[(statement, values)]).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Runs statements in one transaction. A read is tried once more when the connection breaks. A write is not: nobody
    /// knows what became of it.
    pub(super) async fn run_all(
        &self,
        scope: Scope<'_>,
        access: Access,
        calls: &[Call<'_>],
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let mut attempt = 1;
        loop {
            let error = match self.attempt(scope, access, calls).await {
                Ok(answers) => return Ok(answers),
                Err(error) => error,
            };
            match kind(&error) {
                Kind::Again if attempt < ATTEMPTS => {
                    sleep(Duration::from_millis(u64::from(attempt * 5))).await;
                }
                Kind::Broken if access == Access::Read && attempt == 1 => {}
                _ => return Err(error),
            }
            attempt += 1;
        }
    }

    /// Sends notices to whoever listens.
    pub(super) async fn notify(&self, lines: &[String]) -> Result<(), StoreError> {
        let client = self.take().await?;
        let work = async {
            let statement = client.prepare_cached(NOTIFY).await?;
            client.query(&statement, &[&CHANNEL, &lines]).await
        };
        if let Ok(sent) = timeout(DEADLINE, work).await {
            return sent.map(drop).map_err(unavailable);
        }
        drop(Object::take(client));
        Err(late())
    }

    async fn attempt(
        &self,
        scope: Scope<'_>,
        access: Access,
        calls: &[Call<'_>],
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let client = self.take().await?;
        if let Ok(answers) = timeout(DEADLINE, transact(&client, scope, access, calls)).await {
            return answers.map_err(unavailable);
        }
        // Whatever it is still doing, nobody must wait behind it.
        drop(Object::take(client));
        Err(late())
    }
}

/// One transaction in one flush. All of it is handed to the connection when it is first polled, in this order, so that
/// a caller who gives up half way leaves no open transaction behind.
async fn transact(
    client: &Object,
    scope: Scope<'_>,
    access: Access,
    calls: &[Call<'_>],
) -> Result<Vec<Vec<Row>>, tokio_postgres::Error> {
    let prepare = calls.iter().map(|(statement, _)| client.prepare_cached(statement));
    let set = client.prepare_cached("SELECT set_config($1, $2, true)");
    let (set, statements) = join(set, join_all(prepare)).await;
    let set = set?;
    let statements = statements.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (setting, value) = scope.setting();
    let values: [Value<'_>; 2] = [&setting, &value];
    let queries =
        statements.iter().zip(calls).map(|(statement, (_, values))| client.query(statement, values));
    let (begun, scoped, answers, committed) = join4(
        client.batch_execute(access.begin()),
        client.query(&set, &values),
        join_all(queries),
        client.batch_execute("COMMIT"),
    )
    .await;
    begun?;
    scoped?;
    let answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    committed?;
    Ok(answers)
}
