//! Two controllers, their queue in one Postgres.

use std::path::Path;

use anyhow::{Result, bail};
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;
use vmafx_testkit::postgres::PostgresServer;

use super::load;
use crate::bench::controller::Controller;
use crate::bench::figure::{Bar, Figure};

const JOBS: &str = "10000";
const REPEATS: usize = 5;

/// Takes the figure. The load itself fails when a job is handed out twice.
pub(super) fn measure(runtime: &Runtime, home: &Path, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let server = runtime.block_on(PostgresServer::start())?;
    let database = runtime.block_on(server.database())?;
    // What goes over loopback is not encrypted, as nobody would in front of a server on the same machine.
    let dsn = format!("{}?sslmode=disable", database.dsn());
    println!("queue: postgres {} sslmode=disable", runtime.block_on(durability(database.dsn()))?);
    let directory = tempfile::tempdir_in(home)?;
    let settings = [("VMAFX_STORE_BACKEND", "postgres"), ("VMAFX_DB_DSN", dsn.as_str())];
    let controllers = [
        Controller::start(runtime, directory.path(), &settings)?,
        Controller::start(runtime, directory.path(), &settings)?,
    ];
    let mut samples = Vec::new();
    for _ in 0..REPEATS {
        samples.push(load::run(&controllers, &["cycles", JOBS], "per_second")?);
    }
    tell(Figure {
        name: "queue.postgres.cycles-of-two-controllers",
        unit: "jobs/s",
        bar: Bar::AtLeast,
        limit: 1500.0,
        samples,
    });
    Ok(())
}

/// The settings that decide what an answer is worth, as the server has them.
async fn durability(dsn: &str) -> Result<String> {
    let (client, connection) = tokio_postgres::connect(dsn, NoTls).await?;
    let ask = async {
        let mut told = Vec::new();
        for name in ["server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method"] {
            let value: String = client.query_one(&format!("SHOW {name}"), &[]).await?.get(0);
            told.push(format!("{name}={value}"));
        }
        Ok(told.join(" "))
    };
    tokio::select! {
        told = ask => told,
        ended = connection => match ended {
            Ok(()) => bail!("the connection ended"),
            Err(error) => Err(error.into()),
        },
    }
}
