//! End-to-end scenarios on a whole node, with the real images and the chart, installed by Helm.
//!
//! A [`Platform`] is a cluster with the images loaded, clips that Pods can read, and external services: S3, a registry,
//! Postgres. Each [`scenario`] installs its own release in its own namespace, does what a user would do, and leaves the
//! cluster as it found it. [`Steps`] prints every step with its duration.

mod clips;
mod command;
mod external;
mod helm;
mod images;
mod kubectl;
mod platform;
pub mod scenario;
mod score;
mod steps;
mod values;
mod volume;

pub use clips::Clips;
pub use external::{ExternalServices, S3};
pub use helm::Helm;
pub use images::{Images, OlderRelease};
pub use kubectl::Kubectl;
pub use platform::{Platform, STEP_TIMEOUT};
pub use steps::Steps;
pub use values::merge_values;
pub use volume::Volume;
