//! Two controllers with one Postgres database.

use std::path::Path;

use anyhow::{Result, bail};
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;
use vmafx_testkit::postgres::PostgresServer;

use super::load;
use crate::bench::controller;
use crate::bench::figure::Figure;

const JOBS: &str = "10000";
const REPEATS: usize = 5;

/// The load generator fails if a job is assigned twice.
pub(super) fn measure(runtime: &Runtime, home: &Path, report: &mut dyn FnMut(Figure)) -> Result<()> {
    let server = runtime.block_on(PostgresServer::start())?;
    let database = runtime.block_on(server.database())?;
    // Without TLS, as is usual for a server on the same machine.
    let dsn = format!("{}?sslmode=disable", database.dsn());
    println!("queue: postgres {} sslmode=disable", runtime.block_on(durability(database.dsn()))?);
    let config = controller::config(home).postgres(&dsn);
    let controllers = [runtime.block_on(config.clone().start())?, runtime.block_on(config.start())?];
    let mut samples = Vec::new();
    for _ in 0..REPEATS {
        samples.push(load::run(&controllers, &["cycles", JOBS], "per_second")?);
    }
    report(Figure::at_least("queue.postgres.cycles-of-two-controllers", "jobs/s", 1500.0, samples));
    Ok(())
}

/// The server's settings that determine durability.
async fn durability(dsn: &str) -> Result<String> {
    let (client, connection) = tokio_postgres::connect(dsn, NoTls).await?;
    let query = async {
        let mut settings = Vec::new();
        for name in ["server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method"] {
            let value: String = client.query_one(&format!("SHOW {name}"), &[]).await?.get(0);
            settings.push(format!("{name}={value}"));
        }
        Ok(settings.join(" "))
    };
    tokio::select! {
        settings = query => settings,
        ended = connection => match ended {
            Ok(()) => bail!("the server closed the connection"),
            Err(error) => Err(error.into()),
        },
    }
}
