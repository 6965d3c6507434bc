//! Settings from environment variables, and the same as flags.
//!
//! A daemon declares one `clap` struct in which every field has `#[arg(long, env = "VMAFX_…")]`; [`parse`] fills
//! it. A flag wins over its variable, a variable over the default. Three things differ from plain clap:
//!
//! * **An error about a bad value names its variable.** Clap names `--metrics-addr` even when nobody typed that flag;
//!   whoever edits a Deployment looks for `VMAFX_OPERATOR_METRICS_ADDR`.
//! * **An empty variable counts as unset**: a chart writes `value: ""` for what its user left out.
//! * **A switch takes `=false`**, so that a flag can turn off what the environment turned on.
//!
//! The environment is a value ([`Environment`]), so tests bring their own and never touch the process's.

mod addr;
mod duration;
mod environment;
mod error;
mod host_port;
mod host_ports;
mod parse;
mod renamed;
mod secret;

pub use addr::ListenAddr;
pub use duration::{DurationError, GoDuration};
pub use environment::Environment;
pub use error::SettingsError;
pub use host_port::{AddrError, HostPort};
pub use host_ports::HostPorts;
pub use parse::{ParseExit, parse, styled};
pub use renamed::RenamedVariable;
pub use secret::SecretString;
