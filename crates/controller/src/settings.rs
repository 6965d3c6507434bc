//! The settings of the controller from environment and command line.
//!
//! | settings                                             | where                          |
//! |------------------------------------------------------|--------------------------------|
//! | addresses, commands, timeouts                        | here                           |
//! | `VMAFX_STORE_*`, `VMAFX_DB_*`                        | `settings/store.rs`            |
//! | `VMAFX_RETENTION_*`                                  | `settings/retention.rs`        |
//! | `VMAFX_LIMITS_*`                                     | `settings/limits.rs`           |
//! | `VMAFX_AUTH_*`, `VMAFX_JWKS_*`                       | [`crate::auth::AuthArgs`]      |
//! | `VMAFX_SCORING_ROOTS`, `VMAFX_REPORT_ROOTS`          | [`crate::roots::RootsArgs`]    |
//! | `VMAFX_SHARED_POOLS`, `VMAFX_TENANT_WEIGHTS`         | [`crate::pools::SharingArgs`]  |
//! | `VMAFX_HTTP_*`, `VMAFX_GRPC_*`                       | [`vmafx_kit::serve`]           |
//! | `VMAFX_LOG_*`                                        | [`vmafx_kit::logs`]            |

mod limits;
mod node_status;
mod retention;
mod store;

use std::path::PathBuf;

use vmafx_kit::config::{GoDuration, ListenAddr};
use vmafx_kit::daemon;
use vmafx_kit::logs::LogArgs;
use vmafx_kit::serve::{GrpcArgs, HttpArgs};

pub(crate) use self::limits::DEFAULT_WRITER_PRIORITY;
pub use self::limits::LimitArgs;
pub use self::node_status::NodeStatusMode;
pub use self::retention::RetentionArgs;
pub use self::store::{StoreArgs, StoreBackend, StoreSetupError};
use crate::auth::AuthArgs;
use crate::pools::SharingArgs;
use crate::roots::RootsArgs;

/// Stores scoring jobs and assigns them to nodes.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "vmafx-controller", version)]
pub struct Settings {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Listen address of HTTP; 0 disables it.
    #[arg(long, env = "VMAFX_HTTP_ADDR", value_name = "ADDR", default_value = ":8080")]
    pub http_addr: ListenAddr,

    /// Listen address of gRPC; 0 disables it.
    #[arg(long, env = "VMAFX_GRPC_LISTEN", value_name = "ADDR", default_value = ":9090")]
    pub grpc_listen: ListenAddr,

    /// Time limit for running calls when the process shuts down.
    #[arg(long, env = "VMAFX_HTTP_TIMEOUTS_SHUTDOWN", value_name = "DURATION", default_value = "30s")]
    pub http_timeouts_shutdown: GoDuration,

    /// Maximum time that a pull waits for work.
    #[arg(long, env = "VMAFX_PULL_WAIT", value_name = "DURATION", default_value = "30s")]
    pub pull_wait: GoDuration,

    /// Maximum time that a caller waits for a score; after it the job fails.
    #[arg(long, env = "VMAFX_SCORE_WAIT", value_name = "DURATION", default_value = "30m")]
    pub score_wait: GoDuration,

    /// Maximum number of concurrent streams of jobs and samples.
    #[arg(long, env = "VMAFX_MAX_STREAMS", value_name = "NUMBER", default_value_t = 1024)]
    pub max_streams: usize,

    /// Serve the dashboard on the HTTP port, and accept its cookie.
    #[arg(long, env = "VMAFX_DASHBOARD", value_name = "true|false", default_value_t = true)]
    #[arg(action = clap::ArgAction::Set, hide_possible_values = true)]
    pub dashboard: bool,

    /// Whether to write heartbeats to the status of VmafxNode resources; `auto`: only inside a cluster.
    #[arg(long, env = "VMAFX_NODE_STATUS", value_name = "WHEN", default_value = "auto")]
    pub node_status: NodeStatusMode,

    /// Name of this cluster as its nodes report it.
    #[arg(long, env = "VMAFX_CLUSTER", value_name = "NAME", default_value = "")]
    pub cluster: String,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub retention: RetentionArgs,

    #[command(flatten)]
    pub limits: LimitArgs,

    #[command(flatten)]
    pub auth: AuthArgs,

    #[command(flatten)]
    pub roots: RootsArgs,

    #[command(flatten)]
    pub sharing: SharingArgs,

    #[command(flatten)]
    pub http: HttpArgs,

    #[command(flatten)]
    pub grpc: GrpcArgs,

    #[command(flatten)]
    pub logs: LogArgs,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Subcommand)]
pub enum Command {
    /// Serve until the process is stopped. This is the default.
    #[default]
    Serve,
    /// Migrate the schema of the store and exit.
    Migrate,
    /// Copy the sqlite store to a new file while the controller runs.
    ///
    /// The copy is one consistent snapshot, is checked before the command succeeds, and needs no other file. Run it on the
    /// machine or in the Pod of the controller, with the same `VMAFX_DB_PATH`:
    ///
    ///   vmafx-controller backup --to /backup/vmafx-monday.db
    #[command(verbatim_doc_comment)]
    Backup {
        /// The file to create. It must not exist.
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
    /// Put a backup in the place of the sqlite store.
    ///
    /// The controller must be stopped. The backup is checked first, and the files that it replaces stay beside it with the
    /// ending .before-restore:
    ///
    ///   vmafx-controller restore --from /backup/vmafx-monday.db
    #[command(verbatim_doc_comment)]
    Restore {
        /// A file that `backup` made.
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
    },
}

impl daemon::DaemonSettings for Settings {
    fn logs(&self) -> LogArgs {
        self.logs.clone()
    }

    fn shutdown_budget(&self) -> GoDuration {
        self.http_timeouts_shutdown
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use vmafx_kit::config::{Environment, ParseExit, parse};
    use vmafx_queue::policy::Policy;

    use super::*;

    fn settings(args: &[&str], env: &[(&str, &str)]) -> Result<Settings, ParseExit> {
        let env: Environment = env.iter().copied().collect();
        parse(["vmafx-controller"].iter().chain(args), &env, &[])
    }

    fn refusal(env: (&str, &str)) -> String {
        let settings = match settings(&[], &[env]) {
            Ok(settings) => settings,
            Err(ParseExit::Invalid(refusal)) => return refusal.to_string(),
            Err(ParseExit::HelpOrVersion(answer)) => panic!("{answer}"),
        };
        match (settings.store.policy(), settings.retention.validate(), settings.limits.validate()) {
            (Err(refusal), ..) | (_, Err(refusal), _) | (.., Err(refusal)) => refusal.to_string(),
            _ => panic!("{env:?} was accepted"),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let settings = settings(&[], &[]).unwrap();
        assert_eq!(settings.command, None);
        assert_eq!(settings.http_addr.to_string(), ":8080");
        assert_eq!(settings.grpc_listen.to_string(), ":9090");
        assert_eq!(settings.store.store_backend, StoreBackend::Sqlite);
        assert_eq!(settings.store.policy(), Ok(Policy::default()));
        assert_eq!(settings.http_timeouts_shutdown, GoDuration(Duration::from_secs(30)));
        let limits = settings.limits.of_tenant(None);
        assert_eq!(limits, vmafx_job::TenantLimits::DEFAULT);
        let half_of_the_volume = settings.limits.of_tenant(Some(1 << 30)).stored_bytes;
        assert_eq!(half_of_the_volume, 512 << 20);
        assert_eq!(settings.limits.limits_writer_priority, 1000);
        assert!(settings.dashboard);
        let retention = settings.retention.validate().unwrap();
        assert_eq!((retention.jobs_for, retention.jobs), (Duration::from_hours(30 * 24), 1_000_000));
    }

    #[test]
    fn every_variable_of_the_store_is_read() {
        let env = [
            ("VMAFX_STORE_BACKEND", "postgres"),
            ("VMAFX_DB_DSN", "postgres://u:p@h/d"),
            ("VMAFX_STORE_LEASE_TTL", "90s"),
            ("VMAFX_STORE_SESSION_TTL", "2m"),
            ("VMAFX_STORE_SWEEP_INTERVAL", "3s"),
            ("VMAFX_STORE_BACKOFF_BASE", "1s"),
            ("VMAFX_STORE_BACKOFF_MAX", "1m"),
            ("VMAFX_STORE_MAX_LOST_ATTEMPTS", "5"),
        ];
        let settings = settings(&["migrate"], &env).unwrap();
        assert_eq!(settings.command, Some(Command::Migrate));
        assert_eq!(settings.store.store_backend, StoreBackend::Postgres);
        let policy = Policy {
            lease_ttl: Duration::from_secs(90),
            session_ttl: Duration::from_mins(2),
            sweep_interval: Duration::from_secs(3),
            backoff_base: Duration::from_secs(1),
            backoff_max: Duration::from_mins(1),
            max_lost_attempts: 5,
            ..Policy::default()
        };
        assert_eq!(settings.store.policy(), Ok(policy));
        assert!(!format!("{settings:?}").contains("u:p"), "a password must not be printed");
    }

    #[rstest]
    #[case(("VMAFX_STORE_BACKEND", "mysql"), "VMAFX_STORE_BACKEND cannot be \"mysql\": use one of sqlite, postgres")]
    #[case(("VMAFX_STORE_LEASE_TTL", "500ms"), "VMAFX_STORE_LEASE_TTL cannot be \"500ms\": use 1s or more")]
    #[case(("VMAFX_STORE_SESSION_TTL", "0"), "VMAFX_STORE_SESSION_TTL cannot be \"0s\": use 1s or more")]
    #[case(("VMAFX_STORE_SWEEP_INTERVAL", "1m"), "VMAFX_STORE_SWEEP_INTERVAL cannot be \"1m\": use at most a quarter of the shorter of VMAFX_STORE_LEASE_TTL and VMAFX_STORE_SESSION_TTL")]
    #[case(("VMAFX_STORE_BACKOFF_MAX", "1s"), "VMAFX_STORE_BACKOFF_MAX cannot be \"1s\": use VMAFX_STORE_BACKOFF_BASE or more")]
    #[case(("VMAFX_STORE_MAX_LOST_ATTEMPTS", "0"), "VMAFX_STORE_MAX_LOST_ATTEMPTS cannot be \"0\": use 1 to 101")]
    #[case(("VMAFX_RETENTION_JOBS_FOR", "1s"), "VMAFX_RETENTION_JOBS_FOR cannot be \"1s\": use 1m or more")]
    #[case(("VMAFX_RETENTION_INTERVAL", "0"), "VMAFX_RETENTION_INTERVAL cannot be \"0s\": use 1s or more")]
    #[case(("VMAFX_LIMITS_WRITER_PRIORITY", "-1"), "VMAFX_LIMITS_WRITER_PRIORITY cannot be \"-1\": use 0 or more")]
    #[case(("VMAFX_GRPC_LISTEN", "9090"), "VMAFX_GRPC_LISTEN cannot be \"9090\": the port is missing: write host:port, or :port for every interface")]
    fn what_cannot_work_is_refused(#[case] env: (&str, &str), #[case] expected: &str) {
        assert_eq!(refusal(env), expected);
    }
}
