//! The options of `vmafx up`.

use std::path::PathBuf;
use std::{env, io};

use clap::Args;
use vmafx_kit::config::{GoDuration, ListenAddr};
use vmafx_kit::daemon;
use vmafx_kit::logs::{LogArgs, LogFilter, LogFormat};
use vmafx_node::settings::NodeSettings;

use crate::address;

/// Run a controller and a node on this machine, for you alone.
///
/// Jobs are kept in a file and survive restarts. A token is written that only you can read; `vmafx submit`, `get`,
/// `watch` and the others find it by themselves. Ctrl-C lets running jobs finish, and keeps the others for the next time.
#[derive(Args, Clone, Debug)]
pub struct UpArgs {
    /// Where clips may lie: a directory, or an address such as `s3://bucket/` or `https://host/clips/`; may be given
    /// several times [default: your home and the current directory]
    #[arg(long = "root", env = "VMAFX_SCORING_ROOTS", value_name = "ROOT", value_delimiter = ',')]
    roots: Vec<String>,

    /// Where jobs and the token are kept [default: vmafx/up in your directory for state]
    ///
    /// The other commands look in the default place. For another one, tell them `VMAFX_CONTROLLER_ADDR` and
    /// `VMAFX_CONTROLLER_TOKEN_FILE`.
    #[arg(long, env = "VMAFX_DATA_DIR", value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,

    /// Where gRPC is served; port 0 is any free one
    #[arg(long, env = "VMAFX_GRPC_LISTEN", value_name = "ADDR", default_value = "127.0.0.1:9090")]
    pub(super) grpc_listen: ListenAddr,

    /// Where HTTP is served; 0 is nowhere
    #[arg(long, env = "VMAFX_HTTP_ADDR", value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(super) http_addr: ListenAddr,

    /// Where health and metrics of the node are served; 0 is nowhere
    #[arg(long, env = "VMAFX_NODE_HTTP_ADDR", value_name = "ADDR", default_value = "127.0.0.1:8081")]
    pub(super) node_http_addr: ListenAddr,

    /// How much is logged: debug, info, warn, error, or directives
    #[arg(long, env = "VMAFX_LOG_LEVEL", value_name = "LEVEL", default_value = "warn")]
    log_level: LogFilter,

    /// How it is written: text, json, or auto
    #[arg(long, env = "VMAFX_LOG_FORMAT", value_name = "FORMAT", default_value = "auto")]
    log_format: LogFormat,

    #[command(flatten, next_help_heading = "Node")]
    pub(super) node: NodeSettings,
}

impl UpArgs {
    /// Where clips may lie.
    pub(super) fn roots(&self) -> Result<Vec<String>, io::Error> {
        let here = env::current_dir()?;
        if !self.roots.is_empty() {
            return Ok(self.roots.iter().map(|root| address::absolute(root, &here)).collect());
        }
        let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        // One inside the other says it twice.
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

    /// The jobs' time, then that of the calls which give jobs back and of the controller's own end.
    fn shutdown_budget(&self) -> GoDuration {
        GoDuration(self.node.graceful_shutdown.0 + super::CALL.0 * 2 + super::DRAIN.0)
    }
}
