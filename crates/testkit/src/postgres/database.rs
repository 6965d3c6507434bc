//! A database for one test.

use tokio_postgres::NoTls;
use uuid::Uuid;

use super::PostgresError;
use super::launch::Launcher;

/// A database and the role that owns it.
#[derive(Debug, Clone)]
pub struct Database {
    name: String,
    dsn: String,
    superuser: String,
}

impl Database {
    /// Its name, which is its role's too.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its role connects.
    pub fn dsn(&self) -> &str {
        &self.dsn
    }

    /// Where a superuser connects, for a test that looks behind the curtain.
    pub fn superuser(&self) -> &str {
        &self.superuser
    }
}

pub(super) async fn create(launcher: &Launcher) -> Result<Database, PostgresError> {
    let id = Uuid::new_v4().simple().to_string();
    let (name, password) = (format!("test_{}", &id[..12]), &id[12..]);
    let admin = launcher.superuser("postgres");
    execute(&admin, &format!("CREATE ROLE {name} LOGIN PASSWORD '{password}'")).await?;
    execute(&admin, &format!("CREATE DATABASE {name} OWNER {name}")).await?;
    Ok(Database {
        dsn: format!("postgres://{name}:{password}@127.0.0.1:{}/{name}", launcher.port),
        superuser: launcher.superuser(&name),
        name,
    })
}

/// Runs one statement on a connection of its own.
pub(super) async fn execute(dsn: &str, statement: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(dsn, NoTls).await?;
    tokio::select! {
        done = client.batch_execute(statement) => done,
        ended = connection => ended,
    }
}
