//! A real Postgres on this machine, with the settings it comes with: `fsync` stays on.
//!
//! One server for all tests of a program ([`Server::shared`]), one database with a role of its own for each test
//! ([`Server::database`]), and a server to itself for a test that restarts it ([`Server::start`]). A server ends with
//! its owner, however the owner ends, and so does its directory. Its data is on a disk, not in memory: what a test
//! says about durability or speed would mean nothing otherwise.
//!
//! ```no_run
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! use vmafx_testkit::postgres::Server;
//!
//! let database = Server::shared().await?.database().await?;
//! // … connect to database.dsn() …
//! # Ok(())
//! # }
//! ```

mod account;
mod binaries;
mod database;
mod error;
mod launch;

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, io};

use rustix::process::Signal;
use tokio::sync::{Mutex, OnceCell};

use self::account::Account;
pub use self::binaries::BINARIES_VARIABLE;
pub use self::database::Database;
pub use self::error::PostgresError;
use self::launch::Launcher;
use crate::kube::pki::Authority;
use crate::kube::process::Process;
use crate::kube::scratch::Scratch;
use crate::wait;

/// A start or a stop on a busy machine, crash recovery included.
const PATIENCE: Duration = Duration::from_mins(1);
/// Ports that turn out to be taken.
const ATTEMPTS: u32 = 3;

/// How a running server is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Clients are cut off, everything is written down.
    Fast,
    /// As in a crash: the next start recovers from the log.
    Immediate,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    process: Mutex<Process>,
    launcher: Launcher,
    /// Last, so that the directory goes after the process.
    scratch: Scratch,
}

impl Server {
    /// The server that all tests of this process share.
    pub async fn shared() -> Result<&'static Self, PostgresError> {
        // Never dropped, as no `static` is: the death signal and the directory's cleaner see to its end.
        static SHARED: OnceCell<Server> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    /// Makes a cluster in a directory of its own and starts it.
    pub async fn start() -> Result<Self, PostgresError> {
        let scratch = Scratch::create_in(&env::temp_dir(), "vmafx-postgres-")?;
        let launcher = prepare(scratch.path()).await?;
        let mut attempt = 1;
        loop {
            let launcher = launcher.clone().on(free_port()?);
            match launcher.start(PATIENCE).await {
                Ok(process) => return Ok(Self { process: Mutex::new(process), launcher, scratch }),
                Err(PostgresError::Process(error)) if attempt < ATTEMPTS => {
                    tracing::debug!(attempt, %error, "trying another port");
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// An empty database, owned by a role that is no superuser and that nobody else uses.
    pub async fn database(&self) -> Result<Database, PostgresError> {
        database::create(&self.launcher).await
    }

    /// Stops it and starts it again, at the same address and with the same data.
    pub async fn restart(&self, mode: Mode) -> Result<(), PostgresError> {
        let mut process = self.process.lock().await;
        process.signal(match mode {
            Mode::Fast => Signal::INT,
            Mode::Immediate => Signal::QUIT,
        })?;
        wait::until(PATIENCE, "the server's end", || std::future::ready(process.ended().is_some())).await?;
        *process = self.launcher.start(PATIENCE).await?;
        Ok(())
    }

    /// Where it listens.
    pub fn address(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.launcher.port)
    }

    /// The certificate of the authority that signed the server's own, PEM. The server speaks TLS to those who ask.
    pub fn authority(&self) -> PathBuf {
        self.scratch.path().join("ca.crt")
    }

    /// Where everything it has is kept.
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// The process that the others are children of.
    pub async fn pid(&self) -> u32 {
        self.process.lock().await.pid()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A killed server would leave its shared memory behind.
        let process = self.process.get_mut();
        if process.signal(Signal::QUIT).is_ok() {
            let _ = process.wait();
        }
    }
}

/// Makes the cluster and its certificate; all of it belongs to the account that the server runs as.
async fn prepare(directory: &Path) -> Result<Launcher, PostgresError> {
    let account = Account::choose()?;
    let launcher = Launcher::new(binaries::find().await?, account, directory);
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
    launcher.initialise(&password).await?;
    Ok(launcher)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
