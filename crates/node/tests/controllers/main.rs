//! Nodes and a client with several controllers, one of which is lost: its database, its process, or its answers.
//!
//! The nodes are real agents, the controllers real processes on one Postgres database, the client is the channel of the
//! operator. They reach the controllers by a list of addresses, or by a load balancer that sends new connections to ready
//! controllers, as a Kubernetes Service does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod cut_off;
mod harness;
mod lost_answer;
mod rollout;
