//! The trainer's status for the operator, probes and Prometheus.

mod metrics;
mod page;
mod quality;
mod server;
mod shared;

pub use self::metrics::TrainerMetrics;
pub use self::page::StatusPage;
pub use self::server::router;
pub use self::shared::{CheckpointSummary, GateSummary, SharedStatus, TrainerPhase, TrainerStatus};
