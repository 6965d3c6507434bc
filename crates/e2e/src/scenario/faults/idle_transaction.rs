//! A transaction stays open in another database of the same Postgres server: no status and no score waits for it.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use tokio_postgres::NoTls;

use super::fixture::FaultFixture;
use super::summary::FaultSummary;

const BATCH_NAME: &str = "idle";
const JOBS: usize = 40;

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    let dsn = another_database(fixture).await?;
    let jobs = async {
        let started = Instant::now();
        fixture.submit(BATCH_NAME, JOBS).await?;
        fixture.verify_batch(BATCH_NAME).await?;
        fixture.summary(BATCH_NAME, started.elapsed()).await
    };
    with_open_transaction(&dsn, jobs).await
}

/// The address of a database of the same server that the controllers do not use.
pub(super) async fn another_database(fixture: &FaultFixture<'_>) -> Result<String> {
    let external = fixture.platform.external_services().await?;
    Ok(external.database_on_host(&external.database().await?))
}

/// Does the work while a transaction is open.
pub(super) async fn with_open_transaction<T>(dsn: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    let (client, connection) =
        Box::pin(tokio_postgres::connect(dsn, NoTls)).await.context("cannot connect to another database")?;
    let work = Box::pin(async {
        // A transaction that has written has an id, which snapshots of the whole server remember.
        client.batch_execute("BEGIN; CREATE TABLE of_another_application ()").await?;
        let done = work.await?;
        client.batch_execute("ROLLBACK").await?;
        Ok(done)
    });
    tokio::select! {
        done = work => done,
        ended = connection => {
            ended.context("the connection of the idle transaction failed")?;
            bail!("the server closed the connection of the idle transaction")
        }
    }
}
