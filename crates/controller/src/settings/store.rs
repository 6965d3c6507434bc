//! The store of the queue, and the timeouts of leases and sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use vmafx_kit::config::{GoDuration, SecretString, SettingsError};
use vmafx_queue::Store;
use vmafx_queue::clock::Clock;
use vmafx_queue::policy::Policy;
use vmafx_queue::postgres::{self, ConnectError, PostgresStore};
use vmafx_queue::sqlite::{
    self, BackupError, BackupSummary, NoStateDirectory, OpenError, SqliteStore, default_path,
};

use crate::service::check::MAX_LOST_ATTEMPTS;

const MIN_TTL: Duration = Duration::from_secs(1);
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, clap::Args)]
pub struct StoreArgs {
    /// Store of jobs: a file, or a database that several controllers share.
    #[arg(long, env = "VMAFX_STORE_BACKEND", value_name = "STORE", default_value = "sqlite")]
    pub store_backend: StoreBackend,

    /// File of the sqlite store. Default: vmafx/vmafx-controller.db in the user's state directory.
    #[arg(long, env = "VMAFX_DB_PATH", value_name = "FILE")]
    pub db_path: Option<PathBuf>,

    /// Space in MiB that the store holds in reserve, so that finished jobs can be stored on a full volume.
    #[arg(long, env = "VMAFX_DB_RESERVE_MIB", value_name = "MIB", default_value_t = sqlite::Options::DEFAULT_RESERVE >> 20, value_parser = clap::value_parser!(u64).range(0..=65536))]
    pub db_reserve_mib: u64,

    /// Connection string of the postgres store.
    #[arg(long, env = "VMAFX_DB_DSN", value_name = "URL", hide_env_values = true)]
    pub db_dsn: Option<SecretString>,

    /// Maximum number of connections to the postgres store.
    #[arg(long, env = "VMAFX_DB_CONNECTIONS", value_name = "NUMBER", default_value_t = 10)]
    pub db_connections: usize,

    /// Time without heartbeats after which a running job is taken from its node.
    #[arg(long, env = "VMAFX_STORE_LEASE_TTL", value_name = "DURATION", default_value = "60s")]
    pub store_lease_ttl: GoDuration,

    /// Time without heartbeats after which the session of a node ends.
    #[arg(long, env = "VMAFX_STORE_SESSION_TTL", value_name = "DURATION", default_value = "60s")]
    pub store_session_ttl: GoDuration,

    /// Interval at which expired leases, sessions and deadlines are ended.
    #[arg(long, env = "VMAFX_STORE_SWEEP_INTERVAL", value_name = "DURATION", default_value = "5s")]
    pub store_sweep_interval: GoDuration,

    /// Retry delay of a job after its first lost attempt; it doubles with each further one.
    #[arg(long, env = "VMAFX_STORE_BACKOFF_BASE", value_name = "DURATION", default_value = "5s")]
    pub store_backoff_base: GoDuration,

    /// Maximum retry delay.
    #[arg(long, env = "VMAFX_STORE_BACKOFF_MAX", value_name = "DURATION", default_value = "5m")]
    pub store_backoff_max: GoDuration,

    /// Lost attempts after which a job fails, unless the job sets its own limit.
    #[arg(long, env = "VMAFX_STORE_MAX_LOST_ATTEMPTS", value_name = "NUMBER", default_value_t = 3)]
    pub store_max_lost_attempts: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StoreBackend {
    /// A file, for one controller.
    Sqlite,
    /// A database, for several controllers.
    Postgres,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreSetupError {
    #[error("the settings of the store are invalid")]
    Settings(#[from] SettingsError),
    #[error("VMAFX_DB_PATH is not set, and there is no default")]
    NoStateDirectory(#[from] NoStateDirectory),
    #[error("cannot open the store (VMAFX_DB_PATH)")]
    File(#[from] OpenError),
    #[error("cannot open the store (VMAFX_DB_DSN)")]
    Database(#[from] ConnectError),
    #[error(
        "backup and restore are for the sqlite store: use pg_dump, pg_basebackup or your provider's backups"
    )]
    NotAFile,
    #[error(transparent)]
    Backup(#[from] BackupError),
}

impl StoreArgs {
    pub fn policy(&self) -> Result<Policy, SettingsError> {
        let policy = Policy {
            lease_ttl: self.store_lease_ttl.0,
            session_ttl: self.store_session_ttl.0,
            sweep_interval: self.store_sweep_interval.0,
            backoff_base: self.store_backoff_base.0,
            backoff_max: self.store_backoff_max.0,
            max_lost_attempts: self.store_max_lost_attempts,
            ..Policy::default()
        };
        let refuse = |variable: &str, value: String, reason: &str| {
            Err(SettingsError::Value { variable: variable.to_owned(), value, reason: reason.to_owned() })
        };
        let ttls = [
            ("VMAFX_STORE_LEASE_TTL", self.store_lease_ttl),
            ("VMAFX_STORE_SESSION_TTL", self.store_session_ttl),
        ];
        if let Some((variable, ttl)) = ttls.into_iter().find(|(_, ttl)| ttl.0 < MIN_TTL) {
            return refuse(variable, ttl.to_string(), "use 1s or more");
        }
        let (sweep, variable) = (self.store_sweep_interval, "VMAFX_STORE_SWEEP_INTERVAL");
        if sweep.0 < MIN_SWEEP_INTERVAL {
            return refuse(variable, sweep.to_string(), "use 100ms or more");
        }
        // A late sweep renews every lease and session instead of ending them, so the interval stays well below both.
        if sweep.0 * 4 > policy.lease_ttl.min(policy.session_ttl) {
            let reason =
                "use at most a quarter of the shorter of VMAFX_STORE_LEASE_TTL and VMAFX_STORE_SESSION_TTL";
            return refuse(variable, sweep.to_string(), reason);
        }
        if policy.backoff_max < policy.backoff_base {
            let value = self.store_backoff_max.to_string();
            return refuse("VMAFX_STORE_BACKOFF_MAX", value, "use VMAFX_STORE_BACKOFF_BASE or more");
        }
        if !(1..=MAX_LOST_ATTEMPTS).contains(&policy.max_lost_attempts) {
            let value = policy.max_lost_attempts.to_string();
            return refuse("VMAFX_STORE_MAX_LOST_ATTEMPTS", value, "use 1 to 101");
        }
        Ok(policy)
    }

    /// Opens the store and migrates its schema if necessary.
    pub async fn open(&self, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, StoreSetupError> {
        let policy = self.policy()?;
        match self.store_backend {
            StoreBackend::Sqlite => {
                let path = self.path()?;
                tracing::info!(path = %path.display(), "opening the sqlite store");
                let options = sqlite::Options { path, policy, clock, reserve: self.db_reserve_mib << 20 };
                // Opening blocks on the disk and on the recovery of a write-ahead log.
                let opened = tokio::task::spawn_blocking(|| SqliteStore::open(options)).await;
                let store =
                    opened.map_err(|_| OpenError::Thread(std::io::ErrorKind::Interrupted.into()))??;
                Ok(Arc::new(store))
            }
            StoreBackend::Postgres => {
                let mut options = postgres::Options::new(self.dsn()?);
                (options.policy, options.connections) = (policy, self.db_connections.max(1));
                options.reserve = self.db_reserve_mib << 20;
                Ok(Arc::new(PostgresStore::connect(options).await?))
            }
        }
    }

    /// Copies the sqlite store to a new file; a controller may be running on it.
    pub fn back_up(&self, to: &Path) -> Result<BackupSummary, StoreSetupError> {
        Ok(sqlite::back_up(&self.file()?, to)?)
    }

    /// Puts a backup in the place of the sqlite store.
    pub fn restore(&self, from: &Path) -> Result<BackupSummary, StoreSetupError> {
        Ok(sqlite::restore(from, &self.file()?)?)
    }

    /// Size of the volume of an sqlite store that was opened.
    pub fn volume_bytes(&self) -> Option<u64> {
        self.file().ok().and_then(|file| sqlite::volume_bytes(&file))
    }

    /// The file of the sqlite store.
    fn file(&self) -> Result<PathBuf, StoreSetupError> {
        match self.store_backend {
            StoreBackend::Sqlite => Ok(self.path()?),
            StoreBackend::Postgres => Err(StoreSetupError::NotAFile),
        }
    }

    fn dsn(&self) -> Result<&str, SettingsError> {
        let dsn = self.db_dsn.as_ref().map(SecretString::reveal);
        dsn.ok_or(SettingsError::Without { variable: "VMAFX_STORE_BACKEND=postgres", needs: "VMAFX_DB_DSN" })
    }

    pub fn path(&self) -> Result<PathBuf, NoStateDirectory> {
        if let Some(path) = &self.db_path {
            return Ok(path.clone());
        }
        let (state, home) = (std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"));
        default_path(state.as_deref(), home.as_deref())
    }
}
