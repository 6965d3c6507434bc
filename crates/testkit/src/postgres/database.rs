use tokio_postgres::NoTls;
use uuid::Uuid;

use super::PostgresError;
use super::launch::PostgresLauncher;

/// A database for one test, and the role that owns it.
#[derive(Debug, Clone)]
pub struct PostgresDatabase {
    name: String,
    dsn: String,
    superuser_dsn: String,
}

impl PostgresDatabase {
    /// The name of the database and of its role.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The DSN of the role.
    pub fn dsn(&self) -> &str {
        &self.dsn
    }

    /// The DSN of a superuser, for tests that inspect the server itself.
    pub fn superuser_dsn(&self) -> &str {
        &self.superuser_dsn
    }
}

pub(super) async fn create(launcher: &PostgresLauncher) -> Result<PostgresDatabase, PostgresError> {
    let id = Uuid::new_v4().simple().to_string();
    let (name, password) = (format!("test_{}", &id[..12]), &id[12..]);
    let admin = launcher.superuser_dsn("postgres");
    execute(&admin, &format!("CREATE ROLE {name} LOGIN PASSWORD '{password}'")).await?;
    execute(&admin, &format!("CREATE DATABASE {name} OWNER {name}")).await?;
    Ok(PostgresDatabase {
        dsn: format!("postgres://{name}:{password}@127.0.0.1:{}/{name}", launcher.port),
        superuser_dsn: launcher.superuser_dsn(&name),
        name,
    })
}

/// Runs one statement on a new connection.
pub(super) async fn execute(dsn: &str, statement: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(dsn, NoTls).await?;
    tokio::select! {
        done = client.batch_execute(statement) => done,
        ended = connection => ended,
    }
}
