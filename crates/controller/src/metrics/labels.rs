//! What the metrics are split by.

use vmafx_kit::closed_label;
use vmafx_kit::metrics::OpenLabel;

/// Whose jobs.
#[derive(Debug)]
pub struct Tenant;

impl OpenLabel for Tenant {
    const NAME: &'static str = "tenant";
    const LIMIT: usize = 256;
}

/// The model that was used.
#[derive(Debug)]
pub struct Model;

impl OpenLabel for Model {
    const NAME: &'static str = "model";
    const LIMIT: usize = 64;
}

closed_label! {
    /// How a job ended.
    pub enum Outcome: "outcome" {
        /// With a score.
        Completed = "completed",
        /// Without.
        Failed = "failed",
        /// By somebody's wish.
        Cancelled = "cancelled",
    }
}

closed_label! {
    /// Why a job waits again.
    pub enum Requeued: "reason" {
        /// Its node disappeared.
        NodeLost = "node_lost",
        /// The controller was restarted. Leases outlive that, so it stays at zero; dashboards know the name.
        ControllerRestart = "controller_restart",
        /// It was handed out and could not be delivered.
        AssignRollback = "assign_rollback",
    }
}

closed_label! {
    /// What could not be read.
    pub enum Source: "source" {
        /// The queue.
        Queue = "queue",
    }
}

closed_label! {
    /// What kind of clip the model is for.
    pub enum Profile: "profile" {
        /// Usual frame rates.
        Standard = "standard",
        /// High frame rates.
        Hfr = "hfr",
    }
}

impl Profile {
    /// Models for high frame rates say so in their names.
    pub fn of(model: &str) -> Self {
        if model.contains("hfr") { Self::Hfr } else { Self::Standard }
    }
}
