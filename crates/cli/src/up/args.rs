//! The options of `vmafx up`.

use std::path::PathBuf;
use std::{env, io};

use clap::Args;
use vmafx_kit::config::{GoDuration, ListenAddr};
use vmafx_kit::daemon;
use vmafx_kit::logs::{LogArgs, LogFilter, LogFormat};
use vmafx_node::settings::NodeSettings;

use crate::address;

/// Run a private controller and node on this machine.
///
/// Jobs are stored in a file and survive restarts. `vmafx submit`, `get`, `watch` and the other commands find the
/// controller and its token, which only you can read, without further options. Ctrl-C lets running jobs finish; jobs
/// that are waiting are scored after the next start.
#[derive(Args, Clone, Debug)]
pub struct UpArgs {
    /// Directory or URI prefix, such as `s3://bucket/` or `https://host/clips/`, below which clips may be read;
    /// repeatable [default: your home directory and the current directory]
    #[arg(long = "root", env = "VMAFX_SCORING_ROOTS", value_name = "ROOT", value_delimiter = ',')]
    roots: Vec<String>,

    /// Directory for jobs and the token [default: ~/.local/state/vmafx/up]
    ///
    /// The other commands look in the default directory only, which is below `XDG_STATE_HOME` if that is set. If you
    /// choose another one, set `VMAFX_CONTROLLER_ADDR` and `VMAFX_CONTROLLER_TOKEN_FILE` for them.
    #[arg(long, env = "VMAFX_DATA_DIR", value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,

    /// Listen address of the gRPC service; port 0 selects a free port
    #[arg(long, env = "VMAFX_GRPC_LISTEN", value_name = "ADDR", default_value = "127.0.0.1:9090")]
    pub(super) grpc_listen: ListenAddr,

    /// Listen address of the HTTP API; 0 disables it
    #[arg(long, env = "VMAFX_HTTP_ADDR", value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(super) http_addr: ListenAddr,

    /// Listen address of the health checks and metrics of the node; 0 disables them
    #[arg(long, env = "VMAFX_NODE_HTTP_ADDR", value_name = "ADDR", default_value = "127.0.0.1:8081")]
    pub(super) node_http_addr: ListenAddr,

    /// Log level: debug, info, warn, error, or tracing directives
    #[arg(long, env = "VMAFX_LOG_LEVEL", value_name = "LEVEL", default_value = "warn")]
    log_level: LogFilter,

    /// Log format
    #[arg(long, env = "VMAFX_LOG_FORMAT", value_name = "FORMAT", default_value = "auto")]
    log_format: LogFormat,

    #[command(flatten, next_help_heading = "Node")]
    pub(super) node: NodeSettings,
}

impl UpArgs {
    pub(super) fn roots(&self) -> Result<Vec<String>, io::Error> {
        let here = env::current_dir()?;
        if !self.roots.is_empty() {
            return Ok(self.roots.iter().map(|root| address::absolute(root, &here)).collect());
        }
        let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        // A root below another root is redundant.
        let roots = match home {
            Some(home) if here.starts_with(&home) => vec![home],
            Some(home) if home.starts_with(&here) => vec![here],
            home => home.into_iter().chain([here]).collect(),
        };
        Ok(roots.into_iter().map(|root| root.display().to_string()).collect())
    }
}

impl daemon::DaemonSettings for UpArgs {
    fn logs(&self) -> LogArgs {
        LogArgs { log_level: self.log_level.clone(), log_format: self.log_format }
    }

    /// The grace period of jobs, then the calls that release jobs, then the shutdown of the controller.
    fn shutdown_budget(&self) -> GoDuration {
        GoDuration(self.node.graceful_shutdown.0 + super::CALL_TIMEOUT.0 * 2 + super::DRAIN_TIMEOUT.0)
    }
}
