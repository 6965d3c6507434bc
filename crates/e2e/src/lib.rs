//! What users do with a cluster, done on a whole node with the real images and the chart, installed by Helm.
//!
//! A [`Platform`] is a cluster with the images loaded, clips that Pods can read, and services outside of it: S3, a
//! registry, Postgres. Each of the [`scenario`]s installs a release of its own in a namespace of its own, does what a
//! person would, and leaves the cluster as it found it. [`Steps`] says what is done and how long it takes.

mod clips;
mod command;
mod helm;
mod images;
mod kubectl;
mod outside;
mod platform;
mod release;
pub mod scenario;
mod score;
mod steps;
mod volume;

pub use clips::Clips;
pub use helm::Helm;
pub use images::Images;
pub use kubectl::Kubectl;
pub use outside::{Outside, S3};
pub use platform::{PATIENCE, Platform};
pub use release::merged;
pub use steps::Steps;
pub use volume::Volume;
