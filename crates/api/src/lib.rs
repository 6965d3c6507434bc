//! The custom resources of `vmafx.dev/v1`: what users declare and what the system answers.
//!
//! The types here are the single source of truth. Their doc comments become the descriptions that `kubectl explain`
//! shows, their attributes become schema and CEL rules, and `make manifests` writes the CRDs, the chart's copies
//! and the API reference from [`crd::all`]. The API server silently prunes a field that is not here,
//! so a test sends every field through a real one (`tests/api_server/round_trip.rs`).
//!
//! This crate has no client.

#![allow(
    clippy::doc_markdown,
    reason = "doc comments are what kubectl explain shows, where backticks are noise"
)]
#![allow(
    clippy::duplicated_attributes,
    reason = "printer columns of one type repeat a key, in attributes of the derive"
)]
#![allow(unreachable_pub, reason = "the derives emit public items into private modules")]

pub mod conditions;
pub mod crd;
pub mod job;
pub mod node;
pub mod pod_template;
mod rules;
pub mod tenant;
pub mod training;
pub mod workload;

pub use conditions::{Condition, ConditionStatus};
pub use job::{VmafxJob, VmafxJobSpec, VmafxJobStatus};
pub use node::{VmafxNode, VmafxNodeSpec, VmafxNodeStatus};
pub use tenant::{VmafxTenant, VmafxTenantSpec, VmafxTenantStatus};
pub use training::{VmafxModelTraining, VmafxModelTrainingSpec, VmafxModelTrainingStatus};

/// The API group of all resources.
pub const GROUP: &str = "vmafx.dev";
