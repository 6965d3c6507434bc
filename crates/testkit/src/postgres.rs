//! A real Postgres on this machine, with its default settings: `fsync` stays on.
//!
//! All tests of a program share one server ([`PostgresServer::shared`]), each test uses a database with its own role
//! ([`PostgresServer::database`]), and a test that restarts the server starts one for itself ([`PostgresServer::start`]). A server ends
//! with its owner, however the owner ends, and its directory is removed. The data is on a disk, not in memory, because
//! tests of durability and speed would mean nothing otherwise.
//!
//! ```no_run
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! use vmafx_testkit::postgres::PostgresServer;
//!
//! let database = PostgresServer::shared().await?.database().await?;
//! // … connect to database.dsn() …
//! # Ok(())
//! # }
//! ```

mod account;
mod binaries;
mod database;
mod error;
mod launch;

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use rustix::process::Signal;
use tokio::sync::{Mutex, OnceCell};

use self::account::SystemAccount;
pub use self::binaries::BINARIES_VARIABLE;
pub use self::database::PostgresDatabase;
pub use self::error::PostgresError;
use self::launch::PostgresLauncher;
use crate::kube::pki::Authority;
use crate::kube::process::ChildProcess;
use crate::kube::scratch::ScratchDirectory;
use crate::{ports, wait};

/// Timeout of a start or a stop on a busy machine, crash recovery included.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Attempts to start, since a free port may be taken before the server binds it.
const MAX_ATTEMPTS: u32 = 3;

/// Postgres's modes of shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownMode {
    /// Clients are disconnected and everything is flushed.
    Fast,
    /// As in a crash: the next start recovers from the log.
    Immediate,
}

/// How a copy of the data directory is brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreMode {
    /// As a file system that is rolled back to a snapshot: the server goes on with the same timeline.
    Snapshot,
    /// As a point-in-time recovery or the promotion of a replica: the server begins a new timeline.
    PointInTime,
}

#[derive(Debug)]
pub struct PostgresServer {
    process: Mutex<ChildProcess>,
    launcher: PostgresLauncher,
    /// Declared last, so that the directory is removed after the process has ended.
    scratch: ScratchDirectory,
}

impl PostgresServer {
    /// The server that all tests of this process share.
    pub async fn shared() -> Result<&'static Self, PostgresError> {
        // A `static` is never dropped: the death signal ends the server, and the cleaner removes its directory.
        static SHARED: OnceCell<PostgresServer> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    /// Creates a database cluster in its own directory and starts it.
    pub async fn start() -> Result<Self, PostgresError> {
        Self::start_in(&env::temp_dir()).await
    }

    /// The same, with everything below this directory.
    pub async fn start_in(parent: &Path) -> Result<Self, PostgresError> {
        let scratch = ScratchDirectory::create_in(parent, "vmafx-postgres-")?;
        let launcher = prepare(scratch.path()).await?;
        let mut attempt = 1;
        loop {
            let launcher = launcher.clone().on(ports::free_address()?.port());
            match launcher.start(TIMEOUT).await {
                Ok(process) => return Ok(Self { process: Mutex::new(process), launcher, scratch }),
                Err(PostgresError::Process(error)) if attempt < MAX_ATTEMPTS => {
                    tracing::debug!(attempt, %error, "trying another port");
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// An empty database, owned by its own role, which is not a superuser.
    pub async fn database(&self) -> Result<PostgresDatabase, PostgresError> {
        database::create(&self.launcher).await
    }

    /// Stops and starts the server, at the same address and with the same data.
    pub async fn restart(&self, mode: ShutdownMode) -> Result<(), PostgresError> {
        let mut process = self.process.lock().await;
        stop(&mut process, mode).await?;
        *process = self.launcher.start(TIMEOUT).await?;
        Ok(())
    }

    /// Copies the data directory while the server is stopped, and replaces an earlier copy.
    pub async fn back_up(&self) -> Result<(), PostgresError> {
        let mut process = self.process.lock().await;
        stop(&mut process, ShutdownMode::Fast).await?;
        self.launcher.replace_directory(&self.launcher.data(), &self.launcher.backup()).await?;
        *process = self.launcher.start(TIMEOUT).await?;
        Ok(())
    }

    /// Goes back to the last copy of the data directory.
    pub async fn restore(&self, mode: RestoreMode) -> Result<(), PostgresError> {
        let mut process = self.process.lock().await;
        stop(&mut process, ShutdownMode::Immediate).await?;
        let data = self.launcher.data();
        self.launcher.replace_directory(&self.launcher.backup(), &data).await?;
        if mode == RestoreMode::PointInTime {
            // No further log can be fetched, so the recovery ends at once, on a new timeline. Until then the server
            // accepts no connections.
            let signal = data.join("recovery.signal");
            fs::write(data.join("postgresql.auto.conf"), "restore_command = 'false'\nhot_standby = off\n")?;
            fs::write(&signal, "")?;
            fs::set_permissions(&signal, fs::Permissions::from_mode(0o666))?;
        }
        *process = self.launcher.start(TIMEOUT).await?;
        Ok(())
    }

    pub fn address(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.launcher.port)
    }

    /// PEM file of the CA that signed the server's certificate. The server supports TLS but does not require it.
    pub fn ca_file(&self) -> PathBuf {
        self.scratch.path().join("ca.crt")
    }

    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// The postmaster, the parent of all other processes.
    pub async fn pid(&self) -> u32 {
        self.process.lock().await.pid()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // SIGKILL would leave the server's shared memory behind.
        let process = self.process.get_mut();
        if process.signal(Signal::QUIT).is_ok() {
            let _ = process.wait();
        }
    }
}

async fn stop(process: &mut ChildProcess, mode: ShutdownMode) -> Result<(), PostgresError> {
    process.signal(match mode {
        ShutdownMode::Fast => Signal::INT,
        ShutdownMode::Immediate => Signal::QUIT,
    })?;
    wait::until(TIMEOUT, "the server to end", || std::future::ready(process.ended().is_some())).await?;
    Ok(())
}

/// Creates the database cluster and its certificate, owned by the account that the server runs as.
async fn prepare(directory: &Path) -> Result<PostgresLauncher, PostgresError> {
    let account = SystemAccount::choose()?;
    let launcher = PostgresLauncher::new(binaries::find().await?, account, directory);
    fs::set_permissions(directory, fs::Permissions::from_mode(0o711))?;
    let authority = Authority::create(directory)?;
    let server = authority.server("postgres", None, &["localhost", "127.0.0.1"])?;
    let password = directory.join("password");
    fs::write(&password, &launcher.password)?;
    let data = launcher.data();
    fs::create_dir(&data)?;
    for (path, mode) in
        [(&data, 0o700), (&password, 0o600), (&server.key, 0o600), (&server.certificate, 0o644)]
    {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        if let Some(account) = account {
            chown(path, Some(account.uid), Some(account.gid))?;
        }
    }
    launcher.initdb(&password).await?;
    Ok(launcher)
}
