//! Databases that are emptied and reused, because creating one takes longer than most tests.

use std::sync::{Mutex, PoisonError};

use tokio_postgres::NoTls;
use vmafx_testkit::postgres::{PostgresDatabase, PostgresServer};

static IDLE: Mutex<Vec<PostgresDatabase>> = Mutex::new(Vec::new());

/// An empty database, returned to the pool when it is dropped.
#[derive(Debug)]
pub(crate) struct Borrowed(Option<PostgresDatabase>);

impl Borrowed {
    pub(crate) async fn take() -> Self {
        let idle = IDLE.lock().unwrap().pop();
        let database = match idle {
            Some(used) => emptied(used).await,
            None => created().await,
        };
        Self(Some(database))
    }

    pub(crate) fn dsn(&self) -> &str {
        self.0.as_ref().map(PostgresDatabase::dsn).unwrap_or_default()
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).extend(self.0.take());
    }
}

const INVARIANTS: &str = include_str!("invariants.sql");

/// A new database in which every statement that breaks an invariant fails.
async fn created() -> PostgresDatabase {
    let database = PostgresServer::shared().await.unwrap().database().await.unwrap();
    vmafx_queue::postgres::migrate(database.dsn()).await.unwrap();
    run(&database, INVARIANTS).await;
    database
}

/// Keeps the id of the store and the schema.
const EMPTY: &str = "
DO $$ BEGIN
    EXECUTE (
        SELECT coalesce('TRUNCATE ' || string_agg(format('%I.%I', schemaname, tablename), ', '), 'SELECT 1')
        FROM pg_tables WHERE schemaname = 'vmafx' AND tablename <> 'meta'
    );
END $$";

async fn emptied(used: PostgresDatabase) -> PostgresDatabase {
    run(&used, EMPTY).await;
    used
}

async fn run(database: &PostgresDatabase, statements: &str) {
    let (client, connection) = tokio_postgres::connect(database.superuser_dsn(), NoTls).await.unwrap();
    tokio::select! {
        done = client.batch_execute(statements) => done.unwrap(),
        ended = connection => ended.unwrap(),
    }
}
