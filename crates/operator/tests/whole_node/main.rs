//! On a whole Kubernetes node: operator and controller run as Pods under the generated roles, and what they make really
//! runs. Run by `make e2e`, which builds the programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod clips;
mod images;
mod job;
mod node;
mod stage;
mod training;
