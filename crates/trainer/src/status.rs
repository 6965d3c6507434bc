//! What a trainer says of itself: to the operator, to probes, to Prometheus.

mod board;
mod metrics;
mod page;
mod quality;
mod server;

pub use self::board::{Board, Gate, Phase, Status, Written};
pub use self::metrics::TrainerMetrics;
pub use self::page::Page;
pub use self::server::router;
