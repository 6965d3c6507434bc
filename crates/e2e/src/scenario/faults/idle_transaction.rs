//! A transaction stays open in another database of the same Postgres server: no status and no score waits for it.

use std::time::Instant;

use anyhow::{Context as _, Result};
use tokio_postgres::NoTls;

use super::fixture::FaultFixture;
use super::summary::FaultSummary;

const BATCH_NAME: &str = "idle";
const JOBS: usize = 40;

pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<FaultSummary> {
    let external = fixture.platform.external_services().await?;
    let dsn = external.database_on_host(&external.database().await?);
    let (client, connection) =
        tokio_postgres::connect(&dsn, NoTls).await.context("cannot connect to another database")?;
    let jobs = async {
        // A transaction that has written has an id, which snapshots of the whole server remember.
        client.batch_execute("BEGIN; CREATE TABLE of_another_application ()").await?;
        let started = Instant::now();
        fixture.submit(BATCH_NAME, JOBS).await?;
        fixture.verify_batch(BATCH_NAME).await?;
        let summary = fixture.summary(BATCH_NAME, started.elapsed()).await?;
        client.batch_execute("ROLLBACK").await?;
        anyhow::Ok(summary)
    };
    tokio::select! {
        summary = jobs => summary,
        ended = connection => {
            ended.context("the connection of the idle transaction failed")?;
            anyhow::bail!("the server closed the connection of the idle transaction")
        }
    }
}
